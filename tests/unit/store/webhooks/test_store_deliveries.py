"""Tests of webhook deliveries: fan-out, leases, results of attempts, and the delivery log."""

from __future__ import annotations

import pytest
from sqlalchemy import func, insert, select, text, update

from store.core.database import Database
from store.jobs import jobs
from store.security.secrets import Vault
from store.webhooks import deliveries, delivery_log, fan_out, outbox, tables, webhooks
from store.webhooks.deliveries import Next, Outcome
from store.webhooks.delivery_log import to_callback, to_webhook
from store.webhooks.webhooks import NewWebhook

VAULT = Vault(b"v" * 32, "v")
DAY_MS = 86_400_000
GOOD = Outcome(12, 204, None, "")
BAD = Outcome(12, 500, "http-500: it answered HTTP 500", "oh")


@pytest.fixture
def endpoint(database):
    def add(webhook_id="whk_1", tenant="acme", **special):
        described = {"url": f"http://{webhook_id}/", "description": "", "events": (), "envelope": "standard"} | special
        sealed = webhooks.seal(VAULT, "whsec_c2VjcmV0", tenant, webhook_id)
        with database.write() as c:
            return webhooks.add(c, NewWebhook(id=webhook_id, tenant=tenant, sealed_secret=sealed, **described))

    return add


@pytest.fixture
def cancelled(database, queued):
    """Factory of cancelled jobs, each of which leaves a notice."""

    def make(**special):
        job = queued(**special)
        with database.write() as c:
            jobs.request_cancel(c, job.id, None)
        return job

    return make


@pytest.fixture
def take(database):
    """Function that runs the fan-out and claims deliveries."""

    def fan_out_and_claim(limit=50, **options):
        with database.write() as c:
            fan_out.hand_over(c)
            return deliveries.claim(c, deliveries.choose(c, limit), **options)

    return fan_out_and_claim


@pytest.fixture
def record(database):
    def call(claimed, outcome, then=None):
        with database.write() as c:
            return deliveries.record(c, claimed, outcome, then)

    return call


def change(database: Database, **values) -> None:
    """Set columns of all deliveries, for example to simulate the passing of time."""
    with database.write() as c:
        c.execute(update(tables.deliveries).values(**values))


# ---------------------------------------------------------------------------- fan-out
def test_a_webhook_notice_is_delivered_once_to_each_subscriber_and_to_the_callback(database, endpoint, cancelled):
    endpoint("whk_all")
    endpoint("whk_chosen", events=("job.cancelled",))
    endpoint("whk_deaf", events=("job.succeeded",))
    endpoint("whk_other", tenant="other")
    off = endpoint("whk_off")
    with database.write() as c:
        webhooks.disable(c, off.id, "acme", "gone")
    job = cancelled(callback_url="http://back/")
    with database.write() as c:
        assert fan_out.hand_over(c).closed == 1
        assert fan_out.hand_over(c).closed == 0
        rows = c.execute(select(tables.deliveries).order_by(tables.deliveries.c.url)).mappings().all()
        assert outbox.due(c) == []
    assert [(row["webhook_id"], row["url"]) for row in rows] == [
        (None, "http://back/"),
        ("whk_all", "http://whk_all/"),
        ("whk_chosen", "http://whk_chosen/"),
    ]
    assert {row["payload"]["data"]["job_id"] for row in rows} == {job.id}
    assert rows[0]["payload"]["type"] == "job.cancelled"


def test_a_webhook_notice_that_nobody_receives_is_closed_without_a_delivery(database, cancelled):
    cancelled()
    with database.write() as c:
        assert fan_out.hand_over(c).closed == 1
        assert c.execute(select(func.count()).select_from(tables.deliveries)).scalar_one() == 0


def test_endpoint_gets_no_notices_from_before_its_creation(database, endpoint, cancelled):
    cancelled()
    with database.write() as c:
        c.execute(update(tables.outbox).values(created_at=0))
    endpoint()
    with database.write() as c:
        assert fan_out.hand_over(c).closed == 1
        assert c.execute(select(func.count()).select_from(tables.deliveries)).scalar_one() == 0


def test_deliveries_for_webhook_notices_are_created_in_batches_of_limited_size(database, endpoint, cancelled):
    endpoint()
    for number in range(5):
        cancelled(request_digest=f"sha256:{number}")
    with database.write() as c:
        assert [fan_out.hand_over(c, limit=2).closed for _ in range(4)] == [2, 2, 1, 0]
        assert c.execute(select(func.count()).select_from(tables.deliveries)).scalar_one() == 5


@pytest.mark.parametrize(
    "written", ['{"type": "job.cancelled"}', '{"data": [1]}', "[]", "null", '{"data": {"x": NaN}}', "{"]
)
def test_a_malformed_webhook_notice_is_given_up_and_does_not_block_others(database, endpoint, cancelled, written):
    endpoint()
    bad, good = cancelled(request_digest="sha256:bad"), cancelled(request_digest="sha256:good")
    with database.write() as c:
        c.execute(text("UPDATE outbox SET payload = :written WHERE job_id = :job"), {"written": written, "job": bad.id})
    with database.write() as c:
        result = fan_out.hand_over(c)
        assert result.closed == 2
        assert [(each.job_id, each.kind) for each in result.malformed] == [(bad.id, "job.cancelled")]
        assert fan_out.hand_over(c) == fan_out.HandedOver()  # reported only once
        rows = c.execute(select(tables.deliveries)).mappings().all()
        states = c.execute(text("SELECT state FROM outbox ORDER BY id")).scalars().all()
    assert [row["payload"]["data"]["job_id"] for row in rows] == [good.id]
    assert states == ["given-up", "delivered"]


def test_deliveries_for_a_webhook_notice_are_created_again_after_a_rolled_back_attempt(database, endpoint, cancelled):
    endpoint()
    cancelled()

    class Lost(Exception):
        pass

    def fail_after_fan_out():
        with database.write() as c:
            fan_out.hand_over(c)
            raise Lost

    with pytest.raises(Lost):
        fail_after_fan_out()
    with database.write() as c:
        assert fan_out.hand_over(c).closed == 1
        assert c.execute(select(func.count()).select_from(tables.deliveries)).scalar_one() == 1


def test_two_processes_that_create_deliveries_at_the_same_time_create_each_only_once(postgres_url, queued_on):
    database = Database(postgres_url)
    queued_on(database)
    with database.write() as one, database.write() as other:
        assert fan_out.hand_over(one).closed == 1
        assert fan_out.hand_over(other).closed == 0  # locked rows are skipped
    with database.read() as c:
        assert c.execute(select(func.count()).select_from(tables.deliveries)).scalar_one() == 1
    database.close()


@pytest.fixture
def queued_on(a_job):
    def add(database):
        with database.write() as c:
            jobs.request_cancel(c, jobs.add(c, a_job(callback_url="http://back/")).id, None)

    return add


def test_endpoint_can_receive_cloudevents(database, endpoint, cancelled):
    endpoint(envelope="cloudevents")
    job = cancelled()
    with database.write() as c:
        fan_out.hand_over(c, "https://assay.example")
        row = c.execute(select(tables.deliveries)).mappings().one()
    event = row["payload"]
    assert (event["specversion"], event["id"], event["type"]) == ("1.0", row["id"], "job.cancelled")
    assert event["source"] == f"https://assay.example/v1/jobs/{job.id}"
    assert fan_out.content_type_of(event) == "application/cloudevents+json"


def test_long_webhook_body_is_shortened_below_20_kb():
    data = {
        "job_id": "job_1",
        "error": {"detail": "x" * 50_000},
        "note": "y" * 50_000,
        **{f"k{n}": n for n in range(99)},
    }
    for kind in ("standard", "cloudevents"):
        payload = fan_out.wrap(kind, "dlv_1", "job.failed", 0, data)
        assert len(fan_out.body_of(payload)) < 20_000
        assert (payload["data"]["job_id"], payload["data"]["cut"]) == ("job_1", True)
        assert "error" not in payload["data"]
    short = fan_out.wrap("standard", "dlv_1", "job.failed", 0, {"job_id": "job_1", "error": {"code": "x"}})
    assert short == {
        "type": "job.failed",
        "timestamp": "1970-01-01T00:00:00Z",
        "data": {"job_id": "job_1", "error": {"code": "x"}},
    }


# ---------------------------------------------------------------------------- leases
def test_a_webhook_delivery_in_progress_can_be_claimed_again_only_after_its_lease(database, endpoint, cancelled, take):
    endpoint()
    cancelled()
    (claimed,) = take()
    assert (claimed.number, claimed.webhook.id) == (1, "whk_1")
    assert take() == []
    change(database, lease_until=1)
    (again,) = take()
    assert (again.id, again.number) == (claimed.id, 1), "an unrecorded attempt is repeated under the same id"


def test_of_two_processes_that_claim_a_webhook_delivery_at_once_only_one_gets_it(postgres_url, queued_on):
    database = Database(postgres_url)
    queued_on(database)
    with database.write() as c:
        fan_out.hand_over(c)
    with database.write() as one, database.write() as other:
        chosen = [deliveries.choose(each, 9) for each in (one, other)]
        assert chosen[0] == chosen[1] != []
        assert len(deliveries.claim(one, chosen[0])) == 1
        assert deliveries.claim(other, chosen[1]) == []
    database.close()


def test_receiver_has_at_most_two_concurrent_attempts_and_does_not_delay_other_receivers(endpoint, cancelled, take):
    endpoint("whk_slow")
    for number in range(5):
        cancelled(request_digest=f"sha256:{number}")
    assert [one.webhook.id for one in take()] == ["whk_slow"] * 2
    endpoint("whk_new")
    cancelled(request_digest="sha256:6", callback_url="http://back/")
    assert sorted(one.url for one in take()) == ["http://back/", "http://whk_new/"]


def test_tenant_has_a_limited_number_of_concurrent_attempts(endpoint, cancelled, take):
    for number in range(deliveries.AT_ONCE_TENANT + 3):
        cancelled(callback_url=f"http://back/{number}", request_digest=f"sha256:{number}")
    cancelled(callback_url="http://other/", tenant="other")
    taken = [one.tenant for one in take(limit=99)]
    assert (taken.count("acme"), taken.count("other")) == (deliveries.AT_ONCE_TENANT, 1)
    assert take(limit=99) == []


def test_a_tenant_with_thousands_of_due_deliveries_does_not_delay_other_tenants(database):
    def delivery(tenant, number, lease_until=None):
        names = {"id": f"dlv_{tenant}_{number}", "tenant": tenant, "url": f"http://{tenant}/{number}"}
        times = {"created_at": number, "next_attempt_at": number, "lease_until": lease_until, "attempts": 0}
        return {**names, **times, "type": "job.succeeded", "payload": {}, "state": "waiting"}

    with database.write() as c:
        rows = [delivery("greedy", number) for number in range(1, 1101)]
        rows += [delivery("greedy", -number, 2**50) for number in range(deliveries.AT_ONCE_TENANT - 1)]
        c.execute(insert(tables.deliveries), [*rows, delivery("small", 5000)])
    with database.read() as c:
        assert deliveries.choose(c, 50) == ["dlv_greedy_1", "dlv_small_5000"]


def test_anything_due_is_true_if_a_notice_or_a_delivery_is_due(database, endpoint, cancelled, take, record):
    endpoint()

    def due():
        with database.read() as c:
            return deliveries.anything_due(c)

    assert not due()
    cancelled()
    assert due()
    (claimed,) = take()
    assert not due()
    record(claimed, BAD, Next(60))
    assert not due()
    change(database, next_attempt_at=1)
    assert due()


# ---------------------------------------------------------------------------- results of attempts
def state_of(database, claimed):
    with database.read() as c:
        return c.execute(select(tables.deliveries).where(tables.deliveries.c.id == claimed.id)).mappings().one()


def test_successful_delivery_is_marked_as_delivered(database, endpoint, cancelled, take, record):
    endpoint()
    cancelled()
    (claimed,) = take()
    assert record(claimed, GOOD) == "delivered"
    row = state_of(database, claimed)
    assert (row["state"], row["attempts"], row["lease_until"]) == ("delivered", 1, None)
    assert row["ended_at"] is not None


def test_failed_delivery_is_retried_and_then_given_up(database, endpoint, cancelled, take, record):
    endpoint()
    cancelled()
    (claimed,) = take()
    assert record(claimed, BAD, Next(300)) == "waiting"
    row = state_of(database, claimed)
    assert row["next_attempt_at"] - claimed.claimed_at == pytest.approx(300_000, abs=5000)
    assert take() == []
    change(database, next_attempt_at=1)
    (second,) = take()
    assert second.number == 2
    assert record(second, BAD, Next(None)) == "given-up"
    with database.read() as c:
        kept = delivery_log.attempts(c, claimed.id)
    assert [(one.number, one.status, one.response) for one in kept] == [(1, 500, "oh"), (2, 500, "oh")]


def test_a_process_that_lost_its_lease_of_a_delivery_records_no_attempt(database, endpoint, cancelled, take, record):
    endpoint()
    cancelled()
    (frozen,) = take()
    change(database, lease_until=1)
    (thawed,) = take()
    assert record(frozen, BAD, Next(None)) is None
    assert record(thawed, GOOD) == "delivered"
    assert record(thawed, GOOD) is None
    with database.read() as c:
        assert [one.status for one in delivery_log.attempts(c, thawed.id)] == [204]


def test_endpoint_that_answers_410_is_disabled(database, endpoint, cancelled, take, record):
    endpoint()
    for number in range(3):
        cancelled(request_digest=f"sha256:{number}")
    claimed, _ = take()
    assert record(claimed, Outcome(1, 410, "gone", ""), Next(None, gone=True)) == "disabled"
    with database.read() as c:
        row = webhooks.find(c, "whk_1", "acme")
        assert {one.state for one in delivery_log.page(c, to_webhook("whk_1", "acme"), limit=9)} == {"given-up"}
    assert (row.state, row.disabled_why) == ("disabled", "gone")
    cancelled(request_digest="sha256:9")
    assert take() == []
    with database.write() as c:
        assert webhooks.enable(c, "whk_1", "acme").failing_since is None
    cancelled(request_digest="sha256:10")
    assert len(take()) == 1


@pytest.mark.parametrize(("days", "left"), [(4.9, "waiting"), (5.1, "disabled")])
def test_five_days_of_failures_disable_an_endpoint(database, endpoint, cancelled, take, record, days, left):
    endpoint()
    cancelled()
    (claimed,) = take()
    assert record(claimed, BAD, Next(0)) == "waiting"
    with database.write() as c:
        since = webhooks.find(c, "whk_1", "acme").failing_since
        moved = round(since - days * DAY_MS)
        c.execute(update(tables.webhooks).values(failing_since=moved))
    (again,) = take()
    assert record(again, BAD, Next(5)) == left
    with database.read() as c:
        why = webhooks.find(c, "whk_1", "acme").disabled_why
    assert why == ("failing" if left == "disabled" else None)


def test_success_resets_the_failures_of_an_endpoint(database, endpoint, cancelled, take, record):
    endpoint()
    for number in range(2):
        cancelled(request_digest=f"sha256:{number}")
    one, other = take()
    record(one, BAD, Next(60))
    with database.write() as c:
        c.execute(update(tables.webhooks).values(failing_since=1))
    assert record(other, GOOD) == "delivered"
    with database.read() as c:
        assert webhooks.find(c, "whk_1", "acme").failing_since is None


def test_deliveries_to_an_overloaded_receiver_are_postponed(database, endpoint, cancelled, take, record):
    endpoint("whk_1")
    endpoint("whk_2")
    for number in range(3):
        cancelled(request_digest=f"sha256:{number}", callback_url="http://back/")
    first = {one.url: one for one in take()}
    for url in ("http://whk_1/", "http://back/"):
        record(first[url], BAD, Next(600, rest_s=600))
    change(database, lease_until=None)
    assert {one.url for one in take()} == {"http://whk_2/"}


def test_failure_of_a_removed_endpoint_is_ignored(database, endpoint, cancelled, take, record):
    endpoint()
    cancelled()
    (claimed,) = take()
    with database.write() as c:
        webhooks.remove(c, "whk_1", "acme")
    assert record(claimed, BAD, Next(5)) is None


# ---------------------------------------------------------------------------- delivery log
def test_delivery_is_found_only_under_its_tenant_and_endpoint(database, endpoint, cancelled, take):
    endpoint("whk_1")
    endpoint("whk_2")
    cancelled()
    mine = next(one for one in take() if one.webhook.id == "whk_1")
    with database.write() as c:
        assert delivery_log.find(c, mine.id, to_webhook("whk_1", "acme")).id == mine.id
        for webhook_id, tenant in (("whk_2", "acme"), ("whk_1", "other")):
            assert delivery_log.find(c, mine.id, to_webhook(webhook_id, tenant)) is None
            assert delivery_log.redeliver(c, mine.id, to_webhook(webhook_id, tenant), "http://x/") is None
        assert delivery_log.page(c, to_webhook("whk_1", "other"), limit=9) == []
        assert delivery_log.page(c, to_webhook("whk_1", "acme"), state="delivered", limit=9) == []


def test_delivery_to_a_callback_is_found_only_under_its_tenant_and_job(database, endpoint, cancelled, take, record):
    endpoint("whk_1")
    job, other = (cancelled(callback_url="http://back/", request_digest=f"sha256:{n}") for n in range(2))
    record(
        next(one for one in take() if one.payload["data"]["job_id"] == job.id and one.webhook is None), BAD, Next(None)
    )
    with database.write() as c:
        (mine,) = delivery_log.page(c, to_callback(job.id, "acme"), limit=9)
        assert (mine.url, mine.webhook_id, mine.state) == ("http://back/", None, "given-up")
        for receiver in (to_callback(other.id, "acme"), to_callback(job.id, "rival"), to_webhook("whk_1", "acme")):
            assert delivery_log.find(c, mine.id, receiver) is None
            assert delivery_log.redeliver(c, mine.id, receiver) is None
        again = delivery_log.redeliver(c, mine.id, to_callback(job.id, "acme"))
    assert (again.id, again.state, again.url) == (mine.id, "waiting", "http://back/")


def test_finished_delivery_can_be_sent_again_with_the_same_id(database, endpoint, cancelled, take, record):
    endpoint()
    cancelled()
    (claimed,) = take()
    record(claimed, GOOD)
    with database.write() as c:
        again = delivery_log.redeliver(c, claimed.id, to_webhook("whk_1", "acme"), "http://new/")
    assert (again.state, again.ended_at) == ("waiting", None)
    (second,) = take()
    assert (second.id, second.number, second.url) == (claimed.id, 2, "http://new/")


def test_a_delivery_requested_again_waits_until_the_running_attempt_ends(database, endpoint, cancelled, take):
    endpoint()
    cancelled()
    (claimed,) = take()
    with database.write() as c:
        delivery_log.redeliver(c, claimed.id, to_webhook("whk_1", "acme"), "http://new/")
    assert take() == []


def test_old_deliveries_are_deleted_with_their_attempts(database, endpoint, cancelled, take, record):
    endpoint()
    cancelled()
    (claimed,) = take()
    record(claimed, GOOD)
    with database.write() as c:
        assert deliveries.delete_ended(c) == 0
        assert deliveries.delete_ended(c, kept_s=-1) == 1
        assert delivery_log.attempts(c, claimed.id) == []


def test_an_unfinished_webhook_delivery_counts_in_the_backlog(database, endpoint, cancelled, take, record):
    endpoint()
    cancelled()

    def backlog():
        with database.read() as c:
            return jobs.backlog(c)

    assert backlog().webhook_backlog == 1
    (claimed,) = take()
    assert backlog().webhook_backlog == 1
    change(database, next_attempt_at=tables.deliveries.c.created_at - 60_000)
    assert 60 <= backlog().webhook_oldest_seconds < 120
    record(claimed, GOOD)
    assert (backlog().webhook_backlog, backlog().webhook_oldest_seconds) == (0, None)
