"""Comparison of two ratings of the same words, such as before and after debiasing (P2, section 5.2).

A rating document holds the distances and not the posterior. So both posteriors are fitted again, in the same way, to
the word pairs that both ratings have. A difference is therefore due to the embeddings and never to the words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, cast

from assay.errors import EvidenceError, SpecificationError
from assay.experiment import generator
from assay.model import Floats
from assay.statistics.bayes.hierarchy import Posterior, Residual, fit_hierarchy
from assay.statistics.embeddings.posterior_comparison import Difference, compare, effect_draws

METHOD = "association"
"""The only method whose ratings hold the raw distances for a new posterior."""

DRAWS = 4000
"""Draws of each posterior, regardless of the number of draws in the ratings."""

SEED = 0
"""Seed of both fits: a comparison is reproducible, and swapping the ratings mirrors the result."""

NAMED = 5
"""Maximum number of words of a list that a message names; of the other words, it gives only the number."""

Pair = tuple[str, str]


class NotComparable(SpecificationError):
    """The two ratings cannot be compared."""

    code = "not-comparable"


def comparison_document(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """Compare two association ratings of the same words.

    Parameters
    ----------
    before, after : mapping
        Rating documents, as `assay.rating.document` writes and the store keeps them. Differences are *after* less
        *before*, in cosine distance.

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
    first, second = _Measured.of(before), _Measured.of(after)
    _check_alike(first, second)
    shared = [pair for pair in first.rows if pair in second.rows]
    if not shared:
        raise NotComparable("the ratings have no distance between the same two words; each lacks the other's words")
    try:
        first_posterior, second_posterior = first.fitted(shared), second.fitted(shared)
        comparison = compare(first_posterior, second_posterior)
    except EvidenceError as error:
        raise NotComparable(f"what both ratings measured cannot be compared: {error}") from None
    return {
        "method": METHOD,
        "attribute": before.get("attribute"),
        "before": first.face,
        "after": second.face,
        "fit": {"residual": first.residual, "prior": first.prior, "draws": DRAWS},
        "pairs": len(shared),
        "pairs_left_out": len({*first.rows, *second.rows}) - len(shared),
        "mass": comparison.mass,
        "connections": [
            _told(connection, first_posterior.mean(connection.name), second_posterior.mean(connection.name))
            for connection in comparison.connections
        ],
        "effect": None
        if comparison.effect is None
        else _told(comparison.effect, effect_draws(first_posterior), effect_draws(second_posterior)),
        "words": [
            _told(word, effect_draws(first_posterior, word.name), effect_draws(second_posterior, word.name))
            for word in comparison.words
        ],
    }


# ---------------------------------------------------------------------------- contents of a rating
@dataclass(frozen=True)
class _Measured:
    """Measurements of one rating: `rows` has the connection and the distance of each pair of words."""

    face: Mapping[str, Any]
    lists: Mapping[str, frozenset[str]]
    residual: str
    prior: str
    rows: Mapping[Pair, tuple[str, float]]

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> _Measured:
        """Read a rating document."""
        experiment = _table(document, "experiment")
        part = _only_component(document)
        return cls(
            face=_face(document, part),
            lists=_lists(_table(experiment, "words")),
            residual=str(experiment.get("residual")),
            prior=str(experiment.get("prior")),
            rows=_rows(document, part),
        )

    def fitted(self, pairs: Sequence[Pair]) -> Posterior:
        """Fit the posterior to some of the pairs."""
        rows = [self.rows[pair] for pair in pairs]
        return fit_hierarchy(
            [distance for _, distance in rows],
            [connection for connection, _ in rows],
            [protected for protected, _ in pairs],
            generator(SEED),
            draws=DRAWS,
            residual=cast("Residual", self.residual),
            prior=self.prior,
        )


def _only_component(document: Mapping[str, Any]) -> Mapping[str, Any]:
    parts = document.get("components")
    if not isinstance(parts, list) or len(parts) != 1 or not isinstance(parts[0], Mapping):
        raise NotComparable(f"{_name(document)} is no complete rating: an association has one entry in 'components'")
    return parts[0]


def _face(document: Mapping[str, Any], part: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that identify the rating, the words without a vector, and the hidden effects."""
    target = document.get("target")
    summary = {name: document.get(name) for name in ("id", "letter", "declared", "rated_at", "evidence_digest")}
    missing = part.get("missing")
    return {
        **summary,
        "target": target.get("name") if isinstance(target, Mapping) else None,
        "missing": sorted(map(str, missing)) if isinstance(missing, Mapping) else [],
        "hidden": list(part.get("hidden") or ()),
    }


def _lists(words: Mapping[str, Any]) -> dict[str, frozenset[str]]:
    """Return every list of words by its name."""
    by_group = {
        f"{group} ({role})": words_of_group
        for field, role in (("protected", "protected"), ("attributes", "stereotype"))
        for group, words_of_group in _table(words, field).items()
    }
    controls = {name: words.get(name, []) for name in ("human", "neutral")}
    return {name: frozenset(map(str, words_of_list)) for name, words_of_list in (by_group | controls).items()}


def _rows(document: Mapping[str, Any], part: Mapping[str, Any]) -> dict[Pair, tuple[str, float]]:
    """Read the raw distances, nested by protected word, connection and attribute word."""
    if "raw" not in part:
        codes = [str(reason.get("code")) for reason in part.get("reasons", ()) if isinstance(reason, Mapping)]
        codes_text = f" ({', '.join(codes)})" if codes else ""
        raise NotComparable(f"{_name(document)} has no distances to compare: nothing could be measured{codes_text}")
    rows: dict[Pair, tuple[str, float]] = {}
    for word, connections in _table(part, "raw").items():
        for connection, distances in _entries(connections):
            for attribute_word, distance in _entries(distances):
                if not isinstance(distance, (int, float)):
                    raise NotComparable(f"the distance from {word!r} to {attribute_word!r} is {distance!r}, no number")
                rows[word, attribute_word] = (connection, float(distance))
    return rows


def _table(holder: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    if not isinstance(table := holder.get(name), Mapping):
        raise NotComparable(f"a rating by {METHOD} has an object {name!r}; this one has none")
    return table


def _entries(table: Any) -> list[tuple[str, Any]]:
    if not isinstance(table, Mapping):
        raise NotComparable(f"'raw' nests protected word, connection and attribute word; {table!r:.60} is not nested")
    return list(table.items())


def _name(document: Mapping[str, Any]) -> str:
    return f"the rating {document.get('id', 'without an id')}"


# ---------------------------------------------------------------------------- checks
def _check_methods(before: Mapping[str, Any], after: Mapping[str, Any]) -> None:
    methods = [str(document.get("method")) for document in (before, after)]
    if methods == [METHOD, METHOD]:
        return
    same = methods[0] == methods[1]
    methods_text = f"both ratings are by {methods[0]}" if same else f"they are by {' and '.join(methods)}"
    raise NotComparable(
        f"only ratings by {METHOD} can be compared: they alone carry distances that a posterior is drawn from; "
        f"{methods_text}"
    )


def _check_alike(first: _Measured, second: _Measured) -> None:
    """Raise `NotComparable` if the ratings differ in their words or in the settings of the fit."""
    differing = [
        f"{name} ({'; '.join(_only_in(first.lists.get(name), second.lists.get(name)))})"
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


def _only_in(first: frozenset[str] | None, second: frozenset[str] | None) -> list[str]:
    differences = []
    for position, mine, others in (("first", first, second), ("second", second, first)):
        if only := sorted((mine or frozenset()) - (others or frozenset())):
            more = f" and {len(only) - NAMED} more" if len(only) > NAMED else ""
            differences.append(f"only in the {position}: {', '.join(only[:NAMED])}{more}")
    return differences


# ---------------------------------------------------------------------------- result
def _told(difference: Difference, before: Floats, after: Floats) -> dict[str, Any]:
    return {"name": difference.name, "before": float(before.mean()), "after": float(after.mean()), **asdict(difference)}
