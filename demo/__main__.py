"""Run the demo services until interrupted: ``python -m demo --port 5000``."""

import argparse
import contextlib
import sys
import threading
from collections.abc import Iterator

from demo.predictors.known import HELPERS, PREDICTORS, VIEWERS
from demo.predictors.prediction import Predictor
from demo.server import DemoServer
from demo.translators.behaviours import BEHAVIOURS
from demo.translators.faulty_services import FAULTY, Faulty


def main() -> None:
    """Serve on 127.0.0.1 and print the services: address, expected letter or outcome, kind, protocol and summary."""
    parser = argparse.ArgumentParser(prog="python -m demo", description="Services whose bias is known.")
    parser.add_argument("--port", type=int, default=5000, help="port on 127.0.0.1; 0 takes a free one (default: 5000)")
    with DemoServer(parser.parse_args().port) as server, contextlib.suppress(KeyboardInterrupt):
        sys.stdout.writelines(f"{line}\n" for line in start_lines(server))
        sys.stdout.flush()
        threading.Event().wait()


def start_lines(server: DemoServer) -> Iterator[str]:
    """Yield a line for each service: address, expected letter or outcome, kind, protocol and summary."""
    for services in (BEHAVIOURS, FAULTY, PREDICTORS, VIEWERS, HELPERS):
        for service in services.values():
            outcome = service.letter or (service.end if isinstance(service, Faulty) else "-")
            kind, protocol = "translator", "libretranslate"
            if isinstance(service, Predictor):
                kind, protocol = ", ".join(service.kinds), ", ".join(service.protocols)
            yield f"{server.url(service.name):45}  {outcome:12}  {kind}, by {protocol}: {service.summary}"


if __name__ == "__main__":
    main()
