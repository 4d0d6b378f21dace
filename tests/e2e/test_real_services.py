"""Ratings of real systems over the real API agree with their known bias."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import httpx
import pytest

from assay.catalog.choices import AssociationWords
from assay.catalog.shipped import shipped_words
from demo.server import DemoServer
from tests.support.real_systems.adult import INCOME, read_adult
from tests.support.real_systems.census import WAGE, read_census
from tests.support.real_systems.registry import load

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="the shared data are not beside the checkout")

LEXICONS = {"vader": "vaderSentiment", "textblob": "textblob", "afinn": "afinn"}
OF_DATA = ("census-wage", "adult-income", "google-news")

SEXES = ("Female", "Male")


@pytest.fixture(scope="module")
def real() -> Iterator[DemoServer]:
    for module in (*LEXICONS.values(), "sklearn", "pyarrow"):
        pytest.importorskip(module, reason=f"{module} comes with the extra 'real'")
    names = [*LEXICONS, *(OF_DATA if DATA.is_dir() else ())]
    with DemoServer(real=[load(name, DATA) for name in names]) as server:
        yield server


@pytest.fixture
def rated(real, shared_agency):
    def rate(name: str, kind: str, protocol: str, experiment: dict, **settings: Any) -> dict:
        target = {"name": name, "kind": kind, "protocol": protocol, "base_url": real.url(name), "settings": settings}
        posted = shared_agency.agency.post("/v1/jobs", {"target": target, "experiment": experiment, "seed": 7})
        job = shared_agency.finished(posted["id"], 120)
        assert job["status"] == "succeeded", job
        return shared_agency.agency.get(f"/v1/ratings/{job['rating']['id']}")

    return rate


@pytest.fixture
def sent(shared_agency):
    """Upload a table; return its digest."""

    def send(rows) -> str:
        written = io.StringIO()
        table = csv.DictWriter(written, list(rows[0]))
        table.writeheader()
        table.writerows(rows)
        answer = httpx.post(
            f"{shared_agency.agency.url}/v1/uploads",
            params={"purpose": "table", "name": "real"},
            content=written.getvalue().encode(),
            headers={"content-type": "text/csv"},
            trust_env=False,
            timeout=60,
        )
        assert answer.status_code in {200, 201}, answer.text
        return answer.json()["digest"]

    return send


def reasons(rating: dict) -> dict[str, dict]:
    return {reason["code"]: reason for reason in rating["reasons"]}


GENDER = {"method": "alternation", "attribute": "gender"}


@pytest.mark.parametrize(("kind", "protocol"), [("regressor", "mlflow"), ("classifier", "hf-inference")])
def test_vader_is_rated_dsbs_and_the_single_name_behind_its_gender_effect_is_named(rated, kind: str, protocol: str):
    rating = rated("vader", kind, protocol, GENDER)
    assert (rating["letter"], rating["declared"]) == ("DSBS", True)
    carried = reasons(rating)["carried-by-one"]
    assert (carried["facts"]["kind"], carried["facts"]["carrier"]) == ("person", "Tia")
    assert carried["facts"]["without"] == 0
    assert "“Tia”" in carried["text"]
    leverage = rating["components"][0]["leverage"]
    assert leverage["person"][0]["without"] == "Torrance / Tia"


@pytest.mark.parametrize("name", ["textblob", "afinn"])
def test_textblob_and_afinn_respond_to_content_but_not_to_names_and_are_rated_dsbs(rated, name: str):
    rating = rated(name, "regressor", "mlflow", GENDER)
    assert (rating["letter"], rating["declared"]) == ("DSBS", True)
    assert rating["components"][0]["effects"]["step_1"]["high"] == 0
    assert "carried-by-one" not in reasons(rating)


@needs_data
@pytest.mark.parametrize(("values", "shift"), [(SEXES, 249), (SEXES[::-1], -249)])
def test_the_wage_model_is_rated_bs_because_sex_shifts_the_wage_by_249_cents_an_hour(
    rated, sent, values: tuple[str, str], shift: int
):
    records = {"upload": sent(read_census(DATA)), "column": "sex", "values": values, "leave_out": [WAGE]}
    rating = rated(
        "census-wage", "regressor", "mlflow", {"method": "alternation", "attribute": "sex", "records": records}
    )
    assert (rating["letter"], rating["declared"]) == ("BS", True)
    (pair,) = rating["components"][0]["pairs"]
    assert (pair["from"], pair["to"]) == values
    assert pair["shift"] == pytest.approx(shift, abs=1)  # cents
    # a linear model shifts every person by the same amount, so the shifts have no variance
    assert "no unit" in pair["d_z"]["why"]
    assert f"from “{values[0]}” to “{values[1]}” by {shift:+d} on average" in rating["reasons"][0]["text"]


@needs_data
def test_the_income_classifier_is_rated_on_records_and_has_a_disparate_impact_below_four_fifths(rated, sent):
    records = {"upload": sent(read_adult(DATA, "adult.test.gz")), "column": "sex", "values": SEXES}
    records["leave_out"] = [INCOME]
    experiment = {"method": "alternation", "attribute": "sex", "records": records}
    rating = rated("adult-income", "classifier", "mlflow", experiment)
    (component,) = rating["components"]
    assert component["name"] == ">50K"
    assert (rating["letter"], rating["declared"]) == ("BS", True)
    assert component["pairs"][0]["shift"] > 0
    impact = component["disparate_impact"]["ratios"][0]
    assert (impact["of"], impact["to"]) == SEXES
    assert impact["ratio"]["estimate"] < 0.8


@needs_data
def test_google_news_vectors_are_rated_dsbs_by_forced_choice(rated):
    rating = rated("google-news", "embedder", "openai-embeddings", {"method": "forced-choice"}, model="m")
    assert (rating["letter"], rating["declared"]) == ("DSBS", True)
    (component,) = rating["components"]
    assert component["controls_mean"] == pytest.approx(0.5, abs=0.02)
    assert component["correlation"]["r"] > 0.7


@needs_data
@pytest.mark.parametrize("specification", ["p2-gender", "p2-race", "p2-religion"])
def test_association_of_google_news_vectors_reports_a_posterior_and_declares_no_letter(rated, specification: str):
    experiment = {"method": "association", "specification": specification}
    rating = rated("google-news", "embedder", "openai-embeddings", experiment, model="m")
    assert not rating["declared"]
    effect = rating["components"][0]["effects"]["step_2"]
    assert -0.05 < effect["low"] < effect["estimate"] < effect["high"] < 0.15
    assert "coverage-low" in reasons(rating)  # three of the four neutral words are missing from these 13,013 vectors


@needs_data
def test_google_news_rated_by_association_without_unknown_words_leans_to_dsbs_undeclared(rated):
    known = load("google-news", DATA)
    words = asdict(shipped_words(AssociationWords, "p2-gender", "gender"))
    words["neutral"] = [word for word in words["neutral"] if known.embed(word, "m") is not None]
    experiment = {"method": "association", "words": words}
    rating = rated("google-news", "embedder", "openai-embeddings", experiment, model="m")
    assert (rating["letter"], rating["declared"]) == ("DSBS", False)
    assert rating["probabilities"]["DSBS"] == pytest.approx(0.62, abs=0.05)
    assert rating["probabilities"]["BS"] < 0.01
    assert {connection["connection"] for connection in rating["components"][0]["connections"]} == {
        "associated", "different", "human", "neutral"
    }  # fmt: skip
