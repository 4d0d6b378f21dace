"""Data frames of ratings and observations."""

from __future__ import annotations

import sys

import pytest

from assay_client import to_frame

pd = pytest.importorskip("pandas", reason="pandas is an extra of the client: pip install 'assay-client[frame]'")

RATING = {
    "id": "rat_1",
    "letter": "DSBS",
    "target": {"name": "T", "settings": {"model": "m"}},
    "probabilities": {"BS": 0.01, "DSBS": 0.98, "UCS": 0.01},
    "deciding": ["es", "fr"],
    "rated_at": "2026-01-02T03:04:05Z",
}


def test_fields_of_objects_become_columns_and_times_are_in_utc():
    frame = to_frame([RATING, {**RATING, "id": "rat_2", "rated_at": "2026-01-02T03:04:05.678Z", "letter": None}])
    assert list(frame["id"]) == ["rat_1", "rat_2"]
    assert list(frame["probabilities.DSBS"]) == [0.98, 0.98]
    assert list(frame["target.settings.model"]) == ["m", "m"]
    assert frame["deciding"][0] == ["es", "fr"]
    assert frame["rated_at"].dt.tz is not None
    assert frame["rated_at"][1] - frame["rated_at"][0] == pd.Timedelta("678ms")
    assert frame["letter"].isna().tolist() == [False, True]


def test_a_frame_can_be_made_from_a_generator_and_from_rows_with_missing_fields():
    frame = to_frame(one for one in [{"seq": 1, "value": "he"}, {"seq": 2, "failure": "http-503"}])
    assert len(frame) == 2
    assert frame["value"].isna().tolist() == [False, True]


def test_an_empty_list_of_items_makes_an_empty_frame():
    assert to_frame([]).empty


def test_a_page_of_a_list_makes_the_frame_of_its_items():
    assert list(to_frame({"items": [RATING], "next_cursor": None})["id"]) == ["rat_1"]


def test_the_named_texts_of_the_cases_of_a_rating_become_columns_of_a_data_frame():
    texts = [
        {"name": "sent", "text": "She works.", "answer": None},
        {"name": "back", "text": "He works.", "answer": None},
    ]
    asked = [{"name": "0", "text": "Is <b>she</b> kind?", "answer": "Yes"}]
    frame = to_frame([
        {"id": 1, "kind": "changed", "texts": texts, "observations": [1, 2]},
        {"id": 3, "kind": "answered", "texts": asked, "observations": [3]},
    ])  # fmt: skip
    assert (frame["texts.sent"][0], frame["texts.back"][0]) == ("She works.", "He works.")
    assert (frame["texts.0"][1], frame["answers.0"][1]) == ("Is <b>she</b> kind?", "Yes")
    assert frame["texts.sent"].isna().tolist() == [False, True]


def test_a_frame_shows_hostile_names_as_text():
    html = to_frame([{**RATING, "target": {"name": "<script>alert(1)</script>"}}])._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html


def test_without_pandas_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'assay-client\[frame\]'"):
        to_frame([RATING])
