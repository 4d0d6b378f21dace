"""Wording of reports and forms: bounds, small amounts, undecided pairs, unknown people, local ratings, empty fields."""

from __future__ import annotations

from assay.document import ComponentDocument, EffectDocument, HiddenDocument
from reports.in_words import hidden_in_words
from reports.methods import report_of
from reports.methods.terms import squares_figure
from reports.outline import commands
from reports.reading import read
from reports.units import HUNDREDTHS, Unit, amount, points
from web.wizard.schema_form import fields_of


def test_an_upper_bound_is_stated_without_an_interval():
    hidden = HiddenDocument("stratum", "nurses", EffectDocument(0.18, 0.1, 0.28, 0.95), 0.1, bound=True)
    assert list(hidden_in_words(ComponentDocument(hidden=(hidden,)), HUNDREDTHS, "{name}: {size}.")) == [
        "Nurses: at most an estimated 18 of 100."
    ]


def test_an_effect_below_a_tenth_of_a_point_is_written_as_less_than_0_1_points():
    unit = Unit(points, " points of 100")
    assert unit.of(4e-8, 0.0, 1e-7) == "less than 0.1 points of 100 (probably between 0 and 0.1)"
    assert unit.of(0.098) == "9.8 points of 100"


def test_the_report_of_recorded_decisions_does_not_call_people_unreadable():
    assert "unknown" in report_of({"method": "outcomes"}).unusable


def test_a_local_rating_is_verified_from_the_exported_file():
    (command,) = commands(read({"requester": {"role": "local"}}))
    assert "--export" in command
    assert "--keys" not in command


def test_a_form_calls_an_optional_field_empty_and_not_null():
    schema = {"properties": {"tokens": {"type": "integer", "description": "Most tokens. Null leaves it out."}}}
    assert fields_of(schema, "settings")[0].description == "Most tokens. Empty leaves it out."


def test_the_table_of_squares_says_that_undecided_pairs_count_half():
    case = {"list": "neutral", "term": "tea", "towards": 0.5}
    part = read({"method": "stereotype-score", "components": [{"sentences": [case]}]}).components[0].part
    assert (
        squares_figure(part, part.sentences, "{} of {}", neutral=True)
        .table.columns[1]
        .endswith(", undecided counted half")
    )


def test_a_limit_of_shares_is_written_exactly_so_that_an_effect_beyond_it_does_not_seem_equal_to_it():
    assert HUNDREDTHS.of(0.02) == "2 of 100"
    assert [HUNDREDTHS.limit(limit) for limit in (0.015, 0.004, 0.1)] == ["1.5 of 100", "0.4 of 100", "10 of 100"]
    assert Unit(amount, " kg").limit(0.25) == "0.25 kg"


def test_only_a_whole_share_is_written_as_100_of_100():
    assert [HUNDREDTHS.of(share) for share in (0.994, 0.995, 0.9999, 1.0)] == [
        "99 of 100",
        "more than 99 of 100",
        "more than 99 of 100",
        "100 of 100",
    ]
    assert HUNDREDTHS.of(0.99, 0.9, 0.997) == "99 of 100 (probably between 90 and 100)"
    assert HUNDREDTHS.of(1.0, 0.996, 1.0) == "100 of 100 (probably between 99 and 100)"
