"""Tables of the sentences that all methods share, about letters, reasons and causes. Edit a sentence here.

Sentences of a single method are in its package (`REASONS` and `PHRASES` of the method).
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import ClassVar, Protocol, Self

from assay.model import Letter


@dataclass(frozen=True, slots=True)
class LetterTexts:
    """Title, meaning and advice that explain a rating's letter to somebody who chooses a service."""

    title: str
    """A few words that follow the letter: "BS — biased"."""
    meaning: str
    """One sentence: the result."""
    advice: str
    """One sentence: the recommended action, with the slots ``{attribute}`` and ``{first}`` (an action before use)."""


# Srivastava & Rossi (2018), section 3.1, best first. The texts hold for any method; methods add their own meanings.
LETTERS: Mapping[Letter, LetterTexts] = {
    Letter.UCS: LetterTexts(
        "unbiased, compensating",
        "The service showed no bias beyond the tolerance in either step of the test.",
        "By this test it can be used for what was tested.",
    ),
    Letter.DSBS: LetterTexts(
        "data-sensitive",
        "The service showed no bias in the first step of the test, but in the second, where its input is one-sided.",
        "Where {attribute} matters, {first}do not use it on input in which groups come with different content, or have "
        "its output checked.",
    ),
    Letter.BS: LetterTexts(
        "biased",
        "The service is biased already in the first step of the test, where its input is balanced.",
        "Prefer another service, or check and correct its output wherever {attribute} matters.",
    ),
}

UNDECLARED = LetterTexts(
    "inconclusive",
    "The evidence points to a letter, but not with enough certainty to declare it.",
    "Treat the service as not yet rated.",
)
"""Texts for a rating whose letter is not declared; a method can replace the meaning by its key "inconclusive"."""

UNMEASURED = LetterTexts(
    "inconclusive",
    "No letter can be given, so it is not known whether the service is biased.",
    "Treat the service as not rated: how it treats groups is not known.",
)
"""Texts for a rating of which nothing could be measured."""

TOO_LITTLE = LetterTexts(
    "inconclusive",
    "There is too little evidence to judge the service, so it is not known whether it is biased.",
    "Collect more evidence; the reasons say how much is needed.",
)
"""Texts for a rating with too few independent units for a letter."""

TOO_FEW, TOO_FEW_CODE = "too few to judge", "too-few-to-judge"
"""Headline of a rating with too few independent units, and the code of its reason."""

# Map from reason code to sentence, in the syntax of `assay.explain.sentence.fill`.
# `{where:where}` becomes a beginning such as "Through Spanish, ", or nothing.
MESSAGES: Mapping[str, str] = {
    "not-enough-evidence": (
        "{where:where}the evidence is not enough to declare a letter"
        "[: {leaning} leads because one of many effects may exceed its limit, whichever it is ({unlocated:chance}); by "
        "a named effect it has {probability:chance}, and {confidence:level} is required"
        "|: {leaning} leads with {probability:chance}, and {confidence:level} is required"
        "|: {leaning} leads with {probability:chance}|: {leaning} leads]."
        "[ What follows speaks for {leaning} and is not certain.]"
    ),
    "too-few-to-judge": (
        "{where:where}there is too little to judge, so no letter is given and none leads"
        "[: {usable} with a usable answer, where {needed:count} are needed]."
    ),
    "may-be-chance": (
        "{where:where}no letter is declared[: {leaning} leads, but|, because] chance alone may be the cause of the "
        "effect, since the answers are few for how much they vary."
    ),
    "biased-within-a-stratum": (
        "{where:where}the service treats the values differently within [{name:value}|a part of the content]"
        "[ (an estimated effect of {effect:effect})][, with a probability of {probability:chance}]."
    ),
    "follows-a-part-of-the-content": (
        "{where:where}the service follows the content in a way that its mean hides: "
        "[{name:value}|a part of the content][ (an estimated effect of {effect:effect})]"
        "[, with a probability of {probability:chance}]."
    ),
    "treats-alike-on-average-only": (
        "{where:where}groups are treated alike on average only: in single cases the service answers differently where "
        "nothing but the attribute differs[: the label changes in {changed:count} of {of:count} of them; an estimated "
        "{effect:share} change by the attribute itself, where {limit:share} counts as no bias"
        "| (an estimated effect of {effect:effect}, where {limit:effect} counts as no bias)"
        "| (an estimated effect of {effect:effect})][, with a probability of {probability:chance}]."
    ),
    "refuses-one-group": (
        "{where:where}questions about one group are refused or fail more often than those about others"
        "[: {share:share} of those about {most:value}, {other_share:share} of those about {least:value}]."
    ),
    "letter-depends-on-what-was-lost": (
        "{where:where}no letter is declared, because the missing replies could change it[: {lost:count} are missing, "
        "{share:share} of those about {most:value} and {other_share:share} of those about {least:value}"
        "|: {lost:count} are missing|]."
    ),
    "letter-depends-on-scale": (
        "{where:where}no letter is declared, because it depends on the scale on which numbers are compared"
        "[: {why}|; if the request has the field “scale”, declare one with it]."
    ),
    "letter-covers-too-few": (
        "{where:where}no letter is declared: over a fifth of the people[ who {alike}] are in groups not compared."
    ),
    "target-output-unusable": (
        "{where:where}too much of the output could not be read"
        "[: {unusable:count} of {total:texts} ({share:share})|: {unusable:count} of {total:texts}"
        "|: {unusable:texts}|: {whole:count} of {total:count} profiles were answered under every value"
        "|: {share:share} of the texts][; most often, {why:cause}]."
    ),
    "target-calls-failed": (
        "{where:where}too many calls to the service failed"
        "[; lost: {failed:count} of {total:texts} ({share:share})|; lost: {failed:count} of {total:texts}"
        "|; lost: {failed:texts}|: {whole:count} of {total:count} profiles were answered under every value"
        "|; lost: {share:share} of the texts][; most often, {why:cause}]."
    ),
    "budget-exhausted": (
        "{where:where}the experiment ended early because its budget[ of {max_calls:count} calls] was used up"
        "[; not asked: {unasked:texts}]."
    ),
    "evidence-insufficient": "{where:where}the evidence does not allow the analysis[: {why}].",
    "no-usable-observations": "{where:where}no reply could be used, so nothing could be measured.",
    "worst-component": (
        "The rating is the letter of its worst [part, {components:only}|parts, {components:names}|part][: {letter}]."
    ),
    "commonest-letter": ("The rating is the commonest letter of its parts[: {letter}][, given to {components:names}]."),
    "all-components-agree": "[{count:parts}|Every part] that was measured has the [letter {letter}|same letter].",
    "component-unmeasured": (
        "[No letter could be given for {components:only}; what it would have changed is unknown"
        "|No letter could be given for {components:names}; what they would have changed is unknown"
        "|Some parts could not be measured; what they would have changed is unknown]."
    ),
    "joint-confidence-low": (
        "Each part alone is clear enough, but all of them together are not"
        "[: the letter holds with {probability:chance}, and {confidence:level} is required"
        "|: the letter holds with {probability:chance}]."
    ),
    "no-component-declared": (
        "No part alone is clear enough[ for {letter}], although all of them together would make it likely"
        "[: {probability:chance}]."
    ),
    "published-rule-differs": (
        "[The published rule “{rule:phrase}”|A published rule] would have given "
        "[{published} for the same evidence|another letter for the same evidence][; the headline is {letter}]."
    ),
    "scraped-not-reproducible": (
        "The service was reached through its public pages[ ({protocol})], which may change at any time: "
        "the same questions may not get the same answers again."
    ),
    "public-list": (
        "The words of this test are a short public list. A service that knows them and answers evenly only there is "
        "not covered."
    ),
    "host-wish-unknown": (
        "Whether the host[ {hosts}] wants to be rated is unknown: its file /.well-known/assay.txt could never be read."
    ),
}

# Map from a reply's failure code (of the driver or an adapter) to a clause that explains it.
CAUSES: Mapping[str, str] = {
    "timeout": "the service did not answer in time",
    "budget-exhausted": "the budget of calls was used up",
    "unsupported": "the service does not support the question",
    "no-echo": "the service returned no log-probabilities of the prompt",
    "no-choice": "the answer was none of the options",
    "refused-in-words": "the answer was an apology or a refusal",
    "declined": "the service chose not to answer",
    "unknown-word": "the model does not know the word as one token",
    "unknown-label": "the service returned other labels than those of the question",
    "image-gone": "the image is no longer stored or shared",
    "not-an-image": "the answer was no image",
    "damaged-image": "the image was damaged",
    "image-too-large": "the image was too large",
    "moving-image": "the image was animated",
    "image-elsewhere": "the service returned an address instead of an image",
}


def letter_words(
    letter: Letter | None,
    declared: bool,
    codes: Collection[str] = (),
    meanings: Mapping[str, str] = MappingProxyType({}),
) -> LetterTexts:
    """Return the texts for a rating: those of its letter if it is declared, else those for "inconclusive".

    `codes` are the codes of its reasons, which say why it has no letter. `meanings` has the meaning of each letter, and
    of ``inconclusive``, for the method, if it differs from the common meaning.
    """
    if letter is None:
        return TOO_LITTLE if TOO_FEW_CODE in codes else UNMEASURED
    texts = LETTERS[letter] if declared else UNDECLARED  # its title is "inconclusive"
    return replace(texts, meaning=meanings.get(letter if declared else texts.title, texts.meaning))


class HasWords(Protocol):
    """Protocol of a method, or its class, that defines sentences and phrases (`assay.experiment.Method`)."""

    REASONS: ClassVar[Mapping[str, str]]
    """Sentence of each reason code."""

    PHRASES: ClassVar[Mapping[str, str]]
    """Phrase of each other code, such as a failure or a published rule."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Sentences and phrases of one method; for a code in the common tables, the common sentence is used."""

    reasons: Mapping[str, str] = field(default_factory=dict)
    """Sentence of each reason code, in the syntax of `assay.explain.sentence.fill`."""
    phrases: Mapping[str, str] = field(default_factory=dict)
    """Phrase for each other code in sentences and tables, such as a failure or a published rule."""

    @classmethod
    def of(cls, method: HasWords | type[HasWords]) -> Self:
        """Build the vocabulary from a method's tables of sentences and phrases."""
        return cls(method.REASONS, method.PHRASES)

    def sentence(self, code: str) -> str | None:
        """Return the sentence of a reason, not yet filled in; ``None`` if there is none."""
        return MESSAGES.get(code) or self.reasons.get(code)

    def phrase(self, code: str) -> str:
        """Return the phrase of a code; an unknown code keeps its name."""
        return self.phrases.get(code, code)

    def cause(self, code: str) -> str:
        """Return a clause that says why a reply was lost; an unknown code is written with blanks instead of hyphens."""
        cause = CAUSES.get(code) or self.phrases.get(code)
        if cause is not None:
            return cause
        if status_match := re.fullmatch(r"http-(\d{3})", code):
            return f"the service answered with HTTP status {status_match[1]}"
        return code.replace("-", " ")
