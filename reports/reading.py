"""View of the rating document, the same for all formats.

`assay.document` reads the JSON, perhaps of an older version; a value that is absent is shown as "not measured". Text is
made `visible` while it is read; each format still escapes it for its own syntax. The tables, figures and words of a
method come from the class of the method.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Any

from assay.document import (
    NO_EFFECT,
    ComponentDocument,
    EffectDocument,
    ExampleDocument,
    Json,
    LookDocument,
    RatingDocument,
    ReasonDocument,
    ServiceDocument,
    Shares,
    read_json,
    read_rating,
)
from assay.explain import Vocabulary, explain, letter_words, request_in_words
from assay.model import Letter, Reason
from reports.in_words import paragraph, settle_in_words
from reports.method_report import MethodReport
from reports.methods import report_of
from reports.plain import visible
from reports.view import (
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
    Steps,
    Table,
    Verdict,
    Withdrawal,
    effect_titles,
    residuals_last,
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


def read(document: Json) -> RatingView:
    """Read a rating document, any part of which may be missing.

    The result has no NaN, infinity or invisible characters. This module has no clock, so the caller adds
    ``expired`` to the document if the rating has expired.
    """
    report = report_of(document)
    method, vocabulary = report.method, Vocabulary.of(report.method)
    rating = read_rating(document, method.COMPONENT, visible)
    circumstances = read_json(Circumstances, document, visible)
    return RatingView(
        id=rating.id,
        verdict=verdict_of(rating, report.steps),
        words=letter_words(rating.letter, rating.declared, rating.reason_codes, report.letters),
        in_words=paragraph(rating, report),
        method=rating.method,
        attribute=rating.attribute,
        confidence=rating.confidence,
        delta=rating.delta,
        target=rating.target.name or rating.target.url or "unnamed service",
        target_facts=_facts(rating.target.json),
        experiment=_facts(rating.experiment),
        components=tuple(_component(rating, part, number, report) for number, part in enumerate(rating.components, 1)),
        rule=rating.aggregation.rule,
        deciding=rating.aggregation.deciding,
        adjusted=rating.aggregation.adjusted,
        vote=rating.aggregation.vote,
        published=_published(rating.published, vocabulary),
        reasons=tuple(_said(reason, vocabulary, None) for reason in rating.reasons),
        provenance=_provenance(rating),
        methodology=rating.methodology.version,
        rated_at=rating.rated_at,
        sheets=_tables(read_json(method.COMPONENT, rating.aggregation.json, visible), report),
        reply=_reply(circumstances.reply),
        request=_request(rating, circumstances),
        withdrawal=_withdrawal(document),
        expires_at=rating.expires_at,
        expired=circumstances.expired,
        thumbnails=circumstances.thumbnails,
    )


def in_words(document: Json) -> tuple[str, ...]:
    """Write the sentences for readers who know no statistics, from the meaning of the letter to the advice."""
    report = report_of(document)
    return paragraph(read_rating(document, report.method.COMPONENT, visible), report)


# ---------------------------------------------------------------------------- unsigned additions
@dataclass(frozen=True)
class AnswerDocument:
    """Public answer to an owner's reply; `text` is as it was written."""

    by: str | None = None
    created_at: str | None = None
    json: Json = field(default_factory=dict)


@dataclass(frozen=True)
class ReplyDocument:
    """Reply of the rated service's owner."""

    host: str | None = None
    link: str | None = None
    created_at: str | None = None
    objects: bool = False
    answer: AnswerDocument = AnswerDocument()
    json: Json = field(default_factory=dict)


@dataclass(frozen=True)
class StandingDocument:
    """Relation of the rating to its address now."""

    requester: str | None = None
    host_proved: bool | None = None


@dataclass(frozen=True)
class Circumstances:
    """Fields that are added to a rating document when it is shown, and are not signed."""

    reply: ReplyDocument = ReplyDocument()
    standing: StandingDocument = StandingDocument()
    expired: bool = False
    thumbnails: Mapping[str, str] = field(default_factory=dict)


# ---------------------------------------------------------------------------- parts
def verdict_of(part: RatingDocument | ComponentDocument, steps: Steps = BALANCED) -> Verdict:
    """Return the verdict of a rating or a component: the letter, whether it is declared, and the probabilities."""
    return Verdict(part.letter, part.declared, _letters(part), steps, part.reason_codes)


def _letters(part: RatingDocument | ComponentDocument | LookDocument) -> Mapping[Letter, float] | None:
    return _probabilities(part.probabilities)


def _probabilities(shares: Shares) -> Mapping[Letter, float] | None:
    letters = (Letter.BS, Letter.DSBS, Letter.UCS)
    return {letter: shares.get(letter, 0.0) for letter in letters} if shares.keys() & {*letters} else None


def _component(rating: RatingDocument, part: ComponentDocument, number: int, report: MethodReport) -> Component:
    vocabulary, name = Vocabulary.of(report.method), part.name or f"part {number}"
    language, pairs, equal = part.language_name or part.language, part.content.pairs, part.content.equal
    return Component(
        number=number,
        name=name,
        title=_title(visible(report.title_of(name)), language, part.template),
        language=language,
        template=part.template,
        verdict=verdict_of(part, report.steps),
        estimand=part.estimand,
        effects=_effects(part, effect_titles(report.steps)),
        hidden=_hidden(part),
        transitions={row: residuals_last(counts) for row, counts in part.transitions.items()},
        rates={
            row: {name: _effect(name, name, rate or NO_EFFECT) for name, rate in part.rates[row].items()}
            for row in part.rates
        },
        blocks=tuple(
            Block(
                block.name or "block",
                block.role or "",
                *map(residuals_last, (block.specified, block.asked, block.observed)),
            )
            for block in part.blocks
        ),
        pairs=None if equal is None or pairs is None else (equal, pairs),
        looks=tuple(
            InterimLook(
                look.look,
                look.texts_per_block,
                Verdict(look.letter, False, _probabilities(look.probabilities)),
                look.stopped,
            )
            for look in part.decision
        ),
        sensitivity={label: _leaning(shares) for label, shares in part.sensitivity.items()},
        settle=settle_in_words(rating, part, report),
        usable=part.usable,
        unusable=part.unusable,
        failed=part.failed,
        unasked=part.unasked,
        lost_why=_lost_why(part, vocabulary),
        published=_published(part.published, vocabulary),
        analyses=dict(_leaves(part.analyses)),
        examples=tuple(_example(example, vocabulary) for example in part.examples),
        counted=report.counted(part),
        make_sheets=partial(_tables, part, report),
        make_pictures=partial(_pictures, part, report),
        reasons=tuple(_said(reason, vocabulary, name) for reason in part.reasons),
    )


def _title(name: str, language: str | None, template: str | None) -> str:
    """Name a component for people: "Spanish · possessive" for es/possessive."""
    names = [language or name] + ([template] if template not in {None, "base"} else [])
    return " · ".join(part for part in names if part)


def _tables(part: ComponentDocument, report: MethodReport) -> tuple[Table, ...]:
    return tuple(table for table in report.tables(part) if table is not None and table.rows)


def _pictures(part: ComponentDocument, report: MethodReport) -> tuple[Picture, ...]:
    return tuple(picture for picture in report.figures(part) if picture is not None)


def _lost_why(part: ComponentDocument, vocabulary: Vocabulary) -> Shares:
    """Return the number of lost answers by reason."""
    counts: Shares = {**part.unusable_why, **part.failed_why} or Counter(part.missing.values())
    return {vocabulary.cause(code): number for code, number in counts.items()}


def _effects(part: ComponentDocument, titles: Mapping[str, str]) -> tuple[Effect, ...]:
    names = [*(name for name in titles if name in part.effects), *(name for name in part.effects if name not in titles)]
    return tuple(
        _effect(name, titles.get(name, name), part.effects[name] or NO_EFFECT, part.tolerances.get(name))
        for name in names
    )


def _effect(name: str, title: str, effect: EffectDocument, tolerance: float | None = None) -> Effect:
    return Effect(name, title, effect.estimate, effect.low, effect.high, effect.level, tolerance)


def _hidden(part: ComponentDocument) -> tuple[Effect, ...]:
    """Return the effects that a mean can hide; an effect without its own limit has the limit of step 1."""
    usual = part.tolerances.get("step_1")
    labelled = [(hidden.name or "unnamed", hidden) for hidden in part.hidden]
    return tuple(
        _effect(name, HIDDEN.get(hidden.kind or "", "{}").format(name), hidden.effect, hidden.limit or usual)
        for name, hidden in labelled
    )


def _leaning(shares: Shares) -> Verdict:
    """Return a verdict for the likeliest letter of bare probabilities (the worse one of a tie)."""
    probabilities = _probabilities(shares)
    return Verdict(
        max(probabilities, key=lambda letter: probabilities[letter]) if probabilities else None, False, probabilities
    )


def _example(example: ExampleDocument, vocabulary: Vocabulary) -> Example:
    cause = None if example.why is None else vocabulary.cause(example.why)
    return Example(example.asked, example.middle, example.returned, example.read, cause)


def _published(letters: Mapping[str, str | None], vocabulary: Vocabulary) -> Mapping[str, str | None]:
    return {vocabulary.phrase(rule): letter for rule, letter in letters.items()}


def _said(reason: ReasonDocument, vocabulary: Vocabulary, component_name: str | None) -> Said:
    """Return a reason's stored sentence, or generate it if only the code was stored."""
    code, component, text = reason.code or "unnamed", reason.component or component_name, reason.text
    facts = {name: fact for name, fact in reason.facts.items() if name != "more_probes"}
    if reason.facts.get("more_probes") is not None:
        text = None  # the stored sentence may name more questions than can be asked; the component says how many can
    if text is None and vocabulary.sentence(code) is not None:
        text = visible(explain(Reason(code, facts, component), vocabulary))
    return Said(code, text or code.replace("-", " "), component)


def _reply(reply: ReplyDocument) -> OwnersReply | None:
    """Return the owner's reply as plain text in paragraphs."""
    paragraphs = _paragraphs(reply.json)
    if not paragraphs:
        return None
    return OwnersReply(
        paragraphs,
        host=reply.host or "unknown",
        link=reply.link,
        written_at=reply.created_at,
        answer=_paragraphs(reply.answer.json),
        answered_by=reply.answer.by,
        answered_at=reply.answer.created_at,
    )


def _paragraphs(part: Json) -> tuple[str, ...]:
    text = part.get("text")
    return tuple(filter(None, map(visible, text.splitlines()))) if isinstance(text, str) else ()


def _request(rating: RatingDocument, circumstances: Circumstances) -> str:
    """Write who requested the rating: by the proofs of the moment, or else of the time of the rating."""
    recorded, standing = rating.requester, circumstances.standing
    return request_in_words(
        standing.requester or recorded.role,
        recorded.host_proved if standing.host_proved is None else standing.host_proved,
        recorded.description,
        objects=circumstances.reply.objects,
    )


def _withdrawal(document: Json) -> Withdrawal | None:
    """Return the withdrawal; any value that is not empty counts as one."""
    return read_json(Withdrawal, document["withdrawn"], visible) if document.get("withdrawn") else None


def _provenance(rating: RatingDocument) -> Mapping[str, str]:
    """Return the facts that are needed to repeat or check the rating."""
    # a call may hold several questions; documents without counts hold the number of questions as `calls`
    counts: Mapping[str, float | None] = {"asked": rating.calls, **rating.counts}
    counted = {f"Questions {key}" if key in {"asked", "failed"} else f"Evidence {key}": counts[key] for key in counts}
    facts = {
        "Rating": rating.id,
        "Rated at": rating.rated_at,
        "Expires at": rating.expires_at,
        "Methodology": rating.methodology.version,
        "Methodology digest": rating.methodology.digest,
        "Engine version": rating.engine_version,
        "Seed": rating.seed,
        "Audit": rating.audit,
        **counted,
        "Author": _named(rating.author),
        "Hosts asked": rating.hosts,
        "Requested by": rating.requester.role,
        "Host proved": rating.requester.host_proved,
        "Description": rating.requester.description,
        "Evidence digest": rating.evidence_digest,
        "Visibility": rating.visibility,
    }
    return {label: text for label, value in facts.items() if (text := _shown(value)) is not None}


def _named(service: ServiceDocument) -> str | None:
    """Return the name and the address of a service, as far as they are known."""
    return f"{service.name} ({service.url})" if service.name and service.url else service.name or service.url


def _facts(part: Json) -> Mapping[str, str]:
    """Read an object of any shape as labelled texts."""
    return dict(_lines(part))


def _lines(part: Json) -> Iterator[tuple[str, str]]:
    return ((visible(str(key)), text) for key, value in part.items() if (text := _shown(value)) is not None)


def _leaves(part: Json, path: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    """Yield the path of every nested object that has plain values, with these values in one line."""
    plain = _facts({key: value for key, value in part.items() if not isinstance(value, Mapping)})
    if plain:
        yield " / ".join(path) or "all", " · ".join(f"{key} {value}" for key, value in plain.items())
    for key, value in part.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, (*path, visible(str(key))))


def _shown(value: Any) -> str | None:
    """Format any JSON value as one line; return ``None`` for null, NaN and empty values."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:g}" if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return _joined("; ", (f"{key}: {text}" for key, text in _lines(value)), len(value))
    if isinstance(value, list | tuple):
        return _joined(", ", (text for element in value if (text := _shown(element)) is not None), len(value))
    return None if value is None else visible(str(value)) or None


def _joined(mark: str, texts: Iterable[str], size: int) -> str | None:
    """Join texts; if they are too many for a line, return their number and the first of them."""
    if size <= MOST_LISTED:
        return mark.join(texts) or None
    first = mark.join(islice(texts, FEW))
    return f"{size:,} in all, the first: {first}{mark}…" if first else None
