"""Tests of the lines that differ between two versions of the methodology."""

from web.public.methodology import CONTEXT, changed_lines


def test_changed_lines_are_marked_and_shown_with_equal_lines_around_them():
    old = [f"line {number}" for number in range(20)]
    new = [*old[:10], "another line", *old[11:]]
    lines = [(line.sign, line.text) for line in changed_lines(old, new)]
    assert [text for sign, text in lines if sign == "-"] == ["line 10"]
    assert [text for sign, text in lines if sign == "+"] == ["another line"]
    assert len([text for sign, text in lines if sign == " "]) == 2 * CONTEXT


def test_distant_changes_are_separated_by_an_ellipsis_and_equal_texts_have_no_lines():
    old = [f"line {number}" for number in range(40)]
    new = ["first", *old[1:-1], "last"]
    assert [line.text for line in changed_lines(old, new) if line.sign == "…"] == [""]
    assert list(changed_lines(old, old)) == []
