"""Every number in the words of free text is counted again from the observations, for three sizes of the effect."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest

from assay.experiment import Session, generator
from assay.model import Observation, Write
from assay.rating.decision import rate
from reports.reading import in_words
from store.ratings.experiment_json import dump_method
from tests.support.reports import document_of
from tests.support.simulated.free_text import REFUSALS, WOMEN, TextJudge, Writer, service

SIZES = {"none": Writer(WOMEN), "small": Writer(WOMEN, length=0.93, refused=0.05), "large": Writer(WOMEN, length=0.5)}
SEED = 3


def observed(writer: Writer, judge: TextJudge | None = None):
    """Rate a writer; return the finding, the method and the observations."""
    made = service(writer, judge, seed=SEED, prompts=40, most_prompts=40)
    session = Session(made.method.design(generator(SEED)))
    record: list[Observation] = []
    while session.finding is None:
        for probe in session.missing:
            record += session.accept(probe, made.answer(probe.ask))
        record += session.unrecorded
        session.advance()
    return session.finding, made.method, record


def paragraphs(finding, method) -> dict[str, str]:
    """Return the words about each component."""
    return {
        row.name: " ".join(
            in_words(document_of(replace(finding, components=(row,)), experiment=dump_method(method), seed=SEED))
        )
        for row in finding.components
    }


def texts_by_prompt(record) -> dict[str, dict[str, list[str]]]:
    """Return the texts of each prompt by value; a refusal is no text."""
    texts: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for row in record:
        if isinstance(row.probe.ask, Write):
            case, value, _ = row.probe.unit.rsplit("/", 2)
            texts[case][value].append(str(row.reply.value))
    return texts


@pytest.mark.parametrize("size", SIZES)
def test_the_report_of_free_text_states_the_numbers_of_refusals_counted_in_the_answers(size):
    finding, method, record = observed(SIZES[size])
    replies = [(row.probe.unit.split("/")[-2], row.reply.value in REFUSALS.values()) for row in record]
    counts = {value: [refused for of, refused in replies if of == value] for value in ("he", "she")}
    words = paragraphs(finding, method)["refusals"]
    he, she = (f"{sum(counts[value])} of {len(counts[value])} with “{value}”" for value in ("he", "she"))
    assert f"The model refused to write {he} and {she}." in words


@pytest.mark.parametrize("size", SIZES)
def test_the_report_of_free_text_states_the_length_differences_computed_from_the_texts(size):
    finding, method, record = observed(SIZES[size])
    logs = {
        case: {
            value: [math.log(len(re.findall(r"\w+", text))) for text in texts if text not in REFUSALS.values()]
            for value, texts in by_value.items()
        }
        for case, by_value in texts_by_prompt(record).items()
    }
    shifts = np.array([np.mean(row["she"]) - np.mean(row["he"]) for row in logs.values() if row["she"] and row["he"]])
    words = paragraphs(finding, method)["length"]
    (after, before, percent, _) = re.findall(
        r"With “(\w+)” instead of “(\w+)” and nothing else changed, texts are ([\d.]+) %(.*?) longer on average", words
    )[0]
    assert (after, before) == (("she", "he") if shifts.mean() > 0 else ("he", "she"))
    assert float(percent) == pytest.approx(100 * math.expm1(abs(shifts.mean())), rel=0.05, abs=0.05)
    between, repeats = map(float, re.findall(r"([\d.]+) % between values; .*? differ by ([\d.]+) %", words)[0])
    assert between == pytest.approx(100 * math.expm1(math.sqrt((shifts**2).mean())), rel=0.05)
    variances = [
        np.var(row[value], ddof=1) / len(row[value]) for row in logs.values() for value in row if row[value][1:]
    ]
    assert repeats == pytest.approx(100 * math.expm1(math.sqrt(2 * np.mean(variances))), rel=0.1)


@pytest.mark.parametrize("size", SIZES)
def test_the_report_of_free_text_calls_every_number_that_is_not_a_count_an_estimate(size):
    finding, method, _ = observed(SIZES[size], TextJudge(lean=0.01))
    for sentence in " ".join(paragraphs(finding, method).values()).split(". "):
        is_counted = re.search(r"refused to write|on average|repeated texts alone|Tested for|leads with", sentence)
        decimals = re.findall(r"\d+\.\d+|\d+ %", sentence)
        assert not decimals or is_counted or re.search("(?i)estimate|probability", sentence), sentence


def test_texts_are_described_as_shorter_for_the_group_that_gets_shorter_texts():
    finding, method, _ = observed(SIZES["large"])
    assert rate(finding).declared
    assert "With “he” instead of “she” and nothing else changed, texts are" in paragraphs(finding, method)["length"]
