"""Calibration without the models' assumptions: how often services get a wrong letter.

The services are described by their behaviour (`tests.support.simulated.hidden_bias`): they hide a bias behind a mean,
or break an assumption of a method's model, such as equal noise, normal tails or a service that does not drift. Other
services are rated with the smallest designs (`tests.support.simulated.small_designs`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

from rich.progress import track

from assay.rating.decision import rate
from assay.statistics.intervals.credible import wilson
from store.core.child_processes import end_with_parent
from tests.support.simulated.defeat_devices import DEVICES, DeviceWorld
from tests.support.simulated.hidden_bias import WORLDS, World
from tests.support.simulated.small_designs import SMALL_WORLDS, SmallWorld

SIZES = (0.5, 1.0, 2.0)
"""Factors by which the effects of a simulated service (a "world") are multiplied; honest services have only 1."""


SERVICES: Mapping[str, World | SmallWorld | DeviceWorld] = {**WORLDS, **SMALL_WORLDS, **DEVICES}
"""Simulated services by name; defeat devices have one size."""


@dataclass(frozen=True)
class Tried:
    """Result of one rating; `questions` is the largest number of usable answers of any component."""

    world: str
    size: float
    seed: int
    letter: str | None
    declared: bool
    questions: int

    @property
    def wrong(self) -> bool:
        """Whether a letter was declared that the service does not deserve."""
        return self.declared and self.letter not in {each.value for each in SERVICES[self.world].deserved(self.size)}


def rate_once(job: tuple[str, float, int]) -> Tried:
    """Rate one simulated service; `job` is the name of its world, the factor of its effects, and the seed."""
    world, size, seed = job
    finding = SERVICES[world].rate(seed, size)
    rating = rate(finding)
    letter = None if rating.letter is None else rating.letter.value
    return Tried(world, size, seed, letter, rating.declared, max(one.usable for one in finding.components))


def measure_worlds(seeds: int, kept: Path) -> list[Tried]:
    """Rate services of every world, and store each result; results that are stored already are read instead."""
    written = kept.read_text(encoding="utf-8").splitlines() if kept.exists() else []
    done = {(one.world, one.size, one.seed): one for one in (Tried(**json.loads(line)) for line in written)}
    jobs = [
        (name, size, seed)
        for seed in range(seeds)
        for name, world in SERVICES.items()
        for size in ((1.0,) if world.honest or name in DEVICES else SIZES)
    ]
    left = [job for job in jobs if job not in done]
    kept.parent.mkdir(exist_ok=True)
    with ProcessPoolExecutor(initializer=end_with_parent) as pool, kept.open("a", encoding="utf-8") as lines:
        for one in track(pool.map(rate_once, left, chunksize=2), "worlds", total=len(left)):
            done[one.world, one.size, one.seed] = one
            lines.write(json.dumps(asdict(one)) + "\n")
            lines.flush()
    return [done[job] for job in jobs]


def section(tried: Sequence[Tried]) -> Iterator[str]:
    """Write the section: the share of wrong letters, the world with the most of them, and a table with all worlds."""
    by_world = {
        (world, size): [one for one in tried if (one.world, one.size) == (world, size)]
        for world, size in dict.fromkeys((one.world, one.size) for one in tried)
    }
    wrong = sum(one.wrong for one in tried)
    worst = max(by_world, key=lambda key: sum(one.wrong for one in by_world[key]))
    yield "## Wrong letters, in worlds that break what the models assume"
    share = share_interval(wrong, len(tried))
    yield f"**{wrong} of {len(tried)}** services got a letter declared that they do not deserve ({share})."
    yield (
        f"The worst world is “{worst[0]}” with effects of size {worst[1]:g}:"
        f" {sum(one.wrong for one in by_world[worst])} of {len(by_world[worst])}."
    )
    yield "The services are described by what they do (`tests/support/simulated/hidden_bias.py`), not by a model that"
    yield "is fitted. Where one deserves UCS or DSBS, either is right. In brackets: the 95 % interval of the share."
    yield "Rows with a colon are the smallest designs (`tests/support/simulated/small_designs.py`). Below the floor"
    yield "there is no letter, which counts as inconclusive ([decision 98](decisions/0098-a-floor.md))."
    yield "Defeat devices (`tests/support/simulated/defeat_devices.py`) are even where they recognise a rating, by"
    yield "sentences of an earlier one or by pairs within 50 calls ([audited services](audited-services.md))."
    yield "Where half of an effect is at the tolerance, either letter is right, and where it is within it, UCS is."
    yield ""
    yield "| world | size | declared right | inconclusive | declared wrong | questions (median) |"
    yield "|---|--:|--:|--:|--:|--:|"
    for (world, size), some in by_world.items():
        mistakes, silent = sum(one.wrong for one in some), sum(not one.declared for one in some)
        told = f"{mistakes} ({share_interval(mistakes, len(some))})"
        right = len(some) - mistakes - silent
        yield f"| {world} | {size:g} | {right} | {silent} | {told} | {median(one.questions for one in some):g} |"
    yield ""


def share_interval(count: int, total: int) -> str:
    """Write the 95 % Wilson interval of a share, which shows its Monte Carlo error."""
    interval = wilson(count, total)
    return f"{interval.low:.1%} to {interval.high:.1%}"
