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
from tests.support.simulated.services import ANSWERING, AT_ONCE, DRAWN, SERVICES
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
"""Pairs of true effects (step 1, step 2) that every service can have; with others, some would need a share above 1."""

EVERY = {**SERVICES, **ANSWERING, **AT_ONCE}

NOMINAL = 0.95

SEEDS_A_CASE = 100_000
"""Distance of two cases' first seeds: services of one seed differ only in their effects, so their errors correlate."""

CHUNK = 8
"""Number of runs that a process gets at a time."""


@dataclass(frozen=True)
class Run:
    """Result of one rating of one service; `case` is ``None`` if the service was drawn from the prior.

    `right`: whether the letter is the true one; `held`: whether each interval, by its path, covers the true value.
    """

    service: str
    case: tuple[float, float] | None
    seed: int
    right: bool
    declared: bool
    held: Mapping[str, bool]


def run(service: str, case: tuple[float, float], seed: int) -> Run:
    """Rate a simulated service once."""
    simulated = EVERY[service](case[0] * delta_of(service), case[1] * delta_of(service), seed)
    return _judge_intervals(service, case, simulated, seed)


def run_drawn(service: str, seed: int) -> Run:
    """Rate a service that is drawn from its method's prior once."""
    return _judge_intervals(service, None, DRAWN[service](seed), seed)


def _judge_intervals(service: str, case: tuple[float, float] | None, simulated: SimulatedService, seed: int) -> Run:
    component = simulated.rate(seed).components[0]
    covers_by_path = {path: _covers_truth(component, path, truth) for path, truth in simulated.truths.items()}
    stated = {path: covers for path, covers in covers_by_path.items() if covers is not None}
    return Run(service, case, seed, component.letter is simulated.letter, component.declared, stated)


def delta_of(service: str) -> float:
    """Return the default tolerance of a service's method."""
    return 0.05 if service.startswith(("forced-choice", "association", "free-text")) else 0.1


def _covers_truth(component: Component, path: str, truth: float) -> bool | None:
    """Return whether the interval at `path` contains the true value; ``None`` if no interval is stated."""
    effects = {
        name: None if effect is None else vars(EffectDocument.of(effect)) for name, effect in component.effects.items()
    }
    node: Any = as_json(component.detail) | {"effects": effects}
    for step in path.split("."):
        node = node[int(step)] if isinstance(node, list) else node[step]
        if node is None:
            return None
    return bool(node["low"] <= truth <= node["high"])


Job = tuple[str, tuple[float, float] | None, int]
"""Name of a service, case (``None``: drawn from the prior) and seed."""


def _runs(jobs: Sequence[Job]) -> list[Run]:
    return [run_drawn(service, seed) if case is None else run(service, case, seed) for service, case, seed in jobs]


def jobs_of(services: Sequence[str], seeds: int, simulations: int) -> list[Job]:
    """List the runs of every service: at least `seeds` of each case, and `simulations` with effects from the prior."""
    jobs: list[Job] = []
    count = max(seeds, math.ceil(simulations / len(CASES)))
    for service in services:
        for index, case in enumerate(CASES):
            jobs += [(service, case, SEEDS_A_CASE * index + seed) for seed in range(count)]
        jobs += [(service, None, seed) for seed in range(simulations if service in DRAWN else 0)]
    return jobs


def measure(jobs: Sequence[Job], store: Path) -> list[Run]:
    """Run the simulations that are not stored yet, on all processors, and store each; return all that are stored."""
    stored_runs = {(row.service, row.case, row.seed): row for row in _read_runs(store)}
    pending = [job for job in jobs if job not in stored_runs]
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
    )
    store.parent.mkdir(exist_ok=True)
    # the file is rewritten without an incomplete last line
    store.write_text("".join(map(_json_line, stored_runs.values())), encoding="utf-8")
    with bar, ProcessPoolExecutor(initializer=end_with_parent) as pool, store.open("a", encoding="utf-8") as file:
        task = bar.add_task("calibrating", total=len(jobs), completed=len(jobs) - len(pending))
        try:
            for chunk in as_completed(
                [pool.submit(_runs, pending[start : start + CHUNK]) for start in range(0, len(pending), CHUNK)]
            ):
                stored_runs.update(((row.service, row.case, row.seed), row) for row in chunk.result())
                file.writelines(map(_json_line, chunk.result()))
                file.flush()
                bar.advance(task, len(chunk.result()))
        finally:
            pool.shutdown(cancel_futures=True)
    ranks = {service: index for index, service in enumerate(dict.fromkeys(service for service, _, _ in jobs))}
    return sorted(
        (row for row in stored_runs.values() if row.service in ranks), key=lambda row: (ranks[row.service], row.seed)
    )


def _json_line(row: Run) -> str:
    return json.dumps(asdict(row)) + "\n"


def _read_runs(store: Path) -> Iterator[Run]:
    """Read the stored runs of an earlier calibration; the last line may have been cut off."""
    for line in store.read_text(encoding="utf-8").splitlines(keepends=True) if store.exists() else ():
        if line.endswith("\n"):
            fields = json.loads(line)
            yield Run(**{**fields, "case": fields["case"] and tuple(fields["case"])})


# ---------------------------------------------------------------------------- page of results
def letters(runs: Sequence[Run], seeds: int) -> Iterator[tuple[str, ...]]:
    """Yield a row of the table of letters for each service and case: how many letters are right, and wrong."""
    for service in dict.fromkeys(row.service for row in runs):
        for case in CASES:
            results = [row for row in runs if (row.service, row.case) == (service, case)][:seeds]
            if not results:
                continue
            counts = Counter((row.right, row.declared) for row in results)
            right_count = counts[True, True] + counts[True, False]
            yield (
                service,
                f"{case[0]:g}",
                f"{case[1]:g}",
                f"{right_count} of {len(results)}",
                str(counts[True, True]),
                f"{counts[False, True]} ({share_interval(counts[False, True], len(results))})",
            )


def _letters_sentence(runs: Sequence[Run], seeds: int) -> str:
    """Write the sentence with the number of wrongly declared letters."""
    judged_runs = [row for row in runs if row.case and row.seed % SEEDS_A_CASE < seeds]
    wrong_count = sum(row.declared and not row.right for row in judged_runs)
    interval = share_interval(wrong_count, len(judged_runs))
    return f"**{wrong_count} of {len(judged_runs)}** ratings declared a wrong letter ({interval})."


def _intervals_sentence(runs: Sequence[Run]) -> str:
    """Write the sentence with the coverage of the intervals, and the lowest coverage."""
    counts = Counter((row.service, path, covers) for row in runs if row.case for path, covers in row.held.items())
    covered = {(service, path): counts[service, path, True] for service, path, _ in counts}
    stated = {(service, path): covered[service, path] + counts[service, path, False] for service, path in covered}
    worst = min(covered, key=lambda interval: covered[interval] / stated[interval])
    (service, path), fewest = worst, covered[worst]
    count, total = sum(covered.values()), sum(stated.values())
    return (
        f"**{count} of {total}** intervals covered the true value ({share_interval(count, total)}); least often"
        f" `{path}` of {service}: {fewest} of {stated[worst]} ({share_interval(fewest, stated[worst])})."
    )


def coverage(runs: Sequence[Run]) -> Iterator[tuple[str, ...]]:
    """Yield a row for each service and interval: how often it covers the truth, in all cases and by size of effect."""
    for service in dict.fromkeys(row.service for row in runs):  # each once, in the order of the runs
        service_runs = [row for row in runs if row.service == service]
        case_runs = [row for row in service_runs if row.case]
        prior_runs = [row for row in service_runs if row.case is None]
        for path in dict.fromkeys(path for row in case_runs for path in row.held):
            interval_runs = [row for row in case_runs if path in row.held]
            step = next((step for step in (0, 1) if path == f"effects.step_{step + 1}"), None)
            shares_by_size = [
                _held_share(
                    [row for row in interval_runs if step is not None and row.case and row.case[step] == size], path
                )
                for size in SIZES
            ]
            prior_share = _held_share([row for row in prior_runs if path in row.held], path)
            interval = share_interval(sum(row.held[path] for row in interval_runs), len(interval_runs))
            overall = f"{_held_share(interval_runs, path)} ({interval})"
            yield service, f"`{path}`", overall, *shares_by_size, prior_share, str(len(interval_runs))


def _held_share(runs: Sequence[Run], path: str) -> str:
    return f"{sum(row.held[path] for row in runs) / len(runs):.3f}" if runs else ""


def page(runs: Sequence[Run], seeds: int, worlds: Sequence[str] = ()) -> str:
    """Return the page in Markdown; `worlds` has the lines of its first section."""
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
        _letters_sentence(runs, seeds),
        "",
        *_table_lines(
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
        "explained in [decision 33](decisions/0033-intervals-of-sizes-and-maxima.md).",
        "",
        _intervals_sentence(runs),
        "",
        *_table_lines(
            ("method, service", "interval", "all", *(f"at {size:g}" for size in SIZES), "drawn", "simulations"),
            coverage(runs),
        ),
        "",
    ]
    return "\n".join(lines)


def _table_lines(columns: Sequence[str], rows: Iterator[tuple[str, ...]]) -> Iterator[str]:
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
    options = parser.parse_args()
    service_names = [name for name in EVERY if not options.service or any(part in name for part in options.service)]
    if not options.go_on:
        WORLDS_KEPT.unlink(missing_ok=True)
        if not options.group:
            KEPT.unlink(missing_ok=True)
    world_lines: list[str] = []
    for group in () if options.service else [GROUPS[name] for name in options.group or GROUPS]:
        ratings = measure_worlds(group, options.world_seeds or group.seeds, WORLDS_KEPT)
        section_lines = tuple(section_of_worlds(group, ratings, datetime.now(UTC).date()))
        world_lines += section_lines
        if options.group:
            PAGE.write_text(replace_section(PAGE.read_text(encoding="utf-8"), section_lines), encoding="utf-8")
    if options.group:
        return
    runs = measure(jobs_of(service_names, options.seeds, options.simulations), KEPT)
    text = page(runs, options.seeds, world_lines)
    if not options.service or any(part in "compositions" for part in options.service):
        text += "\n".join(["", *section(measure_pairs())])
    if options.print or options.service:
        print(text)
    else:
        PAGE.write_text(text, encoding="utf-8")
        print(f"written to {PAGE.relative_to(PAGE.parent.parent)}")


if __name__ == "__main__":
    main()
