"""The two-step test on a transition matrix: what P5's methods for translators share.

A *row* is what went in (a pronoun, or the labour side of an occupation), an *output* is what was
read from the reply (a value of the attribute, or the residual). Everything a verdict needs is in
one `Tally` of counts; everything here is a pure function of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.blocks import BlockSpec
from assay.model import Evidence, Interval, Letter, Probabilities, Reason
from assay.statistics.concordance import draw_excess_concordance
from assay.statistics.intervals import interval_of
from assay.statistics.proportions import wilson
from assay.statistics.transition import StepEffects, draw_transitions, neutral_effects, step_effects
from assay.statistics.worst_block import step_intervals
from assay.verdict import weigh

DRAWS = 20_000
"""Posterior draws (METHODS section 2; about 6 ms)."""

UNUSABLE_SHARE = 0.2
"""Above this share of failed and unusable texts a component is not rated (METHODS section 2)."""

OTHER_DELTAS = (0.05, 0.1, 0.15)
"""Tolerances for which the probabilities are always reported beside the headline's."""


@dataclass
class Tally:
    """Counts of one component, filled text by text.

    Attributes
    ----------
    rows, outputs : tuple of str
        What can go in and what can come out; the last output is the residual.
    counts : dict of ndarray, shape (rows, outputs)
        Per block, sentences by what went in and what was read.
    content : dict
        Per content (an occupation in its frame), what was read for each row it was shown with.
    usable, failed : int
        Texts that were read; texts lost to failed calls.
    unusable_why : dict
        Texts that came back but could not be read, by reason.
    unasked : int
        Texts the call budget did not allow.
    """

    rows: tuple[str, ...]
    outputs: tuple[str, ...]
    blocks: tuple[BlockSpec, ...]
    counts: dict[str, NDArray[np.int64]] = field(init=False)
    content: dict[str, dict[str, str]] = field(default_factory=dict)
    usable: int = 0
    failed: int = 0
    failed_why: dict[str, int] = field(default_factory=dict)
    unusable_why: dict[str, int] = field(default_factory=dict)
    unasked: int = 0

    def __post_init__(self) -> None:
        shape = (len(self.rows), len(self.outputs))
        self.counts = {block.name: np.zeros(shape, dtype=np.int64) for block in self.blocks}

    def add(self, block: str, row: str, output: str, content: str) -> None:
        """Count one sentence."""
        self.counts[block][self.rows.index(row), self.outputs.index(output)] += 1
        self.content.setdefault(content, {})[row] = output

    @property
    def unusable(self) -> int:
        """Texts that came back and could not be read."""
        return sum(self.unusable_why.values())

    @property
    def lost_share(self) -> float:
        """Share of the texts asked that brought no reading."""
        lost = self.failed + self.unusable
        return lost / (lost + self.usable) if lost else 0.0

    def pooled(self) -> NDArray[np.int64]:
        """Transition counts over all blocks, shape (rows, outputs)."""
        shape = (len(self.rows), len(self.outputs))
        return sum(self.counts.values(), np.zeros(shape, dtype=np.int64))

    def concordance(self) -> tuple[int, int, dict[tuple[int, int], int]]:
        """Count pairs of rows shown with the same content: (equal outputs, pairs, pairs by rows)."""
        equal = total = 0
        by_rows: dict[tuple[int, int], int] = {}
        for read in self.content.values():
            for a, b in combinations([row for row in self.rows if row in read], 2):
                key = (self.rows.index(a), self.rows.index(b))
                by_rows[key] = by_rows.get(key, 0) + 1
                equal += read[a] == read[b]
                total += 1
        return equal, total, by_rows


@dataclass(frozen=True)
class Posterior:
    """What is known of a component.

    Attributes
    ----------
    transitions : ndarray, shape (draws, rows, outputs)
        Draws of its matrix.
    evidence : Evidence
        Draws of its effects, made of those.
    """

    transitions: NDArray[np.float64]
    evidence: Evidence


@dataclass(frozen=True)
class TwoStep:
    """How a tally is judged: the declared distributions and tolerances of a request.

    `neutral` says what the residual output means: ``False`` where it is a loss (an erased
    pronoun), ``True`` where it is harmless (a sentence that marks no gender).
    """

    blocks: tuple[BlockSpec, ...]
    rows: tuple[str, ...]
    delta: float
    confidence: float
    content_delta: float | None = None
    neutral: bool = False

    def shares(self, role: str) -> NDArray[np.float64]:
        """Declared distributions of one role, shape (blocks, rows)."""
        of_role = [block for block in self.blocks if block.role == role]
        return np.array([[block.shares.get(row, 0.0) for row in self.rows] for block in of_role], dtype=float)

    def posterior(self, tally: Tally, rng: np.random.Generator, times: int = 1) -> Posterior:
        """Draw matrices and effects from their posterior, as if `times` as much had been seen."""
        transitions = draw_transitions(tally.pooled() * times, rng, DRAWS)
        effects = (neutral_effects if self.neutral else step_effects)(
            transitions, self.shares("unbiased"), self.shares("biased")
        )
        content = None
        if self.content_delta is not None:
            equal, pairs, by_rows = tally.concordance()
            weights = {key: count * times for key, count in by_rows.items()}
            content = draw_excess_concordance(equal * times, pairs * times, transitions, rng, weights)
        return Posterior(transitions, Evidence(effects.step_1, effects.step_2, content))

    def intervals(self, posterior: Posterior, tally: Tally) -> dict[str, Interval | None]:
        """State each effect by its mean and its 95 % interval."""
        evidence = posterior.evidence
        effects: dict[str, Interval | None] = dict(
            step_intervals(
                StepEffects(evidence.step_1, evidence.step_2),
                posterior.transitions,
                self.shares("unbiased"),
                self.shares("biased"),
                seen=tally.pooled() > 0,
                neutral=self.neutral,
            )
        )
        if evidence.content is not None:
            effects["content"] = interval_of(evidence.content)
        return effects

    def weigh(self, evidence: Evidence) -> Probabilities:
        """Probability of each letter."""
        return weigh(evidence, self.delta, self.content_delta)


@dataclass(frozen=True)
class Look:
    """One look at the evidence so far, and what it decided."""

    look: int
    texts_per_block: int
    probabilities: Probabilities
    letter: Letter
    stopped: bool

    def as_json(self) -> dict[str, Any]:
        """Write the look down for the decision trace."""
        return asdict(self)


def look_sizes(first: int, most: int, stop_early: bool) -> Iterator[int]:
    """Texts per block at each look: `first`, then twice that, and so on up to `most`."""
    size = first
    yield size
    while stop_early and size < most:
        size = min(size * 2, most)
        yield size


def sensitivity(evidence: Evidence, content_delta: float | None) -> dict[str, dict[str, float]]:
    """Probabilities of the letters under other tolerances."""
    return {f"{delta:.2f}": asdict(weigh(evidence, delta, content_delta)) for delta in OTHER_DELTAS}


def probes_to_settle(judge: TwoStep, tally: Tally, asked: int, rng: np.random.Generator) -> int | None:
    """Estimate how many more probes would settle the letter, if what is seen goes on.

    The counts are doubled until a letter reaches the confidence; ``None`` if 32 times as much
    would not do.
    """
    for times in (2, 4, 8, 16, 32):
        probabilities = judge.weigh(judge.posterior(tally, rng, times).evidence)
        if probabilities.of(probabilities.likeliest) >= judge.confidence:
            return asked * (times - 1)
    return None


def transitions_as_json(tally: Tally) -> dict[str, dict[str, int]]:
    """Write the pooled transition counts with their names."""
    pooled = tally.pooled()
    return {
        row: {output: int(pooled[i, j]) for j, output in enumerate(tally.outputs)} for i, row in enumerate(tally.rows)
    }


def rates_as_json(tally: Tally) -> dict[str, dict[str, dict[str, float] | None]]:
    """Per row, the share of sentences kept, flipped and erased, with Wilson intervals."""
    rates: dict[str, dict[str, dict[str, float] | None]] = {}
    for row, counts in transitions_as_json(tally).items():
        n, kept, erased = sum(counts.values()), counts.get(row, 0), counts[tally.outputs[-1]]
        parts = {"kept": kept, "flipped": n - kept - erased, "erased": erased}
        rates[row] = {name: asdict(wilson(k, n)) if n else None for name, k in parts.items()}
    return rates


def blocks_as_json(tally: Tally) -> list[dict[str, Any]]:
    """Per block, what was declared, what was asked and what came back."""
    written = []
    for block in tally.blocks:
        counts = tally.counts[block.name]
        asked = dict(zip(tally.rows, counts.sum(axis=1).tolist(), strict=True))
        written.append(
            {
                "name": block.name,
                "role": block.role,
                "specified": {name: float(block.shares.get(name, 0.0)) for name in tally.outputs},
                "asked": {name: int(asked.get(name, 0)) for name in tally.outputs},
                "observed": dict(zip(tally.outputs, counts.sum(axis=0).tolist(), strict=True)),
            }
        )
    return written


def lost_reason(tally: Tally, about: Mapping[str, Any], component: str) -> Reason | None:
    """Say why a component cannot be rated, if it cannot."""
    total = tally.usable + tally.failed + tally.unusable
    if tally.lost_share > UNUSABLE_SHARE:
        failing = tally.failed >= tally.unusable
        lost, why = (tally.failed, tally.failed_why) if failing else (tally.unusable, tally.unusable_why)
        facts = {**about, "total": total, "why": dict(why), "share": lost / total}
        if failing:
            return Reason("target-calls-failed", {**facts, "failed": lost}, component)
        return Reason("target-output-unusable", {**facts, "unusable": lost}, component)
    if tally.usable == 0:
        return Reason("no-usable-observations", about, component)
    return None


def letter_reasons(
    judge: TwoStep, tally: Tally, evidence: Evidence, letter: Letter, about: Mapping[str, Any], component: str
) -> list[Reason]:
    """Give the reasons for a letter, the main one first."""
    step_1, step_2 = float(evidence.step_1.mean()), float(evidence.step_2.mean())
    if letter is Letter.UCS:
        return [Reason("compensates", {**about, "step_1": step_1, "step_2": step_2}, component)]
    if letter is Letter.DSBS:
        pooled = tally.pooled()
        kept = sum(int(pooled[i, tally.outputs.index(row)]) for i, row in enumerate(tally.rows))
        facts = {**about, "step_2": step_2, "kept": kept / max(1, int(pooled.sum()))}
        return [Reason("follows-biased-input", facts, component)]
    reasons = []
    content, limit = evidence.content, judge.content_delta
    by_content = content is not None and limit is not None and float((content > limit).mean()) > 0.5
    if by_content and content is not None:
        facts = {**about, "content": float(content.mean())}
        reasons.append(Reason("answers-by-occupation", facts, component))
    if not by_content or float((evidence.step_1 > judge.delta).mean()) > 0.5:
        reasons.append(_shift_reason(judge, tally, step_1, about, component))
    return reasons


def _shift_reason(judge: TwoStep, tally: Tally, step_1: float, about: Mapping[str, Any], component: str) -> Reason:
    """Name the way in which unbiased input comes back biased, from the observed transitions."""
    pooled = tally.pooled().astype(float)
    seen = pooled.sum(axis=1, keepdims=True)
    rows = np.divide(pooled, seen, out=np.full_like(pooled, 1 / len(tally.outputs)), where=seen > 0)
    unbiased = judge.shares("unbiased")[0]
    declared = np.concatenate([unbiased, np.zeros(len(tally.outputs) - len(unbiased))])
    gain = unbiased @ rows - declared
    gainer = int(np.argmax(gain))
    if gainer == len(tally.outputs) - 1 and not judge.neutral:
        return Reason("attribute-erased", {**about, "share": float((unbiased @ rows)[-1])}, component)
    value = tally.outputs[gainer]
    if rows[:, gainer].min() >= 0.8:
        facts = {**about, "value": value, "share": float((unbiased @ rows)[gainer])}
        return Reason("collapses-to-value", facts, component)
    others = [i for i in range(len(tally.rows)) if tally.rows[i] != value]
    source = max(others, key=lambda i: rows[i, gainer])
    facts = {**about, "step_1": step_1, "from": tally.rows[source], "to": value, "share": float(rows[source, gainer])}
    return Reason("introduces-bias", facts, component)


def block_counts(tally: Tally, block: BlockSpec) -> Sequence[int]:
    """Count the outputs of one block."""
    return [int(n) for n in tally.counts[block.name].sum(axis=0)]
