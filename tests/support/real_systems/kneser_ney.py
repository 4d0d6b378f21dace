"""Estimation of n-gram models by interpolated Kneser-Ney smoothing, and writing of ARPA files.

``a`` are adjusted counts, ``D`` is the discount of an order::

    p(w | h) = (a(h w) - D) / sum over v of a(h v)  +  backoff(h) p(w | h without its first word)
    backoff(h) = D (different words after h) / sum over v of a(h v)

In the highest order, and for n-grams that begin a sentence, adjusted counts are counts; in lower orders they are the
number of different preceding words. ``D = n1 / (n1 + 2 n2)``; ``n1`` and ``n2`` n-grams have an adjusted count of 1 and
of 2. Single words are interpolated with the uniform distribution.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from assay.errors import OutOfBounds, TooFewObservations

UNKNOWN, BEGIN, END = "<unk>", "<s>", "</s>"
MARKS = (UNKNOWN, BEGIN, END)

NEVER = -99.0
"""Value that ARPA files use for the logarithm of zero."""

MOST_ORDER = 4
"""Maximum order: the indices of four words fit into one 64-bit number for up to 50,000 different words."""

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Order:
    """N-grams of one length.

    Attributes
    ----------
    words : ndarray of int, shape (ngrams, length)
        Words of each n-gram, as indices into the vocabulary.
    probability, backoff : ndarray, shape (ngrams,)
        Probability of the last word after the other words, and back-off weight: the factor of the lower order's
        probability for words that were not seen after the n-gram.
    """

    words: Ints
    probability: Floats
    backoff: Floats


@dataclass(frozen=True, eq=False)
class Ngrams:
    """An n-gram model.

    Attributes
    ----------
    vocabulary : tuple of str
        All words; `MARKS` come first.
    orders : tuple of Order
        N-grams of each length; single words come first.
    """

    vocabulary: tuple[str, ...]
    orders: tuple[Order, ...]


def estimate(sentences: Iterable[Sequence[str]], order: int = 3, least: int = 2) -> Ngrams:
    """Estimate a model.

    Parameters
    ----------
    sentences : iterable of sequence of str
        Words of each sentence.
    order : int
        Length of the longest n-grams, 2 to 4.
    least : int
        Words with a lower count are replaced by `UNKNOWN`.

    Raises
    ------
    OutOfBounds
        If the order is not 2 to 4, or there are too many different words to number the n-grams.
    TooFewObservations
        If there is no sentence, or too little text to estimate discounts between 0 and 1.

    References
    ----------
    .. [1] Kneser & Ney (1995), "Improved backing-off for m-gram language modeling", ICASSP.
    .. [2] Chen & Goodman (1999), "An empirical study of smoothing techniques for language modeling", Computer
       Speech & Language 13, section 4.1.2, with one discount for each order.
    """
    if not 2 <= order <= MOST_ORDER:
        raise OutOfBounds(f"order must be 2 to {MOST_ORDER}, not {order}", "order")
    read = [sentence for sentence in sentences if sentence]
    if not read:
        raise TooFewObservations("a model of no sentence does not exist")
    seen = Counter(chain.from_iterable(read))
    vocabulary = (*MARKS, *sorted(word for word, count in seen.items() if count >= least))
    if len(vocabulary) ** order > np.iinfo(np.int64).max:
        raise OutOfBounds(f"{len(vocabulary):,} different words are too many for n-grams of {order}", "order")
    ids = {word: place for place, word in enumerate(vocabulary)}
    begin, end = ids[BEGIN], ids[END]
    text = np.array([each for one in read for each in (begin, *(ids.get(word, 0) for word in one), end)])
    adjusted = _adjusted(text, order, begin)
    orders: list[Order] = []
    for length, (words, counts) in enumerate(adjusted, 1):
        orders.append(_smoothed(words, counts, orders, begin, len(vocabulary)))
        if length > 1:
            orders[-2] = _with_backoff(orders[-2], words, counts)
    return Ngrams(vocabulary, tuple(orders))


# ---------------------------------------------------------------------------- counting
def _adjusted(text: Ints, order: int, begin: int) -> list[tuple[Ints, Floats]]:
    """Return the n-grams of each length with their adjusted counts, single words first."""
    size = int(text.max()) + 1
    found: list[tuple[Ints, Floats]] = []
    longer: Ints | None = None
    for length in range(order, 0, -1):
        windows = np.lib.stride_tricks.sliding_window_view(text, length)
        whole = ~(windows[:, 1:] == begin).any(axis=1)  # exclude n-grams that cross into the next sentence
        _, first, counts = np.unique(_keys(windows[whole], size), return_index=True, return_counts=True)
        words = windows[whole][first]
        if longer is not None:
            before = _places(words, longer[:, 1:])
            counts = np.where(words[:, 0] == begin, counts, np.bincount(before, minlength=len(words)))
        if length == 1:
            counts = np.where(words[:, 0] == begin, 0, counts)
        found.append((words, counts.astype(float)))
        longer = words
    return found[::-1]


def _places(among: Ints, wanted: Ints) -> Ints:
    """Return the index of each wanted row among sorted rows, which include all wanted rows."""
    size = int(max(among.max(), wanted.max())) + 1
    return np.searchsorted(_keys(among, size), _keys(wanted, size))


def _keys(rows: Ints, size: int) -> Ints:
    """Encode each row as one number; the numbers sort like the rows."""
    keys = np.zeros(len(rows), dtype=np.int64)
    for column in rows.T:
        keys = keys * size + column
    return keys


# ---------------------------------------------------------------------------- smoothing
def _discount(counts: Floats) -> float:
    once, twice = float((counts == 1).sum()), float((counts == 2).sum())
    if not once or not twice:
        raise TooFewObservations("too little text: no n-grams that were seen once, or none that were seen twice")
    return once / (once + 2 * twice)


def _smoothed(words: Ints, counts: Floats, below: Sequence[Order], begin: int, size: int) -> Order:
    """Compute the probabilities of n-grams of one length from those of the next lower length."""
    discount = _discount(counts)
    if not below:
        total = counts.sum()
        free = discount * (counts > 0).sum() / total
        every = np.zeros(size)
        every[words[:, 0]] = counts
        spread = np.where(np.arange(size) == begin, 0.0, 1 / (size - 1))
        probability = np.maximum(every - discount, 0) / total + free * spread
        return Order(np.arange(size)[:, None], probability, np.ones(size))
    lower = below[-1]
    context = _places(lower.words, words[:, :-1])
    total = np.bincount(context, counts, len(lower.words))
    free = discount * np.bincount(context, minlength=len(lower.words)) / np.where(total > 0, total, 1)
    fallback = lower.probability[_places(lower.words, words[:, 1:])]
    probability = (counts - discount) / total[context] + free[context] * fallback
    return Order(words, probability, np.ones(len(words)))


def _with_backoff(lower: Order, words: Ints, counts: Floats) -> Order:
    """Add back-off weights: the weight is 1 for an n-gram that no word was seen after."""
    context = _places(lower.words, words[:, :-1])
    total = np.bincount(context, counts, len(lower.words))
    after = np.bincount(context, minlength=len(lower.words))
    free = np.where(total > 0, _discount(counts) * after / np.where(total > 0, total, 1), 1.0)
    return Order(lower.words, lower.probability, free)


# ---------------------------------------------------------------------------- writing
def write_arpa(model: Ngrams, path: Path) -> None:
    """Write a model as an ARPA file: logarithms to base 10, a tab between fields."""
    last = len(model.orders)
    with path.open("w", encoding="utf-8") as file:
        file.write("\\data\\\n")
        file.writelines(f"ngram {length}={len(one.words)}\n" for length, one in enumerate(model.orders, 1))
        for length, one in enumerate(model.orders, 1):
            file.write(f"\n\\{length}-grams:\n")
            values = np.where(one.probability > 0, np.log10(np.maximum(one.probability, 1e-300)), NEVER)
            spelled = [" ".join(map(model.vocabulary.__getitem__, row)) for row in one.words.tolist()]
            if length == last:
                file.writelines(f"{value:.7f}\t{ngram}\n" for value, ngram in zip(values, spelled, strict=True))
                continue
            left = np.log10(one.backoff)
            rows = zip(values, spelled, left, strict=True)
            file.writelines(f"{value:.7f}\t{ngram}\t{backoff:.7f}\n" for value, ngram, backoff in rows)
        file.write("\n\\end\\\n")
