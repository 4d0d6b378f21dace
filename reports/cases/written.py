"""Cases of free text: the texts written for one prompt about people with each value, and the judge's scores of them."""

import math
from collections.abc import Iterable, Sequence
from typing import ClassVar

from assay.catalog.answer_text import label_key
from assay.document import RatingDocument
from assay.methods.free_text.detail import LENGTH, REFUSALS, SCORE, FreeTextComponent
from assay.methods.free_text.written_texts import length_of, refuses_to_write, repeats_the_prompt
from assay.model import Observation, Write
from reports.cases.profiles import ProfileCases
from reports.cases.reading import CaseReading, CaseText, Deciding, Leg, lost_kind, missing_reason

JUDGE = "judge/"
"""Prefix of the units of questions to the judge."""


class WrittenCases(ProfileCases):
    """Reader of free text: it compares what decided the letter: refusals, lengths of texts, or scores by a judge."""

    target_writes: ClassVar[bool] = True

    def __init__(self, rating: RatingDocument, deciding: Deciding | None = None) -> None:
        super().__init__(rating, deciding)
        self.paired = True  # the texts for one prompt are compared with each other
        score_part = next((part for part in rating.components if part.name == SCORE), None)
        judge_label = score_part.judge.label if isinstance(score_part, FreeTextComponent) else None
        self.label = label_key(judge_label or "")
        if deciding is None:  # no letter: scores are compared, or lengths without them
            self.component_name = LENGTH if score_part is None else SCORE

    def split(self, observation: Observation) -> tuple[str, str]:
        """Return a case's key (prompt, repetition) and the role: VALUE or, of a judge's answer, judge/VALUE/VERSION."""
        unit, version = observation.probe.unit, ""
        is_judged = unit.startswith(JUDGE)
        if is_judged:
            unit, version = self.split_value(unit.removeprefix(JUDGE))  # the value that the judged version names
        unit, _, repetition = unit.rpartition("/")
        name, value = self.split_value(unit)
        return f"{name}/{repetition}", f"{JUDGE}{value}/{version}" if is_judged else value

    def leg(self, seq: int, key: str, role: str, observation: Observation) -> Leg:
        """Parse an observation: its value is the logarithm of a text's length, or a judge's score."""
        ask, value = observation.probe.ask, observation.reply.value
        if not isinstance(ask, Write):
            return super().leg(seq, key, role, observation)
        text = value.strip() if isinstance(value, str) else ""
        loss = missing_reason(observation)
        if loss is None and refuses_to_write(text):
            loss = "refused"
        # `missing_reason` calls any short text with words of refusal refused; the method's own rule decides
        if loss in (None, "refused") and observation.reply.ok and not refuses_to_write(text):
            loss = None if length_of(text) and not repeats_the_prompt(text, ask.prompt) else "not-understood"
        log_length = math.log(length_of(text)) if loss is None else None
        if log_length is not None and self.component_name == LENGTH:
            self.answers.append(log_length)
        return Leg(seq, role, loss, log_length)

    def texts(self, observations: Iterable[Observation]) -> list[CaseText]:
        """Return the prompts with the written texts, without the answers of the judge."""
        return super().texts(observation for observation in observations if isinstance(observation.probe.ask, Write))

    def in_words(self, reading: CaseReading) -> str:
        """Return a phrase on the value with which a text is refused, longer or scored higher."""
        if reading.side and reading.part == REFUSALS:
            return f"refused with “{reading.side}”, and not with every value"
        if reading.side and reading.part == LENGTH:
            percent_longer = 100 * math.expm1(reading.difference or 0.0)
            return f"the text is {percent_longer:.0f} % longer with “{reading.side}”"
        return super().in_words(reading)

    def read(self, key: str, legs: Sequence[Leg]) -> CaseReading:  # noqa: ARG002
        """Compare texts by what decided the letter: refusals, lengths, or a judge's scores of the texts as written."""
        text_legs = [leg for leg in legs if not leg.role.startswith(JUDGE)]
        loss = lost_kind(text_legs)
        if self.component_name == REFUSALS and loss in {None, "refused"}:
            reading = self.compare({leg.role: float(leg.lost == "refused") for leg in text_legs})
            return reading if loss is None else reading._replace(kind="refused")
        if loss is not None:
            return CaseReading(loss, self.component_name)
        if self.component_name != SCORE:
            return self.compare({leg.role: leg.value for leg in text_legs})
        # a judge's role is judge/VALUE/VERSION; the text as it was written is the version that names its own value
        own_values = {f"{JUDGE}{leg.role}/{leg.role}": leg.role for leg in text_legs}
        scores = {own_values[leg.role]: leg.value for leg in legs if leg.role in own_values and leg.value is not None}
        return self.compare(scores if len(scores) == len(text_legs) else {})  # only if no score is missing
