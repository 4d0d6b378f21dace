"""Counts of the outputs for each content, from the recorded observations of a round trip.

A content is a sentence without the value that it names: "_ is a nurse." for "She is a nurse.". Two services
that were asked the same contents can be chained sentence by sentence. This shows whether both err at the same
occupations, which their pooled matrices cannot show.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from assay.catalog import Attribute, attribute, split_sentences
from assay.composition.prediction.measured_service import Contents, TransitionEvidence
from assay.methods.translation.collection import read_hop, read_text
from assay.model import Observation, Translate

_WORD = re.compile(r"\w[\w'\u2019]*")

Counts = dict[str, dict[str, dict[str, int]]]


def with_contents(
    evidence: TransitionEvidence, observations: Iterable[Observation], attribute_name: str
) -> TransitionEvidence:
    """Add the counts by content to a component's evidence.

    Parameters
    ----------
    evidence : TransitionEvidence
        From `assay.composition.prediction.read_evidence`. Only observations of the component with its name count.

    Raises
    ------
    UnknownName
        If no attribute has this name.
    """
    return replace(evidence, contents=read_contents(observations, evidence.name, attribute(attribute_name)))


def read_contents(observations: Iterable[Observation], component: str, attribute: Attribute) -> Contents:
    """Count outputs by content and value, for one component of a round trip.

    Texts that were lost on the way out or back are left out, as in the rating.
    """
    outward: dict[str, Observation] = {}
    returned: dict[str, Observation] = {}
    for observation in observations:
        name, _, direction = observation.probe.unit.rpartition("/")
        # names look like es/U/0001/out or es/possessive/B1/0001/out
        if name.rsplit("/", 2)[0] == component and direction in {"out", "back"}:
            (outward if direction == "out" else returned)[name] = observation
    counts: Counts = {}
    for name, out in outward.items():
        if name in returned:
            _count(counts, out, returned[name], attribute)
    return counts


def _count(by_content: Counts, out: Observation, back: Observation, attribute: Attribute) -> None:
    question = out.probe.ask
    if not isinstance(question, Translate) or read_hop(question.text, out.reply):
        return
    if read_hop(str(out.reply.value), back.reply):
        return
    sentences = split_sentences(question.text)
    outputs = read_text(str(back.reply.value), len(sentences), attribute).values or ()
    for sentence, output in zip(sentences, outputs, strict=bool(outputs)):
        counts = by_content.setdefault(_content_of(sentence, attribute), {}).setdefault(attribute.read(sentence), {})
        counts[output] = counts.get(output, 0) + 1


def _content_of(sentence: str, attribute: Attribute) -> str:
    """Replace each word that names a value by ``_``, and write the other words in lower case."""
    return _WORD.sub(
        lambda word: "_" if attribute.read(word[0]) != attribute.residual else word[0].casefold(), sentence
    )
