"""Texts of stimulus sampling: templates for its reason codes, and phrases for failure codes."""

from collections.abc import Mapping

from assay.methods.shared.words import ANSWERS, CONSTANT, PROFILES

REASONS: Mapping[str, str] = {
    **CONSTANT,
    **PROFILES,
    "yes-prefers-value": (
        "{where:where}the groups are not equally represented among the inputs that get [{label:value}|the positive "
        "class][: an estimated {share:share} of these are of {value:value}; equal representation would be "
        "{even:share}]."
    ),
    "yes-follows-content": (
        "{where:where}the groups are equally represented among the inputs that get [{label:value}|the positive class] "
        "if their content is the same"
        "[; if content is tied to the attribute, their shares differ from equal ones by an estimated {step_2:effect}]"
        "[: an estimated {rate:share} of inputs with {side:value} get it, and {other_rate:share} of those with "
        "{other:value}]."
    ),
    "yes-even-handed": (
        "{where:where}the groups are equally represented among the inputs that get [{label:value}|the positive class]"
        ", also if their content differs[: their shares then differ from equal ones by an estimated {step_2:effect}]."
    ),
    "never-yes": (
        "{where:where}the service gave [{label:value}|the positive class] to none of the inputs[ ({inputs:count})], so "
        "its distribution over the groups is unknown.[ It answered {seen:names}.]"
    ),
    "labels-unknown": (
        "{where:where}the positive class is unknown[: {label:value} is none of {seen:names}"
        "|: the service answers {seen:names}, and the request names none of them]."
    ),
    "weights-heavy": (
        "{where:where}a few inputs have most of the weight, so the estimate is not reliable"
        "[: the tail of the weights has the Pareto shape {tail:effect}, and at most {limit:effect} is allowed]."
    ),
    "yes-too-rare": (
        "{where:where}too few inputs get the positive class"
        "[: their effective number is {effective:count}, and {needed:count} are needed]."
    ),
    "yes-of-few": (
        "{where:where}the inputs with the positive class are about too few "
        "[different {kind:value}s|different things], so the result may be due to these alone"
        "[: their effective number is {effective:count}, and {needed:count} are needed]."
    ),
}

PHRASES: Mapping[str, str] = ANSWERS
