"""One hop: the gender that a translator gives to a person whose gender the sentence does not mention.

A neutral sentence ("The nurse is here.") is translated into a language whose articles or pronouns
mark gender, and the mark is read. The *row* of the transition matrix is the labour side of the
occupation (mostly men, mostly women), so that step 2 asks whether the output follows biased shares
of occupations (docs/methods/one-hop.md). A sentence that leaves the gender open on purpose, such as
one with both forms ("El/la enfermero/a"), is harmless: effects are taken over the marked sentences only,
weighted by their share. A sentence whose gender cannot be read ("L'infirmière") is counted as lost.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Literal

import numpy as np
from annotated_types import Ge, Le

from assay.catalog import Attribute, construction, occupations
from assay.catalog.answer_text import normalise_answer
from assay.catalog.inclusive_forms import without_dots
from assay.catalog.source_languages import source_language
from assay.errors import SpecificationError, UnknownName
from assay.methods.translation.analysis import Asking, TranslationMethod
from assay.methods.translation.blocks import BlockSpec, BlockWriter, Text, neutral_capacity, neutral_writer
from assay.methods.translation.collection import Reading, Translations, align, read_hop
from assay.model import Probe, Translate

BATCH = 500
"""Maximum number of texts sent at once."""


@dataclass(frozen=True)
class OneHop(TranslationMethod):
    """Translate sentences that say nothing about the attribute, and read what the target adds.

    Parameters
    ----------
    attribute : str
        Attribute to test; it must have a lexicon for the target language.
    languages : tuple of str
        Target languages. Each is a component.
    texts_per_block : int
        Texts per block at the first interim analysis.
    unbiased, biased : tuple of mapping
        Declared shares of occupations by labour side: with ``{"he": .5, "she": .5}``, as many occupations are done
        mostly by men as by women.
    strata : bool
        Whether the spread between occupations is judged besides the mean; groups of occupations are step 2 here.
    """

    method: Literal["one-hop"] = "one-hop"
    texts_per_block: Annotated[int, Ge(1), Le(10_000)] = 40

    summary: ClassVar[str] = "Which gender does a translator give to someone whose gender was not said?"
    paper: ClassVar[str] = "Srivastava & Rossi (2018), section 3, with one translation instead of two"
    probes_each: ClassVar[int] = 1

    def __post_init__(self) -> None:
        """Check the languages, and that there are enough sentences."""
        super().__post_init__()
        attribute = self.catalog_attribute
        if not attribute.one_hop_languages:
            raise SpecificationError(f"there is no language in which one-hop can read {self.attribute}", "attribute")
        for index, language in enumerate(self.languages):
            if language not in attribute.one_hop_languages:
                languages = sorted(attribute.one_hop_languages)
                raise UnknownName("language for the method one-hop", language, languages, f"languages.{index}")
        self.refuse_oversize(self.texts_of(attribute, "", self.blocks, self.source), "neutral sentences")

    @staticmethod
    def texts_of(
        attribute: Attribute,
        template: str,  # noqa: ARG004 - there is one construction
        blocks: Sequence[BlockSpec],
        source: str = "en",
    ) -> int:
        """Count the texts per block that can be written without repeating a sentence."""
        source_texts = None if source == "en" else source_language(source, attribute.name, neutral=True)
        return neutral_capacity(attribute, blocks, source_texts)

    def text_writers(self, rng: np.random.Generator) -> Mapping[str | None, BlockWriter]:
        """Return the writer of neutral sentences, which have no templates."""
        return {None: neutral_writer(self.catalog_attribute, self.blocks, rng, self.source_texts)}

    def translate(self, texts: Sequence[Text], translations: Translations, *, again: bool = True) -> Asking:
        """Translate texts, and count the values that their translations mark.

        With `again`, an English text whose article came back elided ("L'") is asked about with the indefinite article.
        """
        language, attribute = translations.language, self.catalog_attribute
        for chunk in (texts[start : start + BATCH] for start in range(0, len(texts), BATCH)):
            replies = yield [
                Probe(f"{language}/{text.name}", Translate(text.text, self.source, language)) for text in chunk
            ]
            retry_texts: list[Text] = []
            for text, reply in zip(chunk, replies, strict=True):
                reading = read_hop(text.text, reply) or read_marks(
                    str(reply.value), len(text.sentences), language, attribute, by_grammar=self.source != "en"
                )
                if reading.unusable == "elided-article" and again and self.source == "en":
                    retry_texts.append(with_indefinite_article(text))
                else:
                    translations.count(text, reading, returned=reply.value)
            yield from self.translate(retry_texts, translations, again=False)


def with_indefinite_article(text: Text) -> Text:
    """Return a text about the same occupation, with an indefinite article ("I called a nurse.")."""
    (sentence,) = text.sentences
    frames = construction("neutral-indefinite").frames
    _, _, frame_number = sentence.content.rpartition("/")
    frame = frames[int(frame_number) % len(frames)]  # there are fewer frames than with the definite article
    occupation = next(candidate for candidate in occupations() if candidate.name == sentence.occupation)
    new_text = frame.write(occupation)
    new_sentence = replace(sentence, text=new_text, content=f"{occupation.name}/{frame.name}")
    return Text(f"{text.name}/indefinite", text.block, new_text, (new_sentence,))


def read_marks(answer: str, count: int, language: str, attribute: Attribute, *, by_grammar: bool = False) -> Reading:
    """Read the value that each of `count` sentences of a translation marks by its grammar: "la" in "la enfermera".

    If `by_grammar`, sentences without an article ("Ich bin Zahnärztin") are read too.
    """
    pieces = align(without_dots(normalise_answer(answer)), count)
    if pieces is None:
        return Reading(unusable="sentence-count")
    marks = [attribute.read_one_hop(piece, language, by_grammar=by_grammar) for piece in pieces]
    if any(mark is None for mark in marks):
        has_elided_article = any(attribute.elides(piece, language) for piece in pieces)
        return Reading(unusable="elided-article" if has_elided_article else "no-mark-found")
    return Reading(values=tuple(mark for mark in marks if mark is not None))
