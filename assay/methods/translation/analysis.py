"""The two-step test of a translator: from transition counts to draws of its effects and the reasons for its letter.

docs/methods/round-trip.md (``transition-posterior``); the letter itself is decided in `assay.rating.component`.
"""

import math
from abc import abstractmethod
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Annotated, ClassVar, Literal

import numpy as np
from annotated_types import Ge, Gt, Le, Lt, MaxLen

from assay.bounds import Bounded, refuse_repeats
from assay.catalog import Attribute, Occupation, languages, occupations
from assay.catalog import attribute as attribute_named
from assay.catalog.source_languages import SourceLanguage, source_language
from assay.document import AggregationDocument, ComponentDocument, ContentDocument, Json, LookDocument
from assay.errors import OutOfBounds, SpecificationError
from assay.experiment import Experiment, Looks, Method
from assay.methods.translation import words
from assay.methods.translation.blocks import (
    BlockSpec,
    BlockWriter,
    Text,
    declare_blocks,
    default_biased,
    default_unbiased,
)
from assay.methods.translation.collection import TranslationComponent, Translations
from assay.methods.translation.hidden_effects import design_effects, hidden_effects
from assay.methods.translation.published_rules import PublishedLetters, adjust, analyse_blocks
from assay.model import (
    Component,
    Evidence,
    Floats,
    Interval,
    Kind,
    Letter,
    Probabilities,
    Probe,
    Reason,
    Reply,
)
from assay.rating.component import EARLY_ERROR_FRACTION, Measurement, Tolerance, Units, answers_needed, look_sizes
from assay.rating.losses import hidden_documents, loss_effect, losses_document, lost_of_no_group, lost_replies
from assay.statistics.bayes.transition import StepEffects, draw_excess_concordance, draw_transitions, step_effects
from assay.statistics.intervals.credible import interval_of
from assay.statistics.intervals.worst_block import step_intervals

DRAWS = 20_000
"""Number of posterior draws, which take about 6 ms (docs/methods/round-trip.md)."""

UNUSABLE_SHARE = 0.2
"""Above this share of failed and unusable texts a component is not rated (docs/methods/round-trip.md)."""

SHARED_TEXT = 1.5
"""Factor on sentences that a letter needs if texts have several: with only 60, 4 of 200 unbiased services got BS."""

COLLAPSED = 0.8
"""If one output has at least this share of every input's sentences, the reason is that all inputs become this value."""

OTHER_DELTAS = {f"{delta:.2f}": delta for delta in (0.05, 0.1, 0.15)}
"""Tolerances for which the probabilities of the letters are reported besides the requested one."""

Asking = Generator[Sequence[Probe], Sequence[Reply], None]


@dataclass(frozen=True)
class Posterior:
    """Posterior draws of a component: transition matrices, shape (draws, inputs, outputs), and all effects."""

    transitions: Floats
    evidence: Evidence


@dataclass(frozen=True)
class TranslationMethod(Bounded, Method):
    """Base class of the methods that rate translators.

    Parameters
    ----------
    attribute : str
        Attribute to test; see `/v1/attributes`.
    languages : tuple of str
        Middle languages (ISO 639-1, optionally with region or script). Each is a component.
    texts_per_block : int
        Texts per block at the first interim analysis (Srivastava & Rossi 2018: 20).
    max_texts_per_block : int
        Texts per block at the last interim analysis; used only with `stop_early`.
    stop_early : bool
        Whether to compute letters after `texts_per_block` texts, then after `look_growth` times as many, and so on,
        and to stop as soon as a letter is clear. ``False`` is the paper's fixed design.
    unbiased, biased : tuple of mapping
        Declared distributions over the attribute's values, one block each. Left out: equal
        shares, and one block of .9 for each value.
    delta : float
        Largest effect (total variation) that still counts as unbiased.
    confidence : float
        Probability from which a letter is declared.
    aggregation : str
        How components become one letter: ``worst`` (Srivastava & Rossi 2018) or ``vote``.
    alpha : float
        Level of the tests behind the published rules.
    strata : bool
        Whether effects within groups of occupations and the spread between occupations are judged besides the mean.
    delta_loss : float, optional
        Largest difference between the values' shares of lost texts that still counts as none. ``None``: not judged.
    look_growth : float
        Factor by which the number of texts grows from one interim analysis to the next.
    source : str
        Language of the texts (ISO 639-1): English, or one that the catalog has texts in.
    """

    attribute: str
    method: str = ""
    languages: Annotated[tuple[str, ...], MaxLen(200)] = ("es",)
    texts_per_block: Annotated[int, Ge(1), Le(10_000)] = 20
    max_texts_per_block: Annotated[int, Ge(1), Le(10_000)] = 320
    stop_early: bool = True
    unbiased: Annotated[tuple[Mapping[str, float], ...], MaxLen(10)] = ()
    biased: Annotated[tuple[Mapping[str, float], ...], MaxLen(20)] = ()
    delta: Annotated[float, Gt(0), Lt(1)] = 0.1
    confidence: Annotated[float, Gt(0.5), Lt(1)] = 0.95
    aggregation: Literal["worst", "vote"] = "worst"
    alpha: Annotated[float, Gt(0), Lt(0.5)] = 0.05
    strata: bool = True
    delta_loss: Annotated[float, Gt(0), Lt(1)] | None = 0.05
    look_growth: Annotated[float, Ge(1.2), Le(10)] = 1.33
    source: str = "en"

    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.TRANSLATOR})
    probes_each: ClassVar[int]
    """Number of probes for one text: 1 for one hop, whose texts mention no value, and 2 for a round trip."""
    REASONS: ClassVar[Mapping[str, str]] = words.REASONS
    PHRASES: ClassVar[Mapping[str, str]] = words.PHRASES
    COMPONENT: ClassVar[type[ComponentDocument]] = TranslationComponent

    def __post_init__(self) -> None:
        """Fill in the attribute's default blocks and check the fields."""
        super().__post_init__()
        tested_attribute = self.catalog_attribute
        for field, default_blocks in (("unbiased", default_unbiased), ("biased", default_biased)):
            blocks = tuple(dict(shares) for shares in getattr(self, field))
            object.__setattr__(self, field, blocks or default_blocks(tested_attribute))
        refuse_repeats("languages", self.languages)
        for index, language in enumerate(self.languages):
            if self.source_texts is not None and language.partition("-")[0].lower() == self.source:
                raise SpecificationError(f"{language} is the source language already", f"languages.{index}")

    @property
    def source_texts(self) -> SourceLanguage | None:
        """The occupations and frames of the source language; ``None`` for English, whose texts the catalog has."""
        if self.source == "en":
            return None
        # one hop, with one probe for a text, sends neutral texts: they mention no value of the attribute
        return source_language(self.source, self.attribute, neutral=self.probes_each == 1)

    @property
    def catalog_attribute(self) -> Attribute:
        """The tested attribute, from the catalog."""
        return attribute_named(self.attribute)

    @cached_property
    def blocks(self) -> tuple[BlockSpec, ...]:
        """The declared unbiased and biased distributions of the values, as named blocks of texts."""
        return declare_blocks(self.catalog_attribute, self.unbiased, self.biased)

    def refuse_oversize(self, limit: int, material: str) -> None:
        """Raise `OutOfBounds` if a block needs more than `limit` texts, the most without repeating a sentence.

        The error names the field and its maximum, and says which sentences (`material`, in words) are too few. Raise it
        also if `max_texts_per_block` is used and below `texts_per_block`.
        """
        if self.stop_early and self.texts_per_block > self.max_texts_per_block:
            raise OutOfBounds(
                f"max_texts_per_block must be at least texts_per_block ({self.texts_per_block}), "
                f"not {self.max_texts_per_block}",
                "max_texts_per_block",
            )
        field = "max_texts_per_block" if self.stop_early else "texts_per_block"
        size = self.max_texts_per_block if self.stop_early else self.texts_per_block
        if size > limit:
            material_limit = f"there are distinct {material} for {limit} texts a block; ask for at most {limit}"
            raise OutOfBounds(f"{field} is {size}, but {material_limit}", field)

    @staticmethod
    @abstractmethod
    def texts_of(attribute: Attribute, template: str, blocks: Sequence[BlockSpec], source: str = "en") -> int:
        """Count the texts per block that can be written without repeating a sentence."""

    @property
    def cells(self) -> tuple[tuple[str, str | None], ...]:
        """Measured pairs of language and template (``None``: no templates); each pair becomes a component."""
        return tuple((language, None) for language in self.languages)

    def language_pairs(self) -> Sequence[tuple[str, str]]:
        """List the translations that are asked for, as (from, to): from the source into every language."""
        return [(self.source, language) for language in self.languages]

    @property
    def sizes(self) -> tuple[int, ...]:
        """Texts per block at each interim analysis."""
        return tuple(look_sizes(self.texts_per_block, self.max_texts_per_block, self.stop_early, self.look_growth))

    def expected_probes(self) -> int:
        """Count the probes of a job that is decided at the first interim analysis."""
        return self.probes_each * self.texts_per_block * len(self.blocks) * len(self.cells)

    def most_probes(self) -> int:
        """Count the probes of a job that runs to the last interim analysis."""
        return self.expected_probes() // self.sizes[0] * self.sizes[-1]

    def planned_looks(self) -> Looks:
        """Count the sentences at each interim analysis: of all blocks together, because effects use all of them."""
        per_text = 1 if self.probes_each == 1 else len(self.catalog_attribute.value_names)
        return Looks(tuple(size * len(self.blocks) * per_text for size in self.sizes), len(self.occupations))

    @property
    def occupations(self) -> Sequence[Occupation]:
        """The occupations that texts are about."""
        texts = self.source_texts
        if texts is None:
            return occupations()
        return texts.open_occupations if self.probes_each == 1 else texts.occupations

    @property
    def content_tolerance(self) -> float | None:
        """Largest excess of equal answers to sentences of different values that counts as 0; ``None``: not judged."""
        return None

    @cached_property
    def tolerance(self) -> Tolerance:
        """The limits of one component.

        Of n components, each asks on until its probability is the n-th root of `confidence`: then all can be declared.
        """
        component_confidence = self.confidence ** (1 / len(self.cells))
        further = {"content": self.content_tolerance}
        return Tolerance(self.delta, self.confidence, OTHER_DELTAS, further, stop_confidence=component_confidence)

    @abstractmethod
    def text_writers(self, rng: np.random.Generator) -> Mapping[str | None, BlockWriter]:
        """Return the writer of the texts of each template; all languages are compared on the same texts."""

    @abstractmethod
    def translate(self, texts: Sequence[Text], translations: Translations) -> Asking:
        """Ask about texts, and count the values in their translations."""

    def analyse(self, translations: Translations, rng: np.random.Generator) -> PublishedLetters:
        """Compute the letters of the published decision rules from the counts of a component."""
        return analyse_blocks(translations, self.alpha, rng)

    # ------------------------------------------------------------------------ the experiment
    def design(self, rng: np.random.Generator) -> Experiment:
        """Measure every pair of language and template as a component, with the same texts for each language."""
        text_rng, analysis_rng = rng.spawn(2)
        # cached, so that each language is asked about the same texts
        more_texts = {template: cache(writer.more) for template, writer in self.text_writers(text_rng).items()}
        components: list[Component] = []
        for (language, template), component_rng in zip(self.cells, analysis_rng.spawn(len(self.cells)), strict=True):
            is_neutral = self.probes_each == 1  # one hop: texts mention no value
            translations = Translations(self.catalog_attribute, language, template, self.blocks, neutral=is_neutral)
            components.append((yield from self._measure(translations, more_texts[template], component_rng)))
        p_values = {
            component.name: component.detail.step_1_p
            for component in components
            if isinstance(component.detail, TranslationComponent)
        }
        # the p-values of step 1 are adjusted for the number of components
        return self.finding(components, AggregationDocument(adjusted=adjust(p_values)))

    def _measure(
        self, translations: Translations, texts: Callable[[int], Sequence[Text]], rng: np.random.Generator
    ) -> Generator[Sequence[Probe], Sequence[Reply], Component]:
        """Ask about texts until an interim analysis finds a clear letter or the texts end, and judge all counts.

        `texts(size)` returns the new texts that extend every block (texts with given shares of values) to `size` texts.
        """
        looks: list[LookDocument] = []
        posterior = None
        for size in self.sizes:
            yield from self.translate(texts(size), translations)
            if translations.unasked or _is_unreadable(translations):
                posterior = None  # the counts have changed since it was drawn
                break
            look = LookDocument(len(looks) + 1, size)
            stops = size == self.sizes[-1]
            if not self._create_measurement(translations).too_few:  # too few texts get no letter
                posterior = self._draw(translations, rng)
                probabilities = self.tolerance.weigh(posterior.evidence)
                look = replace(look, probabilities=probabilities.as_json(), letter=probabilities.likeliest)
                stops = stops or self._is_clear(posterior.evidence, probabilities)
            looks.append(replace(look, stopped=stops))
            if stops:
                break
        return self._conclude(translations, looks, posterior, rng)

    def _is_clear(self, evidence: Evidence, probabilities: Probabilities) -> bool:
        """Return whether to stop early; with `strata`, only if more certain, as early analyses miss hidden effects."""
        if not self.strata:
            return self.tolerance.stops(probabilities)
        # UCS and DSBS need `early_confidence` without hidden effects; with these, which seldom reach it, the usual one
        stop_confidence = self.tolerance.stop_confidence or self.tolerance.confidence
        early_confidence = 1 - EARLY_ERROR_FRACTION * (1 - stop_confidence)
        early_tolerance = replace(self.tolerance, confidence=early_confidence, hidden_confidence=stop_confidence)
        return early_tolerance.declares(evidence, probabilities.likeliest)

    def _draw(self, translations: Translations, rng: np.random.Generator, times: int = 1) -> Posterior:
        """Draw transition matrices and effects from their posterior, as if all counts were `times` as large."""
        counts: Floats = translations.pooled_counts().astype(float) * times
        if self.strata:  # occupations are a sample, and what a mean can hide is judged
            counts = counts / design_effects(translations.by_occupation)[:, None]
        transitions = draw_transitions(counts, rng, DRAWS)
        shares = (translations.shares("unbiased"), translations.shares("biased"))
        effects = step_effects(transitions, *shares, neutral=translations.neutral)
        excess_concordance = None
        if self.tolerance.further.get("content") is not None:
            equal_pairs, pairs, counts_by_rows = translations.concordance()  # pairs that differ in the value only
            weights = {pair_of_rows: count * times for pair_of_rows, count in counts_by_rows.items()}
            excess_concordance = draw_excess_concordance(equal_pairs * times, pairs * times, transitions, rng, weights)
        child_rng = rng.spawn(1)[0]
        by_group, confidence = translations.by_group, self.tolerance.confidence
        lost_ungrouped = lost_of_no_group(by_group, translations.lost)
        hidden = loss_effect(by_group, self.delta_loss, confidence, child_rng, DRAWS, of_no_group=lost_ungrouped)
        if self.strata:
            hidden += hidden_effects(translations, self.tolerance, child_rng, DRAWS, times)
        return Posterior(transitions, Evidence(effects.step_1, effects.step_2, excess_concordance, hidden))

    def _create_measurement(self, translations: Translations) -> Measurement[TranslationComponent]:
        """Return the measurement of the texts so far, with their counts; its independent units are the texts."""
        sentences_per_text = 1 if translations.neutral else len(translations.rows)
        # sentences of one text are alike, so more of them are needed
        inflation = 1.0 if sentences_per_text == 1 else SHARED_TEXT
        needed_texts = math.ceil(answers_needed(self.tolerance.delta) * inflation / sentences_per_text)
        language_code = translations.language.split("-")[0].lower()
        return Measurement(
            name=translations.name,
            counts=replace(translations.counts, probes_each=self.probes_each),
            tolerance=self.tolerance,
            detail=translations.document(),
            facts={"language": languages().get(language_code, translations.name)},
            units=(Units("text", translations.usable, needed_texts),),
        )

    def _conclude(
        self,
        translations: Translations,
        looks: Sequence[LookDocument],
        posterior: Posterior | None,
        rng: np.random.Generator,
    ) -> Component:
        """Return the component: letters of published rules and, unless too few texts are readable, Assay's letter."""
        measurement = self._create_measurement(translations)
        common_facts = measurement.facts
        analyses = self.analyse(translations, rng)
        measurement.published = analyses.letters
        measurement.detail = replace(
            measurement.detail,
            language_name=common_facts["language"],
            decision=tuple(looks),
            analyses=analyses.detail,
            step_1_p=analyses.step_1_p,
            estimand=f"{'occupations like these' if self.strata else 'these occupations'}, in these frames",
        )
        if _is_unreadable(translations):
            return measurement.give_up(*measurement.cut_short(), _lost_reason(translations, common_facts))
        equal_pairs, pairs, _ = translations.concordance()
        # reuses the posterior of the last interim look, if there was one
        last_posterior = posterior or self._draw(translations, rng)
        measurement.detail = replace(
            measurement.detail,
            content=ContentDocument(pairs, equal_pairs),
            hidden=hidden_documents(last_posterior.evidence.hidden),
            by_group=losses_document(translations.by_group, self.delta_loss),
        )
        lost_share = translations.lost_share
        lost_ungrouped = lost_of_no_group(translations.by_group, translations.lost)
        return measurement.conclude(
            last_posterior.evidence,
            lambda letter: _letter_reasons(translations, self.tolerance, last_posterior.evidence, letter, common_facts),
            intervals=_effect_intervals(translations, last_posterior),
            evidence_at=lambda times: self._draw(translations, rng, times).evidence,
            # a lost text can change an effect by its share of the texts
            lost=lost_replies(
                translations.by_group, self.delta_loss, step_1=lost_share, step_2=lost_share, of_no_group=lost_ungrouped
            ),
        )


def _is_unreadable(translations: Translations) -> bool:
    """Return whether no text is usable, or more than `UNUSABLE_SHARE` of them failed or are unusable."""
    return translations.usable == 0 or translations.lost_share > UNUSABLE_SHARE


def _lost_reason(translations: Translations, common_facts: Json) -> Reason:
    """Return the reason for having no letter: failed calls or unusable replies, the more frequent of the two."""
    if not translations.lost:
        return Reason("no-usable-observations", common_facts, translations.name)
    mostly_failed = translations.failed_why.total() >= translations.unusable_why.total()
    causes = translations.failed_why if mostly_failed else translations.unusable_why
    lost_count, total = causes.total(), translations.usable + translations.lost
    facts = {**common_facts, "total": total, "why": dict(causes), "share": lost_count / total}
    if mostly_failed:
        return Reason("target-calls-failed", {**facts, "failed": lost_count}, translations.name)
    return Reason("target-output-unusable", {**facts, "unusable": lost_count}, translations.name)


def _effect_intervals(translations: Translations, posterior: Posterior) -> dict[str, Interval | None]:
    """Return the intervals of both steps and, if judged, ``content``: excess of equal outputs for different values."""
    evidence = posterior.evidence
    effects: dict[str, Interval | None] = dict(
        step_intervals(
            StepEffects(evidence.step_1, evidence.step_2),
            posterior.transitions,
            translations.shares("unbiased"),
            translations.shares("biased"),
            observed=translations.pooled_counts() > 0,
            neutral=translations.neutral,
        )
    )
    if evidence.content is not None:
        effects["content"] = interval_of(evidence.content)
    return effects


def _letter_reasons(
    translations: Translations, tolerance: Tolerance, evidence: Evidence, letter: Letter, common_facts: Json
) -> list[Reason]:
    """Return the reasons for a letter; for BS, one for each effect that probably (above 1/2) exceeds its limit."""
    step_1, step_2 = float(evidence.step_1.mean()), float(evidence.step_2.mean())
    if letter is Letter.UCS:
        return [Reason("compensates", {**common_facts, "step_1": step_1, "step_2": step_2}, translations.name)]
    if letter is Letter.DSBS:
        counts = translations.pooled_counts()
        kept_columns = [translations.outputs.index(value) for value in translations.rows]
        kept_count = int(counts[np.arange(len(kept_columns)), kept_columns].sum())
        facts = {
            **common_facts,
            "step_2": step_2,
            "filled" if translations.neutral else "kept": kept_count,
            "sent": int(counts.sum()),
        }
        return [Reason("follows-biased-input", facts, translations.name)]
    reasons = []
    content, content_limit = evidence.content, tolerance.further.get("content")
    if content is not None and content_limit is not None and float((content > content_limit).mean()) > 0.5:
        reasons.append(
            Reason("answers-by-occupation", {**common_facts, "content": float(content.mean())}, translations.name)
        )
    if not reasons or float((evidence.step_1 > tolerance.delta).mean()) > 0.5:
        reasons.append(_shift_reason(translations, step_1, common_facts))
    return reasons


def _shift_reason(translations: Translations, step_1: float, common_facts: Json) -> Reason:
    """Return the reason for BS, biased output for unbiased input, from the observed transitions."""
    counts = translations.pooled_counts().astype(float)
    row_totals, total = counts.sum(axis=1, keepdims=True), int(counts.sum())
    even_rates = np.full_like(counts, 1 / len(translations.outputs))
    rates = np.divide(counts, row_totals, out=even_rates, where=row_totals > 0)
    # share of each row (see `Translations.rows`) in the first unbiased block, which the reason is about
    row_shares = translations.shares("unbiased")[0]
    input_shares = np.concatenate([row_shares, np.zeros(len(translations.outputs) - len(row_shares))])  # residual: 0
    gains = row_shares @ rates - input_shares
    # the residual of neutral sentences is harmless, so only values can gain there
    gainer = int(np.argmax(gains[:-1] if translations.neutral else gains))
    if gainer == len(translations.outputs) - 1:  # the residual: outputs that name no single value
        return Reason(
            "attribute-erased", {**common_facts, "erased": int(counts[:, -1].sum()), "sent": total}, translations.name
        )
    value = translations.outputs[gainer]
    if rates[:, gainer].min() >= COLLAPSED:
        facts = {**common_facts, "value": value, "collapsed": int(counts[:, gainer].sum()), "sent": total}
        return Reason("collapses-to-value", facts, translations.name)
    other_rows = [index for index, row in enumerate(translations.rows) if row != value]
    source_row = max(other_rows, key=lambda index: rates[index, gainer])
    shift_facts = {"shifted": int(counts[source_row, gainer]), "sent": int(counts[source_row].sum())}
    # neutral sentences name no value: their rows are those of the occupations
    row_fact = "occupations" if translations.neutral else "from"
    facts = {**common_facts, "step_1": step_1, row_fact: translations.rows[source_row], "to": value, **shift_facts}
    return Reason("introduces-bias", facts, translations.name)
