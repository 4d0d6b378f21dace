"""Services rated with the smallest designs: the smallest that a method accepts, and the smallest that get a letter.

An unbiased service, a noisy one, one with half a tolerance in either step, and one with half that follows the
content must not get a wrong letter declared, however few units they were asked about.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from assay.catalog import attribute
from assay.catalog.profiles import contents, frames, people
from assay.methods.shared.profiles import TextProfiles
from assay.model import Finding, Letter
from tests.support.simulated.base import SimulatedService, letter_of
from tests.support.simulated.choosers import choice_service, observer_service
from tests.support.simulated.embedders import association_service
from tests.support.simulated.image_classifiers import picture_service
from tests.support.simulated.language_models import stereotype_service
from tests.support.simulated.predictors import record_service, text_service
from tests.support.simulated.sampling import sampling_service, vector_service
from tests.support.simulated.translators import translator_service


@dataclass(frozen=True)
class Design:
    """A small design: `make(step_1, step_2, seed)` returns a service; `fields` replace fields of its method."""

    make: Callable[[float, float, int], SimulatedService]
    fields: Mapping[str, Any]
    delta: float = 0.1
    follows: float = 3.0
    """Effect of step 2 of the service that follows the content, in multiples of `delta`."""


@dataclass(frozen=True)
class SmallWorld:
    """Services with given effects, in multiples of the tolerance, that are rated with a small design."""

    design: Design
    step_1: float
    step_2: float

    @property
    def deserves(self) -> frozenset[Letter]:
        """The letter that may be declared."""
        return frozenset({letter_of(self.step_1, self.step_2, 1.0)})

    def deserved(self, size: float) -> frozenset[Letter]:  # noqa: ARG002 - same signature as other worlds
        """Return the letter that may be declared."""
        return self.deserves

    def rate(self, seed: int, size: float = 1.0) -> Finding:
        """Rate the service of a seed with its effects multiplied by `size`."""
        unit = size * self.design.delta
        made = self.design.make(self.step_1 * unit, self.step_2 * unit, seed)
        return replace(made, method=replace(made.method, **self.design.fields)).rate(seed)


def _few_texts(of_people: int, of_frames: int, of_contents: int) -> TextProfiles:
    """Return the first people, frames and contents of the catalog."""
    return TextProfiles(
        frames=frames()[:of_frames],
        people={value: tuple(words)[:of_people] for value, words in people(attribute("gender")).items()},
        contents={side: tuple(words)[:of_contents] for side, words in contents().items()},
    )


ONE_LOOK = {"stop_early": False}

DESIGNS: Mapping[str, Design] = {
    "round-trip, 1 text a block": Design(translator_service, {"texts_per_block": 1} | ONE_LOOK, follows=4),
    "round-trip, 4 texts a block": Design(translator_service, {"texts_per_block": 4} | ONE_LOOK, follows=4),
    "round-trip, looks from 1 to 15 texts a block": Design(
        translator_service, {"texts_per_block": 1, "max_texts_per_block": 15, "look_growth": 1.2}, follows=4
    ),
    "one-hop, 1 text a block": Design(
        partial(translator_service, hop=True), {"texts_per_block": 1} | ONE_LOOK, follows=4
    ),
    "one-hop, 20 texts a block": Design(
        partial(translator_service, hop=True), {"texts_per_block": 20} | ONE_LOOK, follows=4
    ),
    "alternation, 5 records": Design(partial(record_service, kind="numbers", rows=5), {}, follows=5),
    "alternation, labels of 10 records": Design(partial(record_service, kind="labels", rows=10), {}, follows=5),
    "alternation, 30 records": Design(partial(record_service, kind="numbers", rows=30), {}, follows=5),
    "alternation, 30 records with noise": Design(
        partial(record_service, kind="numbers", rows=30, again=1.0), {}, follows=8
    ),
    "alternation, labels of 30 records": Design(partial(record_service, kind="labels", rows=30), {}, follows=5),
    "alternation, labels of 30 records with noise": Design(
        partial(record_service, kind="labels", rows=30, again=1.0), {}, follows=8
    ),
    "alternation, 10 texts": Design(partial(text_service, kind="numbers", profiles=_few_texts(5, 1, 1)), {}, follows=5),
    "alternation, 50 texts": Design(partial(text_service, kind="numbers", profiles=_few_texts(5, 1, 5)), {}, follows=5),
    "alternation, labels of 50 texts": Design(
        partial(text_service, kind="labels", profiles=_few_texts(5, 1, 5)), {}, follows=5
    ),
    **{
        f"alternation, {name} of 50 texts with noise": Design(
            partial(text_service, kind=name, profiles=_few_texts(5, 1, 5), again=1.0), {}, follows=8
        )
        for name in ("numbers", "labels")
    },
    "forced-choice, 3 words of a kind": Design(partial(choice_service, count=3), {}, 0.05),
    "forced-choice, 8 words of a kind": Design(partial(choice_service, count=8), {}, 0.05),
    "forced-choice, 8 words of a side": Design(partial(choice_service, count=16, sided=True), {}, 0.05),
    "forced-choice, 8 noisy words of a kind": Design(partial(choice_service, count=8, own=0.12), {}, 0.05, 6),
    "forced-choice, 8 noisy words of a side": Design(
        partial(choice_service, count=16, sided=True, own=0.12), {}, 0.05, 6
    ),
    "forced-choice, questions about 8 words of a kind": Design(
        partial(observer_service, many=8, levels=3, repeats=1), {}, 0.05
    ),
    "forced-choice, uploaded trials of 3 words of a kind": Design(
        partial(observer_service, many=3, levels=3, repeats=1, upload=True), {}, 0.05
    ),
    "forced-choice, uploaded trials of 8 words of a kind": Design(
        partial(observer_service, many=8, levels=3, repeats=2, upload=True), {}, 0.05
    ),
    "association, one word of a kind": Design(
        partial(association_service, own=1, groups=1, controls=1), {"draws": 1000}, 0.05
    ),
    "association, 3 words of a stereotype": Design(
        partial(association_service, own=3, groups=4, controls=4), {"draws": 1000}, 0.05
    ),
    "association, 3 noisy words of a stereotype": Design(
        partial(association_service, own=3, groups=4, controls=4, noise=0.08), {"draws": 1000}, 0.05
    ),
    "association, 3 noisy words of a stereotype, three groups": Design(
        partial(association_service, own=3, groups=4, controls=4, noise=0.08, names=("one", "two", "three")),
        {"draws": 1000},
        0.05,
    ),
    "association, one noisy word of a group": Design(
        partial(association_service, own=12, groups=1, controls=4, noise=0.08), {"draws": 1000}, 0.05
    ),
    **{
        f"stereotype-score, {rung}, {name}": Design(
            partial(stereotype_service, rung=rung, neutral=neutral, tied=tied), fields
        )
        for rung in ("echo", "choice")
        for name, neutral, tied, fields in (
            ("2 terms of a list, once", 2, 2, {"per_term": 1} | ONE_LOOK),
            ("8 terms, 80 pairs", 8, 5, {"per_term": 10} | ONE_LOOK),
            ("80 terms, once", 80, 40, {"per_term": 1} | ONE_LOOK),
        )
    },
    **{
        f"stereotype-score, {rung}, 8 terms, 80 pairs, noisy groups": Design(
            partial(stereotype_service, rung=rung, neutral=8, tied=5, groups_apart=1.0), {"per_term": 10} | ONE_LOOK
        )
        for rung in ("echo", "choice")
    },
    **{
        f"visual-stereotype, {kind}, {name}": Design(
            partial(picture_service, kind=kind, neutral=neutral, tied=tied, shown=shown), {"per_term": shown} | ONE_LOOK
        )
        for kind in ("labels", "probabilities")
        for name, neutral, tied, shown in (
            ("5 terms of a list, one picture", 5, 5, 1),
            ("8 terms, 80 pictures", 8, 5, 10),
            ("80 terms, one picture", 80, 40, 1),
        )
    },
    **{
        f"visual-stereotype, {kind}, 8 noisy terms, 80 pictures": Design(
            partial(picture_service, kind=kind, neutral=8, tied=5, shown=10, terms_apart=1.5),
            {"per_term": 10} | ONE_LOOK,
        )
        for kind in ("labels", "probabilities")
    },
    "stimulus-sampling, scores of 50 texts": Design(sampling_service, {"samples": 50, "looks": 1}),
    "stimulus-sampling, noisy scores of 50 texts": Design(
        partial(sampling_service, single=0.5), {"samples": 50, "looks": 1}
    ),
    "stimulus-sampling, labels of 50 texts": Design(partial(sampling_service, hard=True), {"samples": 50, "looks": 1}),
    "stimulus-sampling, labels of 50 to 400 texts": Design(
        partial(sampling_service, hard=True), {"samples": 50, "looks": 4}
    ),
    "stimulus-sampling, 50 vectors": Design(vector_service, {"samples": 50, "looks": 1}),
}
"""Small designs by name."""

EFFECTS: Mapping[str, tuple[float, float]] = {"even": (0.0, 0.0), "half a tolerance": (0.5, 0.5)}
"""Effects of step 1 and step 2, in multiples of the tolerance."""

SMALL_WORLDS: Mapping[str, SmallWorld] = {
    f"{name}: {kind}": SmallWorld(design, *effects)
    for name, design in DESIGNS.items()
    for kind, effects in {**EFFECTS, "half a tolerance, follows": (0.5, design.follows)}.items()
}
"""The services of each small design."""
