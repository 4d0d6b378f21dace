"""Files for regulators: the laws' own examples, sources of legal statements, masked counts, and the data schema."""

from __future__ import annotations

import csv
import io
import json
import re
import tomllib
from importlib.resources import files

import jsonschema
import pytest

from assay.document import as_json
from assay.errors import SpecificationError, UnknownName
from assay.experiment import run
from assay.methods import Outcomes, rating_of
from assay.methods.outcomes.detail import OutcomesComponent
from reports.methods.outcomes import in_words
from reports.regulators import AUDIT_FILES, audit_file, write_audit
from reports.regulators.regime import _table_remarks
from store.core.errors import HoldsPeople
from tests.support.markdown_blocks import ROOT
from tests.support.reports import document_of
from tests.support.simulated.recorded_decisions import counted, never_asked, people

SCHEMA = json.loads(files("reports.regulators").joinpath("outcome-audit-1.schema.json").read_text("utf-8"))
"""Published schema of one audit as data."""

# 6 RCNY 5-301, the rule's own example: people, people above the median, and the printed rate and impact ratio
SEXES = {"Male": (50, 92, "54.3 %", "1.00"), "Female": (34, 76, "44.7 %", "0.82")}


def audited(table, **fields):
    """Rate a table of decisions, and return the rating's public document."""
    method = Outcomes(table=table, **{"by": ("group",), "decision": "hired", "favourable": "yes", **fields})
    whole = rating_of(document_of(run(method, never_asked, 0)))
    return json.loads(json.dumps(as_json(method.masked(whole))))


def table_rows(text):
    return list(csv.DictReader(io.StringIO(text)))


@pytest.fixture(scope="module")
def by_sex():
    return audited(people(**{sex: (above, total) for sex, (above, total, *_) in SEXES.items()}))


def test_the_example_of_local_law_144_is_reproduced_as_printed_in_the_rule(by_sex):
    rows = {row["Category"]: row for row in table_rows(write_audit("ll144.csv", by_sex))}
    for sex, (above, total, rate, ratio) in SEXES.items():
        row = rows[sex]
        assert (row["People"], row["Favourable"]) == (str(total), str(above))
        assert (row["Selection or scoring rate"], row["Impact ratio"]) == (rate, ratio)


def test_counts_in_csv_have_no_thousands_separator_and_group_names_are_unchanged():
    document = audited(people(**{"1,000": (1500, 2500), "2,000": (1400, 2600)}))
    rows = {row["Category"]: row for row in table_rows(write_audit("tr-24027.csv", document))}
    assert set(rows) == {"1,000", "2,000"}
    rows = {row["Category"]: row for row in table_rows(write_audit("ll144.csv", document))}
    assert (rows["1,000"]["People"], rows["1,000"]["Favourable"]) == ("2500", "1500")


@pytest.mark.parametrize("file", AUDIT_FILES, ids=lambda file: file.name)
def test_every_regulator_file_names_the_audited_groups_and_contains_no_nan_or_none(by_sex, file):
    written = write_audit(file.name, by_sex)
    assert "Female" in written
    assert "NaN" not in written
    assert "None" not in written


@pytest.mark.parametrize("regime", ["ll144", "eeoc", "ai-act", "tr-24027"])
def test_every_legal_statement_has_a_source_and_every_blank_field_names_who_fills_it_in(by_sex, regime):
    law = tomllib.loads(files("reports.regulators").joinpath("law.toml").read_text("utf-8"))[regime]
    page = write_audit(f"{regime}.html", by_sex)
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", page))
    assert law["retention"].replace("&", "&amp;") in text
    assert f"sources in {law['checked']}" in text
    for statement in law["statements"]:
        assert statement["source"]
        assert statement["text"] in text
    for blank in law["blanks"]:
        assert f"to be supplied by {blank['by']}" in text
    assert "to be supplied by the person who is responsible" in text


@pytest.mark.parametrize("regime", ["ll144", "eeoc", "ai-act", "tr-24027"])
def test_the_documentation_page_of_a_law_has_every_statement_with_its_source_and_date(regime):
    law = tomllib.loads(files("reports.regulators").joinpath("law.toml").read_text("utf-8"))[regime]
    page = (ROOT / "docs" / "regimes" / f"{regime}.md").read_text(encoding="utf-8")
    assert f"compared with their sources in {law['checked']}" in page
    assert law["retention"] in page
    for statement in law["statements"]:
        assert f"| {statement['text']} | {statement['source']} |" in page
    for blank in law["blanks"]:
        assert f"| {blank['what']} | {blank['by']} | {blank['source']} |" in page


def test_audits_of_several_tools_become_one_regulator_document_with_one_signature_field(by_sex):
    other = audited(people(X=(90, 100), Y=(30, 100)))
    for file in AUDIT_FILES:
        written = write_audit(file.name, by_sex, other)
        assert "Female" in written
        assert ">X<" in written or ",X," in written or '"X"' in written
    page = write_audit("ll144.html", by_sex, other)
    assert page.count("<h2>Signature") == page.count("<h2>Rules") == 1
    first, *_ = rows = table_rows(write_audit("ll144.csv", by_sex, other))
    assert len(rows) == 4
    assert "Tool" in first
    assert "Tool" not in table_rows(write_audit("ll144.csv", by_sex))[0]


def test_a_regulator_file_refuses_two_masked_audits_of_one_file_and_warns_about_those_of_two_files():
    small = audited(people(A=(300, 400), B=(200, 400), few=(3, 4)))
    with pytest.raises(HoldsPeople, match="count the people of the same file"):
        write_audit("eeoc.html", small, small)
    other = audited(people(A=(300, 400), B=(200, 400)))
    with pytest.raises(HoldsPeople):
        write_audit("eeoc.csv", other, small)  # the same file by another column
    elsewhere = json.loads(json.dumps(other).replace("sha256:test", "sha256:other"))
    assert "do not publish this document" in write_audit("eeoc.html", elsewhere, small)
    assert "do not publish this document" not in write_audit("eeoc.html", elsewhere, other)


def test_the_data_of_several_audits_follow_their_schema(by_sex):
    data = json.loads(write_audit("outcome-audit.json", by_sex, by_sex))
    assert set(data) == {"form", "audits"}
    assert data["form"] == "outcome-audits/1"
    assert [audit["form"] for audit in data["audits"]] == ["outcome-audit/1"] * 2
    for audit in data["audits"]:
        jsonschema.validate(audit, SCHEMA)
    with pytest.raises(SpecificationError, match="there is none"):
        write_audit("outcome-audit.json")


def test_groups_of_fewer_than_five_people_are_masked_in_every_file():
    document = audited(people(A=(300, 400), B=(200, 400), few=(3, 4)))
    rows = {row["Category"]: row for row in table_rows(write_audit("ll144.csv", document))}
    assert rows["few"]["People"] == "masked"
    assert {rows["few"][name] for name in ("Favourable", "Selection or scoring rate", "Impact ratio")} == {"–"}
    assert rows["A"]["Favourable"] == "300"
    (table,) = json.loads(write_audit("outcome-audit.json", document))["tables"]
    few = next(group for group in table["groups"] if group["group"] == "few")
    assert (few["people"], few["favourable"], few["rate"]["estimate"]) == (None, None, None)


def test_impact_ratios_are_never_relative_to_a_masked_category_and_the_page_mentions_the_masking():
    document = audited(people(A=(300, 400), B=(200, 400), few=(4, 4)))
    page = write_audit("ll144.html", document)
    assert "Ratios and differences are to A, the category with the highest rate" in page
    assert "Counts of fewer than 5 people are masked" in page
    rows = {row["Category"]: row["Impact ratio"] for row in table_rows(write_audit("ll144.csv", document))}
    assert rows == {"A": "1.00", "B": "0.67", "few": "–"}


def test_no_file_denies_adverse_impact_where_the_category_with_the_highest_rate_may_be_masked():
    document = audited(people(A=(300, 400), B=(200, 400), C=(290, 400), few=(4, 4)))
    rows = {row["Category"]: row for row in table_rows(write_audit("eeoc.csv", document))}
    flags = {name: row["Below four fifths"] for name, row in rows.items()}
    assert flags == {"A": "–", "B": "yes", "C": "–", "few": "–"}  # B is too low for any highest rate
    assert {row["P(ratio < .8)"] for row in rows.values()} == {"–"}
    data = json.loads(write_audit("outcome-audit.json", document))
    jsonschema.validate(data, SCHEMA)
    assert {group["group"]: group["flagged"] for group in data["tables"][0]["groups"]}["C"] is None
    assert "the category with the highest rate of those shown" in write_audit("eeoc.html", document)
    rating = rating_of(document)
    text = " ".join(filter(None, in_words(rating, rating.components[0])))
    assert "(a rate below 80 % of the highest of those shown) flags 1 of 3 groups shown" in text


def test_a_chance_of_flags_that_no_simulation_saw_is_fewer_than_1_of_100_audits():
    (remark,) = [text for text in _table_remarks(OutcomesComponent(even_flagged=0.0)) if "perfectly even" in text]
    assert remark.endswith("in an estimated fewer than 1 of 100 audits.")


def test_audit_data_follow_their_published_schema_and_altered_data_do_not(by_sex):
    data = json.loads(write_audit("outcome-audit.json", by_sex))
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.validate(data, SCHEMA)
    assert [group["people"] for group in data["tables"][0]["groups"]] == [76, 92]
    data["tables"][0]["groups"][0]["people"] = "76"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(data, SCHEMA)


def test_error_rates_follow_the_schema_and_are_in_the_ai_act_table():
    group = ["A", "B"] * 100
    truth = ["1" if index % 3 else "0" for index in range(200)]
    hired = ["yes" if index % 5 < 3 else "no" for index in range(200)]
    scores = [float(index % 17) for index in range(200)]
    table = counted({"group": group, "hired": hired, "stayed": truth}, scores)
    document = audited(table, truth="stayed", truth_favourable="1", score="score")
    jsonschema.validate(json.loads(write_audit("outcome-audit.json", document)), SCHEMA)
    first = table_rows(write_audit("ai-act.csv", document))[0]
    assert re.fullmatch(r"\d+\.\d % \(\d+\.\d % to \d+\.\d %\)", first["True positive rate"])
    matrix = table_rows(write_audit("tr-24027.csv", document))[0]["Confusion matrix (7.2): TP, FP, FN, TN"]
    assert sum(map(int, matrix.split(", "))) == 100


def test_a_group_name_cannot_become_markup_or_a_spreadsheet_formula():
    document = audited(people(**{"<script>": (300, 400), "=1+1": (200, 400)}))
    assert "<script>" not in write_audit("eeoc.html", document)
    rows = table_rows(write_audit("eeoc.csv", document))
    assert {row["Category"] for row in rows} == {"<script>", "'=1+1"}
    assert not any(row["Standard deviations"].startswith("'") for row in rows)


def test_a_rating_by_another_method_and_an_unknown_file_are_refused(sample):
    with pytest.raises(SpecificationError, match=r"ll144\.html is for ratings of recorded decisions .* by round-trip"):
        write_audit("ll144.html", sample("undeclared"))
    with pytest.raises(UnknownName, match=r"ll144\.html"):
        audit_file("ll145.html")
