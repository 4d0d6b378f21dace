"""Vectors of words and phrases, and the coverage of word lists."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from assay.document import as_json
from assay.experiment import BUDGET
from assay.methods.shared.answers.tally import ExperimentPart, ask_in_batches
from assay.methods.shared.detail import Coverage
from assay.model import Embed, Floats, Probe, Reason, Reply
from assay.rating.component import Counts
from assay.rating.losses import ByGroup

LARGEST_NUMBER = 1e100
"""Largest absolute value of a number in a vector: with larger numbers, the norm of the vector overflows."""

MIN_USABLE_SHARE = 0.6
"""Minimum share of a group's words that must be usable; with fewer, they do not represent the declared group."""


@dataclass(frozen=True)
class Vectors:
    """Vectors by text, and the reasons for texts without a usable vector."""

    by_text: Mapping[str, Floats]
    """Vector of each text with a usable one: finite, not all zero, shape (dims,)."""
    missing: Mapping[str, str]
    """For each text without a vector, the reason: a failure's code, ``"zero-vector"``, ``"wrong-length"`` or
    ``"no-vector"``."""
    dims: int
    """Number of entries of each vector; 0 if no text has a vector."""

    def among(self, texts: Iterable[str]) -> tuple[str, ...]:
        """Return those of the texts that have a vector, in their order."""
        return tuple(text for text in texts if text in self.by_text)

    def matrix(self, texts: Sequence[str]) -> Floats:
        """Stack the vectors of some texts, shape (texts, dims); each must have one."""
        return np.array([self.by_text[text] for text in texts], dtype=float).reshape(len(texts), self.dims)

    @property
    def counts(self) -> Counts:
        """Numbers of texts with a usable vector, with an unusable answer, with a failed call, and not asked about."""
        unusable = sum(code in UNUSABLE_CODES for code in self.missing.values())
        unasked = sum(code == BUDGET for code in self.missing.values())
        return Counts(len(self.by_text), unusable, failed=len(self.missing) - unusable - unasked, unasked=unasked)


UNUSABLE_CODES = frozenset({"zero-vector", "wrong-length", "no-vector"})
"""Codes in `Vectors.missing` of answers that are no usable vector."""

NOT_LOST = frozenset({"zero-vector", "missing-word", "unknown-word", "http-404", BUDGET})
"""Codes in `Vectors.missing` of words that the model does not know, and of words that were not asked about."""


def cover(groups: Mapping[str, Sequence[str]], available: Collection[str]) -> dict[str, Coverage]:
    """Return, for each group, the number of its words, how many are in `available`, and the words that are not."""
    return {
        name: Coverage(
            len(words), sum(word in available for word in words), tuple(word for word in words if word not in available)
        )
        for name, words in groups.items()
    }


def coverage_reasons(groups: Mapping[str, Coverage], component: str) -> list[Reason]:
    """Return a reason for each group with a share of usable words below `MIN_USABLE_SHARE`."""
    return [
        Reason("coverage-low", {"group": name, "least": MIN_USABLE_SHARE, **as_json(coverage)}, component)
        for name, coverage in groups.items()
        if coverage.share < MIN_USABLE_SHARE
    ]


def count_losses(lists: Mapping[str, Iterable[Sequence[str]]], spaces: Sequence[Vectors]) -> ByGroup:
    """Count, by list, the usable items (with vectors of all their texts in all `spaces`) and the lost items.

    Items whose vectors are missing only for reasons in `NOT_LOST` are neither. Any other reason counts as a failure.
    """
    by_list = {}
    for name, items in lists.items():
        reasons = [  # of each item: why vectors of its texts are missing
            {space.missing[text] for space in spaces for text in texts if text in space.missing} for texts in items
        ]
        by_list[name] = Counter(usable=reasons.count(set()), failed=sum(bool(codes - NOT_LOST) for codes in reasons))
    return by_list


def ask_vectors(texts: Iterable[str], model: str = "") -> ExperimentPart[Vectors]:
    """Ask for the vector of each distinct text.

    `model` is the name of one of the service's models; empty: the model in its settings. If the vectors differ in
    length, only those of the commonest length are used.
    """
    distinct_texts = tuple(dict.fromkeys(texts))
    prefix = f"embed/{model}" if model else "embed"
    vectors: dict[str, Floats] = {}
    missing: dict[str, str] = {}

    def take(text: str, replies: Sequence[Reply]) -> None:
        failure, vector = replies[0].failure, _read_vector(replies[0].value)
        if failure is not None or vector is None:
            missing[text] = "no-vector" if failure is None else failure.code
        else:
            vectors[text] = vector

    questions = ((text, [Probe(f"{prefix}/{text}", Embed(text, model))]) for text in distinct_texts)
    yield from ask_in_batches(questions, take)
    sizes = Counter(vector.size for vector in vectors.values())
    dims = max(sizes, key=sizes.__getitem__, default=0)  # the commonest length
    for text, vector in list(vectors.items()):
        if vector.size != dims or not vector.any():
            missing[text] = "wrong-length" if vector.size != dims else "zero-vector"
            del vectors[text]
    return Vectors(vectors, {text: missing[text] for text in distinct_texts if text in missing}, dims)


def _read_vector(value: object) -> Floats | None:
    """Read a list of numbers as a vector; ``None`` for anything else, or if a number is above `LARGEST_NUMBER`."""
    numbers = value if isinstance(value, list) else []
    if not numbers or not all(type(number) in {int, float} and abs(number) <= LARGEST_NUMBER for number in numbers):
        return None
    return np.array(numbers, dtype=float)
