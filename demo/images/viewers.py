"""An author that draws pictures, and image classifiers ("viewers") of known bias.

The author draws a term of its prompt: on the left a patch in the term's colour, on the right stripes that
distinguish the pictures of one prompt. A term's colour is a hash of the term, so that viewers can recognise the term
from the pixels. With two labels, one for each group, a viewer gives the first group's label the probability
``1/(1 + exp(-x))``, with x in nats::

    x = lean + stereotype * (1 for a term associated with the first group, -1 with the second, 0 for others)

plus noise with mean 0. A viewer that answers in words chooses the first group with this probability.
The letters follow docs/methods/visual-stereotype.md, as in `demo.language_models.models`: from 0.41 nats on, a
stereotype gives DSBS and a lean gives BS.
"""

import io
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from hashlib import blake2b
from typing import ClassVar, Literal

import numpy as np
from PIL import Image, ImageDraw, UnidentifiedImageError

from assay.model import Kind, Letter
from demo.language_models.models import TOLERANCE, preference
from demo.predictors.prediction import Predictor, above
from demo.stereotypes import NEITHER, SECOND, lexicon, side_of, stereotypes, terms_in, words_of
from demo.translators.behaviours import chance

SIDE = 64
"""Width and height of a picture, in pixels."""

STRIPES = 8

EQUAL_COLOUR_DISTANCE = 24.0
"""Largest distance at which two colours (three channels in [0, 255]) count as equal, because JPEG changes colours."""

Colour = tuple[int, int, int]


class NoPicture(ValueError):
    """A file cannot be read as an image."""


def draw(prompt: str, number: int, side: int = SIDE) -> bytes:
    """Draw a picture of a prompt's first attribute term, or else of its first term.

    Return a PNG file that depends only on the prompt and `number`, which distinguishes the pictures of one prompt.
    """
    image = Image.new("RGB", (side, side), "white")
    pen = ImageDraw.Draw(image)
    pen.rectangle((0, 0, side // 2 - 1, side - 1), fill=colour(subject(prompt)))  # what it shows
    for stripe in range(STRIPES):
        shade = _hash_bytes(f"{prompt}/{number}/{stripe}")[0]
        top, bottom = side * stripe // STRIPES, side * (stripe + 1) // STRIPES - 1
        pen.rectangle((side // 2, top, side - 1, bottom), fill=(shade, shade, shade))  # which picture it is
    file = io.BytesIO()
    image.save(file, "PNG")
    return file.getvalue()


def subject(prompt: str) -> tuple[str, ...]:
    """Return a prompt's subject as words: its first attribute term, or else its first term, or else all its words."""
    terms = terms_in(prompt)
    attributes = [term for term in terms if any(entry.role == "attribute" for entry in lexicon()[term])]
    return next(iter((*attributes, *terms)), words_of(prompt))


def colour(term: Sequence[str]) -> Colour:
    """Return the colour in which pictures of a term (as words) are drawn."""
    red, green, blue = _hash_bytes(" ".join(term))[:3]
    return red, green, blue


def _hash_bytes(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()


@dataclass(frozen=True, slots=True)
class ViewedPicture:
    """Content that a viewer reads from a picture: its term (empty if unknown), and the stripes that identify it."""

    term: tuple[str, ...]
    stripes: str

    @property
    def side(self) -> int:
        """`FIRST` or `SECOND`, the group that the term names or is associated with; `NEITHER` without a known group."""
        return lexicon()[self.term][0].side if self.term else NEITHER


def see(content: bytes) -> ViewedPicture:
    """Read the term and stripes of a picture by `draw` from its pixels; raise `NoPicture` if it is not an image."""
    try:
        with Image.open(io.BytesIO(content), formats=("PNG", "JPEG", "WEBP", "GIF")) as opened:
            image = opened.convert("RGB")
    except (UnidentifiedImageError, OSError, ValueError, SyntaxError) as error:
        raise NoPicture("the image cannot be read; send PNG, JPEG, WebP or GIF") from error
    width, height = image.size
    pixels = np.asarray(image, dtype=float)
    # the middle of the left half, and a point in the middle of each stripe, because edges blur
    patch = pixels[height // 4 : height - height // 4, width // 8 : max(width // 8 + 1, width // 2 - width // 8)]
    stripes = [int(pixels[height * (2 * stripe + 1) // (2 * STRIPES), width * 3 // 4, 0]) for stripe in range(STRIPES)]
    return ViewedPicture(_term_of_colour(patch.mean(axis=(0, 1))), "/".join(map(str, stripes)))


def _term_of_colour(observed: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> tuple[str, ...]:
    terms, colours = _palette()
    distances = np.linalg.norm(colours - observed, axis=1)
    return terms[int(distances.argmin())] if distances.min() <= EQUAL_COLOUR_DISTANCE else ()


@cache
def _palette() -> tuple[tuple[tuple[str, ...], ...], np.ndarray[tuple[int, ...], np.dtype[np.float64]]]:
    terms = tuple(lexicon())
    return terms, np.array([colour(term) for term in terms], dtype=float)


@dataclass(frozen=True, kw_only=True)
class Viewer(Predictor):
    """Image classifier that returns the probability of each label."""

    lean: float = 0.0
    """Planted preference for the first group's label, in nats; negative for the second group's."""
    stereotype: float = 0.0
    """Planted preference for the label of the group that stereotypes associate with the picture's term, in nats."""

    kinds: ClassVar[tuple[Kind, ...]] = (Kind.IMAGE_CLASSIFIER,)
    protocols: ClassVar[tuple[str, ...]] = ("hf-inference", "openai-chat", "custom")
    methods: ClassVar[tuple[str, ...]] = ("visual-stereotype",)

    def log_odds(self, picture: ViewedPicture) -> float:
        """Return the planted log odds of the first group's label for a picture, in nats."""
        return self.lean + self.stereotype * picture.side

    def probabilities(self, picture: ViewedPicture, labels: Sequence[str]) -> list[float]:
        """Return each label's probability for a picture: that which the planted bias gives, plus noise with mean 0."""
        shares = _shares([side_of(label) * self.log_odds(picture) / 2 for label in labels])  # side: 1 or -1
        if len(shares) > 1:  # noise shifts probability between the first two labels
            shift = (chance("shift", f"{self.name}/{picture.stripes}/{picture.term}") - 0.5) * min(shares[:2])
            # the shift favours the same group, whichever label comes first
            shift = -shift if side_of(labels[0]) == SECOND else shift
            shares[:2] = shares[0] + shift, shares[1] - shift
        return shares

    def answers(self, picture: ViewedPicture, labels: Sequence[str], question: str = "") -> list[float]:
        """Return label probabilities with noise by a hash; a label is likeliest with its planted probability."""
        # from a hash, strictly between 0 and 1; its log odds are the noise, which is logistic
        uniform = chance("answer", f"{self.name}/{picture.stripes}/{picture.term}/{question}") * (1 - 2**-52) + 2**-64
        noisy_log_odds = self.log_odds(picture) + math.log(uniform / (1 - uniform))
        return _shares([side_of(label) * noisy_log_odds / 2 for label in labels])

    def caption(self, picture: ViewedPicture) -> str:
        """Return a sentence about a picture."""
        first, second = _group_nouns(picture)
        first_is_likelier = self.answers(picture, (first, second))[0] > 0.5
        return f"a picture of one {first if first_is_likelier else second}"


def _shares(weights: Sequence[float]) -> list[float]:
    exponentials = [math.exp(weight - max(weights)) for weight in weights]
    return [power / sum(exponentials) for power in exponentials]


def _group_nouns(picture: ViewedPicture) -> tuple[str, str]:
    """Return a word for each group from the word list that has a picture's term; pronouns only without others."""
    entries = lexicon().get(picture.term, ())
    name = entries[0].specification if entries else next(iter(stereotypes()))
    group_words = stereotypes()[name].pairs  # (first group, second group), such as (he, she)
    return group_words[1] if group_words[0][0].lower() == "he" and len(group_words) > 1 else group_words[0]


def labels_in(question: str) -> tuple[str, ...]:
    """Return the options of a question: the words for groups in it or, if it has fewer than two, man and woman."""
    labels = [" ".join(term) for term in terms_in(question) if side_of(" ".join(term)) != NEITHER]
    distinct = tuple(dict.fromkeys(labels))
    return distinct if len(distinct) > 1 else ("man", "woman")


def stereotyped(hundredths: int) -> Viewer:
    """Make the viewer that follows stereotypes with log odds of `hundredths` / 100, and is neutral elsewhere."""
    probability = preference(hundredths / 100)
    return Viewer(
        name=f"stereotyped-viewer-{hundredths}",
        summary=f"Sees the stereotyped group with a probability of {probability:.2f}.",
        letter=above(probability - 0.5, TOLERANCE, Letter.DSBS, Letter.UCS),
        stereotype=hundredths / 100,
    )


def leaning(hundredths: int) -> Viewer:
    """Make the viewer that prefers the first group in every picture with log odds of `hundredths` / 100."""
    probability = preference(hundredths / 100)
    return Viewer(
        name=f"leaning-viewer-{hundredths}",
        summary=f"Sees the first group with a probability of {probability:.2f}, whatever is shown.",
        letter=above(probability - 0.5, TOLERANCE, Letter.BS, Letter.UCS),
        lean=hundredths / 100,
    )


EVEN = Viewer(name="even-viewer", summary="Sees either group as often, whatever is shown.", letter=Letter.UCS)


@dataclass(frozen=True, kw_only=True)
class Painter(Predictor):
    """Author that draws the subject of a prompt. It is never rated."""

    gives: Literal["image", "address", "text"] = "image"
    """``image`` (the picture itself), ``address`` (a URL of the picture) or ``text`` (not a picture)."""
    _drawn: Counter[str] = field(default_factory=Counter, repr=False, compare=False)

    kinds: ClassVar[tuple[Kind, ...]] = (Kind.LANGUAGE_MODEL,)
    protocols: ClassVar[tuple[str, ...]] = ("openai-images",)
    methods: ClassVar[tuple[str, ...]] = ()

    def next_number(self, prompt: str) -> int:
        """Return the number of the next picture of a prompt, so that it differs from those before."""
        self._drawn[prompt] += 1
        return self._drawn[prompt] - 1


PAINTER = Painter(name="painter", summary="Draws small pictures: a patch in the colour of what they are of.")
LINKING = Painter(name="linking-painter", summary="Gives addresses of pictures instead of pictures.", gives="address")
SCRIBBLER = Painter(name="scribbler", summary="Gives text where a picture is due.", gives="text")
