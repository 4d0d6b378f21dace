"""Simulated classifiers and regressors of texts and records, for alternation."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.experiment import generator
from assay.methods import Alternation
from assay.methods.shared.profiles import Case, RecordProfiles, TextProfiles, text_cases
from assay.model import Ask, Classify, Regress, Reply
from tests.support.simulated.base import Answer, SimulatedService, letter_of


@dataclass(frozen=True)
class Latent:
    """Model output as a sum of effects of all parts of a profile; its population variance is one.

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
        """Noise of each profile, the same for all values."""
        taken = self.shift**2 / 4 + self.side**2 / 4 + self.person**2 + self.frame**2 + self.content**2
        return math.sqrt(max(1e-4, 1 - taken - self.response**2 / 2 - self.single**2))


def text_service(
    step_1: float,
    step_2: float,
    seed: int,
    *,
    kind: str,
    profiles: TextProfiles | None = None,
    again: float = 0.0,
) -> SimulatedService:
    """Make a classifier or regressor of texts; effects are in standard deviations of the output.

    Parameters
    ----------
    step_1 : float
        True paired difference between the two values.
    step_2 : float
        True gap between the groups of a block in which .9 of each group's contents are of its tied side.
    seed : int
        Seed of all random draws.
    kind : str
        ``numbers``, ``scores`` or ``labels``.
    profiles : TextProfiles, optional
        Sentences; the catalog's if they are left out.
    again : float
        Standard deviation by which answers to the same question differ.
    """
    rng = np.random.default_rng([seed, 1])
    tie = 0.9
    # the gap between two blocks tied in opposite ways is (2 tie - 1) times the side's effect; the shift cancels
    latent = Latent(step_1, step_2 / (2 * tie - 1))
    profiles = (profiles or TextProfiles()).filled_in("gender")
    method = Alternation("gender", texts=profiles, answers="numbers" if kind == "numbers" else "labels")
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

    def number(ask: Ask) -> float:
        return numbers[_about(ask)] + (again * float(rng.standard_normal()) if again else 0.0)

    if kind == "labels":
        return SimulatedService(method, lambda ask: _classified(number(ask), hard=True), letter_of(step_1, step_2, 0.1))
    truths = {"pairs.0.effect": step_1, "effects.step_1": step_1, "effects.step_2": step_2}
    answer: Answer = (
        (lambda ask: Reply(number(ask))) if kind == "numbers" else (lambda ask: _classified(number(ask), hard=False))
    )
    return SimulatedService(method, answer, letter_of(step_1, step_2, method.delta), truths)


def record_service(
    step_1: float, step_2: float, seed: int, *, kind: str, rows: int = 8000, again: float = 0.0
) -> SimulatedService:
    """Make a classifier or regressor of records; another column causes a part of the gap between groups.

    Parameters
    ----------
    step_1, step_2, seed, kind
        As for `text_service`; step 2 is the gap between the groups in the unchanged table.
    rows : int
        Number of records.
    again : float
        Standard deviation by which answers to the same question differ.
    """
    rng = np.random.default_rng([seed, 2])
    sex = rng.integers(2, size=rows)
    through = step_2 - step_1  # the difference between the groups that does not come from the attribute itself
    spread = math.sqrt(max(1e-4, 1 - step_1**2 / 4 - through**2 / 4))
    proxy = through * sex + rng.normal(0, spread * 0.8, rows)
    noise = rng.normal(0, spread * 0.6, rows)
    table = tuple(
        {"id": place, "sex": "female" if sex[place] else "male", "years": round(float(proxy[place]), 6)}
        for place in range(rows)
    )
    records = RecordProfiles(column="sex", values=("male", "female"), rows=table, most=max(rows, 10))
    method = Alternation("sex", records=records, answers="numbers" if kind == "numbers" else "labels")

    def output(ask: Ask) -> float:
        row = dict(_about(ask))
        own = again * rng.standard_normal() if again else 0.0
        return float(row["years"] + noise[row["id"]] + step_1 * (row["sex"] == "female") + own)

    truths = {"pairs.0.effect": step_1, "effects.step_1": step_1, "effects.step_2": step_2}
    answer: Answer = (
        (lambda ask: Reply(output(ask)))
        if kind == "numbers"
        else (lambda ask: _classified(output(ask), hard=kind == "labels"))
    )
    return SimulatedService(method, answer, letter_of(step_1, step_2, 0.1), {} if kind == "labels" else truths)


def _parts(name: str) -> tuple[int, tuple[str, int], int]:
    person, content, frame = name.split("/")
    side, _, place = content.rpartition("-")
    return int(person), (side, int(place)), int(frame)


def _given(cases: tuple[Case, ...]) -> dict[Any, tuple[str, int]]:
    return {given: (case.name, value) for case in cases for value, given in enumerate(case.versions)}


def _about(ask: Ask) -> Any:
    assert isinstance(ask, Classify | Regress)
    return ask.given


def _classified(latent: float, *, hard: bool) -> Reply:
    score = 0.5 + 0.05 * latent
    if hard:
        return Reply({"label": "positive" if latent > 0 else "negative", "scores": None})
    return Reply({"label": None, "scores": {"negative": 1 - score, "positive": score}})
