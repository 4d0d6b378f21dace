"""Texts of round-trip and one-hop: templates for reason codes, phrases for failure codes and published rules."""

from collections.abc import Mapping

REASONS: Mapping[str, str] = {
    "follows-biased-input": (
        "{where:where}the output follows its input: fed with one-sided text, the service returns one-sided text"
        "[; {kept:count} of {sent:count} values came back as they were sent"
        "|; {filled:count} of {sent:count} sentences got the value of their occupation]."
        "[ Estimated effect on one-sided input: {step_2:effect}.]"
    ),
    "compensates": (
        "{where:where}the output stays balanced even when the input is one-sided."
        "[ Estimated effect on one-sided input: {step_2:effect}.]"
        "[ Estimated effect on balanced input: {step_1:effect}.]"
    ),
    "introduces-bias": (
        "{where:where}the service introduces bias"
        "[: {shifted:count} of {sent:count} sentences with {from:value} came back as {to:value}"
        "|: {shifted:count} of {sent:count} sentences about occupations of {occupations:value} got {to:value}"
        "|: {from:value} tends to come back as {to:value}"
        "|: too much comes back as {to:value}].[ Estimated effect on balanced input: {step_1:effect}.]"
    ),
    "attribute-erased": (
        "{where:where}the attribute gets lost"
        "[: {erased:count} of {sent:count} sentences no longer tell which value was sent]."
    ),
    "collapses-to-value": (
        "{where:where}the output collapses to [{value:value}|a single value], whatever was sent"
        "[: {collapsed:count} of {sent:count} sentences]."
    ),
    "answers-by-occupation": (
        "{where:where}the service answers by occupation and not by what the text says: asked with either value, "
        "the same occupation comes back alike[ (estimated excess agreement {content:effect}, where 0 is none)]."
    ),
}

PHRASES: Mapping[str, str] = {
    "sentence-count": "the number of sentences changed",
    "sentence-order": "the order of the sentences changed",
    "untranslated": "the text came back untranslated",
    "error-marks": "the engine marked most words as unknown",
    "empty": "the answer was empty",
    "not-english": "what came back was not English",
    "not-source-language": "what came back was not in the source language",
    "elided-article": "the article was elided, so that it showed no gender",
    "no-mark-found": "no article or pronoun showed a gender",
    "same-answer": "the same answer was given to many different texts",
    # published rules (docs/methods/round-trip.md)
    "chi-squared/similar-to-biased": (
        "chi-squared, similar to a biased specification (Srivastava & Rossi 2018, section 4.3)"
    ),
    "chi-squared/departs-from-unbiased": "chi-squared, departs from the unbiased specification",
    "exact-multinomial": "exact multinomial test",
    "kl": "Kullback-Leibler divergence",
    "chi-squared/similar-to-biased/vote": (
        "chi-squared, similar to biased specifications, by vote (Srivastava & Rossi 2018, footnote 4)"
    ),
    "chi-squared/departs-from-unbiased/vote": "chi-squared, departs from the unbiased specification, by vote",
    "kl/vote": "Kullback-Leibler divergence, by vote",
}
