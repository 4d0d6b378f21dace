"""Tests of error rates on records with a known truth, which a rating reports in addition to the swap test."""

import json
from collections import Counter

import numpy as np
import pytest

from assay.document import as_json
from assay.errors import SpecificationError, UnknownName
from assay.experiment import run
from assay.methods import Alternation, Outcomes, fit_to
from assay.methods.shared.profiles import RecordProfiles
from assay.model import Failure, Kind, Letter, Reply
from assay.rating.decision import rate
from reports.methods.alternation import REPORT
from reports.reading import read
from tests.support.reports import document_of
from tests.support.simulated.recorded_decisions import counted, never_asked


def people(size, seed=0):
    """Return rows of applicants: sex, a mark, a district that nearly determines the sex, and the later known truth."""
    rng = np.random.default_rng(seed)
    sex = rng.choice(["F", "M"], size)
    district = np.where(rng.random(size) < 0.9, sex, np.where(sex == "F", "M", "F"))
    stayed = rng.random(size) < 0.5
    mark = rng.normal(0, 1, size) + 1.5 * stayed
    return tuple(
        {
            "sex": str(sex[index]),
            "mark": round(float(mark[index]), 6),
            "district": f"district {district[index]}",
            "stayed": "yes" if stayed[index] else "no",
        }
        for index in range(size)
    )


def by_district(record):
    """A service that ignores sex, and requires a higher mark in one district."""
    return record["mark"] > (1.4 if record["district"] == "district F" else 0.3)


def by_sex(record):
    """A service that requires more of women and less of their district, so that outcomes are about equal."""
    return record["mark"] > 0.75 + (0.6 if record["sex"] == "F" else -0.6) * (1 if record["own"] else -1)


def service(decides):
    """Answer "hire" or "reject"; the truth must never be sent."""

    def answer(probe):
        record = dict(probe.ask.given)
        assert "stayed" not in record
        return Reply({"label": "hire" if decides(record) else "reject"})

    return answer


def method_of(rows, **fields):
    fields = {"truth": "stayed", "favourable": "hire", "truth_favourable": "yes", "repeats": 0, **fields}
    records = RecordProfiles("sex", ("F", "M"), rows)
    return fit_to(Alternation("sex", records=records, **fields), Kind.CLASSIFIER)


def outcomes_of(method, answer, seed=0):
    finding = run(method, answer, seed)
    return finding, finding.components[0].detail.outcomes


# ---------------------------------------------------------------------------- the two services
def test_a_service_that_passes_the_swap_test_can_have_unequal_error_rates():
    rows = people(3000)
    finding, outcomes = outcomes_of(method_of(rows), service(by_district))
    rating = rate(finding)
    assert (rating.letter, rating.declared) == (Letter.DSBS, True)
    assert finding.components[0].detail.labels[0].changed == 0
    assert outcomes.unequal is True
    assert outcomes.gaps["tpr"].low > 0.1
    words = " ".join(read(document_of(finding)).in_words)
    assert "even when nothing but the attribute is swapped, and unequal in its errors" in words
    assert "The letter is that of the swap test." in words


@pytest.mark.slow
def test_a_service_that_fails_the_swap_test_can_have_equal_error_rates():
    rng = np.random.default_rng(1)
    # a second column that balances the attribute: half of each group is favoured, and half is not
    rows = tuple({**row, "own": bool(rng.random() < 0.5)} for row in people(8000))
    finding, outcomes = outcomes_of(method_of(rows, stop_early=False), service(by_sex))
    rating = rate(finding)
    assert (rating.letter, rating.declared) == (Letter.BS, True)
    assert finding.components[0].detail.labels[0].changed > 500
    assert outcomes.unequal is False
    words = " ".join(read(document_of(finding)).in_words)
    assert "not even when nothing but the attribute is swapped, although its errors on these records are about" in words
    assert "The letter is that of the swap test." in words


def test_a_column_of_true_outcomes_changes_neither_the_letter_nor_the_effects():
    rows = people(600)
    without = tuple({name: cell for name, cell in row.items() if name != "stayed"} for row in rows)
    plain = Alternation("sex", records=RecordProfiles("sex", ("F", "M"), without), repeats=0)
    first = run(fit_to(plain, Kind.CLASSIFIER), service(by_district), 3).components[0]
    second = run(method_of(rows), service(by_district), 3).components[0]
    assert (first.letter, first.probabilities, first.effects) == (second.letter, second.probabilities, second.effects)


# ---------------------------------------------------------------------------- one table engine
def test_outcome_tables_of_a_services_answers_equal_those_of_a_file_with_the_same_decisions():
    rows = people(1200)
    _, outcomes = outcomes_of(method_of(rows, stop_early=False), service(by_district))
    columns = {name: [row[name] for row in rows] for name in ("sex", "stayed")}
    columns["answer"] = ["hire" if by_district(row) else "reject" for row in rows]
    recorded = Outcomes(
        by=("sex",),
        decision="answer",
        favourable="hire",
        truth="stayed",
        truth_favourable="yes",
        table=counted(columns),
    )
    table = run(recorded, never_asked, 0).components[0].detail
    assert outcomes.reference == table.reference
    for row, same in zip(outcomes.groups, table.groups, strict=True):
        assert (row.group, row.people, row.favourable, row.matrix) == (
            same.group,
            same.people,
            same.favourable,
            same.matrix,
        )
        assert (row.rate, row.error_rates, row.disparities) == (same.rate, same.error_rates, same.disparities)
        assert (row.z, row.p, row.shortfall) == (same.z, same.p, same.shortfall)
        assert row.ratio.estimate == same.ratio.estimate
    titles = [table.title for table in REPORT.tables(run_part(rows)) if table is not None]
    assert {"Outcomes by sex: hire", "Error rates by sex"} <= set(titles)


def run_part(rows):
    return run(method_of(rows), service(by_district), 0).components[0].detail


# ---------------------------------------------------------------------------- answers that cannot be read
@pytest.mark.parametrize(
    "lost",
    [
        Reply(failure=Failure("timeout", "late")),
        Reply({"label": ""}),
        Reply(None),
        Reply({"label": "I cannot answer that"}),
    ],
)
def test_an_unreadable_answer_is_counted_but_in_no_cell_of_the_confusion_matrix(lost):
    rows = people(1000)
    broken = {row["mark"] for row in rows[::20]}

    def answer(probe):
        record = dict(probe.ask.given)
        return lost if record["mark"] in broken else service(by_district)(probe)

    _, outcomes = outcomes_of(method_of(rows, stop_early=False), answer)
    lost_by_sex = Counter(row["sex"] for row in rows[::20])
    assert {row.group: row.undecided for row in outcomes.groups} == dict(lost_by_sex)
    assert sum(row.people for row in outcomes.groups) == 950
    assert sum(sum(row.matrix.values()) for row in outcomes.groups) == 950


def test_a_record_without_a_known_true_outcome_counts_for_decisions_but_not_for_error_rates():
    rows = [dict(row) for row in people(1000)]
    for row in rows[::10]:
        row["stayed"] = None
    _, outcomes = outcomes_of(method_of(tuple(rows), stop_early=False), service(by_district))
    assert sum(row.people for row in outcomes.groups) == 1000
    assert sum(sum(row.matrix.values()) for row in outcomes.groups) == 900


def test_a_score_becomes_a_decision_by_the_likeliest_label_or_by_a_threshold():
    rows = people(600)

    def answer(probe):
        chance = 1 / (1 + np.exp(-dict(probe.ask.given)["mark"]))
        return Reply({"scores": {"hire": float(chance), "reject": float(1 - chance)}})

    for threshold, least in ((None, 0.0), (0.9, float(np.log(9)))):
        _, outcomes = outcomes_of(method_of(rows, threshold=threshold, stop_early=False), answer)
        expected = Counter(row["sex"] for row in rows if row["mark"] > least)
        assert {row.group: row.favourable for row in outcomes.groups} == dict(expected)


def test_true_outcomes_for_a_regressor_need_a_threshold_that_turns_numbers_into_decisions():
    rows = people(600)
    fields = {"truth": "stayed", "truth_favourable": "yes", "repeats": 0, "stop_early": False}
    plain = Alternation("sex", records=RecordProfiles("sex", ("F", "M"), rows), **fields)
    with pytest.raises(SpecificationError, match="from which number"):
        fit_to(plain, Kind.REGRESSOR)
    method = fit_to(Alternation("sex", records=plain.records, threshold=0.5, **fields), Kind.REGRESSOR)
    _, outcomes = outcomes_of(method, lambda probe: Reply(dict(probe.ask.given)["mark"]))
    expected = Counter(row["sex"] for row in rows if row["mark"] >= 0.5)
    assert {row.group: row.favourable for row in outcomes.groups} == dict(expected)
    assert outcomes.outcome == "0.5 or more"


def test_a_favourable_label_that_never_occurs_gives_a_reason_instead_of_a_table_of_zeros():
    _, outcomes = outcomes_of(method_of(people(600), favourable="accept"), service(by_district))
    assert outcomes.groups == ()
    assert outcomes.why == "no answer has the label 'accept'; labels: 'hire', 'reject'"


def test_the_favourable_value_of_the_truth_column_can_be_a_number_or_a_boolean():
    rows = tuple({**row, "stayed": 1.0 if row["stayed"] == "yes" else 0.0} for row in people(300))
    _, outcomes = outcomes_of(method_of(rows, truth_favourable=1), service(by_district))
    assert all(row.matrix for row in outcomes.groups)
    rows = tuple({**row, "stayed": row["stayed"] == 1.0} for row in rows)
    _, again = outcomes_of(method_of(rows, truth_favourable=True), service(by_district))
    assert again.groups == outcomes.groups


def test_outcome_tables_are_part_of_the_json_document_of_a_rating():
    finding, outcomes = outcomes_of(method_of(people(300)), service(by_district))
    document = json.loads(json.dumps(as_json(finding.components[0].detail)))
    assert document["outcomes"]["gaps"]["tpr"]["estimate"] == outcomes.gaps["tpr"].estimate


@pytest.mark.parametrize(
    ("fields", "error", "message"),
    [
        ({"truth": "stay"}, UnknownName, "no column is called 'stay'"),
        ({"truth": "sex"}, SpecificationError, "name another one"),
        ({"truth_favourable": "maybe"}, UnknownName, "maybe"),
        ({"truth": "district", "truth_favourable": "district F", "favourable": ""}, SpecificationError, "which label"),
        ({"truth": "mark", "truth_favourable": 0.5}, UnknownName, "value of mark"),
    ],
)
def test_an_invalid_column_or_value_of_true_outcomes_is_refused_with_the_reason(fields, error, message):
    with pytest.raises(error, match=message):
        method_of(people(100), **fields)


def test_a_column_of_true_outcomes_is_refused_for_a_test_with_sentences():
    with pytest.raises(SpecificationError, match="only records"):
        Alternation("gender", truth="stayed", favourable="hire")
