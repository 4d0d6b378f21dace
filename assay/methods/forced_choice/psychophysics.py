"""Effects and letter of forced choice, from vectors or from choices (docs/methods/forced-choice.md)."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from assay.catalog.choices import ChoiceWords
from assay.document import NO_EFFECT, EffectDocument, Json, read_json
from assay.errors import EvidenceError, ZeroVariance
from assay.methods.forced_choice.choice_trials import Trials, judge_trials
from assay.methods.forced_choice.detail import (
    Correlation,
    ForcedChoiceComponent,
    MeasuredCorrelation,
    ReplicatesDocument,
    Spread,
    WordDocument,
)
from assay.methods.forced_choice.effects import ChoiceEffects, choice_effects, trial_effects
from assay.methods.forced_choice.psychometric_fit import PsychometricFit, shared_steepness
from assay.methods.shared.answers.tally import Tally
from assay.methods.shared.answers.vectors import MIN_USABLE_SHARE, Vectors, count_losses, cover, coverage_reasons
from assay.methods.shared.detail import Coverage, Sides
from assay.model import Component, Floats, Integers, Letter, Reason
from assay.rating.component import Counts, Measurement, Tolerance, Units, result_or_why
from assay.rating.losses import ByGroup, hidden_documents, lost_items
from assay.statistics.embeddings.two_afc import indifference_points, summarise
from assay.statistics.intervals.correlation import pearson, slope
from assay.statistics.intervals.credible import absolute_value_interval

MIN_WORDS = 3
"""Minimum number of controls, and of concepts: a spread needs three."""

LEVELS = tuple(round(float(level), 2) for level in np.linspace(-0.5, 1.5, 41))
"""Levels (shares of the second cue) at which psychometric curves are reported."""

Table = tuple[WordDocument, ...]


@dataclass(frozen=True)
class Replicates:
    """Settings of choices by vectors: templates, number of half-samples, weight of the concept, normalisation."""

    templates: tuple[str, ...]
    half_samples: int
    weight: float
    normalise: bool = True

    def phrases(self, word: str) -> tuple[str, ...]:
        """Return the phrase of each template with the word in its slot."""
        return tuple(template.replace("{word}", word) for template in self.templates)


# ---------------------------------------------------------------------------- vectors
def judge_vectors(
    words: ChoiceWords,
    spaces: Sequence[Vectors],
    replicates: Replicates,
    tolerance: Tolerance,
    rng: np.random.Generator,
    *,
    strata: bool = False,
) -> Component:
    """Judge the points of subjective equality that cosines of vectors give in closed form.

    `strata`: whether to judge also the shift that the concepts of both sides share. `spaces` are
    the vectors of each of a service's models; a word counts if every model has a vector for it.
    """
    cues = tuple(pair for pair in words.cues if all(cue in space.by_text for cue in pair for space in spaces))
    usable_words = {
        word
        for word in (*words.concept_words, *words.controls)
        if all(phrase in space.by_text for phrase in replicates.phrases(word) for space in spaces)
    }
    coverage = cover({"concepts": words.concept_words, "controls": words.controls}, usable_words)
    coverage |= cover({"cues": [cue for pair in words.cues for cue in pair]}, {cue for pair in cues for cue in pair})
    measurement = _create_measurement(words, spaces, cues, coverage, tolerance)
    if low_coverage := coverage_reasons(coverage, words.name):
        return measurement.give_up(*low_coverage)
    concepts = tuple(word for word in words.concept_words if word in usable_words)
    controls = tuple(word for word in words.controls if word in usable_words)
    try:
        points = np.stack([_compute_points(space, cues, (*concepts, *controls), replicates) for space in spaces])
        points_in_halves = [_points_in_halves(space, cues, (*concepts, *controls), replicates, rng) for space in spaces]
        sides = _side_indices(words, concepts) if strata else ()
        effects = choice_effects(points, len(concepts), rng, least=MIN_WORDS, sides=sides)
    except EvidenceError as error:
        return measurement.impossible(error)
    models, cue_pairs, templates, _ = points.shape
    table = _word_rows(points, np.stack(points_in_halves), concepts, controls, words, rng)
    measurement.detail = replace(
        _add_correlations(measurement.detail, table, effects, rng),
        levels=LEVELS,
        replicates=ReplicatesDocument(models, cue_pairs, templates, replicates.half_samples),
        estimand="models, cue pairs, templates and words like these",
    )
    phrases = replicates.phrases
    texts = {"controls": map(phrases, words.controls), "concepts": map(phrases, words.concepts), "cues": words.cues}
    losses = count_losses(texts, spaces)
    concept_points = points.mean(axis=(0, 1, 2))[: len(concepts)]
    return _conclude(measurement, words, concepts, controls, concept_points, effects, losses)


def _create_measurement(
    words: ChoiceWords,
    spaces: Sequence[Vectors],
    cues: Sequence[tuple[str, str]],
    coverage: Mapping[str, Coverage],
    tolerance: Tolerance,
) -> Measurement[ForcedChoiceComponent]:
    """Return the measurement of the words, with the counts of all `spaces`: the vectors of each of the models."""
    outcomes = ("usable", "unusable", "failed", "unasked")
    return Measurement(
        name=words.name,
        counts=Counts(*(sum(getattr(space.counts, outcome) for space in spaces) for outcome in outcomes)),
        tolerance=tolerance,
        detail=ForcedChoiceComponent(
            dimensions=spaces[0].dims,
            coverage=coverage,
            missing={text: reason for space in spaces for text, reason in space.missing.items()},
            cues=tuple(cues),
            sides=Sides(words.first, words.second),
        ),
    )


def _compute_points(
    space: Vectors,
    cues: Sequence[tuple[str, str]],
    words: Sequence[str],
    replicates: Replicates,
    indices: Integers | None = None,
) -> Floats:
    """Compute points of subjective equality from all or `indices` dimensions, shape (cue pairs, templates, words)."""
    dims = np.arange(space.dims) if indices is None else indices

    def vectors_of(texts: Sequence[str]) -> Floats:
        vectors = space.matrix(texts)
        if replicates.normalise:
            vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors[:, dims]

    first_cues, second_cues = (vectors_of([pair[side] for pair in cues]) for side in (0, 1))
    points_by_template = []
    for template in replicates.templates:
        phrases = vectors_of([template.replace("{word}", word) for word in words])
        points_by_template.append(indifference_points(first_cues, second_cues, phrases, weight=replicates.weight))
    return np.stack(points_by_template, axis=1)


def _points_in_halves(
    space: Vectors,
    cues: Sequence[tuple[str, str]],
    words: Sequence[str],
    replicates: Replicates,
    rng: np.random.Generator,
) -> Floats:
    """Compute points of subjective equality in random halves of dimensions, shape (pairs, templates, halves, words).

    Without half-samples, all dimensions count as one half. Halves replace Liang & Acuna's bootstrapped corpora, and
    give only their spread (the just noticeable difference), because their points are biased (mean .540, not .527).
    """
    if not replicates.half_samples:
        return _compute_points(space, cues, words, replicates)[:, :, None]
    size = max(1, space.dims // 2)
    halves = [np.sort(rng.permutation(space.dims)[:size]) for _ in range(replicates.half_samples)]
    try:
        return np.stack([_compute_points(space, cues, words, replicates, half) for half in halves], axis=2)
    except ZeroVariance as error:
        message = f"in one of the random halves of the dimensions {error}; half_samples = 0 uses all of them"
        raise ZeroVariance(message) from error


def _word_rows(
    points: Floats,
    points_in_halves: Floats,
    concepts: Sequence[str],
    controls: Sequence[str],
    words: ChoiceWords,
    rng: np.random.Generator,
) -> Table:
    """Return a row of results (point, just noticeable difference, curve) for each concept, then for each control."""
    # all points of one model and cue pair form one cluster
    clusters = points.reshape(points.shape[0] * points.shape[1], -1, points.shape[3])
    half_clusters = points_in_halves.reshape(points.shape[0] * points.shape[1], -1, points.shape[3])
    table: list[WordDocument] = []
    for index, word in enumerate((*concepts, *controls)):
        summary = summarise(clusters[:, :, index], half_clusters[:, :, index], rng, LEVELS)
        table.append(
            WordDocument(
                word,
                role="concept" if index < len(concepts) else "control",
                share=words.concepts.get(word),
                pse=EffectDocument.of(summary.pse),
                jnd=summary.jnd,
                jnd_75=summary.jnd_75,
                curve=tuple(round(share_of_second, 4) for share_of_second in summary.curve),
            )
        )
    return tuple(table)


# ---------------------------------------------------------------------------- choices
def judge_choices(
    words: ChoiceWords,
    trials: Sequence[Trials],
    tally: Tally,
    tolerance: Tolerance,
    rng: np.random.Generator,
    *,
    strata: bool = False,
) -> Component:
    """Fit a curve to the choices about each word, and judge the curves; `strata` as for `judge_vectors`.

    All words that are not among the controls count as concepts, even words that `words` does not list.
    """
    judgements = judge_trials(trials)
    table = judgements.table(words.controls, shares=words.concepts)
    measurement = Measurement(
        name=words.name,
        counts=tally.counts,
        tolerance=tolerance,
        detail=ForcedChoiceComponent(
            words=table, sides=Sides(words.first, words.second), without=dict(judgements.reasons)
        ),
    )
    if not trials:
        return measurement.give_up(Reason("no-usable-observations", {}, words.name))
    if tally.lost_share > 1 - MIN_USABLE_SHARE:
        counts = tally.counts
        code = "target-output-unusable" if counts.unusable > counts.failed else "target-calls-failed"
        facts = {"total": counts.asked, "share": 1 - counts.usable / counts.asked, "why": {}}
        return measurement.give_up(Reason(code, facts, words.name))
    words_by_role = {
        "concepts": [word for word in judgements.trials if word not in words.controls],
        "controls": [word for word in judgements.trials if word in words.controls],
    }
    concepts, controls = ([word for word in terms if word in judgements.fits] for terms in words_by_role.values())
    coverage = cover(words_by_role, judgements.fits)
    measurement.detail = replace(measurement.detail, coverage=coverage)
    # a role without any words gets its reason from `trial_effects`
    if low_coverage := coverage_reasons({name: group for name, group in coverage.items() if group.words}, words.name):
        return measurement.give_up(*low_coverage)
    try:
        fits = [judgements.fits[word] for word in (*concepts, *controls)]
        sides = _side_indices(words, concepts) if strata else ()
        effects = trial_effects([fit.point for fit in fits], len(concepts), rng, least=MIN_WORDS, sides=sides)
    except EvidenceError as error:
        return measurement.impossible(error)
    detail = _add_correlations(measurement.detail, table, effects, rng)
    measurement.detail = replace(detail, estimand="words like these")
    concept_points = np.array([judgements.fits[word].pse.estimate for word in concepts])
    component = _conclude(measurement, words, concepts, controls, concept_points, effects, tally.by_group)
    return _withhold_between_levels(component, fits, len(concepts), tolerance, rng, sides)


def _withhold_between_levels(
    component: Component,
    fits: Sequence[PsychometricFit],
    concept_count: int,
    tolerance: Tolerance,
    rng: np.random.Generator,
    sides: Sequence[Integers],
) -> Component:
    """Withhold the letter if it depends on where the points of subjective equality lie between two levels.

    The `fits` are of the concepts, then of the controls. If an observer changes its choice between two levels, at
    neither of which it wavers, then the letter must hold wherever between them the points of all words lie.
    """
    if not component.declared or component.letter is None:
        return component
    steepest = shared_steepness(fits)
    for points in zip(
        *(fit.points_at_ends(steepest) for fit in fits), strict=True
    ):  # all at the low end, then at the high end
        effects = trial_effects(points, concept_count, rng, least=MIN_WORDS, sides=sides)
        if not tolerance.declares(effects.evidence(), component.letter):
            reason = Reason("levels-too-far-apart", {}, component.name)
            return replace(component, declared=False, reasons=(reason, *component.reasons))
    return component


# ---------------------------------------------------------------------------- shared by vectors and choices
def _conclude(
    measurement: Measurement[Any],
    words: ChoiceWords,
    concepts: Sequence[str],
    controls: Sequence[str],
    points: Floats,
    effects: ChoiceEffects,
    losses: ByGroup,
) -> Component:
    """Return the component with its letter; `points` are those of the `concepts`.

    `losses` counts words without a vector, or questions without an answer, by role (controls …) and outcome.
    """
    # the concepts that stereotypes link to the first and to the second cue; a single array if that is unknown
    sides = _side_indices(words, concepts)
    unit = "concept" if len(sides) == 1 else "smaller-side concept"
    measurement.units = (Units("control word", len(controls)), Units(unit, min(map(len, sides))))
    return measurement.conclude(
        effects.evidence(),
        lambda letter: _reason_for(letter, words, concepts, points, effects),
        effects.intervals(),
        lost=lost_items(losses, ("controls",), ("concepts",)),
    )


def _side_indices(words: ChoiceWords, concepts: Sequence[str]) -> tuple[Integers, ...]:
    """Return the indices of the first side's concepts (declared share above 1/2) and of the second side's (below).

    If a side has fewer than `MIN_WORDS`, return a single array with the indices of all concepts.
    """
    first_side_shares = [words.concepts.get(word) for word in concepts]  # ``None`` if a share is unknown
    of_first = np.flatnonzero([share is not None and share > 0.5 for share in first_side_shares])
    of_second = np.flatnonzero([share is not None and share < 0.5 for share in first_side_shares])
    return (of_first, of_second) if min(len(of_first), len(of_second)) >= MIN_WORDS else (np.arange(len(concepts)),)


def _add_correlations(
    detail: ForcedChoiceComponent, table: Table, effects: ChoiceEffects, rng: np.random.Generator
) -> ForcedChoiceComponent:
    """Add the numbers shown beside the letter: spreads, and correlations with the declared shares."""
    detail = replace(
        detail,
        words=table,
        hidden=hidden_documents(effects.hidden),
        spread=Spread(effects.concept_spread, effects.control_spread),
        controls_mean=effects.control_mean,
        apart=NO_EFFECT if effects.apart is None else EffectDocument.of(absolute_value_interval(effects.apart)),
    )
    comparable = [row for row in table if row.share is not None and row.pse.estimate is not None]
    if len(comparable) < MIN_WORDS:
        return detail
    columns = np.array([(row.pse.estimate, row.share, row.jnd) for row in comparable], dtype=float)
    points, shares, jnds = columns.T.copy()
    return replace(
        detail,
        correlation=_correlation(shares, points),
        slope=result_or_why(EffectDocument, lambda: EffectDocument.of(slope(shares, points, rng))),
        # Liang & Acuna correlate the JND with the standard deviation of the declared share, the square root below
        jnd_correlation=_correlation(np.sqrt(shares * (1 - shares)), jnds),
    )


def _correlation(first: Floats, second: Floats) -> Correlation:
    return result_or_why(Correlation, lambda: read_json(MeasuredCorrelation, asdict(pearson(first, second))))


def _reason_for(
    letter: Letter, words: ChoiceWords, concepts: Sequence[str], points: Floats, effects: ChoiceEffects
) -> Reason:
    """Return the reason for a letter; `points` are the points of subjective equality of the `concepts`."""
    facts: Json
    if letter is Letter.BS:
        # a point above 1/2 means that choosing the second cue takes more of it: the observer prefers the first
        side = words.first if effects.control_mean > 0.5 else words.second
        facts = {"side": side, "mean": effects.control_mean, "step_1": float(effects.step_1.mean())}
        return Reason("controls-lean", facts, words.name)
    if letter is Letter.UCS:
        return Reason("choices-balanced", {"step_2": float(effects.step_2.mean())}, words.name)
    facts = {
        "step_2": float(effects.step_2.mean()),
        "most_first": concepts[int(points.argmax())],
        "first": words.first,
        "most_second": concepts[int(points.argmin())],
        "second": words.second,
    }
    return Reason("choices-follow-words", facts, words.name)
