"""Names of services and files of other agencies cannot forge lines on a terminal, or break a format.

Row 95 of docs/reliability.md: at ffe18d3c a name could forge a line of `assay verify`.
"""

from __future__ import annotations

import json
import logging
import re
import sys
from io import StringIO
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
import structlog
from rich.console import Console

from cli.exits import as_one_line
from cli.gate import main as gate
from cli.logs import configure_logs
from cli.rating import rate, verify
from cli.terminal import escape, print_json, show_list
from store.core.settings import Settings

ROOT = Path(__file__).resolve().parents[3]
FORGED = "x\x1b[2K\x1b[1G\nok  signature\r\n::error title=forged::no\u202e\x9b\x00\x85\u2028[bold]y[/bold]"
"""A name that erases its line, begins new ones, is an annotation, reverses its end, and breaks XML."""

EXECUTED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
"""Characters that a terminal executes, or that reorder or break lines."""


def rating():
    document = {"letter": "BS", "declared": True, "attribute": FORGED, "method": FORGED, "in_words": FORGED}
    return document | {
        "target": {"name": FORGED},
        "components": [{"name": FORGED, "letter": "BS", "declared": True}],
    }


def test_json_on_standard_output_holds_no_character_that_a_terminal_executes(capsys):
    print_json({"name": FORGED})
    shown = capsys.readouterr().out
    assert json.loads(shown) == {"name": FORGED}
    assert not EXECUTED.search(shown)


@pytest.mark.parametrize("form", rate.CI_FORMATS)
@pytest.mark.parametrize("failed", [False, True])
def test_a_hostile_name_breaks_no_format_for_continuous_integration(form, failed):
    if failed:
        written = rate.of_failure(form, FORGED, {"title": FORGED, "detail": FORGED})
    else:
        written = rate.of_rating(form, rating(), "DSBS", Path(f"a,line=1::{FORGED}.toml"))
    assert not EXECUTED.search(written)
    if form == "junit":
        assert ET.fromstring(written).tag == "testsuites"
    elif form == "sarif":
        assert len(json.loads(written)["runs"][0]["results"]) == (1 if failed else 2)
    else:
        assert [line[:8] for line in written.splitlines()] == ["::error "] * (1 if failed else 2)


def test_names_in_an_export_cannot_forge_lines_in_the_output_of_verify(tmp_path, capsys, monkeypatch):
    def checks(*_, **__):
        yield verify.Check(FORGED, None, FORGED)
        yield verify.Check("seal", FORGED, "")

    monkeypatch.setattr(verify, "_checks", checks)
    monkeypatch.setattr(verify, "console", Console(file=sys.stdout, highlight=False, soft_wrap=True))
    file = tmp_path / "export.jsonl"
    file.write_text("")
    with pytest.raises(verify.NotVerified) as differs:
        verify.verify_file(file, keys=None, replay=False)
    written = capsys.readouterr().out
    assert not EXECUTED.search(written)
    assert [line[:3] for line in written.splitlines()] == ["ok ", "NOT"]
    message = as_one_line(differs.value)
    assert not EXECUTED.search(message)
    assert "\n" not in message


def test_names_with_line_breaks_cannot_start_a_new_line_in_printed_lists_and_errors(capsys):
    show_list([{"name": FORGED, "about": FORGED}], search=None, as_json=False)
    written = capsys.readouterr().out
    assert not EXECUTED.search(written)
    assert not [line for line in written.splitlines() if line.startswith(("ok", "::"))]
    assert "\n" not in as_one_line(ValueError(FORGED))
    assert "[bold]" in escape(FORGED).replace("\\", "")


def test_an_error_of_assay_gate_stays_one_line_if_a_name_contains_line_breaks(capsys):
    assert gate(["--url", f"http://a{FORGED}", "--target-url", "x", "--attribute", FORGED]) == 64
    written = capsys.readouterr().err
    assert not EXECUTED.search(written)
    assert written.count("\n") == 1


def test_a_forged_value_cannot_start_a_new_line_in_the_log():
    configure_logs(Settings(log_json=False))
    try:
        file = StringIO()
        structlog.configure(logger_factory=structlog.PrintLoggerFactory(file), cache_logger_on_first_use=False)
        structlog.get_logger().warning("connection refused", peer=FORGED)
        assert not EXECUTED.search(file.getvalue())
        assert file.getvalue().count("\n") == 1
    finally:
        structlog.reset_defaults()
        logging.getLogger().handlers = []


def test_only_the_terminal_module_of_the_command_line_imports_rich_markup():
    # `rich` alone escapes brackets only
    modules = [path.name for path in (ROOT / "cli").rglob("*.py") if "rich.markup" in path.read_text(encoding="utf-8")]
    assert modules == []
    assert "from rich import markup" in (ROOT / "cli" / "terminal.py").read_text(encoding="utf-8")
