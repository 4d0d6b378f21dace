"""Comparison of two association ratings of the same words: before and after debiasing (Dobrzeniecka & Urbaniak, 5.2).

A rating document has the distances, but not the posterior. So both posteriors are fitted again, in the same way, to
the word pairs that both ratings have. A difference is therefore due to the embeddings and never to the words.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Self, cast

import numpy as np

from assay.document import NO_ENTRIES, NO_ITEMS, ComponentDocument, Json, RatingDocument, as_json, read_json
from assay.errors import EvidenceError, SpecificationError, TooFewObservations
from assay.experiment import generator
from assay.methods.association.detail import AssociationComponent
from assay.methods.association.predictive_check import MASS_89
from assay.model import Floats
from assay.statistics.bayes.hierarchy import Posterior, Residual, fit_hierarchy
from assay.statistics.intervals.credible import IntervalEnds, hpdi


@dataclass(frozen=True)
class Difference:
    """Change of a number from before to after, with its highest-density interval and the probability of an increase."""

    name: str
    mean: float
    hpdi: IntervalEnds
    p_after_greater: float


@dataclass(frozen=True)
class Comparison:
    """Changes of the distances of a list's words between two embeddings; intervals have the probability `mass`."""

    mass: float
    connections: tuple[Difference, ...]
    """Change of the mean distance, for each connection (kind of attribute word) that both embeddings have."""
    effect: Difference | None
    """Change of the mean distance ``different - associated``: negative if stereotypes are followed less than before.
    ``None`` if an embedding lacks either connection."""
    words: tuple[Difference, ...]
    """Change of ``different - associated`` for each protected word that has both connections in both embeddings."""


def compare(before: Posterior, after: Posterior, *, mass: float = MASS_89) -> Comparison:
    """Compare the distances of one list of words in two embeddings, by differences of draws (`after` less `before`).

    If the posteriors are of different words, changes are partly due to the words. If they differ in number of draws,
    surplus draws are not used. Raise `TooFewObservations` if they share no connection (kind of attribute word).

    The draws of `after` are shifted by half their number before they are paired. Draws within a posterior
    are independent, so no pairing is better than another; but two fits with the same seed use the same
    random numbers, and pairing draws of the same random numbers would understate the uncertainty.
    """
    draws = min(before.draws, after.draws)
    shared_names = [name for name in before.connections if name in after.connections]
    if not shared_names:
        raise TooFewObservations(
            f"nothing can be compared: there are distances to {', '.join(before.connections)} before, "
            f"and to {', '.join(after.connections)} after"
        )

    def change(name: str, before_draws: Floats, after_draws: Floats) -> Difference:
        shifted_draws = np.roll(after_draws, after_draws.size // 2)  # see the docstring
        differences = shifted_draws[:draws] - before_draws[:draws]
        return Difference(name, float(differences.mean()), hpdi(differences, mass), float((differences > 0).mean()))

    words = [word for word in _words_with_effect(before) if word in _words_with_effect(after)]
    return Comparison(
        mass=mass,
        connections=tuple(change(name, before.mean(name), after.mean(name)) for name in shared_names),
        effect=change("effect", effect_draws(before), effect_draws(after))
        if {"associated", "different"} <= {*shared_names}
        else None,
        words=tuple(change(word, effect_draws(before, word), effect_draws(after, word)) for word in words),
    )


def effect_draws(posterior: Posterior, word: str | None = None) -> Floats:
    """Draw the mean distance to other groups' stereotypes minus that to the own group's, for all words or `word`."""
    if word is None:
        return posterior.mean("different") - posterior.mean("associated")
    return posterior.cell("different", word) - posterior.cell("associated", word)


def _words_with_effect(posterior: Posterior) -> list[str]:
    return [word for word in posterior.words("associated") if posterior.has("different", word)]


METHOD = "association"
"""The only method whose ratings hold the raw distances for a new posterior."""

DRAWS = 4000
"""Number of draws of each fitted posterior, regardless of the number in the ratings."""

SEED = 0
"""Seed of both fits: a comparison is reproducible, and swapping the ratings mirrors the result."""

NAMED = 5
"""Maximum number of words of a list that a message names; of the other words, it gives only the number."""

Pair = tuple[str, str]


class NotComparable(SpecificationError):
    """Error: the two ratings are by another method, lack distances, or differ in words or settings."""

    code = "not-comparable"


def comparison_document(before: RatingDocument, after: RatingDocument) -> Json:
    """Compare two association ratings of the same words.

    Parameters
    ----------
    before, after : RatingDocument
        Ratings with components of the type `AssociationComponent`. Differences are *after* less *before*, in cosine
        distance.

    Returns
    -------
    dict
        ``before`` and ``after`` (facts of the ratings), ``fit`` (how both were fitted), ``pairs`` (word pairs that both
        have) and ``pairs_left_out``, ``mass`` (probability of each interval), and the differences: ``connections``,
        ``effect`` (``different`` minus ``associated``; if it falls, stereotypes are followed less) and ``words``, the
        same effect for each protected word. Every difference has ``before`` and ``after``, the two means.

    Raises
    ------
    NotComparable
        If a rating is by another method than association or has no distances, if the words or the fits of the
        ratings differ, or if they share too few pairs for a posterior.
    """
    _check_methods(before, after)
    first, second = _MeasuredRating.of(before), _MeasuredRating.of(after)
    _check_alike(first, second)
    shared_pairs = [pair for pair in first.rows if pair in second.rows]
    if not shared_pairs:
        raise NotComparable("the ratings have no distance between the same two words; each lacks the other's words")
    try:
        first_posterior, second_posterior = first.fit_posterior(shared_pairs), second.fit_posterior(shared_pairs)
        comparison = compare(first_posterior, second_posterior)
    except EvidenceError as error:
        raise NotComparable(f"the measurements of both ratings cannot be compared: {error}") from None
    return {
        "method": METHOD,
        "attribute": before.attribute,
        "before": first.summary,
        "after": second.summary,
        "fit": {"residual": first.residual, "prior": first.prior, "draws": DRAWS},
        "pairs": len(shared_pairs),
        "pairs_left_out": len({*first.rows, *second.rows}) - len(shared_pairs),
        "mass": comparison.mass,
        "connections": [
            _difference_json(connection, first_posterior.mean(connection.name), second_posterior.mean(connection.name))
            for connection in comparison.connections
        ],
        "effect": None
        if comparison.effect is None
        else _difference_json(comparison.effect, effect_draws(first_posterior), effect_draws(second_posterior)),
        "words": [
            _difference_json(word, effect_draws(first_posterior, word.name), effect_draws(second_posterior, word.name))
            for word in comparison.words
        ],
    }


@dataclass(frozen=True)
class _Words:
    """Lists of words in the request of an association rating."""

    protected: Mapping[str, tuple[str, ...]] = NO_ENTRIES
    attributes: Mapping[str, tuple[str, ...]] = NO_ENTRIES
    human: tuple[str, ...] = NO_ITEMS
    neutral: tuple[str, ...] = NO_ITEMS

    @property
    def lists(self) -> dict[str, frozenset[str]]:
        """All lists of words, by names such as "woman (stereotype)"."""
        return {
            f"{group} ({role})": frozenset(words)
            for role, lists in (("protected", self.protected), ("stereotype", self.attributes))
            for group, words in lists.items()
        } | {"human": frozenset(self.human), "neutral": frozenset(self.neutral)}


@dataclass(frozen=True)
class _Experiment:
    """Fields of the request of an association rating that a comparison needs."""

    words: _Words | None = None
    residual: str | None = None
    prior: str | None = None


@dataclass(frozen=True)
class _MeasuredRating:
    """Facts of a rating; `rows`: by (protected word, attribute word), kind of attribute word and cosine distance."""

    summary: Json
    lists: Mapping[str, frozenset[str]]
    residual: str
    prior: str
    rows: Mapping[Pair, tuple[str, float]]

    @classmethod
    def of(cls, rating: RatingDocument) -> Self:
        """Extract the facts from a rating; raise `NotComparable` if it has no words or no distances."""
        experiment = read_json(_Experiment, rating.experiment)
        if experiment.words is None:
            raise NotComparable(f"{_rating_name(rating)} is no complete rating: its 'experiment' has no words")
        if len(rating.components) != 1:
            raise NotComparable(
                f"{_rating_name(rating)} is no complete rating: an association has one entry in 'components'"
            )
        (component,) = rating.components
        return cls(
            summary={
                **{name: getattr(rating, name) for name in ("id", "letter", "declared", "rated_at", "evidence_digest")},
                "target": rating.target.name,
                "missing": sorted(component.missing),
                "hidden": as_json(component.hidden),
            },
            lists=experiment.words.lists,
            residual=str(experiment.residual),
            prior=str(experiment.prior),
            rows=_read_distances(rating, component),
        )

    def fit_posterior(self, pairs: Sequence[Pair]) -> Posterior:
        """Fit the posterior to the distances of the given pairs of words."""
        connections, distances = zip(*(self.rows[pair] for pair in pairs), strict=True)
        words, residual = [word for word, _ in pairs], cast("Residual", self.residual)
        rng = generator(SEED)
        return fit_hierarchy(distances, connections, words, rng, draws=DRAWS, residual=residual, prior=self.prior)


def _read_distances(rating: RatingDocument, component: ComponentDocument) -> dict[Pair, tuple[str, float]]:
    """Return, by (protected word, attribute word), the attribute word's kind (connection) and the cosine distance."""
    raw = component.raw if isinstance(component, AssociationComponent) else {}
    if raw != component.json.get("raw", {}):  # entries of a wrong type were left out
        raise NotComparable(
            f"{_rating_name(rating)} has something in 'raw' that is no number, or that is not nested by protected "
            "word, connection and attribute word"
        )
    rows = {
        (word, attribute_word): (connection, distance)
        for word, connections in raw.items()
        for connection, distances in connections.items()
        for attribute_word, distance in distances.items()
    }
    if not rows:
        codes = f" ({', '.join(component.reason_codes)})" if component.reasons else ""
        raise NotComparable(f"{_rating_name(rating)} has no distances to compare: nothing could be measured{codes}")
    return rows


def _rating_name(rating: RatingDocument) -> str:
    return f"the rating {rating.id or 'without an id'}"


def _check_methods(before: RatingDocument, after: RatingDocument) -> None:
    methods = [str(rating.method) for rating in (before, after)]
    if methods == [METHOD, METHOD]:
        return
    is_same_method = methods[0] == methods[1]
    methods_text = f"both ratings are by {methods[0]}" if is_same_method else f"they are by {' and '.join(methods)}"
    raise NotComparable(
        f"only ratings by {METHOD} can be compared: only they contain the distances that the comparison needs; "
        f"{methods_text}"
    )


def _check_alike(first: _MeasuredRating, second: _MeasuredRating) -> None:
    """Raise `NotComparable` if the ratings differ in their words or in the settings of the fit."""
    differing = [
        f"{name} ({'; '.join(_list_differences(first.lists.get(name), second.lists.get(name)))})"
        for name in dict.fromkeys((*first.lists, *second.lists))
        if first.lists.get(name) != second.lists.get(name)
    ]
    if differing:
        raise NotComparable(f"the ratings are of different words: {', '.join(differing)}; rate both with the same")
    for name in ("residual", "prior"):
        first_setting, second_setting = getattr(first, name), getattr(second, name)
        if first_setting != second_setting:
            raise NotComparable(
                f"the {name} is {first_setting!r} in one rating and {second_setting!r} in the other; "
                "rate both with the same"
            )


def _list_differences(first: frozenset[str] | None, second: frozenset[str] | None) -> list[str]:
    """Describe the words that only one of two lists has, naming at most `NAMED` of each."""
    differences = []
    for position, words, other_words in (("first", first, second), ("second", second, first)):
        if unshared_words := sorted((words or frozenset()) - (other_words or frozenset())):
            remainder = f" and {len(unshared_words) - NAMED} more" if len(unshared_words) > NAMED else ""
            differences.append(f"only in the {position}: {', '.join(unshared_words[:NAMED])}{remainder}")
    return differences


def _difference_json(difference: Difference, before: Floats, after: Floats) -> Json:
    return {"name": difference.name, "before": float(before.mean()), "after": float(after.mean()), **asdict(difference)}
