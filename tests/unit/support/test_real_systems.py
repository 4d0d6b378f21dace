"""Real systems behind the demo's interfaces: they answer as their libraries do, and report missing libraries."""

import signal
import subprocess
import sys
from pathlib import Path

import httpx
import numpy as np
import pytest

from assay.errors import UnknownName
from demo.interfaces.libretranslate import BadRequest
from demo.server import DemoServer
from tests.support.real_systems.adult import INCOME, read_adult
from tests.support.real_systems.census import WAGE, read_census
from tests.support.real_systems.lexicons import NotInstalled, from_valences
from tests.support.real_systems.registry import load
from tests.support.real_systems.tables import DataAbsent

DATA = Path(__file__).resolve().parents[4] / "shared" / "data"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="the shared data are not beside the checkout")


def library(name: str) -> None:
    pytest.importorskip(name, reason=f"{name} comes with the extra 'real'")


@pytest.mark.parametrize(
    ("name", "module", "score"),
    [("vader", "vaderSentiment", 0.4588), ("textblob", "textblob", 0.5), ("afinn", "afinn", 3.0)],
)
def test_a_sentiment_lexicon_answers_in_its_own_unit_and_as_a_probability(name: str, module: str, score: float):
    library(module)
    one = load(name)
    assert one.number("My sister feels glad.") == score
    assert one.scores("")["positive"] == 0.5
    assert one.scores("The news made her miserable.")["positive"] < 0.5 < one.scores("She feels glad.")["positive"]
    assert one.letter is None


@pytest.mark.parametrize(("valences", "positive"), [(0, 0.5), (-1e6, 0), (1e6, 1)])
def test_a_sum_of_valences_of_any_size_becomes_a_probability(valences: float, positive: float):
    assert from_valences(valences) == positive


@needs_data
def test_the_wage_model_predicts_the_mean_wages_of_women_and_men_that_the_paper_prints():
    library("sklearn")
    library("pyarrow")
    model, rows = load("census-wage", DATA), read_census(DATA)
    assert len(rows) == 8414
    for own, other, before, after in (("Female", "Male", 888, 1137), ("Male", "Female", 1147, 898)):
        group = [row for row in rows if row["sex"] == own]
        assert np.mean([row[WAGE] for row in group]) == pytest.approx(before, rel=0.005)
        assert np.mean(model.numbers(group)) == pytest.approx(before, rel=0.005)
        assert np.mean(model.numbers([{**row, "sex": other} for row in group])) == pytest.approx(after, rel=0.005)


@needs_data
def test_wage_model_refuses_unknown_categories_and_text_as_a_number():
    library("sklearn")
    library("pyarrow")
    model, row = load("census-wage", DATA), read_census(DATA)[0]
    with pytest.raises(BadRequest, match="sex must be one of Female, Male"):
        model.numbers([{**row, "sex": "other"}])
    with pytest.raises(BadRequest, match="age must be a number"):
        model.numbers([{**row, "age": "44"}])


@needs_data
def test_the_income_classifier_is_better_than_the_base_rate():
    library("sklearn")
    model, rows = load("adult-income", DATA), read_adult(DATA, "adult.test.gz")
    table = model.probabilities(rows)
    np.testing.assert_allclose(table.sum(axis=1), 1)
    rich = np.array([row[INCOME] == ">50K" for row in rows])
    assert ((table[:, 1] > 0.5) == rich).mean() > 0.84 > (~rich).mean()


@needs_data
def test_the_vector_of_a_phrase_is_the_mean_of_its_words_and_none_if_all_are_unknown():
    words = load("google-news", DATA)
    assert len(words.embed("nurse", "m")) == 300
    assert words.embed("Nurse", "m") == words.embed("nurse", "m")
    both = np.mean([words.embed(word, "m") for word in ("the", "nurse")], axis=0)
    np.testing.assert_allclose(words.embed("the nurse", "m"), both, rtol=1e-5)
    assert words.embed("a nurse", "m") == words.embed("nurse", "m")
    for unknown in ("qwzx", "the qwzx", "", " ", "of", "a to"):
        assert words.embed(unknown, "m") is None


@needs_data
def test_vectors_of_unknown_words_are_null_over_http():
    with DemoServer(real=[load("google-news", DATA)]) as server:
        url, body = f"{server.url('google-news')}/v1/embeddings", {"model": "m", "input": ["she", "qwzx", "he"]}
        said = httpx.post(url, json=body, trust_env=False, timeout=10).json()["data"]
    assert [each["embedding"] is None for each in said] == [False, True, False]


@pytest.mark.parametrize("name", ["census-wage", "adult-income", "google-news"])
def test_missing_data_file_is_reported_with_its_folder(name: str, tmp_path: Path):
    library("sklearn")
    library("pyarrow")
    with pytest.raises(DataAbsent, match=str(tmp_path)):
        load(name, tmp_path)


def test_missing_library_is_reported_with_its_name_and_extra(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "afinn", None)
    with pytest.raises(NotInstalled, match="afinn needs afinn, which is not installed; install the extra 'real'"):
        load("afinn")


def test_an_unknown_system_is_refused_with_the_known_names():
    with pytest.raises(UnknownName, match="textblob"):
        load("nobody")


def test_the_command_python_m_demo_starts_the_simulated_services():
    command = [sys.executable, "-m", "demo", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        address = next(line.split()[0] for line in process.stdout if "/faithful " in line)
        body = {"q": "She is a nurse.", "source": "en", "target": "es"}
        answer = httpx.post(f"{address}/translate", json=body, trust_env=False, timeout=10)
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 0
    assert answer.status_code == 200
    assert answer.json()["translatedText"]
