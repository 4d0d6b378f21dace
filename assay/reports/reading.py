"""Reader of the rating document, the same for all formats.

The document is stored JSON, perhaps of an older version or of a method with fewer results. So the
reader assumes only that it is an object. A value that is absent, ``null``, of another type, NaN or
infinite is read as ``None`` or as empty (`assay.reports.parts`), and shown as "not measured". Text is
made `visible` here; each format still escapes it for its own syntax. The tables, figures and words of
a method come from the class of the method.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import islice
from typing import Any

from assay.experiment import Method
from assay.explain import Vocabulary, explain, request_in_words
from assay.model import Letter, Reason
from assay.reports import parts
from assay.reports.in_words import in_words, letter_of, reason_codes, settle_in_words
from assay.reports.plain import visible
from assay.reports.view import (
    BALANCED,
    Block,
    Component,
    Effect,
    Example,
    InterimLook,
    OwnersReply,
    Picture,
    RatingView,
    Said,
    Shares,
    Steps,
    Table,
    Verdict,
    Withdrawal,
    effect_titles,
)

MOST_LISTED = 60
"""Maximum number of entries of a list or an object in a line; the JSON report has all."""

HIDDEN = {
    "stratum": "Within “{}”",
    "individual": "One case ({})",
    "loss": "Lost replies, most of “{}”",
    "content": "Follows content ({})",
}
"""Titles of the kinds of effects that a mean can hide."""

FEW = 5
"""Number of entries that a line shows of a longer list, with the size of the list."""


def read(document: Mapping[str, Any], method: type[Method]) -> RatingView:
    """Read a rating document, any part of which may be missing.

    The result has no NaN, infinity or invisible characters. This module has no clock, so the caller adds
    ``expired`` to the document if the rating has expired.
    """
    target, aggregation = parts.mapping(document, "target"), parts.mapping(document, "aggregation")
    vocabulary = Vocabulary.of(method)
    return RatingView(
        id=parts.text(document, "id"),
        verdict=read_verdict(document, method.STEPS),
        words=vocabulary.letter(letter_of(document), document.get("declared") is True, reason_codes(document)),
        in_words=in_words(document, method),
        method=parts.text(document, "method"),
        attribute=parts.text(document, "attribute"),
        confidence=parts.number(document, "confidence"),
        delta=parts.number(document, "delta"),
        target=parts.text(target, "name") or parts.text(target, "url") or "unnamed service",
        target_facts=_facts(target),
        experiment=_facts(parts.mapping(document, "experiment")),
        components=tuple(
            _component(document, one, place, method)
            for place, one in enumerate(parts.objects(document, "components"), 1)
        ),
        rule=parts.text(aggregation, "rule"),
        deciding=parts.texts(aggregation, "deciding"),
        adjusted={visible(name): parts.numbers(each) for name, each in parts.mapping(aggregation, "adjusted").items()},
        vote=parts.text(aggregation, "vote"),
        published=_published(document, vocabulary),
        reasons=_reasons(document, vocabulary),
        provenance=_provenance(document),
        methodology=parts.text(parts.mapping(document, "methodology"), "version"),
        rated_at=parts.text(document, "rated_at"),
        sheets=_tables(aggregation, method),
        reply=_reply(document),
        request=_request(document),
        withdrawal=_withdrawal(document),
        expires_at=parts.text(document, "expires_at"),
        expired=document.get("expired") is True,
        thumbnails={key: each for key, each in parts.mapping(document, "thumbnails").items() if isinstance(each, str)},
    )


# ---------------------------------------------------------------------------- parts
def read_verdict(part: Mapping[str, Any], steps: Steps = BALANCED) -> Verdict:
    """Read a verdict: the letter, whether it is declared, and the probabilities."""
    shares, letters = parts.numbers(parts.mapping(part, "probabilities")), (Letter.BS, Letter.DSBS, Letter.UCS)
    known = {letter: shares.get(letter, 0.0) for letter in letters} if shares.keys() & {*letters} else None
    return Verdict(letter_of(part), part.get("declared") is True, known, steps, reason_codes(part))


def _component(document: Mapping[str, Any], part: Mapping[str, Any], number: int, method: type[Method]) -> Component:
    steps, vocabulary = method.STEPS, Vocabulary.of(method)
    name = parts.text(part, "name") or f"part {number}"
    language, template = parts.text(part, "language_name") or parts.text(part, "language"), parts.text(part, "template")
    content = parts.numbers(parts.mapping(part, "content"))
    return Component(
        number=number,
        name=name,
        title=_title(visible(method.title_of(name)), language, template),
        language=language,
        template=template,
        verdict=read_verdict(part, steps),
        estimand=parts.text(part, "estimand"),
        effects=_effects(part, effect_titles(steps)),
        hidden=_hidden(part),
        transitions={visible(row): parts.values(counts) for row, counts in parts.mapping(part, "transitions").items()},
        rates={visible(row): _rates(rates) for row, rates in parts.mapping(part, "rates").items()},
        blocks=tuple(_block(one) for one in parts.objects(part, "blocks")),
        pairs=(int(content["equal"]), int(content["pairs"])) if {"equal", "pairs"} <= content.keys() else None,
        looks=tuple(_look(one) for one in parts.objects(part, "decision")),
        sensitivity={visible(key): _leaning(each) for key, each in parts.mapping(part, "sensitivity").items()},
        settle=settle_in_words(document, part, method),
        usable=parts.count(part, "usable"),
        unusable=parts.count(part, "unusable"),
        failed=parts.count(part, "failed"),
        unasked=parts.count(part, "unasked"),
        lost_why=_lost_why(part, vocabulary),
        published=_published(part, vocabulary),
        analyses=dict(_leaves(parts.mapping(part, "analyses"))),
        examples=tuple(_example(one, vocabulary) for one in parts.objects(part, "examples")),
        counted=method.counted(part),
        make_sheets=partial(_tables, part, method),
        make_pictures=partial(_pictures, part, method),
        reasons=_reasons(part, vocabulary, name),
    )


def _title(name: str, language: str | None, template: str | None) -> str:
    """Name a component for people: "Spanish · possessive" for es/possessive."""
    named = [language or name] + ([template] if template not in {None, "base"} else [])
    return " · ".join(part for part in named if part)


def _tables(part: Mapping[str, Any], method: type[Method]) -> tuple[Table, ...]:
    return tuple(table for table in method.tables(part) if isinstance(table, Table) and table.rows)


def _pictures(part: Mapping[str, Any], method: type[Method]) -> tuple[Picture, ...]:
    return tuple(picture for picture in method.figures(part) if isinstance(picture, Picture))


def _lost_why(part: Mapping[str, Any], vocabulary: Vocabulary) -> Shares:
    """Return the number of lost answers by reason."""
    counts = {key: parts.numbers(parts.mapping(part, key)) for key in ("unusable_why", "failed_why")}
    if any(counts.values()):
        every: Shares = {**counts["unusable_why"], **counts["failed_why"]}
    else:
        every = Counter(visible(why) for why in parts.mapping(part, "missing").values() if isinstance(why, str))
    return {vocabulary.cause(why): number for why, number in every.items()}


def _effects(part: Mapping[str, Any], titles: Mapping[str, str]) -> tuple[Effect, ...]:
    tolerances = parts.numbers(parts.mapping(part, "tolerances"))
    written = {name: each if isinstance(each, Mapping) else {} for name, each in parts.mapping(part, "effects").items()}
    names = [*(name for name in titles if name in written), *(name for name in written if name not in titles)]
    return tuple(
        _effect(visible(name), titles.get(name, visible(name)), written[name], tolerances.get(name)) for name in names
    )


def _effect(name: str, title: str, written: Mapping[str, Any], tolerance: float | None = None) -> Effect:
    number = partial(parts.number, written)
    return Effect(name, title, number("estimate"), number("low"), number("high"), number("level"), tolerance)


def _hidden(part: Mapping[str, Any]) -> tuple[Effect, ...]:
    """Read the effects that a mean can hide; an effect without its own limit has the limit of step 1."""
    usual = parts.number(parts.mapping(part, "tolerances"), "step_1")
    return tuple(
        _effect(name, HIDDEN.get(parts.text(one, "kind") or "", "{}").format(name), parts.mapping(one, "effect"), limit)
        for one in parts.objects(part, "hidden")
        for name, limit in [(parts.text(one, "name") or "unnamed", parts.number(one, "limit") or usual)]
    )


def _rates(written: Any) -> Mapping[str, Effect]:
    return {
        visible(name): _effect(visible(name), visible(name), each)
        for name, each in (written.items() if isinstance(written, Mapping) else ())
        if isinstance(each, Mapping)
    }


def _block(part: Mapping[str, Any]) -> Block:
    shares = (parts.values(parts.mapping(part, key)) for key in ("specified", "asked", "observed"))
    return Block(parts.text(part, "name") or "block", parts.text(part, "role") or "", *shares)


def _look(part: Mapping[str, Any]) -> InterimLook:
    return InterimLook(
        parts.count(part, "look"), parts.count(part, "texts_per_block"), read_verdict(part), part.get("stopped") is True
    )


def _leaning(shares: Any) -> Verdict:
    """Read bare probabilities as a verdict for the likeliest letter (the worse one of a tie)."""
    given = read_verdict({"probabilities": shares}).probabilities
    return Verdict(max(given, key=lambda letter: given[letter]) if given else None, False, given)


def _example(part: Mapping[str, Any], vocabulary: Vocabulary) -> Example:
    text = partial(parts.text, part)
    why = text("why")
    lost = None if why is None else vocabulary.cause(why)
    return Example(text("asked"), text("middle"), text("returned"), parts.texts(part, "read"), lost)


def _published(part: Mapping[str, Any], vocabulary: Vocabulary) -> Mapping[str, str | None]:
    return {
        vocabulary.phrase(visible(rule)): visible(letter) if isinstance(letter, str) else None
        for rule, letter in parts.mapping(part, "published").items()
    }


def _reasons(part: Mapping[str, Any], vocabulary: Vocabulary, of: str | None = None) -> tuple[Said, ...]:
    return tuple(_said(one, vocabulary, of) for one in parts.objects(part, "reasons"))


def _said(part: Mapping[str, Any], vocabulary: Vocabulary, of: str | None) -> Said:
    """Return a reason's stored sentence, or generate it if only the code was stored."""
    code, component = parts.text(part, "code") or "unnamed", parts.text(part, "component") or of
    text, facts = parts.text(part, "text"), parts.mapping(part, "facts")
    if facts.pop("more_probes", None) is not None:
        text = None  # the stored sentence may name more questions than can be asked; the component says how many can
    if text is None and vocabulary.sentence(code) is not None:
        text = visible(explain(Reason(code, facts, component), vocabulary))
    return Said(code, text or code.replace("-", " "), component)


def _reply(document: Mapping[str, Any]) -> OwnersReply | None:
    """Return the owner's reply as plain text in paragraphs."""
    part = parts.mapping(document, "reply")
    said, answer = _paragraphs(part), parts.mapping(part, "answer")
    if not said:
        return None
    return OwnersReply(
        said,
        host=parts.text(part, "host") or "unknown",
        link=parts.text(part, "link"),
        written_at=parts.text(part, "created_at"),
        answer=_paragraphs(answer),
        answered_by=parts.text(answer, "by"),
        answered_at=parts.text(answer, "created_at"),
    )


def _paragraphs(part: Mapping[str, Any]) -> tuple[str, ...]:
    written = part.get("text")
    return tuple(filter(None, map(visible, written.splitlines()))) if isinstance(written, str) else ()


def _request(document: Mapping[str, Any]) -> str:
    """Write who requested the rating: by the proofs of the moment, or else of the time of the rating."""
    recorded, standing = parts.mapping(document, "requester"), parts.mapping(document, "standing")
    proved = standing.get("host_proved", recorded.get("host_proved"))
    return request_in_words(
        parts.text(standing, "requester") or parts.text(recorded, "role"),
        proved if isinstance(proved, bool) else None,
        parts.text(recorded, "description"),
        objects=parts.mapping(document, "reply").get("objects") is True,
    )


def _withdrawal(document: Mapping[str, Any]) -> Withdrawal | None:
    """Return the withdrawal; any value that is not empty counts as one."""
    if not document.get("withdrawn"):
        return None
    part = parts.mapping(document, "withdrawn")
    return Withdrawal(parts.text(part, "at"), parts.text(part, "reason"))


def _provenance(document: Mapping[str, Any]) -> Mapping[str, str]:
    """Return the facts that are needed to repeat or check the rating."""
    methodology, counts = parts.mapping(document, "methodology"), parts.mapping(document, "counts")
    requester = parts.mapping(document, "requester")
    # a call may hold several questions; documents without counts hold the number of questions as `calls`
    counts = {"asked": document.get("calls"), **counts}
    asked = {f"Questions {key}" if key in {"asked", "failed"} else f"Evidence {key}": counts.get(key) for key in counts}
    written = {
        "Rating": document.get("id"),
        "Rated at": document.get("rated_at"),
        "Expires at": document.get("expires_at"),
        "Methodology": methodology.get("version"),
        "Methodology digest": methodology.get("digest"),
        "Engine version": document.get("engine_version"),
        "Seed": document.get("seed"),
        "Audit": document.get("audit"),
        **asked,
        "Author": _named(parts.mapping(document, "author")),
        "Hosts asked": parts.texts(document, "hosts"),
        "Requested by": parts.text(requester, "role"),
        "Host proved": requester.get("host_proved"),
        "Description": parts.text(requester, "description"),
        "Evidence digest": document.get("evidence_digest"),
        "Visibility": document.get("visibility"),
    }
    return {visible(label): shown for label, value in written.items() if (shown := _shown(value)) is not None}


def _named(service: Mapping[str, Any]) -> str | None:
    """Return the name and the address of a service, as far as they are known."""
    name, url = parts.text(service, "name"), parts.text(service, "url")
    return f"{name} ({url})" if name and url else name or url


def _facts(part: Mapping[str, Any]) -> Mapping[str, str]:
    """Read an object of any shape as labelled texts."""
    return dict(_lines(part))


def _lines(part: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    return ((visible(str(key)), shown) for key, value in part.items() if (shown := _shown(value)) is not None)


def _leaves(part: Mapping[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    """Yield the path of every nested object that has plain values, with these values in one line."""
    plain = _facts({key: each for key, each in part.items() if not isinstance(each, Mapping)})
    if plain:
        yield " / ".join(path) or "all", " · ".join(f"{key} {value}" for key, value in plain.items())
    for key, each in part.items():
        if isinstance(each, Mapping):
            yield from _leaves(each, (*path, visible(str(key))))


def _shown(value: Any) -> str | None:
    """Format any JSON value as one line; return ``None`` for null, NaN and empty values."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:g}" if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return _joined("; ", (f"{key}: {shown}" for key, shown in _lines(value)), len(value))
    if isinstance(value, list | tuple):
        return _joined(", ", (shown for one in value if (shown := _shown(one)) is not None), len(value))
    return None if value is None else visible(str(value)) or None


def _joined(mark: str, written: Iterable[str], size: int) -> str | None:
    """Join texts; if they are too many for a line, return their number and the first of them."""
    if size <= MOST_LISTED:
        return mark.join(written) or None
    few = mark.join(islice(written, FEW))
    return f"{size:,} in all, the first: {few}{mark}…" if few else None
