"""A Python client for the REST API of Assay, the bias-rating agency for AI services.

`Client` waits for each answer, `AsyncClient` is awaited; both have a method for every operation. The types of
requests and answers are in `documents`, the errors in `errors`. `verify_webhook` checks a notice.
``python -m assay_client gate`` passes or fails a deployment by a rating.
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
from assay_client.frames import to_frame
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
    "to_frame",
    "verify_webhook",
]
