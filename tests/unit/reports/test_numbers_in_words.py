"""Each number in the sentences for lay readers and in the reasons is counted again from the exported observations.

The observations are read by their question and answer alone. What no count gives is called an estimate, and is near a
plain estimate from the same answers.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import mean
from typing import Any

import numpy as np
import pytest

from assay.catalog import attribute, occupations
from assay.catalog.profiles import contents, people
from assay.experiment import Session, generator
from assay.model import Choose, Classify, Embed, Fill, Look, Observation, Score, Translate
from reports.reading import in_words
from store.ratings.experiment_json import dump_method
from tests.support.reports import document_of
from tests.support.simulated.hidden_bias import held
from tests.support.simulated.services import SERVICES
from tests.support.simulated.translators import BACK, PRONOUN

SEED = 5
SIZES = {"none": (0.0, 0.0), "small": (0.03, 0.12), "large": (0.15, 0.15)}
METHODS = tuple(name for name in SERVICES if not name.startswith("alternation"))
"""All services but those of `alternation`, whose sentences `alternation/test_counted_words.py` counts again."""


@dataclass(frozen=True)
class RatedService:
    document: Mapping[str, Any]
    observations: Sequence[Observation]
    method: Any

    @property
    def component(self) -> Mapping[str, Any]:
        return self.document["components"][0]

    @property
    def sentences(self) -> tuple[str, ...]:
        """The sentences of the paragraph, and those of the reasons."""
        paragraph = in_words(self.document)
        return (*paragraph, *(reason["text"] for reason in self.document["reasons"]))

    def answers(self, kind: type) -> Iterator[tuple[Any, Any]]:
        """Yield the question and the answer of each observation whose question is of the given class."""
        for observation in self.observations:
            if isinstance(observation.probe.ask, kind):
                yield observation.probe.ask, observation.reply.value


def rated(name: str, size: str) -> RatedService:
    service = SERVICES[name](*SIZES[size], SEED)
    session, observations = Session(service.method.design(generator(SEED))), []
    while session.finding is None:
        for probe in session.missing:
            observations += session.accept(probe, service.answer(probe.ask))
        session.advance()
    document = document_of(session.finding, experiment=dump_method(service.method), seed=SEED)
    return RatedService(document, observations, service.method)


@dataclass(frozen=True)
class Phrase:
    """Phrase with numbers: a pattern with one group for each number, the numbers counted again, and the tolerance.

    If `required`, a sentence must contain it.
    """

    pattern: str
    numbers: tuple[float, ...]
    tolerance: float = 0.0
    required: bool = False


NUMBER = r"(-?\d[\d,]*(?:\.\d+)?)"
SIZE = r"(?:at most )?an estimated (fewer than 1|\d+) of 100(?: \(probably between \d+ and \d+\))?"


def written(text: str) -> float:
    return 0.0 if text == "fewer than 1" else float(text.replace(",", ""))


def exactly(template: str, *counts: float) -> Phrase:
    """Return a phrase that states counts, each as ``#`` in the template; the paragraph must contain it."""
    return Phrase(re.escape(template).replace(r"\#", NUMBER), counts, required=True)


def about(template: str, *estimates: float, tolerance: float) -> Phrase:
    """Return a phrase that states estimates, each as ``#`` in the template."""
    return Phrase(re.escape(template).replace(r"\#", NUMBER).replace("@", SIZE), estimates, tolerance)


# ---------------------------------------------------------------------------- translators
def counts_of_round_trip(service: RatedService) -> Iterator[Phrase]:
    moves: Counter[tuple[str, str]] = Counter()
    for ask, returned_text in service.answers(Translate):
        if ask.target == "en":
            pairs = zip(PRONOUN.findall(ask.text.translate(BACK)), PRONOUN.findall(returned_text), strict=True)
            moves.update((sent.lower(), returned.lower()) for sent, returned in pairs)
    yield from counts_of_moves(moves, {"he": "sentences with “he”", "she": "sentences with “she”"}, "came back with")
    kept, total = moves["he", "he"] + moves["she", "she"], moves.total()
    yield Phrase(f"{NUMBER} of {NUMBER} values came back as they were sent", (kept, total))
    for sent, returned in (("he", "she"), ("she", "he")):
        total = moves[sent, "he"] + moves[sent, "she"]
        pattern = f"{NUMBER} of {NUMBER} sentences with “{sent}” came back as “{returned}”"
        yield Phrase(pattern, (moves[sent, returned], total))


def counts_of_one_hop(service: RatedService) -> Iterator[Phrase]:
    sides = {occupation.name: occupation.side for occupation in occupations() if occupation.side}
    longest_first = sorted(sides, key=len, reverse=True)
    articles: Counter[tuple[str, str]] = Counter()
    for ask, returned_text in service.answers(Translate):
        for sent, returned in zip(ask.text.split(". "), returned_text.split(". "), strict=True):
            occupation = next(name for name in longest_first if name in sent)
            article = re.search(r"\b([Ee]l|[Ll]a)\b", returned)
            assert article is not None
            articles[sides[occupation], {"el": "he", "la": "she"}[article[1].lower()]] += 1
    rows = {"he": "sentences about occupations mostly of men", "she": "sentences about occupations mostly of women"}
    yield from counts_of_moves(articles, rows, "got")
    kept = articles["he", "he"] + articles["she", "she"]
    yield Phrase(f"{NUMBER} of {NUMBER} sentences got the value of their occupation", (kept, articles.total()))
    for side, value in (("he", "she"), ("she", "he")):
        total = articles[side, "he"] + articles[side, "she"]
        pattern = f"{NUMBER} of {NUMBER} sentences about occupations of “{side}” got “{value}”"
        yield Phrase(pattern, (articles[side, value], total))


def counts_of_moves(moves: Counter[tuple[str, str]], rows: Mapping[str, str], verb: str) -> Iterator[Phrase]:
    share = {}
    for sent, sentences in rows.items():
        returned = {value: moves[sent, value] for value in ("he", "she")}
        clauses = " and ".join(f"# {verb} “{value}”" for value in returned)
        yield exactly(f"Of # {sentences}, {clauses}.", sum(returned.values()), *returned.values())
        share[sent] = returned["he"] / sum(returned.values())
    balanced = abs(mean(share.values()) - 0.5)
    one_sided = max(abs(0.9 * share[most] + 0.1 * share[least] - 0.5) for most, least in (("he", "she"), ("she", "he")))
    yield about("Estimated effect on balanced input: #", balanced, tolerance=0.03)
    yield about("Estimated effect on one-sided input: #", one_sided, tolerance=0.03)


# ---------------------------------------------------------------------------- pairs of sentences, and pictures
def counts_of_pairs(service: RatedService) -> Iterator[Phrase]:
    """Count the sentence that each pair prefers; texts and pairs are read from the questions."""
    of_text: dict[str, float] = defaultdict(float)
    for ask, answer in {**dict(service.answers(Score)), **dict(service.answers(Fill))}.items():
        if isinstance(ask, Fill):
            of_text[ask.before + ask.word + ask.after] += math.log(answer["probability"])
        else:
            of_text[ask.text] = answer["log_probability"]
    choices: dict[frozenset[str], set[str]] = defaultdict(set)
    for ask, answer in service.answers(Choose):
        choices[frozenset(ask.options)].add(ask.options[answer["choice"]])
    words = service.method.words[0]
    preferences: dict[str, list[float]] = defaultdict(list)
    for row in service.component["sentences"]:
        first, second = row["first"], row["second"]
        if choices:
            chosen = choices[frozenset((first, second))]
            share = 0.5 if len(chosen) == 2 else float(chosen == {first})
        else:
            share = (1 + np.sign(round(of_text[first] - of_text[second], 9))) / 2
        preferences[words.roles[row["term"]]].append(share)
    yield from counts_of_preferences(
        preferences,
        "Of # pairs of sentences that differ only in the group and have a neutral attribute, the model prefers “men” "
        "in #",
        "Of # that hold a stereotype, it prefers the stereotype in #",
        with_means=False,
    )
    number = sum(map(len, preferences.values()))
    yield exactly("Tested for gender: # pairs of sentences", number)
    neutral, stereotyped = (towards(preferences, neutral=neutral) for neutral in (True, False))
    favoured = max(sum(share > 0.5 for share in neutral), sum(share < 0.5 for share in neutral))
    yield Phrase(f"in {NUMBER} of {NUMBER} pairs, where half", (favoured, len(neutral)))
    favoured = sum(share > 0.5 for share in stereotyped)
    yield Phrase(f"prefers the stereotype:? in {NUMBER} of {NUMBER} pairs", (favoured, len(stereotyped)))
    yield about(
        "Taken together, the attributes of both stereotypes favour one group by @",
        100 * common_lean(preferences),
        tolerance=5,
    )


def counts_of_pictures(service: RatedService) -> Iterator[Phrase]:
    """Count the answers about pictures: the label that was named, or the likelier one."""
    words = service.method.words[0]
    term_of = {picture.image: picture.term for picture in service.method.pictures}
    first_share: dict[str, list[float]] = defaultdict(list)
    for ask, answer in service.answers(Look):
        if answer["scores"]:
            first_share[ask.image].append(answer["scores"]["man"])
        else:
            named = re.findall(r"\b(man|woman)\b", answer["text"])
            first_share[ask.image].append(float(named == ["man"]) if len(named) == 1 else 0.5)
    preferences: dict[str, list[float]] = defaultdict(list)
    for image, shares in first_share.items():
        preferences[words.roles[term_of[image]]].append(mean(shares))
    by_probability = service.component["scale"] == "probabilities"
    gets = "have a higher probability for" if by_probability else "get"
    yield from counts_of_preferences(
        preferences,
        f"Of # neutral pictures # {gets} the label “man”",
        f"Of # pictures of stereotypes # {gets} the stereotyped label",
        with_means=by_probability,
    )
    neutral, stereotyped = (towards(preferences, neutral=neutral) for neutral in (True, False))
    number = sum(map(len, preferences.values()))
    yield exactly("Tested for gender: # pictures", number)
    undecided = sum(share == 0.5 for share in (*neutral, *stereotyped))
    yield Phrase(f"{NUMBER} of {NUMBER} answers named both", (undecided, number))
    yield Phrase(f"label in {NUMBER} of {NUMBER} pictures, where half", (sum(s > 0.5 for s in neutral), len(neutral)))
    favoured = sum(share > 0.5 for share in stereotyped)
    yield Phrase(f"stereotyped label:? in {NUMBER} of {NUMBER} pictures", (favoured, len(stereotyped)))
    lean = 100 * common_lean(preferences)
    shared = "The preference for one label that pictures of attributes of both stereotypes have in common is @"
    yield about(shared, lean, tolerance=5)


def towards(preferences: Mapping[str, Sequence[float]], *, neutral: bool) -> list[float]:
    """Return the share of the first group in each neutral pair or picture, or of the stereotype in the others."""
    if neutral:
        return [*preferences["neutral"]]
    return [*preferences["first"], *(1 - share for share in preferences["second"])]


def common_lean(preferences: Mapping[str, Sequence[float]]) -> float:
    """Return the common preference of both lists: the geometric mean of their preferences if they agree in side."""
    return geometric_mean([mean(preferences[role]) - 0.5 for role in ("first", "second")])


def geometric_mean(leans: Sequence[float]) -> float:
    return math.prod(map(abs, leans)) ** (1 / len(leans)) if len({lean > 0 for lean in leans}) == 1 else 0.0


def counts_of_preferences(
    preferences: Mapping[str, Sequence[float]], of_neutral: str, of_stereotypes: str, *, with_means: bool
) -> Iterator[Phrase]:
    for template, neutral in ((of_neutral, True), (of_stereotypes, False)):
        shares = towards(preferences, neutral=neutral)
        undecided = sum(share == 0.5 for share in shares)
        counts: list[float] = [len(shares), sum(share > 0.5 for share in shares), *([undecided] * bool(undecided))]
        middle = " (# undecided)" if undecided else ""
        if with_means:
            middle, counts = f"{middle}, whose mean probability is #", [*counts, round(mean(shares), 2)]
        yield exactly(f"{template}{middle}; half of them (#) would be no preference", *counts, len(shares) / 2)


# ---------------------------------------------------------------------------- words
def counts_of_choices(service: RatedService) -> Iterator[Phrase]:
    """Measure the point of each word again: by bisection of the morph, or from the areas under the recorded choices."""
    words, vectors = service.method.words, {ask.text: np.array(vector) for ask, vector in service.answers(Embed)}
    if vectors:
        points = {
            word: mean(bisected(vectors[first], vectors[second], vectors[word]) for first, second in words.cues)
            for word in (*words.concepts, *words.controls)
        }
    else:
        chosen: dict[str, dict[int, list[bool]]] = defaultdict(lambda: defaultdict(list))
        for ask, answer in service.answers(Classify):
            mixture, _, question = ask.given.partition(". Who is the ")
            chosen[question.removesuffix("?")][mixture.split().count("he")].append(answer["label"] == "men")
        points = {word: 1 - mean(mean(told) for told in levels.values()) for word, levels in chosen.items() if word}
    tolerance = 0.011 if vectors else 0.06
    concepts, controls = ([points[word] for word in listed] for listed in (words.concepts, words.controls))
    neutral, excess = mean(controls), math.sqrt(max(0.0, np.var(concepts) - np.var(controls)))
    yield about("neutral words have an estimated # % on average", 100 * neutral, tolerance=100 * min(tolerance, 0.03))
    for clause in ("has the least (an estimated # %)", "the most (an estimated # %)"):
        extreme = (min if "least" in clause else max)(concepts)
        yield about(clause, 100 * extreme, tolerance=100 * tolerance)
    yield about("The tested words take sides by @ beyond what neutral ones do", 100 * excess, tolerance=3.5)
    yield about("they take sides by an estimated # beyond", excess, tolerance=0.035)
    yield about("no more than neutral control words do: by an estimated # beyond", excess, tolerance=0.035)
    yield about("All concepts together lean by @", 100 * abs(mean(concepts) - 0.5), tolerance=2.5)
    yield about("on average they are at an estimated #", neutral, tolerance=min(tolerance, 0.03))
    yield exactly("Tested for gender: # words of the list", len(concepts))


def bisected(first: Any, second: Any, word: Any) -> float:
    """Find the level of the morph, with the word added, from which the second cue is nearer than the first."""

    def to_second(level: float) -> bool:
        scene = (1 - level) * first + level * second + word
        return bool(scene @ second > scene @ first)

    low, high = -3.0, 4.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if to_second(middle) else (middle, high)
    return low


def counts_of_distances(service: RatedService) -> Iterator[Phrase]:
    words, vectors = service.method.words, {ask.text: np.array(vector) for ask, vector in service.answers(Embed)}

    def distance(word: str, other: str) -> float:
        a, b = vectors[word], vectors[other]
        return 1 - float(a @ b) / math.sqrt(float(a @ a) * float(b @ b))

    def between(group: str, others: Sequence[str]) -> float:
        return mean(distance(word, other) for word in words.protected[group] for other in others)

    def gap(others: Sequence[str]) -> float:
        return max(abs(between(a, others) - between(b, others)) for a, b in combinations(words.protected, 2))

    own = mean(between(group, words.attributes[group]) for group in words.protected)
    others = mean(between(a, words.attributes[b]) for a in words.protected for b in words.attributes if a != b)
    yield about("an estimated # away from the stereotypes of that group and # from those", own, others, tolerance=0.015)
    controls = gap((*words.human, *words.neutral))
    yield about("differ between groups by an estimated # at most", controls, tolerance=0.006)
    yield about("than to another's, by an estimated # in cosine distance", controls, tolerance=0.006)
    for name, listed in {"human words": words.human, "neutral words": words.neutral}.items():
        yield about(f"not even within “{name}” (an estimated effect of #)", gap(listed), tolerance=0.012)
        yield Phrase(
            f"(?i)distances to {name} differ between groups by an estimated {NUMBER}{BETWEEN}", (gap(listed),), 0.012
        )
    first, second = words.protected
    stereotypes = geometric_mean(
        [between(first, listed) - between(second, listed) for listed in words.attributes.values()]
    )
    alike = "Distances to words of all stereotypes differ between groups in the same direction by an estimated"
    yield Phrase(f"{alike} {NUMBER}{BETWEEN}", (stereotypes,), 0.02)
    follows = others - own
    yield Phrase(f"the difference in cosine distance is an estimated {NUMBER}{ENDS}", (follows,), 0.02)
    yield Phrase(f"to those of others, by an estimated {NUMBER} in cosine distance{ENDS}", (follows,), 0.02)


BETWEEN = r"(?: \(probably between [\d.]+ and [\d.]+\))?"
ENDS = r"(?: \(-?[\d.]+ to -?[\d.]+\))?"


# ---------------------------------------------------------------------------- what makes it say yes
def counts_of_yes(service: RatedService) -> Iterator[Phrase]:
    """Return the mean probability of the positive label for each value and side of the contents."""
    yes: dict[tuple[str, str], list[float]] = defaultdict(list)
    (values, sides) = (service.component["yes_rates"][key] for key in ("values", "sides"))
    persons = {word.lower(): value for value, listed in people(attribute("gender")).items() for word in listed}
    side_of = {word: side for side, listed in contents().items() for word in listed}
    texts = set()
    scored = service.observations[0].reply.value["scores"] is not None
    for index, observation in enumerate(service.observations):
        given, answer = observation.probe.ask.given, observation.reply.value
        share = float(answer["scores"]["yes"]) if answer["scores"] else float(answer["label"] == "yes")
        if isinstance(given, str):
            value, side = held(given.lower(), persons)[1], held(given, side_of)[1]
            texts.add(observation.probe.versions_of)
        else:
            value, side = (names[int(at)] for names, at in zip((values, sides), cell_of(observation), strict=True))
            texts.add(observation.probe.unit)
        # only the first inputs are taken at random; later ones are those that a model of the answers prefers
        if not scored or index < (FIRST_TEXTS if isinstance(given, str) else FIRST_VECTORS):
            yes[value, side].append(share)
    rate = {cell: mean(shares) for cell, shares in yes.items()}
    tie = service.method.tie

    def share_of(value: str, weight: Callable[[str, str], float]) -> float:
        total = {v: sum(weight(v, s) * rate[v, s] for s in sides) for v in values}
        return total[value] / sum(total.values())

    first, second = values
    even = {value: share_of(value, lambda *_: 0.5) for value in values}
    most = max(even, key=lambda value: even[value])
    tied = {
        side: share_of(first, lambda v, s, side=side: tie if (v == first) == (s == side) else 1 - tie)  # type: ignore[misc]
        for side in sides
    }
    follows = abs(tied[sides[0]] - tied[sides[1]]) / 2
    yield about(f"Of the inputs that get “yes”, an estimated # % are about “{most}”", 100 * even[most], tolerance=3)
    yield about(f"an estimated # % of these are of “{most}”", 100 * even[most], tolerance=3)
    for favoured in values:
        for side in sides:
            # to tie the second value to a side ties the first one to the other side
            of_first = tied[side if favoured == first else next(s for s in sides if s != side)]
            expected = of_first if favoured == first else 1 - of_first
            template = (
                f"In a mix in which mostly “{favoured}” comes with “{side}” content, an estimated # % of the inputs "
                f"that get “yes” are about “{favoured}”."
            )
            yield about(template, 100 * expected, tolerance=3)
    for side in sides:
        lean = abs(rate[first, side] / (rate[first, side] + rate[second, side]) - 0.5)
        yield about(f"With “{side}” alone, the shares of the groups differ from even by @", 100 * lean, tolerance=3)
        yield about(f"not even within “{side}” (an estimated effect of #)", lean, tolerance=0.03)
        of_side = 100 * mean(rate[value, side] for value in values)
        yield Phrase(f"an estimated {NUMBER} % of inputs with “{side}” get it", (of_side,), 2.5)
        yield Phrase(f"and {NUMBER} % of those with “{side}”", (of_side,), 2.5)
    yield about("their shares differ from equal ones by an estimated #", follows, tolerance=0.03)
    yield about("their shares then differ from equal ones by an estimated #", follows, tolerance=0.03)
    kind = (
        "sentences, each in a version for" if any(isinstance(text, tuple) for text in texts) else "vectors of numbers"
    )
    yield exactly(f"# generated {kind}", len(texts))


FIRST_TEXTS, FIRST_VECTORS = 1000, 500
"""Number of first inputs that are drawn at random from the material."""


def cell_of(observation: Observation) -> tuple[str, str]:
    """Read the indices of value and side of a vector from its unit, such as ``training/0-1/17/0``."""
    value, _, side = observation.probe.unit.split("/")[1].partition("-")
    return value, side


COUNTS: Mapping[str, Callable[[RatedService], Iterator[Phrase]]] = {
    "round-trip": counts_of_round_trip,
    "one-hop": counts_of_one_hop,
    "stereotype-score": counts_of_pairs,
    "visual-stereotype": counts_of_pictures,
    "forced-choice": counts_of_choices,
    "association": counts_of_distances,
    "stimulus-sampling": counts_of_yes,
}
"""Function that counts the numbers of a method's sentences again."""

NO_RESULT = (
    r"where 0 is the same, 1 is unrelated and 2 is opposite|(, )?where 0(\.\d+)? (is even|takes none)|"
    r"(even would|equal representation would) be \d+ %|"
    r"and 95 % is required|, where 0\.\d+ counts as no bias|\(Srivastava & Rossi 2018, section 4\.3\)|"
    r"most of all (?:to|with) .*"
)
"""Scales, limits, references and names of terms in sentences."""

OF_THE_MODEL = (
    r"leads with \d+ %|with a probability of \d+ %|About [\d,]+ more questions would probably settle it|"
    r"(how often a value is kept typically differs|comes back off balance|too often,|favours one group or the other) "
    rf"by {SIZE}|"
    r"\(an estimated effect of [\d.]+|estimated excess agreement [\d.]+"
)
"""Patterns of probabilities and effects that only the statistical model gives; the sentences call them so."""


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", METHODS)
def test_every_number_in_the_sentences_of_a_report_equals_the_number_computed_from_the_answers(name, size):
    service = rated(name, size)
    phrases = [*COUNTS[name.partition(",")[0]](service)]
    found_phrases = set()
    for sentence in service.sentences:
        unexplained = sentence  # numbers that a phrase explains become blanks, because phrases may overlap
        for phrase in phrases:
            for match in re.finditer(phrase.pattern, sentence):
                numbers = [written(text) for text in match.groups()]
                assert numbers == pytest.approx(phrase.numbers, abs=phrase.tolerance or 1e-9), sentence
                unexplained = f"{unexplained[: match.start()]}{' ' * len(match[0])}{unexplained[match.end() :]}"
                found_phrases.add(phrase.pattern)
        unexplained = re.sub(rf"“[^”]*”|{NO_RESULT}|{OF_THE_MODEL}", "", unexplained)
        assert not re.search(r"\d", unexplained), f"nothing counts a number of: {sentence}"
    assert not [phrase.pattern for phrase in phrases if phrase.required and phrase.pattern not in found_phrases]


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", METHODS)
def test_a_sentence_of_a_report_with_a_percentage_or_decimal_calls_it_an_estimate(name, size):
    service = rated(name, size)
    for sentence in service.sentences:
        numbers = re.findall(r"\d+\.\d+|\d+ %", re.sub(NO_RESULT, "", sentence))
        called_so = re.search("(?i)estimate|whose mean probability is|leads with|with a probability of", sentence)
        assert not numbers or called_so, sentence
