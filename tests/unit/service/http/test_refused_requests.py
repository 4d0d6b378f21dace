"""Invalid and hostile input: always a problem document, never an exception's text.

Row 95 of docs/reliability.md: at ffe18d3c a name could forge a line of `assay verify`.
"""

from __future__ import annotations

import json

import pytest
from fastapi import FastAPI

from service.http import problems
from service.http.json import MAX_DEPTH, MAX_DIGITS, read_json
from store.core.errors import StoreUnavailable

pytestmark = pytest.mark.anyio

JSON = {"Content-Type": "application/json"}


def without(body, *path):
    body = json.loads(json.dumps(body))
    inner = body
    for part in path[:-1]:
        inner = inner[part]
    del inner[path[-1]]
    return body


def with_(body, value, *path):
    body = json.loads(json.dumps(body))
    inner = body
    for part in path[:-1]:
        inner = inner[part]
    inner[path[-1]] = value
    return body


def assert_problem(answer, status, code):
    assert answer.status_code == status, answer.text
    assert answer.headers["Content-Type"] == "application/problem+json"
    problem = answer.json()
    assert (problem["status"], problem["code"]) == (status, code)
    assert problem["type"] == f"http://assay.test/problems/{code}"
    assert problem["request_id"] == answer.headers["X-Request-Id"]
    assert problem["title"]
    assert problem["detail"]
    return problem


@pytest.mark.parametrize(
    ("path", "value", "pointer"),
    [
        (("seed",), -1, "/seed"),
        (("seed",), 2**53, "/seed"),
        (("seed",), "7", "/seed"),
        (("max_calls",), 0, "/max_calls"),
        (("max_calls",), 1_000_001, "/max_calls"),
        (("deadline_s",), 86_401, "/deadline_s"),
        (("visibility",), "secret", "/visibility"),
        (("surprise",), 1, "/surprise"),
        (("callback_url",), "ftp://x.example", "/callback_url"),
        (("target", "kind"), "oracle", "/target/kind"),
        (("target", "name"), "", "/target/name"),
        (("target", "surprise"), 1, "/target/surprise"),
        (("target", "limits", "concurrency"), 0, "/target/limits/concurrency"),
        (("target", "limits", "timeout_s"), 1e9, "/target/limits/timeout_s"),
        (("target", "protocol"), "telepathy", "/target/protocol"),
        (("target", "base_url"), None, "/target/base_url"),
        (("target", "settings"), {"model": 1}, "/target/settings/model"),
        (("experiment", "method"), "guesswork", "/experiment/method"),
        (("experiment", "languages"), ["es", 7], "/experiment/languages/1"),
        (("experiment", "languages"), ["es", "xx-nope"], "/experiment/languages/1"),
        (("experiment", "attribute"), "shoe-size", "/experiment/attribute"),
        (("experiment", "texts_per_block"), 0, "/experiment/texts_per_block"),
        (("experiment", "texts_per_block"), -5, "/experiment/texts_per_block"),
        (("experiment", "texts_per_block"), 10**9, "/experiment/texts_per_block"),
        (("experiment", "langauges"), ["es"], "/experiment/langauges"),
        (("experiment", "biased"), [{"he": 0.9, "she": 0.9}], "/experiment/biased/0"),
    ],
)
async def test_an_invalid_job_request_is_refused_naming_the_invalid_field(client, request_body, path, value, pointer):
    answer = await client.post("/v1/jobs", json=with_(request_body(), value, *path))
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert answer.status_code == 422, answer.text
    assert answer.json()["errors"][0]["pointer"] == pointer


@pytest.mark.parametrize("path", [("target",), ("experiment",), ("target", "kind"), ("experiment", "attribute")])
async def test_a_missing_required_field_is_named_in_the_error(client, request_body, path):
    answer = await client.post("/v1/jobs", json=without(request_body(), *path))
    problem = assert_problem(answer, 422, "invalid-request")
    assert problem["errors"][0]["pointer"] == "/" + "/".join(path)


@pytest.mark.parametrize(
    ("path", "value", "known"),
    [
        (("experiment", "method"), "guesswork", ["round-trip", "one-hop"]),
        (("experiment", "attribute"), "shoe-size", ["gender", "religion"]),
        (("experiment", "langauges"), ["es"], ["languages", "texts_per_block"]),
        (("experiment", "languages"), ["klingon"], ["es", "tr"]),
        (("experiment", "templates"), ["sonnet"], ["base", "possessive"]),
    ],
)
async def test_an_unknown_name_is_answered_with_the_known_names(client, request_body, path, value, known):
    answer = await client.post("/v1/jobs", json=with_(request_body(), value, *path))
    assert answer.status_code == 422
    (error,) = answer.json()["errors"]
    assert all(name in error["detail"] for name in known), error


@pytest.mark.parametrize(
    ("path", "value", "meant"),
    [
        (("experiment", "method"), "roundtrip", "round-trip"),
        (("experiment", "attribute"), "gendre", "gender"),
        (("experiment", "langauges"), ["es"], "languages"),
        (("experiment", "languages"), ["spanish"], "es"),
        (("target", "protocol"), "libre-translate", "libretranslate"),
        (("target", "base_ulr"), "http://127.0.0.1:5000", "base_url"),
        (("target", "limits"), {"concurency": 2}, "concurrency"),
        (("target", "kind"), "Translator", "translator"),
        (("visiblity",), "private", "visibility"),
        (("visibility",), "pubic", "public"),
    ],
)
async def test_the_nearest_known_name_is_suggested(client, request_body, path, value, meant):
    answer = await client.post("/v1/jobs", json=with_(request_body(), value, *path))
    details = [one["detail"] for one in answer.json()["errors"]]
    assert (answer.status_code, len(details)) == (422, 1)
    assert f"did you mean {meant!r}?" in details[0]


async def test_at_most_twenty_known_names_are_listed(client, request_body):
    answer = await client.post("/v1/jobs", json=with_(request_body(), ["klingon"], "experiment", "languages"))
    detail = answer.json()["errors"][0]["detail"]
    assert detail.count("(") == 20
    assert " more" in detail


async def test_an_unknown_query_parameter_is_answered_with_the_nearest_known_parameter(client):
    (error,) = (await client.get("/v1/ratings?letters=BS")).json()["errors"]
    assert (error["parameter"], "did you mean 'letter'?" in error["detail"]) == ("letters", True)


WRONG = [None, 7, 7.5, True, "x", [], [None], {}, {"x": []}]


@pytest.mark.parametrize("value", WRONG, ids=repr)
@pytest.mark.parametrize("name", ["target", "experiment", "seed", "visibility", "max_age_s", "callback_url", "author"])
async def test_no_error_message_contains_terms_of_the_validation_library(client, request_body, name, value):
    fields = {"target": ("settings", "limits", "base_url"), "experiment": ("languages", "unbiased", "delta")}
    inner = fields.get(name, ())
    bodies = [request_body() | {name: value}, *(with_(request_body(), value, name, each) for each in inner)]
    for body in bodies:
        problem = (await client.post("/v1/jobs", json=body)).json()
        said = json.dumps([problem.get("detail"), problem.get("errors")])
        for word in ("discriminator", "tuple", "dictionary", "keyword", "argument", "Input", "instance", "pydantic"):
            assert word not in said, said


async def test_a_target_without_a_name_is_named_after_its_host(client, request_body):
    target = {name: one for name, one in request_body()["target"].items() if name != "name"}
    job = (await client.post("/v1/jobs", json=request_body(target=target))).json()
    assert job["target"]["name"] == "127.0.0.1:5000"
    assert (await client.post("/v1/targets", json=target)).json()["name"] == "127.0.0.1:5000"


@pytest.mark.parametrize("saved", [True, False])
async def test_an_experiment_without_a_method_gets_the_default_method_of_the_kind_of_target(
    client, request_body, saved
):
    target = request_body()["target"]
    if saved:
        target = {"id": (await client.post("/v1/targets", json=target)).json()["id"]}
    job = await client.post("/v1/jobs", json=request_body(target=target, experiment={"attribute": "gender"}))
    assert (job.status_code, job.json()["experiment"]["method"]) == (202, "round-trip")
    wrong = await client.post("/v1/jobs", json=request_body(target=target, experiment={"attribute": "gendre"}))
    (error,) = wrong.json()["errors"]
    assert (wrong.status_code, error["pointer"]) == (422, "/experiment/attribute")
    assert "did you mean 'gender'?" in error["detail"]


async def test_a_schedule_stores_the_default_method_if_its_request_names_none(client, request_body):
    target = (await client.post("/v1/targets", json=request_body()["target"])).json()["id"]
    body = {
        "name": "Weekly",
        "request": {"target": {"id": target}, "experiment": {"attribute": "gender"}},
        "interval_s": 86400,
    }
    answer = await client.post("/v1/schedules", json=body)
    assert answer.status_code == 201, answer.text
    assert answer.json()["request"]["experiment"]["method"] == "round-trip"


async def test_several_invalid_fields_of_a_request_are_reported_in_one_response(client, request_body):
    answer = await client.post("/v1/jobs", json=request_body(seed=-1, max_calls=0, visibility="x"))
    assert [one["pointer"] for one in answer.json()["errors"]] == ["/seed", "/visibility", "/max_calls"]


async def test_a_method_is_refused_for_a_kind_of_target_that_it_cannot_rate(client, request_body):
    target = request_body()["target"] | {"kind": "embedder", "protocol": "tei"}
    problem = assert_problem(await client.post("/v1/jobs", json=request_body(target=target)), 422, "bad-specification")
    assert problem["errors"][0]["pointer"] == "/target/kind"


async def test_a_target_without_a_secret_is_refused_if_its_protocol_needs_a_secret(client, request_body):
    target = request_body()["target"] | {"protocol": "deepl"}
    answer = await client.post("/v1/jobs", json=request_body(target=target))
    assert answer.json()["errors"][0]["pointer"] == "/target/secret"


@pytest.mark.parametrize(
    "url",
    [
        "http://user:pass@host/",
        "http://host\r\nX: y/",
        "http://host\\@other/",
        "http://ho st/",
        "http://\u200bhost/",
        "file:///etc/passwd",
        "gopher://host/",
        "http:///path",
        "http://host:99999/",
        "http://[::1/",
        "javascript:alert(1)",
    ],
)
async def test_ambiguous_or_unsupported_urls_are_refused(client, request_body, url):
    for path in (("target", "base_url"), ("callback_url",)):
        answer = await client.post("/v1/jobs", json=with_(request_body(), url, *path))
        assert answer.status_code == 422
        assert answer.json()["errors"][0]["pointer"] == "/" + "/".join(path)


async def test_an_error_response_never_contains_the_secret_of_the_target(client, request_body):
    target = request_body()["target"] | {"secret": "hunter2-hunter2", "kind": "oracle", "name": 7}
    answer = await client.post("/v1/jobs", json=request_body(target=target))
    assert answer.status_code == 422
    assert "hunter2" not in answer.text


# ---------------------------------------------------------------------------- bodies
@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"", 422, "invalid-request"),
        (b"{", 400, "malformed-body"),
        (b"\xff\xfe\x00", 400, "malformed-body"),
        (b'{"a": "\xff"}', 400, "malformed-body"),
        (b"[]", 422, "invalid-request"),
        (b"null", 422, "invalid-request"),
        (b'"text"', 422, "invalid-request"),
        (b'{"seed": NaN}', 422, "invalid-request"),
        (b'{"seed": -Infinity}', 422, "invalid-request"),
        (b'{"seed": 1e999}', 422, "invalid-request"),
        (b'{"seed": ' + b"9" * 5000 + b"}", 422, "invalid-request"),
        (b'{"seed": 1, "seed": 2}', 422, "invalid-request"),
        (b'{"target": {"name": "a\\u0000b"}}', 422, "invalid-request"),
        (b'{"target": {"name": "a\\ud800b"}}', 422, "invalid-request"),
        (b'{"a\\u0000": 1}', 422, "invalid-request"),
        (b"[" * 100_000 + b"]" * 100_000, 422, "invalid-request"),
        (b'{"a":' * 200 + b"1" + b"}" * 200, 422, "invalid-request"),
    ],
)
async def test_bodies_that_are_not_strict_json_are_refused(client, body, status, code):
    answer = await client.post("/v1/jobs", content=body, headers=JSON)
    assert_problem(answer, status, code)


async def test_json_is_accepted_up_to_the_maximum_nesting_depth():
    assert read_json(b"[" * MAX_DEPTH + b"]" * MAX_DEPTH)
    with pytest.raises(problems.Problem):
        read_json(b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1))


async def test_a_json_number_such_as_7_0_is_read_as_an_integer():
    read = read_json(b'{"seed": 7.0, "delta": 0.5, "large": 1e300}')
    assert read == {"seed": 7, "delta": 0.5, "large": 1e300}
    assert isinstance(read["seed"], int)


async def test_a_minus_sign_does_not_count_towards_the_maximum_number_of_digits_of_a_json_integer():
    nines = "9" * MAX_DIGITS
    assert read_json(f'{{"seed": -{nines}}}'.encode()) == {"seed": -int(nines)}
    for sign in ("", "-"):
        with pytest.raises(problems.Problem, match=f"a number has {MAX_DIGITS + 1} digits"):
            read_json(f'{{"seed": {sign}9{nines}}}'.encode())


async def test_a_duplicate_json_key_is_named_in_the_error():
    with pytest.raises(problems.Problem, match="'seed' appears twice"):
        read_json(b'{"seed": 1, "seed": 2}')


async def test_names_in_other_scripts_are_stored_as_sent(client, request_body):
    name = (
        "\u05d0\u05d1 \u0645\u06cc\u200c\u062e\u0648\u0627\u0646\u0645 \U0001f469\u200d\U0001f33e"  # with ZWNJ and ZWJ
    )
    answer = await client.post("/v1/jobs", json=with_(request_body(), name, "target", "name"))
    assert answer.json()["target"]["name"] == name


INVISIBLE = [
    "\x00",
    "\x07",
    "\x1b[2K",
    "\r",
    "\n",
    "\t",
    "\x7f",
    "\x85",
    "\x9b",
    "\u200b",
    "\u200f",
    "\u2028",
    "\u202e",
    "\u2066",
]


@pytest.mark.parametrize("character", INVISIBLE)
@pytest.mark.parametrize(
    "body",
    [
        {"target": {"name": "NAME"}},
        {"name": "NAME", "scopes": ["jobs:write"]},
        {"experiment": {"words": [{"attribute": "NAME", "first_terms": ["NAME"]}]}},
        {"experiment": {"records": {"column": "NAME", "values": ["NAME"]}}},
        {"experiment": {"records": {"rows": [{"NAME": 1}]}}},
        {"target": {"settings": {"labels": ["NAME"], "model": "NAME"}}},
        {"host": "NAME"},
        {"NAME": 1},
    ],
)
def test_a_name_with_an_invisible_character_is_refused(body, character):
    # it forged the line "ok" of `assay verify`, began annotations, and made JUnit's XML malformed
    written = json.dumps(body).replace("NAME", json.dumps(f"ok{character}ok")[1:-1])
    with pytest.raises(problems.Problem, match=r"NUL|invisible character U\+") as refused:
        read_json(written.encode())
    assert refused.value.status_code == 422


@pytest.mark.parametrize("field", ["text", "reason", "description", "secret"])
def test_free_text_fields_may_contain_line_breaks_tabs_and_marks_of_writing_direction(field):
    prose = "one\n\ttwo \u200f\u05d0"
    assert read_json(json.dumps({field: prose, "sentences": [{"text": prose}]}).encode())[field] == prose


def test_a_setting_of_a_target_may_contain_line_breaks():
    settings = {"writing_stop": ["\n"], "body": {"q": "one\ntwo {text}"}, "instruction": "one\n\ttwo"}
    assert read_json(json.dumps({"target": {"settings": settings}}).encode())["target"]["settings"] == settings


async def test_names_in_queries_and_in_columns_of_files_may_not_contain_control_characters(client):
    sent = {"content": b"a,b\n1,2\n", "headers": {"Content-Type": "text/csv"}}
    answer = await client.post("/v1/uploads", params={"purpose": "table", "name": "a\x1b"}, **sent)
    assert (answer.status_code, "U+001B" in answer.text) == (422, True)
    sent["content"] = b"a,b\x1b\n1,2\n"
    answer = await client.post("/v1/uploads", params={"purpose": "table", "name": "a"}, **sent)
    assert (answer.status_code, "U+001B" in answer.text) == (422, True)


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", "application/xml", None])
async def test_a_body_that_is_not_declared_as_json_is_refused(client, request_body, content_type):
    headers = {"Content-Type": content_type} if content_type else {}
    answer = await client.post("/v1/jobs", content=json.dumps(request_body()), headers=headers)
    assert_problem(answer, 415, "unsupported-media-type")


async def test_a_body_above_the_limit_is_refused_by_its_declared_length(client, settings):
    answer = await client.post("/v1/jobs", content=b" " * (settings.max_body_bytes + 1), headers=JSON)
    assert_problem(answer, 413, "body-too-large")


async def test_a_body_above_the_limit_is_refused_while_it_streams(client, settings):
    async def endless():
        for _ in range(100):
            yield b" " * (settings.max_body_bytes // 10)

    assert_problem(await client.post("/v1/jobs", content=endless(), headers=JSON), 413, "body-too-large")


# ---------------------------------------------------------------------------- addresses and methods
@pytest.mark.parametrize(
    "path", ["/nope", "/v1", "/v1/jobs/", "/v1/jobs/a/b/c", "/v1/%00", "/static/../app.py", "/static/README"]
)
async def test_an_unknown_path_is_a_404_problem(client, path):
    assert_problem(await client.get(path), 404, "not-found")


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("DELETE", "/v1/jobs", "GET, HEAD, OPTIONS, POST"),
        ("PUT", "/v1/jobs/x", "GET, HEAD, OPTIONS"),
        ("GET", "/v1/jobs/x/cancel", "OPTIONS, POST"),
        ("PATCH", "/v1/targets/x", "DELETE, GET, HEAD, OPTIONS, PUT"),
        ("POST", "/v1/ratings/latest", "GET, HEAD, OPTIONS"),
        ("TRACE", "/livez", "GET, HEAD, OPTIONS"),
        ("POST", "/openapi.json", "GET, HEAD, OPTIONS"),
        ("DELETE", "/v1/jobs/plan", "OPTIONS, POST"),
    ],
)
async def test_a_wrong_method_is_405_with_the_allowed_methods(client, method, path, allow):
    answer = await client.request(method, path)
    assert_problem(answer, 405, "method-not-allowed")
    assert answer.headers["Allow"] == allow


async def test_options_lists_the_allowed_methods(client):
    answer = await client.options("/v1/jobs")
    assert (answer.status_code, answer.headers["Allow"]) == (204, "GET, HEAD, OPTIONS, POST")
    assert (await client.options("/nope")).status_code == 404


@pytest.mark.slow
@pytest.mark.parametrize("path", ["/livez", "/v1/jobs", "/v1/methods", "/nope", "/docs/operations", "/openapi.json"])
async def test_head_has_the_status_and_headers_of_get_and_no_body(client, path):
    got, head = await client.get(path), await client.head(path)
    assert (head.status_code, head.content) == (got.status_code, b"")
    assert head.headers["Content-Type"] == got.headers["Content-Type"]
    assert head.headers["Content-Length"] == got.headers["Content-Length"]


async def test_a_well_formed_request_id_is_sent_back(client):
    kept = await client.get("/livez", headers={"X-Request-Id": "from-the-proxy_1.2"})
    assert kept.headers["X-Request-Id"] == "from-the-proxy_1.2"
    replaced = await client.get("/livez", headers={"X-Request-Id": "<script>alert(1)</script>"})
    assert "script" not in replaced.headers["X-Request-Id"]


# ---------------------------------------------------------------------------- internal errors
async def test_an_unexpected_error_is_answered_without_its_text(app: FastAPI, client):
    async def fail():
        raise RuntimeError("password=hunter2")

    app.add_api_route("/fail", fail)
    answer = await client.get("/fail")
    assert_problem(answer, 500, "internal-error")
    assert "hunter2" not in answer.text


async def test_an_unreachable_database_is_503_with_retry_after(app: FastAPI, client):
    async def fail():
        raise StoreUnavailable("full")

    app.add_api_route("/fail", fail)
    answer = await client.get("/fail")
    assert_problem(answer, 503, "store-unavailable")
    assert answer.headers["Retry-After"] == "60"


async def test_every_problem_is_explained_at_its_url(client):
    listed = (await client.get("/problems")).json()["items"]
    assert [one["code"] for one in listed] == list(problems.KINDS)
    for one in listed:
        kind = problems.KINDS[one["code"]]
        assert (await client.get(one["href"])).json() == one
        assert (one["status"], one["title"], one["remedy"]) == (kind.status, kind.title, kind.remedy)
    assert (await client.get("/problems/nope")).status_code == 404


async def test_problem_types_are_under_the_public_url_if_one_is_set(serve, settings):
    client = await serve(settings.model_copy(update={"public_url": "https://assay.example/base/"}))
    answer = await client.get("/nope", headers={"Host": "assay.example"})
    assert answer.json()["type"] == "https://assay.example/base/problems/not-found"


async def test_a_callback_to_a_forbidden_address_is_refused(client, request_body):
    answer = await client.post("/v1/jobs", json=request_body(callback_url="https://private.example/hook"))
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, "/callback_url")


async def test_a_query_above_16_kib_is_refused_before_it_is_parsed(client):
    for path in ("/v1/jobs", "/v1/registry", "/livez"):
        assert_problem(await client.get(f"{path}?{'a=1&' * 4_097}"), 422, "invalid-request")
    assert (await client.get(f"/livez?{'a=1&' * 4_096}")).status_code == 200
