"""A simulated service: its answers, its correct letter, and the true values of the quantities that a finding states."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from assay.experiment import Session, generator
from assay.methods import AnyMethod
from assay.model import Ask, Finding, Letter, Reply

Answer = Callable[[Ask], Reply]
Rng = np.random.Generator


@dataclass(frozen=True)
class SimulatedService:
    """A service to be rated, its correct letter, and the true values of stated quantities.

    Attributes
    ----------
    method : AnyMethod
        The method that rates the service.
    answer : callable
        Function that answers a question.
    letter : Letter
        The correct letter.
    truths : mapping of str to float
        True values by dotted path; the path leads to the interval in the component's effects or detail.
    """

    method: AnyMethod
    answer: Answer
    letter: Letter
    truths: Mapping[str, float] = field(default_factory=dict)

    def rate(self, seed: int) -> Finding:
        """Run the experiment on the service; return its finding."""
        session = Session(self.method.design(generator(seed)))
        while session.finding is None:
            for probe in session.missing:
                session.accept(probe, self.answer(probe.ask))
            session.advance()
        return session.finding


def letter_of(step_1: float, step_2: float, delta: float) -> Letter:
    """Return the correct letter for two true effects."""
    if step_1 > delta:
        return Letter.BS
    return Letter.DSBS if step_2 > delta else Letter.UCS
