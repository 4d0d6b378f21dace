"""Unpublished (held-back) frames and words of an agency: validation, and the random sample that one rating uses."""

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


def check_held_back(material: HeldBack) -> None:
    """Raise `SpecificationError`, naming the field, if unpublished texts cannot be added to the shipped ones."""
    shipped = contents()  # words by side: the shipped word lists
    if not material.contents.keys() <= shipped.keys():
        unknown = ", ".join(sorted(material.contents.keys() - shipped.keys()))
        raise SpecificationError(f"unknown word lists: {unknown}; the lists are {', '.join(shipped)}", "contents")
    if len({len(material.contents.get(side, ())) for side in shipped}) > 1:
        raise SpecificationError(f"the lists {' and '.join(shipped)} must have equally many words", "contents")
    shipped_by_field: dict[str, Sequence[str]] = {
        "frames": frames(),
        "statements": [frame.pattern for frame in construction("base").frames],
        **{f"contents.{side}": words for side, words in shipped.items()},
    }
    texts_by_field = {"frames": material.frames, "statements": material.statements}
    texts_by_field.update({f"contents.{side}": words for side, words in material.contents.items()})
    for field, texts in texts_by_field.items():
        if len(texts) > MOST_WORDS or any(not 0 < len(text) <= LONGEST for text in texts):
            raise SpecificationError(f"give at most {MOST_WORDS} texts, each of 1 to {LONGEST} characters", field)
        if len({*texts, *shipped_by_field[field]}) < len(texts) + len(shipped_by_field[field]):
            raise SpecificationError("a text is named twice, or is shipped with Assay and so known to everybody", field)
    check_frames(material.frames, "frames")
    check_statements(material.statements, "statements")


def check_statements(statements: Sequence[str], field_name: str) -> None:
    """Raise `SpecificationError`, naming the entry of `field_name`, if a statement is no frame for template ``base``.

    A frame is one sentence with slots; each attribute that fits the slots can read its value from the result.
    """
    for index, pattern in enumerate(statements):
        if not _is_statement(pattern):
            raise SpecificationError(
                f"the frame {pattern!r} must be one sentence without its full stop, with {{occupation}} or "
                "{an_occupation} and a slot for the value, such as {Subject}, and no other word that shows a value",
                f"{field_name}.{index}",
            )


def _is_statement(pattern: str) -> bool:
    """Return whether `pattern` is a sentence about an occupation in which each fitting attribute reads its value."""
    if len(pattern) > LONGEST or not _STATEMENT.fullmatch(pattern):
        return False
    frame = Frame(name="", pattern=pattern)
    if len(frame.slots) - len(frame.value_slots) - frame.slots.count("name") != 1:  # one slot for the occupation
        return False
    occupation = occupations()[0]  # any one shows whether the value can be read back
    fitting_attributes = [candidate for candidate in map(attribute, attributes()) if frame.fits(candidate)]
    for candidate in fitting_attributes:
        for value in candidate.values:
            text = frame.write(occupation, value, value.people[0] if frame.named else "")
            if len(split_sentences(text)) != 1 or candidate.read(text) != value.name:
                return False
    return bool(fitting_attributes)


def draw(material: HeldBack, rng: np.random.Generator) -> HeldBack:
    """Draw the random sample of held-back frames, contents and statements that one rating uses."""

    def sample(texts: Sequence[str], limit: int) -> tuple[str, ...]:
        return tuple(texts[int(index)] for index in rng.permutation(len(texts))[:limit])

    by_side = {side: sample(words, WORDS_A_RATING) for side, words in material.contents.items()}
    return HeldBack(sample(material.frames, FRAMES_A_RATING), by_side, sample(material.statements, FRAMES_A_RATING))
