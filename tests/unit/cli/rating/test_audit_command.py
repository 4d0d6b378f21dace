"""`assay audit`: a file of decisions becomes a report, and an error becomes one line."""

import json
import os
import random

import pytest
from typer.testing import CliRunner

from assay.errors import SpecificationError
from cli.exits import Exit
from cli.main import app
from cli.rating.audit import write_audits
from tests.support.commands import run_command
from tests.support.workbooks import workbook

CLEAN = {name: value for name, value in os.environ.items() if not name.startswith(("ASSAY_", "GITHUB_"))}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Write two files: decisions that follow the truth (rated UCS), and decisions that favour men (rated BS)."""
    folder, made = tmp_path_factory.mktemp("audits"), {}
    for name, women in (("even", 0.8), ("biased", 0.5)):
        rng, lines = random.Random(4), ["name,sex,hired,stayed"]
        for number in range(12_000):
            sex, stayed = rng.choice(["Female", "Male"]), rng.random() < 0.5
            chance = (women if sex == "Female" else 0.8) if stayed else 0.2
            hired = "yes" if rng.random() < chance else "no"
            lines.append(f"person {number},{sex},{hired},{'yes' if stayed else 'no'}")
        made[name] = folder / f"{name}.csv"
        made[name].write_text("\n".join(lines), encoding="utf-8")
    return made


def audit(file, *options):
    return run_command("audit", str(file), "--by", "sex", "--decision", "hired", *options, environment=CLEAN)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "code"), [("even", Exit.UCS), ("biased", Exit.BS)])
def test_assay_audit_exits_with_the_code_of_the_letter_and_first_prints_the_columns_it_read(files, name, code):
    run = audit(files[name], "--favourable", "yes", "--truth", "stayed", "--seed", "1", "--tool", "Hirer 3", "--json")
    assert run.returncode == code, run.stderr
    document = json.loads(run.stdout)
    assert (document["letter"], document["declared"]) == (code.name, True)
    assert document["target"]["name"] == "Hirer 3"
    assert document["calls"] == 0
    assert "person 1" not in run.stdout
    (component,) = document["components"]
    told = {row["group"]: f"{row['group']} ({row['people']:,})" for row in component["groups"]}
    assert f"{name}.csv: 12,000 people" in run.stderr
    assert all(text in run.stderr for text in told.values())
    assert "favourable: yes" in run.stderr


@pytest.mark.slow
def test_an_audit_of_decisions_without_a_column_of_true_outcomes_prints_tables_and_no_letter(files, tmp_path):
    report = tmp_path / "report.html"
    run = audit(files["biased"], "--favourable", "yes", "--seed", "1", "--report", str(report))
    assert run.returncode == Exit.INCONCLUSIVE
    assert "Impact ratio" in run.stdout
    assert "there is no letter: the tables are the result" in " ".join(run.stdout.split())
    assert "Impact ratio" in report.read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "say which value of hired is favourable: no ("),
        (("--favourable", "Y"), "no value of hired is called 'Y'; known: "),
        (("--favourable", "yes", "--truth", "stay"), "no column of the file is called 'stay'; did you mean 'stayed'?"),
        (("--favourable", "yes", "--score", "name"), "line 2, column 'name': 'person 0' is not a number"),
        (("--favourable", "yes", "--exclude", "sex"), "--exclude takes column=group: reason, not 'sex'"),
    ],
)
def test_a_wrong_column_or_value_name_gives_one_clear_line(files, options, message):
    run = audit(files["even"], *options)
    assert run.returncode == Exit.USAGE
    assert message in run.stderr.splitlines()[-1]
    assert run.stdout == ""


@pytest.mark.slow
def test_assay_audit_prints_the_steps_it_read_and_reports_where_a_group_falls_behind(tmp_path):
    rng, lines = random.Random(5), ["sex;screened;interviewed;hired"]
    for _ in range(4_000):
        sex = rng.choice(["Female", "Male"])
        screened = rng.random() < 0.6
        interviewed = screened and rng.random() < (0.3 if sex == "Female" else 0.6)
        hired = interviewed and rng.random() < 0.5
        lines.append(";".join([sex, *("yes" if passed else "" for passed in (screened, interviewed, hired))]))
    lines += ["Male;;;yes"] * 7
    file = tmp_path / "process.csv"
    file.write_text("\n".join(lines), encoding="utf-8")
    options = ("--by", "sex", "--steps", "screened,interviewed,hired", "--favourable", "yes")
    steps = (*options, "--step-unfavourable", "", "--seed", "1")
    run = run_command("audit", str(file), *steps, "--json", environment=CLEAN)
    assert run.returncode == Exit.INCONCLUSIVE, run.stderr
    assert "step interviewed: yes (" in run.stderr
    (component,) = json.loads(run.stdout)["components"]
    (gap,) = component["funnel"]["gaps"]
    assert (gap["group"], gap["smallest"]) == ("Female", "interviewed")
    assert component["funnel"]["steps"][2]["out_of_order"] == [{"group": "Male", "people": 7}]
    report = tmp_path / "report.md"
    run_command("audit", str(file), *steps, "--report", str(report), environment=CLEAN)
    rows = [line for line in report.read_text(encoding="utf-8").splitlines() if "Female" in line or "Male" in line]
    assert any("interviewed" in row and "Female" in row and "largest gap of this group" in row for row in rows)
    assert any("hired" in row and "7 passed it without all steps before it" in row for row in rows)


@pytest.mark.parametrize("arguments", [["audit", "--by", "sex"], ["verify"]])
@pytest.mark.parametrize("sign", [",", ".", "Comma", ""])
def test_an_unknown_decimal_sign_is_refused(arguments, sign):
    refused = CliRunner().invoke(app, [*arguments, "file.csv", "--decimal", sign])
    assert refused.exit_code == 2  # of typer, which `cli.main.main` turns into 64
    assert "'point', 'comma'" in refused.output


def test_the_seed_of_an_audit_is_at_most_the_largest_of_a_request():
    refused = CliRunner().invoke(app, ["audit", "file.csv", "--by", "sex", "--seed", str(2**53)])
    assert refused.exit_code == 2
    assert "--seed" in refused.output


def test_a_sheet_of_a_spreadsheet_is_audited_and_verified(files, tmp_path):
    rows = [line.split(",") for line in files["biased"].read_text(encoding="utf-8").splitlines()]
    file, export = tmp_path / "decisions.xlsx", tmp_path / "audit.jsonl"
    file.write_bytes(workbook({"Notes": [["about"], ["hiring"]], "People": rows}))
    options = ("--favourable", "yes", "--truth", "stayed", "--seed", "1")
    asked = audit(file, *options)
    assert "2 sheets have cells: 'Notes', 'People'" in asked.stderr
    assert audit(file, *options, "--sheet", "People", "--export", str(export)).returncode == Exit.BS
    verified = run_command("verify", str(export), "--from", str(file), "--sheet", "People", environment=CLEAN)
    assert verified.returncode == 0, verified.stderr
    rows[1][2] = "yes" if rows[1][2] == "no" else "no"
    file.write_bytes(workbook({"Notes": [["about"], ["hiring"]], "People": rows}))
    changed = run_command("verify", str(export), "--from", str(file), "--sheet", "People", environment=CLEAN)
    assert changed.returncode == 65


# ---------------------------------------------------------------------------- several audits, and what follows
FIELDS = ("--decision", "hired", "--favourable", "yes", "--by", "sex", "--truth", "stayed", "--seed", "1")


@pytest.fixture(scope="module")
def ratings(files, tmp_path_factory):
    """Audit both files, and write their ratings."""
    folder, written = tmp_path_factory.mktemp("ratings"), {}
    for name, file in files.items():
        done = run_command("audit", str(file), *FIELDS, "--tool", name, "--format", "json", environment=CLEAN)
        written[name] = folder / f"{name}.json"
        written[name].write_text(done.stdout, encoding="utf-8")
    return written


@pytest.mark.slow
def test_audits_of_several_files_become_one_file_for_regulators(ratings, tmp_path):
    report = tmp_path / "acme.ll144.csv"
    done = run_command("audit-report", *map(str, ratings.values()), "--report", str(report), environment=CLEAN)
    assert done.returncode == 0, done.stderr
    lines = report.read_text(encoding="utf-8").splitlines()
    assert lines[0].startswith("Tool,Table,Outcome,Category,People")
    assert [line.split(",")[0] for line in lines[1:]] == ["even", "even", "biased", "biased"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("content", "report", "message"),
    [
        ("{}", "a.ll144.html", "is not a rating of recorded decisions"),
        ('{"method": "round-trip", "components": []}', "a.ll144.html", "is not a rating of recorded decisions"),
        ("[1", "a.ll144.html", "is not JSON"),
        (None, "a.html", "no file for regulators is called 'a.html'"),
    ],
)
def test_errors_of_audits_and_of_regulator_files_are_one_line(ratings, tmp_path, content, report, message):
    file = tmp_path / "rating.json"
    file.write_text(ratings["even"].read_text(encoding="utf-8") if content is None else content, encoding="utf-8")
    done = run_command("audit-report", str(file), "--report", str(tmp_path / report), environment=CLEAN)
    assert done.returncode == Exit.USAGE
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / report).exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rating: rating.update(components=[]), "the rating has 0 tables, and its request names 1"),
        (lambda rating: rating["components"][0]["groups"][0].update(favourable=1), "in the rating"),
        (lambda rating: rating["components"][0]["groups"][0].update(group="Nobody"), "and the rating has none"),
        (lambda rating: rating["experiment"].update(table=None), "has no counts of people"),
        (lambda rating: rating["experiment"].update(table="counts"), "must be an object"),
        (lambda rating: rating.update(aggregation=None), "has the digest"),
        (lambda rating: rating.update(experiment=None), "have a file"),
        (lambda rating: rating.update(masked=True), "the public form of a rating"),
    ],
)
def test_an_altered_rating_is_refused_as_input_for_a_regulator_file(ratings, tmp_path, change, message):
    rating = json.loads(ratings["even"].read_text(encoding="utf-8"))
    change(rating)
    file, report = tmp_path / "changed.json", tmp_path / "a.eeoc.csv"
    file.write_text(json.dumps(rating), encoding="utf-8")
    with pytest.raises(SpecificationError, match=message):
        write_audits([file], report)
    assert not report.exists()


@pytest.mark.slow
@pytest.mark.parametrize(("name", "code"), [("even", 0), ("biased", 1)])
def test_the_exit_code_of_an_audit_follows_the_letter_of_its_at_least_option(files, name, code):
    done = run_command("audit", str(files[name]), *FIELDS, "--at-least", "DSBS", environment=CLEAN)
    assert done.returncode == code, done.stderr


@pytest.mark.slow
def test_audits_can_be_shown_side_by_side_but_not_composed_as_a_chain(ratings):
    table = run_command("side-by-side", *map(str, ratings.values()), environment=CLEAN)
    assert table.returncode == 0, table.stderr
    assert all(text in table.stdout for text in ("even", "biased", "UCS", "BS"))
    chain = run_command("compose", *map(str, ratings.values()), environment=CLEAN)
    assert (chain.returncode, "recorded decisions" in chain.stderr) == (Exit.USAGE, True)
