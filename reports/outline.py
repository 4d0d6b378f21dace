"""Sentences of a report and the order of its tables, which are the same in every format."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import date

from assay.explain import listed
from reports import tables
from reports.plain import visible
from reports.reading import Component, RatingView, ReplyDocument, facts_of
from reports.view import ReasonView, Table

VERIFY = (
    "The rating follows from the recorded questions and answers alone, and anyone who holds them can check it.",
    (
        "The evidence digest is the head of a Merkle tree over every question and answer in their order "
        "(RFC 9162, section 2.1); one changed character gives another digest."
    ),
    (
        "Download the export of the rating and run `assay verify export.jsonl --replay`: it repeats the rating on the "
        "recorded answers, asks the service nothing, and must arrive at the same letter, numbers and digest."
    ),
    "Compare the methodology digest with that of the published methodology document of the same version.",
)
"""Instructions for verifying a rating, step by step; backticks enclose a command."""

MOST_TITLES = 8
"""Maximum number of components (parts) that a sentence names."""

FIRST_REASONS = 2
"""Number of reasons shown under the letter if no effect was measured; further below, a report lists all."""

UNMEASURED_PART = "component-unmeasured"
"""Code of the reason that some components have no letter; it is left out if there is a single component."""

REPLY = "Reply of the owner"
"""Title of the section with the reply of the rated service's owner."""


def reply_sentence(reply: ReplyDocument) -> str:
    """Return the sentence that names the author of the owner's reply, and says that the rating does not contain it."""
    date_phrase = f" on {day(reply.created_at)}" if reply.created_at else ""
    author = f"whoever runs {reply.host or 'unknown'}"
    return f"Written{date_phrase} by {author}. It is shown beside the rating and alters nothing of it."


def answer_sentence(reply: ReplyDocument) -> str:
    """Return the sentence that names the author of the answer to the owner's reply."""
    date_phrase = f" on {day(reply.answer.created_at)}" if reply.answer.created_at else ""
    author = "the operator of the agency" if reply.answer.by == "operator" else "whoever requested the rating"
    return f"Answered{date_phrase} by {author}."


def warning(rating: RatingView) -> str | None:
    """Return the warning that a rating was withdrawn or has expired; ``None`` if neither is true."""
    if rating.withdrawal is not None:
        date_phrase = f" on {day(rating.withdrawal.at)}" if rating.withdrawal.at else ""
        reason = f" Reason: {rating.withdrawal.reason}" if rating.withdrawal.reason else ""
        return f"This rating was withdrawn{date_phrase}. Do not rely on it.{reason}"
    if rating.circumstances.expired:
        date_phrase = f" on {day(rating.document.expires_at)}" if rating.document.expires_at else ""
        return f"This rating expired{date_phrase}. It says how the service was then."
    return None


def commands(rating: RatingView) -> list[str]:
    """Return shell commands that download the evidence (if the rating's address is known) and verify the rating."""
    # the address is AGENCY/ratings/ID
    agency_url = (rating.circumstances.address or "").removesuffix(f"/{rating.document.id}").rpartition("/")[0]
    files = (f"v1/ratings/{rating.document.id}/export.jsonl", ".well-known/jwks.json") if agency_url else ()
    if rating.document.requester.role == "local":
        return ["assay verify export.jsonl --replay  # the file of --export: add this option to your command"]
    return [*(f"curl -O {agency_url}/{file}" for file in files), "assay verify export.jsonl --keys jwks.json --replay"]


def service_facts(rating: RatingView) -> list[tuple[str, str]]:
    """Return (name, text) pairs: the address and the protocol of the service, as far as they are known."""
    service = rating.document.target
    facts = (("Service address", service.url), ("Protocol", service.protocol))
    return [(name, visible(text)) for name, text in facts if text]


def limits(rating: RatingView) -> list[tuple[str, str]]:
    """Return (name, text) pairs: "Tolerance" and its size, then "Limit SIZE" and the effects with this limit."""
    titles_of_limit: dict[str, dict[str, None]] = {}  # by limit; the inner dictionaries are ordered sets
    for component in rating.components:
        for effect in component.effects:
            if effect.tolerance is not None:
                titles_of_limit.setdefault(tables.decimal(effect.tolerance), {})[effect.title] = None
    limit_rows = [(f"Limit {size}", _listing([*titles])) for size, titles in titles_of_limit.items()]
    delta = rating.document.delta
    return limit_rows if delta is None else [("Tolerance", tables.decimal(delta)), *limit_rows]


def subject(rating: RatingView) -> str:
    """Return the attribute, method and day of the rating in a line."""
    document = rating.document
    rated_on = None if document.rated_at is None else day(document.rated_at)
    facts = (("for", document.attribute), ("by", document.method), ("on", rated_on))
    return " ".join(["Rated", *(f"{preposition} {fact}" for preposition, fact in facts if fact)])


def day(timestamp: str) -> str:
    """Format an ISO 8601 time as a date, such as "20 November 2026"; return any other text unchanged."""
    try:
        return f"{date.fromisoformat(timestamp[:10]):%-d %B %Y}"
    except ValueError:
        return timestamp


RULE_DIFFERS = "published-rule-differs"
"""Code of the remark that a published rule would have given a different letter, which is no reason for this one."""


def reasons(rating: RatingView) -> list[ReasonView]:
    """Return the reasons of the rating; a reason that several components share appears once and names them all.

    A rating stores the reasons of its first deciding components only; those of the others come from the components.
    """
    return [reason for reason in _unique_reasons(rating) if reason.code != RULE_DIFFERS]


def why(rating: RatingView) -> str:
    """Return sentences that explain the letter by the effect that decided it, or else the first reasons."""
    if rating.because is not None:
        return rating.because.text
    return " ".join(reason.text for reason in reasons(rating)[:FIRST_REASONS])


def other_rules(rating: RatingView) -> list[ReasonView]:
    """Return the remarks that a published rule would have given a different letter."""
    return [reason for reason in _unique_reasons(rating) if reason.code == RULE_DIFFERS]


def _unique_reasons(rating: RatingView) -> list[ReasonView]:
    """Return the reasons, each once; if components share it, that of the first, with a sentence naming the others."""
    first_component_of_code: dict[str, str | None] = {}
    for reason in rating.reasons:
        first_component_of_code.setdefault(reason.code, reason.component)
    unique = [
        reason
        for reason in rating.reasons
        if reason.component in {None, first_component_of_code[reason.code]}
        and (reason.code != UNMEASURED_PART or len(rating.components) > 1)  # a single component needs no such reason
    ]
    return [replace(reason, text=f"{reason.text}{_other_parts_sentence(reason, rating)}") for reason in unique]


def _other_parts_sentence(reason: ReasonView, rating: RatingView) -> str:
    parts = [part for part in rating.foremost if part.name != reason.component]
    titles = [part.title for part in parts if reason.code in {part_reason.code for part_reason in part.reasons}]
    return f" The same reason applies to {_listing(titles)}, with other numbers." if reason.component and titles else ""


def _listing(titles: Sequence[str]) -> str:
    if len(titles) > MOST_TITLES:
        titles = [*titles[: MOST_TITLES - 1], f"{len(titles) - MOST_TITLES + 1} more"]
    return listed(titles)


DRAWN = frozenset({"effects", "transitions", "blocks"})
"""Names of the tables that formats with figures show below a figure."""


def component_tables(component: Component, omit: Collection[str] = ()) -> list[Table]:
    """Return every table of a component that is not empty, except for those named in `omit`."""
    by_name = {
        "effects": (tables.effects(component),),
        "hidden": (tables.hidden(component),),
        "method": component.sheets,
        "transitions": (tables.transitions(component),),
        "rates": (tables.rates(component),),
        "blocks": (tables.blocks(component),),
        "looks": (tables.looks(component),),
        "sensitivity": (tables.sensitivity(component),),
        "replies": (tables.replies(component),),
        "published": (tables.published(component.published, component.verdict),) if component.published else (),
        "analyses": (tables.analyses(component),),
    }
    return [table for name, named_tables in by_name.items() if name not in omit for table in named_tables if table.rows]


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
    facts_by_title = {
        "Record": rating.provenance,
        "Service": facts_of(rating.document.target.json),
        "Experiment": facts_of(rating.document.experiment),
    }
    return [Table(title, ("Fact", "Value"), tuple(facts.items())) for title, facts in facts_by_title.items() if facts]


def aggregation_sentence(rating: RatingView) -> str | None:
    """Return the sentence on how the components' letters became one letter; ``None`` for a single component."""
    rules = {"worst": "the worst part decides", "vote": "the parts vote, and a tie goes to the worse letter"}
    aggregation = rating.document.aggregation
    if aggregation.rule is None or len(rating.components) < 2:
        return None
    text = f"{len(rating.components)} parts were tested; {rules.get(aggregation.rule, aggregation.rule)}."
    if aggregation.deciding:
        titles = {component.name: component.title for component in rating.components}
        text += f" Deciding: {_listing([titles.get(name, name) for name in aggregation.deciding])}."
    if aggregation.vote and aggregation.rule != "vote":
        text += f" A vote would have given {aggregation.vote}."
    return text


def pairs_sentence(component: Component) -> str | None:
    """Return the sentence on how many pairs that differ only in the value had equal outputs; ``None`` if unknown."""
    content = component.part.content
    if not content.pairs or content.equal is None:
        return None
    return f"Of {content.pairs} pairs that differ only in the value asked, {content.equal} came back alike."
