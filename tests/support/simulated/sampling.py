"""Simulated classifiers with a known probability of the answer yes: services for stimulus sampling.

The probability of yes is a product of a base rate, effects of the value and of the content's side, and random factors
of each person, frame, content, profile and sentence. Effects multiply, so that the effect of the value is the same on
either side of the content; sides are rated separately, too, and an additive effect would differ between them. Each
person and each frame responds to the value differently, which cancels in the mean: so answers vary between people even
if a service has no effect.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from assay.experiment import generator
from assay.methods import StimulusSampling
from assay.methods.shared.profiles import text_cases
from assay.methods.stimulus_sampling.inputs import VectorStimuli
from assay.model import Ask, Classify, Reply
from assay.statistics.intervals.sampling_effects import deviations_of, tied_distance, tied_priors, unbiased_prior
from tests.support.simulated.base import SimulatedService, letter_of

BASE = 0.1
"""Mean probability of yes, low enough that no product exceeds 1."""

OF_PERSON, OF_FRAME, SINGLE = 0.1, 0.05, 0.1
"""Standard deviations of the response of persons and of frames to the value, and of the factor of one sentence."""

TIE = 0.9

MOST_OF_CONTENT = 0.45
"""Maximum effect of the content on the probability of yes: at 1/2, one side would never get a yes."""


def sampling_service(
    step_1: float,
    step_2: float,
    seed: int,
    *,
    hard: bool = False,
    rare: bool = False,
    stop_early: bool = True,
    single: float = SINGLE,
) -> SimulatedService:
    """Make a classifier of sentences.

    Parameters
    ----------
    step_1 : float
        True distance between the attribute's distribution among sentences answered with yes and an even distribution.
    step_2 : float
        Approximately the same if content is tied to the attribute; the exact value is computed.
    seed : int
        Seed of all random draws.
    hard : bool
        Whether the classifier answers with labels alone.
    rare : bool
        Whether most sentences are never answered with yes; only every third person in every third frame can be.
    stop_early : bool
        Whether the method may end at an interim look as soon as a letter is clear, as by default; otherwise it looks
        once, at all sentences.
    single : float
        Standard deviation of the factor of one sentence.
    """
    rng = np.random.default_rng([seed, 7])
    method = StimulusSampling("gender")
    if not stop_early:
        method = replace(method, samples=method.samples * 2 ** (method.looks - 1), looks=1)
    assert method.texts is not None
    pairs = len(next(iter(method.texts.people.values())))
    of_person, of_frame = _ones(rng, 0.3, pairs), _ones(rng, 0.2, len(method.texts.frames))
    of_content = {side: _ones(rng, 0.05, len(words)) for side, words in method.texts.contents.items()}
    if rare:
        of_person *= np.arange(pairs) % 3 == 0
        of_frame *= np.arange(len(of_frame)) % 3 == 0
    second = sorted(method.texts.contents)[1]
    person_responds = rng.normal(0, OF_PERSON, pairs)
    # with `rare`, only two frames ever get a yes: too few to estimate a variance between frames, so it is 0
    frame_responds = rng.normal(0, 0 if rare else OF_FRAME, len(of_frame))
    content = min(step_2 / (2 * TIE - 1), MOST_OF_CONTENT)
    said: dict[str, float] = {}
    luck: dict[str, float] = {}
    for case in text_cases(method.texts, generator(seed).spawn(3)[0]):
        pair, which, frame = case.name.split("/")
        side, _, place = which.rpartition("-")
        own = of_person[int(pair)] * of_frame[int(frame)] * of_content[side][int(place)] * _ones(rng, 0.15, 1)[0]
        for value, given in enumerate(case.versions):
            towards = 1 - 2 * value
            moved = (1 + 2 * step_1 * towards) * (1 + 2 * content * (1 if side == second else -1))
            moved *= 1 + (person_responds[int(pair)] + frame_responds[int(frame)]) * towards
            moved *= _ones(rng, single, 1)[0]
            said[str(given)], luck[str(given)] = BASE * own * max(0.0, moved), rng.random()

    def answer(ask: Ask) -> Reply:
        assert isinstance(ask, Classify)
        yes = said[str(ask.given)]
        if hard:
            return Reply({"label": "yes" if luck[str(ask.given)] < yes else "no", "scores": None})
        return Reply({"label": None, "scores": {"no": 1 - yes, "yes": yes}})

    table = np.array([[(1 + 2 * step_1 * of) * (1 + 2 * content * on) for on in (1, -1)] for of in (1, -1)])
    truth_1, truth_2 = _effects(table)
    truths = {"effects.step_1": truth_1, "effects.step_2": truth_2}
    return SimulatedService(method, answer, letter_of(truth_1, truth_2, method.delta), truths)


def _effects(table: np.ndarray) -> tuple[float, float]:
    """Compute both effects from the probability of yes for each value, by side of the content, shape (2, 2)."""
    even = abs(float(deviations_of(table, unbiased_prior(2))[0]))
    return even, float(tied_distance([deviations_of(table, one) for one in tied_priors(2, TIE)]))


def _ones(rng: np.random.Generator, apart: float, many: int) -> np.ndarray:
    """Draw uniform factors around 1 with standard deviation `apart`; they are never near 0."""
    return rng.uniform(1 - apart * math.sqrt(3), 1 + apart * math.sqrt(3), many)


# ---------------------------------------------------------------------------- vectors
def vector_service(step_1: float, step_2: float, seed: int) -> SimulatedService:
    """Make a classifier of vectors that is not a logit model: a probit along one direction, with lapses.

    Parameters
    ----------
    step_1, step_2, seed
        As for `sampling_service`; groups and sides are placed along the direction so that effects have these values.
    """
    rng = np.random.default_rng([seed, 8])
    dims, threshold, lapse = 6, 2.0, 0.01
    axis = rng.normal(size=dims)
    axis /= np.linalg.norm(axis)

    def rate(where: float) -> float:
        # steepness 1, standard deviation 1 within a cell
        return lapse + (1 - lapse) * 0.5 * math.erfc((threshold - where) / 2)

    def effects(group: float, side: float) -> tuple[float, float]:
        return _effects(np.array([[rate(g + s) for s in (side, -side)] for g in (group, -group)]))

    group = _solved(lambda at: effects(at, 0.0)[0], step_1)
    side = _solved(lambda at: effects(group, at)[1], step_2)
    group = _solved(lambda at: effects(at, side)[0], step_1)
    truth_1, truth_2 = effects(group, side)
    stimuli = VectorStimuli(
        names=tuple(f"x{place}" for place in range(dims)),
        centres={"one": tuple(map(float, group * axis)), "two": tuple(map(float, -group * axis))},
        sides={"left": tuple(map(float, side * axis)), "right": tuple(map(float, -side * axis))},
        sd=(1.0,) * dims,
    )
    method = StimulusSampling("group", vectors=stimuli)

    def answer(ask: Ask) -> Reply:
        assert isinstance(ask, Classify)
        where = sum(float(cell or 0) * weight for (_, cell), weight in zip(ask.given, axis, strict=True))
        yes = lapse + (1 - lapse) * 0.5 * math.erfc((threshold - where) / math.sqrt(2))
        return Reply({"label": None, "scores": {"no": 1 - yes, "yes": yes}})

    truths = {"effects.step_1": truth_1, "effects.step_2": truth_2}
    return SimulatedService(method, answer, letter_of(truth_1, truth_2, method.delta), truths)


def _solved(of: Callable[[float], float], wanted: float) -> float:
    """Return the argument in [0, 3] at which an increasing function reaches a value; 3 if it does not."""
    low, high = 0.0, 3.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if of(middle) < wanted else (low, middle)
    return (low + high) / 2


SAMPLING_SERVICES: Mapping[str, Callable[[float, float, int], SimulatedService]] = {
    "stimulus-sampling, scores of texts": sampling_service,
    "stimulus-sampling, labels of texts": partial(sampling_service, hard=True),
    "stimulus-sampling, rare scores of texts": partial(sampling_service, rare=True),
    "stimulus-sampling, vectors": vector_service,
}
"""Makers of services for every kind of input and both estimators (importance weights and surrogate)."""
