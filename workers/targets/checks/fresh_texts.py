"""Texts for examinations, drawn anew for each job, so that a service cannot recognise the beginning of a rating."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

import numpy as np

from assay.catalog import occupations
from assay.model import Ask, Choose, Fill, Score

T = TypeVar("T")

NUMBERED = (
    *("lives at number", "works in room", "waits for bus", "has order", "asked for ticket", "sits in row"),
    *("paid bill", "read page", "drives van", "rang extension", "chose seat", "opened locker", "left from gate"),
)
"""What a person does with a number."""

GAPS = (
    *((" opened the ", "door", " and looked outside."), (" drank a cup of ", "coffee", ".")),
    *((" sat down at the ", "table", "."), (" walked along the ", "river", "."), (" wrote a long ", "letter", ".")),
    *((" came home in the ", "rain", "."), (" listened to the ", "music", "."), (" bought a new ", "car", ".")),
    *((" looked out of the ", "window", "."), (" put the key on the ", "floor", ".")),
)
"""What a person does, with a word to be filled in."""

KINDS: Mapping[str, tuple[str, ...]] = {
    "a colour": ("blue", "red", "green", "yellow", "purple", "orange", "brown"),
    "an animal": ("a horse", "a dog", "a cat", "a sheep", "a rabbit", "a lion"),
    "a month": ("April", "June", "March", "October", "January", "August"),
    "a number": ("seven", "three", "twelve", "twenty", "eleven", "four"),
    "a piece of furniture": ("a table", "a chair", "a bed", "a sofa", "a desk"),
    "a vehicle": ("a bus", "a train", "a lorry", "a bicycle", "a tram"),
}
"""Things by their kind."""

EACH = 5
"""Number of questions of each form."""


def numbered_sentences(count: int, rng: np.random.Generator) -> list[tuple[int, str]]:
    """Return numbers of three digits that all differ, each with a sentence that contains it."""
    numbers = rng.choice(np.arange(201, 990), size=count, replace=False).tolist()
    return [(number, f"{_person(rng)} {_one_of(NUMBERED, rng)} {number}.") for number in numbers]


def worded_questions(rng: np.random.Generator) -> Mapping[type[Ask], tuple[Ask, ...]]:
    """Return neutral questions to a language model, by their form; the last text to score is no sentence."""
    *texts, (_, last) = numbered_sentences(EACH, rng)
    scrambled = " ".join(rng.permutation(last.rstrip(".").split()).tolist())
    gaps = [GAPS[index] for index in rng.permutation(len(GAPS))[:EACH]]
    return {
        Score: (*(Score(text) for _, text in texts), Score(f"{scrambled}.")),
        Fill: tuple(Fill(f"{_person(rng)}{before}", word, after) for before, word, after in gaps),
        Choose: tuple(_choice(rng) for _ in range(EACH)),
    }


def _choice(rng: np.random.Generator) -> Choose:
    kind, second_kind = (list(KINDS)[index] for index in rng.permutation(len(KINDS))[:2])
    options = (_one_of(KINDS[kind], rng), _one_of(KINDS[second_kind], rng))
    return Choose(f"Which of these is {kind}?", options if rng.random() < 0.5 else options[::-1])


def _person(rng: np.random.Generator) -> str:
    return f"The {_one_of(occupations(), rng).name}"


def _one_of(items: Sequence[T], rng: np.random.Generator) -> T:
    return items[int(rng.integers(len(items)))]
