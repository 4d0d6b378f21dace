"""Cases as rows of the evidence page: their texts with the words that differ, and matches of a searched text."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, NamedTuple

from assay.document import Json
from assay.explain import Vocabulary
from reports.cases.reading import answer_text, question_text
from web.frame.visit import with_query

_WORD = re.compile(r"\w+|[^\w\s]")

LONGEST_COMPARED = 100
"""Longest text, in words and punctuation marks, that is compared: the time can grow with the square of its length."""

LONGEST_QUESTION, LONGEST_ANSWER, SHOWN = 300, 150, 120
"""Most characters of a question and of an answer that are not folded; characters that are shown of a folded text."""


class Piece(NamedTuple):
    """A piece of a text: whether it differs from the compared text, and whether it matches the searched text."""

    text: str
    differs: bool = False
    matches: bool = False


@dataclass(frozen=True)
class Line:
    """A text of a case, or a recorded question, with its reply if it has one.

    `unit` names a recorded question; `beginning` and `answer_beginning` are what is shown of a folded text or reply.
    """

    name: str
    pieces: Sequence[Piece]
    lang: str | None
    answer: Sequence[Piece] | None = None
    answer_lang: str | None = None
    failure: str | None = None
    unit: str = ""
    beginning: str = ""
    answer_beginning: str = ""


@dataclass(frozen=True)
class Row:
    """A case as a row; `picture` is the digest of its picture, if the picture can be shown."""

    case: Json
    lines: Sequence[Line]
    picture: str | None
    exchanges: Sequence[Line] = ()


def row_of(case: Mapping[str, Any], search_text: str, vocabulary: Vocabulary) -> Row:
    """Write a case of the API as a row, with its raw questions and replies if it has them."""
    texts = case["texts"]
    lines = [_text_line(text, _counterpart(texts, index), search_text, vocabulary) for index, text in enumerate(texts)]
    # the address of a thumbnail ends with the digest of the picture
    picture_digest = None if case["thumbnail"] is None else str(case["thumbnail"]).rpartition("/")[2]
    exchanges = [_exchange_line(exchange, search_text, vocabulary) for exchange in case.get("exchanges", ())]
    return Row(case, lines, picture_digest, exchanges)


def _counterpart(texts: Sequence[Json], index: int) -> str:
    """Return the first other text in the language of the text at `index`, to compare them; empty if there is none."""
    others = [text["text"] for i, text in enumerate(texts) if i != index and text["lang"] == texts[index]["lang"]]
    return str(others[0]) if others else ""


def _text_line(text: Json, counterpart: str, search_text: str, vocabulary: Vocabulary) -> Line:
    """Write a text of a case and its answer as a line; words that differ from the counterpart are marked."""
    answer, failure = text["answer"], text["failure"]
    return Line(
        name=text["name"],
        pieces=list(pieces(text["text"], search_text, counterpart)),
        lang=text["lang"],
        answer=None if answer is None else list(pieces(answer, search_text)),
        answer_lang=text["answer_lang"],
        failure=None if failure is None else vocabulary.cause(failure),
        beginning=_shorten(text["text"], LONGEST_QUESTION),
        answer_beginning=_shorten(answer, LONGEST_ANSWER),
    )


def _exchange_line(observation: Json, search_text: str, vocabulary: Vocabulary) -> Line:
    """Write an observation (a recorded question) as a line, with its answer or failure."""
    ask, failure = observation["ask"], observation["failure"]
    question, answer = question_text(ask), answer_text(observation)
    is_translation = ask.get("asks") == "translate"
    return Line(
        name=f"no. {observation['seq']}",
        pieces=list(pieces(question, search_text)),
        lang=ask.get("source") if is_translation else "en",
        answer=None if answer is None else list(pieces(answer, search_text)),
        answer_lang=ask.get("target") if is_translation else None,
        failure=None if failure is None else failure.get("service_said") or vocabulary.cause(failure["code"]),
        unit=observation["unit"],
        beginning=_shorten(question, LONGEST_QUESTION),
        answer_beginning=_shorten(answer, LONGEST_ANSWER),
    )


def _shorten(text: str | None, longest: int) -> str:
    """Return the beginning of a long text; "" if it is short enough to be shown as a whole."""
    return "" if text is None or len(text) <= longest else f"{text[:SHOWN].rpartition(' ')[0]}…"


def pieces(text: str, search_text: str, counterpart: str = "") -> Iterator[Piece]:
    """Split a text where it matches the searched text, or else where it differs from its counterpart."""
    parts = re.split(f"({re.escape(search_text)})", text, flags=re.IGNORECASE) if search_text else [text]
    if len(parts) > 1:
        # the pattern has a group, so that every second part is a match
        yield from (Piece(part, matches=index % 2 == 1) for index, part in enumerate(parts) if part)
        return
    yield from (Piece(part, differs=differs) for part, differs in _mark_differences(text, counterpart) if part)


def _mark_differences(text: str, counterpart: str) -> Iterator[tuple[str, bool]]:
    """Yield the parts of a text, each with whether its words differ from those of the counterpart."""
    words, other_words = list(_WORD.finditer(text)), _WORD.findall(counterpart)
    if not counterpart or max(len(words), len(other_words)) > LONGEST_COMPARED:
        yield text, False
        return
    matcher = SequenceMatcher(None, [word.group() for word in words], other_words, autojunk=False)
    end_of_previous = 0
    for tag, start, end, _, _ in matcher.get_opcodes():
        if tag != "equal" and start < end:
            start_of_change, end_of_change = words[start].start(), words[end - 1].end()
            yield text[end_of_previous:start_of_change], False
            yield text[start_of_change:end_of_change], True
            end_of_previous = end_of_change
    yield text[end_of_previous:], False


def address_of(base: str, filters: Mapping[str, str], **changes: object) -> str:
    """Return the address of the evidence page with `filters` and `changes` of them; empty filters are left out."""
    address = with_query(f"{base}/evidence", {**filters, **changes}.items())
    return f"{address}#case-{changes['case']}" if changes.get("case") else address
