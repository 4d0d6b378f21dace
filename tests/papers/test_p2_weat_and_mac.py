"""Dobrzeniecka & Urbaniak, sections 2 and 3: the example of WEAT, the size of MAC, and the 38 % that are not."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from assay.statistics.embeddings.embedding_bias import mean_average_cosine
from assay.statistics.embeddings.weat import weat_of_associations
from assay.statistics.embeddings.weat_null import null_check

SHARED = Path(__file__).resolve().parents[3] / "shared"
RELIGION = SHARED / "data" / "bayes_tables" / "religion_group_reddit_dataset.csv.gz"
KNOWN = SHARED / "known_answers" / "weat_mac.json"

needs_table = pytest.mark.skipif(not RELIGION.exists(), reason="the paper's tables are not beside the project")
needs_known_answers = pytest.mark.skipif(
    not KNOWN.exists(), reason="the shared known answers are not beside the project"
)


@pytest.fixture
def example():
    if not KNOWN.exists():
        pytest.skip("the shared known answers are not beside the project")
    return json.loads(KNOWN.read_text())["paper_example"]


def test_example_of_section_2_divides_by_the_population_standard_deviation(example):
    """It prints 1.93: .85 over a standard deviation that was rounded to .44."""
    found = weat_of_associations(example["s"][:2], example["s"][2:])
    assert found.effect_size_ddof0 == pytest.approx(example["weat_ddof0"], rel=1e-12)
    assert found.effect_size_ddof0 == pytest.approx(example["paper_prints"], abs=0.015)
    assert found.statistic / 2 == pytest.approx(example["diff"])
    assert example["diff"] / 0.44 == pytest.approx(example["paper_prints"], abs=0.005)


def test_code_of_the_paper_divides_by_the_sample_standard_deviation(example):
    found = weat_of_associations(example["s"][:2], example["s"][2:])
    assert found.effect_size_ddof1 == pytest.approx(example["weat_ddof1"], rel=1e-12)


def test_the_example_is_the_most_extreme_of_six_partitions(example):
    """The published p-value counts what is larger, and so calls the largest impossible."""
    found = weat_of_associations(example["s"][:2], example["s"][2:]).p
    assert (found.partitions, found.greater, found.two_sided, found.strict) == (6, 1 / 6, 2 / 6, 0)


@needs_table
def test_mean_average_cosine_of_religion_is_that_of_the_paper():
    """The paper prints .859; its own table gives .86137."""
    with gzip.open(RELIGION, "rt") as lines:
        rows = [row for row in csv.DictReader(lines) if row["word_class"].endswith("_stereotype")]
    found = mean_average_cosine(
        [float(row["cosine_distance"]) for row in rows],
        [row["protected_word"] for row in rows],
        [row["word_class"] for row in rows],
    )
    assert found.value == pytest.approx(0.86137, abs=5e-6)
    assert found.value == pytest.approx(0.859, abs=0.003)
    assert (found.words, found.sets) == (15, 45)


@needs_known_answers
def test_an_effect_of_1_27_by_chance_is_rarer_than_one_in_a_hundred():
    """Section 3.2 says around 38 %. Half of one percent do; the code compared two words, not two lists."""
    known, found = json.loads(KNOWN.read_text())["null"], null_check(1.27, 8)
    assert found.p_ddof1 == pytest.approx(known["P_abs_WEAT_ge_1_27"]["exact_ddof1"], rel=1e-12)
    assert found.p_ddof0 == pytest.approx(known["P_abs_WEAT_ge_1_27"]["exact_ddof0"], rel=1e-12)
    assert found.published == pytest.approx(found.p_first_words, abs=0.01)


def test_published_large_effects_exceed_the_null_distribution():
    """Section 3.2 asks how often a null model reaches the published sizes, 1.81 to 2.06, and the p-values."""
    rng, reached = np.random.default_rng(10), 0
    for _ in range(400):
        s = rng.normal(0, 0.04, 16)
        reached += abs(weat_of_associations(s[:8], s[8:]).effect_size_ddof1) >= 1.27
    assert reached / 400 == pytest.approx(null_check(1.27, 8).p_ddof1, abs=0.015)
    assert null_check(1.81, 8).p_ddof0 < 1e-5
