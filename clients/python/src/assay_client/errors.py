"""The errors of the client.

::

AssayError
├── ProblemError        the service refused the request and says why
├── JobFailed           the job failed or was cancelled; it has no rating
├── StillRunning        the job did not end in the time to wait
├── Unreachable         no answer came
├── UnexpectedAnswer    the answer is not from an agency
└── WebhookRejected     a notice with a wrong signature or time
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import httpx

if TYPE_CHECKING:
    from assay_client.documents import Job


class AssayError(Exception):
    """Base class of all errors of this package."""


class ProblemError(AssayError):
    """The service refused the request (RFC 9457).

    Parameters
    ----------
    status : int
        Status of the answer.
    document : mapping
        The problem document; empty if the answer had none, as from a proxy.
    retry_after_s : float, optional
        Seconds to wait before the next attempt, if the service named them.
    """

    def __init__(self, status: int, document: Mapping[str, Any], retry_after_s: float | None = None) -> None:
        self.status, self.document, self.retry_after_s = status, document, retry_after_s
        self.code: str = document.get("code", "http-error")
        self.type: str = document.get("type", "about:blank")
        self.title: str = document.get("title", f"HTTP {status}")
        self.detail: str | None = document.get("detail")
        self.instance: str | None = document.get("instance")
        self.request_id: str | None = document.get("request_id")
        errors = document.get("errors")  # of a proxy, they may have any form
        self.errors: list[dict[str, Any]] = [
            error for error in (errors if isinstance(errors, list) else ()) if isinstance(error, dict)
        ]
        super().__init__(self._sentence())

    @classmethod
    def of(cls, response: httpx.Response) -> ProblemError:
        """Create the error from an answer that is not 2xx."""
        try:
            document = response.json()
        except (ValueError, RecursionError):
            document = None
        return cls(response.status_code, document if isinstance(document, dict) else {}, retry_after_s(response))

    def _sentence(self) -> str:
        message = f"{self.status} {self.code}: {self.detail or self.title}"
        if not self.errors:
            return message
        error = self.errors[0]
        where = next((str(error[name]) for name in ("pointer", "parameter", "header") if error.get(name)), "")
        remainder = f", and {len(self.errors) - 1} more" if len(self.errors) > 1 else ""
        return f"{message} ({where}: {error.get('detail')}{remainder})" if where else message


class JobFailed(AssayError):
    """A job failed or was cancelled; `code`, `title` and `detail` say why, `job` is the whole job."""

    def __init__(self, job: Job) -> None:
        error: Mapping[str, Any] = job["error"] or {}
        self.job = job
        self.code: str = error.get("code", job["status"])
        self.title: str = error.get("title", f"The job is {job['status']}")
        self.detail: str | None = error.get("detail")
        super().__init__(f"{job['id']} {job['status']}: {self.detail or self.title}")


class StillRunning(AssayError):
    """The job or suite did not end in the time to wait; it continues and can be read by `id`."""

    def __init__(self, awaited_id: str, status: str, seconds: float) -> None:
        super().__init__(f"{awaited_id} is still {status} after {seconds:g} s; it goes on, ask again by its id")
        self.id, self.status, self.seconds = awaited_id, status, seconds


class Unreachable(AssayError):
    """No answer came: no connection, a broken connection, or a timeout."""


class UnexpectedAnswer(AssayError):
    """The answer is not JSON, so it is not from an agency."""

    def __init__(self, url: str, content_type: str) -> None:
        super().__init__(f"{url} answered {content_type}, not JSON; is it the address of an agency?")
        self.url, self.content_type = url, content_type


class WebhookRejected(AssayError):
    """A notice has no valid signature, or its time is outside the tolerance."""


def retry_after_s(response: httpx.Response) -> float | None:
    """Read ``Retry-After`` in seconds; ``None`` if it is absent or a date, which agencies never send."""
    value = response.headers.get("Retry-After", "")
    return float(value) if value.isdecimal() else None
