"""Cool-down of a target after a job: new jobs are refused for a while; reading and joining stay allowed."""

from __future__ import annotations

from service.dependencies import Service
from service.http.problems import Problem
from store.jobs import cool_down


async def refuse_while_cooling(here: Service, tenant: str, target_url: str | None) -> None:
    """Refuse a new job during the cool-down of its target.

    Raises
    ------
    Problem
        ``cooling-down``, with ``Retry-After``.
    """
    rest_s = await here.database.read(cool_down.rest_s, tenant, target_url, here.settings.cooldown_s)
    if rest_s:
        raise cooling_down(rest_s)


def cooling_down(rest_s: int) -> Problem:
    """Return the problem for a target whose cool-down lasts `rest_s` more seconds."""
    return Problem(
        "cooling-down", f"the cool-down of the target lasts {rest_s} s more", headers={"Retry-After": str(rest_s)}
    )
