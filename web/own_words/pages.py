"""``/own-words``: step 1, the description of the bias, from scratch or from a shipped specification."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from web.frame import Pages, Refused, Visit, segment
from web.frame.visit import fields
from web.own_words.steps import KINDS, Begun, begun
from web.specifications.storing import store_new, store_version
from web.specifications.words import FIELDS, typed_of, words_of, wrong_fields

pages = Pages()

NEUTRAL_OF = {"stereotype": "p4-science-arts", "visual": "p4-pictures-professions"}
"""Shipped specification whose neutral words fill a new form, by kind of specification."""

NEWEST = 5
"""Number of earlier corpora that are offered for continuing."""


@pages.get("/own-words")
async def say_bias(visit: Visit) -> Response:
    """Show the form for the words that describe a bias."""
    kind = visit.query("kind") if visit.query("kind") in KINDS else "language-model"
    source = visit.query("from")
    words_document = await visit.api.get(f"/v1/specifications/{segment(source or NEUTRAL_OF[KINDS[kind]])}")
    if words_document["kind"] not in KINDS.values():
        return visit.redirect("/own-words")
    kind = next(name for name, words in KINDS.items() if words == words_document["kind"])
    typed = typed_of(words_document["kind"], words_document["words"])
    initial = {
        **typed,
        "title": words_document["title"],
        "language": words_document["language"],
        "citation": words_document["citation"],
    }
    return await _form(visit, kind, initial if source else {"neutral": typed["neutral"], "language": "en"}, source)


@pages.post("/own-words", "jobs:write")
async def store_bias(visit: Visit) -> Response:
    """Store the words and an empty corpus about them, and go on to step 2."""
    typed = fields(await visit.form())
    kind = typed.get("kind", "") if typed.get("kind") in KINDS else "language-model"
    source = typed.get("from", "")
    try:
        specification = await _specification(visit, KINDS[kind], typed, source)
        corpus = await _corpus(visit, kind, typed, specification)
    except Refused as refused:
        return await _form(visit, kind, typed, source, refused=refused)
    test = Begun(corpus, f"{specification['name']}@{specification['version']}", specification["words"])
    return visit.redirect(test.path("sentences"), **test.query)


@pages.get("/own-words/{corpus_id}/words")
async def change_words(visit: Visit) -> Response:
    """Show step 1 again, with the entered words."""
    now = await begun(visit)
    name = now.specification.partition("@")[0]
    words = typed_of(KINDS[now.kind], now.words)
    title = now.corpus["name"]
    return await _form(visit, now.kind, {**words, "title": title, "language": now.corpus["language"]}, name, now=now)


@pages.post("/own-words/{corpus_id}/words", "jobs:write")
async def store_changed_words(visit: Visit) -> Response:
    """Store changed words, and continue; sentences move to a copy of the corpus with the new words."""
    typed, now = fields(await visit.form()), await begun(visit)
    kind = KINDS[now.kind]
    if _same(kind, typed, now.words):
        return visit.redirect(now.path("sentences"), **now.query)
    name = now.specification.partition("@")[0]
    try:
        specification = await _next_version(visit, kind, typed, name)
        corpus = now.corpus
        if now.kind == "language-model":
            corpus = await _corpus(visit, now.kind, typed, specification, items_of=now.corpus["id"])
    except Refused as refused:
        return await _form(visit, now.kind, typed, name, now=now, refused=refused)
    after = Begun(corpus, f"{specification['name']}@{specification['version']}", specification["words"])
    was = now.corpus["id"] if corpus["id"] != now.corpus["id"] else None
    return visit.redirect(after.path("sentences"), **after.query, was=was)


async def _next_version(visit: Visit, kind: str, typed: Mapping[str, str], name: str) -> dict[str, Any]:
    try:
        stored: dict[str, Any] = await visit.api.get(f"/v1/specifications/{name}")
    except Refused:
        return await store_new(visit, kind, typed)  # the specification was removed, or belongs to another tenant
    return await (store_new(visit, kind, typed) if stored["shipped"] else store_version(visit, kind, typed, name))


async def _specification(visit: Visit, kind: str, typed: Mapping[str, str], source: str) -> dict[str, Any]:
    """Return the specification that the form began with if its words are unchanged, else a new one."""
    if source:
        stored: dict[str, Any] = await visit.api.get(f"/v1/specifications/{segment(source)}")
        if stored["kind"] == kind and _same(kind, typed, stored["words"]):
            return stored
    return await store_new(visit, kind, typed)


def _same(kind: str, typed: Mapping[str, str], words: Mapping[str, Any]) -> bool:
    return words_of(kind, typed) == words_of(kind, typed_of(kind, words))


async def _corpus(
    visit: Visit, kind: str, typed: Mapping[str, str], specification: Mapping[str, Any], items_of: str | None = None
) -> dict[str, Any]:
    name = typed.get("title", "").strip() or specification["title"]
    if kind == "language-model":
        body = {
            "name": name,
            "specification": f"{specification['name']}@{specification['version']}",
            "items_of": items_of,
        }
    else:
        subject = {"attribute": specification["words"]["attribute"], "language": specification["language"]}
        body = {"name": name, "kind": "images", **subject}
    return dict((await visit.api.ask("POST", "/v1/corpora", body=body)).document)


async def _form(
    visit: Visit,
    kind: str,
    typed: Mapping[str, Any],
    source: str,
    *,
    now: Begun | None = None,
    refused: Refused | None = None,
) -> Response:
    words = KINDS[kind]
    shipped = await visit.api.get("/v1/specifications", kind=words, limit=200)
    earlier = await visit.api.get("/v1/corpora", kind="sentences", limit=50) if now is None else {"items": []}
    values = {
        "kind": kind,
        "typed": typed,
        "source": source,
        "now": now,
        "refused": refused,
        "wrong": wrong_fields(words, refused.errors) if refused else {},
        "fields": FIELDS[words],
        "shipped": shipped["items"],
        "earlier": [corpus for corpus in earlier["items"] if corpus["own"] and corpus["specification"]][:NEWEST],
        "folded": ("frames",) if words == "stereotype" else ("first_names", "second_names"),
    }
    return visit.page("own_words/words.html", refused.status if refused else 200, **values)
