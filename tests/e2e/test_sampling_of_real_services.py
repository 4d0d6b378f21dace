"""Stimulus sampling of real classifiers over the real API: VADER's sentences, and scikit-learn's vectors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from demo.predictors.prediction import RowClassifier
from demo.server import DemoServer
from tests.support.real_systems.registry import load

NAMES = ("score", "years")
GROUPS = {"one": (0.6, 0.0), "two": (-0.6, 0.0)}
SIDES = {"senior": (0.0, 1.0), "junior": (0.0, -1.0)}


def hiring(weights: tuple[float, float], name: str) -> RowClassifier:
    """Train scikit-learn's forest on hiring decisions that weight the two numbers by `weights`."""
    ensemble = pytest.importorskip("sklearn.ensemble", reason="scikit-learn comes with the extra 'real'")
    rng = np.random.default_rng(1)
    seen = rng.normal(0, 1.2, (4000, 2))
    hired = rng.random(4000) < 1 / (1 + np.exp(1.0 - seen @ np.array(weights)))
    model = ensemble.RandomForestClassifier(60, min_samples_leaf=20, random_state=1, n_jobs=1).fit(seen, hired)

    def probabilities(rows: Any) -> Any:
        return np.asarray(model.predict_proba([[float(row[column]) for column in NAMES] for row in rows]), dtype=float)

    return RowClassifier(
        name=name,
        summary="Who is hired: a random forest.",
        columns=NAMES,
        labels=("no", "yes"),
        probabilities=probabilities,
    )


@pytest.fixture(scope="module")
def real() -> Iterator[DemoServer]:
    pytest.importorskip("vaderSentiment", reason="vaderSentiment comes with the extra 'real'")
    services = [load("vader"), hiring((1.5, 0.0), "by-score"), hiring((0.0, 1.5), "by-years")]
    with DemoServer(real=services) as server:
        yield server


@pytest.fixture
def rated(real, shared_agency):
    def rate(name: str, protocol: str, experiment: dict[str, Any]) -> dict[str, Any]:
        target = {"name": name, "kind": "classifier", "protocol": protocol, "base_url": real.url(name), "settings": {}}
        experiment = {"method": "stimulus-sampling"} | experiment
        posted = shared_agency.agency.post("/v1/jobs", {"target": target, "experiment": experiment, "seed": 7})
        job = shared_agency.finished(posted["id"], 120)
        assert job["status"] == "succeeded", job
        return shared_agency.agency.get(f"/v1/ratings/{job['rating']['id']}")

    return rate


def test_vader_is_positive_about_pleasant_words_and_treats_women_and_men_equally(rated):
    rating = rated("vader", "hf-inference", {"attribute": "gender", "label": "positive"})
    assert (rating["letter"], rating["declared"]) == ("DSBS", True)
    (component,) = rating["components"]
    assert (component["name"], component["route"]) == ("positive", "weights")
    assert component["effects"]["step_1"]["high"] < 0.02
    assert rating["reasons"][0]["facts"]["side"] == "pleasant"
    feelings = [row["word"] for row in component["nearest_words"] if row["slot"] == "content"]
    assert {"happy", "joyful"} & set(feelings)


@pytest.mark.parametrize(("name", "letter"), [("by-score", "BS"), ("by-years", "DSBS")])
def test_the_letter_of_a_random_forest_depends_on_the_feature_that_it_uses(rated, name: str, letter: str):
    vectors = {"names": NAMES, "centres": GROUPS, "sides": SIDES, "sd": (1.0, 1.0)}
    rating = rated(name, "mlflow", {"attribute": "group", "label": "yes", "vectors": vectors})
    assert (rating["letter"], rating["declared"]) == (letter, True)
    (component,) = rating["components"]
    assert component["route"] == "surrogate"
    assert component["weights"]["tail"] is None or component["weights"]["tail"] < 0.7
    assert component["numbers"][0]["name"] == {"by-score": "score", "by-years": "years"}[name]
