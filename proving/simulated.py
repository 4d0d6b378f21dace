"""Simulated services whose bias is known to the last digit: what calibration and recovery tests ask.

Each is a `World`: a method to rate with, a function that answers its questions, the letter that is right, and the
true values of what the findings state with intervals. A world is made anew from a seed, so that a thousand
of them show whether a stated interval holds the truth as often as it says.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from assay.cases import Case, RecordProfiles, TextProfiles, text_cases
from assay.catalog.choices import AssociationWords, ChoiceWords
from assay.experiment import Session, generator
from assay.methods import Alternation, AnyMethod, Association, ForcedChoice, OneHop, RoundTrip
from assay.model import Ask, Classify, Embed, Finding, Letter, Regress, Reply
from assay.scoring import RUNGS
from assay.statistics.transition import neutral_effects, step_effects
from assay.trials import Questions
from proving.simulated_models import drawn_model, stereotype_world
from proving.simulated_pictures import picture_world
from proving.simulated_sampling import SAMPLING_WORLDS
from proving.translators import one_hop_answer, round_trip_answer

Answer = Callable[[Ask], Reply]
Rng = np.random.Generator


@dataclass(frozen=True)
class World:
    """A service to be rated, and the truth about it.

    Attributes
    ----------
    method : AnyMethod
        How it is rated.
    answer : callable
        What it answers.
    letter : Letter
        The right letter.
    truths : mapping of str to float
        By a dotted path into the component's effects and detail: what the interval there is of.
    """

    method: AnyMethod
    answer: Answer
    letter: Letter
    truths: Mapping[str, float] = field(default_factory=dict)

    def rate(self, seed: int) -> Finding:
        """Run the experiment."""
        session = Session(self.method.design(generator(seed)))
        while session.finding is None:
            for probe in session.missing:
                session.accept(probe, self.answer(probe.ask))
            session.advance()
        return session.finding


def letter_of(step_1: float, step_2: float, delta: float) -> Letter:
    """Give the letter that two true effects deserve."""
    if step_1 > delta:
        return Letter.BS
    return Letter.DSBS if step_2 > delta else Letter.UCS


# ---------------------------------------------------------------------------- alternation
@dataclass(frozen=True)
class Latent:
    """An output put together from everything a profile holds; its population variance is one.

    Attributes
    ----------
    shift : float
        Added where the attribute has its second value.
    side : float
        Added where the content is on the second side.
    """

    shift: float
    side: float
    person: float = 0.4
    frame: float = 0.3
    content: float = 0.05
    response: float = 0.05
    single: float = 0.15

    @property
    def noise(self) -> float:
        """What is left for each profile, whatever its value."""
        taken = self.shift**2 / 4 + self.side**2 / 4 + self.person**2 + self.frame**2 + self.content**2
        return math.sqrt(max(1e-4, 1 - taken - self.response**2 / 2 - self.single**2))


def text_world(step_1: float, step_2: float, seed: int, *, kind: str) -> World:
    """Make a classifier or regressor of texts; effects are in standard deviations of the output.

    Parameters
    ----------
    step_1 : float
        True paired difference between the two values.
    step_2 : float
        True gap between the groups of a block where .9 of one side is tied to each.
    seed : int
        Of everything that is drawn.
    kind : str
        ``numbers``, ``scores`` or ``labels``.
    """
    rng = np.random.default_rng([seed, 1])
    tie = 0.9
    # the gap of a block that is tied both ways is (2 tie - 1) of the side's effect; the shift cancels
    latent = Latent(step_1, step_2 / (2 * tie - 1))
    profiles = TextProfiles().filled_in("gender")
    method = Alternation("gender", answers="numbers" if kind == "numbers" else "labels")
    people = len(next(iter(profiles.people.values())))
    of_person, responds = rng.normal(0, latent.person, people), rng.normal(0, latent.response, people)
    of_frame = rng.normal(0, latent.frame, len(profiles.frames))
    of_content = {
        (side, place): rng.normal(0, latent.content)
        for side, words in profiles.contents.items()
        for place in range(len(words))
    }
    second = sorted(profiles.contents)[1]
    asked = _given(text_cases(profiles, generator(seed).spawn(2)[0]))
    numbers: dict[Any, float] = {}
    of_profile: dict[str, float] = {}
    for text, (name, value) in asked.items():
        person, (side, content), frame = _parts(name)
        output = of_person[person] + of_frame[frame] + of_content[side, content] + rng.normal(0, latent.single)
        output += of_profile.setdefault(name, rng.normal(0, latent.noise))
        output += latent.side * (side == second)
        output += value * (latent.shift + responds[person])
        numbers[text] = float(output)
    if kind == "labels":
        return World(method, lambda ask: _classified(numbers[_about(ask)], hard=True), letter_of(step_1, step_2, 0.1))
    truths = {"pairs.0.effect": step_1, "effects.step_1": step_1, "effects.step_2": step_2}
    answer: Answer = (
        (lambda ask: Reply(numbers[_about(ask)]))
        if kind == "numbers"
        else (lambda ask: _classified(numbers[_about(ask)], hard=False))
    )
    return World(method, answer, letter_of(step_1, step_2, method.delta), truths)


def record_world(step_1: float, step_2: float, seed: int, *, kind: str, rows: int = 8000) -> World:
    """Make a classifier or regressor of records; the gap between groups comes through another column.

    Parameters
    ----------
    step_1, step_2, seed, kind
        As for `text_world`; step 2 is the gap between the groups as they come.
    rows : int
        Records.
    """
    rng = np.random.default_rng([seed, 2])
    sex = rng.integers(2, size=rows)
    through = step_2 - step_1  # what the groups differ in beside the attribute itself
    spread = math.sqrt(max(1e-4, 1 - step_1**2 / 4 - through**2 / 4))
    proxy = through * sex + rng.normal(0, spread * 0.8, rows)
    noise = rng.normal(0, spread * 0.6, rows)
    table = tuple(
        {"id": place, "sex": "female" if sex[place] else "male", "years": round(float(proxy[place]), 6)}
        for place in range(rows)
    )
    records = RecordProfiles(column="sex", values=("male", "female"), rows=table, most=rows)
    method = Alternation("sex", records=records, answers="numbers" if kind == "numbers" else "labels")

    def output(ask: Ask) -> float:
        row = dict(_about(ask))
        return float(row["years"] + noise[row["id"]] + step_1 * (row["sex"] == "female"))

    truths = {"pairs.0.effect": step_1, "effects.step_1": step_1, "effects.step_2": step_2}
    answer: Answer = (
        (lambda ask: Reply(output(ask)))
        if kind == "numbers"
        else (lambda ask: _classified(output(ask), hard=kind == "labels"))
    )
    return World(method, answer, letter_of(step_1, step_2, 0.1), {} if kind == "labels" else truths)


def _parts(name: str) -> tuple[int, tuple[str, int], int]:
    person, content, frame = name.split("/")
    side, _, place = content.rpartition("-")
    return int(person), (side, int(place)), int(frame)


def _given(cases: tuple[Case, ...]) -> dict[Any, tuple[str, int]]:
    return {given: (case.name, value) for case in cases for value, given in enumerate(case.given)}


def _about(ask: Ask) -> Any:
    assert isinstance(ask, Classify | Regress)
    return ask.given


def _classified(latent: float, *, hard: bool) -> Reply:
    score = 0.5 + 0.05 * latent
    if hard:
        return Reply({"label": "positive" if latent > 0 else "negative", "scores": None})
    return Reply({"label": None, "scores": {"negative": 1 - score, "positive": score}})


# ---------------------------------------------------------------------------- forced choice
CUES, CONCEPTS, CONTROLS = 8, 60, 60


def choice_world(step_1: float, step_2: float, seed: int) -> World:
    """Make a space of words with known points of subjective equality.

    Parameters
    ----------
    step_1 : float
        By how much control words lean to the first side, in shares of the mixture.
    step_2 : float
        Spread of the concepts' points beyond the controls'.
    seed : int
        Of everything that is drawn.
    """
    rng = np.random.default_rng([seed, 3])
    own = 0.03  # spread of the controls themselves
    words = tuple(f"concept-{place}" for place in range(CONCEPTS))
    controls = tuple(f"control-{place}" for place in range(CONTROLS))
    points = 0.5 + np.concatenate(
        [rng.normal(step_1, math.hypot(own, step_2), CONCEPTS), rng.normal(step_1, own, CONTROLS)]
    )
    of_cue = rng.normal(0, 0.02, CUES)
    moved = rng.normal(0, 0.03, (CUES, len(points)))
    cues = tuple((f"first-{place}", f"second-{place}") for place in range(CUES))
    vectors: dict[str, np.ndarray] = {}
    # all vectors are units: with cues at 1/2 and -1/2 on their axis the point is 1/2 + (place on that axis)
    shared, apart = 0.9, math.sqrt(1 - 0.9**2)  # what the axes of the pairs have in common, and each its own
    dims = 1 + 2 * CUES + len(points)
    turned, _ = np.linalg.qr(rng.normal(size=(dims, dims)))  # so that each half of the dimensions holds all of it
    for place, pair in enumerate(cues):
        for cue, sign in zip(pair, (0.5, -0.5), strict=True):
            vectors[cue] = np.zeros(dims)
            vectors[cue][0], vectors[cue][1 + place] = sign * shared, sign * apart
            vectors[cue][1 + CUES + place] = math.sqrt(0.75)
    for place, word in enumerate((*words, *controls)):
        vectors[word] = np.zeros(dims)
        vectors[word][0] = (points[place] - 0.5) / shared
        vectors[word][1 : 1 + CUES] = (of_cue + moved[:, place]) / apart
        vectors[word][1 + 2 * CUES + place] = math.sqrt(max(0.0, 1 - float(vectors[word] @ vectors[word])))
    listed = ChoiceWords("gender", "women", "men", cues, dict.fromkeys(words), controls, name="simulated")
    method = ForcedChoice(words=listed)
    truths = {"effects.step_1": step_1, "effects.step_2": step_2, "words.0.pse": float(points[0])}

    def answer(ask: Ask) -> Reply:
        assert isinstance(ask, Embed)
        return Reply((turned @ vectors[ask.text]).tolist())

    return World(method, answer, letter_of(step_1, step_2, method.delta), truths)


def observer_world(step_1: float, step_2: float, seed: int) -> World:
    """Make an observer who answers questions: as `choice_world`, but by cumulative normal curves with lapses."""
    rng = np.random.default_rng([seed, 4])
    own, sigma, lapse, many = 0.02, 0.15, 0.03, 30
    words = tuple(f"concept-{place}" for place in range(many))
    controls = tuple(f"control-{place}" for place in range(many))
    drawn = [rng.normal(step_1, math.hypot(own, step_2), many), rng.normal(step_1, own, many)]
    points = dict(zip((*words, *controls), 0.5 + np.concatenate(drawn), strict=True))
    listed = ChoiceWords("gender", "women", "men", (("she", "he"),), dict.fromkeys(words), controls, name="simulated")
    levels = tuple(round(float(level), 2) for level in np.linspace(0, 1, 11))
    asked = Questions(first_label="women", second_label="men", levels=levels, mixed=20, repeats=8)
    method = ForcedChoice(words=listed, questions=asked)

    def answer(ask: Ask) -> Reply:
        assert isinstance(ask, Classify)
        assert isinstance(ask.given, str)
        mixture, _, rest = ask.given.partition(".")
        level = mixture.split().count("he") / asked.mixed
        word = rest.removeprefix(" Who is the ").removesuffix("?")
        chance = lapse / 2 + (1 - lapse) * 0.5 * math.erfc((points[word] - level) / (sigma * math.sqrt(2)))
        return Reply({"label": "men" if rng.random() < chance else "women", "scores": None})

    truths = {"effects.step_1": step_1, "effects.step_2": step_2, "words.0.pse": float(points[words[0]])}
    return World(method, answer, letter_of(step_1, step_2, method.delta), truths)


# ---------------------------------------------------------------------------- association
def association_world(step_1: float, step_2: float, seed: int) -> World:
    """Make a space of words with known distances.

    Parameters
    ----------
    step_1 : float
        By how much control words are nearer to the second group than to the first.
    step_2 : float
        By how much stereotypes of one's own group are nearer than those of the other.
    seed : int
        Of everything that is drawn.
    """
    rng = np.random.default_rng([seed, 5])
    groups, own, controls = 8, 12, 40
    protected = {name: tuple(f"{name}-{place}" for place in range(groups)) for name in ("one", "two")}
    attributes = {name: tuple(f"of-{name}-{place}" for place in range(own)) for name in ("one", "two")}
    human, neutral = (tuple(f"{name}-{place}" for place in range(controls)) for name in ("human", "neutral"))
    spoken = [word for listed in protected.values() for word in listed]
    words = [*(word for listed in attributes.values() for word in listed), *human, *neutral]
    dims = len(spoken) + len(words)
    vectors = {word: np.eye(dims)[place] for place, word in enumerate(spoken)}
    between = {name: rng.normal(0, 0.03, len(spoken)) for name in ("associated", "different", "human", "neutral")}
    for name in ("human", "neutral"):  # the words of a group are the group: what they are at is the truth
        for half in (slice(0, groups), slice(groups, None)):
            between[name][half] -= between[name][half].mean()
    # far enough that a word can be as near to eight others as four times delta wants: squared cosines sum to 1 at most
    base = {"associated": 0.94 - step_2, "different": 0.94, "human": 0.92, "neutral": 0.92}
    for at, word in enumerate(words):
        vector = np.zeros(dims)
        for place, one in enumerate(spoken):
            group = one.split("-")[0]
            kind = word.split("-")[0]
            connection = kind if kind in base else ("associated" if word.split("-")[1] == group else "different")
            distance = base[connection] + between[connection][place] + rng.normal(0, 0.04)
            if connection in {"human", "neutral"} and group == "two":
                distance -= step_1
            vector[place] = 1 - distance
        vector[len(spoken) + at] = math.sqrt(max(0.0, 1 - float(vector @ vector)))
        vectors[word] = vector
    listed = AssociationWords("gender", protected, attributes, human, neutral, name="simulated")
    method = Association(words=listed)
    truths = {"effects.step_1": step_1, "effects.step_2": step_2}

    def answer(ask: Ask) -> Reply:
        assert isinstance(ask, Embed)
        return Reply(vectors[ask.text].tolist())

    return World(method, answer, letter_of(step_1, step_2, method.delta), truths)


# ---------------------------------------------------------------------------- translators
def translator_world(step_1: float, step_2: float, seed: int, *, hop: bool = False, stop_early: bool = True) -> World:
    """Make a translator that turns pronouns: from balanced text it makes too many he by `step_1`.

    Parameters
    ----------
    step_1 : float
        True distance of the output from balanced text, in total variation.
    step_2 : float
        True distance of the output from one-sided text.
    seed : int
        Of everything that is drawn.
    hop : bool
        Whether it is rated by `one-hop`, where sentences without a pronoun come back with one.
    stop_early : bool
        Whether to look until a letter is clear, as is the default; otherwise all texts are shown.
    """
    rng = np.random.default_rng([seed, 6])
    # he comes of he by a, of she by b: balanced text gives (a + b) / 2, one-sided text .9 of one and .1 of the other
    middle, apart = 0.5 + step_1, max(0.0, step_2 - step_1) / 0.4
    to_he = {"he": min(1.0, middle + apart / 2), "she": max(0.0, middle - apart / 2)}
    truth_1 = abs((to_he["he"] + to_he["she"]) / 2 - 0.5)
    truth_2 = max(abs(share * to_he["he"] + (1 - share) * to_he["she"] - 0.5) for share in (0.1, 0.9))
    truths = {"effects.step_1": truth_1, "effects.step_2": truth_2}
    method: OneHop | RoundTrip = OneHop("gender") if hop else RoundTrip("gender", languages=("es",))
    if not stop_early:
        method = replace(method, texts_per_block=method.max_texts_per_block, stop_early=False)
    answer = one_hop_answer(to_he, rng) if hop else round_trip_answer(to_he, rng)
    if not hop:
        truths["rates.he.kept"] = to_he["he"]
    return World(method, answer, letter_of(truth_1, truth_2, 0.1), truths)


def drawn_translator(seed: int, *, hop: bool = False) -> World:
    """Make a translator whose every row of outputs (he, she, neither) is drawn from the method's own prior.

    Looks stop when a letter is clear, and a run that stopped early because of what chance showed has seen too little or
    just enough: over services of one and the same effect its intervals hold more or less often than they say. A
    posterior does not depend on why one stopped, so over services as the prior has them they hold as often as they say.
    """
    rng = np.random.default_rng([seed, 7])
    language = "fr" if hop else "es"
    method: AnyMethod = (OneHop if hop else RoundTrip)("gender", languages=(language,))
    rows = ("he", "she")
    outputs = rng.dirichlet(np.full(3, 1 / 3), size=2)
    to_he, to_it = (dict(zip(rows, outputs[:, at].tolist(), strict=True)) for at in (0, 2))
    effects = (neutral_effects if hop else step_effects)(outputs[None], [[0.5, 0.5]], [[0.9, 0.1], [0.1, 0.9]])
    truths = {"effects.step_1": float(effects.step_1[0]), "effects.step_2": float(effects.step_2[0])}
    answer = one_hop_answer(to_he, rng, to_it) if hop else round_trip_answer(to_he, rng, to_it)
    return World(method, answer, letter_of(truths["effects.step_1"], truths["effects.step_2"], 0.1), truths)


DRAWN: Mapping[str, Callable[[int], World]] = {
    "round-trip, translator": drawn_translator,
    "one-hop, translator": partial(drawn_translator, hop=True),
    "stereotype-score, echo": drawn_model,
}
"""Methods whose looks stop early, on services that are drawn from their prior."""

AT_ONCE: Mapping[str, Callable[[float, float, int], World]] = {
    "round-trip, translator, all texts": partial(translator_world, stop_early=False),
    "one-hop, translator, all texts": partial(translator_world, hop=True, stop_early=False),
}
"""Services that are shown all texts at once, so that no look is chosen by chance."""

WORLDS: Mapping[str, Callable[[float, float, int], World]] = {
    "alternation, numbers of texts": partial(text_world, kind="numbers"),
    "alternation, scores of texts": partial(text_world, kind="scores"),
    "alternation, numbers of records": partial(record_world, kind="numbers"),
    "alternation, scores of records": partial(record_world, kind="scores"),
    "forced-choice, embedder": choice_world,
    "forced-choice, observer": observer_world,
    "association, embedder": association_world,
    "round-trip, translator": translator_world,
    "one-hop, translator": partial(translator_world, hop=True),
    **{f"stereotype-score, {rung}": partial(stereotype_world, rung=rung) for rung in RUNGS},
    **SAMPLING_WORLDS,
    **{f"visual-stereotype, {kind}": partial(picture_world, kind=kind) for kind in ("probabilities", "labels")},
}
"""Every method with every kind of service it rates."""
