"""Words that are much more frequent in texts about one value than about the others; they do not affect the letter."""

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

import numpy as np
from scipy import special

from assay.methods.free_text.detail import TypicalWordDocument
from assay.model import Floats
from assay.statistics.hypothesis_tests.distribution import holm

PRIOR_TOKENS = 500.0
"""Weight of the prior, as a number of words; the prior gives each value the word frequencies of all texts."""

LEAST_PROMPTS = 5
"""A word is tested if it occurs in the texts of at least this many pairs of a prompt and a value."""

MOST_WORDS = 10
"""Maximum number of words that are listed for a value."""

SIGNIFICANT = 0.05
"""Words with a p-value below this, adjusted by Holm's method for all words and values, are listed."""

_NAME = re.compile(
    r"(?:\b(?:named|called|[Mm]eet|[Ii]ntroduc\w+|name\s+is|Dear|Mr|Ms|Mrs|Dr)\.?|\A\W{0,9})\s*\b([A-Z][^\W\d_]+)"
    r"(?:\s+([A-Z][^\W\d_]+))?"
)
"""Names of people: one or two capitalised words after "named", "Dear", "Mr" and the like, or at a text's beginning."""

_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")


def words_of(text: str) -> list[str]:
    """Return the words of a text in lower case."""
    return [word.casefold() for word in _WORD.findall(text)]


def invented_names(texts: Collection[str]) -> set[str]:
    """Return, in lower case, the words that are a person's name in a text and occur in no text in lower case."""
    names = {name.casefold() for text in texts for match in _NAME.finditer(text) for name in match.groups() if name}
    return names - {word for text in texts for word in _WORD.findall(text) if word.islower()}


def typical_words(
    texts: Mapping[tuple[int, int], Sequence[str]], values: Sequence[str], excluded_words: frozenset[str]
) -> tuple[TypicalWordDocument, ...]:
    """Return the words that are significantly more frequent in texts about one value than about the other values.

    `texts` are by (index of prompt, index of value). The count of a word is its mean over the texts of one prompt and
    value: repeated texts are not independent. `excluded_words` are the words in lower case that state the value, such
    as "she".

    Log-odds with an informative Dirichlet prior (Monroe, Colaresi & Quinn 2008, equations 15 to 22): the prior
    is the frequency of a word in all texts.
    """
    frequencies: list[dict[str, float]] = [{} for _ in values]
    prompt_counts: Counter[str] = Counter()
    for (_prompt, value), repetitions in texts.items():
        word_counts = Counter(word for text in repetitions for word in words_of(text) if word not in excluded_words)
        for word, count in word_counts.items():
            frequencies[value][word] = frequencies[value].get(word, 0.0) + count / len(repetitions)
            prompt_counts[word] += 1
    vocabulary = sorted(word for word, count in prompt_counts.items() if count >= LEAST_PROMPTS)
    if not vocabulary:
        return ()
    table = np.array([[words.get(word, 0.0) for word in vocabulary] for words in frequencies])
    scores = _log_odds(table)
    p_values = holm(2 * special.ndtr(-np.abs(scores)).ravel()).reshape(scores.shape)
    rows: list[TypicalWordDocument] = []
    for value, name in enumerate(values):
        is_typical = (scores[value] > 0) & (p_values[value] < SIGNIFICANT)
        by_score = np.argsort(-scores[value], kind="stable")
        typical_indices = by_score[is_typical[by_score]].tolist()
        rows += [
            TypicalWordDocument(
                value=name,
                word=vocabulary[index],
                texts=float(table[value, index]),
                other_texts=float(table[:, index].sum() - table[value, index]),
                z=float(scores[value, index]),
                p=float(p_values[value, index]),
            )
            for index in typical_indices[:MOST_WORDS]
        ]
    return tuple(rows)


def _log_odds(table: Floats) -> Floats:
    """Return each value's log-odds of words against all other values, in standard errors; shape (values, words)."""
    total = table.sum(axis=0)
    prior = PRIOR_TOKENS * total / total.sum()
    other_counts = total - table
    sizes, other_sizes = table.sum(axis=1, keepdims=True), other_counts.sum(axis=1, keepdims=True)
    prior_weight = prior.sum()
    # difference of two log-odds, log(count / (all words - count)), each with the prior added
    difference = np.log((table + prior) / (sizes + prior_weight - table - prior))
    difference -= np.log((other_counts + prior) / (other_sizes + prior_weight - other_counts - prior))
    variance = 1 / (table + prior) + 1 / (other_counts + prior)
    return np.asarray(difference / np.sqrt(variance))
