"""Sections of the HTML report: about the rating as a whole, and one for each component."""

from collections.abc import Iterable, Mapping, Sequence

from assay.explain import chance
from reports import outline, tables
from reports.figures import (
    Figure,
    blocks_bars,
    effects_forest,
    overview_matrix,
    picture,
    probabilities_bar,
    stamp,
    transition_heatmap,
    two_steps,
)
from reports.figures.canvas import Width
from reports.formats.html.pieces import badge, figure, figures, folding_table, isolate, paragraphs, reasons, table
from reports.formats.html.thumbnails import thumbnails
from reports.markup import Markup, join, tag
from reports.reading import Component, RatingView

KEY = "rating"

MOST_REASONS, MOST_PARTS = 3, 8
"""Maximum numbers of reasons and components (parts) on the one-page summary."""

RECORD = frozenset({"Rating", "Rated at", "Expires at", "Methodology", "Questions asked", "Evidence digest"})
"""Names of the facts in the record that the one-page summary shows."""

FEW_FACTS = 16
"""Maximum number of facts in an unfolded list; a longer list is folded."""


def heading_section(rating: RatingView) -> Markup:
    """Write the heading: letter, name of the service, rating in one line, its explanation, and facts of the rating."""
    verdict, warning = rating.verdict, outline.warning(rating)
    letter_class = verdict.letter.value if verdict.letter else "none"
    sentences = (
        tag("p", rating.in_words[0]),
        tag("p", tag("b", "What to do:"), " ", isolate(rating.in_words[-1])),
        tag("p", isolate(outline.why(rating))),
        tag("p", isolate(outline.subject(rating)), ". ", rating.request or None, class_="muted s"),
    )
    words = tag(
        "div",
        tag("h1", isolate(rating.target)),
        tag("p", verdict.headline, class_="verdict"),
        *sentences,
        _facts_strip(rating),
    )
    return tag(
        "header",
        tag("p", "Assay", tag("span", "independent bias rating"), class_="house"),
        None if warning is None else tag("p", isolate(warning), class_="warning"),
        tag("div", tag("div", stamp(rating, "stamp").svg), words, class_=f"hero {letter_class}"),
    )


def _facts_strip(rating: RatingView) -> Markup:
    certainty, expires_at = rating.verdict.certainty, rating.document.expires_at
    facts = (
        ("chance that the letter is right", "–" if certainty is None else chance(certainty)),
        ("valid until", outline.day(expires_at) if expires_at else None),
        ("methodology", rating.document.methodology.version),
        ("rating", rating.document.id),
        ("address", rating.circumstances.address),
    )
    return tag("div", *(tag("span", name, " ", tag("b", text)) for name, text in facts if text), class_="strip")


def _omitted_sentence(number: int, noun: str) -> str:
    subject_and_verb = f"{noun} is" if number == 1 else f"{noun}s are"
    return f"{number} more {subject_and_verb} in the full report."


def meaning_section(rating: RatingView, maximum: int | None = None) -> Markup:
    """Write the paragraph for readers without knowledge of statistics, and the first `maximum` reasons (or all)."""
    sentences = rating.in_words[1:]
    entries = outline.reasons(rating)
    omitted_count = 0 if maximum is None else max(0, len(entries) - maximum)
    return join(
        tag("p", isolate(" ".join(sentences))),
        reasons(entries[:maximum]),
        paragraphs(_omitted_sentence(omitted_count, "reason") if omitted_count else None),
    )


def reply_section(rating: RatingView) -> Markup | None:
    """Write the reply of the service's owner as plain text; ``None`` if there is none."""
    if rating.reply is None:
        return None
    quote = [tag("p", isolate(paragraph)) for paragraph in rating.reply.paragraphs]
    link = None if rating.reply.link is None else tag("p", isolate(rating.reply.link))
    answer_lines = [tag("p", isolate(paragraph)) for paragraph in rating.reply.answer.paragraphs]
    blocks = [tag("blockquote", *quote), link, paragraphs(outline.reply_sentence(rating.reply))]
    if answer_lines:
        blocks += [tag("blockquote", *answer_lines), paragraphs(outline.answer_sentence(rating.reply))]
    return join(*blocks)


def _letter_figures(rating: RatingView, width: Width = "narrow") -> dict[str, Figure | None]:
    component = rating.decider
    verdict = rating.verdict if component is None or len(rating.components) == 1 else component.verdict
    return {
        "the path through the two steps": None if component is None else two_steps(verdict, component, KEY, width),
        "the probability of each letter": probabilities_bar(rating.verdict, rating.document.confidence, KEY),
    }


def _part_note(rating: RatingView) -> str | None:
    """Return a sentence that names the component in the figure of the two steps; ``None`` for a single component."""
    component = rating.decider
    if component is None or component.verdict.letter is None or len(rating.components) == 1:
        return None
    return f"The two steps are those of “{component.title}”."


def reached_section(rating: RatingView) -> Markup:
    """Write the section with the figures of the two steps and of the letters' probabilities."""
    folded_tables = [folding_table(sheet) for sheet in rating.sheets]
    below = tag("div", *folded_tables, class_="tables") if folded_tables else None
    return join(paragraphs(tables.confidence_note(rating), _part_note(rating)), figures(_letter_figures(rating)), below)


def overview_section(rating: RatingView) -> Markup | None:
    """Write the overview of all components; ``None`` if there is only one."""
    if len(rating.components) < 2:
        return None
    overview, p_values = overview_matrix(rating, KEY), tables.adjusted(rating)
    links = (f"#part-{component.number}" for component in rating.components)
    return join(
        paragraphs(outline.aggregation_sentence(rating)),
        None if overview is None else figure(overview, links=links),
        tag("div", folding_table(p_values), class_="tables") if p_values.rows else None,
    )


def published_section(rating: RatingView) -> Markup | None:
    """Write the section with the letters of the published rules; ``None`` if there are none."""
    if not rating.published:
        return None
    note = (
        "Assay computes the rules of the literature on the same evidence and shows them, "
        "but its own letter comes from the probabilities above."
    )
    rules = table(tables.published(rating.published, rating.verdict), caption=False)
    return join(tag("p", note), rules, reasons(outline.other_rules(rating)))


def summary_sections(rating: RatingView) -> list[Markup]:
    """Write the sections of the one-page summary, which say how many reasons and components they leave out."""
    parts = [f"{component.title}: {component.verdict.headline}" for component in rating.components]
    omission = [_omitted_sentence(len(parts) - MOST_PARTS, "part")] if len(parts) > MOST_PARTS else []
    drawings = [
        tag("figure", tag("figcaption", drawing.title), drawing.svg)
        for drawing in _letter_figures(rating, "wide").values()
        if drawing
    ]
    record = [(name, value) for name, value in rating.provenance.items() if name in RECORD]
    record += [*outline.service_facts(rating), *outline.limits(rating)]
    sections = {
        "What it means": meaning_section(rating, MOST_REASONS),
        "How the letter was reached": join(paragraphs(tables.confidence_note(rating), _part_note(rating)), *drawings),
        "Parts": tag("ul", *(tag("li", isolate(part)) for part in [*parts[:MOST_PARTS], *omission]))
        if len(parts) > 1
        else None,
        "Record": _description_list(record),
        "How to verify": tag("pre", "\n".join(outline.commands(rating))),
    }
    return [tag("section", tag("h2", title), content) for title, content in sections.items() if content]


def provenance_section(rating: RatingView) -> Markup:
    """Write the section with the facts that are needed to repeat the rating."""
    groups = [
        tag(
            "details",
            tag("summary", tag("h3", facts.title)),
            _description_list((name, value) for name, value in facts.rows),
            open=len(facts.rows) <= FEW_FACTS,
        )
        for facts in outline.provenance_tables(rating)
    ]
    return tag("div", *groups, class_="facts") if groups else paragraphs("Nothing was recorded.")


def verify_section() -> Markup:
    """Write the section with the instructions for verifying the rating."""
    return tag("ol", *(tag("li", *_mark_commands(line)) for line in outline.VERIFY))


def _mark_commands(line: str) -> list[str | Markup]:
    # parts with an odd index are within backticks
    return [tag("code", part) if index % 2 else part for index, part in enumerate(line.split("`"))]


def component_section(component: Component, rating: RatingView, *, opened: bool) -> Markup:
    """Write the section of a component: figures, tables and examples."""
    verdict = component.verdict
    headline = tag("span", verdict.headline, class_="verdict")
    return tag(
        "details",
        tag("summary", badge(verdict), tag("h3", isolate(component.title)), headline),
        reasons(component.reasons),
        _figures(component, rating, alone=len(rating.components) == 1),
        thumbnails(component, rating.circumstances.thumbnails),
        _tables(component, alone=len(rating.components) == 1),
        _examples(component.examples),
        class_="part",
        id=f"part-{component.number}",
        open=opened,
    )


def _figures(component: Component, rating: RatingView, *, alone: bool) -> Markup:
    key = f"c{component.number}"
    # for a single component, the bar of the rating above is enough
    bar = {} if alone else {"probabilities": probabilities_bar(component.verdict, rating.document.confidence, key)}
    method_figures = {chart.title: picture(chart, f"{key}-p{index}") for index, chart in enumerate(component.pictures)}
    block_figures = {
        "what was sent and what came back": transition_heatmap(component, key),
        "blocks": blocks_bars(component, key),
    }
    # figures of translators are shown, or named as missing, unless the method has figures or tables of its own
    shows_blocks = component.part.blocks or component.transitions or not (method_figures or component.sheets)
    translation_figures = block_figures if shows_blocks else {}
    return figures({**bar, "effects": effects_forest(component, key), **translation_figures, **method_figures})


def _tables(component: Component, *, alone: bool) -> Markup:
    omit = outline.DRAWN | ({"published"} if alone else set())  # alone: its rules are in the rating's section
    return join(
        paragraphs(outline.pairs_sentence(component), component.settle),
        tag("div", *map(folding_table, outline.component_tables(component, omit)), class_="tables"),
    )


def _examples(examples: Sequence[Mapping[str, str]]) -> Markup | None:
    if not examples:
        return None
    items = [tag("li", _description_list(example.items())) for example in examples]
    return join(tag("h4", "Examples"), tag("ul", *items, class_="examples"))


def _description_list(pairs: Iterable[tuple[str, str]]) -> Markup:
    return tag("dl", *((tag("dt", name), tag("dd", isolate(text))) for name, text in pairs))
