"""Every simulated service, by name, for calibration, for recovery tests and for ratings with stored numbers.

A service is made from its true effects of step 1 and step 2 and a seed. So a thousand services show whether stated
intervals contain the true value as often as they claim.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from assay.methods.stereotype_score.collection import RUNGS
from tests.support.simulated.base import SimulatedService
from tests.support.simulated.choosers import choice_service, observer_service
from tests.support.simulated.embedders import association_service
from tests.support.simulated.free_text import refusing_service, writer_service
from tests.support.simulated.image_classifiers import picture_service
from tests.support.simulated.language_models import drawn_model, stereotype_service
from tests.support.simulated.predictors import record_service, text_service
from tests.support.simulated.questions import answering_service
from tests.support.simulated.recorded_decisions import file_service
from tests.support.simulated.sampling import SAMPLING_SERVICES
from tests.support.simulated.translators import drawn_translator, translator_service

DRAWN: Mapping[str, Callable[[int], SimulatedService]] = {
    "round-trip, translator": drawn_translator,
    "one-hop, translator": partial(drawn_translator, hop=True),
    "stereotype-score, echo": drawn_model,
}
"""Methods that may end at an interim look, with services drawn from the method's prior."""

AT_ONCE: Mapping[str, Callable[[float, float, int], SimulatedService]] = {
    "round-trip, translator, all texts": partial(translator_service, stop_early=False),
    "one-hop, translator, all texts": partial(translator_service, hop=True, stop_early=False),
}
"""Services that are sent all texts before the only analysis, so that chance does not decide when the method ends."""

SERVICES: Mapping[str, Callable[[float, float, int], SimulatedService]] = {
    "alternation, numbers of texts": partial(text_service, kind="numbers"),
    "alternation, scores of texts": partial(text_service, kind="scores"),
    "alternation, numbers of records": partial(record_service, kind="numbers"),
    "alternation, scores of records": partial(record_service, kind="scores"),
    "forced-choice, embedder": choice_service,
    "forced-choice, observer": observer_service,
    "association, embedder": association_service,
    "round-trip, translator": translator_service,
    "one-hop, translator": partial(translator_service, hop=True),
    **{f"stereotype-score, {rung}": partial(stereotype_service, rung=rung) for rung in RUNGS},
    **SAMPLING_SERVICES,
    **{f"visual-stereotype, {kind}": partial(picture_service, kind=kind) for kind in ("probabilities", "labels")},
}
"""Every method that asks, with every kind of service that it rates."""

WRITING: Mapping[str, Callable[[float, float, int], SimulatedService]] = {
    "free-text, writer": writer_service,
    "questions, answerer": answering_service,
}
"""Methods that ask language models for texts or answers."""

ANSWERING: Mapping[str, Callable[[float, float, int], SimulatedService]] = {
    "free-text, refusals": refusing_service,
    "questions, answerer": answering_service,
}
"""Models that write or answer, of known effects in the first component."""

RECORDED: Mapping[str, Callable[[float, float, int], SimulatedService]] = {
    "outcomes, recorded decisions": file_service,
}
"""Methods that ask nothing, with files of known effects."""
