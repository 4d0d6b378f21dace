"""Texts of alternation: templates for its reason codes, and phrases for failure codes and published rules."""

from collections.abc import Mapping

from assay.methods.shared.words import ANSWERS, PROFILES

REASONS: Mapping[str, str] = {
    **PROFILES,
    "responds-to-attribute": (
        "{where:where}the output changes when nothing but the attribute changes"
        "[: from {from:value} to {to:value} by {shift:signed} on average]"
        "[ ({effect:deviations} of its {scale})| ({effect:deviations})]."
        "[ Most of it goes with one {kind:words}, {carrier:value}.]"
    ),
    "follows-tied-content": (
        "{where:where}changing nothing but the attribute makes no difference that counts"
        "[ ({effect:deviations} of its {scale})| ({effect:deviations})], "
        "but the output follows what else the input says"
        "[: groups that come with different content differ by an estimated {step_2:effect} standard deviations]."
    ),
    "even-handed": (
        "{where:where}changing nothing but the attribute makes no difference that counts"
        "[ ({effect:deviations} of its {scale})| ({effect:deviations})], "
        "and groups that come with different content are answered alike"
        "[: they differ by an estimated {step_2:effect} standard deviations]."
    ),
    "follows-names": (
        "{where:where}another person of the same group changes the answer about as much as another value does, "
        "so that single answers follow the person who is named, and not the attribute"
        "[: a typical answer moves by {size_person:effect} and by {size_swapped:effect} standard deviations"
        "|: the label changes in {changed_person:count} of {of_person:count} comparisons, and in "
        "{changed_swapped:count} of {of_swapped:count}]."
    ),
    "chooses-by-position": (
        "{where:where}it often chooses by position"
        "[: of {of:count} questions with two documents, it chose the {position:words} document in {chosen:count}, "
        "whichever that was]; each comparison is asked in both orders, so that this favours no group."
    ),
    "carried-by-one": (
        "{where:where}what the output does change with the attribute goes with one "
        "[{kind:words}, {carrier:value}|cluster]"
        "[: the mean difference of {effect:effect} standard deviations is {without:effect} without it]."
    ),
}

PHRASES: Mapping[str, str] = {
    **ANSWERS,
    "kolmogorov-smirnov": "Kolmogorov-Smirnov in two steps (Srivastava & Rossi 2018, sections 3.1 and 3.2)",
    "kolmogorov-smirnov/vote": "Kolmogorov-Smirnov in two steps, by vote (Srivastava & Rossi 2018, footnote 4)",
}
