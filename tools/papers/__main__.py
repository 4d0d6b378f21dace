"""Write the page of the five papers: `make papers`, or ``python -m tools.papers``.

It needs the public data sets, which are not part of the sources.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from tools.papers.page import write_page
from tools.papers.shared_data import SharedDataMissing


def main() -> int:
    """Compute the tables and figures, and write them beside the printed ones; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.papers", description=main.__doc__)
    parser.add_argument("--output", type=Path, default=Path("papers.html"), help="the page to write (papers.html)")
    parser.add_argument("--data", type=Path, help="folder of the papers' data (`shared` beside the checkout)")
    options = parser.parse_args()
    if not options.output.parent.is_dir():
        print(f"the folder {options.output.parent} of the page does not exist; create it first", file=sys.stderr)
        return os.EX_USAGE
    try:
        computed, absent = write_page(options.data, options.output)
    except SharedDataMissing as missing:
        print(missing, file=sys.stderr)
        return os.EX_USAGE
    print(f"{options.output}: {computed} tables and figures, and {absent} entries that cannot be computed here")
    return os.EX_OK


if __name__ == "__main__":
    sys.exit(main())
