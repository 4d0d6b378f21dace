"""Review of a corpus: one page of its items, its filters, and the coverage of its terms."""

from collections.abc import Mapping

from assay.document import Json, JsonObject
from web.frame import Visit
from web.frame.visit import with_query

ROWS = 40
"""Number of items on a page. The page of a corpus of 10,000 items stays below 60 kB."""

SHOWN_TERMS = 40
"""Number of terms of each group that are shown; the others are folded."""

OTHERS = "others"
"""Group of the terms that items have, but the specification does not."""

FILTERS = ("q", "term", "source")
SOURCES = ("written", "uploaded", "template", "edited")


async def corpus_of(visit: Visit) -> JsonObject:
    """Return the corpus whose id is in the path of the page."""
    return dict(await visit.api.get(f"/v1/corpora/{visit.path('corpus_id')}"))


async def review_of(visit: Visit, corpus: Json, words: Json | None) -> JsonObject:
    """Return the template's values: a page of items, how many items each term in `words` has and how many have none."""
    path = f"/v1/corpora/{corpus['id']}"
    filters = {name: visit.query(name) for name in FILTERS}
    page = await visit.api.get(f"{path}/items", **filters, cursor=visit.query("cursor"), limit=ROWS)
    groups = term_groups((await visit.api.get(f"{path}/coverage"))["terms"], words)
    return {
        "corpus": corpus,
        "items": page["items"],
        "next": address(visit, {**filters, "cursor": page["next_cursor"]}) if page["next_cursor"] else "",
        "here": address(visit, {**filters, "cursor": visit.query("cursor")}),
        "chosen": filters,
        "sources": SOURCES,
        "sides": groups,
        "lacking": sum(not term["items"] for field, terms in groups if field != OTHERS for term in terms),
        "shown_terms": SHOWN_TERMS,
    }


def term_groups(terms: list[Json], words: Json | None) -> list[tuple[str, list[JsonObject]]]:
    """Return (group, terms with their numbers of items) pairs; the groups: first, second, neutral and other terms.

    `words` has the terms of the first three groups, also terms without items; a group without terms is left out.
    """
    items_by_term = {term["term"]: term["items"] for term in terms if term["term"]}
    groups = []
    for field in ("first_terms", "second_terms", "neutral"):
        counts = {term: items_by_term.pop(term, 0) for term in (words or {}).get(field, ())}
        groups.append((field, [{"term": term, "items": number} for term, number in counts.items()]))
    groups.append((OTHERS, [{"term": term, "items": number} for term, number in items_by_term.items()]))  # the rest
    return [(field, counts) for field, counts in groups if counts]


def address(visit: Visit, query: Mapping[str, str | None]) -> str:
    """Return the address of this page with the parameters in `query`; the page's parameter `words` is kept."""
    return with_query(visit.url_path, {"words": visit.query("words"), **query}.items())
