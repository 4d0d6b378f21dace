"""Run the demo services until interrupted: ``python -m demo --port 5000``."""

from __future__ import annotations

import argparse
import contextlib
import sys
import threading

from demo.behaviours import BEHAVIOURS
from demo.ills import ILLS
from demo.server import DemoServer


def main() -> None:
    """Serve on 127.0.0.1 and say what is there."""
    parser = argparse.ArgumentParser(prog="python -m demo", description="Translation services whose bias is known.")
    parser.add_argument("--port", type=int, default=5000, help="port on 127.0.0.1; 0 takes a free one (default: 5000)")
    with DemoServer(parser.parse_args().port) as server, contextlib.suppress(KeyboardInterrupt):
        for one in BEHAVIOURS.values():
            sys.stdout.write(f"{server.url(one.name):45}  {one.letter or '-':12}  {one.summary}\n")
        for ill in ILLS.values():
            sys.stdout.write(f"{server.url(ill.name):45}  {ill.letter or ill.end:12}  {ill.summary}\n")
        sys.stdout.flush()
        threading.Event().wait()


if __name__ == "__main__":
    main()
