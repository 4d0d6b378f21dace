"""Sample questions, texts and images for examinations.

Questions to a classifier, regressor or embedder come from the experiment; if there is none, from the target's settings;
otherwise they are neutral texts. There are no built-in records.
"""

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any, TypeVar, cast

import numpy as np
from PIL import Image, ImageDraw

from assay.catalog import occupations
from assay.catalog.source_languages import source_languages
from assay.catalog.tables import read_table
from assay.methods import compares
from assay.model import FIRST, SECOND, Ask, Choose, Fill, Kind, Score
from store.formats.image import digest_of_image
from workers.targets.adapter import QUESTIONS, Adapter, Prediction, Target

Q = TypeVar("Q", bound=Ask)

_TABLE = read_table("examination")
WORDS, SENTENCES, NUMBERED, GAPS = (tuple(_TABLE[name]) for name in ("words", "sentences", "numbered", "gaps"))
KINDS: Mapping[str, tuple[str, ...]] = {kind: tuple(things) for kind, things in _TABLE["kinds"].items()}

HINT = (
    "it was tried with texts of ours, without an experiment; if it takes records or other texts, write some into "
    "settings.samples, or ask for a rating, which examines it with its own"
)


@dataclass(frozen=True, slots=True)
class Samples:
    """Questions for an examination; `ours` is true for built-in texts, which the service may not support."""

    questions: tuple[Prediction, ...]
    ours: bool = False


def samples_for(target: Target, asks: Sequence[Ask] = ()) -> Samples:
    """Return the questions for the examination of a target; `asks` are the experiment's first questions, if any."""
    question_type: Any = QUESTIONS[target.kind][0]  # a predictor has one type of question
    if asks:
        return Samples(tuple(cast("Sequence[Prediction]", asks)))
    if samples := target.settings.get("samples"):
        contents = (sample if isinstance(sample, str) else tuple(sample.items()) for sample in samples)
        return Samples(tuple(map(question_type, contents)))
    if compares(target.settings):  # a question is two documents (`ours`: built in)
        pairs = pairwise(SENTENCES)
        return Samples(tuple(question_type(((FIRST, first), (SECOND, second))) for first, second in pairs), ours=True)
    texts = WORDS if target.kind is Kind.EMBEDDER else SENTENCES
    return Samples(tuple(map(question_type, texts)), ours=True)


def spread(questions: Sequence[Q], adapter: Adapter, count: int) -> list[Q]:
    """Choose up to `count` different questions that may share a call, evenly spaced: neighbours are often alike."""
    groups: dict[object, list[Q]] = {}
    for question in dict.fromkeys(questions):
        groups.setdefault(adapter.group_key(question), []).append(question)
    largest_group = max(groups.values(), key=len, default=[])
    if len(largest_group) <= count:
        return largest_group
    return [largest_group[index * (len(largest_group) - 1) // (count - 1)] for index in range(count)]  # with both ends


T = TypeVar("T")

QUESTIONS_OF_KIND = 5
"""Number of questions of each kind."""


def numbered_sentences(count: int, rng: np.random.Generator, source: str = "en") -> list[tuple[int, str]]:
    """Return different numbers of three digits, each with a sentence in the language `source` that contains it."""
    numbers = rng.choice(np.arange(201, 990), size=count, replace=False).tolist()
    if source == "en" or source not in source_languages():
        return [(number, f"{_random_person(rng)} {_random_item(NUMBERED, rng)} {number}.") for number in numbers]
    names_by_gender = read_table(f"sentences/{source}")["names"]
    names = [name for names_of_gender in names_by_gender.values() for name in names_of_gender]
    clauses = read_table(f"grammar/{source}")["texts"]["numbered"]
    return [(number, f"{_random_item(names, rng)} {_random_item(clauses, rng)} {number}.") for number in numbers]


def worded_questions(rng: np.random.Generator) -> Mapping[type[Ask], tuple[Ask, ...]]:
    """Return neutral questions to a language model, by kind; the last text to score is a scrambled sentence."""
    *sentences, (_, last_sentence) = numbered_sentences(QUESTIONS_OF_KIND, rng)
    scrambled_sentence = " ".join(rng.permutation(last_sentence.rstrip(".").split()).tolist())
    gaps = [GAPS[index] for index in rng.permutation(len(GAPS))[:QUESTIONS_OF_KIND]]
    return {
        Score: (*(Score(text) for _, text in sentences), Score(f"{scrambled_sentence}.")),
        Fill: tuple(Fill(f"{_random_person(rng)}{before}", word, after) for before, word, after in gaps),
        Choose: tuple(_random_choice(rng) for _ in range(QUESTIONS_OF_KIND)),
    }


def _random_choice(rng: np.random.Generator) -> Choose:
    kind, second_kind = (list(KINDS)[index] for index in rng.permutation(len(KINDS))[:2])
    options = (_random_item(KINDS[kind], rng), _random_item(KINDS[second_kind], rng))
    return Choose(f"Which of these is {kind}?", options if rng.random() < 0.5 else options[::-1])


def _random_person(rng: np.random.Generator) -> str:
    return f"The {_random_item(occupations(), rng).name}"


def _random_item(items: Sequence[T], rng: np.random.Generator) -> T:
    return items[int(rng.integers(len(items)))]


SIDE_PIXELS = 224
"""Width and height in pixels, the input size of most classifiers."""

SHAPES = ("red circle", "green square", "blue triangle")
"""Shapes in the built-in images, in order; also the labels of questions without an experiment."""

QUESTION = "Which coloured shape is in the picture?"


@cache
def sample_images() -> Mapping[str, bytes]:
    """Return the PNG files of the built-in images by their digests, in the order of `SHAPES`."""
    images = [_draw_shape(*shape.split()) for shape in SHAPES]
    return {digest_of_image(content): content for content in images}


def _draw_shape(colour: str, shape: str) -> bytes:
    """Draw one filled shape on white, and return the PNG file."""
    image = Image.new("RGB", (SIDE_PIXELS, SIDE_PIXELS), "white")
    pen, near_edge, far_edge = ImageDraw.Draw(image), SIDE_PIXELS // 5, SIDE_PIXELS - SIDE_PIXELS // 5
    match shape:
        case "circle":
            pen.ellipse((near_edge, near_edge, far_edge, far_edge), fill=colour)
        case "square":
            pen.rectangle((near_edge, near_edge, far_edge, far_edge), fill=colour)
        case _:
            pen.polygon(((SIDE_PIXELS // 2, near_edge), (far_edge, far_edge), (near_edge, far_edge)), fill=colour)
    file = io.BytesIO()
    image.save(file, "PNG")
    return file.getvalue()
