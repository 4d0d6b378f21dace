"""Names of variables and parameters: the share of pronouns, participles and everyday nouns may only fall."""

import ast
from collections import Counter
from textwrap import dedent

from tools.house_figures import SourceTree

LIMIT = 0.3
"""Largest permitted share in per cent; lower it whenever the measured share falls."""

WORDS = (
    "one each other some every place found said written shown asked drawn known named given kept held listed wanted "
    "made seen most own here why what who whole beside about due left spoken heard spelled rest told judged brief again"
)
VAGUE = frozenset(WORDS.split())
"""Names that do not say what they hold."""

NOT_THE_PRODUCT = {"assay_client", "demo", "migrations"}


def bound_names(tree):
    """Yield each name that is bound: a parameter, an assigned name, a loop's variable, or a field of a class."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg


def vague_names(tree):
    """Return the number of bound names, and how often each vague name is bound."""
    names = list(bound_names(tree))
    return len(names), Counter(name for name in names if name in VAGUE)


def measured():
    """Return the share of vague names in per cent, and their number in each module of the product."""
    total, by_module = 0, Counter()
    for module, tree in SourceTree.read().trees.items():
        if module.partition(".")[0] not in NOT_THE_PRODUCT:
            names, vague = vague_names(tree)
            total += names
            by_module[module] = vague.total()
    return 100 * by_module.total() / total, by_module


def test_vague_names_are_counted_in_fields_parameters_assignments_and_loops():
    source = """
        class Row:
            kept: int

        def read(here, *, asked=None, **given):
            found, total = here.read(known=asked), 0
            for one in found:
                total += one.most
            if (said := total) and given:
                return [each for each in found if each]
            return lambda other: other.place or said
    """
    total, vague = vague_names(ast.parse(dedent(source)))
    assert vague == Counter(["kept", "here", "asked", "given", "found", "one", "said", "each", "other"])
    assert total == 11


def test_the_share_of_vague_variable_and_parameter_names_stays_within_its_limit():
    share, by_module = measured()
    worst = ", ".join(f"{module} {count}" for module, count in by_module.most_common(12))
    assert share <= LIMIT, f"{share:.2f} % of all names say nothing; at most {LIMIT} % are allowed. Most in: {worst}"


def test_no_connection_to_the_database_has_the_type_any():
    untyped = [
        f"{module}, line {parameter.lineno}"
        for module, tree in SourceTree.read().trees.items()
        for parameter in ast.walk(tree)
        if isinstance(parameter, ast.arg) and parameter.arg in {"c", "connection"}
        if isinstance(parameter.annotation, ast.Name) and parameter.annotation.id == "Any"
    ]
    assert not untyped, f"use store.core.database.Connection in {untyped}"
