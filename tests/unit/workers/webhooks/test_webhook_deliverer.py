"""Notices reach real receivers, signed and at least once, despite crashes and slow receivers.

Row 93 of docs/reliability.md: at ffe18d3c 120 requests made 6,000 posts to one host.
"""

from __future__ import annotations

import asyncio
import base64
import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from sqlalchemy import select, text, update
from standardwebhooks import Webhook
from structlog.testing import capture_logs

from assay.experiment import generator
from store.core.database import Database
from store.core.settings import Settings
from store.jobs import jobs
from store.security import signing
from store.security.secrets import Vault
from store.webhooks import callbacks, deliveries, delivery_log, fan_out, tables, webhooks
from store.webhooks.delivery_log import to_webhook
from store.webhooks.webhooks import NewWebhook
from tests.support.jobs import new_job
from workers.engine.worker_context import WorkerContext, WorkMeter
from workers.webhooks import delivery_attempt
from workers.webhooks.delivery_attempt import call
from workers.webhooks.delivery_loop import WebhookWorker

VAULT = Vault(b"v" * 32, "v")


@dataclass
class Receiver:
    """Receiver that records its requests; `answers` are its statuses, of which the last is repeated."""

    answers: list[int] = field(default_factory=lambda: [204])
    heard: list[tuple[dict[str, str], bytes]] = field(default_factory=list)
    answer: Callable[[bytes], bytes] = lambda body: b""
    """Body of the answer to a request."""
    file: str | None = None
    """Content of the file in which the host may refuse calls."""
    starts: list[float] = field(default_factory=list)
    hold: threading.Event | None = None
    """If given, requests are answered only after this event is set."""
    most_at_once: int = 0
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook"

    @property
    def ids(self) -> list[str]:
        return [headers["webhook-id"] for headers, _ in self.heard]


@pytest.fixture
def receiver():
    """Start receivers; stop them afterwards."""
    started: list[tuple[ThreadingHTTPServer, threading.Thread, Receiver]] = []

    def start(**special: Any) -> Receiver:
        one, lock = Receiver(**special), threading.Lock()
        present = 0

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                nonlocal present
                body = self.rfile.read(int(self.headers["Content-Length"]))
                with lock:
                    one.starts.append(time.monotonic())
                    one.heard.append(({name.lower(): value for name, value in self.headers.items()}, body))
                    present += 1
                    one.most_at_once = max(one.most_at_once, present)
                    status = one.answers.pop(0) if len(one.answers) > 1 else one.answers[0]
                if one.hold is not None:
                    one.hold.wait(20)
                with lock:
                    present -= 1
                self._send(status, one.answer(body))

            def do_GET(self) -> None:
                self._send(404 if one.file is None else 200, (one.file or "").encode())

            def _send(self, status: int, body: bytes) -> None:
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args: object) -> None:
                """Log nothing."""

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        one.port = server.server_port
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        started.append((server, thread, one))
        return one

    yield start
    for server, thread, one in started:
        if one.hold is not None:
            one.hold.set()
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def database(database_url):
    one = Database(database_url)
    yield one
    one.close()


@pytest.fixture
def settings(database_url, tmp_path):
    return Settings(data_dir=tmp_path, database_url=database_url, egress_allow="127.0.0.0/8", webhook_poll_s=0.02)


@pytest.fixture
def deliverer(database, settings):
    """Build deliverers; close them afterwards."""
    made: list[WebhookWorker] = []

    def start(vault: Vault = VAULT, **changes: Any) -> WebhookWorker:
        one = WebhookWorker(WorkerContext(database, vault, settings.model_copy(update=changes)), generator(1))
        one.start()
        made.append(one)
        return one

    yield start
    for one in made:
        one.close()


@pytest.fixture
def endpoint(database):
    def endpoint(
        url: str, webhook_id: str = "whk_1", secret: str | None = None, *, confirmed: bool = True, **special: Any
    ) -> str:
        plain = secret or webhooks.new_secret()
        described = {"url": url, "description": "", "events": (), "envelope": "standard"} | special
        sealed = webhooks.seal(VAULT, plain, "acme", webhook_id)
        with database.write() as c:
            new = NewWebhook(id=webhook_id, tenant="acme", sealed_secret=sealed, **described)
            made = webhooks.add(c, new, confirmed=confirmed)
            if not confirmed:
                fan_out.challenge(c, made)
        return plain

    return endpoint


@pytest.fixture
def cancelled(database):
    """Create a cancelled job, which causes a notice."""

    def cancelled(number: int = 0, callback_url: str | None = None) -> str:
        new = new_job(tenant="acme", request_digest=f"sha256:{number}", callback_url=callback_url)
        with database.write() as c:
            job = jobs.add(c, new)
            jobs.request_cancel(c, job.id, None)
        return job.id

    return cancelled


def until(true: Callable[[], bool], within_s: float = 20) -> None:
    """Wait until a condition is true."""
    deadline = time.monotonic() + within_s
    while not true():
        assert time.monotonic() < deadline, "it did not come"
        time.sleep(0.01)


def states(database: Database) -> list[str]:
    with database.read() as c:
        return list(c.execute(select(tables.deliveries.c.state).order_by(tables.deliveries.c.id)).scalars())


def hurry(database: Database) -> None:
    """Make all waiting deliveries due now."""
    with database.write() as c:
        c.execute(update(tables.deliveries).values(next_attempt_at=1))


def test_notice_is_delivered_with_a_signature_that_the_standardwebhooks_library_accepts(
    database, receiver, endpoint, cancelled, deliverer
):
    there = receiver()
    secret = endpoint(there.url)
    job_id = cancelled()
    deliverer()
    until(lambda: states(database) == ["delivered"])
    ((headers, body),) = there.heard
    told = Webhook(secret).verify(body, headers)
    assert (told["type"], told["data"]["job_id"]) == ("job.cancelled", job_id)
    assert headers["content-type"] == "application/json"
    with database.write() as c:
        key = signing.current(c, VAULT).public_key
    check_key_signature(headers, body, key)


def check_key_signature(headers: dict[str, str], body: bytes, public_key: bytes) -> None:

    written = next(one[4:] for one in headers["webhook-signature"].split(" ") if one.startswith("v1a,"))
    message = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    assert signing.is_signature(public_key, base64.b64decode(written), message)


def test_callback_of_a_job_is_signed_with_the_agency_key_alone(database, receiver, cancelled, deliverer):
    there = receiver(answers=[200], answer=challenge_answer)
    cancelled(callback_url=there.url)
    deliverer()
    until(lambda: states(database) == ["delivered"] * 2)
    for headers, body in there.heard:
        assert headers["webhook-signature"].startswith("v1a,")
        with database.write() as c:
            check_key_signature(headers, body, signing.current(c, VAULT).public_key)


def test_a_cloudevent_webhook_has_the_content_type_of_cloudevents(database, receiver, endpoint, cancelled, deliverer):
    there = receiver()
    secret = endpoint(there.url, envelope="cloudevents")
    job_id = cancelled()
    deliverer(public_url="https://assay.example/")
    until(lambda: states(database) == ["delivered"])
    ((headers, body),) = there.heard
    event = Webhook(secret).verify(body, headers)
    assert headers["content-type"] == "application/cloudevents+json"
    assert (event["id"], event["source"]) == (headers["webhook-id"], f"https://assay.example/v1/jobs/{job_id}")


def test_failed_delivery_is_repeated_with_the_same_id(database, receiver, endpoint, cancelled, deliverer):
    there = receiver(answers=[500, 302, 200])
    secret = endpoint(there.url)
    cancelled()
    deliverer()
    for heard in (1, 2):
        until(lambda heard=heard: attempts(database) == heard)
        hurry(database)
    until(lambda: states(database) == ["delivered"])
    assert (len(there.heard), len(set(there.ids))) == (3, 1)
    for headers, body in there.heard:
        assert Webhook(secret).verify(body, headers)
    with database.read() as c:
        assert [one.status for one in delivery_log.attempts(c, there.ids[0])] == [500, 302, 200]


def attempts(database: Database) -> int:
    with database.read() as c:
        return len(c.execute(select(tables.delivery_attempts.c.number)).all())


def test_slow_receiver_gets_two_concurrent_attempts_and_delays_no_other(
    database, receiver, endpoint, cancelled, deliverer
):
    slow, quick = receiver(hold=threading.Event()), receiver()
    endpoint(slow.url, "whk_slow")
    endpoint(quick.url, "whk_quick")
    for number in range(6):
        cancelled(number)
    deliverer()
    until(lambda: len(quick.heard) == 6)
    assert slow.most_at_once <= deliveries.AT_ONCE
    slow.hold.set()
    until(lambda: set(states(database)) == {"delivered"})
    assert (len(slow.heard), slow.most_at_once) == (6, deliveries.AT_ONCE)


def test_two_webhook_workers_together_send_each_notice_only_once(database, receiver, endpoint, cancelled, deliverer):
    there = receiver()
    endpoint(there.url)
    for number in range(20):
        cancelled(number)
    deliverer()
    deliverer()
    until(lambda: states(database) == ["delivered"] * 20)
    assert len(there.ids) == len(set(there.ids)) == 20


def test_crash_after_sending_repeats_the_delivery_with_the_same_id(
    database, receiver, endpoint, cancelled, deliverer, settings
):
    there = receiver()
    endpoint(there.url)
    cancelled()
    with database.write() as c:  # simulates a process that sends the delivery and dies before recording it
        fan_out.hand_over(c)
        (claimed,) = deliveries.claim(c, deliveries.choose(c, 9))
    asyncio.run(send_only(settings, claimed))
    deliverer()
    with database.write() as c:
        c.execute(update(tables.deliveries).values(lease_until=1))
    until(lambda: states(database) == ["delivered"])
    assert there.ids == [claimed.id, claimed.id]


async def send_only(settings: Settings, claimed: deliveries.ClaimedDelivery) -> None:
    from workers.webhooks.delivery_attempt import open_transport

    transport = open_transport(settings)
    await call(transport, claimed.url, {"webhook-id": claimed.id}, json.dumps(claimed.payload).encode())
    await transport.aclose()


def test_webhooks_have_both_signatures_only_during_secret_rotation(database, receiver, endpoint, cancelled, deliverer):
    there = receiver()
    old, new = endpoint(there.url), webhooks.new_secret()
    with database.write() as c:
        webhooks.rotate(c, "whk_1", "acme", webhooks.seal(VAULT, new, "acme", "whk_1"))
    cancelled(1)
    deliverer()
    until(lambda: states(database) == ["delivered"])
    headers, body = there.heard[0]
    assert Webhook(old).verify(body, headers) == Webhook(new).verify(body, headers)
    with database.write() as c:
        c.execute(update(tables.webhooks).values(previous_until=1))
    cancelled(2)
    until(lambda: states(database) == ["delivered"] * 2)
    headers, body = there.heard[1]
    assert headers["webhook-signature"].count("v1,") == 1
    assert Webhook(new).verify(body, headers)


def test_endpoint_that_answers_410_is_never_called_again(database, receiver, endpoint, cancelled, deliverer):
    there = receiver(answers=[410])
    endpoint(there.url)
    cancelled(1)
    deliverer()
    until(lambda: states(database) == ["given-up"])
    cancelled(2)
    with database.read() as c:
        assert webhooks.find(c, "whk_1", "acme").disabled_why == "gone"
    another = receiver()
    endpoint(another.url, "whk_2")
    last = cancelled(3)
    until(lambda: any(last.encode() in body for _, body in another.heard))
    assert len(there.heard) == 1


def test_private_address_is_refused_at_delivery(database, receiver, endpoint, cancelled, deliverer):
    there, other = receiver(), receiver()
    endpoint(there.url, "whk_inside")
    cancelled()
    deliverer(egress_allow="")  # the operator no longer allows the address
    until(lambda: attempts(database) == 1)
    assert (there.heard, other.heard, states(database)) == ([], [], ["waiting"])
    with database.read() as c:
        row = delivery_log.page(c, to_webhook("whk_inside", "acme"), limit=9)[0]
        (attempt,) = delivery_log.attempts(c, row.id)
    assert attempt.failure.startswith("refused-address: ")


def test_undecryptable_secret_fails_the_delivery_with_advice(database, receiver, cancelled, deliverer):
    there = receiver()
    lost = Vault(b"x" * 32, "lost")
    sealed = webhooks.seal(lost, webhooks.new_secret(), "acme", "whk_1")
    new = NewWebhook("acme", there.url, "", (), "standard", sealed, id="whk_1")
    with database.write() as c:
        webhooks.add(c, new)
    cancelled()
    deliverer()
    until(lambda: attempts(database) == 1)
    with database.read() as c:
        (attempt,) = delivery_log.attempts(c, delivery_log.page(c, to_webhook("whk_1", "acme"), limit=1)[0].id)
    assert (there.heard, "rotate it" in attempt.failure) == ([], True)


def test_attempts_are_counted_and_no_secret_or_query_string_is_logged(
    database, receiver, endpoint, cancelled, settings
):
    there = receiver(answers=[500, 200])
    secret = endpoint(there.url + "?token=top-secret")
    cancelled()
    meter = WorkMeter()
    one = WebhookWorker(WorkerContext(database, VAULT, settings, meter=meter), generator(1))
    with capture_logs() as logs:
        one.start()
        until(lambda: attempts(database) == 1)
        hurry(database)
        until(lambda: states(database) == ["delivered"])
        one.close()
    told = json.dumps(logs)
    assert secret[6:] not in told
    assert "top-secret" not in told
    assert [line["left"] for line in logs if line["event"] == "delivery attempted"] == ["waiting", "delivered"]
    counted = {
        left: meter.registry.get_sample_value("assay_webhook_attempts_total", {"left": left})
        for left in ("waiting", "delivered")
    }
    assert counted == {"waiting": 1, "delivered": 1}


def test_a_malformed_webhook_notice_is_logged_once_and_blocks_none(database, receiver, endpoint, cancelled, settings):
    there = receiver()
    endpoint(there.url)
    cancelled(0)
    with database.write() as c:
        c.execute(text("UPDATE outbox SET payload = '[]'"))
    cancelled(1)
    one = WebhookWorker(WorkerContext(database, VAULT, settings), generator(1))
    with capture_logs() as logs:
        one.start()
        until(lambda: states(database) == ["delivered"])
        one.close()
    assert [line["log_level"] for line in logs if line["event"] == "notice given up"] == ["error"]


@pytest.mark.slow
def test_a_closed_webhook_worker_returns_its_deliveries_to_waiting(database, receiver, endpoint, cancelled, deliverer):
    slow = receiver(hold=threading.Event())
    endpoint(slow.url)
    cancelled()
    worker = deliverer()
    until(lambda: slow.heard)
    worker.close()
    assert states(database) == ["waiting"]


def test_deliveries_wait_and_a_warning_is_logged_while_the_agency_key_is_unavailable(
    database, receiver, endpoint, cancelled, settings
):
    there = receiver()
    endpoint(there.url)
    cancelled()
    with database.write() as c:
        signing.current(c, VAULT)
    one = WebhookWorker(WorkerContext(database, Vault(b"x" * 32, "other"), settings), generator(1))
    with capture_logs() as logs:
        one.start()
        until(lambda: any(line["event"] == "deliverer waits" for line in logs))
        one.close()
    assert (there.heard, states(database), attempts(database)) == ([], ["waiting"], 0)
    assert "key v" in next(line["why"] for line in logs if line["event"] == "deliverer waits")


# ---------------------------------------------------------------------------- challenges and limits of hosts
@pytest.mark.parametrize("as_json", [False, True])
@pytest.mark.parametrize("envelope", ["standard", "cloudevents"])
def test_an_endpoint_gets_notices_only_after_it_has_answered_its_challenge(
    database, receiver, endpoint, cancelled, deliverer, envelope, as_json
):
    # earlier, any address got notices: 120 requests became 6,000 posts
    def answer(body: bytes) -> bytes:
        notice = json.loads(body)
        if notice["type"] != webhooks.CHALLENGE:
            return b""
        token = notice["data"]["challenge"]
        return json.dumps({"challenge": token}).encode() if as_json else f"{token}\n".encode()

    there = receiver(answers=[200], answer=answer)
    endpoint(there.url, confirmed=False, envelope=envelope)
    cancelled()
    deliverer()
    until(lambda: states(database) == ["delivered"] * 2)
    kinds = [json.loads(body)["type"] for _, body in there.heard]
    assert kinds == [webhooks.CHALLENGE, "job.cancelled"]
    with database.read() as c:
        assert webhooks.find(c, "whk_1", "acme").confirmed_at is not None


@pytest.mark.parametrize("answer", [lambda body: b"", lambda body: b"ok", lambda body: body])
def test_an_endpoint_that_does_not_answer_its_challenge_gets_no_notice_and_is_disabled(
    database, receiver, endpoint, cancelled, deliverer, answer, monkeypatch
):
    # an endpoint that echoes whole requests, or answers 200 to everything, has not agreed to notices
    monkeypatch.setattr(delivery_attempt, "SCHEDULE_S", (0,) * 10)
    there = receiver(answers=[200], answer=answer)
    endpoint(there.url, confirmed=False)
    for number in range(3):
        cancelled(number)
    deliverer()
    until(lambda: len(states(database)) == 4 and set(states(database)) == {"given-up"})
    assert {json.loads(body)["type"] for _, body in there.heard} == {webhooks.CHALLENGE}
    assert len(there.heard) == delivery_attempt.CHALLENGE_ATTEMPTS
    with database.read() as c:
        found = webhooks.find(c, "whk_1", "acme")
    assert (found.state, found.disabled_why, found.confirmed_at) == ("disabled", "unconfirmed", None)


@pytest.mark.slow
def test_deliveries_to_all_endpoints_of_a_host_share_its_call_rate(database, receiver, endpoint, cancelled, deliverer):
    there = receiver(answers=[200], answer=challenge_answer)
    for number in range(5):
        endpoint(f"{there.url}/{number}", f"whk_{number}")
    for number in range(6):
        cancelled(number, callback_url=f"{there.url}/back-{number}")
    deliverer(host_exempt="", host_rate=20)
    until(lambda: states(database).count("delivered") == 37)
    assert len(there.starts) == 37  # with the challenge of the callbacks' host
    assert max(there.starts) - min(there.starts) >= 36 / 20 - 0.1


def test_a_host_whose_file_refuses_calls_gets_no_delivery(database, receiver, endpoint, cancelled, deliverer):
    there = receiver(file="Disallow: *")
    endpoint(there.url)
    cancelled(callback_url=f"{there.url}/back")
    deliverer(host_exempt="")
    until(lambda: states(database) == ["given-up"] * 3)
    assert there.heard == []


def challenge_answer(body: bytes) -> bytes:
    return str(json.loads(body)["data"].get("challenge", "")).encode()


def kinds_of(there: Receiver) -> list[str]:
    return [json.loads(body)["type"] for _, body in there.heard]


def test_a_callback_gets_its_notice_after_its_host_has_answered_a_challenge(database, receiver, cancelled, deliverer):
    there = receiver(answers=[200], answer=challenge_answer)
    for number in range(3):
        cancelled(number, callback_url=f"{there.url}?job={number}")
    deliverer()
    until(lambda: states(database) == ["delivered"] * 4)
    assert kinds_of(there) == [webhooks.CHALLENGE, *["job.cancelled"] * 3]


@pytest.mark.parametrize("answer", [lambda body: b"", lambda body: b"ok", lambda body: body])
def test_callbacks_of_cancelled_jobs_send_only_a_challenge_to_an_unconfirmed_host(
    database, receiver, cancelled, deliverer, answer, monkeypatch
):
    # earlier, each POST of a job and its cancellation sent a POST to any host
    monkeypatch.setattr(delivery_attempt, "SCHEDULE_S", (0,) * 10)
    there = receiver(answers=[200], answer=answer)
    for number in range(30):
        cancelled(number, callback_url=f"{there.url}/{number}?n={number}")
    deliverer()
    until(lambda: states(database) == ["given-up"] * 31)
    assert kinds_of(there) == [webhooks.CHALLENGE] * delivery_attempt.CHALLENGE_ATTEMPTS
    with database.read() as c:
        failures = c.execute(select(tables.delivery_attempts.c.failure)).scalars().all()
    assert sum(failure == callbacks.UNCONFIRMED for failure in failures) == 30
    # a notice that is sent again does not start over
    with database.write() as c:
        again = select(tables.deliveries.c.id).where(tables.deliveries.c.type == "job.cancelled")
        c.execute(
            update(tables.deliveries)
            .where(tables.deliveries.c.id.in_(again))
            .values(state="waiting", ended_at=None, next_attempt_at=0)
        )
    until(lambda: states(database) == ["given-up"] * 31)
    assert len(there.heard) == delivery_attempt.CHALLENGE_ATTEMPTS


def test_callback_challenges_of_a_tenant_reach_a_limited_number_of_hosts_that_leave_them_unanswered(
    database, receiver, cancelled, deliverer, monkeypatch
):
    monkeypatch.setattr(delivery_attempt, "SCHEDULE_S", (0,) * 10)
    monkeypatch.setattr(callbacks, "MOST_UNANSWERED", 3)
    strangers = [receiver(answers=[200]) for _ in range(5)]
    for number, there in enumerate(strangers):
        cancelled(number, callback_url=there.url)
    deliverer()
    until(lambda: states(database) == ["given-up"] * 8)
    assert sum(bool(there.heard) for there in strangers) == 3


def test_a_host_that_did_not_answer_is_challenged_again_after_an_hour(
    database, receiver, cancelled, deliverer, monkeypatch
):
    monkeypatch.setattr(delivery_attempt, "SCHEDULE_S", (0,) * 10)
    there = receiver(answers=[500, 500, 500, 200], answer=challenge_answer)
    cancelled(0, callback_url=there.url)
    deliverer()
    until(lambda: states(database) == ["given-up"] * 2)
    with database.write() as c:
        hour_ago = tables.deliveries.c.created_at - callbacks.AGAIN_MS
        c.execute(update(tables.deliveries).values(created_at=hour_ago))
    cancelled(1, callback_url=there.url)
    until(lambda: sorted(states(database)) == ["delivered", "delivered", "given-up"])
    assert kinds_of(there) == [*[webhooks.CHALLENGE] * 4, "job.cancelled"]
