"""Data blocks: texts in which the values of a protected attribute follow a declared distribution.

The design follows Srivastava & Rossi (2018), section 4.2, and docs/methods/round-trip.md. Every
value takes its contents (an occupation in a frame) in order from the same shuffled list, block after
block. So no sentence is written twice. If the blocks together use all values equally often,
each content has been used with every value at the end of a look (interim analysis).
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import count, cycle, zip_longest

import numpy as np

from assay.catalog import Attribute, Construction, Frame, Occupation, construction, occupations
from assay.catalog.source_languages import SourceLanguage
from assay.catalog.values import Value
from assay.errors import BadDistribution, SpecificationError

BIASED_SHARE = 0.9
"""Share of one value in a default biased block: Srivastava & Rossi's (.1, .9) and (.9, .1)."""

TOLERANCE = 1e-6
"""Largest permitted difference between 1 and the sum of a distribution's shares."""

Shares = Mapping[str, float]


@dataclass(frozen=True)
class BlockSpec:
    """The declared distribution of one block.

    `name` is unique in its experiment (``"U"``, ``"B1"`` …), `role` is ``"unbiased"`` or ``"biased"``. `shares` holds
    the share of the block's sentences for each value, in [0, 1]; a missing value has share 0.
    """

    name: str
    role: str
    shares: Mapping[str, float]


def check_distribution(shares: Mapping[str, float], attribute: Attribute, field: str) -> dict[str, float]:
    """Check that shares are a distribution over an attribute's values; return them all, in the attribute's order.

    A missing value gets share 0. The residual (outputs that name no single value) may only have share 0, because no
    input is written with it. `field` is the request's field that an error names.

    Raise `BadDistribution` if a value is unknown, or a share is negative or no finite number, or the residual has a
    share, or the shares do not sum to one within `TOLERANCE`.
    """
    for name, share in shares.items():
        if name not in attribute.outputs:
            value_names = ", ".join(attribute.value_names)
            raise BadDistribution(f"{attribute.name} has no value {name!r}; known: {value_names}", field)
        if not math.isfinite(share) or share < 0:
            raise BadDistribution(f"the share of {name!r} must be a number from 0 to 1, not {share}", field)
    residual = attribute.residual
    if shares.get(residual, 0.0) > 0:
        raise BadDistribution(
            f"no sentence is written with {residual!r}: its share must be 0, not {shares[residual]}", field
        )
    total = math.fsum(shares.values())
    if abs(total - 1) > TOLERANCE:
        raise BadDistribution(f"the shares must sum to 1, not {total:.6g}", field)
    return {name: float(shares.get(name, 0.0)) for name in attribute.value_names}


def default_unbiased(attribute: Attribute) -> tuple[dict[str, float], ...]:
    """Return one block with the same share of every value: Srivastava & Rossi's U = (.5, .5, 0: none) for gender."""
    return ({name: 1 / len(attribute.value_names) for name in attribute.value_names},)


def default_biased(attribute: Attribute) -> tuple[dict[str, float], ...]:
    """Return a block (shares of values) for each value, with .9 of it; for gender (.1, .9, 0) and (.9, .1, 0)."""
    names = attribute.value_names
    other_share = round((1 - BIASED_SHARE) / (len(names) - 1), 12)  # .1 instead of .09999999999999998
    return tuple(
        {name: BIASED_SHARE if name == favoured else other_share for name in names} for favoured in reversed(names)
    )


def declare_blocks(attribute: Attribute, unbiased: Sequence[Shares], biased: Sequence[Shares]) -> tuple[BlockSpec, ...]:
    """Check declared distributions and name their blocks.

    A single unbiased block is called ``U``, several are ``U1, U2 …``; biased blocks are ``B1, B2 …``. Raise
    `BadDistribution` if shares are no distribution over the attribute's values, or two blocks have equal shares.
    """
    blocks: list[BlockSpec] = []
    for role, distributions, letter in (("unbiased", unbiased, "U"), ("biased", biased, "B")):
        for index, shares in enumerate(distributions):
            field = f"{role}.{index}"
            complete_shares = check_distribution(shares, attribute, field)
            for block in blocks:
                if all(abs(share - block.shares.get(value, 0.0)) < 1e-9 for value, share in complete_shares.items()):
                    raise BadDistribution(
                        f"{field} declares the same distribution as {block.name}: "
                        "an unbiased and a biased block, or two of a kind, must differ",
                        field,
                    )
            name = "U" if letter == "U" and len(distributions) == 1 else f"{letter}{index + 1}"
            blocks.append(BlockSpec(name, role, complete_shares))
    return tuple(blocks)


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence of a text, the value and occupation that it is about, and the name of its content.

    `content` is the same for sentences that differ only in the value (and the first name).
    """

    text: str
    value: str
    content: str
    occupation: str


@dataclass(frozen=True, slots=True)
class Text:
    """Sentences of a block that are sent together, joined with blanks. `name` is unique among the texts of a writer."""

    name: str
    block: str
    text: str
    sentences: tuple[Sentence, ...]

    def versions_of(self, way: str) -> tuple[str, ...]:
        """Return the contents of the sentences, each with the direction `way` (out, back), for `Probe.versions_of`."""
        return tuple(f"{sentence.content}/{way}" for sentence in self.sentences)


def halves(texts: Sequence[Text]) -> tuple[Sequence[Text], ...]:
    """Split texts into two parts in which few contents (occupation and frame) occur twice; into one part if all differ.

    One part is translated there and back before the other, so that sentences that differ only in the value are sent far
    apart, even if texts are few. The split is a greedy two-colouring of the graph that joins texts with equal contents.
    """
    texts_by_content: dict[str, list[int]] = {}
    for index, text in enumerate(texts):
        for sentence in text.sentences:
            texts_by_content.setdefault(sentence.content, []).append(index)
    half_of_text: dict[int, int] = {}
    for first_index in range(len(texts)):
        unassigned = [first_index]
        while unassigned:
            index = unassigned.pop()
            if index in half_of_text:
                continue
            contents = [sentence.content for sentence in texts[index].sentences]
            peers = {peer for content in contents for peer in texts_by_content[content]} - {index}
            halves_of_peers = [half_of_text[peer] for peer in peers if peer in half_of_text]
            # the half with fewer of the texts that share a content
            half_of_text[index] = int(halves_of_peers.count(0) > halves_of_peers.count(1))
            unassigned += sorted(peers - set(half_of_text), reverse=True)  # `pop` takes the first text first
    both_halves = [[text for index, text in enumerate(texts) if half_of_text[index] == half] for half in (0, 1)]
    return tuple(half for half in both_halves if half)


Content = tuple[Occupation, Frame]
"""Content of a sentence without the attribute's value: an occupation in a frame."""


def capacity(
    attribute: Attribute, construction: Construction, specs: Sequence[BlockSpec], pool: Sequence[Occupation]
) -> int:
    """Count the texts per block that `block_writer` can write about occupations of `pool` without repetition."""
    content_count = len(pool) * len(construction.frames_for(attribute))
    names = attribute.value_names  # a text has as many sentences
    return _texts_per_block(_block_shares(specs, names), len(names), content_counts=(content_count,) * len(names))


def neutral_capacity(attribute: Attribute, specs: Sequence[BlockSpec], source: SourceLanguage | None = None) -> int:
    """Count the texts per block that a `neutral_writer` can write before it would repeat a sentence."""
    pool, neutral = _neutral_material(source)
    names = attribute.value_names  # of an occupation: the gender that does it more often
    content_counts = tuple(len(_occupations_of(name, pool)) * len(neutral.frames) for name in names)
    return _texts_per_block(_block_shares(specs, names), per_text=1, content_counts=content_counts)


def _neutral_material(source: SourceLanguage | None) -> tuple[Sequence[Occupation], Construction]:
    """Return the occupations and the frames of sentences that name no value, in English or another language."""
    if source is None:
        return occupations(), construction("neutral")
    return source.open_occupations, source.neutral


class BlockWriter:
    """Writes blocks step by step, in the order of `specs`.

    `specs` declare the blocks; `sentences` yields sentences about each value; `per_text` is their number in a text.
    """

    def __init__(
        self,
        specs: Sequence[BlockSpec],
        sentences: Mapping[str, Iterator[Sentence]],
        per_text: int,
        rng: np.random.Generator,
    ) -> None:
        self._specs, self._sentences, self._rng = specs, sentences, rng
        self._texts_written = 0  # of each block
        # for each block: an iterator over the next numbers of sentences about each value, and the present numbers
        shares = _block_shares(specs, tuple(sentences))
        self._next_counts = [_cumulative_counts(block_shares, per_text) for block_shares in shares]
        self._counts = [(0,) * len(sentences) for _ in specs]

    def more(self, texts_per_block: int) -> tuple[Text, ...]:
        """Write the texts that extend every block to `texts_per_block` texts in all, block by block.

        The count of each value in a block is the value's share of all sentences so far, rounded by largest remainder.
        The occupations within a text differ if the new sentences allow it. The sentences suffice for `capacity` texts.
        """
        count = max(0, texts_per_block - self._texts_written)
        texts = [text for block_index in range(len(self._specs)) for text in self._extend_block(block_index, count)]
        self._texts_written += count
        return tuple(texts)

    def _extend_block(self, block_index: int, count: int) -> Iterator[Text]:
        """Yield `count` further texts of the block with the index `block_index`."""
        old_counts = self._counts[block_index]
        for _ in range(count):
            self._counts[block_index] = next(self._next_counts[block_index])
        new_sentences = [
            next(sentences_about_value)
            for sentences_about_value, old_count, new_count in zip(
                self._sentences.values(), old_counts, self._counts[block_index], strict=True
            )
            for _ in range(new_count - old_count)  # as many as the value's count grows by
        ]
        block = self._specs[block_index].name
        texts = _split_into_texts(new_sentences, count, self._rng)
        for number, sentences in enumerate(texts, start=self._texts_written + 1):
            yield Text(f"{block}/{number:04d}", block, " ".join(sentence.text for sentence in sentences), sentences)


def block_writer(
    attribute: Attribute,
    construction: Construction,
    specs: Sequence[BlockSpec],
    rng: np.random.Generator,
    pool: Sequence[Occupation],
) -> BlockWriter:
    """Return the writer of `round-trip`, whose texts have as many sentences as the attribute has values.

    Occupations mostly of men, mostly of women, and the others are used in turn. The same arguments and generator state
    give the same texts, step by step.
    """
    contents = _balanced_contents(construction.frames_for(attribute), rng, pool)
    people = [[value.people[index] for index in rng.permutation(len(value.people))] for value in attribute.values]
    sentences = {
        value.name: _sentences_about(value.name, contents, value, value_people)
        for value, value_people in zip(attribute.values, people, strict=True)
    }
    return BlockWriter(specs, sentences, len(sentences), rng)


def _sentences_about(
    name: str, contents: Iterable[Content], value: Value | None = None, people: Iterable[str] = ()
) -> Iterator[Sentence]:
    """Yield a sentence for each content, neutral if `value` is ``None``; in frames with names, `people` take turns.

    `name` becomes `Sentence.value`: the name of the value or, if neutral, the labour side of the occupations.
    """
    next_people = cycle(people)
    for occupation, frame in contents:
        text = frame.write(occupation, value, next(next_people) if frame.named else "")
        yield Sentence(text, name, f"{occupation.name}/{frame.name}", occupation.name)


def neutral_writer(
    attribute: Attribute, specs: Sequence[BlockSpec], rng: np.random.Generator, source: SourceLanguage | None = None
) -> BlockWriter:
    """Return the writer of `one-hop`, whose texts are single sentences that mention no value.

    A sentence's `value` is the labour side of its occupation: the gender that does the work more often. Only
    occupations whose share of women is known are used.
    """
    pool, neutral = _neutral_material(source)
    contents = {
        name: _shuffled_contents(_occupations_of(name, pool), neutral.frames, rng) for name in attribute.value_names
    }
    sentences = {name: _sentences_about(name, side_contents) for name, side_contents in contents.items()}
    return BlockWriter(specs, sentences, per_text=1, rng=rng)


def _occupations_of(side: str | None, pool: Sequence[Occupation]) -> tuple[Occupation, ...]:
    """Return the occupations held mostly by the gender `side` (he, she); ``None``: those with an unknown majority."""
    return tuple(occupation for occupation in pool if occupation.side == side)


def _shuffled_contents(
    occupations: Sequence[Occupation], frames: Sequence[Frame], rng: np.random.Generator
) -> list[Content]:
    """Shuffle all pairs of occupation and frame so that every occupation occurs once before any occurs again.

    Each occupation goes through the frames in their order from a random first frame, so that every
    part of the list holds all frames about equally often.
    """
    first_frames = rng.integers(len(frames), size=len(occupations))
    return [
        (occupations[occupation_index], frames[(first_frames[occupation_index] + turn) % len(frames)])
        for turn in range(len(frames))
        for occupation_index in rng.permutation(len(occupations))
    ]


def _balanced_contents(frames: Sequence[Frame], rng: np.random.Generator, pool: Sequence[Occupation]) -> list[Content]:
    """List contents in random order, alternating between occupations mostly of men, mostly of women, and others.

    Every part of the list has these groups, and all frames, equally often, until a group has no content left.
    """
    contents_by_side = []
    for side in dict.fromkeys(occupation.side for occupation in pool):
        side_occupations, first_frame = _occupations_of(side, pool), int(rng.integers(len(frames)))
        shuffled_indices = rng.permutation(len(side_occupations)).tolist()
        contents_by_side.append(
            [
                (side_occupations[occupation_index], frames[(first_frame + position + turn) % len(frames)])
                for turn in range(len(frames))
                for position, occupation_index in enumerate(shuffled_indices)
            ]
        )
    return [content for contents in zip_longest(*contents_by_side) for content in contents if content is not None]


def _split_into_texts(
    sentences: Sequence[Sentence], text_count: int, rng: np.random.Generator
) -> list[tuple[Sentence, ...]]:
    """Split sentences at random into texts of equal size, and separate sentences about the same occupation.

    Sentences of one occupation go one after the other to different texts: two of them are in one text only if the
    occupation has more sentences than there are texts.
    """
    by_occupation: dict[str, list[Sentence]] = {}
    for index in rng.permutation(len(sentences)):
        by_occupation.setdefault(sentences[index].occupation, []).append(sentences[index])
    ordered_sentences = [sentence for same_occupation in by_occupation.values() for sentence in same_occupation]
    texts = [ordered_sentences[text_index::text_count] for text_index in rng.permutation(text_count)]
    return [tuple(text[index] for index in rng.permutation(len(text))) for text in texts]


def _block_shares(specs: Sequence[BlockSpec], values: Sequence[str]) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(float(spec.shares.get(value, 0.0)) for value in values) for spec in specs)


def _cumulative_counts(shares: Sequence[float], per_text: int) -> Iterator[tuple[int, ...]]:
    """Yield the number of sentences of each value in a block of 1, 2, 3 … texts.

    Each sentence goes to the value that is furthest behind its share of all sentences so far. This is rounding by
    largest remainder, except that no count ever decreases; with three values or more, largest remainders can decrease a
    count (the Alabama paradox). If the shares give whole numbers, the counts are these numbers.
    """
    counts = [0] * len(shares)
    total = math.fsum(shares)
    for text_count in count(1):
        quotas = [share / total * per_text * text_count for share in shares]
        for _ in range(per_text):
            # rounded, so that equal deficits compare equal; the first of equal ones is chosen
            deficits = [round(quota - value_count, 9) for quota, value_count in zip(quotas, counts, strict=True)]
            counts[deficits.index(max(deficits))] += 1
        yield tuple(counts)


@lru_cache(maxsize=256)
def _texts_per_block(shares: tuple[tuple[float, ...], ...], per_text: int, content_counts: tuple[int, ...]) -> int:
    """Return the largest number of texts per block for which the contents (`content_counts` by value) suffice."""
    counts_of_blocks = [_cumulative_counts(block_shares, per_text) for block_shares in shares]  # each without end
    # the first counts are those of one text, so `text_count` texts were the last for which the contents sufficed
    for text_count, counts_by_block in enumerate(zip(*counts_of_blocks, strict=True)):
        needed_by_value = map(sum, zip(*counts_by_block, strict=True))
        if any(needed > available for needed, available in zip(needed_by_value, content_counts, strict=True)):
            return text_count
    raise SpecificationError("there must be at least one block")  # only without blocks does the loop end
