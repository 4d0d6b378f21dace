"""Problem objects of failed jobs: RFC 9457 members plus ``code``, without secrets, bodies or tracebacks."""

from __future__ import annotations

from typing import Any

from assay.errors import AssayError, RecordError
from assay.model import service_said
from store.core.errors import RatingsRefused, SecretLost, SecretMoved
from workers.calls.driver import TargetRefused, TargetUnavailable
from workers.calls.host_limits import HostCoolingDown
from workers.calls.limits import TargetResting
from workers.egress import CallFailed
from workers.targets.checks.capability import TargetUnfit

TITLES = {
    "target_unfit": "The target cannot be rated",
    "target_refused": "The target refused",
    "target_unavailable": "The target is unavailable",
    "ratings_refused": "The host refuses ratings",
    "deadline_exceeded": "The job ran out of time",
    "secret_lost": "The target's secret cannot be decrypted",
    "evidence_unfit": "The recorded evidence does not allow the re-rating",
    "bad_specification": "The job cannot be carried out as written",
    "internal_error": "Assay failed",
}


def problem(error: BaseException) -> dict[str, Any]:
    """Describe the error that ended a job."""
    match error:
        case TargetUnfit(failure=CallFailed() as failure):
            code = "target_unavailable" if failure.retriable else "target_refused"
            return _problem(code, _sentences(error.message, error.hint), reason=error.code)
        case TargetUnfit():
            return _problem("target_unfit", _sentences(error.message, error.hint), reason=error.code)
        case TargetRefused():
            return _problem("target_refused", _sentences(str(error)), reason=error.failure.code)
        case CallFailed():  # raised before the first question if the operator does not allow the target's protocol
            return _problem("target_refused", _sentences(str(error)), reason=error.code)
        case TargetUnavailable() | TargetResting() | HostCoolingDown():
            return _unavailable(error)
        case RatingsRefused():
            return _problem("ratings_refused", _sentences(str(error)), reason=error.who)
        case TimeoutError():
            return _problem("deadline_exceeded", "Its deadline_s passed. What was answered is kept; allow more time.")
        case SecretLost() | SecretMoved():
            return _problem("secret_lost", f"{error}. Enter the target's secret again.")
        case AssayError():
            code = "evidence_unfit" if isinstance(error, RecordError) else "bad_specification"
            return _problem(code, str(error), reason=error.code)
        case _:
            return _problem("internal_error", "An unexpected error was logged; the answers so far are kept.")


def _unavailable(error: TargetUnavailable | TargetResting | HostCoolingDown) -> dict[str, Any]:
    match error:
        case TargetUnavailable():
            detail = f"Too many calls in a row failed, the last one so: {error}. What was answered is kept."
            return _problem("target_unavailable", detail, reason=error.failure.code)
        case TargetResting():
            detail = "Other jobs found it failing, and it was still left alone when this job's deadline came near."
            return _problem("target_unavailable", detail, reason="resting")
        case HostCoolingDown():
            detail = _sentences(str(error), "The job's deadline is earlier; ask again with a larger deadline_s")
            return _problem("target_unavailable", detail, reason="cooling-down")


def waits_why(error: BaseException) -> str:
    """Describe why a job waits in the queue until a time."""
    match error:
        case HostCoolingDown():
            return _sentences(str(error))
        case TargetUnavailable():
            return f"Too many calls in a row failed, the last one so: {error}. The target is left alone for a while."
        case _:
            return "Other jobs found the target failing; it is left alone for a while."


def _sentences(*parts: str) -> str:
    """Join parts as sentences with a capital and a full stop."""
    return " ".join(f"{part[0].upper()}{part[1:].rstrip('.')}." for part in parts if part)


def _problem(code: str, detail: str, **more: Any) -> dict[str, Any]:
    if (service_message := service_said(detail)) is not None:
        more["service_said"] = service_message
    return {"type": f"/problems/{code}", "title": TITLES[code], "detail": detail, "code": code, **more}
