"""The measured transition matrix of a service, and counts of its outputs for each content, as predictions need them.

A content is a sentence without the value that it names: "_ is a nurse." for "She is a nurse.". Two services
that were asked the same contents can be chained sentence by sentence. This shows whether both err at the same
occupations, which their pooled matrices cannot show.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from assay.catalog import Attribute, split_sentences
from assay.document import ComponentDocument, HiddenDocument, RatingDocument, Shares, read_json
from assay.errors import OutOfBounds, SpecificationError
from assay.methods.translation.collection import read_hop, read_text
from assay.model import Integers, Observation, Translate

METHOD = "round-trip"
"""The method whose matrices can be chained: inputs and outputs are texts that name a value."""

Contents = Mapping[str, Mapping[str, Mapping[str, int]]]
"""Number of sentences by content (a sentence without its value), then by input value, then by output."""


@dataclass(frozen=True)
class TransitionEvidence:
    """How often a service returned each output for each value in its input, and the tolerances of its rating.

    Raise `SpecificationError` if the outputs are not the rows and one residual, `OutOfBounds` if the counts are not
    non-negative whole numbers in that shape.
    """

    rows: tuple[str, ...]
    outputs: tuple[str, ...]
    """Possible outputs: the values in `rows` and, last, the residual ("other")."""
    counts: tuple[tuple[int, ...], ...]
    """Number of texts with each input value and each output; shape (rows, outputs)."""
    unbiased: tuple[tuple[float, ...], ...]
    """Declared distributions of the values in each block of unbiased texts (step 1); shape (blocks, rows)."""
    biased: tuple[tuple[float, ...], ...]
    """Declared distributions of the values in each block of biased texts (step 2); shape (blocks, rows)."""
    delta: float = 0.1
    """Tolerance of the effects (total variation)."""
    confidence: float = 0.95
    """Probability from which a letter is declared."""
    content_delta: float | None = None
    """Tolerance of the excess concordance; ``None`` if it is not judged."""
    equal: int = 0
    """Number of `pairs` with equal outputs."""
    pairs: int = 0
    """Number of pairs of questions with the same content and different values."""
    name: str = ""
    """Name of the measured component, for sentences and reports: ``"es"``."""
    hidden: tuple[HiddenDocument, ...] = ()
    """Hidden effects, each with its interval and limit as a rating states them."""
    contents: Contents = field(default_factory=dict)
    """Counts by content (a sentence without its value); empty unless they were read from the observations."""

    def __post_init__(self) -> None:
        if self.outputs[:-1] != self.rows:
            raise SpecificationError(
                f"only a service whose answers have the values of the attribute can be in a chain: its outputs must be "
                f"{', '.join(self.rows)} and one more for all other answers, not {', '.join(self.outputs)}"
            )
        table = np.asarray(self.counts)
        if table.shape != (len(self.rows), len(self.outputs)) or table.dtype.kind not in "iu" or table.min() < 0:
            raise OutOfBounds(
                f"the counts must be {len(self.rows)} rows of {len(self.outputs)} whole numbers, not {self.counts}"
            )

    @property
    def table(self) -> Integers:
        """The counts as an array, shape (rows, outputs)."""
        return np.asarray(self.counts, dtype=np.int64)

    @property
    def residual_share(self) -> float:
        """Share of the outputs that name no value; 0 if nothing was counted."""
        table = self.table
        return float(table[:, -1].sum() / max(1, table.sum()))


def read_evidence(rating: RatingDocument) -> tuple[TransitionEvidence, ...]:
    """Read from a rating, for each measured component, how often each output followed each value (a matrix of counts).

    The result is empty if the method measures no matrix that can be chained, or a matrix is missing. The rows of
    `one-hop`, for example, are sides of the labour market and not values that the text names.
    """
    measured_components = [component for component in rating.components if component.letter is not None]
    blocks = read_json(_Blocks, rating.experiment)  # the distributions of values in the inputs of both steps
    is_complete = blocks.unbiased and blocks.biased and all(component.transitions for component in measured_components)
    if rating.method != METHOD or not is_complete or rating.delta is None or rating.confidence is None:
        return ()
    return tuple(_evidence_of(component, blocks, rating.delta, rating.confidence) for component in measured_components)


@dataclass(frozen=True)
class _Blocks:
    """Declared distributions of the values in the unbiased and in the biased inputs of a rating (its "blocks")."""

    unbiased: tuple[Shares, ...] = ()
    biased: tuple[Shares, ...] = ()


def _evidence_of(component: ComponentDocument, blocks: _Blocks, delta: float, confidence: float) -> TransitionEvidence:
    """Read the matrix of a component; rows, outputs and declared distributions have the values in one order."""
    transitions = component.transitions
    rows = tuple(sorted(transitions))  # sorted, because a database may have reordered the keys of the JSON object
    outputs = (*rows, *sorted(set(transitions[rows[0]]) - set(rows)))

    def block_distributions(shares_by_block: Sequence[Shares]) -> tuple[tuple[float, ...], ...]:
        return tuple(tuple(float(shares.get(row, 0.0)) for row in rows) for shares in shares_by_block)

    return TransitionEvidence(
        rows=rows,
        outputs=outputs,
        counts=tuple(tuple(int(transitions[row][output]) for output in outputs) for row in rows),
        unbiased=block_distributions(blocks.unbiased),
        biased=block_distributions(blocks.biased),
        delta=delta,
        confidence=confidence,
        content_delta=component.tolerances.get("content"),
        equal=component.content.equal or 0,
        pairs=component.content.pairs or 0,
        name=component.name or "",
        hidden=component.hidden,
    )


_WORD = re.compile(r"\w[\w'\u2019]*")

Counts = dict[str, dict[str, dict[str, int]]]


def read_contents(observations: Iterable[Observation], component: str, attribute: Attribute) -> Contents:
    """Count outputs by content and input value, for one component of a rating; `observations` are the whole rating's.

    Texts that were lost on the way out or back are left out, as in the rating.
    """
    outward_observations: dict[str, Observation] = {}
    return_observations: dict[str, Observation] = {}
    for observation in observations:
        name, _, direction = observation.probe.unit.rpartition("/")
        # names look like es/U/0001/out or es/possessive/B1/0001/out
        if name.rsplit("/", 2)[0] == component and direction in {"out", "back"}:
            (outward_observations if direction == "out" else return_observations)[name] = observation
    counts: Counts = {}
    for name, outward in outward_observations.items():
        if name in return_observations:
            _count_sentences(counts, outward, return_observations[name], attribute)
    return counts


def _count_sentences(by_content: Counts, outward: Observation, returned: Observation, attribute: Attribute) -> None:
    """Add a text's sentences, translated out and back, to the counts (content, value, output), unless it was lost."""
    question = outward.probe.ask
    if not isinstance(question, Translate) or read_hop(question.text, outward.reply):
        return  # lost on the way out
    if read_hop(str(outward.reply.value), returned.reply):
        return  # lost on the way back
    sentences = split_sentences(question.text)
    outputs = read_text(str(returned.reply.value), sentences, attribute).values or ()
    for sentence, output in zip(sentences, outputs, strict=bool(outputs)):  # an unreadable text has no outputs
        counts = by_content.setdefault(_blank_values(sentence, attribute), {}).setdefault(attribute.read(sentence), {})
        counts[output] = counts.get(output, 0) + 1


@lru_cache(maxsize=20_000)  # ratings have sentences in common
def _blank_values(sentence: str, attribute: Attribute) -> str:
    """Replace each word that names a value by ``_``, and write the other words in lower case."""
    return _WORD.sub(
        lambda match: "_" if attribute.read(match[0]) != attribute.residual else match[0].casefold(), sentence
    )
