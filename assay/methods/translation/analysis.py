"""The two-step test of a translator: from transition counts to draws of its effects and the reasons for its letter.

METHODS section 2 (``transition-posterior``); the letter itself is decided in `assay.rating.component`.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from assay.catalog import Attribute, languages, occupations
from assay.catalog import attribute as attribute_named
from assay.document import ComponentDocument, RatingDocument
from assay.errors import AssayError
from assay.experiment import Looks, Room
from assay.methods.shared.distributions import BlocksMethod, BlockSpec, declare_blocks
from assay.methods.translation import words
from assay.methods.translation.blocks import Text
from assay.methods.translation.collection import Translations
from assay.methods.translation.hidden_effects import design_effects, hidden_effects
from assay.methods.translation.published_rules import adjust, analyse_blocks
from assay.model import (
    Component,
    Evidence,
    Finding,
    Floats,
    Interval,
    Kind,
    Letter,
    Probabilities,
    Probe,
    Reason,
    Reply,
)
from assay.rating.component import EARLY, Counts, Measurement, Tolerance, Units, answers_needed, look_sizes
from assay.rating.losses import hidden_as_json, loss_effect, losses_as_json, lost_of_no_group, lost_replies
from assay.statistics.bayes.transition import (
    StepEffects,
    draw_excess_concordance,
    draw_transitions,
    step_effects,
)
from assay.statistics.hypothesis_tests.published import Aggregate, Statistic
from assay.statistics.hypothesis_tests.published import Reading as PublishedReading
from assay.statistics.intervals.credible import interval_of
from assay.statistics.intervals.worst_block import step_intervals

DRAWS = 20_000
"""Posterior draws (METHODS section 2; about 6 ms)."""

UNUSABLE_SHARE = 0.2
"""Above this share of failed and unusable texts a component is not rated (METHODS section 2)."""

SHARED_TEXT = 1.5
"""Factor of the sentences that a letter needs if texts hold several: with 60, even services were BS in 4 of 200."""

OTHER_DELTAS = {f"{delta:.2f}": delta for delta in (0.05, 0.1, 0.15)}
"""Tolerances for which the probabilities are always reported as well."""

Asking = Generator[Sequence[Probe], Sequence[Reply], None]


class TranslationMethod(BlocksMethod):
    """Base class of the methods that rate translators; each method declares the fields itself."""

    alpha: float
    delta_loss: float | None
    strata: bool
    look_growth: float

    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.TRANSLATOR})
    probes_each: ClassVar[int]
    """Number of probes for one text."""
    REASONS: ClassVar[Mapping[str, str]] = words.REASONS
    PHRASES: ClassVar[Mapping[str, str]] = words.PHRASES
    counted = staticmethod(words.counted)

    @staticmethod
    @abstractmethod
    def texts_of(attribute: Attribute, template: str, blocks: Sequence[BlockSpec]) -> int:
        """Count the texts per block that can be written without repeating a sentence."""

    @classmethod
    def room(cls, document: RatingDocument, part: ComponentDocument) -> Room | None:
        """Return how many more sentences can be translated without repeating one."""
        given = document.experiment
        sent = part.decision[-1].texts_per_block if part.decision else None
        if sent is None:
            return None
        try:
            named = attribute_named(given["attribute"])
            blocks = declare_blocks(named, tuple(given["unbiased"]), tuple(given["biased"]))
            left = max(0, cls.texts_of(named, str(part.template), blocks) - sent)
        except (AssayError, KeyError, TypeError):
            return None  # a document without its experiment, or with an attribute that the catalog no longer has
        field = "max_texts_per_block" if given.get("stop_early") else "texts_per_block"
        return Room(left * len(blocks) * cls.probes_each, field, "occupations of the catalog")

    @property
    def sizes(self) -> tuple[int, ...]:
        """Texts per block at each look."""
        return tuple(look_sizes(self.texts_per_block, self.max_texts_per_block, self.stop_early, self.look_growth))

    def most_probes(self) -> int:
        """Count the probes of a job that uses all looks."""
        return self.expected_probes() // self.sizes[0] * self.sizes[-1]

    def planned_looks(self) -> Looks:
        """Count the sentences of all blocks at each look, because the effect comes from their pooled transitions."""
        per_text = 1 if self.probes_each == 1 else len(self.catalog_attribute.value_names)
        return Looks(tuple(size * len(self.blocks) * per_text for size in self.sizes), len(occupations()))

    def two_step_test(self, components: int, content_delta: float | None = None, **rules: Any) -> TwoStepTest:
        """Build the test of one of several components; `rules` are the published rules to show first.

        Each component needs a higher probability than `confidence`, so that a letter of all components can be declared.
        """
        each = self.confidence ** (1 / components)
        tolerance = Tolerance(self.delta, self.confidence, OTHER_DELTAS, {"content": content_delta}, each)
        return TwoStepTest(self.sizes, tolerance, self.alpha, self.delta_loss, strata=self.strata, **rules)

    def adjusted_finding(self, components: Sequence[Component]) -> Finding:
        """Return the finding, with the p-values of step 1 adjusted for the number of components."""
        return self.finding(components, {"adjusted": adjust({one.name: one.detail["step_1_p"] for one in components})})


@dataclass(frozen=True)
class Posterior:
    """Posterior draws of a component: transition matrices, shape (draws, rows, outputs), and their effects."""

    transitions: Floats
    evidence: Evidence


@dataclass(frozen=True)
class TwoStepTest:
    """Sizes of the looks at a translator's component, and the limits of its effects.

    `sizes` are the texts per block at each look. The excess concordance of contents is drawn only if `tolerance` has
    a limit for it (``content``). `alpha` is the level of the published rules; `reading` and `statistic` name the
    rules that come first, and `join` combines the comparisons of a step. `delta_loss` limits the difference of
    losses; `strata` says whether differences between occupations are judged besides the mean over them (both since
    methodology 1.3.0).
    """

    sizes: tuple[int, ...]
    tolerance: Tolerance
    alpha: float
    delta_loss: float | None = None
    strata: bool = False
    reading: PublishedReading = "departs-from-unbiased"
    statistic: Statistic = "two-sample"
    join: Aggregate = "worst"

    def measure(
        self,
        found: Translations,
        texts: Callable[[int], Sequence[Text]],
        show: Callable[[Sequence[Text], Translations], Asking],
        rng: np.random.Generator,
    ) -> Generator[Sequence[Probe], Sequence[Reply], Component]:
        """Ask about texts look by look until a letter is clear or the texts end, and judge all counts.

        `texts` returns the texts that fill every block up to a size; sizes grow from look to look. `show` asks about
        texts and counts the replies.
        """
        looks: list[dict[str, Any]] = []
        posterior = None
        for size in self.sizes:
            yield from show(texts(size), found)
            if found.unasked or _lost(found):
                posterior = None
                break
            look: dict[str, Any] = {"look": len(looks) + 1, "texts_per_block": size}
            stopped = size == self.sizes[-1]
            if self._measurement(found).too_few:
                look |= {"probabilities": None, "letter": None}
            else:
                posterior = self.draw(found, rng)
                probabilities = self.tolerance.weigh(posterior.evidence)
                look |= {"probabilities": probabilities.as_json(), "letter": probabilities.likeliest}
                stopped = stopped or self._clear(posterior.evidence, probabilities)
            looks.append({**look, "stopped": stopped})
            if stopped:
                break
        return self._conclude(found, looks, posterior, rng)

    def _clear(self, evidence: Evidence, probabilities: Probabilities) -> bool:
        """Return whether to stop before the last look; `strata` need more certainty: early looks can miss effects."""
        if not self.strata:
            return self.tolerance.stops(probabilities)
        sure = self.tolerance.stop_confidence or self.tolerance.confidence
        early = replace(self.tolerance, confidence=1 - EARLY * (1 - sure), hidden_confidence=sure)
        return early.declares(evidence, probabilities.likeliest)

    def draw(self, found: Translations, rng: np.random.Generator, times: int = 1) -> Posterior:
        """Draw matrices and effects from their posterior, as if all counts were `times` as large."""
        counts: Floats = found.pooled().astype(float) * times
        if self.strata:
            counts = counts / design_effects(found.by_occupation)[:, None]
        transitions = draw_transitions(counts, rng, DRAWS)
        effects = step_effects(transitions, found.shares("unbiased"), found.shares("biased"), neutral=found.neutral)
        content = None
        if self.tolerance.further.get("content") is not None:
            equal, pairs, by_rows = found.concordance()
            weights = {key: count * times for key, count in by_rows.items()}
            content = draw_excess_concordance(equal * times, pairs * times, transitions, rng, weights)
        own = rng.spawn(1)[0]
        mixed = lost_of_no_group(found.by_group, found.failed + found.unusable)
        sure = self.tolerance.confidence
        hidden = loss_effect(found.by_group, self.delta_loss, sure, own, DRAWS, of_no_group=mixed)
        if self.strata:
            hidden += hidden_effects(found, self.tolerance, own, DRAWS, times)
        return Posterior(transitions, Evidence(effects.step_1, effects.step_2, content, hidden))

    def _measurement(self, found: Translations) -> Measurement:
        """Return the measurement of the texts so far, without its details. The independent units are the texts."""
        sentences = 1 if found.neutral else len(found.rows)
        more = 1.0 if sentences == 1 else SHARED_TEXT
        needed = math.ceil(answers_needed(self.tolerance.delta) * more / sentences)
        return Measurement(
            name=found.name,
            counts=Counts(found.usable, found.unusable, found.failed, found.unasked, found.probes_each),
            tolerance=self.tolerance,
            about={"language": languages().get(found.about["language"].split("-")[0].lower(), found.name)},
            units=(Units("text", found.usable, needed),),
        )

    def _conclude(
        self,
        found: Translations,
        looks: Sequence[Mapping[str, Any]],
        posterior: Posterior | None,
        rng: np.random.Generator,
    ) -> Component:
        measurement = self._measurement(found)
        about = measurement.about
        analyses = analyse_blocks(found, self.alpha, rng, self.reading, self.statistic, self.join)
        measurement = replace(
            measurement,
            detail={
                **found.about,
                "language_name": about["language"],
                **found.as_json(),
                "decision": list(looks),
                "analyses": analyses.detail,
                "step_1_p": analyses.step_1_p,
                "examples": found.examples,
                "estimand": f"{'occupations like these' if self.strata else 'these occupations'}, in these frames",
            },
            published=analyses.letters,
        )
        if _lost(found):
            return measurement.give_up(*measurement.cut_short(), _lost_reason(found, about))
        equal, pairs, _ = found.concordance()
        measurement.detail["content"] = {"pairs": pairs, "equal": equal}
        known = posterior or self.draw(found, rng)  # reuses the posterior of the last interim look, if there was one
        measurement.detail |= hidden_as_json(known.evidence.hidden) | losses_as_json(found.by_group, self.delta_loss)
        share, mixed = found.lost_share, lost_of_no_group(found.by_group, found.failed + found.unusable)
        return measurement.conclude(
            known.evidence,
            lambda letter: _letter_reasons(found, self.tolerance, known.evidence, letter, about),
            _intervals(found, known),
            lambda times: self.draw(found, rng, times).evidence,
            lost_replies(found.by_group, self.delta_loss, share, share, of_no_group=mixed),
        )


def _lost(found: Translations) -> bool:
    """Return whether too few texts were readable to decide a letter."""
    return found.usable == 0 or found.lost_share > UNUSABLE_SHARE


def _lost_reason(found: Translations, about: Mapping[str, Any]) -> Reason:
    """Return the reason for a missing letter: too few texts were readable."""
    if not found.failed and not found.unusable:
        return Reason("no-usable-observations", about, found.name)
    failing = found.failed >= found.unusable
    lost, why = (found.failed, found.failed_why) if failing else (found.unusable, found.unusable_why)
    total = found.usable + found.failed + found.unusable
    facts = {**about, "total": total, "why": dict(why), "share": lost / total}
    if failing:
        return Reason("target-calls-failed", {**facts, "failed": lost}, found.name)
    return Reason("target-output-unusable", {**facts, "unusable": lost}, found.name)


def _intervals(found: Translations, posterior: Posterior) -> dict[str, Interval | None]:
    """Return the mean and the 95 % interval of each effect."""
    evidence = posterior.evidence
    effects: dict[str, Interval | None] = dict(
        step_intervals(
            StepEffects(evidence.step_1, evidence.step_2),
            posterior.transitions,
            found.shares("unbiased"),
            found.shares("biased"),
            observed=found.pooled() > 0,
            neutral=found.neutral,
        )
    )
    if evidence.content is not None:
        effects["content"] = interval_of(evidence.content)
    return effects


def _letter_reasons(
    found: Translations, tolerance: Tolerance, evidence: Evidence, letter: Letter, about: Mapping[str, Any]
) -> list[Reason]:
    """Return the reasons for a letter, the main one first."""
    step_1, step_2 = float(evidence.step_1.mean()), float(evidence.step_2.mean())
    if letter is Letter.UCS:
        return [Reason("compensates", {**about, "step_1": step_1, "step_2": step_2}, found.name)]
    if letter is Letter.DSBS:
        pooled = found.pooled()
        kept = sum(int(pooled[i, found.outputs.index(row)]) for i, row in enumerate(found.rows))
        facts = {**about, "step_2": step_2, "filled" if found.neutral else "kept": kept, "sent": int(pooled.sum())}
        return [Reason("follows-biased-input", facts, found.name)]
    reasons = []
    content, limit = evidence.content, tolerance.further.get("content")
    if content is not None and limit is not None and float((content > limit).mean()) > 0.5:
        reasons.append(Reason("answers-by-occupation", {**about, "content": float(content.mean())}, found.name))
    if not reasons or float((evidence.step_1 > tolerance.delta).mean()) > 0.5:
        reasons.append(_shift_reason(found, step_1, about))
    return reasons


def _shift_reason(found: Translations, step_1: float, about: Mapping[str, Any]) -> Reason:
    """Return the reason for BS, biased output for unbiased input, from the observed transitions."""
    pooled = found.pooled().astype(float)
    seen, total = pooled.sum(axis=1, keepdims=True), int(pooled.sum())
    rows = np.divide(pooled, seen, out=np.full_like(pooled, 1 / len(found.outputs)), where=seen > 0)
    unbiased = found.shares("unbiased")[0]
    declared = np.concatenate([unbiased, np.zeros(len(found.outputs) - len(unbiased))])
    gain = unbiased @ rows - declared
    gainer = int(np.argmax(gain))
    if gainer == len(found.outputs) - 1 and not found.neutral:
        return Reason("attribute-erased", {**about, "erased": int(pooled[:, -1].sum()), "sent": total}, found.name)
    value = found.outputs[gainer]
    if rows[:, gainer].min() >= 0.8:
        facts = {**about, "value": value, "collapsed": int(pooled[:, gainer].sum()), "sent": total}
        return Reason("collapses-to-value", facts, found.name)
    others = [i for i in range(len(found.rows)) if found.rows[i] != value]
    source = max(others, key=lambda i: rows[i, gainer])
    shifted = {"shifted": int(pooled[source, gainer]), "sent": int(pooled[source].sum())}
    # neutral sentences name no value: their rows are those of the occupations
    row = "occupations" if found.neutral else "from"
    facts = {**about, "step_1": step_1, row: found.rows[source], "to": value, **shifted}
    return Reason("introduces-bias", facts, found.name)
