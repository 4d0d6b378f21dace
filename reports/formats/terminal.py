"""The rating for a terminal: plain text with a maximum width, in colour on request."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest

from rich.cells import cell_len, chop_cells

from assay.document import Json
from assay.explain import chance
from assay.model import Letter
from reports import outline, tables
from reports.reading import Component, RatingView, read
from reports.view import ReasonView, Table, Verdict

COLUMNS = 88
"""Default width in columns."""

IN_FULL = 3
"""Maximum number of components shown with all their tables; further ones have only headline and reasons."""

_COLOURS: Mapping[Letter | None, str] = {Letter.UCS: "34", Letter.DSBS: "33", Letter.BS: "31", None: "2"}
_BAR = 24
_WORD = re.compile(r"\S*\d %\S*|\S+")  # a number and its percent sign stay on one line


def render(document: Json, *, colour: bool = False, columns: int = COLUMNS, brief: bool = False) -> str:
    """Write the rating as plain text of at most `columns` columns (at least 60).

    If `colour`, the letters also have ANSI colours; shapes and words carry the same information. If `brief`, only
    the letter, its probabilities, the reasons, the overview, the transitions and the published rules are written.
    """
    page = (_BriefPage if brief else _Page)(max(columns, 60), colour)
    return "\n".join(line.rstrip() for line in page.lines(read(document))) + "\n"


class _Page:
    def __init__(self, columns: int, colour: bool) -> None:
        self.columns, self.colour = columns, colour

    def lines(self, rating: RatingView) -> Iterator[str]:
        """Yield the lines of the report."""
        yield from self._letter_lines(rating)
        if len(rating.components) > 1:
            yield from self._heading_lines("Every part")
            yield from self._table_lines(tables.overview(rating), titled=False)
            yield from self._text_lines(outline.aggregation_sentence(rating) or "")
        yield from self._tables_lines(outline.rating_tables(rating))
        yield from self._component_lines(rating)
        yield from self._reply_lines(rating)
        yield from self._heading_lines("Provenance")
        yield from self._tables_lines(outline.provenance_tables(rating))
        yield from self._heading_lines("How to verify")
        yield from self._text_lines(*outline.VERIFY)

    def _letter_lines(self, rating: RatingView) -> Iterator[str]:
        """Yield the lines about the letter and its reasons, which the full and the short report share."""
        yield from self._stamp_lines(rating)
        yield from self._text_lines("" if rating.because is None else rating.because.text)
        yield from self._text_lines(" ".join(rating.in_words))
        yield from self._reason_lines(outline.reasons(rating))
        yield from self._probability_lines(rating)

    def _stamp_lines(self, rating: RatingView) -> Iterator[str]:
        verdict = rating.verdict
        yield from self._text_lines(outline.warning(rating) or "")
        padded_letter = f"  {verdict.letter or '?'}  "
        top_corners, bottom_corners, edge, side = ("┏┓", "┗┛", "━", "┃") if verdict.declared else ("┌┐", "└┘", "╌", "╎")
        edge_line = edge * len(padded_letter)
        yield self._colour_text(edge_line.join(top_corners), verdict)
        stamp_lines = (f"{side}{padded_letter}{side}", edge_line.join(bottom_corners))
        indent = len(stamp_lines[0]) + 2
        texts = [*wrap(rating.target, self.columns - indent), *wrap(verdict.headline, self.columns - indent)]
        for stamp_line, text in zip_longest(stamp_lines, texts):  # the stamp's lower two lines, with texts beside them
            yield (self._colour_text(stamp_line, verdict) + "  " if stamp_line else " " * indent) + (text or "")
        yield from ("", *wrap(f"{outline.subject(rating)}. {rating.request}".rstrip(), self.columns), "")

    def _reply_lines(self, rating: RatingView) -> Iterator[str]:
        if rating.reply is not None:
            yield from self._heading_lines(outline.REPLY)
            yield from self._text_lines(*rating.reply.paragraphs, rating.reply.link or "")
            yield from self._text_lines(outline.reply_sentence(rating.reply))
            if rating.reply.answer.paragraphs:
                yield from self._text_lines(*rating.reply.answer.paragraphs, outline.answer_sentence(rating.reply))

    def _probability_lines(self, rating: RatingView) -> Iterator[str]:
        for letter, probability in (rating.verdict.probabilities or {}).items():
            filled_length = round(probability * _BAR)
            bar = "█" * filled_length + "░" * (_BAR - filled_length)
            yield f"  {letter.value:<5} {bar} {chance(probability):>5}"
        yield from self._text_lines(tables.confidence_note(rating))

    def _component_lines(self, rating: RatingView) -> Iterator[str]:
        detailed_components = rating.foremost[:IN_FULL]  # those that decided the letter
        for component in rating.components:
            yield from self._heading_lines(f"{component.title}: {component.verdict.headline}")
            yield from self._reason_lines(component.reasons)
            if component in detailed_components:
                yield from self._detail_lines(component)
        if len(rating.components) > len(detailed_components):
            yield from self._text_lines("The tables of the other parts are in the HTML, Markdown and JSON reports.")

    def _detail_lines(self, component: Component) -> Iterator[str]:
        yield from self._tables_lines(outline.component_tables(component))
        yield from self._text_lines(outline.pairs_sentence(component) or "", component.settle or "")
        if component.examples:
            yield "Examples"
            for example in component.examples:
                for name, text in example.items():
                    yield from self._hanging_lines(f"  {name:<11}", text)
                yield ""

    def _reason_lines(self, reasons: Iterable[ReasonView]) -> Iterator[str]:
        lines = [line for reason in reasons for line in self._hanging_lines("  • ", reason.text)]
        yield from (*lines, "") if lines else ()

    def _hanging_lines(self, label: str, text: str) -> Iterator[str]:
        for index, line in enumerate(wrap(text, self.columns - cell_len(label))):
            yield (label if index == 0 else " " * cell_len(label)) + line

    def _text_lines(self, *paragraphs: str) -> Iterator[str]:
        for paragraph in filter(None, paragraphs):
            yield from wrap(paragraph.replace("`", ""), self.columns)
            yield ""

    def _heading_lines(self, text: str) -> Iterator[str]:
        lines = list(wrap(text, self.columns))
        yield from lines
        yield "─" * max(map(cell_len, lines), default=0)

    def _tables_lines(self, entries: Iterable[Table]) -> Iterator[str]:
        for table in entries:
            yield from self._table_lines(table)

    def _table_lines(self, table: Table, *, titled: bool = True) -> Iterator[str]:
        if titled:
            yield from wrap(table.title, self.columns)
        yield from draw_table(table, self.columns)
        yield ""

    def _colour_text(self, text: str, verdict: Verdict) -> str:
        return f"\x1b[1;{_COLOURS[verdict.letter]}m{text}\x1b[0m" if self.colour else text


class _BriefPage(_Page):
    """The short report: the letter and its reasons."""

    def lines(self, rating: RatingView) -> Iterator[str]:
        """Yield the lines of the short report."""
        yield from self._letter_lines(rating)
        if len(rating.components) > 1:
            yield from self._table_lines(tables.overview(rating), titled=False)
        for component in rating.components:
            if len(rating.components) > 1:
                yield from self._heading_lines(f"{component.title}: {component.verdict.headline}")
                yield from self._reason_lines(component.reasons)
            transition_table = tables.transitions(component)
            if transition_table.rows and len(rating.components) <= IN_FULL:
                yield from self._table_lines(transition_table)
        if rating.published:
            yield from self._table_lines(tables.published(rating.published, rating.verdict))


def draw_table(table: Table, columns: int) -> Iterator[str]:
    """Yield the lines of a table drawn with box characters, at most `columns` wide; wide cells are wrapped."""
    widths = fit([max(map(cell_len, cells)) for cells in zip(table.columns, *table.rows, strict=True)], columns)
    yield _border_line("┌", "┬", "┐", widths)
    yield from _row_lines(table.columns, widths, table.numeric)
    yield _border_line("├", "┼", "┤", widths)
    for row in table.rows:
        yield from _row_lines(row, widths, table.numeric)
    yield _border_line("└", "┴", "┘", widths)


def fit(widths: Sequence[int], columns: int) -> list[int]:
    """Return column widths narrowed, the widest first, until a table with its borders fits into `columns`."""
    narrowed_widths = [max(1, size) for size in widths]
    borders = 3 * len(narrowed_widths) + 1  # a blank on both sides of each cell, and the lines between
    while sum(narrowed_widths) + borders > columns and max(narrowed_widths) > 1:
        narrowed_widths[narrowed_widths.index(max(narrowed_widths))] -= 1
    return narrowed_widths


def wrap(text: str, columns: int) -> Iterator[str]:
    """Break a text at blanks into lines of at most `columns`; a longer word is cut into pieces."""
    line = ""
    pieces = (piece for word in _WORD.findall(text) for piece in chop_cells(word, columns) if piece)
    for piece in pieces:
        if line and cell_len(line) + 1 + cell_len(piece) > columns:
            yield line
            line = piece
        else:
            line = f"{line} {piece}" if line else piece
    yield line


def _row_lines(cells: Sequence[str], widths: Sequence[int], numeric: Sequence[bool]) -> Iterator[str]:
    wrapped_cells = [list(wrap(cell, room)) for cell, room in zip(cells, widths, strict=True)]
    for texts in zip_longest(*wrapped_cells, fillvalue=""):
        yield f"│ {' │ '.join(map(_pad, texts, widths, numeric))} │"


def _pad(text: str, columns: int, flush_right: bool) -> str:
    blanks = " " * (columns - cell_len(text))
    return blanks + text if flush_right else text + blanks


def _border_line(left: str, middle: str, right: str, widths: Sequence[int]) -> str:
    return left + middle.join("─" * (size + 2) for size in widths) + right
