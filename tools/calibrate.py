"""`make calibrate`: measure how often letters are right and intervals cover the truth.

Every method with every kind of service it rates is run on simulated services of known effects
(`tests.support.simulated`), and the results are written to ``docs/calibration.md``. That takes hours: every run is
appended to a file in ``.calibration`` when it ends, and ``--continue`` resumes from there.
"""

from __future__ import annotations

import argparse
import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from assay.document import EffectDocument, as_json
from assay.model import Component
from assay.rating.decision import METHODOLOGY_VERSION
from store.core.child_processes import end_with_parent
from tests.support.simulated.base import SimulatedService
from tests.support.simulated.services import AT_ONCE, DRAWN, SERVICES
from tools.compositions import measure_pairs, section
from tools.worlds import GROUPS, measure_worlds, replace_section, share_interval
from tools.worlds import section as section_of_worlds

PAGE = Path(__file__).resolve().parent.parent / "docs" / "calibration.md"
KEPT = PAGE.parent.parent / ".calibration" / f"{METHODOLOGY_VERSION}.jsonl"

WORLDS_KEPT = KEPT.with_name(f"worlds-{METHODOLOGY_VERSION}.jsonl")

SIZES = (0.0, 0.5, 2.0, 4.0)
"""Sizes of either effect, in multiples of delta; none lies on a boundary."""

CASES: tuple[tuple[float, float], ...] = (
    *((0, 0), (0.5, 0), (0, 0.5), (0.5, 2), (0, 4), (2, 0), (4, 0)),
    *((0, 2), (0.5, 0.5), (2, 0.5), (2, 2)),
)
"""Pairs of true effects (step 1, step 2) that every simulated service can have, because shares are at most 1."""

EVERY = {**SERVICES, **AT_ONCE}

NOMINAL = 0.95

SEEDS_A_CASE = 100_000
"""Distance of two cases' first seeds: services of one seed differ only in their effects, so their errors correlate."""

CHUNK = 8
"""Number of runs that a process gets at a time."""


@dataclass(frozen=True)
class Run:
    """Result of one rating of one service; `case` is ``None`` if the service was drawn from the prior."""

    service: str
    case: tuple[float, float] | None
    seed: int
    right: bool
    declared: bool
    held: Mapping[str, bool]


def run(service: str, case: tuple[float, float], seed: int) -> Run:
    """Rate a simulated service once."""
    made = EVERY[service](case[0] * delta_of(service), case[1] * delta_of(service), seed)
    return _judged(service, case, made, seed)


def run_drawn(service: str, seed: int) -> Run:
    """Rate a service that is drawn from its method's prior once."""
    return _judged(service, None, DRAWN[service](seed), seed)


def _judged(service: str, case: tuple[float, float] | None, made: SimulatedService, seed: int) -> Run:
    component = made.rate(seed).components[0]
    judged = {path: _holds(component, path, truth) for path, truth in made.truths.items()}
    held = {path: holds for path, holds in judged.items() if holds is not None}
    return Run(service, case, seed, component.letter is made.letter, component.declared, held)


def delta_of(service: str) -> float:
    """Return the default tolerance of a service's method."""
    return 0.05 if service.startswith(("forced-choice", "association")) else 0.1


def _holds(component: Component, path: str, truth: float) -> bool | None:
    """Whether the interval at `path` contains the true value; ``None`` if no interval is stated."""
    effects = {
        name: None if effect is None else vars(EffectDocument.of(effect)) for name, effect in component.effects.items()
    }
    at: Any = as_json(component.detail) | {"effects": effects}
    for step in path.split("."):
        at = at[int(step)] if isinstance(at, list) else at[step]
        if at is None:
            return None
    return bool(at["low"] <= truth <= at["high"])


Job = tuple[str, tuple[float, float] | None, int]
"""Name of a service, case (``None``: drawn from the prior) and seed."""


def _work(jobs: Sequence[Job]) -> list[Run]:
    return [run_drawn(service, seed) if case is None else run(service, case, seed) for service, case, seed in jobs]


def jobs_of(services: Sequence[str], seeds: int, simulations: int) -> list[Job]:
    """List every run of every case of every service."""
    jobs: list[Job] = []
    count = max(seeds, math.ceil(simulations / len(CASES)))
    for service in services:
        for place, case in enumerate(CASES):
            jobs += [(service, case, SEEDS_A_CASE * place + seed) for seed in range(count)]
        jobs += [(service, None, seed) for seed in range(simulations if service in DRAWN else 0)]
    return jobs


def measure(jobs: Sequence[Job], kept: Path) -> list[Run]:
    """Run the simulations that are not stored yet, on all processors, and store each; return all that are stored."""
    done = {(one.service, one.case, one.seed): one for one in _read(kept)}
    left = [job for job in jobs if job not in done]
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
    )
    kept.parent.mkdir(exist_ok=True)
    # the file is rewritten without an incomplete last line
    kept.write_text("".join(map(_line, done.values())), encoding="utf-8")
    with bar, ProcessPoolExecutor(initializer=end_with_parent) as pool, kept.open("a", encoding="utf-8") as lines:
        task = bar.add_task("calibrating", total=len(jobs), completed=len(jobs) - len(left))
        try:
            for ended in as_completed([pool.submit(_work, left[at : at + CHUNK]) for at in range(0, len(left), CHUNK)]):
                done.update(((one.service, one.case, one.seed), one) for one in ended.result())
                lines.writelines(map(_line, ended.result()))
                lines.flush()
                bar.advance(task, len(ended.result()))
        finally:
            pool.shutdown(cancel_futures=True)
    places = {service: place for place, service in enumerate(dict.fromkeys(service for service, _, _ in jobs))}
    return sorted(
        (one for one in done.values() if one.service in places), key=lambda one: (places[one.service], one.seed)
    )


def _line(one: Run) -> str:
    return json.dumps(asdict(one)) + "\n"


def _read(kept: Path) -> Iterator[Run]:
    """Read the stored runs of an earlier calibration; the last line may have been cut off."""
    for line in kept.read_text(encoding="utf-8").splitlines(keepends=True) if kept.exists() else ():
        if line.endswith("\n"):
            one = json.loads(line)
            yield Run(**{**one, "case": one["case"] and tuple(one["case"])})


# ---------------------------------------------------------------------------- page of results
def letters(runs: Sequence[Run], seeds: int) -> Iterator[tuple[str, ...]]:
    """Return a row of the table of letters for each service and case."""
    for service in dict.fromkeys(one.service for one in runs):
        for case in CASES:
            some = [one for one in runs if (one.service, one.case) == (service, case)][:seeds]
            if not some:
                continue
            counted = Counter((one.right, one.declared) for one in some)
            right = counted[True, True] + counted[True, False]
            yield (
                service,
                f"{case[0]:g}",
                f"{case[1]:g}",
                f"{right} of {len(some)}",
                str(counted[True, True]),
                f"{counted[False, True]} ({share_interval(counted[False, True], len(some))})",
            )


def _all_letters(runs: Sequence[Run], seeds: int) -> str:
    """Write the sentence with the number of wrongly declared letters."""
    some = [one for one in runs if one.case and one.seed % SEEDS_A_CASE < seeds]
    wrong = sum(one.declared and not one.right for one in some)
    return f"**{wrong} of {len(some)}** ratings declared a wrong letter ({share_interval(wrong, len(some))})."


def _all_intervals(runs: Sequence[Run]) -> str:
    """Write the sentence with the coverage of the intervals, and the lowest coverage."""
    held = Counter((one.service, path, right) for one in runs if one.case for path, right in one.held.items())
    shares = {
        (service, path): (held[service, path, True], held[service, path, True] + held[service, path, False])
        for service, path, _ in held
    }
    right, total = (sum(each[place] for each in shares.values()) for place in (0, 1))
    worst, (fewest, of) = min(shares.items(), key=lambda one: one[1][0] / one[1][1])
    return (
        f"**{right} of {total}** intervals covered the true value ({share_interval(right, total)}); least often"
        f" `{worst[1]}` of {worst[0]}: {fewest} of {of} ({share_interval(fewest, of)})."
    )


def coverage(runs: Sequence[Run]) -> Iterator[tuple[str, ...]]:
    """Return the coverage of each service and interval: over all cases, and by the size of the effect."""
    for service in dict.fromkeys(one.service for one in runs):
        own = [one for one in runs if one.service == service]
        covered = [one for one in own if one.case]
        drawn = [one for one in own if one.case is None]
        for path in dict.fromkeys(path for one in covered for path in one.held):
            stated = [one for one in covered if path in one.held]
            step = next((step for step in (0, 1) if path == f"effects.step_{step + 1}"), None)
            by_size = [
                _share([one for one in stated if step is not None and one.case and one.case[step] == size], path)
                for size in SIZES
            ]
            of_prior = _share([one for one in drawn if path in one.held], path)
            held = share_interval(sum(one.held[path] for one in stated), len(stated))
            everything = f"{_share(stated, path)} ({held})"
            yield service, f"`{path}`", everything, *by_size, of_prior, str(len(stated))


def _share(runs: Sequence[Run], path: str) -> str:
    return f"{sum(one.held[path] for one in runs) / len(runs):.3f}" if runs else ""


def page(runs: Sequence[Run], seeds: int, worlds: Sequence[str] = ()) -> str:
    """Write the page; `worlds` is its first section."""
    lines = [
        "# Calibration",
        "",
        f"Methodology {METHODOLOGY_VERSION}; written by `make calibrate`. Simulated services of known effects",
        "(`tests/support/simulated/`) are rated with each method's defaults, each from a seed of its own.",
        "",
        *worlds,
        "## Letters",
        "Effects are multiples of the tolerance `delta`; none is equal to it. *Right* counts ratings whose letter,",
        f"declared or leading, is the true one, in {seeds} simulations; *declared wrong* those with another declared",
        "letter.",
        "",
        _all_letters(runs, seeds),
        "",
        *_table(
            ("method, service", "step 1", "step 2", "right", "declared right", "declared wrong"), letters(runs, seeds)
        ),
        "",
        "## Intervals",
        f"Share of the stated {NOMINAL:.0%} intervals that cover the true value: over services with all possible",
        "pairs of effects (0, 1/2, 2 or 4 times delta in each step, each pair equally often), by the size of the",
        "effect that the interval is about, and over services *drawn* from the method's own prior (simulation-based",
        "calibration, Talts et al. 2018). In brackets: the 95 % interval of the share, for its Monte Carlo error;",
        "for the columns by size it is about twice as wide.",
        "",
        "Coverage can differ from 95 % for two reasons. A true effect of 0 is the smallest possible distance: an",
        "interval that begins at 0 covers it, so that errors are possible on one side only. And methods stop when a",
        "letter is clear, which depends on chance: for services of a given effect, coverage is then slightly higher or",
        "lower. In rows with *all texts* there is no early stopping. Intervals that are too wide for other reasons are",
        "explained in [decision 33](decisions/0033-intervals-of-sizes-and-of-looks.md).",
        "",
        _all_intervals(runs),
        "",
        *_table(
            ("method, service", "interval", "all", *(f"at {size:g}" for size in SIZES), "drawn", "simulations"),
            coverage(runs),
        ),
        "",
    ]
    return "\n".join(lines)


def _table(columns: Sequence[str], rows: Iterator[tuple[str, ...]]) -> Iterator[str]:
    yield f"| {' | '.join(columns)} |"
    yield f"|{'---|' * len(columns)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"


def main() -> None:
    """Run the simulations and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=100, help="seeds of each case for letters")
    parser.add_argument("--world-seeds", type=int, help="seeds of each service of a group, instead of the usual number")
    parser.add_argument(
        "--group",
        action="append",
        choices=GROUPS,
        help="only the section of this group of services, replaced on the page; other sections keep their date",
    )
    parser.add_argument("--simulations", type=int, default=1100, help="simulations for coverage")
    parser.add_argument("--service", action="append", help="only services whose name holds this")
    parser.add_argument("--continue", action="store_true", dest="go_on", help="keep what an earlier calibration did")
    parser.add_argument("--print", action="store_true", help="print the page instead of writing it")
    asked = parser.parse_args()
    services = [name for name in EVERY if not asked.service or any(part in name for part in asked.service)]
    if not asked.go_on:
        WORLDS_KEPT.unlink(missing_ok=True)
        if not asked.group:
            KEPT.unlink(missing_ok=True)
    worlds: list[str] = []
    for group in () if asked.service else [GROUPS[name] for name in asked.group or GROUPS]:
        tried = measure_worlds(group, asked.world_seeds or group.seeds, WORLDS_KEPT)
        lines = tuple(section_of_worlds(group, tried, datetime.now(UTC).date()))
        worlds += lines
        if asked.group:
            PAGE.write_text(replace_section(PAGE.read_text(encoding="utf-8"), lines), encoding="utf-8")
    if asked.group:
        return
    runs = measure(jobs_of(services, asked.seeds, asked.simulations), KEPT)
    written = page(runs, asked.seeds, worlds)
    if not asked.service or any(part in "compositions" for part in asked.service):
        written += "\n".join(["", *section(measure_pairs())])
    if asked.print or asked.service:
        print(written)
    else:
        PAGE.write_text(written, encoding="utf-8")
        print(f"written to {PAGE.relative_to(PAGE.parent.parent)}")


if __name__ == "__main__":
    main()
