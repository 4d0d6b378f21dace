"""Every promised fault has its row in docs/reliability.md, and every row names tests that exist."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
PAGE = (TESTS.parent / "docs" / "reliability.md").read_text(encoding="utf-8")
FIRST_LIMIT = 62
"""Row of the first promise about the cost of one request or job; tests of this and later rows quote their row."""
OPEN: set[int] = set()
"""Rows whose promise has no test yet."""
FAULTS = [number for number in range(1, 118) if number not in OPEN]


@cache
def known_tests(file: str) -> frozenset[str]:
    tree = ast.parse((TESTS / file).read_text(encoding="utf-8"))
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, kinds) and node.name.startswith("test_"))


def rows(text: str) -> dict[int, str]:
    found = re.findall(r"^\| (\d+) \|(.*)$", text, re.MULTILINE)
    assert len({number for number, _ in found}) == len(found), "a row stands twice"
    return {int(number): rest for number, rest in found}


def test_every_numbered_fault_has_exactly_one_row_on_the_reliability_page():
    assert sorted(rows(PAGE)) == FAULTS


def test_every_row_of_the_main_reliability_table_names_existing_tests():
    main = PAGE.partition("## Apart")[0]
    for number, rest in rows(main).items():
        shown_by = re.findall(r"`([\w/]+\.py)::(\w+|\*)`", rest.rsplit("|", 2)[1])
        assert shown_by, f"row {number} is shown by nothing"
        for file, name in shown_by:
            known = known_tests(file)
            assert known, f"row {number}: {file} holds no test"
            assert name == "*" or name in known, f"row {number}: {file} has no {name}"


def test_each_test_file_named_in_row_62_or_later_describes_the_fault_of_that_row():
    main = PAGE.partition("## Apart")[0]
    for number, rest in rows(main).items():
        for file in re.findall(r"`([\w/]+\.py)::", rest.rsplit("|", 2)[1]) if number >= FIRST_LIMIT else ():
            text = (TESTS / file).read_text(encoding="utf-8")
            assert f"Row {number} of docs/reliability.md: " in text, (
                f"{file} does not say what row {number} guards against"
            )


def test_all_numbered_faults_are_in_the_main_table_of_the_reliability_page():
    assert not rows(PAGE.partition("## Apart")[2])
