"""Services whose bias cancels in a mean; they are defined by their behaviour, not by a model that a method fits.

Each service is a row of docs/what-a-mean-hides.md, or an honest service for comparison. `deserves` holds the letters
that may be declared; a rating may always be inconclusive.
"""

from __future__ import annotations

import hashlib
import itertools
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Any

import numpy as np

from assay.catalog import attribute, occupations
from assay.catalog.profiles import contents, people
from assay.experiment import Session, generator
from assay.methods import Alternation, AnyMethod, OneHop, RoundTrip, StimulusSampling
from assay.methods.shared.profiles import RecordProfiles
from assay.model import Classify, Failure, Finding, Letter, Probe, Regress, Reply, Translate
from tests.support.simulated.base import SimulatedService
from tests.support.simulated.choosers import choice_service
from tests.support.simulated.embedders import association_service
from tests.support.simulated.image_classifiers import picture_service
from tests.support.simulated.language_models import stereotype_service
from tests.support.simulated.translators import THERE

Answer = Callable[[Probe], Reply]
Rng = np.random.Generator

PEOPLE = {word.lower(): value for value, words in people(attribute("gender")).items() for word in words}
SIDES = {word: side for side, words in contents().items() for word in words}
LABOUR = {one.name: one.side for one in occupations()}
FIRST = next(iter(people(attribute("gender"))))
PLEASANT = next(iter(contents()))


@dataclass(frozen=True)
class World:
    """A kind of service, and the letters that may be declared for it; `make` returns its method and its answers."""

    make: Callable[[Rng, float], tuple[AnyMethod, Answer]]
    deserves: frozenset[Letter]
    at_half: frozenset[Letter] | None = None
    """Letters that may be declared at half of the effects, if they differ: halved effects may be within tolerance."""

    @property
    def honest(self) -> bool:
        """Whether the service has no hidden bias, so that BS is never correct."""
        return Letter.BS not in self.deserves

    def deserved(self, size: float) -> frozenset[Letter]:
        """Return the letters that may be declared if the effects are multiplied by `size`."""
        return self.at_half if size <= 0.5 and self.at_half is not None else self.deserves

    def rate(self, seed: int, size: float = 1.0, **fields: Any) -> Finding:
        """Rate the service with its effects multiplied by `size`; `fields` replace defaults of the method."""
        method, answer = self.make(np.random.default_rng([seed, 11]), size)
        session = Session(replace(method, **fields).design(generator(seed)))
        while session.finding is None:
            for probe in session.missing:
                session.accept(probe, answer(probe))
            session.advance()
        return session.finding


AT_TOLERANCE = frozenset(Letter)


def _world(
    method: Callable[[Rng], AnyMethod],
    answer: Callable[[Rng, float], Answer],
    deserves: frozenset[Letter],
    at_half: frozenset[Letter] | None = None,
) -> World:
    return World(lambda rng, size: (method(rng), answer(rng, size)), deserves, at_half)


def chance(*of: object) -> float:
    """Return a pseudo-random number in [0, 1) that is always the same for the same arguments."""
    digest = hashlib.sha256("|".join(map(str, of)).encode()).digest()
    return int.from_bytes(digest[:8], "big") / 2**64


def held(text: str, words: Mapping[str, str]) -> tuple[str, str]:
    """Return the longest key of `words` that a text contains, and its value."""
    found = max((word for word in words if word in text), key=len)
    return found, words[found]


# ---------------------------------------------------------------------------- texts
def _texts(
    effect: Callable[[str, str, str, int], float], noise: float = 0.3, of_person: float = 0.0, of: str = "gender"
) -> Callable[[Rng, float], Answer]:
    """Make a regressor of texts; `effect` is a function of content side, word, frame and the service's random number.

    Answers vary between people with the standard deviation `of_person`, whatever their group; the groups are the
    values of the attribute `of`.
    """
    known = {word.lower(): value for value, words in people(attribute(of)).items() for word in words}

    def make(rng: Rng, size: float) -> Answer:
        own = int(rng.integers(2**31))

        def answer(probe: Probe) -> Reply:
            assert isinstance(probe.ask, Regress)
            text = str(probe.ask.given)
            person, value = held(text.lower(), known)
            word, side = held(text, SIDES)
            frame = text.lower().replace(person, "").replace(word, "")
            towards = 0.5 if value == FIRST else -0.5
            base = (0.8 if side == PLEASANT else -0.8) + chance("word", word) - 0.5
            base += of_person * math.sqrt(12) * (chance("person", person, own) - 0.5)
            return Reply(base + size * towards * effect(side, word, frame, own) + noise * rng.standard_normal())

        return answer

    return make


def _classes(turned: Callable[[str, str, int, Rng], float], *, cached: bool = False) -> Callable[[Rng, float], Answer]:
    """Make a classifier of texts that returns the label of the content's side, and for some texts the other label.

    It returns the other label if the result of `turned`, in [0, 1), is below .3 times the size; `turned` is called
    with value, text, the service's random number and generator. If `cached`, repeated questions get the first answer.
    """

    def make(rng: Rng, size: float) -> Answer:
        own = int(rng.integers(2**31))
        answered: dict[str, Reply] = {}

        def answer(probe: Probe) -> Reply:
            assert isinstance(probe.ask, Classify)
            text = str(probe.ask.given)
            if cached and text in answered:
                return answered[text]
            _, value = held(text.lower(), PEOPLE)
            pleasant = held(text, SIDES)[1] == PLEASANT
            other = turned(value, text, own, rng) < 0.3 * size
            answered[text] = Reply({"label": "positive" if pleasant != other else "negative", "scores": None})
            return answered[text]

        return answer

    return make


def _without_person(text: str) -> str:
    return text.lower().replace(held(text.lower(), PEOPLE)[0], "")


def _alternated(_: Rng) -> AnyMethod:
    return Alternation("gender", answers="numbers")


def _classified(_: Rng) -> AnyMethod:
    return Alternation("gender", answers="labels")


def _alternated_religions(_: Rng) -> AnyMethod:
    return Alternation("religion", answers="numbers")


def _sign(*of: object) -> float:
    return 1.0 if chance(*of) < 0.5 else -1.0


# ---------------------------------------------------------------------------- records
def _table(rng: Rng, rows: int, distinct: int | None, groups: Sequence[str]) -> tuple[dict[str, Any], ...]:
    made = [
        {
            "sex": groups[int(rng.integers(len(groups)))],
            "x": round(float(rng.standard_normal()), 3),
            "z": round(float(rng.standard_normal()), 3),
            "job": "abcd"[int(rng.integers(4))],
        }
        for _ in range(distinct or rows)
    ]
    return tuple(made[int(rng.integers(len(made)))] for _ in range(rows)) if distinct else tuple(made)


def _recorded(
    distinct: int | None = None, *, dated: bool = False, rows: int = 3000, groups: Sequence[str] = ("woman", "man")
) -> Callable[[Rng], AnyMethod]:
    """Return a function that makes a method with a random table; if `dated`, the column x is a date written as text."""

    def make(rng: Rng) -> AnyMethod:
        table = _table(rng, rows, distinct, groups)
        if dated:
            table = tuple(row | {"x": str(FIRST_DAY + timedelta(round(4000 * row["x"])))} for row in table)
        return Alternation("sex", answers="numbers", records=RecordProfiles("sex", tuple(groups), table))

    return make


def _records(
    output: Callable[[dict[str, Any], float, float], float | None], noise: float = 0.3
) -> Callable[[Rng, float], Answer]:
    """Make a regressor of records; `output` is a function of row, effect size for women (0 for men) and noise."""

    def make(rng: Rng, size: float) -> Answer:
        def answer(probe: Probe) -> Reply:
            assert isinstance(probe.ask, Regress)
            row: dict[str, Any] = dict(probe.ask.given)  # type: ignore[arg-type]
            told = output(row, size if row["sex"] == "woman" else 0.0, noise * float(rng.standard_normal()))
            return Reply(told) if told is not None else Reply(failure=Failure("http-422", "refused"))

        return answer

    return make


def _drifting(rng: Rng, _: float) -> Answer:
    """Make a regressor whose answers rise with every question."""
    asked = itertools.count()

    def answer(probe: Probe) -> Reply:
        assert isinstance(probe.ask, Regress)
        row: dict[str, Any] = dict(probe.ask.given)  # type: ignore[arg-type]
        return Reply(row["z"] + next(asked) / 5000 + 0.3 * float(rng.standard_normal()))

    return answer


def _even(added: Callable[[Rng, int], float]) -> Callable[[Rng, float], Answer]:
    """Make a regressor that ignores the group; `added` returns an amount to add, from generator and call number."""

    def made(rng: Rng, _: float) -> Answer:
        calls = itertools.count()

        def answer(probe: Probe) -> Reply:
            assert isinstance(probe.ask, Regress)
            row: dict[str, Any] = dict(probe.ask.given)  # type: ignore[arg-type]
            return Reply(row["z"] + 0.3 * float(rng.standard_normal()) + added(rng, next(calls)))

        return answer

    return made


def _other_again(later: Callable[[dict[str, Any], Rng], float]) -> Callable[[Rng, float], Answer]:
    """Make a regressor that shifts women up or down at random; `later` is added to repeated answers."""

    def made(rng: Rng, size: float) -> Answer:
        seen: set[object] = set()

        def answer(probe: Probe) -> Reply:
            assert isinstance(probe.ask, Regress)
            row: dict[str, Any] = dict(probe.ask.given)  # type: ignore[arg-type]
            told = row["z"] + (0.5 * size * _sign("again", row["x"], row["z"]) if row["sex"] == "woman" else 0.0)
            if probe.ask.given in seen:
                told += later(row, rng)
            seen.add(probe.ask.given)
            return Reply(told)

        return answer

    return made


TEN = tuple(f"group {place}" for place in range(10))

FIRST_DAY = date(1980, 1, 1)
"""Median date of tables with dates."""


def _pay(row: dict[str, Any]) -> float:
    return float(row["z"]) + 0.35 * (ord(row["job"]) - ord("a"))


# ---------------------------------------------------------------------------- translators
PAIRS = (("he", "she"), ("him", "her"), ("his", "her"), ("himself", "herself"))


def _turned(sentence: str, value: str) -> str:
    for he, she in PAIRS:
        old, new = (she, he) if value == "he" else (he, she)
        sentence = re.sub(rf"\b{old}\b", new, sentence)
        sentence = re.sub(rf"\b{old.capitalize()}\b", new.capitalize(), sentence)
    return sentence


def _translator(
    back: Callable[..., str | None],
) -> Callable[[Rng, float], Answer]:
    """Make a translator; `back` returns the pronoun of a back-translated sentence, or ``None`` to refuse the text.

    Arguments of `back`: occupation, pronoun, the service's random number, size, generator, frame, sentence number.
    """

    def make(rng: Rng, size: float) -> Answer:
        own = int(rng.integers(2**31))

        def answer(probe: Probe) -> Reply:
            assert isinstance(probe.ask, Translate)
            if probe.ask.target != "en":
                return Reply(" ".join(f"x{word}" for word in probe.ask.text.split(" ")))
            english = " ".join(word[1:] for word in probe.ask.text.split(" "))
            made = []
            for place, sentence in enumerate(re.split(r"(?<=[.!?]) ", english)):
                occupation = max((name for name in LABOUR if name in sentence.lower()), key=len)
                value = "he" if re.search(r"\b(he|him|his|himself)\b", sentence, re.IGNORECASE) else "she"
                frame = _frame_of(sentence, occupation)
                turned = back(occupation, value, own, size, rng, frame, place)
                if turned is None:
                    return Reply(failure=Failure("http-422", "refused"))
                made.append(sentence if turned == value else _turned(sentence, turned))
            return Reply(" ".join(made))

        return answer

    return make


def _overriding(occupation: str, value: str, own: int, size: float, *_: object) -> str:
    if chance("decides", occupation, own) < 0.45 * size:
        return LABOUR[occupation] or value
    return value


def _of_women(occupation: str, value: str, _: int, size: float, rng: Rng, *__: object) -> str:
    return "he" if LABOUR[occupation] == "she" and rng.random() < 0.4 * size else value


def _of_frames(_: str, value: str, __: int, size: float, rng: Rng, frame: str, ___: int) -> str:
    return ("he" if _early(frame) else "she") if rng.random() < 0.4 * size else value


def _of_places(_: str, value: str, __: int, size: float, rng: Rng, ___: str, place: int) -> str:
    return ("he", "she")[place] if rng.random() < 0.4 * size else value


def _frame_of(sentence: str, occupation: str) -> str:
    """Return a sentence without its occupation, articles and pronouns."""
    words = sentence.lower().replace(occupation, "").split()
    return " ".join(word for word in words if word not in {"a", "an", "he", "she"})


def _losing(occupation: str, value: str, own: int, _: float, rng: Rng, *__: object) -> str:
    return ("he", "she")[int(rng.integers(2))] if chance("lost", occupation, own) < 0.5 else value


def _early(frame: str) -> bool:
    """Return whether a frame belongs to the first of two random halves of the frames."""
    return chance("side", frame) < 0.5


def _marking(of_frame: float, of_stereotype: float = 0.0) -> Callable[[Rng, float], Answer]:
    """Make a translator to Spanish that favours men and stereotypes in half of the frames; elsewhere the opposites."""

    def make(rng: Rng, size: float) -> Answer:
        def answer(probe: Probe) -> Reply:
            assert isinstance(probe.ask, Translate)
            occupation = max((name for name in LABOUR if name in probe.ask.text.lower()), key=len)
            towards = of_frame + (of_stereotype if LABOUR[occupation] == "he" else -of_stereotype)
            early = _early(_frame_of(probe.ask.text, occupation))
            he = rng.random() < 0.5 + (towards if early else -towards) * size
            rest = probe.ask.text.removeprefix("The ").translate(THERE)
            return Reply(f"{'El' if he else 'La'} {rest}")

        return answer

    return make


def _random_override(occupation: str, value: str, own: int, size: float, *_: object) -> str:
    if chance("decides", occupation, own) < 0.45 * size:
        return "he" if chance("way", occupation, own) < 0.5 else "she"
    return value


# ---------------------------------------------------------------------------- preferences shared by both stereotypes
Shared = Callable[..., SimulatedService]


def _sharing(service: Shared, common: float, **fields: Any) -> Callable[[Rng, float], tuple[AnyMethod, Answer]]:
    """Make a service that prefers the same group, by `common`, for the words of every stereotype."""

    def make(rng: Rng, size: float) -> tuple[AnyMethod, Answer]:
        made = service(0.0, 0.0, int(rng.integers(2**31)), common=common * size, **fields)
        return made.method, lambda probe: made.answer(probe.ask)

    return make


def _refusing_pictures(rng: Rng, size: float) -> tuple[AnyMethod, Answer]:
    made = picture_service(0.0, 0.0, int(rng.integers(2**31)), kind="labels", refused=0.35 * size)
    return made.method, lambda probe: made.answer(probe.ask)


def _by_frame(apart: str) -> Callable[[Rng, float], tuple[AnyMethod, Answer]]:
    def make(rng: Rng, size: float) -> tuple[AnyMethod, Answer]:
        leans: Any = {apart: size}
        made = stereotype_service(0.0, 0.0, int(rng.integers(2**31)), rung="echo", **leans)
        return made.method, lambda probe: made.answer(probe.ask)

    return make


def _spaced(rng: Rng, step_2: float = 0.0, **fields: Any) -> tuple[AnyMethod, Answer]:
    made = association_service(0.0, step_2, int(rng.integers(2**31)), **fields)
    return made.method, lambda probe: made.answer(probe.ask)


# ---------------------------------------------------------------------------- stimulus sampling
def _yes(share: Callable[[float, float, float], float]) -> Callable[[Rng, float], Answer]:
    """Make a classifier of texts; `share(value, side, size)` multiplies P(yes), where value and side are 1 or -1."""

    def make(rng: Rng, size: float) -> Answer:
        def answer(probe: Probe) -> Reply:
            assert isinstance(probe.ask, Classify)
            text = str(probe.ask.given)
            value = 1.0 if held(text.lower(), PEOPLE)[1] == FIRST else -1.0
            side = 1.0 if held(text, SIDES)[1] == PLEASANT else -1.0
            yes = min(1.0, 0.2 * share(value, side, size) * math.exp(0.2 * rng.standard_normal()))
            return Reply({"label": None, "scores": {"no": 1 - yes, "yes": yes}})

        return answer

    return make


def _denying(share: Callable[[float, float, float], float]) -> Callable[[Rng, float], Answer]:
    """Make a classifier that returns labels only; `share(value, side, size)` is P(no), with value and side 1 or -1."""

    def make(rng: Rng, size: float) -> Answer:
        def answer(probe: Probe) -> Reply:
            assert isinstance(probe.ask, Classify)
            text = str(probe.ask.given)
            value = 1.0 if held(text.lower(), PEOPLE)[1] == FIRST else -1.0
            side = 1.0 if held(text, SIDES)[1] == PLEASANT else -1.0
            return Reply({"label": "no" if rng.random() < share(value, side, size) else "yes"})

        return answer

    return make


def _sampled(_: Rng) -> AnyMethod:
    return StimulusSampling("gender")


def _round_trip(_: Rng) -> AnyMethod:
    return RoundTrip("gender")


def _one_hop(_: Rng) -> AnyMethod:
    return OneHop("gender")


def _letters(*letters: Letter) -> frozenset[Letter]:
    return frozenset(letters)


THREE = ("one", "two", "three")
"""Names of the groups of tables with three groups."""

BS, DSBS, UCS = Letter.BS, Letter.DSBS, Letter.UCS

WORLDS: Mapping[str, World] = {
    # texts: effects are in units of the spread between contents
    "texts, opposite by side": _world(
        _alternated, _texts(lambda side, *_: 0.4 if side == PLEASANT else -0.4), _letters(BS)
    ),
    "texts, opposite by word": _world(
        _alternated, _texts(lambda _, word, __, own: 0.8 * _sign("w", word, own)), _letters(BS)
    ),
    "texts, names differ": _world(_alternated, _texts(lambda *_: 0.0, of_person=0.3), _letters(UCS, DSBS)),
    "texts, temperature": _world(_alternated, _texts(lambda *_: 0.0, noise=1.5), _letters(UCS, DSBS)),
    "texts, five groups, names differ": _world(
        _alternated_religions, _texts(lambda *_: 0.0, of_person=0.6, of="religion"), _letters(UCS, DSBS)
    ),
    "texts, labels turned for one group by sentence": _world(
        _classified,
        _classes(lambda value, text, own, _: 1.0 if value == FIRST else chance(_without_person(text), own)),
        _letters(BS),
    ),
    "texts, labels turned for one group by sentence and person": _world(
        _classified, _classes(lambda value, text, own, _: 1.0 if value == FIRST else chance(text, own)), _letters(BS)
    ),
    "texts, labels follow the person in each sentence": _world(
        _classified, _classes(lambda _, text, own, __: chance(text, own)), _letters(UCS, DSBS)
    ),
    "texts, labels at random": _world(
        _classified, _classes(lambda _, __, ___, rng: float(rng.random())), _letters(UCS, DSBS)
    ),
    "texts, labels at random, repeated ones from a cache": _world(
        _classified, _classes(lambda _, __, ___, rng: float(rng.random()), cached=True), _letters(UCS, DSBS)
    ),
    # half of this effect is a quarter of the standard deviation, which equals the tolerance
    "texts, moved at random by sentence": _world(
        _alternated,
        _texts(lambda _, word, frame, own: 2 * _sign("moved", word, frame, own) * (chance("far", word, frame) + 0.1)),
        _letters(BS),
        AT_TOLERANCE,
    ),
    "texts, honest": _world(_alternated, _texts(lambda *_: 0.0), _letters(DSBS)),
    # records
    "records, opposite by a number": _world(
        _recorded(), _records(lambda row, women, noise: row["z"] + noise + 0.6 * women * _side(row)), _letters(BS)
    ),
    "records, 20 % less of a skewed amount": _world(
        _recorded(),
        _records(lambda row, women, noise: math.exp(1.3 * _pay(row) + noise) * (1 - 0.2 * women)),
        _letters(BS),
    ),
    "records, 20 % less of amounts that are mostly 0": _world(
        _recorded(),
        _records(
            lambda row, women, noise: (
                0.0 if chance(row["x"], row["z"], "none") < 0.9 else math.exp(_pay(row) + noise) * (1 - 0.2 * women)
            )
        ),
        _letters(BS),
    ),
    "records, 20 % less of amounts above a common least one": _world(
        _recorded(),
        _records(
            lambda row, women, noise: (
                10.0
                + (
                    0.0
                    if chance(row["x"], row["z"], "none") < 0.9
                    else math.exp(_pay(row) + noise + 2) * (1 - 0.2 * women)
                )
            )
        ),
        _letters(BS),
        AT_TOLERANCE,
    ),
    "records, 30 % less of amounts above two common ones": _world(
        _recorded(),
        _records(
            lambda row, women, noise: (
                (10.0, 20.0)[int(chance(row["x"], row["z"], "which") < 0.5)]
                if chance(row["x"], row["z"], "none") < 0.9
                else 20.0 + math.exp(_pay(row) + noise + 2) * (1 - 0.3 * women)
            )
        ),
        _letters(BS),
        AT_TOLERANCE,
    ),
    "records, opposite by a date": _world(
        _recorded(dated=True),
        _records(lambda row, women, noise: row["z"] + noise + 0.6 * women * (1 if row["x"] > str(FIRST_DAY) else -1)),
        _letters(BS),
    ),
    "records, 8 % less wage": _world(
        _recorded(),
        _records(lambda row, women, _: math.exp(_pay(row)) * (1 - 0.08 * women)),
        _letters(BS),
        _letters(UCS),
    ),
    "records, unknown is coded 9999": _world(
        _recorded(),
        _records(
            lambda row, women, noise: (
                9999.0 if chance(row["x"], row["z"]) < 0.048 else 100 + 10 * (row["z"] + noise) - 3.1 * women
            )
        ),
        _letters(BS),
    ),
    # half of this effect is a quarter of the standard deviation, which equals the tolerance
    "records, noise only when asked again": _world(
        _recorded(), _other_again(lambda _, rng: 0.6 * float(rng.standard_normal())), _letters(BS), AT_TOLERANCE
    ),
    "records, another answer from the second time on": _world(
        _recorded(),
        _other_again(lambda row, _: 2 * chance("cached", sorted(row.items())) - 1),
        _letters(BS),
        AT_TOLERANCE,
    ),
    "records, a few wild answers when asked again": _world(
        _recorded(),
        _other_again(lambda _, rng: 5 * float(rng.standard_normal()) if rng.random() < 0.04 else 0.0),
        _letters(BS),
        AT_TOLERANCE,
    ),
    "records, a few wild answers at any time": _world(
        _recorded(), _even(lambda rng, _: 12.0 if rng.random() < 0.002 else 0.0), _letters(UCS, DSBS)
    ),
    "records, noise with heavy tails": _world(
        _recorded(), _even(lambda rng, _: 0.6 * float(rng.standard_t(3))), _letters(UCS, DSBS)
    ),
    "records, two replicas in turn": _world(_recorded(), _even(lambda _, turn: 0.15 * (turn % 2)), _letters(UCS, DSBS)),
    "records, one group refused": _world(
        _recorded(),
        _records(lambda row, women, noise: None if women * 0.175 > chance(row, noise) else row["z"] + noise),
        _letters(BS),
    ),
    "records, the same rows again and again": _world(
        _recorded(distinct=200),
        _records(lambda row, _, __: row["z"] + 0.3 * (chance("row", sorted(row.items())) - 0.5), noise=0.0),
        _letters(UCS, DSBS),
    ),
    "records, refused by group and content": _world(
        _recorded(),
        _records(
            lambda row, women, noise: None if women * 0.35 * (row["x"] > 0) > chance(row, noise) else row["z"] + noise
        ),
        _letters(BS),
    ),
    "records, both groups refused alike": _world(
        _recorded(),
        _records(lambda row, _, noise: None if chance(row, noise) < 0.05 else row["z"] + noise),
        _letters(UCS, DSBS),
    ),
    "records, heavy tails": _world(
        _recorded(), _records(lambda row, _, noise: row["z"] + math.copysign(noise**2, noise) * 3), _letters(UCS, DSBS)
    ),
    "records, noisier for one group": _world(
        _recorded(),
        _records(lambda row, _, noise: row["z"] + noise * (3 if row["sex"] == "woman" else 1)),
        _letters(UCS, DSBS),
    ),
    "records, drift": _world(_recorded(), _drifting, _letters(UCS, DSBS)),
    "records, a hundred amounts with noise": _world(
        _recorded(rows=100), _records(lambda row, _, noise: math.exp(row["z"] + noise), 1.0), _letters(UCS, DSBS)
    ),
    "records, a hundred for ten groups, with noise": _world(
        _recorded(rows=100, groups=TEN), _records(lambda row, _, noise: row["z"] + noise, 1.0), _letters(UCS, DSBS)
    ),
    "records, honest": _world(_recorded(), _records(lambda row, _, noise: row["z"] + noise), _letters(UCS, DSBS)),
    # translators
    # half of this effect is .11 within either side, and the tolerance is .1
    "translator, occupations by labour": _world(_round_trip, _translator(_overriding), _letters(BS), AT_TOLERANCE),
    "translator, occupations at random": _world(_round_trip, _translator(_random_override), _letters(BS), AT_TOLERANCE),
    "translator, occupations of women alone": _world(_round_trip, _translator(_of_women), _letters(BS), AT_TOLERANCE),
    "translator, frames turned opposite ways": _world(_round_trip, _translator(_of_frames), _letters(BS), AT_TOLERANCE),
    "translator, one frame of eight turned": _world(
        _round_trip,
        _translator(
            lambda _, value, __, size, rng, frame, *___: "he" if "training" in frame and rng.random() < size else value
        ),
        _letters(BS),
        AT_TOLERANCE,
    ),
    "translator, first and second sentence turned opposite ways": _world(
        _round_trip, _translator(_of_places), _letters(BS), AT_TOLERANCE
    ),
    "translator, gender of half of the jobs lost": _world(_round_trip, _translator(_losing), _letters(UCS, DSBS)),
    "one translation, frames turned opposite ways": _world(_one_hop, _marking(0.2), _letters(BS), AT_TOLERANCE),
    "one translation, stereotypes turned by the frame": _world(
        _one_hop, _marking(0.0, 0.25), _letters(DSBS), AT_TOLERANCE
    ),
    "one translation, honest": _world(_one_hop, _marking(0.0), _letters(UCS)),
    "translator, one group refused": _world(
        _round_trip,
        _translator(
            lambda _, value, __, size, rng, *___: None if value == "she" and rng.random() < 0.175 * size else value
        ),
        _letters(BS),
    ),
    "translator, refused by group and job": _world(
        _round_trip,
        _translator(
            lambda job, value, __, size, rng, *_: (
                None if (value, LABOUR[job]) == ("she", "he") and rng.random() < 0.3 * size else value
            )
        ),
        _letters(BS),
        AT_TOLERANCE,  # one occupation in five is mostly male, and a text is sent twice: .05 lost at half size
    ),
    "translator, temperature": _world(
        _round_trip,
        _translator(
            lambda _, value, __, ___, rng, *____: ("he", "she")[int(rng.integers(2))] if rng.random() < 0.3 else value
        ),
        _letters(UCS, DSBS),
    ),
    "translator, honest": _world(_round_trip, _translator(lambda _, value, *__: value), _letters(DSBS)),
    # stimulus sampling
    "yes, opposite by side": _world(
        _sampled, _yes(lambda value, side, size: 1 + 0.5 * size * value * side), _letters(BS)
    ),
    "yes, rare": _world(_sampled, _yes(lambda *_: 0.05), _letters(UCS)),
    "yes, a common one that denies one group more": _world(
        _sampled, _denying(lambda value, _, size: 0.06 * 2 ** (1.5 * size * value)), _letters(BS)
    ),
    "yes, common": _world(_sampled, _denying(lambda *_: 0.06), _letters(UCS)),
    "yes, where pleasant, seldom missed, one group more often": _world(
        _sampled,
        _denying(lambda value, side, size: 0.05 * 2 ** (1.25 * size * value) if side > 0 else 0.95),
        _letters(BS),
    ),
    "yes, where pleasant, seldom missed": _world(
        _sampled, _denying(lambda _, side, __: 0.05 if side > 0 else 0.95), _letters(DSBS)
    ),
    "yes, hardly where unpleasant": _world(
        _sampled, _denying(lambda _, side, __: 0.8 if side > 0 else 0.99), _letters(DSBS)
    ),
    "yes, honest": _world(_sampled, _yes(lambda *_: 1.0), _letters(UCS)),
    # language models, image classifiers, word spaces: biased for words of both stereotypes, not for neutral words
    "sentences, one group preferred in both lists": World(
        _sharing(stereotype_service, 0.2, rung="echo"), _letters(BS), AT_TOLERANCE
    ),
    "sentences, frames lean to the groups in turn": World(_by_frame("frames_apart"), _letters(BS), AT_TOLERANCE),
    "sentences, words of stereotypes lean to the groups by frame": World(
        _by_frame("tied_apart"), _letters(BS), AT_TOLERANCE
    ),
    "sentences, stereotypes turn with the frame": World(_by_frame("stereotypes_apart"), _letters(DSBS), AT_TOLERANCE),
    "sentences, words of a group differ": World(
        _sharing(stereotype_service, 0.0, rung="echo", groups_apart=1.0), _letters(UCS)
    ),
    "sentences, forty neutral words": World(_sharing(stereotype_service, 0.0, rung="echo", neutral=40), _letters(UCS)),
    "sentences, honest": World(_sharing(stereotype_service, 0.0, rung="echo"), _letters(UCS)),
    "pictures, one label preferred in both lists": World(
        _sharing(picture_service, 0.2, kind="labels"), _letters(BS), AT_TOLERANCE
    ),
    "pictures, one list refused": World(_refusing_pictures, _letters(BS)),
    "pictures, honest": World(_sharing(picture_service, 0.0, kind="labels"), _letters(UCS)),
    "distances, one group nearer to all stereotypes": World(
        _sharing(association_service, 0.1), _letters(BS), AT_TOLERANCE
    ),
    "distances, human and neutral words lean apart": World(
        lambda rng, size: _spaced(rng, controls_apart=0.12 * size), _letters(BS), AT_TOLERANCE
    ),
    "distances, stereotypes of others are nearer": World(lambda rng, size: _spaced(rng, -0.15 * size), _letters(DSBS)),
    "distances, one of three groups is nearer to others' stereotypes": World(
        lambda rng, size: _spaced(rng, names=THREE, crossed=0.12 * size), _letters(DSBS), AT_TOLERANCE
    ),
    "distances, three groups, honest": World(lambda rng, _: _spaced(rng, names=THREE), _letters(UCS)),
    "distances, honest": World(_sharing(association_service, 0.0), _letters(UCS)),
    "choices, both sides lean to one group": World(
        _sharing(choice_service, 0.1, sided=True), _letters(BS), AT_TOLERANCE
    ),
    "choices, control words lean as far by turns": World(
        _sharing(choice_service, 0.0, apart=0.1, sided=True), _letters(DSBS)
    ),
    "choices, honest": World(_sharing(choice_service, 0.0, sided=True), _letters(UCS)),
}


def _side(row: Mapping[str, Any]) -> float:
    return 1.0 if row["x"] > 0 else -1.0
