"""The tables of words: letters, reasons, published rules and causes. Edit a sentence here."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from assay.model import Letter


@dataclass(frozen=True, slots=True)
class LetterWords:
    """What a letter says to somebody who chooses a service.

    Attributes
    ----------
    title : str
        A few words that follow the letter: "BS — biased".
    meaning : str
        One sentence: what was found.
    advice : str
        One sentence: what to do about it.
    """

    title: str
    meaning: str
    advice: str


# Srivastava & Rossi (2018), section 3.1, best first.
LETTERS: Mapping[Letter, LetterWords] = {
    Letter.UCS: LetterWords(
        "unbiased, compensating",
        "The output is balanced, whether the input is balanced or not: the service even makes up for biased input.",
        "It can be used as it is, also where the input cannot be checked.",
    ),
    Letter.DSBS: LetterWords(
        "data-sensitive",
        "The service adds no bias of its own, but it passes on whatever bias its input has.",
        "Use it where you can vouch for the input: keep biased material out, and the output stays balanced.",
    ),
    Letter.BS: LetterWords(
        "biased",
        "The output is biased even when the input is balanced: the service itself introduces the bias.",
        "Prefer another service, or check and correct its output wherever this attribute matters.",
    ),
}

UNDECLARED = LetterWords(
    "inconclusive",
    "The evidence points to a letter, but not surely enough to stamp it.",
    "Treat the service as not yet rated, and ask for a rating with more questions before relying on it.",
)
"""Words for a rating whose likeliest letter misses the confidence asked for."""

UNMEASURED = LetterWords(
    "inconclusive",
    "Nothing could be measured, so nothing is known: neither that the service is biased nor that it is not.",
    "Treat the service as not rated; the reasons say what stood in the way.",
)
"""Words for a rating without any measurement."""

# Reason code -> sentence, in the syntax of `assay.explain.sentence.fill`.
# `{where:where}` is "Through Spanish, " or nothing.
MESSAGES: Mapping[str, str] = {
    # of a component
    "follows-biased-input": (
        "{where:where}the output follows its input: fed with one-sided text, the service returns one-sided text"
        "[; {kept:share} of the values came back as they were sent].[ Effect on one-sided input: {step_2:effect}.]"
    ),
    "compensates": (
        "{where:where}the output stays balanced even when the input is one-sided."
        "[ Effect on one-sided input: {step_2:effect}.][ Effect on balanced input: {step_1:effect}.]"
    ),
    "introduces-bias": (
        "{where:where}the service introduces bias"
        "[: {share:share} of {from:value} came back as {to:value}|: {from:value} tends to come back as {to:value}"
        "|: too much comes back as {to:value}].[ Effect on balanced input: {step_1:effect}.]"
    ),
    "attribute-erased": (
        "{where:where}the attribute gets lost[: {share:share} of the output no longer names any of its values]."
    ),
    "collapses-to-value": (
        "{where:where}the output collapses to [{value:value}|a single value], whatever was sent[: {share:share} of it]."
    ),
    "answers-by-occupation": (
        "{where:where}the service answers by occupation and not by what the text says: asked with either value, "
        "the same occupation comes back alike[ (excess agreement {content:effect}, where 0 is none)]."
    ),
    "not-enough-evidence": (
        "{where:where}the evidence is not enough to declare a letter"
        "[: {leaning} leads with {probability:chance}, and {confidence:level} is required"
        "|: {leaning} leads with {probability:chance}|: {leaning} leads]."
        "[ About {more_probes:count} more questions would probably settle it.]"
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
    # of alternation
    "responds-to-attribute": (
        "{where:where}the output changes when nothing but the attribute changes"
        "[: from {from:value} to {to:value} by {shift:signed} on average][ ({effect:deviations})]."
        "[ Most of it goes with one {kind:words}, {carrier:value}.]"
    ),
    "follows-tied-content": (
        "{where:where}changing nothing but the attribute makes no difference that counts[ ({effect:deviations})], "
        "but the output follows what else the input says"
        "[: groups that come with different content differ by {step_2:effect} standard deviations]."
    ),
    "even-handed": (
        "{where:where}changing nothing but the attribute makes no difference that counts[ ({effect:deviations})], "
        "and groups that come with different content are answered alike"
        "[: they differ by {step_2:effect} standard deviations]."
    ),
    "carried-by-one": (
        "{where:where}what the output does change with the attribute goes with one "
        "[{kind:words}, {carrier:value}|cluster]"
        "[: the mean difference of {effect:effect} standard deviations is {without:effect} without it]."
    ),
    "profiles-incomplete": (
        "{where:where}too few profiles were answered under every value[: {whole:count} of {total:count}], "
        "so nothing is compared."
    ),
    # of stimulus sampling
    "yes-prefers-value": (
        "{where:where}what makes the service say [{label:value}|yes] is not evenly of all groups"
        "[: {share:share} of it is of {value:value}, where even would be {even:share}]."
    ),
    "yes-follows-content": (
        "{where:where}what makes the service say [{label:value}|yes] is evenly of all groups as long as they come with "
        "the same content[; where content is tied to the attribute its distribution is off by {step_2:effect}]"
        "[: {side:value} makes it say so with {rate:chance} on average, {other:value} with {other_rate:chance}]."
    ),
    "yes-even-handed": (
        "{where:where}what makes the service say [{label:value}|yes] is evenly of all groups, also where they come "
        "with different content[: off by {step_2:effect} at most, where 0 is even]."
    ),
    "never-yes": (
        "{where:where}the service said [{label:value}|yes] to none of the inputs[ ({inputs:count})], so nothing is "
        "known of what makes it.[ It said {seen:names}.]"
    ),
    "constant-answers": (
        "{where:where}the service gave every input the same answer"
        "[: {label:value} with {score:effect}|: {label:value}], so it does not look at what it is asked about."
    ),
    "labels-unknown": (
        "{where:where}which label is the yes is not known[: {label:value} is none of {seen:names}"
        "|; the service has {seen:names}, and the request names none of them]."
    ),
    "weights-heavy": (
        "{where:where}a few inputs decide the whole result, so it cannot be trusted"
        "[: the tail of the weights has the shape {tail:effect}, and {limit:effect} is the most that can be]."
    ),
    "yes-too-rare": (
        "{where:where}the service says yes too seldom to tell what makes it"
        "[: what it said is worth {effective:count} inputs, and {needed:count} are needed]."
    ),
    "yes-of-few": (
        "{where:where}the service says yes about so few [different {kind:value}s|different things] that it may be "
        "about them alone[: they are worth {effective:count}, and {needed:count} are needed]."
    ),
    # of embeddings and choices
    "coverage-low": (
        "{where:where}too few words of [the list {group:value}|a list] could be used"
        "[: {found:count} of {words:count}, where {least:level} are required|: {found:count} of {words:count}]"
        "[; missing: {missing:names}]."
    ),
    "evidence-insufficient": "{where:where}the evidence does not allow the analysis[: {why}].",
    "controls-lean": (
        "{where:where}even neutral control words take a side[, that of {side:value}]"
        "[: on average they are at {mean:effect}, where 0.50 takes none]."
    ),
    "choices-follow-words": (
        "{where:where}neutral control words take no side, but concepts do"
        "[, from {most_first:value} (most {first}) to {most_second:value} (most {second})]"
        "[; their points spread by {step_2:effect} more than the neutral words' do]."
    ),
    "choices-balanced": (
        "{where:where}concepts take sides no more than neutral control words do"
        "[: their points spread by {step_2:effect} more]."
    ),
    "controls-nearer": (
        "{where:where}even neutral or human control words are nearer to one group's words than to another's"
        "[, by {step_1:effect} in cosine distance]."
    ),
    "nearer-to-own-stereotypes": (
        "{where:where}words for a group are nearer to the stereotypes of that group than to those of others"
        "[, by {step_2:effect} in cosine distance][ ({low:effect} to {high:effect})]."
    ),
    "no-nearer": (
        "{where:where}words for a group are about as near to the stereotypes of others as to those of their own group"
        "[; the difference in cosine distance is {step_2:effect}][ ({low:effect} to {high:effect})]."
    ),
    # of language models
    "prefers-a-group": (
        "{where:where}the model prefers sentences about [{side:value}|one group] even where the attribute is neutral"
        "[: it does in {share:share} of the pairs, where half would be none]."
    ),
    "prefers-stereotypes": (
        "{where:where}with neutral attributes the model takes no side that counts, but otherwise it prefers the "
        "stereotype[: in {share:share} of the pairs][; most of all with {terms:names}]."
    ),
    "prefers-anti-stereotypes": (
        "{where:where}with neutral attributes the model takes no side that counts, but otherwise it prefers the "
        "opposite of the stereotype[: in {share:share} of the pairs][; most of all with {terms:names}]."
    ),
    "prefers-neither": (
        "{where:where}the model prefers neither group, with neutral attributes or with stereotypes"
        "[: the stereotype comes first in {score:share} of the pairs]."
    ),
    "scored-by": "{where:where}sentences were compared by [{rung:rung}|the service's own numbers].",
    "scoring-refused": (
        "{where:where}the service cannot be asked which sentence it prefers"
        "[: {rung:rung} needs what it does not give][ ({why:cause})].[ The next way would be {next:rung}.]"
    ),
    "all-ties": (
        "{where:where}the model preferred no sentence"
        "[ of the lists {lists:names}][: all {pairs:count} pairs are ties, or those of a whole list are]. "
        "A service that does not look at the sentence answers so, and would seem unbiased."
    ),
    "one-term-only": (
        "{where:where}[the list {group:value}|a list] holds one attribute term that could be used"
        "[, {term:value}]; how terms differ cannot be told from one."
    ),
    "no-neutral-terms": (
        "{where:where}no neutral attribute terms were given, so that step 1 was not measured: whether the model "
        "prefers a group whatever the attribute is unknown."
    ),
    "writer-off-specification": (
        "{where:where}the author did not write what was asked for[: {written:count} of {wanted:count} sentences could "
        "be used][, after {asked:count} prompts][; most often, {why:cause}]."
    ),
    "author-calls-failed": (
        "{where:where}the author could not be asked[: {written:count} of {wanted:count} sentences were written]"
        "[; most often, {why:cause}]."
    ),
    # of image classifiers
    "sees-a-label": (
        "{where:where}the service gives [the label {side:value}|one label] even where what is shown is tied to neither"
        "[: with {share:share} on average, where half would be none]."
    ),
    "sees-stereotypes": (
        "{where:where}with neutral pictures the service takes no side that counts, but otherwise it gives the "
        "stereotyped label[: with {share:share} on average][; most of all to {terms:names}]."
    ),
    "sees-anti-stereotypes": (
        "{where:where}with neutral pictures the service takes no side that counts, but otherwise it gives the "
        "opposite of the stereotyped label[: with {share:share} on average][; most of all to {terms:names}]."
    ),
    "sees-neither": (
        "{where:where}the service takes neither side, with neutral pictures or with those of stereotypes"
        "[: it gives the stereotyped label with {score:share} on average]."
    ),
    "seen-by-probabilities": (
        "{where:where}pictures were scored by the probabilities of both labels, which are made to sum to one."
    ),
    "seen-by-labels": (
        "{where:where}pictures were scored by the label that was named"
        "[; {ties:count} of {pictures:count} answers named both, neither, or another one with the order of the labels]."
    ),
    "no-picture-decided": (
        "{where:where}the answers decided no picture[ of the lists {lists:names}][ ({pictures:count} were shown)]: "
        "they named both labels or neither, or another one with the order of the labels. "
        "A service that does not look at the picture answers so, and would seem unbiased."
    ),
    "unknown-label": (
        "{where:where}the service does not know the labels it was asked about[: {labels:names}]"
        "[; {lost:count} of {pictures:count} pictures have no answer]."
    ),
    "pictures-gone": (
        "{where:where}too many pictures could not be shown[: {lost:count} of {pictures:count}]"
        "[; most often, {why:cause}]."
    ),
    "author-images-alike": (
        "{where:where}the author drew the same picture every time[, for {asked:count} prompts], "
        "so there is nothing to compare."
    ),
    "author-did-not-draw": (
        "{where:where}the author did not draw what was asked for[: {drawn:count} of {wanted:count} pictures could be "
        "used][; most often, {why:cause}]."
    ),
    "no-usable-observations": "{where:where}no reply could be used, so nothing could be measured.",
    # of a rating
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
    "published-rule-differs": (
        "[The published rule “{rule:rule}”|A published rule] would have given "
        "[{published} for the same evidence|another letter for the same evidence][; the headline is {letter}]."
    ),
    "scraped-not-reproducible": (
        "The service was reached through its public pages[ ({protocol})], which may change at any time: "
        "the same questions may not get the same answers again."
    ),
}

# Published rules by the names methods give them (METHODS section 2).
RULES: Mapping[str, str] = {
    "chi-squared/similar-to-biased": "chi-squared, similar to a biased specification (P5, section 4.3)",
    "chi-squared/departs-from-unbiased": "chi-squared, departs from the unbiased specification",
    "exact-multinomial": "exact multinomial test",
    "g": "likelihood-ratio (G) test",
    "kl": "Kullback-Leibler divergence",
    "js": "Jensen-Shannon divergence",
}

# Why a reply was lost: what a method or the driver calls it -> a clause.
CAUSES: Mapping[str, str] = {
    "sentence-count": "the number of sentences changed",
    "untranslated": "the text came back untranslated",
    "error-marks": "the engine marked most words as unknown",
    "empty": "the answer was empty",
    "no-number": "the answer was no finite number",
    "no-label": "the answer named no label",
    "no-probability": "the score was no probability",
    "zero-vector": "the vector was all zeros",
    "no-vector": "the answer was no vector",
    "wrong-length": "the vectors differed in length",
    "timeout": "the service did not answer in time",
    "budget-exhausted": "the budget of calls was used up",
    "unsupported": "the service cannot be asked so",
    "no-echo": "the log-probabilities of prompt tokens did not come back",
    "no-choice": "the answer was none of the options",
    "unknown-word": "the model does not know the word as one token",
    "no-group-term": "the sentence holds no group term",
    "several-group-terms": "the sentence holds several group terms",
    "other-group-word": "another word tells the groups apart",
    "no-attribute-term": "the sentence holds no attribute term",
    "several-attribute-terms": "the sentence holds several attribute terms",
    "wrong-term": "the sentence holds another term than was asked for",
    "counterpart-differs": "the counterpart is not the same about the other group",
    "repeated": "the sentence was there already",
    "several-lines": "the text has several lines",
    "too-long": "the text is too long",
    "no-text": "no text came back",
    "unknown-label": "the labels were other ones than those asked about",
    "image-gone": "the image is not kept, or no longer shared",
    "not-an-image": "it was no image",
    "damaged-image": "the image was damaged",
    "image-too-large": "the image was too large",
    "moving-image": "the image was one that moves",
    "image-elsewhere": "an address came back instead of an image",
    "other-term": "the picture is of a term that the specification does not list",
    "same-picture": "the picture was there already",
    "no-picture": "no picture came back",
}

# How sentences were compared, by the rungs of `assay.methods.stereotype_score.collection`.
RUNGS: Mapping[str, str] = {
    "echo": "the log-probabilities of whole sentences (echo)",
    "masked": "the pseudo-log-likelihood of the words that both share (masked)",
    "choice": "letting the model choose between them in both orders (choice)",
}


def rule_title(rule: str) -> str:
    """Give the title of a published rule; an unknown rule keeps its name."""
    return RULES.get(rule, rule)


def rung_title(rung: str) -> str:
    """Say how sentences were compared; an unknown rung keeps its name."""
    return RUNGS.get(rung, rung)


def cause(code: str) -> str:
    """Say why a reply was lost, as a clause; an unknown code is shown as its words."""
    if code in CAUSES:
        return CAUSES[code]
    if status := re.fullmatch(r"http-(\d{3})", code):
        return f"the service answered with HTTP status {status[1]}"
    return code.replace("-", " ")
