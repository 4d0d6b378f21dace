"""Each number in the sentences for lay readers is a count of the recorded answers, or is called an estimate."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from assay.catalog import occupations
from assay.experiment import Session, generator
from assay.methods import method_of
from assay.model import Observation, Translate
from assay.reports.in_words import in_words
from store.ratings.experiment_json import dump_method
from tests.support.reports import document_of
from tests.support.simulated.services import SERVICES
from tests.support.simulated.translators import BACK, PRONOUN

SEED = 5
SIZES = {"none": (0.0, 0.0), "small": (0.03, 0.12), "large": (0.15, 0.15)}
METHODS = (
    "round-trip, translator",
    "one-hop, translator",
    "stereotype-score, echo",
    "stereotype-score, choice",
    "visual-stereotype, labels",
    "visual-stereotype, probabilities",
    "forced-choice, embedder",
    "association, embedder",
    "stimulus-sampling, scores of texts",
)


@dataclass(frozen=True)
class RatedService:
    document: Mapping[str, Any]
    observations: Sequence[Observation]

    @property
    def component(self) -> Mapping[str, Any]:
        return self.document["components"][0]

    @property
    def paragraph(self) -> tuple[str, ...]:
        return in_words(self.document, method_of(self.document))

    @property
    def sentences(self) -> tuple[str, ...]:
        """The sentences of the paragraph, and those of the reasons."""
        return (*self.paragraph, *(reason["text"] for reason in self.document["reasons"]))


def rated(name: str, size: str) -> RatedService:
    service = SERVICES[name](*SIZES[size], SEED)
    session, observations = Session(service.method.design(generator(SEED))), []
    while session.finding is None:
        for probe in session.missing:
            observations += session.accept(probe, service.answer(probe.ask))
        session.advance()
    document = document_of(session.finding, experiment=dump_method(service.method), seed=SEED)
    return RatedService(document, observations)


def counts_of_round_trip(service: RatedService) -> Iterator[str]:
    moves: Counter[tuple[str, str]] = Counter()
    for observation in service.observations:
        ask = observation.probe.ask
        if isinstance(ask, Translate) and ask.target == "en":
            for sent, returned in zip(
                PRONOUN.findall(ask.text.translate(BACK)), PRONOUN.findall(observation.reply.value), strict=True
            ):
                moves[sent.lower(), returned.lower()] += 1
    for sent in ("he", "she"):
        total = sum(count for (pronoun, _), count in moves.items() if pronoun == sent)
        yield f"Of {total:,} sentences with “{sent}”, "
        for returned in ("he", "she"):
            if moves[sent, returned]:
                yield f"{moves[sent, returned]:,} came back with “{returned}”"


def counts_of_one_hop(service: RatedService) -> Iterator[str]:
    sides = {occupation.name: occupation.side for occupation in occupations() if occupation.side}
    longest_first = sorted(sides, key=len, reverse=True)
    articles: Counter[tuple[str, str]] = Counter()
    for observation in service.observations:
        for sent, returned in zip(
            observation.probe.ask.text.split(". "), observation.reply.value.split(". "), strict=True
        ):
            occupation = next(name for name in longest_first if name in sent)
            article = re.search(r"\b([Ee]l|[Ll]a)\b", returned)
            assert article is not None
            articles[sides[occupation], {"el": "he", "la": "she"}[article[1].lower()]] += 1
    for side, people in (("he", "men"), ("she", "women")):
        total = sum(count for (of_side, _), count in articles.items() if of_side == side)
        yield f"Of {total:,} sentences about occupations mostly of {people}"
        yield from (f"{articles[side, value]:,} got “{value}”" for value in ("he", "she") if articles[side, value])


def counts_of_pairs(service: RatedService) -> Iterator[str]:
    """Count the sentence that each pair prefers, from both scores where there are scores."""

    def prefers(row: Mapping[str, Any]) -> str:
        if row["first_score"] is None:
            return row["prefers"]
        difference = row["first_score"] - row["second_score"]
        return "first" if difference > 0 else "second" if difference < 0 else "neither"

    outcomes = Counter((row["list"], prefers(row)) for row in service.component["sentences"])
    neutral = sum(count for (of_list, _), count in outcomes.items() if of_list == "neutral")
    tied = outcomes.total() - neutral
    towards = outcomes["first_terms", "first"] + outcomes["second_terms", "second"]
    yield f"Of {neutral:,} pairs of sentences that differ only in the group"
    yield f" in {outcomes['neutral', 'first']:,}"
    yield f"Of {tied:,} that hold a stereotype, it prefers the stereotype in {towards:,}"


def counts_of_pictures(service: RatedService) -> Iterator[str]:
    """Count the answers about pictures: the label that was named, or the likelier one."""

    def first(row: Mapping[str, Any]) -> float:
        if service.component["scale"] == "probabilities":
            return row["first_score"]
        return {"first": 1.0, "second": 0.0}.get(row["names"], 0.5)

    rows = service.component["images"]
    neutral = [first(row) for row in rows if row["list"] == "neutral"]
    tied = [first(row) if row["list"] == "first_terms" else 1 - first(row) for row in rows if row["list"] != "neutral"]
    yield f"Of {len(neutral):,} neutral pictures {sum(share > 0.5 for share in neutral):,} "
    yield f"Of {len(tied):,} pictures of stereotypes {sum(share > 0.5 for share in tied):,} "
    if service.component["scale"] == "probabilities":
        for shares in (neutral, tied):
            yield f"whose mean probability is {sum(shares) / len(shares):.2f}"


def counts_of_choices(service: RatedService) -> Iterator[str]:
    controls = [row["pse"]["estimate"] for row in service.component["words"] if row["role"] == "control"]
    yield f"{100 * sum(controls) / len(controls):.0f} % for neutral words on average"
    yield f"{sum(row['role'] == 'concept' for row in service.component['words'])} words of the list"


COUNTS: Mapping[str, Callable[[RatedService], Iterator[str]]] = {
    "round-trip": counts_of_round_trip,
    "one-hop": counts_of_one_hop,
    "stereotype-score": counts_of_pairs,
    "visual-stereotype": counts_of_pictures,
    "forced-choice": counts_of_choices,
    "association": lambda _: iter(()),
    "stimulus-sampling": lambda _: iter(()),
}
"""Phrases with the numbers that a count of the recorded answers gives, by method."""


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", METHODS)
def test_each_count_in_the_paragraph_equals_a_count_of_the_recorded_answers(name, size):
    service = rated(name, size)
    paragraph = " ".join(service.paragraph)
    for phrase in COUNTS[name.partition(",")[0]](service):
        assert phrase in paragraph


NOT_A_RESULT = (
    r"section [\d.]+|\(\d+ %|step \d|0 is (the same|even|none)|1 has nothing|even would be \d+ %|\d+ % is required"
)
"""Numbers in sentences that state a scale, a limit or a design, and no result."""


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", METHODS)
def test_a_percentage_or_decimal_in_words_is_called_an_estimate(name, size):
    service = rated(name, size)
    for sentence in service.sentences:
        numbers = re.findall(r"\d+\.\d+|\d+ %", re.sub(NOT_A_RESULT, "", sentence))
        measured = name.startswith("forced-choice") and ("in a mixture" in sentence or "takes the least" in sentence)
        assert not numbers or measured or re.search("(?i)estimate|probab|mean|on average|leads with", sentence), (
            sentence
        )
