"""The complete rating as Markdown, for a pull request, a wiki or a paper's appendix."""

import re
from collections.abc import Iterable, Iterator

from assay.document import Json
from reports import outline, tables
from reports.reading import Component, RatingView, read
from reports.view import ReasonView, Table

_SPECIAL = re.compile(r"([\\`*_\[\]<>#|~!&$^]|:(?=//)|(?<=\w)@|^[-+=])")
_CODE = re.compile(r"[a-z0-9-]+")
_NUMBERED = re.compile(r"^(\d+)([.)])(?=\s|$)")


def render(document: Json) -> str:
    """Write the rating as GitHub-flavoured Markdown; all text from other sources is escaped."""
    return "\n\n".join(part for part in _report_parts(read(document)) if part) + "\n"


def _report_parts(rating: RatingView) -> Iterator[str]:
    verdict = rating.verdict
    yield f"# {escape(rating.target)}"
    if (warning := outline.warning(rating)) is not None:
        yield f"> **{escape(warning)}**"
    yield f"**{escape(verdict.headline)}**"
    yield escape(outline.subject(rating)) + "."
    yield escape(rating.request)
    if rating.because is not None:
        yield escape(rating.because.text)
    yield escape(" ".join(rating.in_words))
    yield _list_reasons(outline.reasons(rating))
    yield from _reply_parts(rating)
    yield escape(tables.confidence_note(rating))
    yield table(tables.probabilities(verdict))
    if verdict.probabilities is not None:
        yield table(tables.decision(verdict))
    if len(rating.components) > 1:
        yield f"## {tables.overview(rating).title}"
        yield table(tables.overview(rating), titled=False)
        yield escape(outline.aggregation_sentence(rating) or "")
    yield from map(table, outline.rating_tables(rating))
    yield _list_reasons(outline.other_rules(rating))
    for component in rating.components:
        yield from _component_parts(component)
    yield "## Provenance"
    yield from map(table, outline.provenance_tables(rating))
    yield "## How to verify"
    yield "\n".join(f"{number}. {_escape_sentence(line)}" for number, line in enumerate(outline.VERIFY, 1))


def _reply_parts(rating: RatingView) -> Iterator[str]:
    if rating.reply is None:
        return
    yield f"**{outline.REPLY}**"
    yield "\n>\n".join(f"> {escape(paragraph)}" for paragraph in rating.reply.paragraphs)
    yield escape(" ".join(filter(None, (outline.reply_sentence(rating.reply), rating.reply.link))))
    if rating.reply.answer.paragraphs:
        yield "\n>\n".join(f"> {escape(paragraph)}" for paragraph in rating.reply.answer.paragraphs)
        yield escape(outline.answer_sentence(rating.reply))


def _component_parts(component: Component) -> Iterator[str]:
    yield f"## {escape(component.title)}"
    yield f"**{escape(component.verdict.headline)}**"
    yield _list_reasons(component.reasons)
    yield table(tables.probabilities(component.verdict))
    yield from map(table, outline.component_tables(component))
    for sentence in (outline.pairs_sentence(component), component.settle):
        yield escape(sentence or "")
    if component.examples:
        yield "**Examples**"
        examples = ([f"{name}: {escape(text)}" for name, text in example.items()] for example in component.examples)
        yield "\n".join("- " + "  \n  ".join(lines) for lines in examples)


def table(listing: Table, *, titled: bool = True) -> str:
    """Write a table, with its title in bold above it if `titled`."""
    head = [f"**{escape(listing.title)}**", ""] if titled else []
    aligns = ["---:" if numeric else "---" for numeric in listing.numeric]
    row_lines = (_line(map(escape, row)) for row in listing.rows)
    return "\n".join([*head, _line(map(escape, listing.columns)), _line(aligns), *row_lines])


def escape(text: str) -> str:
    """Escape every character of a text that is special in Markdown, in paragraphs and in tables."""
    return _NUMBERED.sub(r"\1\\\2", _SPECIAL.sub(r"\\\1", text))


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _list_reasons(reasons: Iterable[ReasonView]) -> str:
    return "\n".join(f"- {escape(reason.text)} ({_format_code(reason.code)})" for reason in reasons)


def _format_code(code: str) -> str:
    """Format a reason's code as Markdown code, or escape it if it has unexpected characters."""
    return f"`{code}`" if _CODE.fullmatch(code) else escape(code)


def _escape_sentence(line: str) -> str:
    """Escape a sentence that Assay has written, except for commands within backticks."""
    # parts with an odd index are within backticks
    return "`".join(part if index % 2 else escape(part) for index, part in enumerate(line.split("`")))
