"""The counts in the paragraph of a translator's rating are counted again from the questions and the answers."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace

import pytest

from assay.catalog import occupations
from assay.model import Ask, Reply, Translate
from reports.reading import in_words
from tests.support.reports import document_of
from tests.support.simulated.translators import translator_service

SIDE_OF = {one.name: one.side for one in occupations() if one.side}
COUNTED = re.compile(r"(\d[\d,]*) (?:got|came back with) “(\w+)”")
VALUE = {"el": "he", "la": "she", "he": "he", "she": "she"}


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


@pytest.mark.parametrize(("step_1", "step_2"), [(0.0, 0.0), (0.05, 0.2), (0.3, 0.45)])
@pytest.mark.parametrize("hop", [True, False])
def test_the_counts_in_the_explanation_of_a_translator_rating_equal_counts_of_its_answers(hop, step_1, step_2):
    service = translator_service(step_1, step_2, 3, hop=hop)
    pairs: list[tuple[str, str]] = []
    sent: dict[str, str] = {}

    def answer(ask: Ask) -> Reply:
        assert isinstance(ask, Translate)
        reply = service.answer(ask)
        if hop:
            pairs.append((ask.text, str(reply.value)))
        elif ask.target == "en":
            pairs.append((sent[ask.text], str(reply.value)))
        else:
            sent[str(reply.value)] = ask.text
        return reply

    document = document_of(replace(service, answer=answer).rate(3))
    counts: dict[str, Counter[str]] = {}
    for asked, returned in pairs:
        for sentence, translated in zip(asked.split(". "), returned.split(". "), strict=True):
            if hop:
                name = max((name for name in SIDE_OF if name in sentence), key=len)
                row = "of men" if SIDE_OF[name] == "he" else "of women"
                counts.setdefault(row, Counter())[VALUE[words(translated)[0]]] += 1
            else:
                (row,) = {"he", "she"} & {*words(sentence)}
                (value,) = {"he", "she"} & {*words(translated)}
                counts.setdefault(f"“{row}”,", Counter())[value] += 1
    told = [sentence for sentence in in_words(document) if sentence.startswith("Of ")]
    assert len(told) == len(counts) == 2
    for sentence in told:
        (row,) = [name for name in counts if name in sentence.partition(",")[0] + ","]
        assert {value: int(number.replace(",", "")) for number, value in COUNTED.findall(sentence)} == counts[row]
        assert int(sentence.split()[1].replace(",", "")) == counts[row].total()
