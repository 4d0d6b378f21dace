"""What makes two requests the same: everything that decides the answer, and nothing else."""

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
    """Name a request so that equal requests have equal names.

    Parameters
    ----------
    tenant : str
        Who asks.
    target_id : str or None
        The kept target, if it is one.
    target : mapping
        Its description as a job carries it: kind, protocol, base_url, settings.
    experiment : mapping or str
        The method's full specification, or ``"probe"``.
    seed : int
        Seed of everything random.
    author : mapping, optional
        Description of the service that writes or draws, as a job carries it.

    Returns
    -------
    str
        ``sha256:…``
    """
    described = _described(target)
    asked = {
        "tenant": tenant,
        "target": target_id or described,
        "described": described,
        "experiment": experiment,
        "seed": seed,
    }
    if author is not None:
        asked["author"] = {"id": author.get("id"), "described": _described(author)}
    return digest_of(asked)


def _described(target: Mapping[str, Any]) -> str:
    return target_digest(
        {
            "kind": target["kind"],
            "protocol": target["protocol"],
            "url": target["base_url"],
            "settings": target["settings"],
        }
    )
