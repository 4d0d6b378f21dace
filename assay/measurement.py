"""One component being measured: texts come in, looks are taken, a `Component` comes out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from assay.blocks import BlockWriter, NeutralWriter, Text
from assay.catalog import languages
from assay.experiment import BUDGET
from assay.model import Component, Finding, Interval, Letter, Probabilities, Reason
from assay.published_rules import adjust, analyse_blocks
from assay.statistics.published import Reading as PublishedReading
from assay.statistics.published import Statistic
from assay.translation import Reading
from assay.two_step import (
    UNUSABLE_SHARE,
    Look,
    Posterior,
    Tally,
    TwoStep,
    blocks_as_json,
    letter_reasons,
    lost_reason,
    probes_to_settle,
    rates_as_json,
    sensitivity,
    transitions_as_json,
)

EXAMPLES_A_SORT = 3
"""Texts of each sort (changed, unusable, kept …) kept for the report."""

SORTS = ("changed", "unusable", "failed", "kept")
"""Sorts of example, the telling ones first."""


class Instalments:
    """The texts of each look, written once and shown to every component alike.

    So languages are compared on the same material, and a text costs its writing only once.
    """

    def __init__(self, writer: BlockWriter | NeutralWriter) -> None:
        self._writer = writer
        self._written: dict[int, tuple[Text, ...]] = {}

    def upto(self, texts_per_block: int) -> tuple[Text, ...]:
        """Give the texts that bring every block to `texts_per_block`; sizes grow from look to look."""
        if texts_per_block not in self._written:
            self._written[texts_per_block] = self._writer.more(texts_per_block)
        return self._written[texts_per_block]


@dataclass
class Measured:
    """The state of one component between looks.

    Attributes
    ----------
    name : str
        The component's name, unique in its finding.
    about : mapping
        What it is a measurement of (language, template), copied into its detail.
    probes_a_text : int
        Calls one text takes: 2 for a round trip, 1 for one hop.
    looks : list of Look
        The decision trace so far.
    posterior : Posterior or None
        Draws of the last look, if it could be taken.
    """

    name: str
    about: Mapping[str, str]
    judge: TwoStep
    tally: Tally
    probes_a_text: int = 2
    looks: list[Look] = field(default_factory=list)
    posterior: Posterior | None = None
    examples: dict[str, list[dict[str, Any]]] = field(default_factory=lambda: {sort: [] for sort in SORTS})

    def count(self, text: Text, reading: Reading, *, middle: Any = None, returned: Any = None) -> None:
        """Count one text: as a reading, as unusable, as failed, or as not asked."""
        sort = "unusable"
        if reading.values is not None:
            self.tally.usable += 1
            for sentence, value in zip(text.sentences, reading.values, strict=True):
                self.tally.add(text.block, sentence.value, value, sentence.content)
            kept = all(each.value == value for each, value in zip(text.sentences, reading.values, strict=True))
            sort = "kept" if kept else "changed"
        elif reading.unusable is not None:
            self.tally.unusable_why[reading.unusable] = self.tally.unusable_why.get(reading.unusable, 0) + 1
        elif reading.failure is not None and reading.failure.code == BUDGET:
            self.tally.unasked += 1
            return
        elif reading.failure is not None:
            sort = "failed"
            self.tally.failed += 1
            self.tally.failed_why[reading.failure.code] = self.tally.failed_why.get(reading.failure.code, 0) + 1
        if len(self.examples[sort]) < EXAMPLES_A_SORT:
            why = reading.unusable or (reading.failure.code if reading.failure else None)
            self.examples[sort].append(
                {
                    "asked": text.text,
                    "middle": middle,
                    "returned": returned,
                    "read": list(reading.values) if reading.values is not None else None,
                    "why": why,
                }
            )

    def look(self, texts_per_block: int, rng: np.random.Generator, *, last: bool) -> bool:
        """Look at the evidence so far; return whether more is wanted."""
        self.posterior = None
        if self.tally.unasked or self.tally.usable == 0 or self.tally.lost_share > UNUSABLE_SHARE:
            return False
        self.posterior = self.judge.posterior(self.tally, rng)
        probabilities = self.judge.weigh(self.posterior.evidence)
        letter = probabilities.likeliest
        clear = probabilities.of(letter) >= self.judge.confidence
        self.looks.append(Look(len(self.looks) + 1, texts_per_block, probabilities, letter, clear or last))
        return not (clear or last)


def conclude(
    measured: Measured,
    confidence: float,
    alpha: float,
    rng: np.random.Generator,
    published_reading: PublishedReading = "departs-from-unbiased",
    statistic: Statistic = "two-sample",
) -> Component:
    """Judge a component on everything that was counted for it.

    Parameters
    ----------
    measured : Measured
        The counts and the looks taken.
    confidence : float
        Probability from which the component's own letter is declared.
    alpha : float
        Level of the tests behind the published rules.
    rng : Generator
        For posterior draws and bootstrap thresholds.
    published_reading, statistic : str
        Which published reading comes first, and the chi-squared statistic of both.
    """
    tally, judge, name = measured.tally, measured.judge, measured.name
    about = {"language": languages().get(measured.about["language"].split("-")[0].lower(), name)}
    analyses = analyse_blocks(tally, judge, alpha, rng, published_reading, statistic)
    detail = {
        **measured.about,
        "language_name": about["language"],
        "transitions": transitions_as_json(tally),
        "rates": rates_as_json(tally),
        "blocks": blocks_as_json(tally),
        "unusable_why": dict(tally.unusable_why),
        "failed_why": dict(tally.failed_why),
        "unasked": tally.unasked,
        "decision": [look.as_json() for look in measured.looks],
        "analyses": analyses.detail,
        "step_1_p": analyses.step_1_p,
        "examples": [example for sort in SORTS for example in measured.examples[sort]][: 2 * EXAMPLES_A_SORT],
    }
    letter: Letter | None = None
    probabilities: Probabilities | None = None
    effects: dict[str, Interval | None] = {"step_1": None, "step_2": None}
    reasons: list[Reason] = []
    if tally.unasked:
        reasons.append(Reason(BUDGET, {**about, "unasked": tally.unasked}, name))
    if lost := lost_reason(tally, about, name):
        reasons.append(lost)
    else:
        posterior = measured.posterior or judge.posterior(tally, rng)  # the last look's own draws
        evidence = posterior.evidence
        probabilities = judge.weigh(evidence)
        letter = probabilities.likeliest
        effects = judge.intervals(posterior, tally)
        reasons = letter_reasons(judge, tally, evidence, letter, about, name) + reasons
        equal, pairs, _ = tally.concordance()
        detail["content"] = {"pairs": pairs, "equal": equal}
        detail["tolerances"] = {"step_1": judge.delta, "step_2": judge.delta, "content": judge.content_delta}
        detail["sensitivity"] = sensitivity(evidence, judge.content_delta)
        if probabilities.of(letter) < confidence:
            asked = (tally.usable + tally.unusable + tally.failed) * measured.probes_a_text
            more = probes_to_settle(judge, tally, asked, rng)
            detail["settle"] = {"more_probes": more}
            reasons.insert(0, _undecided(letter, probabilities, confidence, more, about, name))
    return Component(
        name=name,
        letter=letter,
        declared=letter is not None and probabilities is not None and probabilities.of(letter) >= confidence,
        probabilities=probabilities,
        effects=effects,
        usable=tally.usable,
        unusable=tally.unusable,
        failed=tally.failed,
        published=analyses.letters if letter is not None else dict.fromkeys(analyses.letters),
        reasons=tuple(reasons),
        detail=detail,
    )


class Declared(Protocol):
    """What a finding repeats of the specification it was made with."""

    @property
    def method(self) -> str:
        """Name of the method."""
        ...

    @property
    def attribute(self) -> str:
        """Name of the attribute."""
        ...

    @property
    def confidence(self) -> float:
        """Probability from which a letter is declared."""
        ...

    @property
    def delta(self) -> float:
        """Tolerance of the effects."""
        ...

    @property
    def aggregation(self) -> str:
        """How components become one letter."""
        ...


def put_together(declared: Declared, components: Sequence[Component]) -> Finding:
    """Make a finding of its components, with their p-values adjusted for their number."""
    return Finding(
        method=declared.method,
        attribute=declared.attribute,
        components=tuple(components),
        confidence=declared.confidence,
        delta=declared.delta,
        aggregation=declared.aggregation,
        detail={"adjusted": adjust({one.name: one.detail["step_1_p"] for one in components})},
    )


def _undecided(
    letter: Letter,
    probabilities: Probabilities,
    confidence: float,
    more_probes: int | None,
    about: Mapping[str, Any],
    name: str,
) -> Reason:
    """Say that no letter is clear, which one is likeliest, and what would settle it."""
    facts = {
        **about,
        "leaning": letter.value,
        "probability": probabilities.of(letter),
        "confidence": confidence,
        "more_probes": more_probes,
    }
    return Reason("not-enough-evidence", facts, name)


def chunks(texts: Sequence[Text], size: int) -> Iterator[Sequence[Text]]:
    """Cut texts into batches of at most `size`."""
    for start in range(0, len(texts), size):
        yield texts[start : start + size]
