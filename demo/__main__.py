"""Run the demo services until interrupted: ``python -m demo --port 5000``, with real lexicons by their names."""

from __future__ import annotations

import argparse
import contextlib
import sys
import threading
from collections.abc import Iterator, Sequence

from demo.lexicons import LEXICONS, NotInstalled, load
from demo.predictors.known import HELPERS, PREDICTORS, VIEWERS
from demo.predictors.prediction import Predictor
from demo.server import DemoServer
from demo.translators.behaviours import BEHAVIOURS
from demo.translators.faulty_services import ILLS


def main() -> None:
    """Serve on 127.0.0.1 and print the list of services."""
    arguments = _parser().parse_args()
    try:
        real = [load(name) for name in dict.fromkeys(arguments.real)]
    except NotInstalled as absent:
        sys.exit(f"python -m demo: {absent}")
    with DemoServer(arguments.port, real=real) as server, contextlib.suppress(KeyboardInterrupt):
        sys.stdout.writelines(f"{line}\n" for line in _shown(server, real))
        sys.stdout.flush()
        threading.Event().wait()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m demo", description="Services whose bias is known, and real ones beside them."
    )
    parser.add_argument("real", nargs="*", metavar="NAME", type=_real, help=f"real lexicons: {', '.join(LEXICONS)}")
    parser.add_argument("--port", type=int, default=5000, help="port on 127.0.0.1; 0 takes a free one (default: 5000)")
    return parser


def _real(name: str) -> str:
    if name not in LEXICONS:
        raise argparse.ArgumentTypeError(f"no lexicon is called {name!r}; known: {', '.join(LEXICONS)}")
    return name


def _shown(server: DemoServer, real: Sequence[Predictor]) -> Iterator[str]:
    for behaviour in BEHAVIOURS.values():
        yield f"{server.url(behaviour.name):45}  {behaviour.letter or '-':12}  {behaviour.summary}"
    for ill in ILLS.values():
        yield f"{server.url(ill.name):45}  {ill.letter or ill.end:12}  {ill.summary}"
    for predictor in (*PREDICTORS.values(), *VIEWERS.values(), *HELPERS.values(), *real):
        yield f"{server.url(predictor.name):45}  {predictor.letter or '-':12}  {predictor.summary}"


if __name__ == "__main__":
    main()
