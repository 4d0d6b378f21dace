"""Tests of the cases of `assay demo` and of its table."""

from hashlib import sha256
from io import StringIO

import pytest
from rich.console import Console

from assay.methods import METHODS, method_name, usual_method
from assay.model import Kind
from cli.demo.demo_services import (
    Case,
    answerers,
    faulty_translators,
    image_classifiers,
    predictors,
    recorded,
    screeners,
    translators,
    unfit,
    writers,
)
from cli.demo.table import LEAST_WIDTH, table_of
from demo.language_models.models import UNFIT
from demo.language_models.screeners import SCREENERS
from demo.predictors.known import PREDICTORS
from demo.recorded_decisions import FILES
from demo.server import DemoServer
from demo.translators.behaviours import BEHAVIOURS
from demo.translators.faulty_services import FAULTY
from store.ratings.experiment_json import parse_method


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    with DemoServer() as services:
        return [
            *translators(services),
            *predictors(services),
            *image_classifiers(services),
            *screeners(services),
            *writers(services),
            *answerers(services),
            *recorded(lambda content: f"upl_{sha256(content).hexdigest()}"),
            *unfit(services),
            *faulty_translators(services),
        ]


def shown(cases: list[Case], width: int = LEAST_WIDTH) -> list[str]:
    console = Console(file=StringIO(), width=width)
    console.print(table_of(cases))
    return console.file.getvalue().splitlines()


def row(case: Case, **ended) -> str:
    """Return the table row of a case, with one space between its cells."""
    for name, value in ended.items():
        setattr(case, name, value)
    return " ".join(next(line for line in shown([case]) if line.startswith(case.name)).split())


def rating(letter: str | None, declared: bool = True, reasons: tuple[str, ...] = (), calls: int = 120) -> dict:
    return {
        "letter": letter,
        "declared": declared,
        "probabilities": {"BS": 0.0, "DSBS": 0.01, "UCS": 0.99} if letter else None,
        "published": {},
        "calls": calls,
        "components": [{"reasons": [{"code": code} for code in reasons]}],
        "reasons": [],
    }


def test_the_demo_rates_every_service_of_known_behaviour_under_its_own_name(cases):
    names = [case.name for case in cases]
    assert len(set(names)) == len(names)
    assert {*BEHAVIOURS, *FAULTY, *PREDICTORS, *SCREENERS, *FILES, *(one.model.name for one in UNFIT)} <= set(names)


def test_the_demo_shows_every_method_except_one_hop_and_every_kind(cases):
    methods = {case.experiment["method"] for case in cases}
    assert methods == {method_name(one) for one in METHODS} - {"one-hop"}
    kinds = {kind for kind in Kind if usual_method(kind) is not None}
    assert {case.kind for case in cases} == kinds


def test_every_demo_request_is_valid(cases):
    for case in cases:
        method = parse_method(case.request["experiment"])
        assert Kind(case.kind) in method.kinds


def test_every_predictor_in_the_demonstration_has_an_expected_letter_and_an_expected_reason(cases):
    known = [case for case in cases if case.name in PREDICTORS]
    assert all(case.expected in {"BS", "DSBS", "UCS"} and case.reason for case in known)


@pytest.mark.parametrize(
    ("result", "line"),
    [
        (rating("UCS", reasons=("even-handed",)), " UCS UCS ✓ 0.00 0.01 0.99 "),
        (rating("UCS"), " UCS UCS ✗"),  # the expected letter without the expected reason
        (rating("DSBS", reasons=("even-handed",)), " DSBS UCS ✗"),
        (rating("UCS", declared=False, reasons=("even-handed",)), " inconclusive UCS ✗"),
        (rating(None, declared=False), " inconclusive UCS ✗ – – –"),
    ],
)
def test_the_demonstration_expects_a_letter_to_be_declared_and_for_the_expected_reason(cases, result: dict, line: str):
    case = next(case for case in cases if case.name == "fair-wage")
    assert line in row(case, job={"status": "succeeded"}, rating=result)


def test_an_unfinished_job_shows_its_progress():
    case = Case("slow", "is slow", "DSBS", "")
    assert "queued" in row(case, job={"stage": "queued"})
    assert "60/120" in row(case, job={"stage": "asking", "asked": 60, "expected": 120})


def test_the_demonstration_expects_a_failed_job_to_have_the_expected_problem():
    case = Case("down", "is down", "failed", "", reason="target-gone")
    assert "failed ✓" in row(case, job={"status": "failed", "error": {"code": "target-gone"}})
    assert "failed ✗" in row(case, job={"status": "failed", "error": {"code": "no-such-thing"}})


def test_a_real_service_has_no_expected_letter():
    case = Case("Apertium", "is real", "any", "")
    assert "✓" not in row(case, job={"status": "succeeded"}, rating=rating("BS"))
    assert case.as_expected


def test_the_demonstration_table_at_80_characters_shows_complete_service_names_and_question_counts(cases):
    lines = shown(cases, width=80)
    assert max(len(line) for line in lines) <= 80
    assert any(line.startswith("stereotyped-embedder ") for line in lines)
    assert "questions" in lines[1]
