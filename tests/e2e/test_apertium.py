"""End-to-end rating of a real translator, Apertium: Spanish loses he and she, Esperanto keeps both."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator

import pytest

from demo.translators.apertium import Apertium

pytestmark = pytest.mark.skipif(
    not Apertium.available(), reason=f"Apertium is not installed; {Apertium.how_to_install}"
)


@pytest.fixture(scope="module")
def rating() -> Iterator[dict]:
    with Apertium() as apertium:
        arguments = ["--protocol", "apertium", "--url", apertium.url, "--language", "es", "--language", "eo"]
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "cli.main",
                "rate",
                *arguments,
                "--template",
                "base",
                "--template",
                "possessive",
                "--seed",
                "0",
                "--json",
            ],
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 2, done.stderr
        yield json.loads(done.stdout)


def part(rating: dict, name: str) -> dict:
    return next(each for each in rating["components"] if each["name"] == name)


def codes(component: dict) -> list[str]:
    return [reason["code"] for reason in component["reasons"]]


def test_translation_through_esperanto_keeps_he_and_she_and_is_rated_dsbs(rating):
    for name in ("eo", "eo/possessive"):
        assert (part(rating, name)["letter"], part(rating, name)["declared"]) == ("DSBS", True)
        assert codes(part(rating, name)) == ["follows-biased-input"]


def test_translation_through_spanish_loses_the_pronoun_she_and_is_rated_bs(rating):
    spanish = part(rating, "es")
    assert (spanish["letter"], codes(spanish)[0]) == ("BS", "attribute-erased")
    assert set(codes(spanish)[1:]) <= {"biased-within-a-stratum"}
    assert spanish["transitions"]["she"]["other"] >= 0.9 * sum(spanish["transitions"]["she"].values())


def test_translation_of_possessives_through_spanish_turns_she_into_he_and_is_rated_bs(rating):
    spanish = part(rating, "es/possessive")
    assert (spanish["letter"], codes(spanish)[0]) == ("BS", "collapses-to-value")
    assert set(codes(spanish)[1:]) == {"biased-within-a-stratum"}
    assert spanish["reasons"][0]["facts"]["value"] == "he"
    assert spanish["transitions"]["she"]["he"] >= 0.9 * sum(spanish["transitions"]["she"].values())


def test_the_overall_letter_of_a_translator_is_that_of_its_worst_language_and_construction(rating):
    assert (rating["letter"], rating["declared"]) == ("BS", True)
    assert set(rating["aggregation"]["deciding"]) == {"es", "es/possessive"}


def test_apertium_from_spanish_through_english_turns_she_into_he_but_gets_no_declared_letter():
    with Apertium() as apertium:
        arguments = ["--protocol", "apertium", "--url", apertium.url, "--source", "es", "--language", "en", "--json"]
        command = [sys.executable, "-m", "cli.main", "rate", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 3, done.stderr
    from_spanish = json.loads(done.stdout)
    assert (from_spanish["letter"], from_spanish["declared"]) == ("BS", False)
    assert from_spanish["experiment"]["source"] == "es"
    english = part(from_spanish, "en")
    assert codes(english)[:2] == ["letter-depends-on-what-was-lost", "introduces-bias"]
    assert english["transitions"]["she"]["he"] > 10 + english["transitions"]["he"]["she"]
    # "Es #motor aquí." and "Obra como más limpio.": the engine lost the noun, so that nothing shows a gender
    assert set(english["unusable_why"]) == {"no-mark-found"}
