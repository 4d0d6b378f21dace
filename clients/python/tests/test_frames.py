"""Data frames of ratings and observations."""

from __future__ import annotations

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
