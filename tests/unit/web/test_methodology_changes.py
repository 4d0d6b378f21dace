"""Tests of the text of the methodology as a page, and of the lines that differ between two versions."""

from web.frame.markdown import render_markdown
from web.public.methodology import CONTEXT, changed_lines


def test_changed_lines_of_the_methodology_are_marked_and_shown_with_unchanged_lines_around_them():
    old = [f"line {number}" for number in range(20)]
    new = [*old[:10], "another line", *old[11:]]
    lines = [(line.sign, line.text) for line in changed_lines(old, new)]
    assert [text for sign, text in lines if sign == "-"] == ["line 10"]
    assert [text for sign, text in lines if sign == "+"] == ["another line"]
    assert len([text for sign, text in lines if sign == " "]) == 2 * CONTEXT


def test_distant_changes_of_the_methodology_are_separated_by_an_ellipsis():
    old = [f"line {number}" for number in range(40)]
    new = ["first", *old[1:-1], "last"]
    assert [line.text for line in changed_lines(old, new) if line.sign == "…"] == [""]
    assert list(changed_lines(old, old)) == []


def test_sections_of_the_methodology_have_anchors_and_html_in_it_stays_text():
    html, sections = render_markdown("# Rules\n\n## 1. The `scale`\n\n<b>Bold</b> and **strong**.\n\n## 2. Symbols\n")
    assert sections == [("s-0", "1. The scale"), ("s-1", "2. Symbols")]
    assert '<h3 id="s-0">1. The <code>scale</code></h3>' in html
    assert html.startswith("<h2>Rules</h2>")
    assert "&lt;b&gt;Bold&lt;/b&gt; and <strong>strong</strong>" in html
    assert '<h3 id="s-1">2. Symbols</h3>' in html
