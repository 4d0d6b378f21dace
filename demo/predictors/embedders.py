"""Embedders of known bias, with the letter that each deserves.

A vector has two parts. Most dimensions hold the content of a text: a unit vector drawn from a hash of
the text, equal for both words of a gendered pair (she, he), so that a pair differs only in gender. The
other dimensions hold gender; no dimension mixes the two. The position of a concept on the gender axis is
chosen so that its point of subjective equality (docs/methods/forced-choice.md) is a simple number:

======================  ===============================================  ==================================
stereotyped-embedder-P  1/2 + P/100 (share of women - 1/2)               DSBS where P/100 sd(shares) > .05
leaning-embedder-P      1/2 - P/200, for every word                      BS above 10
======================  ===============================================  ==================================

At 100 % the stereotyped embedder's point is the share of women itself. Small noise in the gender dimensions,
different for every text and model, makes the just noticeable difference larger than 0. The letters hold
for the words of ``gender-occupations`` and ``p2-gender`` and a tolerance of .05.
"""

import hashlib
import re
from collections.abc import Mapping
from functools import cache, lru_cache, partial

import numpy as np

from assay.catalog import occupations
from assay.catalog.choices import AssociationWords, ChoiceWords
from assay.catalog.shipped import shipped_words
from assay.experiment import generator
from assay.model import Letter
from demo.predictors.prediction import Embedder, Floats, above

CONTENT_DIMS, GENDER_DIMS = 48, 16
"""Numbers of dimensions for the content of a text and for its gender: 64 in total."""

CUE = 0.8
"""Length of a cue's part on the gender axis; all vectors have length 1 before noise."""

NOISE = 0.1
"""Length of the noise in the dimensions of gender."""

TOLERANCE = 0.05
"""Tolerance of both methods by default."""

STEREOTYPED = {"woman": 0.85, "man": 0.15}
"""Share of women that is assumed for stereotype words of `p2-gender` without a counted share."""


def embed(text: str, model: str, *, strength: float, tilt: float) -> list[float]:
    """Return the vector of a text: its content, and its position on the gender axis plus noise.

    A word of a gendered pair (she, he) is a cue: at `CUE` on the axis for women, at -`CUE` for men. Any other text lies
    between them, in units of their distance: in the middle plus `tilt` (if negative, towards men), and moved by
    `strength` times its share of women less 1/2. Each name of a `model` gives other hashes and the same bias.
    """
    word = " ".join(text.lower().split())
    if word in cues():
        pair, side = cues()[word]
        gender = CUE * side  # position on the gender axis
        content = np.sqrt(1 - CUE**2) * _random_direction(f"{model}/pair/{pair}", CONTENT_DIMS)
    else:
        # for unit cues, the point of subjective equality is 1/2 + (position on the axis) / (2 CUE)
        gender = 2 * CUE * (strength * (share_of_women(word) - 0.5) + tilt)
        content = np.sqrt(max(0.0, 1 - gender**2)) * _random_direction(f"{model}/content/{word}", CONTENT_DIMS)
    noise = NOISE * _random_direction(f"{model}/noise/{word}", GENDER_DIMS)
    on_axis = gender * GENDER_DIMS**-0.5 + noise  # the gender axis is the diagonal of the gender dimensions
    return [*content.tolist(), *on_axis.tolist()]


@cache
def cues() -> Mapping[str, tuple[str, int]]:
    """Map each word of a gendered pair to the pair (its word for women) and the side: 1 for women, -1 for men."""
    words = shipped_words(AssociationWords, "p2-gender", "gender").protected
    pairs = [
        *shipped_words(ChoiceWords, "gender-occupations", "gender").cues,
        *zip(words["woman"], words["man"], strict=True),
    ]
    sides: dict[str, tuple[str, int]] = {}
    for woman, man in pairs:
        pair, _ = sides.get(man, sides.get(woman, (woman, 1)))  # pairs with a common word count as one
        sides |= {woman: (pair, 1), man: (pair, -1)}
    return sides


@cache
def shares() -> Mapping[str, float]:
    """Return the share of women for each concept: counted or, for Dobrzeniecka & Urbaniak's stereotypes, assumed."""
    assumed_shares = {
        word: STEREOTYPED[group]
        for group, words in shipped_words(AssociationWords, "p2-gender", "gender").attributes.items()
        for word in words
    }
    known_shares = {
        occupation.name: occupation.share_women for occupation in occupations() if occupation.share_women is not None
    }
    return assumed_shares | known_shares


def share_of_women(text: str) -> float:
    """Return the share of women for the first concept of a text; 1/2 without a concept."""
    match = _concept_pattern().search(text)
    return 0.5 if match is None else shares()[match.group()]


@cache
def _concept_pattern() -> re.Pattern[str]:
    longest_first = sorted(shares(), key=lambda word: (-len(word), word))
    return re.compile(rf"\b(?:{'|'.join(map(re.escape, longest_first))})\b")


@lru_cache(10_000)
def _random_direction(salt: str, dims: int) -> Floats:
    """Draw a unit vector that depends on the salt alone."""
    seed = int.from_bytes(hashlib.blake2b(salt.encode("utf-8", "surrogatepass"), digest_size=8).digest())
    vector = generator(seed).standard_normal(dims)
    return np.asarray(vector / np.linalg.norm(vector))


def stereotyped(percent: int) -> Embedder:
    """Make the embedder that moves occupations towards the gender that does them more often."""
    known_shares = [occupation.share_women for occupation in occupations() if occupation.share_women is not None]
    strength = percent / 100  # the effect is the standard deviation of the moves
    return Embedder(
        name=f"stereotyped-embedder-{percent}",
        summary=f"Moves occupations towards the gender that does them more often, by {percent} %.",
        letter=above(strength * float(np.std(known_shares, ddof=1)), TOLERANCE, Letter.DSBS, Letter.UCS),
        embed=partial(embed, strength=strength, tilt=0.0),
    )


def leaning(percent: int) -> Embedder:
    """Make the embedder that moves everything towards men."""
    return Embedder(
        name=f"leaning-embedder-{percent}",
        summary=f"Moves every word, chairs and rivers too, towards men by {percent} %.",
        letter=above(percent / 200, TOLERANCE, Letter.BS, Letter.UCS),
        embed=partial(embed, strength=0.0, tilt=-percent / 200),  # 100 %: as far as the cue for men
    )


EVEN = Embedder(
    name="even-embedder",
    summary="Keeps gender out of every word that is not about it.",
    letter=Letter.UCS,
    embed=partial(embed, strength=0.0, tilt=0.0),
)
