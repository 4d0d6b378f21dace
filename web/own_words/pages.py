"""``/own-words``: step 1, the description of the bias on one screen, from scratch, an example or a study."""

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

SENTENCES_PER_TERM, MOST_SENTENCES = 10, 1000
"""Number of sentences that are made from frames for each term, and maximum number for all terms together."""


@pages.get("/own-words")
async def say_bias(visit: Visit) -> Response:
    """Show the form in which users describe a bias; the query's `from` names a specification that fills it."""
    if typed := visit.typed:  # of a refused form
        return await _form_page(visit, _known_kind(typed.get("kind", "")), typed, source_name=typed.get("from", ""))
    kind, source_name = _known_kind(visit.query("kind")), visit.query("from")
    example = SERVICES[kind]["example"]
    specification = await visit.api.get(f"/v1/specifications/{segment(source_name or example)}")
    if specification["kind"] not in KINDS.values():
        return visit.redirect("/own-words")
    # the words decide for which kind of service they are
    kind = next(service_kind for service_kind, words_kind in KINDS.items() if words_kind == specification["kind"])
    texts = _texts_of(KINDS[kind], specification["words"])
    description = {name: specification[name] for name in ("title", "language", "citation")}
    if source_name == example:
        description["title"] = SERVICES[kind]["example_title"]
    # a new form begins with the neutral words of the example
    initial = {**texts, **description} if source_name else {"neutral": texts["neutral"], "language": "en"}
    return await _form_page(visit, kind, initial, source_name)


def _known_kind(text: str) -> str:
    return text if text in KINDS else "language-model"


@pages.post("/own-words", "jobs:write", form_page=say_bias)
async def store_bias(visit: Visit) -> Response:
    """Store the words and a corpus of sentences made with them, and go on to step 2."""
    form_texts = visit.typed
    kind = _known_kind(form_texts.get("kind", ""))
    texts = _complete_fields(KINDS[kind], form_texts)
    specification = await _stored_specification(visit, KINDS[kind], texts, form_texts.get("from", ""))
    test = BiasTest.of(await _create_corpus(visit, kind, texts, specification), specification)
    return visit.redirect(test.step_path("sentences"), **test.query)


@pages.get("/own-words/{corpus_id}/words")
async def change_words(visit: Visit) -> Response:
    """Show step 1 again, with the entered words."""
    test = await read_test(visit)
    description = {"title": test.corpus["name"], "language": test.corpus["language"]}
    texts = visit.typed or {**_texts_of(KINDS[test.kind], test.words), **description}
    source_name = test.specification.partition("@")[0]  # without the version
    return await _form_page(visit, test.kind, texts, source_name, test=test)


@pages.post("/own-words/{corpus_id}/words", "jobs:write", form_page=change_words)
async def store_changed_words(visit: Visit) -> Response:
    """Store changed words, and go on; a new corpus with these words gets a copy of the sentences that fit them."""
    test = await read_test(visit)
    specification_kind = KINDS[test.kind]
    texts = _complete_fields(specification_kind, visit.typed)
    if _are_unchanged(specification_kind, texts, test.words):
        return visit.redirect(test.step_path("sentences"), **test.query)
    specification_name = test.specification.partition("@")[0]  # without the version
    specification = await _next_version(visit, specification_kind, texts, specification_name)
    corpus = test.corpus
    if test.kind == "language-model":  # a corpus of pictures has no words
        corpus = await _create_corpus(visit, test.kind, texts, specification, items_of=test.corpus["id"])
    changed_test = BiasTest.of(corpus, specification)
    former_corpus = test.corpus["id"] if corpus["id"] != test.corpus["id"] else None
    return visit.redirect(changed_test.step_path("sentences"), **changed_test.query, was=former_corpus)


def _texts_of(specification_kind: str, words: Json) -> dict[str, str]:
    """Return words as texts of the form's fields; pairs of words such as (he, she) become a list for each group."""
    sides = zip(*words.get(PAIR_FIELD, ()), strict=True)  # the first words of all pairs, then the second ones
    side_texts = dict(zip(("first_words", "second_words"), map(", ".join, sides), strict=False))  # empty without pairs
    return {**typed_of(specification_kind, words), **side_texts}


def _complete_fields(specification_kind: str, texts: Mapping[str, str]) -> dict[str, str]:
    """Return a form's fields and those that it lacks: pairs of words for the groups, and an attribute if none is typed.

    Raise `Refused` if a word for a group has no counterpart.
    """
    side_names = [texts.get(side, "").strip() for side in ("first", "second")]
    fields = {**texts, "attribute": texts.get("attribute", "").strip() or " or ".join(filter(None, side_names))}
    if specification_kind != "stereotype":
        return fields
    first_words, second_words = (split_words(texts.get(f"{side}_words", "")) for side in ("first", "second"))
    if len(first_words) != len(second_words):
        counts = f"{len(first_words)} words for the first group, and {len(second_words)} for the second"
        detail = f"{counts}: each needs its counterpart"
        raise Refused.unreadable([{"pointer": f"/words/{PAIR_FIELD}", "detail": detail}])
    # without words for the groups, their names are the words
    pairs: list[Sequence[str]] = [*zip(first_words, second_words, strict=True)] or [side_names]
    return {**fields, PAIR_FIELD: "\n".join(map(", ".join, pairs))}


async def _next_version(visit: Visit, kind: str, texts: Mapping[str, str], name: str) -> JsonObject:
    """Store the words as the next version of a specification, or as a new one if the caller cannot change it."""
    newest: JsonObject | None = await visit.api.find(f"/v1/specifications/{name}")
    # the specification was removed, belongs to another tenant, or is shipped, so that no caller can change it
    if newest is None or newest["shipped"]:
        return await store_new(visit, kind, texts)
    return await store_version(visit, kind, texts, name)


async def _stored_specification(visit: Visit, kind: str, texts: Mapping[str, str], source_name: str) -> JsonObject:
    """Return the specification that the form began with if its words are unchanged, else a new one."""
    if source_name:
        source: JsonObject = await visit.api.get(f"/v1/specifications/{segment(source_name)}")
        if source["kind"] == kind and _are_unchanged(kind, texts, source["words"]):
            return source
    return await store_new(visit, kind, texts)


def _are_unchanged(specification_kind: str, texts: Mapping[str, str], words: Json) -> bool:
    return words_of(specification_kind, texts) == words_of(specification_kind, typed_of(specification_kind, words))


async def _create_corpus(
    visit: Visit, kind: str, texts: Mapping[str, str], specification: Json, items_of: str | None = None
) -> JsonObject:
    """Create a corpus; a language model's begins with sentences of the corpus `items_of` and others from frames."""
    name = texts.get("title", "").strip() or specification["title"]
    words = specification["words"]
    if kind == "language-model":
        term_count = sum(len(words.get(field, ())) for field in ("first_terms", "second_terms", "neutral"))
        # frames (sentences with gaps for words) that fit any word exist in English
        has_frames = words.get("frames") or specification["language"].partition("-")[0] == "en"
        body = {
            "name": name,
            "specification": f"{specification['name']}@{specification['version']}",
            "items_of": items_of,
            "from_frames": min(SENTENCES_PER_TERM, MOST_SENTENCES // term_count) if has_frames else 0,
        }
    else:
        body = {"name": name, "kind": "images", "attribute": words["attribute"], "language": specification["language"]}
    return dict(await visit.api.post("/v1/corpora", body))


async def _form_page(
    visit: Visit, kind: str, texts: Json, source_name: str, *, test: BiasTest | None = None
) -> Response:
    """Show the form with `texts`; it was filled from the specification `source_name`, or it changes the `test`."""
    specification_kind = KINDS[kind]
    specifications = await visit.api.items("/v1/specifications", kind=specification_kind, limit=200)
    # earlier corpora are offered only to a user who begins
    corpora = await visit.api.items("/v1/corpora", kind="sentences", limit=50) if test is None else []
    return visit.page(
        "own_words/words.html",
        kind=kind,
        typed=texts,
        source=source_name,
        test=test,
        wrong=wrong_fields(specification_kind, visit.refused.errors) if visit.refused else {},
        folded=[field for field in FIELDS[specification_kind] if field.name not in SHOWN],
        example=SERVICES[kind]["example"],
        shipped=specifications,
        earlier=[corpus for corpus in corpora if corpus["own"] and corpus["specification"]][:NEWEST],
    )
