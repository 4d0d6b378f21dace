"""Classifiers, regressors and embedders end to end: uploads, own word lists, ratings, reports."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import subprocess
from statistics import NormalDist

import httpx
import numpy as np
import pytest

from assay.catalog.choices import ChoiceWords
from assay.catalog.shipped import shipped_words
from assay.methods import METHODS, method_name
from demo.predictors.known import predictor
from demo.predictors.wages import payroll
from tests.support.commands import run_command

OCCUPATIONS = shipped_words(ChoiceWords, "gender-occupations", "gender")

OWN_CHOICES = {
    "name": "ward-work",
    "title": "Work on a ward",
    "kind": "choices",
    "language": "en",
    "citation": "Made up for this test; shares out of the catalog's occupations",
    "words": {
        "attribute": "gender",
        "first": "women",
        "second": "men",
        "cues": [["she", "he"], ["her", "him"], ["woman", "man"], ["sister", "brother"]],
        "concepts": {word: OCCUPATIONS.concepts[word] for word in OCCUPATIONS.concept_words[:40]},
        "controls": ["window", "table", "river", "stone", "paper", "bridge", "garden", "bottle"],
    },
}
OWN_ASSOCIATION = {
    "name": "own-gender",
    "title": "Women and men in words of our own",
    "kind": "association",
    "language": "en",
    "citation": "Made up for this test",
    "words": {
        "attribute": "gender",
        "protected": {
            "woman": ["she", "her", "woman", "sister", "daughter", "girl"],
            "man": ["he", "him", "man", "brother", "son", "boy"],
        },
        "attributes": {
            "woman": [word for word, share in OCCUPATIONS.concepts.items() if share is not None and share > 0.75][:12],
            "man": [word for word, share in OCCUPATIONS.concepts.items() if share is not None and share < 0.25][:12],
        },
        "human": ["person", "neighbour", "visitor", "guest"],
        "neutral": ["window", "river", "table", "stone"],
    },
}


FIGURES = {
    "alternation": ("mean output", "kl of each fold"),
    "forced-choice": ("psychometric curves", "points of subjective equality", "just noticeable differences"),
    "association": ("by connection", "distances of each protected word", "densities", "single distances"),
}
"""Words in the captions of the figures that a report must have, by method."""


def target(url: str | None, kind: str, protocol: str, **settings) -> dict:
    described = {"name": f"{kind} by {protocol}", "kind": kind, "protocol": protocol, "settings": settings}
    return described if url is None else described | {"base_url": url}


class Caller:
    """A user of the agency who waits for each job to end."""

    def __init__(self, agency) -> None:
        self._agency = agency
        self.http = httpx.Client(base_url=agency.agency.url, timeout=30, trust_env=False)

    def post(self, target: dict, experiment: dict, **more) -> httpx.Response:
        return self.http.post("/v1/jobs", json={"target": target, "experiment": experiment, "seed": 5, **more})

    def rate(self, target: dict, experiment: dict, **more) -> dict:
        accepted = self.post(target, experiment, **more)
        assert accepted.status_code == 202, accepted.text
        ended = self._agency.finished(accepted.json()["id"])
        assert ended["status"] == "succeeded", ended
        return self.get(ended["rating"]["href"]).json()

    def get(self, path: str, **query) -> httpx.Response:
        answer = self.http.get(path, params=query)
        assert answer.status_code == 200, answer.text
        return answer

    def upload(self, content: bytes, purpose: str, media_type: str) -> str:
        headers = {"Content-Type": media_type}
        query = {"purpose": purpose, "name": f"a {purpose}"}
        sent = self.http.post("/v1/uploads", params=query, content=content, headers=headers)
        assert sent.status_code in {200, 201}, sent.text
        return str(sent.json()["id"])

    def report(self, rating: dict) -> str:
        return self.get(f"/v1/ratings/{rating['id']}/report.html").text


@pytest.fixture(scope="module")
def caller(shared_agency):
    one = Caller(shared_agency)
    yield one
    one.http.close()


def as_csv(rows) -> bytes:
    written = io.StringIO()
    table = csv.DictWriter(written, list(rows[0]))
    table.writeheader()
    table.writerows(rows)
    return written.getvalue().encode()


@pytest.fixture(scope="module")
def payroll_upload(caller):
    return caller.upload(as_csv(payroll()), "table", "text/csv")


def vectors_of(name: str, words) -> bytes:
    """Return the vectors of some words by an embedder of known bias, as a file."""
    file = io.BytesIO()
    vectors = np.array([predictor(name).embed(word, "m") for word in words], dtype=np.float32)
    np.savez_compressed(file, words=np.array(words), vectors=vectors)
    return file.getvalue()


def words_of_choice() -> list[str]:
    cues = [cue for pair in OCCUPATIONS.cues for cue in pair]
    return list(dict.fromkeys((*OCCUPATIONS.concept_words, *OCCUPATIONS.controls, *cues)))


def letter(rating: dict) -> tuple[str | None, bool]:
    return rating["letter"], rating["declared"]


def codes(rating: dict) -> set[str]:
    return {reason["code"] for reason in rating["reasons"]}


# ---------------------------------------------------------------------------- each kind, by services of known bias
def test_a_classifier_that_scores_women_lower_is_rated_bs(caller, services):
    judged = target(services.url("group-sentiment-10"), "classifier", "hf-inference")
    rating = caller.rate(judged, {"method": "alternation", "attribute": "gender", "profiles": 200})
    assert letter(rating) == ("BS", True)
    assert "responds-to-attribute" in codes(rating)
    assert not missing_figures(caller.report(rating), rating["method"])


def test_a_regressor_is_rated_on_an_uploaded_table(caller, services, payroll_upload):
    judged = target(services.url("biased-wage-150"), "regressor", "mlflow")
    records = {"upload": payroll_upload, "column": "sex", "values": ["male", "female"], "most": 400}
    rating = caller.rate(judged, {"method": "alternation", "attribute": "sex", "records": records})
    assert letter(rating) == ("BS", True)
    [pair] = rating["components"][0]["pairs"]
    assert abs(pair["shift"]) == pytest.approx(150)  # cents an hour, for the same work
    assert len(rating["experiment"]["records"]["rows"]) == 400
    assert rating["experiment"]["records"]["upload"] is None
    assert not missing_figures(caller.report(rating), rating["method"])


def test_an_embedder_that_follows_the_share_of_women_in_occupations_is_rated_dsbs(caller, services):
    judged = target(services.url("stereotyped-embedder-60"), "embedder", "openai-embeddings", model="m")
    rating = caller.rate(judged, {"method": "forced-choice", "attribute": "gender"})
    assert letter(rating) == ("DSBS", True)
    assert "choices-follow-words" in codes(rating)
    assert not missing_figures(caller.report(rating), rating["method"])


def test_an_embedder_is_rated_by_association_and_compared_with_its_debiased_version(caller, services, tmp_path):
    ratings = {
        strength: caller.rate(
            target(services.url(f"stereotyped-embedder-{strength}"), "embedder", "openai-embeddings", model="m"),
            {"method": "association", "attribute": "gender"},
        )
        for strength in (60, 0)
    }
    assert (letter(ratings[60]), letter(ratings[0])) == (("DSBS", True), ("UCS", True))
    assert not missing_figures(caller.report(ratings[60]), ratings[60]["method"])
    found = caller.get(f"/v1/ratings/{ratings[60]['id']}/comparison", **{"with": ratings[0]["id"]}).json()
    assert found["effect"]["hpdi"]["high"] < 0
    files = [tmp_path / f"{strength}.json" for strength in ratings]
    for file, rating in zip(files, ratings.values(), strict=True):
        file.write_text(json.dumps(rating))
    assert json.loads(assay("compare", *map(str, files), "--json").stdout) == found
    said = assay("compare", *map(str, files))
    assert said.returncode == 0, said.stderr
    assert "Stereotypes are followed less than before." in said.stdout


def test_an_uploaded_embedding_gets_the_same_rating_as_the_embedder_over_http(caller, services):
    upload = caller.upload(
        vectors_of("leaning-embedder-40", words_of_choice()), "embedding", "application/octet-stream"
    )
    experiment = {"method": "forced-choice", "attribute": "gender"}
    rating = caller.rate(target(None, "embedder", "uploaded", upload=upload), experiment)
    assert letter(rating) == ("BS", True)
    assert "controls-lean" in codes(rating)
    by_http = target(services.url("leaning-embedder-40"), "embedder", "openai-embeddings", model="m")
    asked = caller.rate(by_http, experiment)
    for step in ("step_1", "step_2"):
        here, there = (one["components"][0]["effects"][step]["estimate"] for one in (rating, asked))
        assert here == pytest.approx(there, abs=1e-5)  # the file holds single precision


def test_uploaded_choices_are_rated_without_calling_a_service(caller):
    """The trials are those of a simulated observer: the PSE follows the share of women; 40 trials per level."""

    def chosen(share: float | None, level: float) -> int:
        pse = 0.5 if share is None else 0.5 + 0.6 * (share - 0.5)
        return round(40 * NormalDist(pse, 0.2).cdf(level))

    judged = {word: OCCUPATIONS.concepts[word] for word in OCCUPATIONS.concept_words[::3]}
    judged |= dict.fromkeys(OCCUPATIONS.controls[:12])
    rows = [
        {"concept": word, "level": level, "chose_second": chosen(share, level), "trials": 40}
        for word, share in judged.items()
        for level in (0.0, 0.2, 0.35, 0.5, 0.65, 0.8, 1.0)
    ]
    upload = caller.upload(as_csv(rows), "trials", "text/csv")
    people = target(None, "classifier", "uploaded", upload=upload)
    rating = caller.rate(people, {"method": "forced-choice", "attribute": "gender"})
    assert letter(rating) == ("DSBS", True)
    assert (rating["calls"], rating["counts"]["failed"]) == (0, 0)
    assert not missing_figures(caller.report(rating), rating["method"])


# ---------------------------------------------------------------------------- saved specifications
@pytest.mark.parametrize(
    ("specification", "method"), [(OWN_CHOICES, "forced-choice"), (OWN_ASSOCIATION, "association")]
)
def test_a_saved_word_specification_is_used_by_name_and_stored_in_the_rating(caller, services, specification, method):
    kept = caller.http.post("/v1/specifications", json=specification)
    assert kept.status_code == 201, kept.text
    judged = target(services.url("stereotyped-embedder-60"), "embedder", "openai-embeddings", model="m")
    name = specification["name"]
    rating = caller.rate(judged, {"method": method, "specification": name})
    assert letter(rating) == ("DSBS", True)
    assert rating["experiment"]["specification"] == f"{name}@1"
    assert rating["experiment"]["words"] == specification["words"] | {"name": name}
    assert [part["name"] for part in rating["components"]] == [name]
    caller.http.delete(f"/v1/specifications/{name}")
    # the rating stores its own copy of the words, so it outlives the specification
    assert name in caller.report(rating)


# ---------------------------------------------------------------------------- defaults
SERVICES = {
    "translator": ("faithful", "libretranslate", {}),
    "classifier": ("group-sentiment-10", "hf-inference", {}),
    "regressor": ("group-sentiment-10", "mlflow", {}),
    "embedder": ("stereotyped-embedder-60", "openai-embeddings", {"model": "m"}),
}
QUESTIONED = {("forced-choice", "classifier")}
"""Methods that ask questions (who is the nurse?), which a classifier of sentences cannot answer."""

OF_REAL_LANGUAGES = {"one-hop"}
"""Methods that read the gender of Spanish articles. The demo's translators write an invented language: no letter."""

WITH_DEFAULTS = [
    (method_name(kind), served) for kind in METHODS for served in SERVICES if served in kind.kinds
]  # fmt: skip


@pytest.mark.parametrize(("method", "kind"), [each for each in WITH_DEFAULTS if each not in QUESTIONED])
def test_every_method_rates_a_service_if_only_the_attribute_is_given(caller, services, method, kind):
    name, protocol, settings = SERVICES[kind]
    rating = caller.rate(
        target(services.url(name), kind, protocol, **settings), {"method": method, "attribute": "gender"}
    )
    assert (rating["letter"] is not None) == (method not in OF_REAL_LANGUAGES)
    assert rating["reasons"]
    assert (rating["method"], rating["attribute"]) == (method, "gender")
    assert rating["components"]


def test_the_rate_command_rates_an_embedder(services):
    url = services.url("stereotyped-embedder-60")
    done = assay("rate", "--kind", "embedder", "--protocol", "openai-embeddings", "--url", url, "--setting", "model=m")
    assert done.returncode == 1, done.stderr  # DSBS
    assert "DSBS" in done.stdout


# ---------------------------------------------------------------------------- refused requests
def refusals(upload: str):
    embedder = target("http://127.0.0.1:9", "embedder", "openai-embeddings", model="m")
    regressor = target("http://127.0.0.1:9", "regressor", "mlflow")
    records = {"upload": upload, "column": "sex", "values": ["male", "female"]}
    return {
        "unknown specification": (
            embedder, {"method": "forced-choice", "specification": "nowhere"}, "/experiment/specification", "nowhere",
        ),
        "a specification for another method": (
            embedder, {"method": "association", "specification": "gender-occupations"}, "/experiment/specification",
            "p2-gender",
        ),
        "unknown table": (
            regressor, {"method": "alternation", "attribute": "sex", "records": records | {"upload": "upl_none"}},
            "/experiment/records/upload", "upl_none",
        ),
        "unknown embedding": (
            target(None, "embedder", "uploaded", upload="upl_none"), {"method": "association"},
            "/target/settings/upload", "upl_none",
        ),
        "a table in place of an embedding": (
            target(None, "embedder", "uploaded", upload=upload), {"method": "association"}, "/target/settings/upload",
            "embedding",
        ),
        "a table in place of trials": (
            target(None, "classifier", "uploaded", upload=upload), {"method": "forced-choice"},
            "/target/settings/upload", "trials",
        ),
        "column not in the table": (
            regressor, {"method": "alternation", "attribute": "sex", "records": records | {"column": "gender"}},
            "/experiment/records/column", "weekly_hours",
        ),
        "values not in the column": (
            regressor, {"method": "alternation", "attribute": "sex", "records": records | {"values": ["m", "f"]}},
            "/experiment/records/values", "female",
        ),
        "wrong kind": (
            embedder, {"method": "alternation", "attribute": "gender"}, "/target/kind", "classifier",
        ),
        "a kind the protocol does not reach": (
            target("http://127.0.0.1:9", "classifier", "openai-embeddings", model="m"), {"method": "forced-choice"},
            "/target/kind", "embedder",
        ),
    }  # fmt: skip


@pytest.mark.parametrize("case", refusals(""))
def test_an_impossible_request_is_refused_with_422_and_a_pointer_to_the_field(caller, payroll_upload, case):
    asked_target, experiment, pointer, named = refusals(payroll_upload)[case]
    answer = caller.post(asked_target, experiment)
    assert answer.status_code == 422, answer.text
    told = answer.json()["errors"]
    assert [one["pointer"] for one in told] == [pointer]
    assert named in told[0]["detail"]


# ---------------------------------------------------------------------------- helpers
def missing_figures(page: str, method: str) -> list[str]:
    """Return the figures of a method that a report lacks."""
    drawn = re.findall(r"<figure[^>]*>.*?<figcaption[^>]*>(.*?)</figcaption>.*?<svg", page, re.DOTALL)
    return [one for one in FIGURES[method] if not any(one in title.lower() for title in drawn)]


def assay(*arguments: str) -> subprocess.CompletedProcess[str]:
    return run_command(*arguments, environment=os.environ)
