"""Text templates for the codes of reasons and failures that several methods share."""

from collections.abc import Mapping

PROFILES: Mapping[str, str] = {
    "profiles-incomplete": (
        "{where:where}[too few profiles were answered under every value: {whole:count} of {total:count}"
        "|too many replies about {most:value} are missing: {share:share}"
        "|too few profiles were answered under every value], so nothing is compared."
    ),
    "too-many-labels": (
        "{where:where}the service gave [{labels:count} different labels, and at most {most:count} are compared"
        "|too many different labels to compare]: they may be numbers (kind regressor), free text, or the wrong place "
        "of the answer (settings.output)."
        "[ It gave {seen:names}.]"
    ),
    "labels-contradict-scores": (
        "{where:where}the service's label is often not the likeliest by its scores[: in {share:share} of the answers "
        "about {value:value}]. Both are judged, and the worse letter counts."
    ),
    "label-respelt": (
        "{where:where}[the label {label:value}|one label] came in other spellings as well[: {spellings:names}], which "
        "count as one label."
    ),
}
"""Templates of reasons about profiles, by code."""

CONSTANT: Mapping[str, str] = {
    "constant-answers": (
        "{where:where}the service gave every input the same answer"
        "[: {label:value} with {score:effect}|: {label:value}], so it does not look at what it is asked about."
    )
}
"""Templates of reasons about answers that are all the same, by code."""

COVERAGE: Mapping[str, str] = {
    "coverage-low": (
        "{where:where}too few words of [the list {group:value}|a list] could be used"
        "[: {found:count} of {words:count}, where {least:level} are required|: {found:count} of {words:count}]"
        "[; missing: {missing:names}]."
    )
}
"""Templates of reasons about the coverage of lists of words, by code."""

TERMS: Mapping[str, str] = {
    "one-term-only": (
        "{where:where}[the list {group:value}|a list] has only one usable attribute term"
        "[, {term:value}]; the variation between terms cannot be estimated from one."
    ),
    "no-neutral-terms": (
        "{where:where}no neutral attribute terms were given, so step 1 was not measured: whether the model "
        "prefers one group for every attribute is unknown."
    ),
}
"""Templates of reasons about scores of terms, by code."""

ANSWERS: Mapping[str, str] = {
    "no-number": "the answer was no finite number",
    "no-label": "the answer named no label",
    "no-probability": "the score was no probability",
}
"""Phrases for unusable answers of classifiers and regressors, by failure code."""

VECTORS: Mapping[str, str] = {
    "zero-vector": "the vector was all zeros",
    "no-vector": "the answer was no vector",
    "wrong-length": "the vectors differed in length",
}
"""Phrases for unusable vectors of words, by failure code."""

SENTENCES: Mapping[str, str] = {
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
}
"""Phrases for sentences that a specification of words makes unusable, by reason code."""
