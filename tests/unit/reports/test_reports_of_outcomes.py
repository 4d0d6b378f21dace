"""Tests of tables and figures about recorded decisions."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest

from assay.document import as_json
from assay.experiment import run
from assay.methods import Outcomes, rating_of
from assay.model import Letter
from assay.rating.document import deciding_effect
from reports.figures import picture
from reports.formats.html import render
from reports.methods.outcomes import REPORT, counts_in_words, tables
from reports.reading import read
from tests.support.reports import document_of
from tests.support.simulated.recorded_decisions import counted, never_asked


@pytest.fixture(scope="module")
def scored():
    """Components of a score of eight groups (the first scores lower) and of decisions by the threshold 0.5."""
    rng = np.random.default_rng(1)
    group, truth = rng.integers(0, 8, 4000), rng.random(4000) < 0.4
    score = rng.normal(0, 1, 4000) + truth - 0.5 * (group == 0)
    columns = {"group": [f"group <{code}>" for code in group], "stayed": np.where(truth, "yes", "no").tolist()}
    method = Outcomes(
        by=("group",),
        score="score",
        threshold=0.5,
        truth="stayed",
        truth_favourable="yes",
        table=counted(columns, score, cuts=(0.5,)),
    )
    return run(method, never_asked, 0).components


def test_the_figure_of_thresholds_shows_rates_ratios_and_gaps_and_describes_the_chosen_threshold(scored):
    (panels,) = filter(None, REPORT.figures(scored[1].detail))
    assert [panel.title for panel in panels.panels] == [
        "Selection rate (6 of 8 shown)",
        "Lowest rate / highest (dashed: four fifths)",
        "Largest difference of error rates",
    ]
    row = next(row for row in scored[1].detail.threshold_map.thresholds if row.threshold == 0.5)
    assert f"At the chosen threshold, 0.5, it is {row.ratio.estimate:.2f}." in panels.words
    below = sum(row.ratio.estimate < 0.8 for row in scored[1].detail.threshold_map.thresholds)
    assert f"below four fifths at {below} of 50" in panels.words
    assert len(panels.table.rows) == 50
    assert panels.table.columns[0] == "Threshold"


def test_the_figure_of_thresholds_fits_a_phone_and_escapes_names(scored):
    (panels,) = filter(None, REPORT.figures(scored[1].detail))
    drawing = picture(panels, "k")
    assert re.search(r'viewBox="0 0 360 \d', drawing.svg)
    assert "<title" in drawing.svg
    assert panels.words in drawing.svg
    assert "group &lt;0&gt;" in drawing.svg
    assert "group <0>" not in drawing.svg
    assert drawing.svg.count('class="limit"') == 1
    xs = [float(x) for x in re.findall(r'<text x="([\d.]+)"', drawing.svg)]
    assert max(xs) <= 360


def test_an_audit_of_decisions_without_scores_has_no_figure_of_thresholds(scored):
    assert [*filter(None, REPORT.figures(scored[0].detail))] == []


def test_an_audit_of_several_decision_steps_has_a_table_and_a_figure_with_a_row_per_group_and_step():
    rng = np.random.default_rng(2)
    first = rng.random(600) < 0.5
    columns = {
        "group": rng.choice(["A", "B", "C"], 600).tolist(),
        "screened": np.where(first, "yes", "no").tolist(),
        "hired": np.where(first & (rng.random(600) < 0.5), "yes", "no").tolist(),
    }
    columns["hired"][int(np.flatnonzero(~first)[0])] = "yes"
    method = Outcomes(by=("group",), favourable="yes", steps=("screened", "hired"), table=counted(columns))
    part = run(method, never_asked, 0).components[0].detail
    (forest,) = filter(None, REPORT.figures(part))
    assert [mark.label for mark in forest.marks] == ["screened:", "A", "B", "C", "hired:", "A", "B", "C"]
    (table,) = [table for table in tables(part) if table and table.title.startswith("Steps of the process, by group")]
    assert forest.table == table
    reached = {row[1]: int(row[3]) for row in table.rows if row[0] == "screened"}
    assert {row[1]: int(row[2]) for row in table.rows if row[0] == "hired"} == reached
    assert sum("1 passed it without all steps before it" in row[-1] for row in table.rows) == 1
    assert 'viewBox="0 0 360' in picture(forest, "k").svg


def test_an_audit_names_the_step_with_the_largest_gap_and_counts_people_who_skipped_a_step():
    rng = np.random.default_rng(3)
    group = rng.integers(0, 2, 3000)
    first = rng.random(3000) < 0.6
    second = first & (rng.random(3000) < np.where(group == 1, 0.3, 0.6))
    second[np.flatnonzero(~first)[:4]] = True
    columns = {"group": np.where(group, "B", "A"), "screened": np.where(first, "yes", "no")}
    columns |= {"hired": np.where(second, "yes", "no"), "job": rng.choice(["x", "y"], 3000)}
    table = counted({name: cells.tolist() for name, cells in columns.items()})
    method = Outcomes(by=("group",), favourable="yes", steps=("screened", "hired"), strata=("job",), table=table)
    words = " ".join(read(document_of(run(method, never_asked, 0))).in_words)
    assert "“B” passes all steps (“screened”, “hired”) 0." in words
    assert "The gap is largest at “hired” (with a probability of 1.00)" in words
    assert "4 people passed “hired” without having passed every step before it." in words


def test_an_audit_of_steps_whose_counts_are_all_masked_has_no_figure():
    columns = {"group": ["A", "B"] * 4, "screened": ["yes", "no"] * 4, "hired": ["yes", "no", "no", "no"] * 2}
    method = Outcomes(by=("group",), favourable="yes", steps=("screened", "hired"), table=counted(columns))
    document = document_of(run(method, never_asked, 0), experiment=json.loads(json.dumps(as_json(method.table))))
    public = as_json(method.masked(rating_of(document)))
    page = render(public)
    assert "Steps of the process, by group" in page
    assert "share of those who reached the step" not in page
    assert "share of those who reached the step" in render(document)


def test_an_audit_decided_by_error_rates_is_explained_by_counts_of_people_with_equal_true_outcome():
    rng = np.random.default_rng(5)
    woman, proved = rng.random(8000) < 0.5, rng.random(8000) < 0.5
    hired = rng.random(8000) < np.where(proved, np.where(woman, 0.5, 0.7), 0.2)
    columns = {"sex": np.where(woman, "woman", "man"), "stayed": np.where(proved, "yes", "no")}
    columns |= {"decision": np.where(hired, "yes", "no")}
    method = Outcomes(
        by=("sex",),
        favourable="yes",
        truth="stayed",
        truth_favourable="yes",
        table=counted({name: cells.tolist() for name, cells in columns.items()}),
    )
    view = read(document_of(run(method, never_asked, 0)))
    assert view.because is not None
    of_women = f"{(woman & proved & hired).sum():,} of {(woman & proved).sum():,} (50 %) in “woman”"
    of_men = f"{(~woman & proved & hired).sum():,} of {(~woman & proved).sum():,} (70 %) in “man”"
    assert (
        f"Of people for whom the favourable outcome proved right, {of_women} and {of_men} have it" in view.because.text
    )
    assert "four-fifths" not in view.because.text
    (part,) = view.document.components
    masked = [replace(row, matrix={name: row.matrix[name] for name in ("tp", "fp", "fn")}) for row in part.groups]
    (reason,) = part.reasons
    alike = replace(reason, facts={**reason.facts, "alike": "all proved wrong"})
    decided = deciding_effect(part, Letter.BS)
    (sentence,) = counts_in_words(view.document, replace(part, groups=tuple(masked), reasons=(alike,)), decided)
    assert sentence == reason.text  # without counts, the reason's rates are told


def test_column_heads_of_outcome_tables_spell_out_their_abbreviations(scored):
    by_title = {table.title.partition(" ")[0]: table for table in filter(None, tables(scored[0].detail))}
    for abbreviation in ("TPR", "FPR", "FNR", "PPV", "FOR"):
        (head,) = (head for head in by_title["Error"].columns if abbreviation in head)
        assert re.fullmatch(rf".+, of .+ \({abbreviation}\)", head)
    assert not {"z", "p", "p (Holm)", "P(ratio < .8)"} & set(by_title["Compared"].columns)


def test_counts_above_a_thousand_have_a_thousands_separator():
    rng = np.random.default_rng(2)
    columns = {"group": rng.choice(["a", "b"], 4000).tolist(), "stayed": rng.choice(["yes", "no"], 4000).tolist()}
    method = Outcomes(by=("group",), decision="stayed", favourable="yes", table=counted(columns))
    (part,) = run(method, never_asked, 0).components
    people = next(iter(filter(None, tables(part.detail)))).rows[0][1]
    assert re.fullmatch(r"[12],\d{3}", people)
