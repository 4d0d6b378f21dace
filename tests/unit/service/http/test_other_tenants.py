"""No operation shows or changes a resource of another tenant, or any resource without a valid key.

The operations, their parameters and the fields of their bodies are read from the OpenAPI document. If an operation
names a resource in its path, query or body and has no case here, a test fails. Earlier tests tried only ids in paths,
counted the operations without listing them, and did not compare the response with that for an id that does not exist.

Row 80 of docs/reliability.md: at c37b512 other tenants' ids were tested for some operations only.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.support.documented_operations import Operation, World

pytestmark = pytest.mark.anyio

EVERYBODYS = {"getMethod", "getMethodology", "getMethodologyText", "explainProblem"}
"""Operations whose path names something that belongs to no tenant."""

NO_ID = {"seq", "version", "name", "code"}
"""Path parameters that are not ids: numbers of parts of a resource, and names of catalogue entries."""

UNFIT = {
    # the rating is not of recorded decisions: see `test_recorded_decisions.py`
    *(
        "downloadLl144Html",
        "downloadLl144Csv",
        "downloadEeocHtml",
        "downloadEeocCsv",
        "downloadAiActHtml",
        "downloadAiActCsv",
    ),
    *("downloadTr24027Html", "downloadTr24027Csv", "downloadOutcomeAuditJson"),
    "downloadSuiteAudit",  # the suite has no recorded decisions: see `test_recorded_decisions.py`
    "downloadSentencesCsv",  # the rating has no sentences: see `test_corpora_in_jobs.py`
    *("getService", "getServiceFeed"),  # the rating is private, which is no service: see `test_service_resource.py`
    "getCorpusPicture",  # the item is a sentence: see `test_corpus_resource.py`
}
"""GET operations that are 404 for the owner, too, because these tests make a resource of another kind."""


def of_resources(world: World) -> list[Operation]:
    return [one for one in world.operations if one.parameters("path") and one.name not in EVERYBODYS]


def nowhere(ids: dict[str, str]) -> dict[str, str]:
    """Return well-formed ids of resources that do not exist."""
    made = {name: f"{value.partition('_')[0]}_{'0' * 25}9" for name, value in ids.items() if name not in NO_ID}
    return ids | made | {"specification_name": "nobodys-words"}


def body_of(world: World, one: Operation, ids: dict[str, str]) -> dict[str, Any]:
    """Return a valid body as a keyword argument; a new version of words has the name from its path."""
    if one.name == "addSpecificationVersion":
        return {"json": AGES | {"name": ids["specification_name"]}}
    return {"json": world.body(one)} if one.takes_body else {}


def told(answer: httpx.Response, *sent: dict[str, str]) -> tuple[int, str, dict[str, str]]:
    """Return a response without the sent ids and the fields that differ in every response."""
    text, headers = answer.text, dict(answer.headers)
    for name in ("x-request-id", "date", "ratelimit", "content-length", "etag", "age", "last-modified"):
        headers.pop(name, None)
    if "problem" in headers["content-type"]:
        text = json.dumps({name: value for name, value in answer.json().items() if name != "request_id"})
    values = [value for ids in sent for name, value in ids.items() if name not in NO_ID]
    for value in sorted(values, key=len, reverse=True):
        text = text.replace(value, "ID")
    return answer.status_code, text, headers


@pytest.fixture
async def two(build, worker):
    """Every kind of resource for each of two tenants, and a function that calls the service with or without a key."""
    mine, theirs = (worker.make_key(name) for name in ("mine", "theirs"))
    first = await build({"auth": "keys"}, Authorization=f"Bearer {mine}")
    second = await build({"auth": "keys"}, Authorization=f"Bearer {theirs}")

    async def call(one: Operation, ids: dict[str, str], key: str | None, **options: Any) -> httpx.Response:
        request = first.client.build_request(one.method, one.url(ids), **options)
        request.headers.pop("Authorization", None)
        if key is not None:
            request.headers["Authorization"] = f"Bearer {key}"
        return await first.client.send(request)

    return first, second, call, (mine, theirs)


@pytest.mark.slow
async def test_every_resource_in_a_path_is_shown_to_its_tenant_and_hidden_from_others(two, worker):
    world, _, call, (mine, theirs) = two
    operations = of_resources(world)
    own_words = (await furnished(world.client, worker, mine, world.ids))["words"]
    world.ids["specification_name"] = own_words  # the other tenant, too, has words with the original name
    reads = [one for one in operations if one.method == "GET" and one.name != "followJob"]
    before = {one.name: await call(one, world.ids, mine) for one in reads}
    lost = {name for name, answer in before.items() if answer.status_code == 404}
    assert lost == UNFIT, "an address without a resource would prove nothing"

    for one in operations:
        for key in (theirs, None, theirs[:-1] + ("0" if theirs[-1] != "0" else "1")):
            answer = await call(one, world.ids, key, **body_of(world, one, world.ids))
            absent = await call(one, nowhere(world.ids), key, **body_of(world, one, nowhere(world.ids)))
            status = 401 if key != theirs and (one.needs_key or (key and one.written.get("security"))) else 404
            if not one.is_badge:
                assert answer.status_code == status, (one.name, key, answer.text)
                assert answer.json()["code"] in {"not-found", "key-missing", "key-invalid"}, one.name
            # the response equals that for a missing resource, so it reveals nothing of the existing resource
            assert told(answer, world.ids) == told(absent, nowhere(world.ids)), one.name

    for one in reads:
        assert told(await call(one, world.ids, mine)) == told(before[one.name]), f"{one.name}: it was changed"


async def test_another_tenants_resource_under_the_path_of_an_own_resource_is_404(two):
    world, other, call, (_, theirs) = two
    tried = set()
    for one in of_resources(world):
        names = [each["name"] for each in one.parameters("path") if each["name"] not in NO_ID]
        for name in names[1:]:
            ids = other.ids | {each: world.ids[each] for each in (name, f"callback_{name}") if each in world.ids}
            answer = await call(one, ids, theirs, **({"json": world.body(one)} if one.takes_body else {}))
            assert (answer.status_code, answer.json()["code"]) == (404, "not-found"), one.name
            absent = await call(one, {**other.ids, **dict.fromkeys((name, f"callback_{name}"), "x_0")}, theirs)
            if not one.takes_body:
                assert answer.status_code == absent.status_code
            tried.add(one.name)
    assert {"redeliver", "redeliverToCallback", "getCorpusPicture", "changeCorpusItem"} <= tried


# ---------------------------------------------------------------------------- ids in bodies and queries
NAMING = {"id", "corpus", "specification", "upload", "rating", "target", "with", "image", "items_of", "remove", "made"}
"""Names of text fields in bodies and queries that can name a resource."""

PLAIN = {
    "ans0",
    "ans1",
    "ans2",
    "answer",
    "attribute",
    "attribute_term",
    "attributes",
    "by",
    "category",
    "citation",
    "cluster",
    "column",
    "concept",
    "context",
    "controls",
    "counterpart",
    "cron",
    "cues",
    "cursor",
    "decision",
    "description",
    "digest",
    "etag",
    "failure",
    "favourable",
    "first",
    "first_label",
    "first_names",
    "first_terms",
    "frames",
    "group",
    "group_term",
    "held_back",
    "host",
    "human",
    "image_b64",
    "intersections",
    "judge_label",
    "label",
    "labels",
    "language",
    "languages",
    "leave_out",
    "licence",
    "method",
    "methods",
    "model",
    "models",
    "name",
    "names",
    "neutral",
    "note",
    "pairs",
    "part",
    "period",
    "protocol",
    "q",
    "question",
    "question_index",
    "reason",
    "score",
    "second",
    "second_label",
    "second_names",
    "second_terms",
    "sheet",
    "side",
    "source",
    "step_favourable",
    "step_unfavourable",
    "steps",
    "stereotyped_groups",
    "strata",
    "target_url",
    "telling",
    "templates",
    "term",
    "text",
    "title",
    "truth",
    "truth_favourable",
    "truth_unfavourable",
    "unfavourable",
    "unknown",
    "values",
    "version",
    "weight",
    "why",
}
"""Names of text fields that cannot name a resource: words, table columns, catalogue names, public addresses."""

ELSEWHERE = {
    "experiment.sentences.id": "a name within the request itself",
    "experiment.pictures.id": "a name within the request itself",
    "experiment.pictures.image": "looked up by workers: see `test_store_images.py`",
    "remove": "ids that the corpus does not have are ignored: see `test_corpus_revision.py`",
    "?upload": "the rating must be of recorded decisions: see `test_recorded_decisions.py`",
    "?rating": "the log is public, and holds published ratings only",
}
"""Fields that end in a name of `NAMING` but need no test case in `CASES`, with the reason."""

MODEL = {"name": "M", "kind": "language-model", "protocol": "openai-chat", "base_url": "http://127.0.0.1:5001"}
WORDS = {
    "attribute": "age", "first": "old", "second": "young", "pairs": [["grandfather", "grandson"]],
    "first_terms": ["frail"], "second_terms": ["rash"], "neutral": ["tall"], "name": "ages",
}  # fmt: skip
AGES = {"name": "ages", "title": "Ages", "kind": "stereotype", "language": "en", "citation": "Ours", "words": WORDS}
SCORE = {"method": "stereotype-score", "attribute": "age"}
CLASSIFIER = {"name": "C", "kind": "classifier", "protocol": "mlflow", "base_url": "http://127.0.0.1:5003"}
TRANSLATOR = {"name": "T", "kind": "translator", "protocol": "libretranslate", "base_url": "http://127.0.0.1:5000"}
ALTERNATION = {"method": "alternation", "attribute": "gender"}
ROUND_TRIP = {"method": "round-trip", "attribute": "gender"}

ORDERS: dict[str, Any] = {
    "target.id": lambda ids: {"target": {"id": ids["target_id"]}, "experiment": ROUND_TRIP},
    "author.id": lambda ids: {
        "target": MODEL, "author": {"id": ids["author_id"]},
        "experiment": SCORE | {"words": [WORDS], "writing": {"per_term": 5}},
    },
    "judge.id": lambda ids: {
        "target": MODEL, "judge": {"id": ids["judge_id"]}, "experiment": {"method": "free-text", "attribute": "gender"},
    },
    "experiment.corpus": lambda ids: {
        "target": MODEL, "experiment": SCORE | {"words": [WORDS], "corpus": ids["ages_id"]},
    },
    "experiment.specification": lambda ids: {"target": MODEL, "experiment": SCORE | {"specification": ids["words"]}},
    "experiment.records.upload": lambda ids: {
        "target": CLASSIFIER,
        "experiment": ALTERNATION | {"records": {"upload": ids["upload_id"], "column": "age", "values": [41, 42]}},
    },
}  # fmt: skip
"""Requests for a rating, by the field that names a resource."""


def scheduled(order: Any) -> Any:
    return lambda ids: {"name": "Weekly", "request": order(ids), "interval_s": 604_800}


CASES: dict[tuple[str, str], Any] = {
    **{(name, field): order for name in ("requestRating", "planRating") for field, order in ORDERS.items()},
    **{("createSchedule", f"request.{field}"): scheduled(order) for field, order in ORDERS.items()},
    **{("changeSchedule", f"request.{field}"): scheduled(order) for field, order in ORDERS.items()},
    **dict.fromkeys(
        [("requestSuite", "target.id"), ("planProfile", "target.id")],
        lambda ids: {"target": {"id": ids["target_id"]}, "methods": ["round-trip"]},
    ),
    **dict.fromkeys(
        [("requestSuite", "targets.id"), ("planProfile", "targets.id")],
        lambda ids: {"targets": [{"id": ids["target_id"]}], "methods": ["round-trip"]},
    ),
    **dict.fromkeys(
        [("createSchedule", "request.rating"), ("changeSchedule", "request.rating")],
        scheduled(lambda ids: {"rating": ids["rating_id"]}),
    ),
    ("createComposition", "chain.rating"): lambda ids: {"chain": [{"rating": ids["rating_id"]}] * 2},
    ("createComposition", "chain.target"): lambda ids: {
        "chain": [{"target": ids["target_id"]}] * 2, "attribute": "gender", "method": "round-trip",
    },
    ("createCorpus", "specification"): lambda ids: {"name": "C", "specification": ids["words"]},
    ("createCorpus", "items_of"): lambda ids: {"name": "C", "attribute": "age", "items_of": ids["ages_id"]},
    ("changeCorpusItems", "edit.id"): lambda ids: {"edit": [{"id": ids["item_id"], "text": "Nobody came home."}]},
    ("writeSentences", "author.id"): lambda ids: {"author": {"id": ids["author_id"]}, "words": WORDS},
    ("writeSentences", "specification"): lambda ids: {"author": MODEL, "specification": ids["words"]},
    ("compareRatings", "?with"): lambda ids: {"with": ids["rating_id"]},
    ("differRatings", "?with"): lambda ids: {"with": ids["rating_id"]},
    ("listJobs", "?made"): lambda ids: {"made": ids["rating_id"]},
    ("listCorpora", "?specification"): lambda ids: {"specification": ids["words"]},
}  # fmt: skip
"""Bodies and queries that name a resource, by operation and field."""


REFUSED = {("createSchedule", "request.targets.id"), ("changeSchedule", "request.targets.id")}
"""Fields that are refused for every tenant: a schedule has only one target."""


def texts_of(
    document: dict[str, Any], schema: dict[str, Any], *place: str, seen: tuple[str, ...] = ()
) -> Iterator[str]:
    """Yield the paths of all string fields of a schema that have no enumeration, constant or format."""
    if reference := schema.get("$ref"):
        if reference not in seen:
            inner = document["components"]["schemas"][reference.rpartition("/")[2]]
            yield from texts_of(document, inner, *place, seen=(*seen, reference))
        return
    for word in ("anyOf", "oneOf", "allOf", "prefixItems"):
        for inner in schema.get(word, ()):
            yield from texts_of(document, inner, *place, seen=seen)
    if schema.get("type") == "string" and not {"enum", "const", "format"} & set(schema):
        yield ".".join(place)
    for name, inner in schema.get("properties", {}).items():
        yield from texts_of(document, inner, *place, name, seen=seen)
    if isinstance(schema.get("items"), dict):
        yield from texts_of(document, schema["items"], *place, seen=seen)


def texts(world: World) -> set[tuple[str, str]]:
    """Return all free-text fields of bodies and queries, as pairs of operation and path."""
    found = set()
    for one in world.operations:
        content = one.written.get("requestBody", {}).get("content", {})
        for media_type, each in content.items():
            if media_type == "application/json":
                found |= {(one.name, place) for place in texts_of(world.document, each["schema"])}
        found |= {(one.name, place) for each in one.parameters("query") for place in
                  texts_of(world.document, each["schema"], f"?{each['name']}")}  # fmt: skip
    return found


@pytest.mark.slow
async def test_every_request_field_that_can_name_a_resource_is_tested_with_another_tenants_resource(build):
    world = await build()
    found = texts(world)
    last = {place.rpartition(".")[2].lstrip("?") for _, place in found}
    assert last <= NAMING | PLAIN, "do these texts of bodies or queries name a resource?"
    assert last >= NAMING | PLAIN, "these exist no more"
    naming = {(name, place) for name, place in found if place.rpartition(".")[2].lstrip("?") in NAMING}
    elsewhere = {(name, place) for name, place in naming if place.removeprefix("request.") in ELSEWHERE}
    assert naming - elsewhere - REFUSED == set(CASES)


async def furnished(client: httpx.AsyncClient, worker: Any, key: str, ids: dict[str, str]) -> dict[str, str]:
    """Create the resources that only the fields in `CASES` name; return their ids with the given ids."""
    headers = {"Authorization": f"Bearer {key}"}

    async def make(path: str, body: dict[str, Any]) -> dict[str, Any]:
        made = await client.post(path, json=body, headers=headers)
        assert made.is_success, made.text
        return dict(made.json())

    words = (await make("/v1/specifications", AGES | {"name": "ages-of-mine"}))["name"]
    corpus = (await make("/v1/corpora", {"name": "Ages", "specification": words}))["id"]
    await make(f"/v1/corpora/{corpus}/items", {"items": [{"text": "My grandfather is frail."}]})
    author, judge = [(await make("/v1/targets", service))["id"] for service in (MODEL, CLASSIFIER)]
    worker.rate((await make("/v1/jobs", ORDERS["target.id"](ids)))["id"])
    return ids | {"words": words, "ages_id": corpus, "author_id": author, "judge_id": judge}


@pytest.mark.parametrize(("name", "place"), CASES, ids=lambda part: part)
async def test_another_tenants_resource_in_a_body_or_query_is_answered_like_a_missing_resource(
    two, worker, name, place
):
    world, other, call, (mine, theirs) = two
    ids = await furnished(world.client, worker, mine, world.ids)
    case, one = CASES[name, place], world.named(name)

    async def ask(named: dict[str, str], key: str | None, path: dict[str, str]) -> httpx.Response:
        sent = {"params": case(named)} if place.startswith("?") else {"json": case(named)}
        return await call(one, path, key, **sent)

    absent = ids | nowhere({part: ids[part] for part in ids if part.endswith("_id")}) | {"words": "ages-of-none"}
    own = await ask(ids, mine, world.ids)
    answer, nothing = await ask(ids, theirs, other.ids), await ask(absent, theirs, other.ids)
    if name in {"listCorpora", "listJobs"}:
        assert (own.status_code, len(own.json()["items"])) == (200, 1)
        assert (answer.status_code, answer.json()["items"]) == (200, [])
    else:
        assert answer.status_code in {404, 422}, answer.text
        assert told(own, ids) != told(answer, ids), f"the owner is refused as well: {own.text}"
        assert own.is_success or "not-comparable" in own.text, own.text  # both ratings were read
    assert told(answer, ids, absent) == told(nothing, ids, absent)
    for key in (None, "garbled"):
        refused = await ask(ids, key, world.ids)
        if key or one.needs_key:
            assert refused.status_code == 401
        else:
            assert refused.status_code == 404, refused.text
