"""Digest of a request: equal for requests that must give the same result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.canonical import digest_of, target_digest


def request_digest(
    tenant: str,
    target_id: str | None,
    target: Mapping[str, Any],
    experiment: Any,
    seed: int,
    author: Mapping[str, Any] | None = None,
) -> str:
    """Compute a digest over everything that affects the result of a request.

    Parameters
    ----------
    target_id : str or None
        The saved target, if the request names one.
    target : mapping
        Its description as in a job: kind, protocol, base_url, settings.
    experiment : mapping or str
        The method's full specification, or ``"probe"``.
    seed : int
        Seed of all random numbers.
    author : mapping, optional
        Description of the service that generates sentences or pictures, as in a job.

    Returns
    -------
    str
        ``sha256:…``
    """
    described = _described(target)
    request = {
        "tenant": tenant,
        "target": target_id or described,
        "described": described,
        "experiment": experiment,
        "seed": seed,
    }
    if author is not None:
        request["author"] = {"id": author.get("id"), "described": _described(author)}
    return digest_of(request)


def _described(target: Mapping[str, Any]) -> str:
    return target_digest(
        {
            "kind": target["kind"],
            "protocol": target["protocol"],
            "url": target["base_url"],
            "settings": target["settings"],
        }
    )
