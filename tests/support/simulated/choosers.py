"""Simulated word spaces and observers with known points of subjective equality, for forced choice."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from assay.catalog.choices import ChoiceWords
from assay.methods import ForcedChoice
from assay.methods.forced_choice.choice_trials import Questions, Trials
from assay.model import Ask, Classify, Embed, Reply
from tests.support.simulated.base import SimulatedService, letter_of

CUES, CONCEPTS = 8, 60


def choice_service(
    step_1: float,
    step_2: float,
    seed: int,
    *,
    common: float = 0.0,
    apart: float = 0.0,
    sided: bool = False,
    count: int = CONCEPTS,
    own: float = 0.03,
) -> SimulatedService:
    """Make a space of words with known points of subjective equality.

    Parameters
    ----------
    step_1 : float
        Shift of the control words' PSE towards the first side, in shares of the mixture.
    step_2 : float
        Standard deviation of the concepts' PSEs in excess of that of the control words.
    seed : int
        Seed of all random draws.
    common : float
        Further shift of the PSE of all concepts, whatever their side, relative to control words.
    apart : float
        Shift of the PSE with alternating sign from word to word, for concepts and control words.
    sided : bool
        Whether the concepts are declared to belong alternately to the first and to the second side.
    count : int
        Number of concepts, and of control words.
    own : float
        Standard deviation of the control words' PSEs.
    """
    rng = np.random.default_rng([seed, 3])
    words = tuple(f"concept-{place}" for place in range(count))
    controls = tuple(f"control-{place}" for place in range(count))
    points = 0.5 + np.concatenate(
        [rng.normal(step_1 + common, math.hypot(own, step_2), count), rng.normal(step_1, own, count)]
    )
    points += apart * np.where(np.arange(len(points)) % 2, 1, -1)
    of_cue = rng.normal(0, 0.02, CUES)
    moved = rng.normal(0, 0.03, (CUES, len(points)))
    cues = tuple((f"first-{place}", f"second-{place}") for place in range(CUES))
    vectors: dict[str, np.ndarray] = {}
    # all vectors have length 1: with cues at 1/2 and -1/2 on an axis, a concept's PSE is 1/2 + its place on that axis
    shared, apart = 0.9, math.sqrt(1 - 0.9**2)  # each pair's axis is a common direction plus a direction of its own
    dims = 1 + 2 * CUES + len(points)
    turned, _ = np.linalg.qr(rng.normal(size=(dims, dims)))  # a random rotation spreads the bias over all dimensions
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
    concepts = {word: (0.2, 0.8)[place % 2] if sided else None for place, word in enumerate(words)}
    method = ForcedChoice(words=ChoiceWords("gender", "women", "men", cues, concepts, controls, name="simulated"))
    truths = {"effects.step_1": step_1, "effects.step_2": step_2, "words.0.pse": float(points[0])}

    def answer(ask: Ask) -> Reply:
        assert isinstance(ask, Embed)
        return Reply((turned @ vectors[ask.text]).tolist())

    return SimulatedService(method, answer, letter_of(step_1, step_2, method.delta), truths)


def observer_service(
    step_1: float, step_2: float, seed: int, *, many: int = 30, levels: int = 11, repeats: int = 8, upload: bool = False
) -> SimulatedService:
    """Make an observer who answers questions by cumulative normal curves with lapses; see `choice_service`.

    `many` is the number of concepts, and of control words. With `upload`, the choices are recorded trials.
    """
    rng = np.random.default_rng([seed, 4])
    own, sigma, lapse = 0.02, 0.15, 0.03
    words = tuple(f"concept-{place}" for place in range(many))
    controls = tuple(f"control-{place}" for place in range(many))
    drawn = [rng.normal(step_1, math.hypot(own, step_2), many), rng.normal(step_1, own, many)]
    points = dict(zip((*words, *controls), 0.5 + np.concatenate(drawn), strict=True))
    listed = ChoiceWords("gender", "women", "men", (("she", "he"),), dict.fromkeys(words), controls, name="simulated")
    shown = tuple(round(float(level), 2) for level in np.linspace(0, 1, levels))
    asked = Questions(first_label="women", second_label="men", levels=shown, mixed=20, repeats=repeats)

    def chance(word: str, level: float) -> float:
        return lapse / 2 + (1 - lapse) * 0.5 * math.erfc((points[word] - level) / (sigma * math.sqrt(2)))

    method = ForcedChoice(words=listed, questions=None if upload else asked)
    if upload:
        trials = (
            Trials(word, level, int(rng.binomial(repeats, chance(word, level))), repeats)
            for word in points
            for level in shown
        )
        method = replace(method, trials=tuple(trials))

    def answer(ask: Ask) -> Reply:
        assert isinstance(ask, Classify)
        assert isinstance(ask.given, str)
        mixture, _, rest = ask.given.partition(".")
        level = mixture.split().count("he") / asked.mixed
        word = rest.removeprefix(" Who is the ").removesuffix("?")
        return Reply({"label": "men" if rng.random() < chance(word, level) else "women", "scores": None})

    truths = {"effects.step_1": step_1, "effects.step_2": step_2, "words.0.pse": float(points[words[0]])}
    return SimulatedService(method, answer, letter_of(step_1, step_2, method.delta), truths)
