"""Both clients match openapi.json: every operation, every parameter, and nothing else."""

from __future__ import annotations

import asyncio
import builtins
import importlib.util
import inspect
import json
import keyword
import re
import typing
from pathlib import Path

import pytest

from assay_client import AsyncClient, Client, documents
from assay_client.call import Call
from assay_client.exchange import Patience
from assay_client.operations import AsyncOperations, Operations
from assay_client.waiting import finished_job, finished_suite, new_rating

ROOT = Path(__file__).resolve().parents[1]
ARGUMENTS = {
    "idempotency-key": "idempotency_key",
    "prefer": "wait_s",
    "last-event-id": "last_event_id",
    "if-match": "if_match",
}


@pytest.fixture(scope="module")
def document():
    return json.loads((ROOT / "openapi.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def described(document):
    return {
        re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", one["operationId"]).lower(): (method.upper(), path, one)
        for path, item in document["paths"].items()
        for method, one in item.items()
    }


class Calls(Operations):
    """Operations that return the call instead of sending it."""

    def _send(self, call):
        return call

    _pages = _events = _send


class AsyncCalls(AsyncOperations):
    async def _send(self, call):
        return call

    def _pages(self, call):
        return call

    _events = _pages


def python_name(parameter) -> str:
    if parameter["in"] == "header":
        return ARGUMENTS[parameter["name"].lower()]
    name = parameter["name"]
    return f"{name}_" if keyword.iskeyword(name) or hasattr(builtins, name) else name


def public(kind) -> set[str]:
    return {name for name in vars(kind) if not name.startswith("_")}


def test_generated_modules_are_up_to_date():
    spec = importlib.util.spec_from_file_location("build_operations", ROOT / "build_operations.py")
    generator = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generator)
    package = Path(documents.__file__).parent
    async_client = (package / "async_client.py").read_text("utf-8")
    generated = generator.modules(json.loads((ROOT / "openapi.json").read_text("utf-8")), async_client)
    for name, source in generated.items():
        assert (package / name).read_text("utf-8") == source, f"{name} is not as generated now: run `make client`"


def test_the_generated_client_is_synchronous_and_documented_like_the_asynchronous_one():
    source = Path(inspect.getfile(Client)).read_text("utf-8")
    assert not re.search(r"\basync(?!hronous)|await", source)
    for name in ("rate", "wait_for_job", "wait_for_suite", "request", "close"):
        method, async_method = getattr(Client, name), getattr(AsyncClient, name)
        assert inspect.signature(method) == inspect.signature(async_method)
        assert method.__doc__ == async_method.__doc__
        assert inspect.iscoroutinefunction(async_method)
        assert not inspect.iscoroutinefunction(method)


def test_every_operation_of_the_api_has_a_client_method_and_vice_versa(described):
    lists = {
        f"iter_{name.removeprefix('list_')}"
        for name, (_, _, one) in described.items()
        if "cursor" in [each["name"] for each in one.get("parameters", ())]
    }
    assert public(Operations) == public(AsyncOperations) == set(described) | lists
    own = {"rate", "wait_for_job", "wait_for_suite", "request", "close"}
    assert public(Client) == public(AsyncClient) == own


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_every_method_takes_the_parameters_of_its_operation(described, kind):
    for name, (_, _, one) in described.items():
        taken = dict(inspect.signature(getattr(kind, name)).parameters)
        del taken["self"]
        wanted = {python_name(each): bool(each.get("required")) for each in one.get("parameters", ())}
        if media := one.get("requestBody", {}).get("content"):
            wanted |= {"body": True} if "application/json" in media else {"content": True, "content_type": True}
        assert {each: taken[each].default is inspect.Parameter.empty for each in taken} == wanted, name


def test_the_asynchronous_and_the_synchronous_client_have_the_same_method_signatures():
    for name in public(Operations):
        signature = str(inspect.signature(getattr(Operations, name))).replace("-> 'Iterator[", "-> 'AsyncIterator[")
        assert str(inspect.signature(getattr(AsyncOperations, name))) == signature


@pytest.mark.parametrize("kind", [Calls, AsyncCalls])
def test_every_method_sends_each_argument_in_the_path_query_header_or_body_of_openapi_json(described, kind):
    for name, (method, path, one) in described.items():
        parameters = {python_name(each): each for each in one.get("parameters", ())}
        given = {python: 7 if python == "wait_s" else f"<{python}>" for python in parameters}
        body = one.get("requestBody", {}).get("content", {})
        more = (
            {"body": {"a": 1}} if "application/json" in body else {"content": b"a", "content_type": "b"} if body else {}
        )
        call = getattr(kind(), name)(**given, **more)
        call = call if isinstance(call, Call) else asyncio.run(call)
        assert call.method == method
        assert call.path == re.sub(r"\{(\w+)\}", r"%3C\1%3E", path)
        sent = {
            "query": {each["name"]: given[python] for python, each in parameters.items() if each["in"] == "query"},
            "header": {
                each["name"]: "wait=7" if python == "wait_s" else given[python]
                for python, each in parameters.items()
                if each["in"] == "header"
            },
        }
        if "content" in more:
            sent["header"]["content-type"] = "b"
        assert call.query == sent["query"], name
        assert {header.lower(): value for header, value in call.headers.items()} == sent["header"], name
        assert (call.json, call.content) == (more.get("body"), more.get("content")), name


def test_each_iter_method_sends_the_same_request_as_its_list_method(described):
    for name in public(Operations):
        if name.startswith("iter_"):
            named = name.replace("iter_", "list_", 1)
            listed = named if named in described else name.removeprefix("iter_")
            path = described[listed][1]
            given = {one: f"<{one}>" for one in re.findall(r"\{(\w+)\}", path)}
            required = [each for each in described[listed][2]["parameters"] if each.get("required")]
            given |= {python_name(each): f"<{python_name(each)}>" for each in required}
            assert getattr(Calls(), name)(**given, limit=3) == getattr(Calls(), listed)(**given, limit=3)


def test_methods_that_wait_for_a_result_send_the_same_requests_as_the_generated_methods():
    def first(flow) -> tuple[object, ...]:
        return described(next(flow))

    def described(call) -> tuple[object, ...]:
        return (call.method, call.path, {k: v for k, v in call.headers.items() if v}, call.json)

    calls, patience, body = Calls(), Patience(), {"target": {}, "experiment": {}}
    assert first(finished_job("job_1", None, patience, lambda: 0.0)) == described(calls.get_job("job_1", wait_s=30))
    assert first(finished_suite("ste_1", None, patience, lambda: 0.0)) == described(calls.get_suite("ste_1", wait_s=30))
    assert first(new_rating({}, {}, {"idempotency_key": "key", "timeout_s": 1.0}, patience)) == described(
        calls.request_rating(body, idempotency_key="key")
    )


def test_every_type_has_the_fields_of_its_schema(document):
    by_python = documents.__dict__
    rating = document["components"]["schemas"]["RatingView"]
    assert set(by_python["Rating"].__annotations__) == set(rating["properties"])
    assert by_python["Rating"].__required_keys__ >= {"id", "letter", "declared"}
    types = [one for one in vars(documents).values() if typing.is_typeddict(one) and one is not documents.RatingOptions]
    objects = [one for one in document["components"]["schemas"].values() if "properties" in one]
    assert len(types) == len(objects)
    for one in types:
        typing.get_type_hints(one)  # raises NameError if an annotation names something undefined


def test_the_function_rate_has_an_option_for_every_field_of_a_rating_request():
    hints = typing.get_type_hints(documents.RatingRequest, include_extras=False)
    del hints["target"], hints["experiment"]
    assert typing.get_type_hints(documents.RatingOptions) == hints
    assert documents.RatingOptions.__required_keys__ == frozenset()


@pytest.mark.parametrize("bad", ["", ".", ".."])
def test_an_empty_or_dot_id_that_would_address_another_resource_is_refused(bad):
    with pytest.raises(ValueError, match="does not name a resource"):
        Calls().get_rating(bad)


def test_any_id_is_escaped_to_one_path_segment():
    assert Calls().get_rating("../keys?a=b#c").path == "/v1/ratings/..%2Fkeys%3Fa%3Db%23c"


@pytest.mark.parametrize("bad", ["127.0.0.1:8000", "localhost", "ftp://x", "http://", ""])
def test_a_malformed_address_is_refused_before_any_call(bad):
    with pytest.raises(ValueError, match="looks like http"):
        Client(bad)


def test_an_address_that_cannot_be_parsed_is_refused_before_any_call():
    with pytest.raises(ValueError, match="is not an address: Invalid port"):
        Client("http://127.0.0.1:port")


@pytest.mark.parametrize("bad", ["", " ", "assay_a\nX-Other: b", "schlüssel"])
def test_a_malformed_key_is_refused_and_not_shown(bad):
    with pytest.raises(ValueError, match="one line of visible") as refused:
        Client("http://127.0.0.1:1", bad)
    assert not bad.strip() or bad not in str(refused.value)


def test_both_clients_close_their_connections():
    with Client("http://127.0.0.1:1") as client:
        pass
    assert client._http.is_closed

    async def go():
        async with AsyncClient("http://127.0.0.1:1") as client:
            pass
        return client

    assert asyncio.run(go())._http.is_closed
