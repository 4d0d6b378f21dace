"""Cases of translators: a text translated there and back, or a text translated into another language."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from assay.catalog import attribute as attribute_named
from assay.catalog import split_sentences
from assay.catalog.labour import occupations
from assay.catalog.source_languages import source_language
from assay.catalog.values import NEUTRAL
from assay.document import RatingDocument
from assay.explain import share as percent
from assay.methods.translation.collection import MOST_ALIKE, Reading, read_hop, read_text
from assay.methods.translation.one_hop import read_marks
from assay.model import Observation, Reply, Translate
from reports.cases.reading import CaseKind, CaseReader, CaseReading, CaseText, Deciding, Leg, lost_kind, missing_reason

INDEFINITE = "/indefinite"
"""Suffix of the unit of a text that is translated once more, with the indefinite article."""


class RoundTripCases(CaseReader):
    """Reader of round trips: a case has the translation of a text and the translation back."""

    paired = True

    def __init__(self, rating: RatingDocument, deciding: Deciding | None = None) -> None:
        super().__init__(rating, deciding)
        self.attribute = attribute_named(str(rating.attribute))
        self.source = str(rating.experiment.get("source") or "en")
        self._step_of_block = {
            (part.name, block.name): 1 if block.role == "unbiased" else 2
            for part in rating.components
            for block in part.blocks
        }
        self._sent: dict[str, Sequence[str]] = {}  # the sentences, by the key of the case
        self._not_returned: dict[str, Observation] = {}  # translations that were not sent back, by the key of the case
        self._occurrences: Counter[tuple[str, str]] = Counter()  # of a returned text in a component

    @property
    def first_side(self) -> str:
        """Name of the attribute's first value."""
        return self.attribute.value_names[0]

    def leg(self, seq: int, key: str, role: str, observation: Observation) -> Leg:
        """Store the sentences of a text that was sent (way out), or parse the values of a returned text (way back).

        A translation is sent back only if it is usable; so `read` checks only those that were never sent back.
        """
        text = _source_text(observation)
        if role == "out":
            self._sent[key] = split_sentences(text)
            self._not_returned[key] = observation
            return Leg(seq, role, lost=missing_reason(observation) if observation.reply.failure else None)
        self._not_returned.pop(key, None)
        returned = observation.reply
        # `read_hop` returns a reading (with the reason) only if the reply is unusable
        reading = read_hop(text, returned) or self._read_returned_text(key, str(returned.value))
        return _leg(seq, role, observation, reading)

    def read(self, key: str, legs: Sequence[Leg]) -> CaseReading:
        """Compare, sentence by sentence, the values that were sent with the values that were returned."""
        component_name, step = self._component_and_step(key)
        loss = lost_kind(legs)
        if loss is None and (observation := self._not_returned.get(key)) is not None:
            reading = read_hop(_source_text(observation), observation.reply)
            way_out_leg = _leg(seq=0, role="", observation=observation, reading=reading)
            loss = way_out_leg.lost or "not-asked"  # usable, but the way back was not asked
        if loss is not None:
            return CaseReading(loss, component_name, step)
        *_, way_back = legs
        value_pairs = list(zip(map(self._read_sentence, self._sent.get(key, ())), way_back.value or (), strict=False))
        changed_values = [after for before, after in value_pairs if before != after]
        share = len(changed_values) / max(1, len(value_pairs))
        side = ", ".join(dict.fromkeys(changed_values)) or None
        return CaseReading("changed" if changed_values else "kept", component_name, step, difference=share, side=side)

    def in_words(self, reading: CaseReading) -> str:
        """Return a phrase on the share of sentences that were returned with another value."""
        if not reading.difference:
            return "every sentence came back with its value"
        return f"{percent(reading.difference)} of its sentences came back with another value: {reading.side}"

    def texts(self, observations: Iterable[Observation]) -> list[CaseText]:
        """Return the text sent, its translation and the returned text, with the reason if one of them is unusable."""
        texts: list[CaseText] = []
        for observation in observations:
            ask, reply = observation.probe.ask, observation.reply
            if isinstance(ask, Translate):
                if not texts:
                    texts.append(CaseText("sent", ask.text, ask.source))
                failure = self._reason_unusable(texts, ask, reply)
                text = "" if reply.value is None else str(reply.value)
                name = "back" if ask.target == texts[0].lang else "translated"
                texts.append(CaseText(name, text, ask.target, failure=failure))
        return texts

    def _component_and_step(self, key: str) -> tuple[str, int | None]:
        part, block, *_ = [*key.rsplit("/", 2), "", ""]  # PART/BLOCK/TEXT; other keys have no block
        return part, self._step_of_block.get((part, block))

    def _reason_unusable(self, texts: Sequence[CaseText], ask: Translate, reply: Reply) -> str | None:
        """Return the code of why a translation (`reply`) is unusable, or ``None``; `texts[0]` is the text sent."""
        reading = read_hop(ask.text, reply)  # ``None`` if the translation is usable
        if reading is None and ask.target == texts[0].lang:  # the way back
            reading = self._read_values(str(reply.value), split_sentences(texts[0].text))
        if reading is None:
            return None
        return reading.unusable if reading.failure is None else reading.failure.code

    def _read_returned_text(self, key: str, text: str) -> Reading:
        component, _ = self._component_and_step(key)
        return self._refuse_repeated(component, text, self._read_values(text, self._sent.get(key, ())))

    def _refuse_repeated(self, component: str, text: str, reading: Reading) -> Reading:
        """Return `reading`; once a component returned the same `text` more than `MOST_ALIKE` times, an unusable one."""
        self._occurrences[component, text.strip()] += reading.values is not None
        is_repetitive = self._occurrences[component, text.strip()] > MOST_ALIKE
        return Reading(unusable="same-answer") if is_repetitive and reading.values else reading

    def _read_values(self, returned_text: str, sent: Sequence[str]) -> Reading:
        source = None if self.source == "en" else source_language(self.source, self.attribute.name)
        return read_text(returned_text, sent, self.attribute, source)

    def _read_sentence(self, sentence: str) -> str | None:
        if self.source == "en":
            return self.attribute.read(sentence)
        return source_language(self.source, self.attribute.name).read(sentence, self.attribute.residual)


class OneHopCases(RoundTripCases):
    """Reader of single translations: the marked gender is compared with the occupation's usual gender."""

    @cached_property
    def _side_of_occupation(self) -> Mapping[str, str | None]:
        """By English occupation, the pronoun of the gender that has it more often; empty for other source languages."""
        shipped_occupations = occupations() if self.source == "en" else ()
        return {occupation.name.casefold(): occupation.side for occupation in shipped_occupations}

    @cached_property
    def _occupation_pattern(self) -> re.Pattern[str]:
        names = sorted(self._side_of_occupation, key=len, reverse=True)
        return re.compile(rf"\b(?:{'|'.join(map(re.escape, names))})\b" if names else "(?!)")  # "(?!)" matches nothing

    def split(self, observation: Observation) -> tuple[str, str]:
        """Return the key (the text's name) and the role: `INDEFINITE` for the second translation of a text, else ""."""
        unit = observation.probe.unit
        return unit.removesuffix(INDEFINITE), INDEFINITE if unit.endswith(INDEFINITE) else ""

    def leg(self, seq: int, key: str, role: str, observation: Observation) -> Leg:
        """Parse a translation as (genders that its sentences mark, usual gender of the occupation or ``None``)."""
        reply, text = observation.reply, _source_text(observation)
        leg = _leg(seq, role, observation, read_hop(text, reply) or self._read_marks(key, text, str(reply.value)))
        match = self._occupation_pattern.search(text.casefold())
        usual_value = None if match is None else self._side_of_occupation[match.group()]
        return leg._replace(value=None if leg.value is None else (leg.value, usual_value))

    def read(self, key: str, legs: Sequence[Leg]) -> CaseReading:
        """Compare the gender marked by a translation with the occupation's usual gender."""
        component_name, step = self._component_and_step(key)
        last_leg = legs[-1]  # of two translations, that with the indefinite article
        loss = lost_kind([last_leg])
        if loss is not None or last_leg.value is None:
            return CaseReading(loss or "not-understood", component_name, step)
        marks, usual_value = last_leg.value
        mark = next((mark for mark in marks if mark != NEUTRAL), None)
        if mark is None:
            return CaseReading("tie", component_name, step, difference=0.0)
        kind: CaseKind = "answered" if usual_value is None else "towards" if mark == usual_value else "against"
        return CaseReading(kind, component_name, step, difference=1.0, side=mark)

    def in_words(self, reading: CaseReading) -> str:
        """Return a phrase on the gender that the translation marks, if any."""
        return f"the translation marks “{reading.side}”" if reading.side else "the translation marks no gender"

    def _read_marks(self, key: str, text: str, returned_text: str) -> Reading:
        language, count = key.partition("/")[0], len(split_sentences(text))
        reading = read_marks(returned_text, count, language, self.attribute, by_grammar=self.source != "en")
        return self._refuse_repeated(language, returned_text, reading)


def _source_text(observation: Observation) -> str:
    ask = observation.probe.ask
    return ask.text if isinstance(ask, Translate) else ""


def _leg(seq: int, role: str, observation: Observation, reading: Reading | None) -> Leg:
    """Return a parsed observation: the values that `reading` found in the reply, or the reason why it is unusable."""
    if reading is None or reading.values is not None:  # ``None``: the reply is usable
        return Leg(seq, role, value=None if reading is None else reading.values)
    is_refusal = reading.unusable == "refused-in-words"
    return Leg(seq, role, missing_reason(observation) or ("refused" if is_refusal else "not-understood"))
