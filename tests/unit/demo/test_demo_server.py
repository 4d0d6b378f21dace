"""Tests of the demo translators over HTTP: the protocol, and each faulty service."""

import json
import signal
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from demo.__main__ import start_lines
from demo.interfaces.libretranslate import MOST_BYTES
from demo.server import DemoServer
from demo.translators.behaviours import BEHAVIOURS, FRENCH, behaviour
from demo.translators.faulty_services import FAULTY, Tuning
from demo.translators.made_up_language import tongue

TEXT = "She is a nurse. He works as an engineer, K7Q2!"
MIDDLE = tongue("es").from_english(TEXT)
ORDER = {"q": TEXT, "source": "en", "target": "es", "format": "text", "api_key": "anything"}


@pytest.fixture(scope="module")
def server():
    with DemoServer(tuning=Tuning(slow_s=(0.1, 0.2), refuse_every=3)) as running:
        yield running


@pytest.fixture
def client():
    with httpx.Client(timeout=5, trust_env=False) as open_client:
        yield open_client


@pytest.fixture
def ask(server, client):
    def post(name: str, q, source: str = "en", target: str = "es", **more) -> httpx.Response:
        return client.post(f"{server.url(name)}/translate", json={"q": q, "source": source, "target": target}, **more)

    return post


@pytest.mark.parametrize("name", [*BEHAVIOURS, "she-to-he-45", "stereotyper-70"])
def test_a_text_is_answered_with_a_text_and_an_array_with_an_array(name: str, ask):
    back = behaviour(name).at_home(TEXT)
    assert ask(name, TEXT).json() == {"translatedText": MIDDLE}
    assert ask(name, MIDDLE, "es", "en").json() == {"translatedText": back}
    assert ask(name, [MIDDLE, "Zema."], "es", "en").json()["translatedText"][0] == back
    assert len(ask(name, [TEXT, "a", ""]).json()["translatedText"]) == 3
    assert ask(name, []).json() == {"translatedText": []}


def test_form_data_is_read_like_json(server, client):
    url = f"{server.url('faithful')}/translate"
    assert client.post(url, data=ORDER).json() == client.post(url, json=ORDER).json() == {"translatedText": MIDDLE}
    several = client.post(url, data={**ORDER, "q": [TEXT, "ŝi & café"]}).json()["translatedText"]
    assert several == [MIDDLE, "ŝi & café"]


def test_the_languages_are_listed_in_the_format_of_libretranslate(server, client):
    listed = client.get(f"{server.url('eraser')}/languages").json()
    english = next(one for one in listed if one["code"] == "en")
    assert {"es", "eo", "tr"} <= set(english["targets"])
    assert "en" not in english["targets"]
    assert all(one["targets"] == ["en"] for one in listed if one is not english)


@pytest.mark.parametrize(
    "order",
    [
        {**ORDER, "target": "xx"},
        {**ORDER, "target": "en"},
        {**ORDER, "source": "tr"},
        {**ORDER, "q": 7},
        {**ORDER, "q": ["a", None]},
        {**ORDER, "source": []},
        {"q": TEXT, "source": "en"},
        [ORDER],
    ],
)
def test_an_invalid_translation_request_is_refused_with_a_reason(order, server, client):
    response = client.post(f"{server.url('faithful')}/translate", json=order)
    assert response.status_code == 400
    assert len(response.json()["error"]) > 10


@pytest.mark.parametrize("body", [b"", b"{", b'{"q": "\\ud800"}', b"\xff", b"[" * 100_000])
def test_a_body_that_is_not_json_is_refused(body: bytes, server, client):
    response = client.post(f"{server.url('faithful')}/translate", content=body)
    assert response.status_code == 400
    assert "UTF-8" in response.json()["error"]


def test_a_body_that_is_too_large_is_refused(server, client):
    response = client.post(f"{server.url('faithful')}/translate", content=b" " * (MOST_BYTES + 1))
    assert response.status_code == 413


def test_unknown_service_is_404_with_the_known_services(ask):
    response = ask("nobody", TEXT)
    assert response.status_code == 404
    assert "always-he" in response.json()["error"]


def test_the_root_lists_every_service_with_its_summary(server, client):
    listed = client.get(server.base).json()
    assert {one["name"]: one["letter"] for one in listed["behaviours"]} == {
        name: one.letter for name, one in {**BEHAVIOURS, **FRENCH}.items()
    }
    assert {one["name"]: one["end"] for one in listed["ills"]} == {name: ill.end for name, ill in FAULTY.items()}
    assert all(
        one["summary"] and one["url"] == server.url(one["name"]) for one in listed["behaviours"] + listed["ills"]
    )


@pytest.mark.parametrize("ill", FAULTY.values(), ids=lambda ill: ill.name)
def test_every_faulty_demo_service_declares_how_a_job_that_rates_it_should_end(ill):
    assert (ill.end == "rated") == (ill.letter is not None)
    assert (ill.end != "rated") == (ill.problem is not None)


def test_the_slow_service_delays_a_request_without_blocking_others(ask):
    start = time.monotonic()
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda number: ask("slow", f"nurse {number}"), range(8)))
    assert all(answer.status_code == 200 for answer in answers)
    assert 0.1 <= time.monotonic() - start < 8 * 0.1


def test_the_very_slow_service_does_not_answer_in_time(ask):
    with pytest.raises(httpx.ReadTimeout):
        ask("very-slow", TEXT, timeout=0.3)


def test_the_very_slow_service_answers_504_eventually():
    with DemoServer(tuning=Tuning(never_s=0.05)) as impatient, httpx.Client(trust_env=False) as client:
        assert client.post(f"{impatient.url('very-slow')}/translate", json=ORDER).status_code == 504


def test_the_too_many_requests_service_refuses_every_nth_request(ask):
    answers = [ask("too-many-requests", TEXT) for _ in range(9)]
    assert Counter(answer.status_code for answer in answers) == {200: 6, 429: 3}
    assert {answer.headers["retry-after"] for answer in answers if answer.status_code == 429} == {"1"}
    assert {answer.json()["translatedText"] for answer in answers if answer.status_code == 200} == {MIDDLE}


def test_flaky_service_fails_once_for_each_question(ask):
    answers = [ask("flaky", q) for q in ("a", "b", "b", "a", ["a"], "a", ["a"], "a")]
    assert [answer.status_code for answer in answers] == [500, 500, 200, 200, 500, 500, 200, 200]


def test_the_garbage_service_answers_every_path_with_html_and_status_200(ask, server, client):
    for response in (ask("garbage", TEXT), client.get(f"{server.url('garbage')}/languages")):
        assert response.status_code == 200
        assert response.headers["content-type"].startswith("text/html")
        with pytest.raises(json.JSONDecodeError):
            response.json()


def test_truncating_service_cuts_texts_without_an_error(ask):
    response = ask("truncating", [TEXT, "He."])
    assert response.status_code == 200
    assert response.json()["translatedText"] == [MIDDLE[: Tuning().kept_characters], tongue("es").from_english("He.")]


@pytest.mark.parametrize("count", [2, 3, 10])
def test_the_out_of_order_service_moves_every_answer_and_drops_none(count: int, ask):
    texts = [f"She said {number}." for number in range(count)]
    right = ask("faithful", texts).json()["translatedText"]
    mixed = ask("out-of-order", texts).json()["translatedText"]
    assert sorted(mixed) == sorted(right)
    assert all(one != other for one, other in zip(mixed, right, strict=True))


def test_the_wrong_count_service_drops_the_last_answer_of_an_array(ask):
    assert ask("wrong-count", [TEXT, TEXT, "a"]).json() == {"translatedText": [MIDDLE, MIDDLE]}
    assert ask("wrong-count", TEXT).json() == {"translatedText": MIDDLE}


def test_echo_service_returns_each_text_untranslated(ask):
    assert ask("echo", [TEXT]).json() == {"translatedText": [TEXT]}


def test_the_error_marks_service_puts_a_mark_before_every_word(ask):
    words = ask("error-marks", TEXT).json()["translatedText"].split()
    assert [word[1:] for word in words] == MIDDLE.split()
    assert {word[0] for word in words} == {"#", "@"}


def test_the_unauthorised_service_refuses_every_request(ask):
    assert ask("unauthorised", TEXT).status_code == 401


def test_the_down_service_closes_the_connection(ask, server, client):
    with pytest.raises(httpx.RemoteProtocolError):
        ask("down", TEXT)
    with pytest.raises(httpx.RemoteProtocolError):
        client.get(f"{server.url('down')}/languages")


def test_two_demo_servers_have_different_addresses_and_stop_at_the_end_of_their_context():
    with DemoServer() as one, DemoServer() as other:
        assert one.base != other.base
        for running in (one, other):
            assert httpx.get(running.base, trust_env=False).status_code == 200
        address = one.base
    with pytest.raises(httpx.ConnectError):
        httpx.get(address, trust_env=False)


def test_a_server_stops_even_if_a_caller_still_waits():
    with ThreadPoolExecutor(1) as pool:
        with DemoServer() as running:
            waiting = pool.submit(
                httpx.post, f"{running.url('very-slow')}/translate", json=ORDER, timeout=30, trust_env=False
            )
            time.sleep(0.3)
            start = time.monotonic()
        assert time.monotonic() - start < 4
        assert isinstance(waiting.exception(5), httpx.HTTPError) or waiting.result().status_code >= 500


@pytest.mark.slow
def test_the_demo_services_run_from_the_shell_until_interrupted():
    command = [sys.executable, "-m", "demo", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        lines = [process.stdout.readline() for _ in (*BEHAVIOURS, *FAULTY)]
        address = lines[0].split()[0]
        assert address.endswith("/faithful")
        assert httpx.get(f"{address}/languages", trust_env=False).status_code == 200
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 0
    assert [line.split()[1] for line in lines if "/balancing" in line] == ["UCS"]


def test_the_printed_list_names_letter_kind_and_protocol_of_each_service():
    with DemoServer() as server:
        lines = list(start_lines(server))
        row = {line.split()[0]: " ".join(line.split()[1:]) for line in lines}
        assert row[server.url("fair-wage")].startswith("UCS regressor, by ")
        assert row[server.url("she-to-he-30")].startswith("BS translator, by libretranslate: ")
