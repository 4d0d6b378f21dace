"""Tests of Apertium as a demo service: loopback only, translations, and a clean end."""

import http.client
import json
import signal
import socket
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import psutil
import pytest

import demo.translators.apertium
from demo.translators.apertium import Apertium, ApertiumDidNotStart, ApertiumNotInstalled

needs_apertium = pytest.mark.skipif(
    not Apertium.available(), reason=f"Apertium is not installed: {Apertium.how_to_install}"
)


@pytest.fixture(scope="module")
def apertium():
    with Apertium() as running:
        yield running


def translate(apertium: Apertium, pair: str, text: str) -> str:
    connection = http.client.HTTPConnection(urlsplit(apertium.url).netloc, timeout=30)
    form = urlencode({"langpair": pair, "q": text, "markUnknown": "no"})
    connection.request("POST", "/translate", form, {"Content-Type": "application/x-www-form-urlencoded"})
    answer = json.load(connection.getresponse())
    connection.close()
    return str(answer["responseData"]["translatedText"])


@needs_apertium
def test_a_running_apertium_lists_its_language_pairs(apertium):
    assert {source for source, _ in apertium.pairs} & {target for _, target in apertium.pairs}


@needs_apertium
def test_apertium_keeps_the_pronouns_in_a_round_trip_through_esperanto(apertium):
    if ("eng", "epo") not in apertium.pairs:
        pytest.skip("apertium-eo-en is not installed")
    middle = translate(apertium, "eng|epo", "He is a nurse. She works as an engineer.")
    back = translate(apertium, "epo|eng", middle)
    assert middle.split()[0] == "Li"
    assert [sentence.split()[0] for sentence in back.split(". ")] == ["He", "She"]


@needs_apertium
def test_apertium_loses_the_pronoun_in_a_round_trip_through_spanish(apertium):
    if ("eng", "spa") not in apertium.pairs:
        pytest.skip("apertium-eng-spa is not installed")
    back = translate(apertium, "spa|eng", translate(apertium, "eng|spa", "She is a nurse."))
    assert back.startswith("It")


@pytest.mark.slow
@needs_apertium
def test_apertium_listens_only_on_loopback_and_leaves_no_process():
    with Apertium() as running:
        if ("eng", "epo") in running.pairs:
            translate(running, "eng|epo", "She sings.")  # the first translation starts a child process
        port = urlsplit(running.url).port
        mine = [each for each in psutil.Process().children(recursive=True) if each.is_running()]
        heard = {each.laddr for child in mine for each in child.net_connections("tcp") if each.status == "LISTEN"}
        assert ("127.0.0.1", port) in heard
        assert all(address[0] == "127.0.0.1" for address in heard)
        server = next(child for child in mine if _listens(child, port))
        pipelines = server.children(recursive=True)
    assert not any(map(_runs, [server, *pipelines]))
    with socket.socket() as probe, pytest.raises(ConnectionRefusedError):
        probe.connect(("127.0.0.1", port))


def _runs(process: psutil.Process) -> bool:
    """Return whether a process still runs; a zombie process counts as ended."""
    try:
        return process.status() not in {psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD}
    except psutil.NoSuchProcess:
        return False


def _listens(process: psutil.Process, port: int | None) -> bool:
    return any(each.laddr and each.laddr[1] == port for each in process.net_connections("tcp"))


@needs_apertium
def test_an_apertium_server_that_ends_at_once_is_reported_with_its_error_message(monkeypatch):
    monkeypatch.setattr(demo.translators.apertium, "_ON_OUR_SOCKET", "raise SystemExit('the pairs are broken')")
    with pytest.raises(ApertiumDidNotStart, match="the pairs are broken"):
        Apertium().__enter__()


@needs_apertium
def test_an_apertium_server_that_ignores_sigterm_is_killed(monkeypatch):
    stubborn = (
        "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)"
        + demo.translators.apertium._ON_OUR_SOCKET.replace("\nmain()", "\nsignal.signal = lambda *_: None\nmain()")
    )
    monkeypatch.setattr(demo.translators.apertium, "_ON_OUR_SOCKET", stubborn)
    monkeypatch.setattr(demo.translators.apertium, "STOP_S", 0.3)
    with Apertium() as running:
        process = running._process
    assert process.poll() == -signal.SIGKILL


def test_a_missing_apertium_is_reported_with_its_installation(monkeypatch):
    monkeypatch.setattr(demo.translators.apertium, "PROGRAM", Path("/nowhere/apertium-apy"))
    assert not Apertium.available()
    with pytest.raises(ApertiumNotInstalled, match="apt-get install apertium-apy"):
        Apertium().__enter__()
