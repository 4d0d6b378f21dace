"""All demo services in one application, and a server for it on the loopback address."""

import logging
import socket
import threading
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from assay.errors import UnknownName
from demo.interfaces.libretranslate import BadRequest, Order, error_response, language_list, read_json, read_order
from demo.interfaces.predictors import INTERFACES, Interface
from demo.predictors.known import SERVICES, predictor
from demo.predictors.prediction import Predictor, by_name
from demo.translators.behaviours import BEHAVIOURS, FRENCH, behaviour
from demo.translators.faulty_services import FAULTY, Treatment, Tuning

HOST = "127.0.0.1"
THREAD = "demo-services"
START_S, STOP_S = 60.0, 5.0
"""Seconds that the server may take to start and to stop."""
POLL_S = 0.01

_LOGGERS = (logging.getLogger("uvicorn.error"), logging.getLogger("uvicorn.access"))


class DemoDidNotStart(RuntimeError):
    """The demo server did not start."""


def create_demo(tuning: Tuning | None = None, real: Sequence[Predictor] = ()) -> Starlette:
    """Make the application: every service under its own name, and a list of them at ``/``.

    A translator has ``POST /<name>/translate`` and ``GET /<name>/languages``. Its name is in `BEHAVIOURS`,
    where any percentage may replace the one at the end of a name, or in `FAULTY`. Other services are those of
    `demo.predictors.known`, where any amount may follow the name of a family; their protocols are in
    `demo.interfaces.predictors`.
    """
    predictors = {**SERVICES, **by_name(*real)}
    treatments = {name: faulty_service.make(tuning or Tuning()) for name, faulty_service in FAULTY.items()}

    async def translate(request: Request) -> Response:
        return await _treatment_named(request.path_params["name"], treatments)(request, await read_order(request))

    async def languages(request: Request) -> Response:
        name = request.path_params["name"]
        treat = _treatment_named(name, treatments)
        if name in FAULTY and FAULTY[name].everywhere:  # the fault also affects this list
            return await treat(request, Order((), "en", "en", as_array=True))
        return JSONResponse(language_list())

    async def services(request: Request) -> Response:
        return _list_services(request, predictors)

    return Starlette(
        routes=[
            Route("/", services),
            Route("/{name}/translate", translate, methods=["POST"]),
            Route("/{name}/languages", languages),
            *(
                Route(path, _endpoint_of(interface, predictors), methods=["POST"])
                for path, interface in INTERFACES.items()
            ),
        ],
        exception_handlers={BadRequest: _refusal_response, UnknownName: _refusal_response},
    )


class DemoServer:
    """Runs the demo services on a port of 127.0.0.1 for as long as the ``with`` block lasts.

    Port 0 takes a free one. On entry, raise `OSError` if the port is taken, and `DemoDidNotStart` if the server does
    not start.
    """

    def __init__(self, port: int = 0, tuning: Tuning | None = None, real: Sequence[Predictor] = ()) -> None:
        self._port, self._tuning, self._real = port, tuning, tuple(real)

    def __enter__(self) -> Self:
        self._socket = socket.create_server((HOST, self._port))
        self._server = uvicorn.Server(
            uvicorn.Config(
                create_demo(self._tuning, self._real),
                lifespan="off",
                ws="none",
                http="h11",
                log_config=None,
                timeout_graceful_shutdown=1,
            )
        )
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [self._socket]}, name=THREAD, daemon=True
        )
        for logger in _LOGGERS:
            logger.addFilter(_is_from_other_thread)
        self._thread.start()
        deadline = time.monotonic() + START_S
        while not self._server.started:
            if time.monotonic() > deadline:
                self.__exit__(None, None, None)
                raise DemoDidNotStart(f"the demo services did not start within {START_S} s")
            time.sleep(POLL_S)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.should_exit = True
        self._thread.join(STOP_S)
        self._socket.close()
        for logger in _LOGGERS:
            logger.removeFilter(_is_from_other_thread)

    @property
    def base(self) -> str:
        """Address of the list of services, without a final slash."""
        return f"http://{HOST}:{self._socket.getsockname()[1]}"

    def url(self, name: str) -> str:
        """Return the address of one service: the base URL of its protocol."""
        return f"{self.base}/{name}"


def _is_from_other_thread(record: logging.LogRecord) -> bool:
    """Return whether a log record is not from the demo's thread; errors of the demo's thread are deliberate."""
    return record.threadName != THREAD


def _treatment_named(name: str, treatments: Mapping[str, Treatment]) -> Treatment:
    """Return the function that answers orders of translations for the service `name`."""
    if name in treatments:
        return treatments[name]
    service = behaviour(name)

    async def treat(_: Request, order: Order) -> Response:
        return order.response([service.translate(text, order.source, order.target) for text in order.texts])

    return treat


def _endpoint_of(interface: Interface, predictors: Mapping[str, Predictor]) -> Callable[[Request], Awaitable[Response]]:
    """Return the request handler that answers by an interface for the service that is named in the path."""

    async def answer(request: Request) -> Response:
        name = request.path_params["name"]
        service = predictors[name] if name in predictors else predictor(name)
        return JSONResponse(interface(service, await read_json(request)))

    return answer


def _list_services(request: Request, predictors: Mapping[str, Predictor]) -> JSONResponse:
    base = str(request.base_url).rstrip("/")

    def service_rows(services: Mapping[str, Any], *facts: str) -> list[dict[str, Any]]:
        return [
            {"name": name, "url": f"{base}/{name}", **{fact: getattr(service, fact) for fact in ("summary", *facts)}}
            for name, service in services.items()
        ]

    return JSONResponse(
        {
            "protocol": "libretranslate",
            "behaviours": service_rows({**BEHAVIOURS, **FRENCH}, "letter", "reason"),
            "ills": service_rows(FAULTY, "end", "letter", "problem"),
            "predictors": service_rows(predictors, "protocols", "kinds", "letter", "reasons"),
        }
    )


async def _refusal_response(_: Request, error: Exception) -> Response:
    return error_response(str(error), error.status if isinstance(error, BadRequest) else 404)
