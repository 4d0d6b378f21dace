"""Round trip: how a translation to another language and back changes the pronouns of a text.

The two-step test of Srivastava & Rossi (2018), section 4 (their USRTest), with paired evidence,
more templates, and a letter with a stated probability (docs/methods/round-trip.md).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from annotated_types import Gt, Lt, MaxLen

from assay.bounds import refuse_repeats
from assay.catalog import Attribute, Construction, Frame, check_language, construction, occupations
from assay.catalog.source_languages import source_language
from assay.errors import SpecificationError
from assay.methods.shared.held_back import check_statements
from assay.methods.translation.analysis import Asking, TranslationMethod
from assay.methods.translation.blocks import BlockSpec, BlockWriter, Text, block_writer, capacity, halves
from assay.methods.translation.collection import Translations, read_hop, read_text
from assay.methods.translation.published_rules import PublishedLetters, analyse_blocks
from assay.model import Probe, Translate
from assay.references import HeldBack
from assay.statistics.hypothesis_tests.published import Aggregate, Statistic
from assay.statistics.hypothesis_tests.published import Reading as PublishedReading

BASE = "base"
"""Name of the paper's sentence construction, to which held-back frames are added."""

BATCH = 1_000
"""Maximum number of texts sent at once: enough to keep a target busy, few enough to limit the memory."""


@dataclass(frozen=True)
class RoundTrip(TranslationMethod):
    """Translate texts with a known attribute into a middle language and back, and compare.

    Parameters
    ----------
    templates : tuple of str
        Sentence constructions; each is measured with each language. ``base`` is the paper's.
    delta_content : float
        Largest excess concordance (same answer for different pronouns) that still counts as answering by the pronoun.
    reading : str
        The reading of the published rule that is shown first; both are computed, and neither decides the headline.
    statistic : str
        The statistic of the published rule; only this one is computed. The exact multinomial
        test is always shown as well.
    join : str
        How a published rule combines the comparisons of a step: ``worst`` (Srivastava & Rossi 2018, section 4.3) or
        ``vote`` (their footnote 4: biased if at least half of them are).
    held_back : tuple of str
        Further frames of ``base`` that the agency held back until this rating; the agency fills them in.
    """

    method: Literal["round-trip"] = "round-trip"
    templates: Annotated[tuple[str, ...], MaxLen(20)] = ("base",)
    delta_content: Annotated[float, Gt(0), Lt(1)] = 0.15
    reading: PublishedReading = "departs-from-unbiased"
    statistic: Statistic = "two-sample"
    join: Aggregate = "worst"
    held_back: Annotated[tuple[str, ...], MaxLen(100)] = ()

    summary: ClassVar[str] = "Does a translator keep, change or erase the attribute on the way there and back?"
    paper: ClassVar[str] = "Srivastava & Rossi (2018), sections 3 and 4"
    probes_each: ClassVar[int] = 2

    def __post_init__(self) -> None:
        """Check the languages and templates, and that there are enough sentences."""
        super().__post_init__()
        attribute = self.catalog_attribute
        refuse_repeats("templates", self.templates)
        for index, language in enumerate(self.languages):
            check_language(language, f"languages.{index}")
            if self.source == "en" and language.split("-")[0].lower() == "en":
                raise SpecificationError("English cannot be its own middle language", f"languages.{index}")
        for index, template in enumerate(self.templates):
            if self.source != "en" and template != BASE:
                raise SpecificationError(f"texts in {self.source} have the template 'base' only", f"templates.{index}")
            if not construction(template, f"templates.{index}").supports(attribute):
                raise SpecificationError(
                    f"the template {template!r} has no slot for {self.attribute}; 'base' has", f"templates.{index}"
                )
        if self.held_back:
            check_statements(self.held_back, "held_back")
        for template in self.templates:
            max_texts = capacity(self._source_attribute, self._construction(template), self.blocks, self.occupations)
            self.refuse_oversize(max_texts, f"sentences of the template {template!r}")

    @property
    def cells(self) -> tuple[tuple[str, str | None], ...]:
        """Every measured pair of language and template; each pair becomes a component."""
        return tuple((language, template) for language in self.languages for template in self.templates)

    @staticmethod
    def texts_of(attribute: Attribute, template: str, blocks: Sequence[BlockSpec], source: str = "en") -> int:
        """Count the texts per block that can be written without repeating a sentence."""
        if source != "en":
            source_texts = source_language(source, attribute.name)
            return capacity(source_texts.attribute(attribute), source_texts.base, blocks, source_texts.occupations)
        return capacity(attribute, construction(template), blocks, occupations())

    def language_pairs(self) -> Sequence[tuple[str, str]]:
        """List the translations asked for, as (from, to): from the source into every language, then back."""
        outward = super().language_pairs()
        return [*outward, *((language, source) for source, language in outward)]

    def with_held_back(self, material: HeldBack) -> Self:
        """Return the method with the held-back frames that fit the attribute, if ``base`` is measured in English."""
        attribute = self.catalog_attribute
        frames = tuple(statement for statement in material.statements if Frame("", statement).fits(attribute))
        return replace(self, held_back=frames if BASE in self.templates and self.source == "en" else ())

    @property
    def _source_attribute(self) -> Attribute:
        """The attribute in the words of the source language."""
        texts = self.source_texts
        return self.catalog_attribute if texts is None else texts.attribute(self.catalog_attribute)

    def _construction(self, template: str) -> Construction:
        """Return the sentence frames of a template; those of ``base`` include the held-back statements, if any."""
        texts = self.source_texts
        if texts is not None:
            return texts.base
        shipped_construction = construction(template)
        if template != BASE or not self.held_back:
            return shipped_construction
        held_back_frames = (
            Frame(f"{BASE}/held-back-{number}", statement) for number, statement in enumerate(self.held_back, start=1)
        )
        return replace(shipped_construction, frames=(*shipped_construction.frames, *held_back_frames))

    @property
    def content_tolerance(self) -> float:
        """Largest excess concordance (equal answers to sentences that differ in the value) that counts as none."""
        return self.delta_content

    def text_writers(self, rng: np.random.Generator) -> Mapping[str | None, BlockWriter]:
        """Return a writer of texts for each template."""
        return {
            template: block_writer(
                self._source_attribute, self._construction(template), self.blocks, writer_rng, self.occupations
            )
            for template, writer_rng in zip(self.templates, rng.spawn(len(self.templates)), strict=True)
        }

    def analyse(self, translations: Translations, rng: np.random.Generator) -> PublishedLetters:
        """Compute the letters of the published rules, with the request's reading, statistic and join."""
        return analyse_blocks(translations, self.alpha, rng, self.reading, self.statistic, self.join)

    def translate(self, texts: Sequence[Text], translations: Translations) -> Asking:
        """Translate texts there and back, and count the values that return."""
        language = translations.language
        # in two halves, so that no two versions of a sentence come close together
        for chunk in (half[start : start + BATCH] for half in halves(texts) for start in range(0, len(half), BATCH)):
            out_replies = yield [
                Probe(
                    f"{translations.name}/{text.name}/out",
                    Translate(text.text, self.source, language),
                    text.versions_of("out"),
                )
                for text in chunk
            ]
            texts_with_middle: list[tuple[Text, str]] = []
            for text, reply in zip(chunk, out_replies, strict=True):
                unusable_reading = read_hop(text.text, reply)
                if unusable_reading is not None:
                    translations.count(text, unusable_reading, middle=reply.value)
                else:
                    texts_with_middle.append((text, str(reply.value)))
            back_replies = yield [
                Probe(
                    f"{translations.name}/{text.name}/back",
                    Translate(middle, language, self.source),
                    text.versions_of("back"),
                )
                for text, middle in texts_with_middle
            ]
            for (text, middle), reply in zip(texts_with_middle, back_replies, strict=True):
                sent = [sentence.text for sentence in text.sentences]
                back = str(reply.value)
                reading = read_hop(middle, reply) or read_text(back, sent, self.catalog_attribute, self.source_texts)
                translations.count(text, reading, middle=middle, returned=reply.value)
