"""``/audits``: what the page shows of a file, and the experiment that its form describes."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest
from lxml import html
from starlette.requests import Request

from service.app import create_app
from service.http.authentication import DEFAULT_CALLER
from store.core import migrate
from store.core.settings import Settings
from tests.support.workbooks import Xml, workbook
from web.audits.pages import experiment, value_text
from web.frame import Refused, Visit
from web.frame.form import Form
from web.site import add_pages
from workers.targets.registry import TargetChecker

pytestmark = pytest.mark.anyio

ORIGIN = "http://127.0.0.1:8000"
KNOWN = json.loads((Path(__file__).resolve().parents[4] / "shared" / "known_answers" / "tables.json").read_text())
CHOSEN = [("outcome", '["hired", "yes"]'), ("by", "sex")]


@pytest.fixture
async def client(tmp_path):
    settings = Settings(data_dir=tmp_path, public_url=ORIGIN)
    migrate.upgrade(settings.resolved_database_url)
    app = create_app(settings, validator=TargetChecker(settings), doorbell=lambda _: None)
    add_pages(app)
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url=ORIGIN, headers={"Accept": "text/html"}) as client:
        request = Request({"type": "http", "headers": [], "app": app})
        client.token = Visit(request, DEFAULT_CALLER, "", public=False).form_token
        yield client
    await app.state.service.database.close()


async def sent(client, content, name="people.csv", **fields):
    """Send a file by the form, and return the page that follows."""
    data = {"form_token": client.token, **fields}
    files = [("file", (name, content, "application/octet-stream"))]
    return await client.post("/audits", data=data, files=files, follow_redirects=True)


def columns_of(page):
    """Return the type, the listed values and the first rows of each column that a page shows."""
    table, *_ = html.fromstring(page.text).xpath("//table")
    rows = (["".join(cell.itertext()).strip() for cell in row.xpath("th|td")] for row in table.xpath("tbody/tr"))
    return {name: SimpleNamespace(kind=kind, empty=empty, values=values, first=first)
            for name, kind, empty, values, *first in rows}  # fmt: skip


def alert_of(page):
    return " ".join("".join(html.fromstring(page.text).xpath("//*[@role='alert']//text()")).split())


@pytest.mark.parametrize("table", [table for table in KNOWN["tables"] if isinstance(table["expected"], dict)],
                         ids=lambda table: table["name"])  # fmt: skip
async def test_the_page_shows_the_columns_of_a_table_or_asks_for_its_decimal_sign(client, table):
    page = await sent(client, table["content"].encode())
    for name, expected in table["expected"].items():
        if isinstance(expected, str):
            assert page.status_code == 422
            assert "state the decimal sign" in alert_of(page)
            continue
        kind, values = expected
        column = columns_of(page)[name]
        assert column.kind == kind
        assert column.empty == str(values.count(None))
        for value in values:
            assert value is None or f"{value} (" in column.values or f"{value:,} (" in column.values
        assert len(column.first) == len(values)


@pytest.mark.parametrize("table", [table for table in KNOWN["tables"] if str(table["expected"]).startswith("refused")],
                         ids=lambda table: table["name"])  # fmt: skip
async def test_the_page_refuses_a_malformed_example_table_with_its_expected_reason(client, table):
    page = await sent(client, table["content"].encode())
    assert page.status_code == 422
    assert table["expected"].removeprefix("refused: ").replace("line 3 ", "line 3: ") in alert_of(page)


async def test_a_table_in_latin_1_can_be_read_after_the_form_names_its_encoding(client):
    content = "name,score\nJosé,1\n".encode("latin-1")
    assert "is not UTF-8" in alert_of(await sent(client, content))
    assert columns_of(await sent(client, content, encoding="latin-1"))["name"].values == "José (1)"


@pytest.mark.parametrize(("name", "content", "said"), [
    ("people.txt", b"sex\thired\nF\tyes\n", None),
    ("people", b"sex;hired\nF;yes\n", None),
    ("people.xls", b"\xd0\xcf\x11\xe0" + bytes(600), "spreadsheet"),
    ("people.docx", b"PK\x03\x04" + bytes(600), "ZIP"),
    ("people.pdf", b"%PDF-1.7\n", "PDF; save the table as CSV"),
    ("people.parquet", b"sex,hired\nF,yes\n", "not a Parquet file"),
    ("people.csv", b"", "the file is empty"),
])  # fmt: skip
async def test_a_file_with_any_extension_is_read_as_a_table_or_refused_with_a_remedy(client, name, content, said):
    page = await sent(client, content, name)
    if said is None:
        assert set(columns_of(page)) == {"sex", "hired"}
    else:
        assert said in alert_of(page)


async def test_a_spreadsheet_of_several_sheets_can_be_read_after_the_form_names_one(client):
    content = workbook({"2025": [["sex", "hired"], ["F", True]], "2026": [["sex", "hired"], ["M", 1], ["F", 0]]})
    said = alert_of(await sent(client, content, "people.xlsx"))
    assert said == "2 sheets have cells: '2025', '2026'; state which one: sheet=NAME"
    columns = columns_of(await sent(client, content, "people.xlsx", sheet="2026"))
    assert (columns["sex"].values, columns["hired"].values) == ("F (1), M (1)", "0 (1), 1 (1)")
    wrong = await sent(client, content, "people.xlsx", sheet="2027")
    assert "no sheet of the file is called '2027'" in alert_of(wrong)


async def test_a_spreadsheet_with_an_error_is_refused_with_its_row(client):
    error = Xml('<c r="{at}" t="e"><v>#REF!</v></c>')
    content = workbook({"People": [["sex", "hired"], ["F", "yes"], ["M", error]]})
    assert "line 3, column 'hired': the cell holds the error #REF!" in alert_of(await sent(client, content, "p.xlsx"))


async def test_a_form_sent_without_a_file_is_shown_again(client):
    answer = await client.post("/audits", data={"form_token": client.token}, follow_redirects=True)
    assert (answer.status_code, alert_of(answer)) == (422, "choose a file")


@pytest.mark.parametrize(("fields", "said"), [
    ([("by", "sex")], "choose the value that is favourable"),
    ([("outcome", '["hired", "yes"]')], "choose at least one column of groups"),
    ([*CHOSEN, ("truth", "not json")], "choose a value from the list"),
    ([*CHOSEN, ("truth", "7")], "choose a value from the list"),
    ([*CHOSEN, ("by", "colour")], "no column of the file is called 'colour'; known: sex, hired"),
    ([("outcome", '["hired", "Y"]'), ("by", "sex")], "no value of hired is called 'Y'; known: yes, no"),
    ([*CHOSEN, ("exclusions", "sex: F")], "column = group: reason"),
    ([*CHOSEN, ("exclusions", "sex = F: few")], "only a group of less than 2 % may be excluded"),
    ([*CHOSEN, ("score", "hired")], "hired"),
])  # fmt: skip
async def test_an_invalid_choice_is_refused_with_the_reason_and_the_form_keeps_its_other_fields(client, fields, said):
    page = await sent(client, b"sex,hired\nF,yes\nM,yes\nM,no\n")
    data = [("form_token", client.token), ("period", "2026-01..2026-06"), *fields]
    body = str(httpx.QueryParams(data))
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    answer = await client.post(page.url.path, content=body, headers=headers, follow_redirects=True)
    assert answer.status_code == 422, answer.text
    assert said in alert_of(answer)
    assert html.fromstring(answer.text).xpath("//input[@name='period']/@value") == ["2026-01..2026-06"]


async def test_an_upload_for_another_purpose_has_no_audit_page(client):
    vectors = b"2 2\na 1 0\nb 0 1\n"
    query = {"purpose": "embedding", "name": "v"}
    upload = await client.post("/v1/uploads", params=query, content=vectors, headers={"Content-Type": "text/plain"})
    assert (await client.get(f"/audits/{upload.json()['id']}")).status_code == 404


def described(*fields):
    """Return the experiment that a form with these fields describes."""
    request = Request({"type": "http", "headers": [], "state": {"form": Form([*fields])}})
    return experiment(Visit(request, DEFAULT_CALLER, "", public=False))


def test_the_form_of_an_audit_can_set_every_field_of_the_experiment():
    assert described(
        *CHOSEN,
        ("by", "race"),
        ("by", "sex"),
        ("combine", "yes"),
        ("truth", '["stayed", "1"]'),
        ("strata", "job"),
        ("score", "points"),
        ("cluster", "site"),
        ("weight", "w"),
        ("period", " 2026 "),
        ("unfavourable", "no\r\nlater\r\n"),
        ("truth_unfavourable", "0"),
        ("unknown", "?\n?"),
        ("exclusions", "race = D: few: 3 people"),
    ) == {
        "method": "outcomes",
        "decision": "hired",
        "favourable": "yes",
        "truth": "stayed",
        "truth_favourable": "1",
        "score": "points",
        "cluster": "site",
        "weight": "w",
        "period": "2026",
        "by": ["sex", "race"],
        "strata": ["job"],
        "intersections": [["sex", "race"]],
        "unfavourable": ["no", "later"],
        "truth_unfavourable": ["0"],
        "unknown": ["?"],
        "exclusions": [{"by": "race", "group": "D", "why": "few: 3 people"}],
    }


def test_combinations_of_more_than_five_columns_are_refused():
    with pytest.raises(Refused, match="422"):
        described(*CHOSEN, *(("by", f"column {number}") for number in range(5)), ("combine", "yes"))


@pytest.mark.parametrize(("entry", "text"), [
    ({"value": "yes", "count": 1}, "yes"), ({"value": 1, "count": 1}, "1"),
    ({"value": True, "count": 1, "text": "true"}, "true"), ({"value": 1.0, "count": 1, "text": "1"}, "1"),
])  # fmt: skip
def test_a_cell_value_is_shown_as_it_is_written_in_the_file(entry, text):
    assert value_text(entry) == text
