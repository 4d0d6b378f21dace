"""Jobs that give no rating and need no target: old evidence rated again, a host looked at."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.canonical import digest_of
from service.http.authentication import Caller
from service.jobs.submission import Order
from store.jobs.jobs import NewJob


def errand(
    caller: Caller, kind: str, concerns: Mapping[str, Any], target: Mapping[str, Any], *, deadline_s: int
) -> Order:
    """Make the order for such a job; the same errand that is still running is joined.

    Parameters
    ----------
    caller : Caller
        Who asks.
    kind : str
        ``rerate`` or ``challenge``.
    concerns : mapping
        What the worker has to know; shown as the job's `experiment`.
    target : mapping
        What is shown as its target: ``name``, ``kind``, ``protocol``, ``base_url``.
    deadline_s : int
        Seconds until it is given up.
    """
    new = NewJob(
        tenant=caller.tenant,
        kind=kind,
        target_id=None,
        target=dict(target),
        sealed_secret=None,
        experiment=dict(concerns),
        request_digest=digest_of({"tenant": caller.tenant, "kind": kind, "concerns": dict(concerns)}),
        seed=0,
        visibility="private",
        callback_url=None,
        max_calls=1,
        deadline_s=deadline_s,
        expected=0,
        key_id=caller.key_id,
    )
    return Order(new)
