"""Tests of `assay questions`: the printed scores, and files that are refused."""

import gzip
import json
import re

import pytest
from typer.testing import CliRunner

from assay.errors import SpecificationError
from cli.main import app

RECORD = {
    "question_index": "1", "question_polarity": "neg", "context_condition": "ambig", "category": "Age",
    "answer_info": {"ans0": ["grandfather", "old"], "ans1": ["grandson", "nonOld"], "ans2": ["Not known", "unknown"]},
    "additional_metadata": {"stereotyped_groups": ["old"]},
    "ans0": "The grandfather", "ans1": "The grandson", "ans2": "Not known", "label": 2, "mine": "The grandfather",
}  # fmt: skip


def test_the_questions_command_prints_scores_and_counts_of_answers_from_a_gzip_file(tmp_path):
    file = tmp_path / "answers.jsonl.gz"
    file.write_bytes(gzip.compress(f"{json.dumps(RECORD)}\n{json.dumps(RECORD | {'mine': 'Not known'})}\n".encode()))
    result = CliRunner().invoke(app, ["questions", str(file), "--answers", "mine"])
    assert result.exit_code == 0
    assert "2 questions, 2 read, 0 refused, 0 unreadable" in result.output
    assert "s_AMB        0.5000" in result.output
    printed = CliRunner().invoke(app, ["questions", str(file), "--answers", "mine", "--json"])
    assert json.loads(printed.output)["Age"]["ambig"]["biased"] == 1


def test_the_questions_command_refuses_a_file_that_lacks_the_named_field_of_answers(tmp_path):
    file = tmp_path / "answers.jsonl"
    file.write_text(json.dumps(RECORD))
    result = CliRunner().invoke(app, ["questions", str(file), "--answers", "theirs"])
    assert result.exit_code != 0


def test_a_line_separator_within_a_text_does_not_end_the_record(tmp_path):
    file = tmp_path / "answers.jsonl"
    record = json.dumps(RECORD | {"context": "One.\u2028Two."}, ensure_ascii=False)
    file.write_text(f"{record}\r\n{record}\n", encoding="utf-8", newline="")
    result = CliRunner().invoke(app, ["questions", str(file), "--answers", "mine"])
    assert result.exit_code == 0
    assert "2 questions, 2 read" in result.output


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.jsonl.gz", gzip.compress(b"{}\n" * 2000, mtime=0)[:14] + b"\xff" * 30, "cannot be read"),
        ("a.jsonl", b"[" * 200_000, "line 1 of .* is no JSON"),
    ],
)
def test_a_damaged_file_of_answers_is_refused(tmp_path, name, content, message):
    file = tmp_path / name
    file.write_bytes(content)
    result = CliRunner().invoke(app, ["questions", str(file)])
    assert isinstance(result.exception, SpecificationError)
    assert re.search(message, str(result.exception))
