"""What `make calibrate` does: see whether letters are right, and intervals hold the truth as often as they say.

Every method with every kind of service it rates is run on simulated services of known effects
(`proving.simulated`), and the results are written to ``docs/calibration.md``.
"""

from __future__ import annotations

import argparse
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from assay.model import Component, Interval
from assay.verdict import METHODOLOGY_VERSION
from proving.compositions import measure_pairs, section
from proving.simulated import DRAWN, WORLDS, World

PAGE = Path(__file__).resolve().parent.parent / "docs" / "calibration.md"

CASES: tuple[tuple[float, float], ...] = ((0, 0), (0.5, 0), (0, 0.5), (0.5, 2), (0, 4), (2, 0), (4, 0))
"""True effects of step 1 and step 2, in multiples of delta: none of them on a boundary."""

COVERED: tuple[tuple[float, float], ...] = ((0.5, 2),)
"""The case in which coverage is measured: both effects differ from nothing."""

NOMINAL = 0.95


@dataclass(frozen=True)
class Run:
    """What one rating of one world came to; `case` is ``None`` where the service was drawn from the prior."""

    world: str
    case: tuple[float, float] | None
    right: bool
    declared: bool
    held: Mapping[str, bool]


def run(world: str, case: tuple[float, float], seed: int) -> Run:
    """Rate a simulated service once."""
    made = WORLDS[world](case[0] * delta_of(world), case[1] * delta_of(world), seed)
    return _judged(world, case, made, seed)


def run_drawn(world: str, seed: int) -> Run:
    """Rate a service that is drawn from its method's prior once."""
    return _judged(world, None, DRAWN[world](seed), seed)


def _judged(world: str, case: tuple[float, float] | None, made: World, seed: int) -> Run:
    component = made.rate(seed).components[0]
    held = {path: _holds(component, path, truth) for path, truth in made.truths.items()}
    return Run(world, case, component.letter is made.letter, component.declared, held)


def delta_of(world: str) -> float:
    """Give the tolerance a world's method has by default."""
    return 0.05 if world.startswith(("forced-choice", "association")) else 0.1


def _holds(component: Component, path: str, truth: float) -> bool:
    """Whether the interval at a path holds the truth."""
    at: Any = {**component.detail, "effects": component.effects}
    for step in path.split("."):
        at = at[int(step)] if isinstance(at, list) else at[step]
    low, high = (at.low, at.high) if isinstance(at, Interval) else (at["low"], at["high"])
    return bool(low <= truth <= high)


def _work(job: tuple[str, tuple[float, float] | None, int]) -> Run:
    world, case, seed = job
    return run_drawn(world, seed) if case is None else run(world, case, seed)


def measure(worlds: Sequence[str], seeds: int, simulations: int) -> list[Run]:
    """Run every case of every world, on all processors, with a progress bar."""
    jobs: list[tuple[str, tuple[float, float] | None, int]] = []
    for world in worlds:
        for case in dict.fromkeys((*CASES, *COVERED)):
            count = max(seeds if case in CASES else 0, simulations if case in COVERED else 0)
            jobs += [(world, case, seed) for seed in range(count)]
        jobs += [(world, None, seed) for seed in range(simulations if world in DRAWN else 0)]
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
    )
    done: list[Run] = []
    with bar, ProcessPoolExecutor(os.cpu_count()) as pool:
        task = bar.add_task("calibrating", total=len(jobs))
        for one in pool.map(_work, jobs, chunksize=8):
            done.append(one)
            bar.advance(task)
    return done


# ---------------------------------------------------------------------------- the page
def letters(runs: Sequence[Run], seeds: int) -> Iterator[tuple[str, ...]]:
    """Give a row for each world and case."""
    for world in dict.fromkeys(one.world for one in runs):
        for case in CASES:
            some = [one for one in runs if (one.world, one.case) == (world, case)][:seeds]
            if not some:
                continue
            counted = Counter((one.right, one.declared) for one in some)
            right = counted[True, True] + counted[True, False]
            yield (
                world,
                f"{case[0]:g}",
                f"{case[1]:g}",
                f"{right} of {len(some)}",
                str(counted[True, True]),
                str(counted[False, True]),
            )


def coverage(runs: Sequence[Run]) -> Iterator[tuple[str, ...]]:
    """Give a row for each world and stated interval."""
    for world in dict.fromkeys(one.world for one in runs):
        for case in (*COVERED, None):
            some = [one for one in runs if (one.world, one.case) == (world, case)]
            effects = ("drawn", "drawn") if case is None else (f"{case[0]:g}", f"{case[1]:g}")
            for path in some[0].held if some else ():
                share = sum(one.held[path] for one in some) / len(some)
                yield world, *effects, f"`{path}`", f"{share:.3f}", str(len(some))


def page(runs: Sequence[Run], seeds: int) -> str:
    """Write the page."""
    lines = [
        "# Calibration",
        "",
        f"Methodology {METHODOLOGY_VERSION}; written by `make calibrate`. Simulated services of known effects",
        "(`proving/simulated.py`) are rated with each method's defaults, each from a seed of its own.",
        "",
        "## Letters",
        "Effects are multiples of the tolerance `delta`; none lies on the boundary. Right: the letter is the true",
        f"one, declared or leaning, in {seeds} seeds. A confident mistake is a declared letter that is not true.",
        "",
        *_table(
            ("method, service", "step 1", "step 2", "right", "declared right", "declared wrong"), letters(runs, seeds)
        ),
        "",
        "## Intervals",
        f"Share of stated {NOMINAL:.0%} intervals that hold the truth. An effect of nothing is at the bound of what a",
        "distance can be; there an interval that reaches 0 holds it, and more often than it says is no fault.",
        "",
        "Translators are looked at until a letter is clear. Over services of one and the same effect that makes",
        "intervals hold more often than they say far from the tolerance, and less often beside it. A posterior does",
        "not depend on why one stopped: over services *drawn* from the method's prior they hold as often as they say.",
        "",
        *_table(("method, service", "step 1", "step 2", "interval", "holds the truth", "simulations"), coverage(runs)),
        "",
    ]
    return "\n".join(lines)


def _table(columns: Sequence[str], rows: Iterator[tuple[str, ...]]) -> Iterator[str]:
    yield f"| {' | '.join(columns)} |"
    yield f"|{'---|' * len(columns)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"


def main() -> None:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=100, help="seeds of each case for letters")
    parser.add_argument("--simulations", type=int, default=1000, help="simulations for coverage")
    parser.add_argument("--world", action="append", help="only worlds whose name holds this")
    parser.add_argument("--print", action="store_true", help="print the page instead of writing it")
    asked = parser.parse_args()
    worlds = [name for name in WORLDS if not asked.world or any(part in name for part in asked.world)]
    written = page(measure(worlds, asked.seeds, asked.simulations), asked.seeds)
    if not asked.world or any(part in "compositions" for part in asked.world):
        written += "\n".join(["", *section(measure_pairs())])
    if asked.print or asked.world:
        print(written)
    else:
        PAGE.write_text(written, encoding="utf-8")
        print(f"written to {PAGE.relative_to(PAGE.parent.parent)}")


if __name__ == "__main__":
    main()
