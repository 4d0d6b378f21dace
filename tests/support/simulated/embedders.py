"""A simulated word space with known distances, for association."""

from __future__ import annotations

import math

import numpy as np

from assay.catalog.choices import AssociationWords
from assay.methods import Association
from assay.model import Ask, Embed, Reply
from tests.support.simulated.base import SimulatedService, letter_of


def association_service(
    step_1: float,
    step_2: float,
    seed: int,
    *,
    common: float = 0.0,
    controls_apart: float = 0.0,
    names: tuple[str, ...] = ("one", "two"),
    crossed: float = 0.0,
    own: int = 12,
    groups: int = 8,
    controls: int = 40,
    noise: float = 0.04,
) -> SimulatedService:
    """Make a space of words with known distances.

    Parameters
    ----------
    step_1 : float
        Difference of distances: control words are nearer to the second group than to the first by this much.
    step_2 : float
        Difference of distances: stereotypes of the own group are nearer than those of the other group by this much.
    seed : int
        Seed of all random draws.
    common : float
        Difference of distances: all stereotype words are nearer to the second group than to the first by this much.
    controls_apart : float
        Difference of distances: human words are nearer to the second group by this much, neutral words to the first.
    names : tuple of str
        Names of the groups.
    crossed : float
        Difference of distances: the first group is nearer to the stereotypes of the last group by this much.
    own : int
        Number of words in each list of stereotypes.
    groups, controls : int
        Number of words for each group, and of human and of neutral words.
    noise : float
        Standard deviation of single distances.
    """
    rng = np.random.default_rng([seed, 5])
    protected = {name: tuple(f"{name}-{place}" for place in range(groups)) for name in names}
    attributes = {name: tuple(f"of-{name}-{place}" for place in range(own)) for name in names}
    human, neutral = (tuple(f"{name}-{place}" for place in range(controls)) for name in ("human", "neutral"))
    spoken = [word for listed in protected.values() for word in listed]
    words = [*(word for listed in attributes.values() for word in listed), *human, *neutral]
    dims = len(spoken) + len(words)
    vectors = {word: np.eye(dims)[place] for place, word in enumerate(spoken)}
    between = {name: rng.normal(0, 0.03, len(spoken)) for name in ("associated", "different", "human", "neutral")}
    # centre the effects of each group, so that the true effects are exactly the given ones
    for name in between if common else ("human", "neutral"):
        for start in range(0, len(spoken), groups):
            between[name][start : start + groups] -= between[name][start : start + groups].mean()
    # large distances, because squared cosines sum to at most 1, and a word can be up to 4 delta nearer to 8 other words
    base = {"associated": 0.94 - step_2, "different": 0.94, "human": 0.92, "neutral": 0.92}
    for at, word in enumerate(words):
        vector = np.zeros(dims)
        for place, one in enumerate(spoken):
            group = one.split("-")[0]
            kind = word.split("-")[0]
            connection = kind if kind in base else ("associated" if word.split("-")[1] == group else "different")
            distance = base[connection] + between[connection][place] + rng.normal(0, noise)
            if connection in {"human", "neutral"} and group == "two":
                distance -= step_1
                distance -= controls_apart * (1 if connection == "human" else -1)
            if connection in {"associated", "different"} and group == "two":
                distance -= common
            if group == names[0] and word.split("-")[1] == names[-1]:
                distance -= crossed
            vector[place] = 1 - distance
        vector[len(spoken) + at] = math.sqrt(max(0.0, 1 - float(vector @ vector)))
        vectors[word] = vector
    listed = AssociationWords("gender", protected, attributes, human, neutral, name="simulated")
    method = Association(words=listed)
    truths = {"effects.step_1": step_1, "effects.step_2": step_2}

    def answer(ask: Ask) -> Reply:
        assert isinstance(ask, Embed)
        return Reply(vectors[ask.text].tolist())

    return SimulatedService(method, answer, letter_of(step_1, step_2, method.delta), truths)
