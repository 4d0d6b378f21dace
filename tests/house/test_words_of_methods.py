"""Every code of a method has a sentence in one table; no other module names a method's codes."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pytest

from assay.explain.words import CAUSES, MESSAGES
from assay.methods import METHODS, OneHop, RoundTrip, method_name
from assay.methods.shared import words as shared
from assay.model import Letter
from reports.methods import REPORTS
from reports.view import BALANCED

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ROOT / "assay" / "methods"
TABLES = [*PACKAGES.glob("*/words.py"), ROOT / "assay" / "explain" / "words.py"]
REASONS = {code: text for method in METHODS for code, text in method.REASONS.items()} | dict(MESSAGES)
"""Sentences by reason code, of all methods and of the common table."""
VERDICTS = {*Letter, "inconclusive"}
"""Letters, and ``inconclusive``: for each, a method must have its own sentence."""


def package_of(method: type) -> Path:
    return PACKAGES / method.__module__.split(".")[2]


def modules_of(method: type) -> list[Path]:
    """List the modules of a method's package, and those of `methods/shared` that they import, directly or not."""
    waiting, found = list(package_of(method).glob("*.py")), []
    while waiting:
        path = waiting.pop()
        if path in found or path.name == "words.py":
            continue
        found.append(path)
        imported = (node.module or "" for node in ast.walk(parsed(path)) if isinstance(node, ast.ImportFrom))
        waiting += [
            ROOT / f"{name.replace('.', '/')}.py" for name in imported if name.startswith("assay.methods.shared.")
        ]
    return found


def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def texts(node: ast.AST) -> set[str]:
    return {one.value for one in ast.walk(node) if isinstance(one, ast.Constant) and isinstance(one.value, str)}


def alternatives(node: ast.expr) -> set[str]:
    """Return the possible string values of an expression."""
    if isinstance(node, ast.IfExp):
        return alternatives(node.body) | alternatives(node.orelse)
    return {node.value} if isinstance(node, ast.Constant) else set()


def given_by(path: Path) -> set[str]:
    """Return the reason codes in a module: first arguments of `Reason`, and strings that are known codes."""
    tree = parsed(path)
    codes = texts(tree) & REASONS.keys()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and node.args:
            name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
            if name in {"Reason", "reason"}:
                codes |= alternatives(node.args[0])
    return codes


def codes_in(path: Path) -> list[str]:
    """List the keys of every table in a module of words."""
    tables = [node for node in ast.walk(parsed(path)) if isinstance(node, ast.Dict)]
    return [
        key.value
        for table in tables
        for key in table.keys
        if isinstance(key, ast.Constant) and key.value not in VERDICTS
    ]


@pytest.mark.slow
def test_the_source_search_of_this_module_finds_known_reason_codes():
    found = {code for method in METHODS for path in modules_of(method) for code in given_by(path)}
    assert {"introduces-bias", "coverage-low", "prefers-stereotypes", "never-yes", "scored-by"} <= found


@pytest.mark.parametrize("method", METHODS, ids=method_name)
def test_every_reason_code_of_a_method_has_an_explaining_sentence(method):
    # codes of failed replies are explained elsewhere; `unknown-label` is both such a code and a reason
    of_replies = CAUSES.keys() | method.PHRASES.keys()
    given = {code for path in modules_of(method) for code in given_by(path)} - (of_replies - method.REASONS.keys())
    assert given - method.REASONS.keys() - MESSAGES.keys() == set()


@pytest.mark.parametrize("method", METHODS, ids=method_name)
def test_every_explaining_sentence_belongs_to_a_reason_code_that_the_method_uses(method):
    told = {text for path in modules_of(method) for text in texts(parsed(path))}
    beginnings = tuple(text for text in told if text.endswith("-") and len(text) > 4)
    assert [code for code in method.REASONS if code not in told and not code.startswith(beginnings)] == []


@pytest.mark.parametrize("report", REPORTS, ids=lambda report: report.method.method)
def test_every_report_names_both_steps_of_its_method(report):
    assert len(report.steps) == 2
    assert all(report.steps)
    assert (report.steps == BALANCED) == issubclass(report.method, RoundTrip | OneHop)


@pytest.mark.parametrize("report", REPORTS, ids=lambda report: report.method.method)
def test_every_method_has_its_own_sentence_for_each_letter(report):
    assert set(report.letters) == VERDICTS
    others = {sentence for other in REPORTS if other is not report for sentence in other.letters.values()}
    assert not others & set(report.letters.values())
    assert all(sentence.endswith(".") for sentence in report.letters.values())


def test_no_reason_code_has_sentences_in_two_tables():
    common = Counter([*MESSAGES, *CAUSES])
    written = Counter(code for path in TABLES for code in codes_in(path))
    # two codes name a failed reply and also the reason that it causes
    assert {code for code, times in written.items() if times > 1} <= {"budget-exhausted", "unknown-label"}
    assert common["budget-exhausted"] == 2


def test_modules_of_reports_and_explanations_name_no_reason_code_of_a_method():
    own = {code for method in METHODS for code in method.REASONS} | set(vars(shared)["COVERAGE"])
    for folder in ("reports", "assay/explain"):
        for path in set((ROOT / folder).rglob("*.py")) - set((ROOT / "reports" / "methods").glob("*.py")):
            said = texts(parsed(path))
            assert said & (own - MESSAGES.keys() - CAUSES.keys()) == set(), path
            assert said & {method_name(method) for method in METHODS} == set(), path
