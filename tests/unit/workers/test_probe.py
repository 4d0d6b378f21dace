"""A probe shows one exchange with a service without its key, and the parsed answer."""

import asyncio
import json
import textwrap

import pytest

from assay.model import Embed
from workers.egress import Egress
from workers.probe import probe
from workers.targets.registry import read_target

SECRET = "sk-never-shown-5a61bd"
TRANSLATOR = {"kind": "translator", "protocol": "custom"}
ASKED = {"path": "/t", "body": {"q": "{text}"}, "output": "said"}


def probed(wire, answer, written, secret=None, **more):
    async def go():
        async with wire.listening(answer) as service, Egress(wire.loopback) as egress:
            target = read_target({"name": "it", "base_url": service.url, "secret": secret, **written})
            return await probe(target, egress, **more), service.heard

    return asyncio.run(go())


def echo(wire, **more):
    def answer(heard):
        sent = {"headers": heard.headers, "target": heard.target, "body": heard.body.decode()}
        return wire.as_json({"said": "El 211", "sent": sent, **more})

    return answer


def test_a_probe_shows_the_request_the_response_and_the_parsed_answer(wire):
    found, heard = probed(wire, lambda _: wire.as_json({"said": "La casa 211"}), {**TRANSLATOR, "settings": ASKED})
    assert (found.reading, found.code, found.cause, found.remedy) == ("La casa 211", None, "", "")
    assert json.loads(found.exchange.request.body) == heard[0].json
    assert (found.exchange.request.method, found.exchange.response.status) == ("POST", 200)
    assert found.exchange.request.url.endswith("/t")
    assert len(heard) == found.exchanges == 1
    assert 0 < found.latency_s < 5
    assert found.capability is None


@pytest.mark.parametrize(
    "settings",
    [
        {"auth": "header"},
        {"auth": "header", "auth_name": "X-Plain", "auth_value": "{secret}"},
        {"auth": "query", "auth_name": "plain", "auth_value": "{secret}"},
        {"auth": "body", "auth_name": "plain", "auth_value": "{secret}"},
    ],
)
def test_the_key_is_masked_in_the_request_and_in_a_response_that_repeats_it(wire, settings):
    found, heard = probed(wire, echo(wire), {**TRANSLATOR, "settings": ASKED | settings}, SECRET)
    sent = f"{heard[0].headers} {heard[0].target} {heard[0].body!r}"
    assert SECRET in sent
    shown = json.dumps(found.as_json())
    assert SECRET not in shown
    assert "***" in shown


def test_an_access_token_in_an_answer_is_masked_by_the_name_of_its_field(wire):
    answer = echo(wire, access_token="derived-4711", tokens=["la", "casa"], token="la")
    found, _ = probed(wire, answer, {**TRANSLATOR, "settings": ASKED})
    assert "derived-4711" not in found.exchange.response.body
    assert '"token": "la"' in found.exchange.response.body


@pytest.mark.parametrize("repeat", ["headers", "text", "cookie"])
def test_an_access_token_that_a_service_repeats_is_masked(wire, repeat):
    token = "derived.tok-4711-ABCDEFGH"
    repeated = {
        "headers": lambda heard: {"said": "211", "headers": heard.headers},
        "text": lambda heard: {"said": "211", "note": f"you sent <{heard.headers['authorization']}>"},
        "cookie": lambda _: {
            "said": "211",
            "Set-Cookie": "session=derived.tok-4711-ABCDEFGH",
            "cookie": "derived.tok-x",
        },
    }[repeat]

    def answer(heard):
        return wire.as_json({"access_token": token} if heard.path == "/token" else repeated(heard))

    async def go():
        async with wire.listening(answer) as service, Egress(wire.loopback) as egress:
            auth = {"type": "oauth2", "token_url": f"{service.url}/token", "client_id": "assay"}
            written = {**TRANSLATOR, "name": "it", "base_url": service.url, "settings": ASKED | {"auth": auth}}
            return await probe(read_target({**written, "secret": SECRET}), egress)

    found = asyncio.run(go())
    assert (found.code, found.exchange.response.status) == (None, 200)
    assert "derived" not in json.dumps(found.as_json())


def test_a_probe_shortens_a_long_response_body_and_states_its_size(wire):
    found, _ = probed(wire, lambda _: wire.as_json({"said": "211 " + "x" * 9000}), {**TRANSLATOR, "settings": ASKED})
    assert len(found.exchange.response.body) == 2001
    assert found.exchange.response.size > 9000


def test_a_secret_key_that_straddles_the_end_of_a_shortened_response_is_masked(wire):
    padding = "x" * (2000 - len('{"said": "') - 10)
    answer = wire.as_json({"said": padding + SECRET})
    settings = ASKED | {"auth": "header"}
    found, _ = probed(wire, lambda _: answer, {**TRANSLATOR, "settings": settings}, SECRET)
    assert SECRET[:10] not in found.exchange.response.body


def test_a_chat_model_is_probed_with_a_choice_between_options(wire):
    said = {"choices": [{"message": {"content": "A"}, "finish_reason": "stop"}]}
    written = {"kind": "language-model", "protocol": "openai-chat", "settings": {"model": "m"}}
    found, heard = probed(wire, lambda _: wire.as_json(said), written)
    assert len(heard) == 1
    assert "colour" in found.question
    assert json.loads(found.reading)["choice"] == 0


def test_a_probe_asks_the_first_question_of_the_experiment(wire):
    settings = {"body": {"q": "{text}"}, "output": "vector"}
    written = {"kind": "embedder", "protocol": "custom", "settings": settings}
    answer = wire.as_json({"vector": [0.5, 0.25]})
    found, heard = probed(wire, lambda _: answer, written, asks=[Embed("nurse")])
    assert heard[0].json == {"q": "nurse"}
    assert found.reading == "2 numbers: 0.5, 0.25"


def test_a_probe_of_a_forbidden_address_sends_no_request_and_names_the_option_that_permits_it(wire):
    async def go():
        async with Egress(()) as egress:
            target = read_target({**TRANSLATOR, "base_url": "http://127.0.0.1:9", "settings": ASKED})
            return await probe(target, egress)

    found = asyncio.run(go())
    assert (found.code, found.latency_s) == ("refused-address", None)
    assert found.exchange.response is None
    assert "--egress-allow" in found.remedy


def test_a_probe_that_examines_the_service_also_reports_its_capability(wire):
    def answer(heard):
        return wire.as_json({"said": heard.json["q"].replace("The house has the number", "La casa tiene el número")})

    found, heard = probed(wire, answer, {**TRANSLATOR, "settings": ASKED}, examine=True)
    assert found.capability["deterministic"] is True
    assert len(heard) == found.exchanges == found.capability["calls"] + 1


def test_a_probe_whose_check_of_the_service_fails_shows_the_response_that_failed(wire):
    answers = iter(["El 211", ""] + ["El 211"] * 9)
    found, _ = probed(
        wire, lambda _: wire.as_json({"said": next(answers)}), {**TRANSLATOR, "settings": ASKED}, examine=True
    )
    assert found.capability is None
    assert (found.code, found.reading) == ("empty", "El 211")
    assert found.exchange.response.body == '{"said": ""}'


def test_an_uploaded_embedding_is_reported_as_impossible_to_probe():
    async def go():
        async with Egress(()) as egress:
            target = read_target({"kind": "embedder", "protocol": "uploaded", "settings": {"upload": "sha256:0"}})
            return await probe(target, egress)

    found = asyncio.run(go())
    assert (found.code, found.exchange, found.remedy) == ("unsupported", None, "It can be rated, but not probed.")


def test_the_services_message_is_a_field_without_the_key_and_cut_at_300_characters(wire):
    said = f"no quota for key {SECRET} \x1b[31m" + "and so on " * 60
    written = {**TRANSLATOR, "settings": {**ASKED, "auth": "header"}}
    found, _ = probed(wire, lambda _: wire.as_json({"error": {"message": said}}, "400 Bad Request"), written, SECRET)
    assert found.service_said.startswith("no quota for key *** and so on")
    assert len(found.service_said) == 300
    assert found.service_said in found.as_json().values()


def test_a_service_that_gives_no_message_is_not_quoted(wire):
    found, _ = probed(wire, lambda _: wire.as_json({"other": 1}), {**TRANSLATOR, "settings": ASKED})
    assert (found.code, found.service_said) == ("wrong-shape", None)


BODY = {"path": "/t", "body": {"q": "{text}"}}
MISTAKES = {
    "an error with the status 200": ({}, b'{"error": {"message": "quota of April is used up"}}', {}, "quota of April"),
    "an empty answer": ({}, b"", {}, "settings.path, settings.method and settings.body"),
    "a stream of events": (
        {},
        b'event: part\ndata: {"delta": {"text": "La"}}\n\n',
        {},
        '"events", settings.output = "delta.text"',
    ),
    "a stream of events that is read as text": (
        {"response": "text"},
        b'data: {"delta": {"text": "La casa 211"}}\n\n',
        {},
        'Set settings.response = "events", settings.output = "delta.text"',
    ),
    "plain text": ({}, b"La casa 211", {}, 'settings.response = "text"'),
    "XML": ({}, b"<?xml version='1.0'?><t>La casa 211</t>", {}, "application/json"),
    "an answer that comes later": (
        {"status": "202 Accepted"},
        b'{"job": {"id": "j1", "state": "QUEUED"}}',
        {},
        'id = "job.id", status = "job.state", path = "/t/{id}"',
    ),
    "a proxy's page": (
        {"status": "403 Forbidden"},
        b"<html><title>Blocked by the firewall</title></html>",
        {},
        "Blocked by the firewall",
    ),
    "a gateway's page": ({"status": "502 Bad Gateway"}, b"<html><title>Bad gateway</title></html>", {}, "base_url"),
    "a compressed answer": ({"Content_Encoding": "gzip"}, b"\x1f\x8bgarbage", {}, "Turn compression off"),
    "an id in place of a translation": ({}, b'{"id": "j1", "status": "ok"}', {}, "settings.body"),
    "http to a port for https": (
        {"status": "400 Bad Request"},
        b"Client sent an HTTP request to an HTTPS server.",
        {},
        "https://",
    ),
    "a connection closed without an answer": (None, b"", {}, "https://"),
    "a wrong AWS signature": (
        {"status": "403 Forbidden"},
        b'{"message": "The request signature we calculated does not match the signature you provided."}',
        {"auth": {"type": "aws-sigv4", "service": "translate", "region": "eu-west-1"}},
        "service and region in settings.auth",
    ),
}
"""By mistake: headers and body of the answer, settings to add, and a part of the advice that must be shown."""


async def closes(_, writer):
    writer.close()


@pytest.mark.parametrize("name", MISTAKES)
def test_a_failed_probe_is_reported_with_its_remedy_in_three_lines_at_most(wire, name):
    form, body, settings, advice = MISTAKES[name]
    written = {**TRANSLATOR, "settings": BODY | settings}
    answer = closes if form is None else wire.raw(body, **form)
    found, _ = probed(wire, lambda _: answer, written, "an-id:a-secret-key" if "auth" in settings else None)
    assert found.code is not None
    assert advice in f"{found.cause} {found.remedy}"
    assert len(textwrap.wrap(found.cause, 92) + textwrap.wrap(found.remedy, 92)) <= 3


@pytest.mark.parametrize(
    ("said", "doubt"),
    [
        ("", "empty"),
        ("The house has the number 211.", "the sentence itself"),
        ("Ich kann diese Anfrage nicht beantworten.", "lacks the number"),
        ("2.0", "lacks the number"),
        ("La casa tiene el número 211.", ""),
        ("房子的号码是２１１。", ""),
    ],
)
def test_an_answer_that_does_not_look_like_a_translation_is_reported_with_a_remedy(wire, said, doubt):
    found, _ = probed(wire, lambda _: wire.as_json({"said": said}), {**TRANSLATOR, "settings": ASKED})
    assert (found.code, found.reading) == (None, said)
    assert doubt in found.cause
    assert bool(found.remedy) == bool(doubt)


def test_an_asynchronous_answer_that_never_counts_as_done_is_reported_with_the_setting_to_change(wire):
    answer = wire.as_json({"id": "j1", "status": "FINISHED", "said": "La casa 211"})
    written = {
        **TRANSLATOR,
        "settings": ASKED | {"poll": {"path": "/t/{id}", "interval_s": 0.05}},
        "limits": {"timeout_s": 0.3},
    }
    found, _ = probed(wire, lambda _: answer, written)
    assert found.code == "timeout"
    assert "settings.poll.done" in found.remedy


def test_a_refused_oauth_client_is_reported_as_a_failure_to_get_a_token(wire):
    async def go():
        async with wire.listening(lambda _: wire.as_json({"error": "invalid_client"}, "401 Unauthorized")) as service:
            auth = {"type": "oauth2", "token_url": f"{service.url}/token", "client_id": "me"}
            written = {**TRANSLATOR, "settings": BODY | {"auth": auth}}
            async with Egress(wire.loopback) as egress:
                target = read_target({"name": "it", "base_url": service.url, "secret": SECRET, **written})
                return await probe(target, egress)

    found = asyncio.run(go())
    assert "No token came from" in found.cause
    assert "settings.auth" in found.remedy
