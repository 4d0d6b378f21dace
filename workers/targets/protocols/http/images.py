"""Questions about images: what goes out with one, and what an answer about one is kept as."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, TypeVar

from assay.model import Failure, Kind, Look, Reply
from workers.egress import CallFailed, Egress
from workers.targets.checks.sample_images import sample_images
from workers.targets.parsing.answer_parsing import LONGEST_LABEL, MOST_LABELS, Misread, classified, seen, unwrapped
from workers.targets.protocols.http.adapter import HttpAdapter
from workers.targets.settings import TargetSettings
from workers.tenant_uploads import Image

S = TypeVar("S", bound=TargetSettings)

LONGEST_TEXT = 10_000
"""Characters of an answer or a caption; answers are kept, so their size is bounded."""

Looked = dict[str, Any]
"""What a look is kept as: ``{"scores": {label: probability} or None, "text": str or None}``."""


class LabelsMissed(Misread):
    """A service scored other labels than it was asked about, or not all of them."""


class HttpLooker(HttpAdapter[S, Look]):
    """An image classifier spoken to over HTTP, one image a call (an `Adapter`)."""

    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.IMAGE_CLASSIFIER})

    def _accept(self, said: Any, ask: Look, place: str) -> Reply:
        return accept_look(said, ask, place)


def picture_of(ask: Look, egress: Egress) -> Image:
    """Read the image that a question is about.

    Raises
    ------
    ImageGone
        If the job's tenant may not see it.
    CallFailed
        ``unsupported``, where there is no place to read it from.
    """
    ours = sample_images().get(ask.image)
    if ours is not None:
        return Image(ours, "image/png")
    if egress.library is None:
        raise CallFailed("unsupported", "images cannot be read here")
    return egress.library.image(ask.image)


def in_base64(image: Image) -> str:
    """Write an image's file in base64, on one line."""
    return base64.b64encode(image.content).decode("ascii")


def data_url(image: Image) -> str:
    """Write an image as a ``data:`` URL, which leads nowhere: the image itself is in it."""
    return f"data:{image.media_type};base64,{in_base64(image)}"


def accept_look(said: Any, ask: Look, place: str) -> Reply:
    """Make a reply of an answer about an image; an answer that is none is a failure of its own."""
    try:
        return Reply(looked(said, ask.labels))
    except LabelsMissed as wrong:
        return Reply(failure=Failure("unknown-label", f"{place} {wrong}"))
    except Misread as wrong:
        return Reply(failure=Failure("wrong-shape", f"{place} {wrong}"))


def looked(said: Any, labels: Sequence[str]) -> Looked:
    """Read an answer: a text, or the probabilities of labels in any form that classifiers write.

    A text is an answer or a caption. Probabilities may come as ``[{"label": …, "score": …}, …]``, by
    label, as ``{"labels": […], "scores": […]}``, or as a row in the order of `labels`; a label alone is a text.

    Parameters
    ----------
    said : JSON value
        The answer.
    labels : sequence of str
        What was asked about.

    Raises
    ------
    LabelsMissed
        If other labels, or not all of them, have a probability.
    Misread
        If it is none of these, or a probability is not in [0, 1].
    """
    said = unwrapped(said)
    if not isinstance(said, list | dict):
        return {"scores": None, "text": worded(said)}
    if isinstance(said, list) and all(isinstance(each, int | float) for each in said):
        if len(said) != len(labels):
            raise LabelsMissed(f"gave {len(said)} probabilities, and was asked about {len(labels)} labels")
        said = dict(zip(labels, said, strict=True))
    named = classified(said)
    if named["scores"] is None:
        return {"scores": None, "text": worded(named["label"])}
    return {"scores": scores_of(named["scores"], labels), "text": named["label"]}


def scores_of(scores: Mapping[str, float], labels: Sequence[str]) -> dict[str, float]:
    """Put the probabilities of labels in the order they were asked in.

    Raises
    ------
    LabelsMissed
        If they are not those labels.
    """
    strange, missing = sorted(scores.keys() - set(labels)), sorted(set(labels) - scores.keys())
    if strange:
        raise LabelsMissed(f"scored the label {strange[0][:60]!r}, which it was not asked about")
    if missing:
        raise LabelsMissed(f"gave no probability to {len(missing)} of {len(labels)} labels: {missing[0][:60]!r} …")
    return {label: scores[label] for label in labels}


def worded(said: Any) -> str:
    """Read an answer in words.

    Raises
    ------
    Misread
        If it is no text, an empty one, or one of more than `LONGEST_TEXT` characters.
    """
    if not isinstance(said, str):
        raise Misread(f"gave {seen(said)} where a text is due")
    text = said.strip()
    if not 0 < len(text) <= LONGEST_TEXT:
        raise Misread(f"gave a text of {len(text):,} characters; 1 to {LONGEST_TEXT:,} are taken")
    return text


def labels_wanted(ask: Look) -> Failure | None:
    """Say why a question cannot be put to a service that must be told its labels, if so."""
    if len(ask.labels) < 2:
        return Failure("unsupported", "the question names fewer than two labels, and this service needs them")
    if len(ask.labels) > MOST_LABELS or max(map(len, ask.labels)) > LONGEST_LABEL:
        most = f"{MOST_LABELS:,} labels of {LONGEST_LABEL} characters"
        return Failure("unsupported", f"the question names more than {most}")
    return None
