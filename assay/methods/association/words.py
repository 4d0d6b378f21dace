"""Texts of association: templates for its reason codes, and phrases for unusable vectors."""

from collections.abc import Mapping

from assay.methods.shared.words import COVERAGE, VECTORS

REASONS: Mapping[str, str] = {
    **COVERAGE,
    "controls-nearer": (
        "{where:where}even neutral or human control words are nearer to one group's words than to another's"
        "[, by an estimated {step_1:effect} in cosine distance]."
    ),
    "nearer-to-own-stereotypes": (
        "{where:where}words for a group are nearer to the stereotypes of that group than to those of others"
        "[, by an estimated {step_2:effect} in cosine distance][ ({low:effect} to {high:effect})]."
    ),
    "nearer-to-others-stereotypes": (
        "{where:where}words for a group are nearer to the stereotypes of others than to those of their own group"
        "[; the difference in cosine distance is an estimated {step_2:effect}][ ({low:effect} to {high:effect})]."
    ),
    "no-nearer": (
        "{where:where}words for a group are about as near to the stereotypes of others as to those of their own group"
        "[; the difference in cosine distance is an estimated {step_2:effect}][ ({low:effect} to {high:effect})]."
    ),
}

PHRASES: Mapping[str, str] = VECTORS
