"""Material that an agency holds back: its form, and the part that one rating uses."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from assay.catalog import attribute, attributes, construction, occupations, split_sentences
from assay.catalog.profiles import contents, frames
from assay.catalog.templates import Frame
from assay.errors import SpecificationError
from assay.methods.shared.profiles import LONGEST, MOST_WORDS, check_frames
from assay.references import HeldBack

FRAMES_A_RATING, WORDS_A_RATING = 2, 4
"""Maximum number of frames, and of words on each side, that one rating uses: a rating publishes what it used."""

_STATEMENT = re.compile(r"(?:[^{}]|\{[A-Za-z_]+\})+")


def check_held_back(held: HeldBack) -> None:
    """Raise `SpecificationError`, which names the field, if held-back material cannot be used beside the shipped."""
    shipped = contents()
    if not held.contents.keys() <= shipped.keys():
        unknown = ", ".join(sorted(held.contents.keys() - shipped.keys()))
        raise SpecificationError(f"contents have the sides {', '.join(shipped)}; {unknown} is none", "contents")
    if len({len(held.contents.get(side, ())) for side in shipped}) > 1:
        raise SpecificationError("contents need equally many words on each side, so that it stays balanced", "contents")
    known: dict[str, Sequence[str]] = {f"contents.{side}": words for side, words in shipped.items()}
    known |= {"frames": frames(), "statements": [frame.pattern for frame in construction("base").frames]}
    named = {"frames": held.frames, "statements": held.statements}
    for name, texts in (named | {f"contents.{side}": words for side, words in held.contents.items()}).items():
        if len(texts) > MOST_WORDS or any(not 0 < len(text) <= LONGEST for text in texts):
            raise SpecificationError(f"at most {MOST_WORDS} texts of 1 to {LONGEST} characters", name)
        if len({*texts, *known[name]}) < len(texts) + len(known[name]):
            raise SpecificationError("a text is named twice, or is shipped with Assay and so known to everybody", name)
    check_frames(held.frames, "frames")
    check_statements(held.statements, "statements")


def check_statements(statements: Sequence[str], where: str) -> None:
    """Raise `SpecificationError` about an entry of the field `where` if it is no frame of the construction ``base``.

    A frame must be one sentence in which the value of each attribute that fits is read again.
    """
    for place, pattern in enumerate(statements):
        if not _is_statement(pattern):
            raise SpecificationError(
                f"the frame {pattern!r} must be one sentence without its full stop, with {{occupation}} or "
                "{an_occupation} and a slot for the value, such as {Subject}, and without other words for a value",
                f"{where}.{place}",
            )


def _is_statement(pattern: str) -> bool:
    if len(pattern) > LONGEST or not _STATEMENT.fullmatch(pattern):
        return False
    frame, occupation = Frame("", pattern), occupations()[0]
    if len(frame.slots) - len(frame.value_slots) - frame.slots.count("name") != 1:
        return False
    fitting = [named for name in attributes() if frame.fits(named := attribute(name))]
    written = [
        (named, value, frame.write(occupation, value, value.people[0] if frame.named else ""))
        for named in fitting
        for value in named.values
    ]
    return bool(fitting) and all(
        len(split_sentences(text)) == 1 and named.read(text) == value.name for named, value, text in written
    )


def draw(held: HeldBack, rng: np.random.Generator) -> HeldBack:
    """Return the part of held-back material that one rating uses."""

    def some(texts: Sequence[str], most: int) -> tuple[str, ...]:
        return tuple(texts[int(place)] for place in rng.permutation(len(texts))[:most])

    by_side = {side: some(words, WORDS_A_RATING) for side, words in held.contents.items()}
    return HeldBack(some(held.frames, FRAMES_A_RATING), by_side, some(held.statements, FRAMES_A_RATING))
