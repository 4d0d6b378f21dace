"""The same evidence gives the same numbers as when the methodology was frozen.

A change that could give the same evidence another letter requires a new version of the methodology. These tests compare
the numbers of a rating of each simulated service with stored numbers. If a number differs, either
something broke or a new version is needed. To store the numbers again, run in the project's folder:
``python -c "from tests.house.test_pinned_ratings import pin; pin()"``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import MISSING, asdict, fields
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.document import as_json
from assay.methods import METHODS, method_name
from assay.model import Component, Interval
from assay.rating.decision import METHODOLOGY_VERSION, rate
from tests.support.simulated.services import RECORDED, WRITING
from tests.support.simulated.services import SERVICES as ASKED

ROOT = Path(__file__).resolve().parents[2]
SEED, STEP_1, STEP_2 = 11, 0.03, 0.12
SERVICES = {**ASKED, **RECORDED, **WRITING}
MOST = 400
"""Maximum count of numbers stored per rating; they are sampled evenly from all numbers of the rating."""


@cache
def numbers(service: str) -> list[float]:
    """Rate a service and list the numbers of its rating."""
    finding = SERVICES[service](STEP_1, STEP_2, SEED).rate(SEED)
    rating = rate(finding)
    every = [*_floats([rating.probabilities.as_json() if rating.probabilities else None, as_json(finding.detail)])]
    every += [number for one in finding.components for number in _of(one)]
    kept = every if len(every) <= MOST else [every[int(at)] for at in np.linspace(0, len(every) - 1, MOST)]
    # the sum covers the numbers that were not sampled; each term is below 1, so that no number dominates
    return [*kept, float(len(every)), sum(abs(each) / (1 + abs(each)) for each in every)]


def _of(one: Component) -> Iterator[float]:
    effects = {name: asdict(interval) if interval else None for name, interval in one.effects.items()}
    yield from _floats([one.probabilities.as_json() if one.probabilities else None, effects, as_json(one.detail)])
    yield from (float(one.usable), float(one.unusable), float(one.failed))


def _floats(value: Any) -> Iterator[float]:
    if isinstance(value, Interval):
        yield from _floats(asdict(value))
    elif isinstance(value, dict):
        for key, each in sorted(value.items()):
            if str(key).replace(".", "", 1).isdigit():  # a numeric key is a tolerance, which is pinned as well
                yield float(key)
            yield from _floats(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _floats(each)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield float(value)


def defaults() -> dict[str, dict[str, Any]]:
    """Return the defaults of every method that are numbers, names or tuples."""
    return {
        method_name(method): {
            one.name: list(one.default) if isinstance(one.default, tuple) else one.default
            for one in fields(method)
            if one.default is not MISSING and isinstance(one.default, int | float | str | tuple | None)
        }
        for method in METHODS
    }


def expected() -> dict[str, int]:
    """Return the expected number of probes for each simulated service."""
    return {name: service(STEP_1, STEP_2, SEED).method.expected_probes() for name, service in SERVICES.items()}


FILE = Path(__file__).with_name(f"pinned_ratings_{METHODOLOGY_VERSION}.json")


def pin() -> None:
    """Write the current numbers to the file."""
    kept = {service: [float(f"{one:.12g}") for one in numbers(service)] for service in SERVICES}
    written = {"methodology": METHODOLOGY_VERSION, "defaults": defaults(), "expected": expected(), "ratings": kept}
    FILE.write_text(json.dumps(written, indent=0) + "\n")


@cache
def pinned() -> dict[str, Any]:
    return json.loads(FILE.read_text())


def test_stored_ratings_name_the_current_methodology_version_and_cover_every_simulated_service():
    assert pinned()["methodology"] == METHODOLOGY_VERSION
    assert set(pinned()["ratings"]) == set(SERVICES)


@pytest.mark.slow
@pytest.mark.parametrize("service", sorted(SERVICES))
def test_ratings_of_simulated_services_equal_the_numbers_stored_for_this_methodology_version(service):
    np.testing.assert_allclose(numbers(service), pinned()["ratings"][service], rtol=1e-7, atol=1e-9)


@pytest.mark.slow
def test_ratings_do_not_depend_on_the_processor():
    """OpenBLAS multiplies matrices with other instructions on other processors, so that the last digits differ."""
    program = (
        "import json; from tests.house.test_pinned_ratings import SERVICES, numbers; "
        "print(json.dumps({name: numbers(name) for name in SERVICES}))"
    )
    run = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env={**os.environ, "OPENBLAS_CORETYPE": "Nehalem"},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    for service, ratings in json.loads(run.stdout.splitlines()[-1]).items():
        np.testing.assert_allclose(ratings, pinned()["ratings"][service], rtol=1e-7, atol=1e-9, err_msg=service)


def test_default_settings_of_every_method_equal_the_stored_defaults():
    assert json.loads(json.dumps(defaults())) == pinned()["defaults"]


@pytest.mark.slow
def test_expected_numbers_of_probes_equal_the_stored_numbers():
    assert expected() == pinned()["expected"]
