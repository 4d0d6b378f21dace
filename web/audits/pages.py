"""``/audits``: send a file of decisions, say what its columns are, and read the rating's tables."""

import json
from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any

from starlette.responses import Response

from service.http.problems import not_found
from web.frame import Pages, Visit
from web.frame.form import lines_of
from web.frame.sent_file import send_file, unreadable

pages = Pages()

TABLE = "table"

MAX_VALUES = 20
"""Maximum number of values of a column that can be chosen as favourable."""

MAX_COMBINED = 5
"""Maximum number of columns with groups whose combinations in pairs can be compared too."""

WAIT_S = 20
"""Maximum time in seconds that the page waits for the rating, which makes no call and usually takes less."""


@pages.get("/audits")
async def audits(visit: Visit) -> Response:
    """Show the form that sends a file, and the tables that were sent earlier."""
    return visit.page("audits/file.html", tables=await visit.api.items("/v1/uploads", purpose=TABLE, limit=20))


@pages.post("/audits", "jobs:write", with_file=True, form_page=audits)
async def send_decisions(visit: Visit) -> Response:
    """Store the sent file as an upload, and redirect to the page with its columns."""
    upload = await send_file(visit, TABLE)
    return visit.redirect(f"/audits/{upload['id']}")


@pages.get("/audits/{upload_id}")
async def columns(visit: Visit) -> Response:
    """Show a table's columns, their values and the first rows, with a form that asks what each column means."""
    upload = await _read_table(visit)
    table_columns = upload["summary"]["columns"]
    # a choice is a form value with its text, here twice the column's name
    return visit.page(
        "audits/columns.html",
        upload=upload,
        columns=table_columns,
        outcomes=[*_outcomes(table_columns)],
        # the number of distinct values is null if it is larger than 50: such a column has no groups
        groups=[column for column in table_columns if (column.get("distinct") or 0) > 1],
        numbers=[(column["name"],) * 2 for column in table_columns if column["type"] in {"integer", "number"}],
        all_names=[(column["name"],) * 2 for column in table_columns],
        marks=sorted({mark for column in table_columns for mark in column.get("marks", ())}),  # of missing values
        tool=upload["name"].rpartition(".")[0] or upload["name"],
        chosen={name: visit.form.getlist(name) for name in ("by", "strata")},
    )


@pages.post("/audits/{upload_id}", "jobs:write", form_page=columns)
async def audit(visit: Visit) -> Response:
    """Request the rating of a table, and show it or, if it takes long, its job; equal requests get the same rating."""
    upload = await _read_table(visit)
    body = {
        "target": {
            "name": visit.typed.get("tool", "").strip() or upload["name"],
            "kind": "decision-tool",
            "protocol": "uploaded",
            "settings": {"upload": upload["digest"]},
        },
        "experiment": experiment(visit),
        "max_age_s": None,  # any rating of this request that has not expired is returned
    }
    job = await visit.api.post("/v1/jobs", body, Prefer=f"wait={WAIT_S}")
    rating = job.get("rating")
    return visit.redirect(f"/ratings/{rating['id']}" if rating else f"/jobs/{job['id']}")


async def _read_table(visit: Visit) -> dict[str, Any]:
    """Read the upload whose id is in the page's path; raise ``not-found`` if it is not a table."""
    upload_id = visit.path("upload_id")
    upload: dict[str, Any] = await visit.api.get(f"/v1/uploads/{upload_id}")
    if upload["purpose"] != TABLE:
        raise not_found("table", upload_id)
    return upload


def value_text(entry: Mapping[str, Any]) -> str:
    """Return the text by which a request names a column's value: its `text` if it has one, else the value."""
    return str(entry.get("text", entry["value"]))


def _outcomes(table_columns: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    """Yield options for the favourable outcome: (what the form sends, text ``column = value``) for each value."""
    for column in table_columns:
        value_texts = [value_text(entry) for entry in column.get("values") or ()]
        if 1 < len(value_texts) <= MAX_VALUES:
            yield from ((json.dumps([column["name"], text]), f"{column['name']} = {text}") for text in value_texts)


def experiment(visit: Visit) -> dict[str, Any]:
    """Return the experiment that a form describes; raise `Refused` without groups, or without decision and score."""
    texts, group_columns = visit.typed, list(dict.fromkeys(visit.form.getlist("by")))
    decision, favourable = _read_choice(texts.get("outcome", ""), "outcome")
    truth, truth_favourable = _read_choice(texts.get("truth", ""), "truth")  # the outcome that proved right
    if not group_columns:
        raise unreadable("by", "choose at least one column of groups, such as sex")
    if not decision and not texts.get("score"):
        raise unreadable("outcome", "choose the value that is favourable to a person, or a column of scores")
    if texts.get("combine") and len(group_columns) > MAX_COMBINED:
        detail = f"combinations of {len(group_columns)} columns are too many: choose at most {MAX_COMBINED}"
        raise unreadable("combine", detail)
    text_fields = {"decision": decision, "favourable": favourable, "truth": truth, "truth_favourable": truth_favourable}
    text_fields |= {name: texts.get(name, "").strip() for name in ("score", "cluster", "weight", "period")}
    list_fields = {
        "by": group_columns,
        "strata": list(dict.fromkeys(visit.form.getlist("strata"))),
        "intersections": [list(pair) for pair in combinations(group_columns, 2)] if texts.get("combine") else [],
        "exclusions": [*_exclusions(texts.get("exclusions", ""))],
    }
    list_fields |= {name: _lines(texts.get(name, "")) for name in ("unfavourable", "truth_unfavourable", "unknown")}
    return {"method": "outcomes", **{name: value for name, value in {**text_fields, **list_fields}.items() if value}}


def _read_choice(value: str, field: str) -> tuple[str, str]:
    """Parse a form's choice into a column and one of the column's values; two empty texts if nothing was chosen."""
    try:
        column, favourable = json.loads(value) if value else ("", "")
    except (TypeError, ValueError):
        raise unreadable(field, "choose a value from the list") from None
    return str(column), str(favourable)


def _lines(text: str) -> list[str]:
    return list(dict.fromkeys(lines_of(text)))


def _exclusions(text: str) -> Iterator[dict[str, str]]:
    """Read excluded groups, one in a line: ``column = group: reason``; raise `Refused` for any other line."""
    for line in _lines(text):
        column, _, group_and_reason = line.partition("=")
        group, _, reason = group_and_reason.partition(":")
        if not group.strip() or not reason.strip():
            raise unreadable("exclusions", f"write an excluded group as “column = group: reason”, not “{line[:80]}”")
        yield {"by": column.strip(), "group": group.strip(), "why": reason.strip()}
