"""Logs on standard error: an event and its facts, as JSON lines or as plain text."""

import logging
import sys

import structlog

from reports.plain import escape_hidden
from store.core.settings import Settings


def _escape_invisible(_: object, __: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    """Replace invisible characters in the facts of an event, which services and clients may have chosen."""
    trace = "exception"  # has lines of its own
    return {key: escape_hidden(fact) if isinstance(fact, str) and key != trace else fact for key, fact in event.items()}


def configure_logs(settings: Settings) -> None:
    """Configure structlog and the standard library's loggers in the same way."""
    level = logging.getLevelNamesMapping()[settings.log_level.upper()]
    shared_processors: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso"),
        structlog.processors.format_exc_info,
    ]
    renderer: structlog.typing.Processor = (
        structlog.processors.JSONRenderer() if settings.log_json else structlog.dev.ConsoleRenderer(colors=False)
    )
    if not settings.log_json:  # JSON escapes by itself
        shared_processors.append(_escape_invisible)
    structlog.configure(
        processors=[*shared_processors, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(structlog.stdlib.ProcessorFormatter(processor=renderer, foreign_pre_chain=shared_processors))
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(max(level, logging.WARNING))  # of libraries, only warnings and errors
