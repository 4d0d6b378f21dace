"""Sentences of a report and the order of its tables, the same in every format."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date

from assay.explain import listed
from reports import tables
from reports.view import Component, OwnersReply, RatingView, Said, Table, Withdrawal

VERIFY = (
    "The rating follows from the recorded questions and answers alone, and anyone who holds them can check it.",
    (
        "The evidence digest is the head of a Merkle tree over every question and answer in their order "
        "(RFC 9162, section 2.1); one changed character gives another digest."
    ),
    (
        "Run the experiment again from its specification and seed on the recorded answers, without asking the service "
        "anything: `assay.experiment.replay` does, and must arrive at the same letter, numbers and digest."
    ),
    "Compare the methodology digest with that of the published methodology document of the same version.",
)
"""How to verify a rating, step by step; backticks mark a command."""

MOST_TITLES = 8
"""Maximum number of parts that a sentence names."""

MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)

REPLY = "Reply of the owner"
"""Title of the reply of the owner."""


def reply_sentence(reply: OwnersReply) -> str:
    """Return the sentence that says who wrote the reply, and that it is not part of the rating."""
    date_phrase = f" on {_day(reply.written_at)}" if reply.written_at else ""
    return f"Written{date_phrase} by whoever runs {reply.host}. It is shown beside the rating and alters nothing of it."


def answer_sentence(reply: OwnersReply) -> str:
    """Return the sentence that says who wrote the answer to the reply."""
    date_phrase = f" on {_day(reply.answered_at)}" if reply.answered_at else ""
    author = "the operator of the agency" if reply.answered_by == "operator" else "whoever requested the rating"
    return f"Answered{date_phrase} by {author}."


def warning(rating: RatingView) -> str | None:
    """Return the warning that a rating was withdrawn or has expired, or ``None``."""
    if rating.withdrawal is not None:
        return _withdrawn(rating.withdrawal)
    if rating.expired:
        date_phrase = f" on {_day(rating.expires_at)}" if rating.expires_at else ""
        return f"This rating expired{date_phrase}. It says how the service was then."
    return None


def _withdrawn(withdrawal: Withdrawal) -> str:
    date_phrase = f" on {_day(withdrawal.at)}" if withdrawal.at else ""
    reason = f" Reason: {withdrawal.reason}" if withdrawal.reason else ""
    return f"This rating was withdrawn{date_phrase}. Do not rely on it.{reason}"


def subject(rating: RatingView) -> str:
    """Return the attribute, method and day of the rating in a line."""
    facts = [f"for {rating.attribute}" if rating.attribute else "", f"by {rating.method}" if rating.method else ""]
    date_phrase = f"on {_day(rating.rated_at)}" if rating.rated_at else ""
    return " ".join(["Rated", *(part for part in (*facts, date_phrase) if part)])


def _day(timestamp: str) -> str:
    """Write the day of an ISO 8601 time for people; any other text stays as it is."""
    try:
        day = date.fromisoformat(timestamp[:10])
    except ValueError:
        return timestamp
    return f"{day.day} {MONTHS[day.month - 1]} {day.year}"


def reasons(rating: RatingView) -> list[Said]:
    """Return the reasons of the rating; a reason of several parts appears once and names all of them.

    A rating stores the reasons of its first deciding parts only; the others come from the parts.
    """
    first: dict[str, str | None] = {}
    unique = [
        reason
        for reason in rating.reasons
        if reason.component in {None, first.setdefault(reason.code, reason.component)}
    ]
    return [replace(reason, text=f"{reason.text}{_also(reason, rating)}") for reason in unique]


def _also(reason: Said, rating: RatingView) -> str:
    others = [part for part in rating.foremost if part.name != reason.component]
    titles = [part.title for part in others if reason.code in {part_reason.code for part_reason in part.reasons}]
    return f" The same reason applies to {_few(titles)}, with other numbers." if reason.component and titles else ""


def _few(titles: Sequence[str]) -> str:
    """List titles, or the first of many and how many more there are."""
    names = (
        titles if len(titles) <= MOST_TITLES else [*titles[: MOST_TITLES - 1], f"{len(titles) - MOST_TITLES + 1} more"]
    )
    return listed(names)


def component_tables(component: Component) -> list[Table]:
    """Return every table of a component that is not empty."""
    candidates = (
        tables.effects(component),
        tables.hidden(component),
        *component.sheets,
        tables.transitions(component),
        tables.rates(component),
        tables.blocks(component),
        tables.looks(component),
        tables.sensitivity(component),
        tables.replies(component),
        tables.published(component.published, component.verdict) if component.published else None,
        tables.analyses(component),
    )
    return [table for table in candidates if table is not None and table.rows]


def rating_tables(rating: RatingView) -> list[Table]:
    """Return every table of the rating as a whole that is not empty."""
    candidates = (
        *rating.sheets,
        tables.adjusted(rating) if len(rating.components) > 1 else None,
        tables.published(rating.published, rating.verdict) if rating.published else None,
    )
    return [table for table in candidates if table is not None and table.rows]


def provenance_tables(rating: RatingView) -> list[Table]:
    """Return the tables of the record, the service and the experiment."""
    candidates = (
        tables.facts("Record", rating.provenance),
        tables.facts("Service", rating.target_facts),
        tables.facts("Experiment", rating.experiment),
    )
    return [table for table in candidates if table.rows]


def aggregation_sentence(rating: RatingView) -> str | None:
    """Return the sentence on how the parts became one letter."""
    rules = {"worst": "the worst part decides", "vote": "the parts vote, and a tie goes to the worse letter"}
    if rating.rule is None or len(rating.components) < 2:
        return None
    parts = f"{len(rating.components)} parts were tested; {rules.get(rating.rule, rating.rule)}."
    if rating.deciding:
        titles = {component.name: component.title for component in rating.components}
        parts += f" Deciding: {_few([titles.get(name, name) for name in rating.deciding])}."
    if rating.vote and rating.rule != "vote":
        parts += f" A vote would have given {rating.vote}."
    return parts


def pairs_sentence(component: Component) -> str | None:
    """Return the sentence on the number of counterbalanced pairs with equal outputs."""
    equal, pairs = component.pairs or (0, 0)
    if not pairs:
        return None
    return f"Of {pairs} pairs that differ only in the value asked, {equal} came back alike."
