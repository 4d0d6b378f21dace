"""Assay from Python: a client of the agency's REST API, with nothing but httpx beneath it.

`Client` waits for each answer, `AsyncClient` is awaited; both have a method for every operation. What
travels is described in `documents`, what can go wrong in `errors`. `verify_webhook` checks a notice.
``python -m assay_client gate`` holds a deployment to a rating.
"""

from assay_client.async_client import AsyncClient
from assay_client.client import Client
from assay_client.errors import (
    AssayError,
    JobFailed,
    ProblemError,
    StillRunning,
    UnexpectedAnswer,
    Unreachable,
    WebhookRejected,
)
from assay_client.events import Event
from assay_client.exchange import Patience
from assay_client.webhooks import verify_webhook

__all__ = [
    "AssayError",
    "AsyncClient",
    "Client",
    "Event",
    "JobFailed",
    "Patience",
    "ProblemError",
    "StillRunning",
    "UnexpectedAnswer",
    "Unreachable",
    "WebhookRejected",
    "verify_webhook",
]
