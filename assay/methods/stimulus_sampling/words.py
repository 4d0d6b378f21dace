"""Texts of stimulus sampling: sentences for its reasons and codes."""

from __future__ import annotations

from collections.abc import Mapping

from assay.methods.shared.words import ANSWERS, CONSTANT, PROFILES

REASONS: Mapping[str, str] = {
    **CONSTANT,
    **PROFILES,
    "yes-prefers-value": (
        "{where:where}what makes the service say [{label:value}|yes] is not evenly of all groups"
        "[: an estimated {share:share} of it is of {value:value}, where even would be {even:share}]."
    ),
    "yes-follows-content": (
        "{where:where}what makes the service say [{label:value}|yes] is evenly of all groups as long as they come with "
        "the same content"
        "[; where content is tied to the attribute its distribution is off by an estimated {step_2:effect}]"
        "[: an estimated {rate:share} of inputs with {side:value} get it, and {other_rate:share} of those with "
        "{other:value}]."
    ),
    "yes-even-handed": (
        "{where:where}what makes the service say [{label:value}|yes] is evenly of all groups, also where they come "
        "with different content[: off by an estimated {step_2:effect}, where 0 is even]."
    ),
    "never-yes": (
        "{where:where}the service said [{label:value}|yes] to none of the inputs[ ({inputs:count})], so nothing is "
        "known of what makes it.[ It said {seen:names}.]"
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
}

PHRASES: Mapping[str, str] = ANSWERS
