"""Published measures of embedding bias (WEAT, MAC, RIPA …), which do not affect the letter (association.md).

Each measure is one number without uncertainty, or with the p-value of one test. They help readers who know them; the
null check states how often chance alone gives a WEAT effect as large as a published one.
"""

from collections.abc import Callable
from dataclasses import asdict, replace
from itertools import combinations

import numpy as np

from assay.catalog.choices import AssociationWords
from assay.document import read_json
from assay.methods.association.detail import Classical, MeasureDocument, MeasuredWeat, NullDocument, WeatDocument
from assay.methods.shared.answers.vectors import Vectors
from assay.model import Floats
from assay.rating.component import result_or_why
from assay.statistics.embeddings.embedding_bias import (
    EmbeddingMeasure,
    direct_bias,
    embedding_coherence,
    mean_average_cosine,
    negative_sentiment_bias,
    relational_inner_product,
    relative_norm_distance,
)
from assay.statistics.embeddings.weat import cosines, null_check, weat

OF_PAIRS = frozenset({"ripa", "direct_bias"})
"""Measures that need as many words of one group as of the other, because they compare words pair by pair."""

PUBLISHED_EFFECT, PUBLISHED_WORDS = 1.27, 8
"""Effect size and words per set with which Dobrzeniecka & Urbaniak argue that chance can give a large WEAT effect."""


def classical_measures(words: AssociationWords, vectors: Vectors, rng: np.random.Generator) -> Classical:
    """Compute every measure that the word lists allow; for the others, return the reason.

    The result has ``mac``, ``null`` (the null check of WEAT), and under ``weat`` a row for every pair of groups: WEAT,
    and the measures RND, ECT, RIPA, RNSB (from a classifier of stereotype words) and DirectBias (of control words).
    """
    group_vectors = {group: _term_matrix(vectors, terms) for group, terms in words.protected.items()}
    stereotypes = {group: _term_matrix(vectors, terms) for group, terms in words.attributes.items()}
    controls = _term_matrix(vectors, (*words.human, *words.neutral))
    pairs = tuple(
        replace(
            _compare_groups(group_vectors[a], group_vectors[b], stereotypes[a], stereotypes[b], controls, rng),
            targets=(a, b),
            attributes=(a, b),
        )
        for a, b in combinations(words.protected, 2)
    )
    return Classical(
        mac=_measure_document(lambda: _mean_average_cosine(words, vectors)),
        weat=pairs,
        null=read_json(NullDocument, asdict(null_check(effect=PUBLISHED_EFFECT, words=PUBLISHED_WORDS))),
    )


def _measure_document(measure: Callable[[], EmbeddingMeasure]) -> MeasureDocument:
    """Return the result of `measure`, or a document with the reason (`why`) if the words do not allow it."""
    return result_or_why(MeasureDocument, lambda: read_json(MeasureDocument, asdict(measure())))


def _term_matrix(vectors: Vectors, terms: tuple[str, ...]) -> Floats:
    return vectors.matrix(vectors.among(terms))


def _compare_groups(
    first: Floats,
    second: Floats,
    stereotypes: Floats,
    other_stereotypes: Floats,
    controls: Floats,
    rng: np.random.Generator,
) -> WeatDocument:
    """Return WEAT for two groups (vectors of their words) and other measures, each a result or a reason (`why`)."""

    def measure_weat() -> WeatDocument:
        test = weat(first, second, stereotypes, other_stereotypes, rng=rng)
        return read_json(MeasuredWeat, asdict(test) | asdict(test.p))

    measures: dict[str, Callable[[], EmbeddingMeasure]] = {
        "rnd": lambda: relative_norm_distance(first, second, stereotypes),
        "ect": lambda: embedding_coherence(first, second, stereotypes),
        "ripa": lambda: relational_inner_product(first, second, stereotypes),
        "rnsb": lambda: negative_sentiment_bias(stereotypes, other_stereotypes, np.concatenate([first, second])),
        "direct_bias": lambda: direct_bias(controls, first, second),
    }
    unpaired_document = MeasureDocument(why=f"the groups have {len(first)} and {len(second)} words; pairs need as many")
    other_measures = {
        name: unpaired_document if name in OF_PAIRS and len(first) != len(second) else _measure_document(measure)
        for name, measure in measures.items()
    }
    return replace(result_or_why(WeatDocument, measure_weat), beside=other_measures)


def _mean_average_cosine(words: AssociationWords, vectors: Vectors) -> EmbeddingMeasure:
    """Compute MAC (mean average cosine) from the distances of all words for groups to all words of stereotypes."""
    distances: list[float] = []
    words_of_distances: list[str] = []
    sets_of_distances: list[str] = []
    for terms in words.protected.values():
        for word in vectors.among(terms):
            for name, attributes in words.attributes.items():
                usable_attributes = vectors.among(attributes)
                if usable_attributes:
                    word_distances = 1 - cosines(vectors.matrix([word]), vectors.matrix(usable_attributes))[0]
                    distances += word_distances.tolist()
                    words_of_distances += [word] * len(usable_attributes)
                    sets_of_distances += [name] * len(usable_attributes)
    return mean_average_cosine(np.array(distances), words_of_distances, sets_of_distances)
