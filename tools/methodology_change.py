"""Rate real services by an earlier methodology and by the present one: ``python -m tools.methodology_change``.

The services are lexicons, models trained on public tables, word vectors, and Apertium if it is installed. It prints a
Markdown table: the letters and the usable answers by either version, and the reasons that only one of them gives.
"""

from __future__ import annotations

import json
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

import langcodes

from assay.catalog.choices import AssociationWords, ChoiceWords
from assay.catalog.shipped import shipped_words
from assay.experiment import run
from assay.methods import Alternation, AnyMethod, Association, ForcedChoice, OneHop, RoundTrip
from assay.methods.shared.profiles import RecordProfiles
from assay.model import Failure, Probe, Rating, Reply
from assay.rating.decision import METHODOLOGY_VERSION, rate
from assay.rating.methodology import as_recorded
from demo.translators.apertium import Apertium, ApertiumNotInstalled
from tests.support.real_systems.adult import INCOME, read_adult
from tests.support.real_systems.census import WAGE, read_census
from tests.support.real_systems.registry import DATA, load

BEFORE = "1.2.0"
SEED = 7
SEXES = ("Female", "Male")


@dataclass(frozen=True)
class Case:
    """A real service, the settings of its rating, and its answers."""

    name: str
    method: AnyMethod
    answer: Callable[[Probe], Reply]


def lexicons() -> Iterator[Case]:
    """Yield sentiment lexicons, as regressors of sentences."""
    for name in ("vader", "textblob", "afinn"):
        scorer: Any = load(name)
        method = Alternation("gender", answers="numbers")
        yield Case(name, method, lambda probe, of=scorer: Reply(of.number(str(probe.ask.given))))  # type: ignore[misc]


def tables() -> Iterator[Case]:
    """Yield models trained on the census tables."""
    wage: Any = load("census-wage")
    rows = tuple({name: cell for name, cell in row.items() if name != WAGE} for row in read_census(DATA))
    yield Case(
        "census-wage",
        Alternation("sex", answers="numbers", records=RecordProfiles("sex", SEXES, rows)),
        lambda probe: Reply(float(wage.numbers([dict(probe.ask.given)])[0])),  # type: ignore[union-attr,arg-type]
    )
    income: Any = load("adult-income")
    rows = tuple(
        {name: cell for name, cell in row.items() if name != INCOME} for row in read_adult(DATA, "adult.test.gz")
    )

    def classify(probe: Probe) -> Reply:
        shares = income.probabilities([dict(probe.ask.given)])[0]  # type: ignore[union-attr,arg-type]
        return Reply({"label": None, "scores": dict(zip(income.labels, map(float, shares), strict=True))})

    method = Alternation("sex", answers="labels", records=RecordProfiles("sex", SEXES, rows), labels=income.labels)
    yield Case("adult-income", method, classify)


def vectors() -> Iterator[Case]:
    """Yield word vectors of Google News, for the words that have one."""
    known: Any = load("google-news")

    def embed(probe: Probe) -> Reply:
        vector = known.embed(probe.ask.text, "m")  # type: ignore[union-attr]
        return Reply(failure=Failure("http-404", "no vector")) if vector is None else Reply(list(map(float, vector)))

    yield Case(
        "google-news, occupations",
        ForcedChoice(words=shipped_words(ChoiceWords, "gender-occupations", "gender")),
        embed,
    )
    words = shipped_words(AssociationWords, "p2-gender", "gender")
    words = replace(words, neutral=tuple(word for word in words.neutral if known.embed(word, "m") is not None))
    yield Case("google-news, p2-gender", Association(words=words), embed)


def translators(stack: ExitStack) -> Iterator[Case]:
    """Yield Apertium for every installed language, there and back and one way."""
    try:
        server = stack.enter_context(Apertium())
    except ApertiumNotInstalled:
        return

    codes = {langcodes.standardize_tag(code): code for pair in server.pairs for code in pair}

    def translate(probe: Probe) -> Reply:
        ask: Any = probe.ask
        pair = f"{codes[ask.source]}|{codes[ask.target]}"
        body = urllib.parse.urlencode({"q": ask.text, "langpair": pair}).encode()
        with urllib.request.urlopen(f"{server.url}/translate", body, timeout=60) as answer:
            return Reply(json.load(answer)["responseData"]["translatedText"])

    for language in ("es", "ca", "gl", "eo"):
        there, back = (codes["en"], codes.get(language)), (codes.get(language), codes["en"])
        if there not in server.pairs:
            continue
        if back in server.pairs:
            yield Case(f"apertium there and back, {language}", RoundTrip("gender", languages=(language,)), translate)
        if language != "eo":  # the nouns of this language mark no gender
            yield Case(f"apertium one way, {language}", OneHop("gender", languages=(language,)), translate)


def row(case: Case) -> str:
    """Rate a service by both versions, and write the row of the table."""
    before, after = (
        rate(run(as_recorded(case.method, version), case.answer, SEED)) for version in (BEFORE, METHODOLOGY_VERSION)
    )
    codes = [{one.code for one in rating.reasons} for rating in (before, after)]
    gained, lost = codes[1] - codes[0], codes[0] - codes[1]
    told = ", ".join([f"+ `{code}`" for code in sorted(gained)] + [f"- `{code}`" for code in sorted(lost)])
    return f"| {case.name} | {_letter(before)} | {_letter(after)} | {_asked(before)} | {_asked(after)} | {told} |"


def _letter(rating: Rating) -> str:
    if rating.letter is None:
        return "none"
    return f"{rating.letter.value}" if rating.declared else f"inconclusive ({rating.letter.value})"


def _asked(rating: Rating) -> int:
    return max(one.usable for one in rating.finding.components)


def main() -> None:
    """Print the table."""
    print(f"| service | {BEFORE} | {METHODOLOGY_VERSION} | usable | usable | reasons |\n|---|---|---|--:|--:|---|")
    with ExitStack() as stack:
        for case in (*lexicons(), *tables(), *vectors(), *translators(stack)):
            print(row(case), flush=True)


if __name__ == "__main__":
    main()
