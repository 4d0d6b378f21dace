"""Both clients do what the OpenAPI document says: every operation, every parameter, and nothing else."""

from __future__ import annotations

import asyncio
import builtins
import inspect
import json
import keyword
import re
import typing

import pytest

from assay_client import AsyncClient, Client, calls, documents
from assay_client.async_operations import AsyncOperations
from assay_client.connection import RatingOptions
from assay_client.operations import Operations
from proving import make_client
from tools import openapi_document

WRITTEN = {
    "idempotency-key": "idempotency_key",
    "prefer": "wait_s",
    "last-event-id": "last_event_id",
    "if-match": "if_match",
}


@pytest.fixture(scope="module")
def document(tmp_path_factory):
    place = tmp_path_factory.mktemp("openapi") / "openapi.json"
    openapi_document.main(str(place))
    return json.loads(place.read_text())


@pytest.fixture(scope="module")
def described(document):
    return {
        re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", one["operationId"]).lower(): (method.upper(), path, one)
        for path, item in document["paths"].items()
        for method, one in item.items()
    }


def python_name(parameter) -> str:
    if parameter["in"] == "header":
        return WRITTEN[parameter["name"].lower()]
    name = parameter["name"]
    return f"{name}_" if keyword.iskeyword(name) or hasattr(builtins, name) else name


def public(kind) -> set[str]:
    return {name for name in vars(kind) if not name.startswith("_")}


def test_the_modules_that_the_api_decides_are_up_to_date():
    for name, source in make_client.made().items():
        kept = (make_client.PLACE / name).read_text(encoding="utf-8")
        assert kept == source, f"assay_client/{name} is not what the API says: run python -m proving.make_client"


def test_every_operation_has_a_method_and_every_method_has_an_operation(described):
    lists = {
        f"iter_{name.removeprefix('list_')}"
        for name, (_, _, one) in described.items()
        if "cursor" in [each["name"] for each in one.get("parameters", ())]
    }
    assert public(Operations) == public(AsyncOperations) == set(described) | lists
    own = {"rate", "wait_for_job", "wait_for_suite", "request", "close"}
    assert public(Client) == public(AsyncClient) == own


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_every_method_takes_what_its_operation_takes(described, kind):
    for name, (_, _, one) in described.items():
        taken = dict(inspect.signature(getattr(kind, name)).parameters)
        del taken["self"]
        wanted = {python_name(each): bool(each.get("required")) for each in one.get("parameters", ())}
        if media := one.get("requestBody", {}).get("content"):
            wanted |= {"body": True} if "application/json" in media else {"content": True, "content_type": True}
        assert {each: taken[each].default is inspect.Parameter.empty for each in taken} == wanted, name


def test_every_call_sends_each_argument_where_its_operation_wants_it(described):
    for name, (method, path, one) in described.items():
        parameters = {python_name(each): each for each in one.get("parameters", ())}
        given = {python: 7 if python == "wait_s" else f"<{python}>" for python in parameters}
        body = one.get("requestBody", {}).get("content", {})
        more = (
            {"body": {"a": 1}} if "application/json" in body else {"content": b"a", "content_type": "b"} if body else {}
        )
        call = getattr(calls, name)(**given, **more)
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


def test_every_shape_has_the_fields_of_its_schema(document):
    by_python = documents.__dict__
    rating = document["components"]["schemas"]["RatingView"]
    assert set(by_python["Rating"].__annotations__) == set(rating["properties"])
    assert by_python["Rating"].__required_keys__ >= {"id", "letter", "declared"}
    shapes = [one for one in vars(documents).values() if typing.is_typeddict(one)]
    objects = [one for one in document["components"]["schemas"].values() if "properties" in one]
    assert len(shapes) == len(objects)
    for one in shapes:
        typing.get_type_hints(one)  # every name in it is defined


def test_what_rate_takes_beside_target_and_experiment_is_what_a_request_has():
    hints = typing.get_type_hints(documents.RatingRequest, include_extras=False)
    del hints["target"], hints["experiment"]
    assert typing.get_type_hints(RatingOptions) == hints


@pytest.mark.parametrize("bad", ["", ".", ".."])
def test_an_id_that_would_name_another_resource_is_refused(bad):
    with pytest.raises(ValueError, match="names no resource"):
        calls.get_rating(bad)


def test_an_id_stays_one_segment_whatever_is_in_it():
    assert calls.get_rating("../keys?a=b#c").path == "/v1/ratings/..%2Fkeys%3Fa%3Db%23c"


@pytest.mark.parametrize("bad", ["127.0.0.1:8000", "localhost", "ftp://x", "http://", ""])
def test_an_address_that_is_none_is_refused_at_once(bad):
    with pytest.raises(ValueError, match="looks like http"):
        Client(bad)


@pytest.mark.parametrize("bad", ["", " ", "assay_a\nX-Other: b", "schlüssel"])
def test_a_key_that_is_none_is_refused_and_not_shown(bad):
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
