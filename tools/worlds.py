"""Calibration without the models' assumptions: how often services get a wrong letter.

The services are described by their behaviour, not by a model that a method fits. Each group of them has a section of
docs/calibration.md and a number of seeds of its own.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field
from datetime import date
from pathlib import Path
from statistics import median

from rich.progress import track

from assay.methods.outcomes.detail import OutcomesComponent
from assay.model import Finding
from assay.rating.decision import rate
from assay.statistics.intervals.credible import wilson
from store.core.child_processes import end_with_parent
from tests.support.simulated.comparisons import COMPARISONS
from tests.support.simulated.deciding_models import DECIDING
from tests.support.simulated.defeat_devices import DEVICES, DeviceWorld
from tests.support.simulated.free_text import WRITERS, WriterWorld
from tests.support.simulated.hidden_bias import WORLDS, World
from tests.support.simulated.misread_answers import MISREAD, MisreadWorld
from tests.support.simulated.questions import ANSWERERS, AnswererWorld
from tests.support.simulated.recorded_decisions import FILES, FileWorld
from tests.support.simulated.single_texts import SINGLE_TEXTS, TextWorld
from tests.support.simulated.small_designs import SMALL_WORLDS, SmallWorld

SIZES = (0.5, 1.0, 2.0)
"""Factors by which the effects of a simulated service (a "world") are multiplied; honest services have only 1."""


AnyWorld = World | SmallWorld | TextWorld | DeviceWorld | MisreadWorld | FileWorld | WriterWorld | AnswererWorld


@dataclass(frozen=True)
class Group:
    """Simulated services with a section of their own on the page.

    `seeds` is the usual number of ratings of each service, and `about` the lines that explain the section.
    """

    title: str
    worlds: Mapping[str, AnyWorld]
    seeds: int
    about: tuple[str, ...]


GROUPS: Mapping[str, Group] = {
    "assumptions": Group(
        "Wrong letters: services that break the models' assumptions",
        WORLDS,
        100,
        (
            "The services are described by what they do (`tests/support/simulated/hidden_bias.py`), not by a fitted",
            "model. *Size* is the factor by which their effects are multiplied. If UCS and DSBS are both correct for",
            "a service, either counts as right. At size 0.5, any letter counts as right if the halved effect is about",
            "as large as the tolerance; if it is within the tolerance, UCS is right.",
        ),
    ),
    "small-designs": Group(
        "Wrong letters: the smallest designs",
        SMALL_WORLDS,
        400,
        (
            "Unbiased services, services with an effect of half the tolerance in either step, and noisy services",
            "(`tests/support/simulated/small_designs.py`), with the smallest designs that are accepted, and with the",
            "smallest that get a letter. Below the minimum design there is no letter, which counts as inconclusive",
            "([decision 98](decisions/0098-minimum-numbers-and-chance.md)).",
        ),
    ),
    "single-texts": Group(
        "Wrong letters: labels that change in single texts",
        SINGLE_TEXTS,
        20,
        (
            "Classifiers of texts that treat both groups alike on average (`tests/support/simulated/single_texts.py`).",
            "If labels change with the group, the service is BS. If they change as much between two persons of one",
            "group, or by chance, it is not.",
        ),
    ),
    "defeat-devices": Group(
        "Wrong letters: services that recognise a rating",
        DEVICES,
        20,
        (
            "Biased services that answer without bias if they recognise a rating, by sentences of an earlier rating or",
            "by pairs within 50 calls (`tests/support/simulated/defeat_devices.py`,",
            "[audited services](audited-services.md)).",
        ),
    ),
    "misread-answers": Group(
        "Wrong letters: answers that are easily misread",
        MISREAD,
        20,
        (
            "Services that write both genders, sentences instead of a letter, or numbers as text",
            "(`tests/support/simulated/misread_answers.py`, [how answers are read](how-answers-are-read.md)). If the",
            "answers of a service show no value, every declared letter is wrong.",
        ),
    ),
    "comparisons": Group(
        "Wrong letters: services that compare two documents, and translators from French",
        COMPARISONS,
        20,
        (
            "Services that answer which of two documents is better, by facts, by group or by position, and translators",
            "from French that turn a share of the women into men (`tests/support/simulated/comparisons.py`). A service",
            "that always chooses the first document deserves no letter.",
        ),
    ),
    "deciding-models": Group(
        "Wrong letters: chat models that decide",
        DECIDING,
        20,
        (
            "Chat models that screen applicants (`tests/support/simulated/deciding_models.py`). Their answers go",
            "through the adapter: by probabilities, by letters in both orders, and in words. A model that always",
            "chooses the first option deserves no letter ([models that decide](targets.md#models-that-decide)).",
        ),
    ),
    "outcomes": Group(
        "Wrong letters, for files of recorded decisions",
        FILES,
        400,
        (
            "Files of decisions (`tests/support/simulated/recorded_decisions.py`, [outcomes](methods/outcomes.md)):",
            "base rates that differ, few favourable decisions, two to fourteen groups, clusters, scores that are",
            "calibrated while errors differ, and a truth that is itself biased, which the method cannot detect (DSBS",
            "then counts as right).",
        ),
    ),
    "free-text": Group(
        "Wrong letters, for models that write",
        WRITERS,
        100,
        (
            "Models that write about people, and judges of their texts (`tests/support/simulated/free_text.py`,",
            "[free-text](methods/free-text.md)). *Brief* is 30 prompts and one further analysis of 60.",
        ),
    ),
    "questions": Group(
        "Wrong letters, for models that answer questions",
        ANSWERERS,
        400,
        (
            "Models that answer questions about two people (`tests/support/simulated/questions.py`,",
            "[questions](methods/questions.md)). *Briefly* is one turn of the eight templates, the smallest design. A",
            "model that always chooses the first letter, or always says “unknown”, deserves no letter.",
        ),
    ),
}
"""Groups of services by name."""

SERVICES: Mapping[str, AnyWorld] = {name: world for group in GROUPS.values() for name, world in group.worlds.items()}
"""Simulated services by name."""


@dataclass(frozen=True)
class WorldRating:
    """Result of one rating.

    Attributes
    ----------
    questions : int
        Largest number of usable answers of any component.
    stated, held : mapping of str to int
        Of files of decisions: the number of intervals by kind, and of those that hold the number of the population.
    audit : mapping of str to int
        Of files of decisions: whether a group is ``suspicious``, and whether one is ``flagged`` by four fifths.
    """

    world: str
    size: float
    seed: int
    letter: str | None
    declared: bool
    questions: int
    stated: Mapping[str, int] = field(default_factory=dict)
    held: Mapping[str, int] = field(default_factory=dict)
    audit: Mapping[str, int] = field(default_factory=dict)

    @property
    def wrong(self) -> bool:
        """Whether a letter was declared that the service does not deserve."""
        return self.declared and self.letter not in {
            letter.value for letter in SERVICES[self.world].deserved(self.size)
        }


def rate_once(job: tuple[str, float, int]) -> WorldRating:
    """Rate one simulated service; `job` is the name of its world, the factor of its effects, and the seed."""
    world, size, seed = job
    finding = SERVICES[world].rate(seed, size)
    rating = rate(finding)
    letter = None if rating.letter is None else rating.letter.value
    questions = max(component.usable for component in finding.components)
    return WorldRating(
        world, size, seed, letter, rating.declared, questions, **_compare_with_population(world, finding)
    )


def _compare_with_population(world: str, finding: Finding) -> dict[str, Mapping[str, int]]:
    """Compare the intervals of a file of decisions with its population; empty for other services."""
    service, component = SERVICES[world], finding.components[0]
    if not isinstance(service, FileWorld) or not isinstance(component.detail, OutcomesComponent):
        return {}
    interval_checks = [*service.population.held(component)]
    groups = component.detail.groups
    audit = {"suspicious": any(row.suspicious for row in groups), "flagged": any(row.flagged for row in groups)}
    return {
        "stated": dict(Counter(kind for kind, _ in interval_checks)),
        "held": dict(Counter(kind for kind, covers in interval_checks if covers)),
        "audit": audit,
    }


def measure_worlds(group: Group, seeds: int, store: Path) -> list[WorldRating]:
    """Rate services of a group, and store each result; results that are stored already are read instead."""
    rows = store.read_text(encoding="utf-8").splitlines() if store.exists() else []
    results = {
        (rating.world, rating.size, rating.seed): rating for rating in (WorldRating(**json.loads(row)) for row in rows)
    }
    jobs = [
        (name, size, seed)
        for seed in range(seeds)
        for name, world in group.worlds.items()
        for size in (SIZES if isinstance(world, World) and not world.honest else (1.0,))
    ]
    pending = [job for job in jobs if job not in results]
    store.parent.mkdir(exist_ok=True)
    with ProcessPoolExecutor(initializer=end_with_parent) as pool, store.open("a", encoding="utf-8") as lines:
        for result in track(pool.map(rate_once, pending, chunksize=2), group.title, total=len(pending)):
            results[result.world, result.size, result.seed] = result
            lines.write(json.dumps(asdict(result)) + "\n")
            lines.flush()
    return [results[job] for job in jobs]


def section(group: Group, all_ratings: Sequence[WorldRating], measured_on: date) -> Iterator[str]:
    """Write a section: the share of wrong letters, the service with the most of them, and a table of all services."""
    by_world = {
        (world, size): [rating for rating in all_ratings if (rating.world, rating.size) == (world, size)]
        for world, size in dict.fromkeys((rating.world, rating.size) for rating in all_ratings)
    }
    wrong = sum(rating.wrong for rating in all_ratings)
    worst = max(by_world, key=lambda key: sum(rating.wrong for rating in by_world[key]) / len(by_world[key]))
    yield f"## {group.title}"
    share = share_interval(wrong, len(all_ratings))
    yield f"**{wrong} of {len(all_ratings)}** services got a wrong declared letter ({share})."
    if wrong:
        worst_world, worst_size = worst
        yield (
            f"Most often wrong is “{worst_world}” with effects of size {worst_size:g}:"
            f" {sum(rating.wrong for rating in by_world[worst])} of {len(by_world[worst])}."
        )
    yield f"Measured on {measured_on.day} {measured_on:%B %Y}."
    yield from group.about
    yield "In brackets: the 95 % interval of the share of wrong letters."
    yield ""
    yield "| service | size | ratings | declared right | inconclusive | declared wrong | questions (median) |"
    yield "|---|--:|--:|--:|--:|--:|--:|"
    for (world, size), ratings in by_world.items():
        mistakes = sum(rating.wrong for rating in ratings)
        undeclared = sum(not rating.declared for rating in ratings)
        cells = (
            world,
            f"{size:g}",
            len(ratings),
            len(ratings) - mistakes - undeclared,
            undeclared,
            f"{mistakes} ({share_interval(mistakes, len(ratings))})",
            f"{median(rating.questions for rating in ratings):g}",
        )
        yield f"| {' | '.join(map(str, cells))} |"
    yield ""
    if all_ratings[0].stated:
        yield from _interval_lines(by_world)


def _interval_lines(by_world: Mapping[tuple[str, float], Sequence[WorldRating]]) -> Iterator[str]:
    """Write how often intervals of files of decisions hold, and how often an audit calls a group suspicious."""
    kinds = ("rate", "error rate", "difference", "ratio", "step_1", "step_2")
    yield "Share of 95 % intervals that contain the true value in the population of which the file is a sample. A"
    yield "letter rests on the *steps*. An audit is *suspicious* if a group's rate is probably below four fifths of the"
    yield "highest one, given all groups, and *flagged* if an observed ratio is below .8."
    yield ""
    yield f"| file | {' | '.join(kind.replace('_', ' ') for kind in kinds)} | suspicious | flagged |"
    yield f"|---|{'--:|' * (len(kinds) + 2)}"
    for (world, _), ratings in by_world.items():
        stated, covered = (
            Counter[str]({kind: sum(getattr(rating, name).get(kind, 0) for rating in ratings) for kind in kinds})
            for name in ("stated", "held")
        )
        shares = [f"{covered[kind] / stated[kind]:.3f}" if stated[kind] else "" for kind in kinds]
        audits = [
            f"{sum(rating.audit[name] for rating in ratings) / len(ratings):.1%}" for name in ("suspicious", "flagged")
        ]
        yield f"| {' | '.join((world, *shares, *audits))} |"
    yield ""


def replace_section(page: str, lines: Sequence[str]) -> str:
    """Return a page with the section of the same heading replaced; a new one is inserted before "## Letters"."""
    heading, next_heading = f"{lines[0]}\n", "\n## "
    new_section = "\n".join(lines) + "\n"
    if heading not in page:
        before, letters, remainder = page.partition("## Letters\n")
        return before + new_section + letters + remainder
    start = page.index(heading)
    next_start = page.find(next_heading, start)
    return page[:start] + new_section + (page[next_start + 1 :] if next_start >= 0 else "")


def share_interval(count: int, total: int) -> str:
    """Write the 95 % Wilson interval of a share, which shows its Monte Carlo error."""
    interval = wilson(count, total)
    return f"{interval.low:.1%} to {interval.high:.1%}"
