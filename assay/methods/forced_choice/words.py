"""Texts of forced choice: templates for its reason codes, and phrases for failure codes."""

from collections.abc import Mapping

from assay.methods.shared.words import COVERAGE, VECTORS

REASONS: Mapping[str, str] = {
    **COVERAGE,
    "controls-lean": (
        "{where:where}even neutral control words take a side[, that of {side:value}]"
        "[: on average they are at an estimated {mean:effect}, where 0.50 takes none]."
    ),
    "levels-too-far-apart": (
        "{where:where}the choices change between two levels, and the letter depends on where between them they change; "
        "trials at levels between these would show it."
    ),
    "choices-follow-words": (
        "{where:where}neutral control words take no side, but concepts do"
        "[, from {most_first:value} (nearest to {first}) to {most_second:value} (nearest to {second})]"
        "[; they take sides by an estimated {step_2:effect} beyond what neutral words do]."
    ),
    "choices-balanced": (
        "{where:where}concepts take sides no more than neutral control words do"
        "[: by an estimated {step_2:effect} beyond those]."
    ),
}

PHRASES: Mapping[str, str] = VECTORS
