"""Each program of `docs/examples.md` prints what the page shows, in the page's order, against one agency."""

from __future__ import annotations

import sys

from tests.support.commands import run_program
from tests.support.markdown_blocks import ROOT, blocks

PAGE = ROOT / "docs" / "examples.md"
PROGRAMS = ("Rate a service", "Compare three public services", "Follow a service", "Gate a deployment")
EXIT_CODES = [0, 0, 0, 1]


def test_each_example_prints_the_output_shown_below_it_and_ends_as_the_page_says(serve, services, tmp_path):
    here = f"http://127.0.0.1:{serve().port}"
    on_page = blocks(PAGE)
    programs, outputs = on_page[::2], on_page[1::2]
    assert [block.language for block in on_page] == ["python", "text"] * len(PROGRAMS)
    assert all(f"## {title}" in PAGE.read_text(encoding="utf-8") for title in PROGRAMS)
    for program, output, code in zip(programs, outputs, EXIT_CODES, strict=True):
        text = program.text.replace("http://127.0.0.1:8000", here).replace("http://127.0.0.1:5000", services.base)
        (tmp_path / "example.py").write_text(text, encoding="utf-8")
        done = run_program([sys.executable, "example.py"], tmp_path)
        assert (done.stdout, done.stderr, done.returncode) == (output.text, "", code)
    followed = programs[2].text.replace("http://127.0.0.1:8000", here)
    (tmp_path / "example.py").write_text(followed, encoding="utf-8")
    assert run_program([sys.executable, "example.py"], tmp_path).stdout == "", "a rating is new once"
