"""Texts sent to a translator, and counts of its answers: transitions, losses and examples of one component.

A *row* is the input (a pronoun, or the labour side of an occupation), an *output* is the reading of the reply
(a value of the attribute, or the residual). A reply is evidence only if it can be compared with the question sentence
by sentence. Any other reply is only counted, with its reason (docs/how-answers-are-read.md).
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from assay.catalog import Attribute, split_sentences
from assay.catalog.answer_text import normalise_answer, refuses_in_words
from assay.catalog.source_languages import SourceLanguage
from assay.catalog.values import NEUTRAL
from assay.document import NO_ITEMS, BlockDocument, ComponentDocument, EffectDocument, ExampleDocument, always
from assay.methods.shared.answers.tally import Tally
from assay.methods.translation.blocks import BlockSpec, Text
from assay.model import Failure, Floats, Integers, Reply
from assay.statistics.intervals.credible import wilson

ECHO = 0.95
"""Minimum share of common words (Jaccard, of multisets) for a hop (one translation) to count as untranslated."""

MARKED = 0.5
"""Minimum share of words with an engine's error mark for a text to be unusable."""

MOST_ALIKE = 5
"""Maximum number of different texts of a component with an identical translation, which synonyms can have."""

ENGLISH = frozenset(
    {"a", "an", "and", "are", "as", "at", "became", "for", "from", "has", "have", "he", "her", "him", "his", "in", "is"}
    | {"it", "of", "on", "one", "she", "that", "the", "their", "them", "they", "to", "was", "we", "were", "with", "you"}
)
"""Common English words; every sentence that is sent, and every translation of it, has some."""

_WORD = re.compile(r"\w+")
_LEAD_IN = re.compile(r"\A[^:\n.!?(\[]{2,80}:\s+(?=\S)")
_MARKED_WORD = re.compile(r"(?:^|\s)[#@*]\w")


@dataclass(frozen=True, slots=True)
class Reading:
    """Value found in each sentence of one returned text, or the reason why the text could not be read.

    Exactly one of `values`, `unusable` and `failure` is set.
    """

    values: tuple[str, ...] | None = None
    unusable: str | None = None
    failure: Failure | None = None


def untranslated(before: str, after: str) -> bool:
    """Return whether a translation (hop) returned the text unchanged, or nearly unchanged (`ECHO`)."""
    words_before, words_after = (Counter(_WORD.findall(normalise_answer(text).casefold())) for text in (before, after))
    union = sum((words_before | words_after).values())
    return union > 0 and sum((words_before & words_after).values()) / union >= ECHO


def has_error_mark(text: str) -> bool:
    """Return whether at least a share `MARKED` of the words have an engine's error mark (``#``, ``@``, ``*``)."""
    word_count = sum(_WORD.search(piece) is not None for piece in text.split())
    return word_count > 0 and len(_MARKED_WORD.findall(text)) / word_count >= MARKED


def unusable_hop(before: str, after: str) -> str | None:
    """Return the reason why the translation `after` of the text `before` is unusable; ``None`` if it is usable."""
    if not _WORD.search(normalise_answer(after)):
        return "empty"
    if has_error_mark(after):
        return "error-marks"
    if untranslated(before, after):
        return "untranslated"
    if refuses_in_words(after) and not refuses_in_words(before):
        return "refused-in-words"
    return None


def read_hop(before: str, reply: Reply) -> Reading | None:
    """Return a `Reading` with the reason why the reply to one translation is unusable, or ``None`` if it is usable."""
    if reply.failure is not None:
        return Reading(failure=reply.failure)
    reason = unusable_hop(before, str(reply.value))
    return None if reason is None else Reading(unusable=reason)


def align(text: str, sentences: int) -> Sequence[str] | None:
    """Split a returned text into sentences; return ``None`` if their number is not `sentences`.

    Words before a colon ("Here is the translation:") are dropped: no sentence that is sent contains a colon.
    """
    pieces = split_sentences(_LEAD_IN.sub("", normalise_answer(text)))
    return pieces if len(pieces) == sentences else None


def read_text(text: str, sent: Sequence[str], attribute: Attribute, source: SourceLanguage | None = None) -> Reading:
    """Read the attribute's value in each sentence of a returned text, in English or another source language.

    A text without any common word of the language is unusable, because it is in another language. So is a text with a
    sentence of unknown value (neither read nor clearly lost, see `Attribute.has_lost_value`), and a text in which a
    sentence resembles another sentence of `sent` more than that at its own place, because their order has changed.
    """
    pieces = align(text, len(sent))
    if pieces is None:
        return Reading(unusable="sentence-count")
    common_words = ENGLISH if source is None else source.common_words
    if not any(common_words & set(_WORD.findall(piece.casefold())) for piece in pieces):
        return Reading(unusable="not-english" if source is None else "not-source-language")
    value_words = attribute.lexicons["en"] if source is None else source.pronouns
    texts = [value_words.without(sentence.casefold()) for sentence in (*pieces, *sent)]
    # words by their first five letters, which both genders of an occupation share ("enferme")
    stems = [{word[:5] for word in _WORD.findall(sentence) if word not in common_words} for sentence in texts]
    returned, asked = stems[: len(sent)], stems[len(sent) :]
    if any(len(words & other) > len(words & asked[index]) for index, words in enumerate(returned) for other in asked):
        return Reading(unusable="sentence-order")
    if source is not None:
        readings = [value for piece in pieces if (value := source.read(piece, attribute.residual))]
        return Reading(values=tuple(readings)) if len(readings) == len(pieces) else Reading(unusable="no-mark-found")
    values = tuple(attribute.read(piece) for piece in pieces)
    residuals = [piece for piece, value in zip(pieces, values, strict=True) if value == attribute.residual]
    is_read = all(map(attribute.has_lost_value, residuals))
    return Reading(values=values) if is_read else Reading(unusable="no-mark-found")


def _commonest_value(text: Text) -> str | None:
    """Return the value that most sentences of a text are about; ``None`` if the two commonest are equally frequent."""
    (value, count), *others = Counter(sentence.value for sentence in text.sentences).most_common(2)
    return None if any(other_count == count for _, other_count in others) else value


EXAMPLES_A_SORT = 3
"""Maximum number of texts of each sort (see `SORTS`) that the report shows."""

SORTS = ("changed", "unusable", "failed", "kept")
"""Sorts of example texts by their translation, the most informative first."""


@dataclass(frozen=True)
class TranslationComponent(ComponentDocument):
    """A middle language with a template, or a target language. `step_1_p` is the p-value of step 1."""

    step_1_p: float | None = always(None)


@dataclass
class Translations(Tally):
    """Counts of one component: of texts by outcome, and of sentences by input and output value.

    The groups in `Tally.by_group` are the values that most sentences of a text are about.
    """

    attribute: Attribute
    language: str
    template: str | None
    """Sentence construction; ``None`` for neutral sentences."""
    blocks: tuple[BlockSpec, ...]
    neutral: bool
    """Whether the residual is harmless (a sentence that marks no gender); ``False`` if it is a bias (an erased
    pronoun)."""
    name: str = field(init=False)
    rows: tuple[str, ...] = field(init=False)
    """Names of the inputs: values of the attribute, or labour sides of occupations."""
    outputs: tuple[str, ...] = field(init=False)
    """Names of the outputs: values of the attribute, and last the residual (no single value)."""
    by_block: dict[str, Integers] = field(init=False)
    """Per block, numbers of sentences by row and output; shape (rows, outputs)."""
    content: dict[str, dict[str, str]] = field(init=False, default_factory=dict)
    """By content (an occupation in its frame): the output for each input (row) with which the content was sent."""
    by_occupation: dict[str, Integers] = field(init=False, default_factory=dict)
    """Per occupation, numbers of sentences by row and output; shape (rows, outputs)."""
    by_frame: dict[str, Integers] = field(init=False, default_factory=dict)
    """Numbers of sentences by row and output, per frame; shape (rows, outputs)."""
    by_position: dict[str, Integers] = field(init=False, default_factory=dict)
    """Numbers of sentences by row and output, per position of a sentence in its text; shape (rows, outputs)."""
    _times_returned: Counter[str] = field(init=False, default_factory=Counter)
    _examples: dict[str, list[ExampleDocument]] = field(init=False)

    def __post_init__(self) -> None:
        """Derive the component's name, and the rows (values sent) and columns (outputs) of its counts."""
        self.name = self.language if self.template in {None, "base"} else f"{self.language}/{self.template}"
        self.rows = self.attribute.value_names
        self.outputs = (*self.rows, NEUTRAL if self.neutral else self.attribute.residual)
        self.by_block = {block.name: self._zero_counts() for block in self.blocks}
        self._examples = {sort: [] for sort in SORTS}

    def count(self, text: Text, reading: Reading, *, middle: object = None, returned: object = None) -> None:
        """Count one text by its outcome, and its sentences by input and output if it could be read.

        A text is unusable if its translation is the same, word for word, as those of `MOST_ALIKE` earlier texts.
        """
        if reading.values is not None and returned is not None:
            returned_text = str(returned).strip()
            self._times_returned[returned_text] += 1
            if self._times_returned[returned_text] > MOST_ALIKE:
                reading = Reading(unusable="same-answer")
        if self.count_reply(reading.failure, reading.unusable, _commonest_value(text)) is None:  # not asked
            return
        outcome, reason = "unusable", reading.unusable
        if reading.failure is not None:
            outcome, reason = "failed", reading.failure.code
        elif reading.values is not None:
            outcome = "kept"
            for position, (sentence, value) in enumerate(zip(text.sentences, reading.values, strict=True), start=1):
                cell = self.rows.index(sentence.value), self.outputs.index(value)
                self.by_block[text.block][cell] += 1
                self.content.setdefault(sentence.content, {})[sentence.value] = value
                self.by_occupation.setdefault(sentence.occupation, self._zero_counts())[cell] += 1
                frame = sentence.content.removeprefix(f"{sentence.occupation}/")
                self.by_frame.setdefault(frame, self._zero_counts())[cell] += 1
                self.by_position.setdefault(str(position), self._zero_counts())[cell] += 1
                if value != sentence.value:
                    outcome = "changed"
        if len(self._examples[outcome]) < EXAMPLES_A_SORT:
            values = NO_ITEMS if reading.values is None else reading.values
            middle_text, back_text = (None if reply is None else str(reply) for reply in (middle, returned))
            example = ExampleDocument(text.text, middle_text, back_text, values, reason)
            self._examples[outcome].append(example)

    def shares(self, role: str) -> Floats:
        """Return each value's declared share in the blocks of a role ("unbiased", "biased"), shape (blocks, values)."""
        blocks = [block for block in self.blocks if block.role == role]
        return np.array([[block.shares.get(row, 0.0) for row in self.rows] for block in blocks], dtype=float)

    def pooled_counts(self) -> Integers:
        """Add up the numbers of sentences by input and output over all blocks, shape (inputs, outputs)."""
        return sum(self.by_block.values(), self._zero_counts())

    def concordance(self) -> tuple[int, int, dict[tuple[int, int], int]]:
        """Count pairs of sentences that differ only in the value: with equal outputs, in all, and by the two values."""
        equal_pairs = 0
        pairs_by_rows: Counter[tuple[int, int]] = Counter()
        for output_by_row in self.content.values():  # of each content: the output by the value that was sent
            for value, other_value in combinations([row for row in self.rows if row in output_by_row], 2):
                pairs_by_rows[self.rows.index(value), self.rows.index(other_value)] += 1
                equal_pairs += output_by_row[value] == output_by_row[other_value]
        return equal_pairs, pairs_by_rows.total(), pairs_by_rows

    def document(self) -> TranslationComponent:
        """Return the details of the component: pooled transitions and their rates, blocks, losses, examples."""
        table = self.pooled_counts().tolist()
        return TranslationComponent(
            language=self.language,
            template=self.template,
            transitions={
                row: dict(zip(self.outputs, counts, strict=True)) for row, counts in zip(self.rows, table, strict=True)
            },
            rates={row: self._kept_rates(row, counts) for row, counts in zip(self.rows, table, strict=True)},
            blocks=tuple(self._block_document(block) for block in self.blocks),
            unusable_why=dict(self.unusable_why),
            failed_why=dict(self.failed_why),
            unasked=self.unasked,
            examples=tuple(example for sort in SORTS for example in self._examples[sort])[: 2 * EXAMPLES_A_SORT],
        )

    def _kept_rates(self, row: str, counts: Sequence[int]) -> dict[str, EffectDocument | None]:
        """Return the shares of sentences whose value (`row`) was kept, flipped and erased, with Wilson intervals."""
        n, residual = sum(counts), counts[-1]  # the last output, the residual, names no single value
        kept_count = counts[self.outputs.index(row)]
        outcome_counts = {"kept": kept_count, "flipped": n - kept_count - residual, "erased": residual}
        return {name: EffectDocument.of(wilson(k, n)) if n else None for name, k in outcome_counts.items()}

    def _block_document(self, block: BlockSpec) -> BlockDocument:
        """Return the specified shares of a block, and its sentences by value: as sent, and as returned."""
        counts = self.by_block[block.name]
        sent_counts = dict(zip(self.rows, counts.sum(axis=1).tolist(), strict=True))
        return BlockDocument(
            block.name,
            block.role,
            specified={name: float(block.shares.get(name, 0.0)) for name in self.outputs},
            asked={name: sent_counts.get(name, 0) for name in self.outputs},
            observed=dict(zip(self.outputs, counts.sum(axis=0).tolist(), strict=True)),
        )

    def _zero_counts(self) -> Integers:
        return np.zeros((len(self.rows), len(self.outputs)), dtype=np.int64)
