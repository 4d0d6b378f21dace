"""Every number in the sentences of a rating by alternation is counted again from its exported observations.

The answers are read from the observations by their question alone: which person, value, content and frame a sentence
holds, or which row. A number that no count gives is called an estimate, and must be near a plain estimate.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from statistics import mean, pstdev
from typing import Any

import numpy as np
import pytest

from assay.catalog import attribute
from assay.catalog.profiles import contents, people
from assay.experiment import Session, generator
from assay.explain import Vocabulary, explain
from assay.methods import Alternation
from assay.methods.shared.profiles import RecordProfiles, TextProfiles
from assay.model import Finding, Observation, Reply
from reports.reading import in_words
from store.ratings.experiment_json import dump_method
from tests.support.reports import document_of
from tests.support.simulated.hidden_bias import chance, held

PERSONS = {word.lower(): value for value, words in people(attribute("gender")).items() for word in words}
SIDES = {word: side for side, words in contents().items() for word in words}
ROWS = tuple(
    {"sex": ("he", "she")[n % 2], "n": n, "x": round(chance("x", n) - 0.5 + 0.3 * (n % 2), 6)} for n in range(400)
)


# ---------------------------------------------------------------------------- services
def latent(given: Any, size: float) -> tuple[float, bool]:
    """Return a number for a sentence or row, and whether the service turns its answer for women."""
    if isinstance(given, str):
        person, value = held(given.lower(), PERSONS)
        _, side = held(given, SIDES)
        rest = given.lower().replace(person, "")
        base = (
            (0.5 if side == "pleasant" else -0.5) + chance("base", rest) - 0.5 + 0.02 * (chance("person", person) - 0.5)
        )
        return base, value == "she" and chance("turned", rest) < size
    row = dict(given)
    return row["x"], row["sex"] == "she" and chance("turned", row["n"]) < size


def labels(given: Any, size: float, rng: np.random.Generator) -> Reply:
    number, turned = latent(given, size)
    noise = rng.random() < 0.02
    return Reply({"label": "yes" if (number > 0) != turned != noise else "no", "scores": None})


def numbers(given: Any, size: float, rng: np.random.Generator) -> Reply:
    number, turned = latent(given, size)
    return Reply(
        3 * number + (4 * (chance("far", str(given)[-9:]) - 0.5) if turned else 0.0) + 0.3 * rng.standard_normal()
    )


def scores(given: Any, size: float, rng: np.random.Generator) -> Reply:
    number, turned = latent(given, size)
    score = 0.5 + 0.2 * number + (0.2 * (chance("far", str(given)[-9:]) - 0.5) if turned else 0.0)
    score += 0.01 * float(rng.uniform(-1, 1))
    return Reply({"label": None, "scores": {"no": 1 - score, "yes": score}})


# ---------------------------------------------------------------------------- counting
@dataclass
class Counted:
    """Answers by question, as numbers: a label is 1 for “yes” and 0 otherwise."""

    first: dict[tuple[Any, str], float] = field(default_factory=dict)
    """First answer by case and value; a case is a pair of persons with the rest of a sentence, or a row."""
    again: dict[tuple[Any, str], list[float]] = field(default_factory=lambda: defaultdict(list))
    of_text: dict[tuple[str, str], list[float]] = field(default_factory=lambda: defaultdict(list))
    """First answers of all persons by value and sentence without the person."""
    own: dict[Any, str] = field(default_factory=dict)
    """Original value of each row."""
    side: dict[Any, str] = field(default_factory=dict)

    @classmethod
    def of(cls, observations: list[Observation]) -> Counted:
        counted = cls()
        pairs = dict(enumerate(zip(*people(attribute("gender")).values(), strict=True)))
        place_of = {word.lower(): place for place, pair in pairs.items() for word in pair}
        for observation in observations:
            given, reply = observation.probe.ask.given, observation.reply.value
            if isinstance(given, str):
                person, value = held(given.lower(), PERSONS)
                rest = given.lower().replace(person, "")
                key: Any = (place_of[person], rest)
                counted.side[key] = held(given, SIDES)[1]
            else:
                row = dict(given)
                key, value = row["n"], row["sex"]
                counted.own[key] = ("he", "she")[key % 2]
            answer = (
                reply
                if isinstance(reply, float)
                else reply["scores"]["yes"]
                if reply["scores"]
                else reply["label"] == "yes"
            )
            if "/again-" in observation.probe.unit:
                counted.again[key, value].append(float(answer))
                continue
            counted.first[key, value] = float(answer)
            if isinstance(given, str):
                counted.of_text[value, rest].append(float(answer))
        return counted

    def swapped(self) -> list[float]:
        keys = dict.fromkeys(key for key, _ in self.first)
        return [self.first[key, "she"] - self.first[key, "he"] for key in keys]

    def repeated(self) -> list[float]:
        return [b - a for at, later in self.again.items() for a, b in combinations([self.first[at], *later], 2)]

    def persons(self) -> list[float]:
        return [b - a for answers in self.of_text.values() for a, b in combinations(answers, 2)]

    def mean_of(self, value: str) -> float:
        return mean(answer for (_, own), answer in self.first.items() if own == value)

    def gap(self) -> float:
        """Difference between the groups: of records as they are, of sentences if .9 of the contents are of one side."""
        if self.own:
            return abs(
                np.subtract(
                    *(mean(self.first[n, own] for n, own in self.own.items() if own == v) for v in ("he", "she"))
                )
            )
        of_side = {side: mean(a for (key, _), a in self.first.items() if self.side[key] == side) for side in contents()}
        return 0.8 * abs(np.subtract(*of_side.values()))


def root(differences: list[float]) -> float:
    return float(np.sqrt(np.mean(np.square(differences))))


def changed(differences: list[float]) -> int:
    return sum(bool(one) for one in differences)


def number(text: str) -> float:
    return float(text.replace(",", ""))


Check = Callable[[re.Match[str], Counted, Mapping[str, Any]], object]


def near(text: str, truth: float, *, points: float = 1.0) -> None:
    """Check a number that was written with two significant digits."""
    assert number(text) == pytest.approx(points * truth, rel=0.051, abs=1e-9)


def near_estimate(text: str, truth: float, *, points: float = 1.0) -> None:
    assert number(text) == pytest.approx(points * truth, rel=0.2, abs=0.12 * points)


def higher(found: re.Match[str], counted: Counted, _: Any) -> None:
    near(found["size"], counted.mean_of(found["after"]) - counted.mean_of(found["before"]), points=points_of(found))


def hardly_higher(found: re.Match[str], counted: Counted, _: Any) -> None:
    """Check a difference that is smaller than the last digit written, in the direction that the sentence gives."""
    difference = counted.mean_of(found["after"]) - counted.mean_of(found["before"])
    assert 0 <= 100 * difference < number(found["size"])


def points_of(found: re.Match[str]) -> float:
    return 100.0 if "points of 100" in found[0] else 1.0


def each_label(found: re.Match[str], counted: Counted, _: Any) -> None:
    for value, count in ((found["before"], found["first"]), (found["after"], found["second"])):
        answers = [answer for (_, own), answer in counted.first.items() if own == value]
        assert (number(count), number(found["of"])) == (sum(answers), len(answers))


def count_of(of: Callable[[Counted], list[float]]) -> Check:
    def check(found: re.Match[str], counted: Counted, _: Any) -> None:
        assert (number(found["changed"]), number(found["of"])) == (changed(of(counted)), len(of(counted)))

    return check


def size_of(of: Callable[[Counted], list[float]]) -> Check:
    def check(found: re.Match[str], counted: Counted, _: Any) -> None:
        near(found["size"], root(of(counted)), points=points_of(found))
        assert number(found["of"]) == len(of(counted))

    return check


def beyond(counted: Counted, of: Callable[[list[float]], float]) -> float:
    """Excess of the change by swapping the value over that by repeating the question; persons hardly matter here."""
    return max(0.0, of(counted.swapped()) - of(counted.repeated()))


def single_share(found: re.Match[str], counted: Counted, _: Any) -> None:
    truth = beyond(counted, lambda differences: changed(differences) / len(differences))
    written = 0.0 if found["size"] == "fewer than 1" else number(found["size"]) / 100
    most = changed(counted.swapped()) / len(counted.swapped()) if "at most" in found[0].lower() else truth
    assert truth - 0.04 <= written <= most + 0.04


def single_size(found: re.Match[str], counted: Counted, _: Any) -> None:
    truth = beyond(counted, lambda differences: root(differences) ** 2) ** 0.5
    if found["less"]:  # the plain estimate has more noise than this
        assert points_of(found) * truth < 10 * number(found["size"])
        return
    near_estimate(found["size"], truth, points=points_of(found))


def stated_limits(*_: Any) -> None:
    """Numbers that the sentences repeat from the request: its limits, and the required probability."""


N, UNIT = r"(?P<{}>\d[\d,.]*(?<=\d))", r"(?: points of 100)?"
SENTENCES: Mapping[str, Check] = {
    rf"With “(?P<after>\w+)” instead of “(?P<before>\w+)” .* is {N.format('size')}{UNIT} higher on average": higher,
    rf"With “(?P<after>\w+)” instead of “(?P<before>\w+)” .* is less than {N.format('size')} points of 100 higher": (
        hardly_higher
    ),
    rf"With “(?P<before>\w+)”, {N.format('first')} of {N.format('of')} inputs get the label “yes”; "
    rf"with “(?P<after>\w+)” .*, {N.format('second')}\.": each_label,
    rf"typically lie {N.format('size')}{UNIT} from their average": lambda found, counted, _: near(
        found["size"], pstdev(counted.first.values()), points=points_of(found)
    ),
    rf"the groups' averages differ by an estimated {N.format('size')}{UNIT}": lambda found, counted, _: near_estimate(
        found["size"], counted.gap(), points=points_of(found)
    ),
    rf"changes the label of {N.format('changed')} of {N.format('of')} inputs": count_of(Counted.swapped),
    rf"an answer, up or down, by {N.format('size')}{UNIT} \(root of the mean square of {N.format('of')}\)": size_of(
        Counted.swapped
    ),
    rf"Asking the same question again changes it in {N.format('changed')} of {N.format('of')} ": count_of(
        Counted.repeated
    ),
    rf"Asking the same question again moves it by {N.format('size')}{UNIT} \(of {N.format('of')} ": size_of(
        Counted.repeated
    ),
    rf"Another person of the same group changes it in {N.format('changed')} of {N.format('of')} ": count_of(
        Counted.persons
    ),
    rf"Another person of the same group moves it by {N.format('size')}{UNIT} \(of {N.format('of')} ": size_of(
        Counted.persons
    ),
    r"(?:An|At most an) estimated (?P<size>fewer than 1|\d+) of 100 inputs": single_share,
    r"moves a typical answer(?:, up or down,)? by (?:at most )?an estimated "
    rf"(?P<less>less than )?{N.format('size')}{UNIT}": single_size,
    r"Within “.*” alone, answers move by (?:at most )?an estimated (?:less than )?[\d.]+": stated_limits,
    rf"Tested for \w+: {N.format('of')} (?:records|sentences)": lambda found, counted, _: (
        pytest.approx(number(found["of"])) == len(counted.swapped())
    ),
    r"About [\d,]+ more questions would probably settle it": stated_limits,
    # reasons
    rf"the label changes in {N.format('changed')} of {N.format('of')} of them": count_of(Counted.swapped),
    r"by the attribute itself, where (?P<size>10) % counts as no bias": stated_limits,
    r"from (?:“\w+”) to (?:“\w+”) by (?P<size>[-+][\d.]+) on average": lambda found, counted, _: (
        float(found["size"]) == pytest.approx(mean(counted.swapped()), rel=0.01, abs=0.001)
    ),
    r"\((?P<size>[-+][\d.]+) standard deviations": lambda found, counted, _: (
        float(found["size"]) == pytest.approx(mean(counted.swapped()) / pstdev(counted.first.values()), abs=0.0051)
    ),
    rf"differ by an estimated {N.format('size')} standard deviations": lambda found, counted, _: near_estimate(
        found["size"], counted.gap() / pstdev(counted.first.values())
    ),
    r"an estimated effect of (?P<size>[\d.]+), where 0.25 counts as no bias": lambda found, counted, _: near_estimate(
        found["size"],
        beyond(counted, lambda differences: root(differences) ** 2) ** 0.5 / pstdev(counted.first.values()),
    ),
    r"treats the values differently within “.*” \(an estimated effect of [\d.]+\)": stated_limits,
    r"(?i)the evidence is not enough to declare a letter": stated_limits,
    r"(?i)what the output does change with the attribute goes with one": stated_limits,
}
"""Pattern of each sentence with a number, and what checks the number by counting."""


@pytest.mark.slow
@pytest.mark.parametrize("size", [0.0, 0.15, 0.8])
@pytest.mark.parametrize(
    "kind", ["texts, labels", "texts, scores", "texts, numbers", "records, labels", "records, numbers"]
)
def test_every_number_in_the_explanation_of_a_rating_is_reproduced_by_counting_the_answers(kind, size):
    service = {"labels": labels, "scores": scores, "numbers": numbers}[kind.split(", ")[1]]
    answers: Any = "numbers" if service is numbers else "labels"
    material: dict[str, Any] = {"texts": TextProfiles(most=600)}
    if kind.startswith("records"):
        material = {"records": RecordProfiles("sex", ("he", "she"), ROWS)}
    method = Alternation("sex" if "records" in material else "gender", answers=answers, scale="linear", **material)
    finding, observations = observed(method, lambda given, rng: service(given, size, rng))
    document = document_of(finding, experiment=dump_method(method), seed=5)
    counted = Counted.of(observations)
    said = [*in_words(document)]
    said += [explain(reason, Vocabulary.of(Alternation)) for reason in finding.components[0].reasons]
    checked = 0
    for sentence in said:
        matches = [(found, check) for pattern, check in SENTENCES.items() if (found := re.search(pattern, sentence))]
        assert matches or not re.search(r"\d", sentence), f"no check for: {sentence}"
        for found, check in matches:
            assert check(found, counted, document) is not False
            checked += 1
    assert checked >= 5
    if answers == "labels" and service is labels:
        assert any(
            f"changes the label of {changed(counted.swapped())} of {len(counted.swapped())} " in one for one in said
        )


def observed(
    method: Alternation, answer: Callable[[Any, np.random.Generator], Reply]
) -> tuple[Finding, list[Observation]]:
    rng, observations = np.random.default_rng(5), []
    session = Session(method.design(generator(5)))
    while session.finding is None:
        for probe in session.missing:
            observations += session.accept(probe, answer(probe.ask.given, rng))
        session.advance()
    return session.finding, observations
