"""Orders for jobs without a target: re-rating of recorded evidence, and verification of a host."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.canonical import digest_of
from service.http.authentication import Caller
from service.jobs.submission import Order
from store.jobs.jobs import NewJob


def maintenance_order(
    caller: Caller, kind: str, concerns: Mapping[str, Any], target: Mapping[str, Any], *, deadline_s: int
) -> Order:
    """Return the order for a ``rerate`` or ``challenge`` job, without a target; an identical running job is joined.

    `concerns` is the input of the worker, shown as the job's `experiment`; `target` is only shown.
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
