"""``/own-words``: step 1, the description of the bias, from scratch or from a shipped specification."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.responses import Response

from assay.document import Json, JsonObject
from web.frame import Pages, Refused, Visit, segment
from web.own_words.testing import KINDS, BiasTest, read_test
from web.specifications.words import FIELDS, store_new, store_version, typed_of, words_of, wrong_fields

pages = Pages()

NEUTRAL_OF = {"stereotype": "p4-science-arts", "visual": "p4-pictures-professions"}
"""Shipped specification whose neutral words fill a new form, by kind of specification."""

NEWEST = 5
"""Number of earlier corpora that are offered for continuing."""


@pages.get("/own-words")
async def say_bias(visit: Visit) -> Response:
    """Show the form for the words that describe a bias."""
    if typed := visit.typed:
        return await _form(visit, _kind(typed.get("kind", "")), typed, typed.get("from", ""))
    kind, source = _kind(visit.query("kind")), visit.query("from")
    words_document = await visit.api.get(f"/v1/specifications/{segment(source or NEUTRAL_OF[KINDS[kind]])}")
    if words_document["kind"] not in KINDS.values():
        return visit.redirect("/own-words")
    kind = next(name for name, words in KINDS.items() if words == words_document["kind"])
    texts = typed_of(words_document["kind"], words_document["words"])
    described = {name: words_document[name] for name in ("title", "language", "citation")}
    initial = {**texts, **described} if source else {"neutral": texts["neutral"], "language": "en"}
    return await _form(visit, kind, initial, source)


def _kind(text: str) -> str:
    return text if text in KINDS else "language-model"


@pages.post("/own-words", "jobs:write", form_page=say_bias)
async def store_bias(visit: Visit) -> Response:
    """Store the words and an empty corpus about them, and go on to step 2."""
    typed = visit.typed
    kind = _kind(typed.get("kind", ""))
    specification = await _specification(visit, KINDS[kind], typed, typed.get("from", ""))
    corpus = await _corpus(visit, kind, typed, specification)
    test = BiasTest(corpus, f"{specification['name']}@{specification['version']}", specification["words"])
    return visit.redirect(test.path("sentences"), **test.query)


@pages.get("/own-words/{corpus_id}/words")
async def change_words(visit: Visit) -> Response:
    """Show step 1 again, with the entered words."""
    now = await read_test(visit)
    name = now.specification.partition("@")[0]
    stored = {"title": now.corpus["name"], "language": now.corpus["language"]}
    texts = visit.typed or {**typed_of(KINDS[now.kind], now.words), **stored}
    return await _form(visit, now.kind, texts, name, now=now)


@pages.post("/own-words/{corpus_id}/words", "jobs:write", form_page=change_words)
async def store_changed_words(visit: Visit) -> Response:
    """Store changed words, and continue; sentences move to a copy of the corpus with the new words."""
    typed, now = visit.typed, await read_test(visit)
    kind = KINDS[now.kind]
    if _same(kind, typed, now.words):
        return visit.redirect(now.path("sentences"), **now.query)
    specification = await _next_version(visit, kind, typed, now.specification.partition("@")[0])
    corpus = now.corpus
    if now.kind == "language-model":
        corpus = await _corpus(visit, now.kind, typed, specification, items_of=now.corpus["id"])
    after = BiasTest(corpus, f"{specification['name']}@{specification['version']}", specification["words"])
    was = now.corpus["id"] if corpus["id"] != now.corpus["id"] else None
    return visit.redirect(after.path("sentences"), **after.query, was=was)


async def _next_version(visit: Visit, kind: str, typed: Mapping[str, str], name: str) -> JsonObject:
    try:
        stored: JsonObject = await visit.api.get(f"/v1/specifications/{name}")
    except Refused:
        return await store_new(visit, kind, typed)  # the specification was removed, or belongs to another tenant
    return await (store_new(visit, kind, typed) if stored["shipped"] else store_version(visit, kind, typed, name))


async def _specification(visit: Visit, kind: str, typed: Mapping[str, str], source: str) -> JsonObject:
    """Return the specification that the form began with if its words are unchanged, else a new one."""
    if source:
        stored: JsonObject = await visit.api.get(f"/v1/specifications/{segment(source)}")
        if stored["kind"] == kind and _same(kind, typed, stored["words"]):
            return stored
    return await store_new(visit, kind, typed)


def _same(kind: str, typed: Mapping[str, str], words: Json) -> bool:
    return words_of(kind, typed) == words_of(kind, typed_of(kind, words))


async def _corpus(
    visit: Visit, kind: str, typed: Mapping[str, str], specification: Json, items_of: str | None = None
) -> JsonObject:
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
    return dict(await visit.api.post("/v1/corpora", body))


async def _form(visit: Visit, kind: str, typed: Json, source: str, *, now: BiasTest | None = None) -> Response:
    words = KINDS[kind]
    shipped = await visit.api.get("/v1/specifications", kind=words, limit=200)
    earlier = await visit.api.get("/v1/corpora", kind="sentences", limit=50) if now is None else {"items": []}
    return visit.page(
        "own_words/words.html",
        kind=kind,
        typed=typed,
        source=source,
        now=now,
        wrong=wrong_fields(words, visit.refused.errors) if visit.refused else {},
        fields=FIELDS[words],
        shipped=shipped["items"],
        earlier=[corpus for corpus in earlier["items"] if corpus["own"] and corpus["specification"]][:NEWEST],
        folded=("frames",) if words == "stereotype" else ("first_names", "second_names"),
    )
