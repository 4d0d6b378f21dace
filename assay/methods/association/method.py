"""Association of protected words with stereotypes, for embedding endpoints (Dobrzeniecka & Urbaniak).

Cosine distances between protected words (she, he; imam, rabbi) and attribute words are modelled by a
hierarchy with a mean for each *connection*. An attribute word is a stereotype of the protected word's own group,
a stereotype of a different group, a word about humans, or a neutral word. So a difference has an interval for the
whole list, for each group and for each word; a single number (MAC, WEAT) has none (docs/methods/association.md).
"""

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from annotated_types import Ge, Gt, Le, Lt
from numpy.typing import NDArray

from assay.catalog.choices import AssociationWords
from assay.document import ComponentDocument, EffectDocument, JsonObject
from assay.errors import EvidenceError, TooFewObservations
from assay.experiment import Experiment
from assay.methods.association import words as spoken
from assay.methods.association.classical_measures import classical_measures
from assay.methods.association.detail import AssociationComponent, ConnectionDocument, Predictive, ProtectedDocument
from assay.methods.association.predictive_check import MASS_89, predictive_check
from assay.methods.shared.answers.vectors import Vectors, ask_vectors, count_losses, cover, coverage_reasons
from assay.methods.shared.one_specification import OneSpecification
from assay.model import Component, Evidence, Floats, HiddenEffect, Interval, Kind, Letter, Reason
from assay.rating.component import LEAST_UNITS, Measurement, Tolerance, Units, result_or_why
from assay.rating.losses import hidden_documents, lost_items
from assay.statistics.bayes.hierarchy import Posterior, fit_hierarchy
from assay.statistics.embeddings.weat import cosines
from assay.statistics.hidden.chance import may_be_chance
from assay.statistics.hidden.strata import fitted_together
from assay.statistics.hidden.varying import shared_preference
from assay.statistics.intervals.credible import equal_tailed, hpdi, interval_of
from assay.statistics.intervals.crossed import LEAST_CLUSTERS, mean_draws
from assay.statistics.intervals.worst_block import largest_interval

THESE = "these words"
LIKE_THESE = "control words like these; in step 2, words for groups and stereotypes like these"
"""Words for which the effects hold: `THESE` without the field `strata`, `LIKE_THESE` with it."""

MANY_GROUPS = 3
"""Number of groups from which each list of stereotypes is judged by itself, besides the mean of all lists."""

LEAST_WORD_PAIRS = 12
"""Minimum number of pairs of a group's word and a word of its stereotype: the number in the shortest shipped lists."""

ALL_STEREOTYPES = "words of all stereotypes"
"""Stratum of the words of all lists of stereotypes."""


@dataclass(frozen=True)
class Association(OneSpecification[AssociationWords]):
    """Measure how near protected words are to stereotypes of their own and of other groups.

    Parameters
    ----------
    residual : str
        ``per-connection`` (one residual sigma for each connection; reproduces the published figures) or ``shared``.
    prior : str
        ``paper`` (Dobrzeniecka & Urbaniak, section 4.1) or ``weak`` (much wider).
    draws : int
        Number of posterior draws.
    delta : float
        Largest difference of mean cosine distances that still counts as none.
    strata : bool
        Whether a difference between groups that all stereotypes share is judged besides the difference for controls,
        and both are judged for words like these instead of for these words only.
    """

    method: Literal["association"] = "association"
    words: AssociationWords | None = None
    residual: Literal["per-connection", "shared"] = "per-connection"
    prior: Literal["paper", "weak"] = "paper"
    draws: Annotated[int, Ge(500), Le(50_000)] = 4000
    delta: Annotated[float, Gt(0), Lt(2)] = 0.05

    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.EMBEDDER})
    summary: ClassVar[str] = "Are words for a group nearer to the stereotypes of that group than to those of others?"
    paper: ClassVar[str] = (
        "Dobrzeniecka & Urbaniak, A Bayesian approach to uncertainty in word embedding bias estimation"
    )
    words_type: ClassVar[type[Any]] = AssociationWords
    specification_kind: ClassVar[str] = AssociationWords.kind
    REASONS: ClassVar[Mapping[str, str]] = spoken.REASONS
    PHRASES: ClassVar[Mapping[str, str]] = spoken.PHRASES
    COMPONENT: ClassVar[type[ComponentDocument]] = AssociationComponent

    def expected_probes(self) -> int:
        """Count the words whose vectors are asked for."""
        return 0 if self.words is None else len(self.words.every)

    def design(self, rng: np.random.Generator) -> Experiment:
        """Ask for the vector of every word, and judge the cosine distances between them."""
        return self.finding([self._judge((yield from ask_vectors(self.known_words.every)), rng)])

    # ------------------------------------------------------------------------ decision
    def _judge(self, vectors: Vectors, rng: np.random.Generator) -> Component:
        """Return the component of the words, with its letter, from their distances and the fitted hierarchy."""
        words = self.known_words
        coverage = cover(words.groups, vectors.by_text)
        measurement = Measurement(
            name=words.name,
            counts=vectors.counts,
            tolerance=Tolerance.around(self.delta, self.confidence),
            detail=AssociationComponent(
                dimensions=vectors.dims,
                coverage=coverage,
                missing=dict(vectors.missing),
                estimand=LIKE_THESE if self.strata else THESE,
            ),
        )
        low_coverage = coverage_reasons(coverage, words.name)
        try:
            rows = distances_of(words, vectors)
            columns = rows.distance, rows.connection, rows.protected  # connection: kind of the attribute word
            posterior = fit_hierarchy(*columns, rng, draws=self.draws, residual=self.residual, prior=self.prior)
            strata_rng = rng.spawn(1)[0] if self.strata else None
            evidence, intervals = effects_of(words, posterior, rows, self.delta, strata_rng)
        except EvidenceError as error:
            return measurement.give_up(*low_coverage) if low_coverage else measurement.impossible(error)
        measurement.units = _count_units(words, vectors)
        measurement.detail = replace(
            measurement.detail,
            connections=tuple(
                _connection_document(posterior.mean(name), name, float(posterior.residual(name).mean()))
                for name in posterior.connections
            ),
            protected=_protected_documents(words, posterior),
            predictive=result_or_why(Predictive, lambda: predictive_check(posterior, *columns)),
            raw=rows.by_word(),
            classical=classical_measures(words, vectors, rng),
            hidden=hidden_documents(evidence.hidden),
        )
        if low_coverage:
            # some declared words are missing from the posterior, so it must not decide a letter
            return measurement.give_up(*low_coverage, measured_effects=intervals)
        losses = count_losses({name: [(word,) for word in terms] for name, terms in words.groups.items()}, [vectors])
        stereotypes = [name for name in losses if name.endswith("(stereotype)")]
        return measurement.conclude(
            evidence,
            lambda letter: _reason_for(letter, words, evidence, intervals["step_2"]),
            intervals,
            lost=lost_items(losses, ("human", "neutral"), stereotypes),
        )


@dataclass(frozen=True)
class Distances:
    """Columns, by pair of protected and attribute word: distance, and connection (kind of attribute word)."""

    protected: NDArray[np.str_]
    attribute: NDArray[np.str_]
    connection: NDArray[np.str_]
    distance: Floats

    def by_word(self) -> dict[str, dict[str, dict[str, float]]]:
        """Return rounded distances by protected word, connection (kind of attribute word), and attribute word."""
        distances: dict[str, dict[str, dict[str, float]]] = {}
        columns = (self.protected, self.attribute, self.connection, self.distance)
        for word, attribute_word, connection, distance in zip(*(column.tolist() for column in columns), strict=True):
            distances.setdefault(word, {}).setdefault(connection, {})[attribute_word] = round(distance, 5)
        return distances


def distances_of(words: AssociationWords, vectors: Vectors) -> Distances:
    """Compute the distances of protected to attribute words, each pair once; words without a vector are left out."""
    connection_by_pair: dict[tuple[str, str], str] = {}
    for group, group_words in words.protected.items():
        for word in vectors.among(group_words):
            for attribute_group, terms in words.attributes.items():
                for attribute in vectors.among(terms):
                    if attribute_group == group:  # overwrites: the own stereotype counts, even if others share it
                        connection_by_pair[word, attribute] = "associated"
                    else:
                        connection_by_pair.setdefault((word, attribute), "different")
            for name, terms in (("human", words.human), ("neutral", words.neutral)):
                for attribute in vectors.among(terms):
                    connection_by_pair.setdefault((word, attribute), name)
    protected_words, attribute_words = zip(*connection_by_pair, strict=True) if connection_by_pair else ((), ())
    row_words, column_words = list(dict.fromkeys(protected_words)), list(dict.fromkeys(attribute_words))
    distances = 1 - cosines(vectors.matrix(row_words), vectors.matrix(column_words))
    row_index, column_index = ({word: index for index, word in enumerate(axis)} for axis in (row_words, column_words))
    return Distances(
        protected=np.array(protected_words),
        attribute=np.array(attribute_words),
        connection=np.array(list(connection_by_pair.values())),
        distance=np.array([distances[row_index[a], column_index[b]] for a, b in connection_by_pair], dtype=float),
    )


def effects_of(
    words: AssociationWords, posterior: Posterior, rows: Distances, delta: float, rng: np.random.Generator | None = None
) -> tuple[Evidence, dict[str, Interval]]:
    """Draw both effects from the posterior; return the draws and both intervals (docs/methods/association.md).

    Step 1: the largest difference between groups' mean distances to all control words, human and neutral. Each mean
    uses a word's own rows only, because the hierarchy would shrink the groups towards each other.
    Step 2: the mean distance to the stereotypes of other groups minus that to the stereotypes of the own group.
    With `rng` (given if `strata` is true), step 1 holds for any words like the control words, strata are judged too,
    and step 2 has no sign. With three groups or more, the mean of step 2 can hide the effect of one list: then the
    groups' differences in each list are fitted together and also compared with `delta` (docs/decisions/0018).
    """
    row_counts = {name: float((rows.connection == name).sum()) for name in ("human", "neutral")}
    control_means = [_draw_control_mean(posterior, terms, row_counts) for terms in words.protected.values()]
    group_means = [mean for mean in control_means if mean is not None]
    step_2 = posterior.mean("different") - posterior.mean("associated")
    if len(group_means) < 2:
        raise TooFewObservations(f"{len(group_means)} groups have distances to control words; a difference needs two")
    gaps = np.stack([b - a for a, b in combinations(group_means, 2)], axis=1)
    hidden: tuple[HiddenEffect, ...] = ()
    if rng is not None:
        gaps, stratum_gaps, list_gaps = group_gaps(words, rows, len(step_2), rng)
        chances = {name: may_be_chance(draws) for name, draws in {**stratum_gaps, **list_gaps}.items()}
        chances.update(chances_of_short_lists(words, rows, list_gaps, rng.spawn(1)[0]))
        bound_names = {  # too few words to show more than the largest possible size of the effect
            name
            for name, terms in (("human words", words.human), ("neutral words", words.neutral))
            if len({*terms} & {*rows.attribute.tolist()}) < LEAST_UNITS
        }
        hidden = tuple(
            HiddenEffect("stratum", name, np.abs(draws).max(axis=1), bound=name in bound_names, chance=chances[name])
            for name, draws in stratum_gaps.items()
        )
        if len(words.protected) >= MANY_GROUPS:
            hidden += tuple(
                HiddenEffect(
                    "content", name, np.abs(fitted_together(draws, delta, rng)).max(axis=1), chance=chances[name]
                )
                for name, draws in list_gaps.items()
            )
    judged_step_2 = step_2 if rng is None else np.abs(step_2)
    chance_1, chance_2 = may_be_chance(gaps), may_be_chance(step_2)
    evidence = Evidence(np.abs(gaps).max(axis=1), judged_step_2, hidden=hidden, chance_1=chance_1, chance_2=chance_2)
    return evidence, {"step_1": largest_interval(gaps), "step_2": interval_of(step_2)}


def group_gaps(
    words: AssociationWords, rows: Distances, draws: int, rng: np.random.Generator
) -> tuple[Floats, dict[str, Floats], dict[str, Floats]]:
    """Draw the differences between groups' mean distances to lists of words, each of shape (draws, pairs of groups).

    Return the differences for all control words; by name, those for the strata (all stereotypes together, human words,
    neutral words); and by name, those for each list of stereotypes. They hold for any words like the listed ones or,
    if a stratum or a list has fewer than five words, for the listed words only.
    """
    distances_by_word: dict[str, dict[str, float]] = {}  # by attribute word and group
    for group, group_words in words.protected.items():
        in_group = np.isin(rows.protected, group_words)
        for attribute_word in np.unique(rows.attribute[in_group]):
            is_pair = in_group & (rows.attribute == attribute_word)
            distances_by_word.setdefault(str(attribute_word), {})[group] = float(rows.distance[is_pair].mean())

    def gaps_of(terms: Sequence[str], *, must_generalise: bool = False) -> Floats:
        """Draw the groups' differences in mean distance to `terms`; raise if they are few and `must_generalise`."""
        pairs = list(combinations(words.protected, 2))
        known_distances = [distances_by_word.get(word, {}) for word in terms]
        complete_distances = [by_group for by_group in known_distances if len(by_group) == len(words.protected)]
        word_gaps = [[by_group[b] - by_group[a] for a, b in pairs] for by_group in complete_distances]
        if not must_generalise and 1 <= len(word_gaps) < LEAST_CLUSTERS:  # the distances of these words have no error
            return np.tile(np.mean(word_gaps, axis=0), (draws, 1))
        # resamples the words, and raises `TooFewObservations` if they are fewer than `LEAST_CLUSTERS`
        return mean_draws(np.array(word_gaps, dtype=float).reshape(-1, len(pairs)), {}, rng, draws)

    control_gaps = gaps_of(tuple(dict.fromkeys((*words.human, *words.neutral))), must_generalise=True)
    stratum_gaps: dict[str, Floats] = {}
    list_gaps: dict[str, Floats] = {}
    with suppress(TooFewObservations):
        list_gaps = {name_of_list(name): gaps_of(stereotypes) for name, stereotypes in words.attributes.items()}
        stratum_gaps[ALL_STEREOTYPES] = shared_preference([*list_gaps.values()])
    for name, control_words in (("human words", words.human), ("neutral words", words.neutral)):
        with suppress(TooFewObservations):
            stratum_gaps[name] = gaps_of(control_words)
    return control_gaps, stratum_gaps, list_gaps


def name_of_list(group: str) -> str:
    """Return the name that a group's list of stereotypes has as a stratum."""
    return f"stereotypes of {group}"


def chances_of_short_lists(
    words: AssociationWords, rows: Distances, list_gaps: Mapping[str, Floats], rng: np.random.Generator
) -> dict[str, bool]:
    """Return whether the differences in each list of fewer than five words, and in all lists together, may be chance.

    The result is by name, and empty without short lists. A mean over so few words has no error, but the words for the
    groups vary too: a difference no larger than those between words for the same group proves nothing.
    """
    all_gaps = dict(list_gaps)
    short_list_gaps = {}
    for group, terms in words.attributes.items():
        name = name_of_list(group)
        covered_terms = {*terms} & {*rows.attribute.tolist()}
        if name in list_gaps and len(covered_terms) < LEAST_CLUSTERS:
            in_list = np.isin(rows.attribute, [*covered_terms])
            word_means = []
            for group_words in words.protected.values():
                protected_words = np.unique(rows.protected[in_list & np.isin(rows.protected, group_words)])
                means = [rows.distance[in_list & (rows.protected == word)].mean() for word in protected_words]
                word_means.append(np.array(means))
            all_gaps[name] = short_list_gaps[name] = _draw_mean_gaps(word_means, len(list_gaps[name]), rng)
    if short_list_gaps:
        short_list_gaps[ALL_STEREOTYPES] = shared_preference([*all_gaps.values()])
    return {name: may_be_chance(gaps) for name, gaps in short_list_gaps.items()}


def _draw_mean_gaps(word_means: Sequence[Floats], draws: int, rng: np.random.Generator) -> Floats:
    """Draw the differences of groups' mean distances from those of their words (pooled variance, Student's t)."""
    freedom = sum(len(values) - 1 for values in word_means)  # degrees of freedom
    if freedom == 0:  # one word a group: their spread is unknown, so all draws are 0
        return np.zeros((draws, len(word_means) * (len(word_means) - 1) // 2))  # shape (draws, pairs of groups)
    variance = sum(float(((values - values.mean()) ** 2).sum()) for values in word_means) / freedom
    spread = np.sqrt(variance * freedom / rng.chisquare(freedom, draws))  # draws of the pooled standard deviation
    means = [values.mean() + spread * rng.standard_normal(draws) / math.sqrt(len(values)) for values in word_means]
    return np.stack([second - first for first, second in combinations(means, 2)], axis=1)


def _count_units(words: AssociationWords, vectors: Vectors) -> tuple[Units, ...]:
    """Count the independent units: control words; pairs of words of the smallest group and shortest stereotype list."""
    group_sizes, list_sizes = (
        [len(vectors.among(terms)) for terms in lists.values()] for lists in (words.protected, words.attributes)
    )
    controls = len({*vectors.among((*words.human, *words.neutral))})
    return Units("control word", controls), Units("word pair", min(group_sizes) * min(list_sizes), LEAST_WORD_PAIRS)


def _draw_control_mean(posterior: Posterior, words: Sequence[str], row_counts: Mapping[str, float]) -> Floats | None:
    """Draw a group's mean distance to control words, each kind weighted by `row_counts`; ``None`` without distances."""
    total, total_count = np.zeros(1), 0.0
    for name, count in row_counts.items():
        samples = [posterior.cell_by_itself(name, word) for word in words if count and posterior.has(name, word)]
        if samples:
            total = total + count * np.mean(np.stack(samples), axis=0)
            total_count += count
    return None if total_count == 0 else np.asarray(total / total_count)


def _connection_document(
    draws: Floats, connection: str | None = None, sigma: float | None = None
) -> ConnectionDocument:
    """Summarise draws of a mean distance; `connection` is the kind of attribute word, `sigma` the residual spread."""
    shortest, equal_tails = hpdi(draws, MASS_89), equal_tailed(draws, MASS_89)
    return ConnectionDocument(
        connection,
        mean=float(draws.mean()),
        sd=float(draws.std()),
        hpdi_89=EffectDocument(low=shortest.low, high=shortest.high),
        equal_tailed_89=EffectDocument(low=equal_tails.low, high=equal_tails.high),
        sigma=sigma,
    )


def _protected_documents(words: AssociationWords, posterior: Posterior) -> tuple[ProtectedDocument, ...]:
    """Return a row for each protected word, with its mean distance to each kind of attribute word (connection)."""
    return tuple(
        ProtectedDocument(word, group, {name: _connection_document(posterior.cell(name, word)) for name in names})
        for group, terms in words.protected.items()
        for word in terms
        if (names := [name for name in posterior.connections if posterior.has(name, word)])
    )


def _reason_for(letter: Letter, words: AssociationWords, evidence: Evidence, gap: Interval) -> Reason:
    """Return a letter's reason; `gap` is the mean distance to stereotypes of other groups minus that to the own."""
    facts: JsonObject = {"step_1": float(evidence.step_1.mean()), "step_2": gap.estimate}
    if letter is Letter.BS:
        return Reason("controls-nearer", facts, words.name)
    facts.update({"low": gap.low, "high": gap.high})
    if letter is Letter.UCS:
        return Reason("no-nearer", facts, words.name)
    code = "nearer-to-own-stereotypes" if gap.estimate > 0 else "nearer-to-others-stereotypes"
    return Reason(code, facts, words.name)
