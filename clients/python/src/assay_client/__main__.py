"""``python -m assay_client gate …``: the gate without an installation of Assay."""

from __future__ import annotations

import sys

from assay_client import gate

USAGE = "usage: python -m assay_client gate [--help] …\n"

if __name__ == "__main__":
    command, *arguments = sys.argv[1:] or [""]
    if command == "gate":
        sys.exit(gate.main(arguments))
    if command in {"-h", "--help"}:
        sys.stdout.write(USAGE)
        sys.exit(0)
    sys.stderr.write(USAGE)
    sys.exit(gate.Exit.USAGE)
