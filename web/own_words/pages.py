"""``/own-words``: step 1, the description of the bias on one screen, from scratch, an example or a study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from starlette.responses import Response

from assay.document import Json, JsonObject
from web.frame import Pages, Refused, Visit, segment
from web.own_words.testing import KINDS, SERVICES, BiasTest, read_test
from web.specifications.words import (
    FIELDS,
    PAIR_FIELD,
    split_words,
    store_new,
    store_version,
    typed_of,
    words_of,
    wrong_fields,
)

pages = Pages()

SHOWN = frozenset({"first", "second", "first_terms", "second_terms", PAIR_FIELD})
"""Fields of the words that the form shows at once; the others are folded."""

NEWEST = 5
"""Number of earlier corpora that are offered for continuing."""

PER_TERM, MOST_MADE = 10, 1000
"""Number of sentences of a term that are made from frames, and largest number of all together."""


@pages.get("/own-words")
async def say_bias(visit: Visit) -> Response:
    """Show the form for a bias in own words: new, or filled from the specification that `from` names."""
    if typed := visit.typed:
        return await _form(visit, _kind(typed.get("kind", "")), typed, typed.get("from", ""))
    kind, source = _kind(visit.query("kind")), visit.query("from")
    example = SERVICES[kind]["example"]
    words_document = await visit.api.get(f"/v1/specifications/{segment(source or example)}")
    if words_document["kind"] not in KINDS.values():
        return visit.redirect("/own-words")
    kind = next(name for name, noun in KINDS.items() if noun == words_document["kind"])
    texts = _texts_of(KINDS[kind], words_document["words"])
    description = {name: words_document[name] for name in ("title", "language", "citation")}
    if source == example:
        description["title"] = SERVICES[kind]["example_title"]
    initial = {**texts, **description} if source else {"neutral": texts["neutral"], "language": "en"}
    return await _form(visit, kind, initial, source)


def _kind(text: str) -> str:
    return text if text in KINDS else "language-model"


@pages.post("/own-words", "jobs:write", form_page=say_bias)
async def store_bias(visit: Visit) -> Response:
    """Store the words and a corpus of sentences made with them, and go on to step 2."""
    form_texts = visit.typed
    kind = _kind(form_texts.get("kind", ""))
    texts = _complete_fields(KINDS[kind], form_texts)
    specification = await _specification(visit, KINDS[kind], texts, form_texts.get("from", ""))
    corpus = await _corpus(visit, kind, texts, specification)
    test = BiasTest.of(corpus, specification)
    return visit.redirect(test.path("sentences"), **test.query)


@pages.get("/own-words/{corpus_id}/words")
async def change_words(visit: Visit) -> Response:
    """Show step 1 again, with the entered words."""
    now = await read_test(visit)
    name = now.specification.partition("@")[0]
    description = {"title": now.corpus["name"], "language": now.corpus["language"]}
    texts = visit.typed or {**_texts_of(KINDS[now.kind], now.words), **description}
    return await _form(visit, now.kind, texts, name, now=now)


@pages.post("/own-words/{corpus_id}/words", "jobs:write", form_page=change_words)
async def store_changed_words(visit: Visit) -> Response:
    """Store changed words, and continue; sentences move to a copy of the corpus with the new words."""
    now = await read_test(visit)
    kind = KINDS[now.kind]
    texts = _complete_fields(kind, visit.typed)
    if _are_unchanged(kind, texts, now.words):
        return visit.redirect(now.path("sentences"), **now.query)
    specification = await _next_version(visit, kind, texts, now.specification.partition("@")[0])
    corpus = now.corpus
    if now.kind == "language-model":
        corpus = await _corpus(visit, now.kind, texts, specification, items_of=now.corpus["id"])
    test = BiasTest.of(corpus, specification)
    former_corpus = now.corpus["id"] if corpus["id"] != now.corpus["id"] else None
    return visit.redirect(test.path("sentences"), **test.query, was=former_corpus)


def _texts_of(kind: str, words: Json) -> dict[str, str]:
    """Return words as texts of the form's fields; the groups' words become two lists in equal order."""
    sides = zip(*words.get(PAIR_FIELD, ()), strict=True)
    lists = dict(zip(("first_words", "second_words"), map(", ".join, sides), strict=False))
    return {**typed_of(kind, words), **lists}


def _complete_fields(kind: str, texts: Mapping[str, str]) -> dict[str, str]:
    """Return the fields of a specification: pairs of words for the groups, and an attribute if none is typed.

    Raise `Refused` if a word for a group has no counterpart.
    """
    names = [texts.get(side, "").strip() for side in ("first", "second")]
    fields = {**texts, "attribute": texts.get("attribute", "").strip() or " or ".join(filter(None, names))}
    if kind != "stereotype":
        return fields
    first, second = (split_words(texts.get(f"{side}_words", "")) for side in ("first", "second"))
    if len(first) != len(second):
        detail = f"{len(first)} words for the first group, and {len(second)} for the second: each needs its counterpart"
        raise Refused.unreadable([{"pointer": f"/words/{PAIR_FIELD}", "detail": detail}])
    pairs: list[Sequence[str]] = [*zip(first, second, strict=True)] or [names]
    return {**fields, PAIR_FIELD: "\n".join(map(", ".join, pairs))}


async def _next_version(visit: Visit, kind: str, texts: Mapping[str, str], name: str) -> JsonObject:
    try:
        newest: JsonObject = await visit.api.get(f"/v1/specifications/{name}")
    except Refused:
        return await store_new(visit, kind, texts)  # the specification was removed, or belongs to another tenant
    return await (store_new(visit, kind, texts) if newest["shipped"] else store_version(visit, kind, texts, name))


async def _specification(visit: Visit, kind: str, texts: Mapping[str, str], source: str) -> JsonObject:
    """Return the specification that the form began with if its words are unchanged, else a new one."""
    if source:
        source_words: JsonObject = await visit.api.get(f"/v1/specifications/{segment(source)}")
        if source_words["kind"] == kind and _are_unchanged(kind, texts, source_words["words"]):
            return source_words
    return await store_new(visit, kind, texts)


def _are_unchanged(kind: str, texts: Mapping[str, str], words: Json) -> bool:
    return words_of(kind, texts) == words_of(kind, typed_of(kind, words))


async def _corpus(
    visit: Visit, kind: str, texts: Mapping[str, str], specification: Json, items_of: str | None = None
) -> JsonObject:
    name, words = texts.get("title", "").strip() or specification["title"], specification["words"]
    if kind == "language-model":
        terms = sum(len(words.get(field, ())) for field in ("first_terms", "second_terms", "neutral"))
        has_frames = words.get("frames") or specification["language"].partition("-")[0] == "en"
        body = {
            "name": name,
            "specification": f"{specification['name']}@{specification['version']}",
            "items_of": items_of,
            "from_frames": min(PER_TERM, MOST_MADE // terms) if has_frames else 0,
        }
    else:
        subject = {"attribute": words["attribute"], "language": specification["language"]}
        body = {"name": name, "kind": "images", **subject}
    return dict(await visit.api.post("/v1/corpora", body))


async def _form(visit: Visit, kind: str, texts: Json, source: str, *, now: BiasTest | None = None) -> Response:
    words = KINDS[kind]
    specifications = await visit.api.get("/v1/specifications", kind=words, limit=200)
    corpora = await visit.api.get("/v1/corpora", kind="sentences", limit=50) if now is None else {"items": []}
    return visit.page(
        "own_words/words.html",
        kind=kind,
        typed=texts,
        source=source,
        now=now,
        wrong=wrong_fields(words, visit.refused.errors) if visit.refused else {},
        folded=[field for field in FIELDS[words] if field.name not in SHOWN],
        example=SERVICES[kind]["example"],
        shipped=specifications["items"],
        earlier=[corpus for corpus in corpora["items"] if corpus["own"] and corpus["specification"]][:NEWEST],
    )
