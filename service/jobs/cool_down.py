"""A target rests after a job: new work against it is refused for a while, reading and joining never is."""

from __future__ import annotations

from service.dependencies import Service
from service.http.problems import Problem
from store.jobs import cool_down


async def refuse_while_cooling(here: Service, tenant: str, target_url: str | None) -> None:
    """Refuse new work against a target that rests.

    Raises
    ------
    Problem
        ``cooling-down``, with ``Retry-After``.
    """
    rest_s = await here.database.read(cool_down.rest_s, tenant, target_url, here.settings.cooldown_s)
    if rest_s:
        raise cooling_down(rest_s)


def cooling_down(rest_s: int) -> Problem:
    """Say for how many seconds a target still rests."""
    return Problem("cooling-down", f"the target rests for {rest_s} s more", headers={"Retry-After": str(rest_s)})
