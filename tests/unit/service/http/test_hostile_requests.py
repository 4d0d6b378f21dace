"""Invalid requests to every operation of the OpenAPI document; the rows are those of docs/reliability.md.

The operations are read from the document, so a new route is tested as soon as it is documented. Existing ids and
valid bodies are made by `build`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from service.http.json import pointer_to
from tests.support.documented_operations import Operation, World, harmless, refused

pytestmark = pytest.mark.anyio

JSON = {"Content-Type": "application/json"}
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "TRACE", "OPTIONS", "PROPFIND")


# ---------------------------------------------------------------------------- bodies (rows 45, 46)
UNREADABLE = {
    "no JSON": (b"{", 400),
    "not UTF-8": (b'{"name": "\xff"}', 400),
    "UTF-16": ('{"name": "x"}'.encode("utf-16"), 400),
    "a byte order mark": (b"\xef\xbb\xbf{}", 400),
    "an overlong encoding": (b'{"name": "\xc0\xaf"}', 400),
    "an encoded surrogate": (b'{"name": "\xed\xa0\x80"}', 400),
    "compressed": (b"\x1f\x8b\x08\x00\x00\x00\x00\x00", 400),
    "two documents": (b"{}{}", 400),
    "NaN": (b'{"a": NaN}', 422),
    "infinity": (b'{"a": -Infinity}', 422),
    "a number beyond all numbers": (b'{"a": 1e400}', 422),
    "a huge integer": (b'{"a": ' + b"9" * 100_000 + b"}", 422),
    "a long fraction": (b'{"a": 0.' + b"1" * 100_000 + b"}", 422),
    "a key twice": (b'{"name": 1, "name": 2}', 422),
    "a key twice, deep inside": (b'{"a": [{"b": 1, "b": 1}]}', 422),
    "deep arrays": (b"[" * 200_000, 422),
    "deep objects": (b'{"a":' * 10_000 + b"1" + b"}" * 10_000, 422),
    "an array": (b"[]", 422),
    "a number": (b"7", 422),
    "nothing": (b"", 422),
}


@pytest.mark.parametrize("what", UNREADABLE)
async def test_every_operation_refuses_a_body_that_is_not_strict_json(world, what):
    body, status = UNREADABLE[what]
    takers = [one for one in world.operations if one.takes_body]
    assert len(takers) >= 4
    for one in takers:
        answer = await world.send(one, content=body, headers=JSON)
        refused(one, answer, what)
        assert answer.status_code == status, f"{one.name}: {answer.text[:300]}"


async def test_every_operation_refuses_a_body_above_the_size_limit(build):
    world = await build({"max_body_bytes": 20_000})

    async def drip() -> Any:
        for _ in range(30):
            yield b" " * 1_000

    for one in world.operations:
        if one.takes_body:
            for content in (b" " * 20_001, drip()):
                answer = await world.send(one, content=content, headers=JSON)
                assert refused(one, answer, "a long body")["code"] == "body-too-large"


async def test_every_operation_refuses_a_body_of_another_media_type(world):
    for one in world.operations:
        if one.takes_body:
            for declared in ("text/plain", "application/xml", "multipart/form-data; boundary=x", "nonsense"):
                answer = await world.send(one, content=json.dumps(world.body(one)), headers={"Content-Type": declared})
                assert refused(one, answer, declared)["code"] == "unsupported-media-type"


# ---------------------------------------------------------------------------- texts (row 47)
UNSTORABLE = {"NUL": "a\x00b", "half of a surrogate pair": "a\ud800b", "the other half": "\udfff"}
STRANGE = {
    "right to left": "\u202eevil\u2066 \u05d0\u05d1",
    "every control character": "".join(map(chr, range(1, 32))) + "\x7f\x85",
    "no characters": "\ufffe\uffff",
    "beyond the first plane": "\U0001f600\U0010ffff",
    "markup": "<script>alert(1)</script>'\"; DROP TABLE jobs; --",
    "a spreadsheet's formula": "=HYPERLINK(1)",
    "a format string": "%s%n{0}${7*7}",
}


def texts_in(value: Any, *place: str | int) -> Iterator[tuple[str | int, ...]]:
    """Yield the paths of all strings in a body."""
    if isinstance(value, str):
        yield place
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from texts_in(inner, *place, key)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from texts_in(inner, *place, index)


def put(body: Any, place: tuple[str | int, ...], value: Any) -> Any:
    inner = body
    for part in place[:-1]:
        if isinstance(inner, dict) and inner.get(part) is None:
            inner[part] = {}  # create an optional object that the body leaves out
        inner = inner[part]
    inner[place[-1]] = value
    return body


SHOWN_IN = {"withdrawRating": ("withdrawn",)}
"""Object of the response that has the sent field; other operations return a field at its path in the request."""

STORES_NOTHING = frozenset({"changeCorpusItems", "planRating", "planProfile", "probeDescribedTarget"})
"""Operations that do not store all texts that they receive, for example ids of items to remove."""

SHOWN_AS = {("writeSentences", "author"): "target"}
"""Name in the response of a sent field that has another name in the request, by operation."""

FULL = {
    "target": {"secret": "a-secret-of-mine", "base_url": "http://127.0.0.1:5000"},
    "callback_url": "http://127.0.0.1:9/hook",
}
"""Optional fields that the documented examples leave out."""


def full_body(world: World, one: Operation) -> Any:
    body = world.body(one)
    if one.name == "requestRating":
        body |= {"callback_url": FULL["callback_url"], "target": body["target"] | FULL["target"]}
    elif "protocol" in body:
        body |= FULL["target"]
    return body


@pytest.mark.parametrize("what", UNSTORABLE)
async def test_a_text_with_nul_or_half_a_surrogate_pair_is_refused_in_every_field(world, what):
    tried = 0
    for one in (each for each in world.operations if each.takes_body):
        for place in texts_in(full_body(world, one)):
            body = put(full_body(world, one), place, UNSTORABLE[what])
            answer = await world.send(one, content=json.dumps(body), headers=JSON)
            problem = refused(one, answer, place)
            assert (answer.status_code, problem["errors"][0]["pointer"]) == (422, pointer_to(*place))
            tried += 1
    assert tried > 20


@pytest.mark.slow
@pytest.mark.parametrize("what", STRANGE)
async def test_an_unusual_text_is_refused_or_stored_unchanged(database_url, build, what):
    world = await build({"database_url": database_url})
    text, kept = STRANGE[what], 0
    for one in (each for each in world.operations if each.takes_body):
        for place in texts_in(full_body(world, one)):
            body = put(full_body(world, one), place, text)
            if one.name in {"requestRating", "writeSentences"}:
                body["seed"] = kept  # another seed makes a new job instead of joining the existing one
            answer = await world.send(one, content=json.dumps(body), headers=JSON)
            harmless(one, answer, place)
            if answer.is_success and place[-1] != "secret" and one.name not in STORES_NOTHING:
                kept += 1
                place = (SHOWN_AS.get((one.name, place[0]), place[0]), *place[1:])
                place = (*SHOWN_IN.get(one.name, ()), *place)
                assert at(answer.json(), place) == text
                if location := answer.headers.get("Location"):
                    shown = await world.client.get(location)
                    assert shown.status_code == 405 or at(shown.json(), place) == text
    assert kept >= 4


def at(value: Any, place: tuple[str | int, ...]) -> Any:
    for part in place:
        value = value[part]
    return value


@pytest.mark.slow
@pytest.mark.parametrize(
    "text", ["%00", "%ff", "%ed%a0%80", "%E2%80%AE", "%0d%0aX:%20y", "..%2f..%2fetc", "'%20OR%201=1", "x" * 3000]
)
async def test_an_unusual_text_in_a_url_is_never_a_server_error(world, text):
    for one in (each for each in world.operations if each.method in {"GET", "DELETE"}):
        for each in one.parameters("path"):
            answer = await world.client.request(one.method, one.url(world.ids, **{each["name"]: text}))
            if one.is_badge:
                harmless(one, answer, text)
            else:
                is_number = each["schema"].get("type") == "integer" and "%2f" not in text
                expected = "invalid-request" if is_number else "not-found"
                assert refused(one, answer, text)["code"] == expected, answer.text
        for each in one.parameters("query"):
            answer = await world.client.request(one.method, f"{one.url(world.ids)}?{each['name']}={text}")
            harmless(one, answer, f"{each['name']}={text}")


STRANGE_HEADERS = {
    "empty": b"",
    "blank": b" ",
    "a control character": b"\x01",
    "not ASCII": b"\xff\xfe",
    "above 63 bits": b"9" * 19,
    "twenty digits": b"9" * 20,
    "negative": b"-1",
    "an endless wait": b"wait=" + b"9" * 500,
    "long": b"x" * 5000,
    "half a list": b'",W/"',
}


@pytest.mark.slow
@pytest.mark.parametrize("what", STRANGE_HEADERS)
async def test_an_unusual_header_is_never_a_server_error(world, what):
    for one in (each for each in world.operations if each.method != "DELETE"):
        for name in {*(each["name"] for each in one.parameters("header")), "If-None-Match", "X-Request-Id", "Accept"}:
            body = {"content": json.dumps(world.body(one))} if one.takes_body else {}
            headers = [(name.encode(), STRANGE_HEADERS[what]), (b"content-type", b"application/json")]
            harmless(one, await world.send(one, headers=headers, **body), (name, what))


# ---------------------------------------------------------------------------- numbers (row 48)
def bounded(document: dict[str, Any], schema: dict[str, Any], *place: str) -> Iterator[tuple[tuple[str, ...], dict]]:
    """Yield the path and schema of every number with bounds in a body."""
    schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
    if schema.get("type") in {"integer", "number"} and any("imum" in word for word in schema):
        yield place, schema
    for inner in (*schema.get("anyOf", ()), *schema.get("oneOf", ()), *schema.get("allOf", ())):
        yield from bounded(document, inner, *place)
    for name, inner in schema.get("properties", {}).items():
        yield from bounded(document, inner, *place, name)


def outside(schema: dict[str, Any]) -> set[float]:
    """Return numbers that a schema does not allow: 0, negative, a billion, and just outside its bounds."""
    low, high = schema.get("minimum"), schema.get("maximum")
    above, below = schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")
    whole = schema["type"] == "integer"
    tried = {0, -1, -(10**9), 10**9, 2**53, 2**63, *([] if whole else [-1e-9, 1e300])}
    tried |= {low - 1} if low is not None else set()
    tried |= {high + 1} if high is not None else set()
    tried |= {bound for bound in (above, below) if bound is not None}
    return {
        number
        for number in tried
        if (low is not None and number < low)
        or (high is not None and number > high)
        or (above is not None and number <= above)
        or (below is not None and number >= below)
    }


@pytest.mark.slow
async def test_a_number_out_of_its_bounds_is_refused_naming_the_field(world):
    tried: set[tuple[str, ...]] = set()
    for one in (each for each in world.operations if each.takes_body):
        schema = one.written["requestBody"]["content"]["application/json"]["schema"]
        for place, limits in bounded(world.document, schema):
            assert outside(limits), f"{place} has no bounds that a number could break"
            for number in outside(limits):
                body = world.body(one)
                if "experiment" in place:
                    there = place.index("experiment") + 1
                    method = method_with(world, place[there:], number)
                    put(body, place[:there], {"method": method, "attribute": "gender"})
                answer = await world.send(one, json=put(body, place, number))
                problem = refused(one, answer, (place, number))
                assert answer.status_code == 422
                assert pointer_to(*place) in [error["pointer"] for error in problem["errors"]]
            tried.add(place)
    assert {("seed",), ("max_calls",), ("deadline_s",), ("target", "limits", "timeout_s"), ("expires_in_s",)} <= tried
    assert ("experiment", "texts_per_block") in tried


def method_with(world: World, place: Sequence[str], number: float) -> str:
    """Return a method that has a field at a path and does not allow a number there."""
    experiment = world.document["components"]["schemas"]["RatingRequest"]["properties"]["experiment"]
    for method, reference in experiment["discriminator"]["mapping"].items():
        for there, limits in bounded(world.document, {"$ref": reference}):
            if there == tuple(place) and number in outside(limits):
                return str(method)
    raise AssertionError(f"no method has {place} and refuses {number}")


# ---------------------------------------------------------------------------- lists (row 49)
def lists(world: World) -> list[Operation]:
    return [one for one in world.operations if any(each["name"] == "cursor" for each in one.parameters("query"))]


@pytest.mark.parametrize(
    "limit", ["0", "-1", "201", "1000000000", "1e9", "9" * 40, "many", "", "1.5", "0x10", "\u0661"]
)
async def test_every_list_refuses_a_page_size_outside_1_to_200(world, limit):
    assert len(lists(world)) >= 5
    for one in lists(world):
        answer = await world.send(one, params={**one.needed, "limit": limit})
        assert refused(one, answer, limit)["errors"][0]["parameter"] == "limit"
        assert answer.status_code == 422


@pytest.mark.parametrize(
    "cursor", ["x", "!!", "W10", "bnVsbA", "e30", "WzEsIngiLCJ5Il0", "a" * 401, "\x00", "\u202e", "[" * 399]
)
async def test_every_list_refuses_a_cursor_that_the_service_did_not_make(world, cursor):
    for one in lists(world):
        answer = await world.send(one, params={**one.needed, "cursor": cursor})
        assert refused(one, answer, cursor)["errors"][0]["parameter"] == "cursor"
        assert answer.status_code == 422


# ---------------------------------------------------------------------------- limits (row 50)
CREATE_JOBS = {
    *("requestRating", "requestSuite", "runSchedule", "probeTarget", "rerateRating", "writeSentences", "verifyDomain"),
}


async def test_every_operation_that_creates_jobs_is_429_above_the_rate_limit(build):
    world = await build({"job_rate": "2/hour"})  # the job and the suite that `build` posts use up this rate
    tried = 0
    for one in world.operations:
        if one.written["operationId"] not in CREATE_JOBS:
            continue
        answer = await world.send(one, json=world.body(one))
        assert refused(one, answer, "too much")["code"] == "rate-limited"
        assert answer.status_code == 429
        assert 1 <= int(answer.headers["Retry-After"]) <= 3600
        assert answer.headers["RateLimit-Policy"] == '"jobs";q=2;w=3600'
        assert re.fullmatch(r'"jobs";r=0;t=\d+', answer.headers["RateLimit"])
        tried += 1
    assert tried == len(CREATE_JOBS)


CALL_OTHERS = {
    "POST /v1/targets/probe",
    "POST /v1/targets/{target_id}/probe",
    "POST /v1/domains/{domain_id}/verify",
    "POST /v1/webhooks",  # a challenge is sent to the address
    "PUT /v1/webhooks/{webhook_id}",
    "POST /v1/webhooks/{webhook_id}/enable",
    "POST /v1/webhooks/{webhook_id}/ping",
    "POST /v1/webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver",
    "POST /v1/jobs/{job_id}/deliveries/{delivery_id}/redeliver",
}
"""Operations, beside new jobs, after which the agency calls an address that the tenant chose."""


# Row 72 of docs/reliability.md: at c37b512 a tenant could reset its rate limit with a new key.
async def test_every_operation_that_changes_something_is_429_above_its_rate_limit(build):
    world = await build({"upload_rate": "40/hour", "call_rate": "40/hour", "write_rate": "40/hour"})
    changing = [
        one for one in world.operations if one.method != "GET" and one.written["operationId"] != "requestRating"
    ]
    for one in changing:
        assert one.documents(429), one
    used_up, calling = {}, set()
    for one in changing:  # repeat each operation until the rate of its kind of work is used up
        for _ in range(41):
            answer = await world.send(one)
            if answer.status_code == 429 and (policy := answer.headers["RateLimit-Policy"]) != '"jobs";q=1200;w=60':
                used_up[one.written["operationId"]] = policy
                calling |= {f"{one.method} {one.path}"} if policy.startswith('"calls"') else set()
                break
    assert set(used_up) == {one.written["operationId"] for one in changing}
    assert set(used_up.values()) == {f'"{work}";q=40;w=3600' for work in ("uploads", "calls", "writes")}
    assert calling == CALL_OTHERS


# ---------------------------------------------------------------------------- addresses (rows 51, 52)
async def test_every_operation_on_a_removed_resource_is_404(world):
    removers = [one for one in world.operations if one.method == "DELETE"]
    removers.sort(key=lambda one: -one.path.count("/"))  # nested resources are removed first
    assert len(removers) >= 8
    for remover in removers:
        assert (await world.send(remover)).status_code == 204
        for one in world.operations:
            makes_it_anew = one.path == remover.path and one.documents(201)
            if one.path.startswith(remover.path) and not makes_it_anew and not one.is_badge:
                answer = await world.send(one, json=world.body(one))
                assert refused(one, answer, "removed")["code"] in {"not-found", "no-reply"}


@pytest.mark.slow
async def test_a_wrong_method_is_405_with_the_allowed_methods_at_every_address(world):
    for path in world.document["paths"]:
        right = {one.method for one in world.operations if one.path == path}
        allowed = sorted(right | {"OPTIONS"} | ({"HEAD"} if "GET" in right else set()))
        url = path.format(**world.ids)
        covering = [one for one in world.operations if re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", one.path), url)]
        answered = {one.method for one in covering}  # POST /v1/jobs/plan has the address of a job named "plan"
        for method in METHODS:
            if method in {*allowed, *answered} or (method == "HEAD" and "GET" in answered):
                continue
            answer = await world.client.request(method, url)
            found = (answer.status_code, answer.headers.get("Allow"))
            assert found == (405, ", ".join(allowed)), (method, path)
            if method != "HEAD":
                assert answer.json()["code"] == "method-not-allowed"
        asked = await world.client.options(url)
        assert (asked.status_code, asked.headers["Allow"]) == (204, ", ".join(allowed))


# ---------------------------------------------------------------------------- access (row 44)
@pytest.mark.slow
async def test_every_operation_that_needs_a_key_answers_401_to_an_invalid_key(build, worker):
    world = await build({"auth": "keys"}, Authorization=f"Bearer {worker.make_key()}")
    revoked = (await world.client.post("/v1/keys", json={"name": "gone", "scopes": ["admin"]})).json()
    await world.client.delete(f"/v1/keys/{revoked['id']}")
    garbled = revoked["key"][:-1] + ("0" if revoked["key"][-1] != "0" else "1")
    without_scopes = worker.make_key("default", "webhooks:write")
    without_webhooks = worker.make_key("default", "jobs:write")
    secured = [one for one in world.operations if one.needs_key]
    assert len(secured) >= 15
    for one in secured:
        for key, status, code in (
            ("", 401, "key-invalid"),
            (garbled, 401, "key-invalid"),
            (revoked["key"], 401, "key-invalid"),
            (without_webhooks if one.is_of_webhooks else without_scopes, 403, "scope-missing"),
        ):
            answer = await world.send(one, json=world.body(one), headers={"Authorization": f"Bearer {key}"})
            assert (answer.status_code, refused(one, answer, key)["code"]) == (status, code), one.name
            assert answer.headers["WWW-Authenticate"].startswith("Bearer")
        bare = world.client.build_request(one.method, one.url(world.ids), json=world.body(one))
        del bare.headers["Authorization"]
        answer = await world.client.send(bare)
        assert (answer.status_code, refused(one, answer, None)["code"]) == (401, "key-missing"), one.name
