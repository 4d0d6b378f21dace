"""Each tutorial works as it is printed: its files, its commands, and the output that it shows."""

from __future__ import annotations

import re
import socket
from pathlib import Path

import pytest

from tests.support.commands import run_program
from tests.support.markdown_blocks import ROOT, blocks, shown_files

TUTORIALS = ROOT / "docs" / "tutorials"
RATED = (
    "translator",
    "translator-from-french",
    "classifier",
    "embedder",
    "language-model",
    "deciding-model",
    "writer",
    "image-classifier",
    "outcomes",
)
MOST_COMMANDS = 5
FRAME = str.maketrans(dict.fromkeys("┏┓┗┛┃━┌┐└┘╌╎", " "))


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def plain(text: str) -> str:
    """Return a text without frames and line breaks."""
    return " ".join(text.translate(FRAME).split())


def run(folder: Path, commands: str) -> str:
    """Run commands in a shell, as a reader does: one after the other, even if an earlier command failed."""
    done = run_program(["bash", "-c", commands], folder, COLUMNS="80")
    return done.stdout + done.stderr


@pytest.mark.parametrize("name", RATED)
def test_the_commands_of_a_tutorial_print_the_output_shown_on_its_page(name, tmp_path):
    page, port = TUTORIALS / f"{name}.md", free_port()
    for file, text in shown_files(page).items():
        (tmp_path / file).write_text(re.sub(r"\b8080\b", str(port), text), encoding="utf-8")
    printed = ""
    for block in blocks(page):
        if block.language == "sh":
            assert len(block.text.strip().splitlines()) <= MOST_COMMANDS
            printed = plain(run(tmp_path, re.sub(r"\b8080\b", str(port), block.text)))
        if block.language == "text":
            for part in block.text.split("…\n"):
                assert plain(part) in printed, printed
    (report,) = tmp_path.glob("*.html")
    assert ("Local Law 144" if name == "outcomes" else "<svg") in report.read_text(encoding="utf-8")


def test_the_page_on_the_first_report_shows_the_output_of_the_translator_tutorial(tmp_path):
    page, port = TUTORIALS / "translator.md", free_port()
    for file, text in shown_files(page).items():
        (tmp_path / file).write_text(re.sub(r"\b8080\b", str(port), text), encoding="utf-8")
    (commands,) = [block.text for block in blocks(page) if block.language == "sh"]
    printed = plain(run(tmp_path, re.sub(r"\b8080\b", str(port), commands)))
    shown = [block.text for block in blocks(TUTORIALS / "first-report.md")]
    assert len(shown) == 4
    for text in shown:
        for line in text.splitlines():
            assert plain(line) in printed, line
