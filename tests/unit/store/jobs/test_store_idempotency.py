import time

from store.jobs import idempotency
from store.jobs.idempotency import Replay
from tests.support.concurrency import run_concurrently

SCOPE = "key_1 POST /v1/jobs"


def test_a_request_repeated_with_its_idempotency_key_gets_the_recorded_response(database):
    with database.write() as c:
        assert idempotency.begin(c, SCOPE, "k", "d1") == "new"
        idempotency.complete(c, SCOPE, "k", 202, b'{"id": 1}', {"Location": "/v1/jobs/1"})
    with database.write() as c:
        assert idempotency.begin(c, SCOPE, "k", "d1") == Replay(202, b'{"id": 1}', {"Location": "/v1/jobs/1"})


def test_a_reused_idempotency_key_is_reported_as_in_flight_or_for_another_payload_as_a_mismatch(database):
    with database.write() as c:
        idempotency.begin(c, SCOPE, "k", "d1")
    with database.write() as c:
        assert idempotency.begin(c, SCOPE, "k", "d1") == "in-flight"
        assert idempotency.begin(c, SCOPE, "k", "d2") == "mismatch"
        idempotency.complete(c, SCOPE, "k", 202, b"", {})
        assert idempotency.begin(c, SCOPE, "k", "d2") == "mismatch"


def test_same_idempotency_key_in_another_scope_is_a_new_request(database):
    with database.write() as c:
        idempotency.begin(c, SCOPE, "k", "d1")
        assert idempotency.begin(c, "key_2 POST /v1/jobs", "k", "d1") == "new"


def test_request_without_a_response_can_be_sent_again_after_a_timeout(database):
    with database.write() as c:
        idempotency.begin(c, SCOPE, "k", "d1")
    time.sleep(0.06)
    with database.write() as c:
        assert idempotency.begin(c, SCOPE, "k", "d1", in_flight_s=0.05) == "new"
        assert idempotency.begin(c, SCOPE, "k", "d1") == "in-flight"


def test_a_request_that_waits_for_its_work_counts_as_in_flight_and_once_lost_has_the_response_recorded_before(database):
    with database.write() as c:
        assert idempotency.find(c, SCOPE, "k", "d1") == "new"
        idempotency.begin(c, SCOPE, "k", "d1")
        idempotency.complete(c, SCOPE, "k", None, b"queued", {})
        for look_up in (idempotency.find, idempotency.begin):
            assert look_up(c, SCOPE, "k", "d1") == "in-flight"
            assert look_up(c, SCOPE, "k", "d2") == "mismatch"
            assert look_up(c, SCOPE, "k", "d1", in_flight_s=0) == Replay(202, b"queued", {})
        idempotency.complete(c, SCOPE, "k", 200, b"succeeded", {})
        assert idempotency.find(c, SCOPE, "k", "d1") == Replay(200, b"succeeded", {})


def test_an_expired_response_to_an_idempotency_key_is_replaced_by_a_new_request_or_purged(database):
    with database.write() as c:
        idempotency.begin(c, SCOPE, "k", "d1")
        idempotency.complete(c, SCOPE, "k", 202, b"", {})
        assert idempotency.purge(c) == 0
    time.sleep(0.01)
    with database.write() as c:
        assert idempotency.begin(c, SCOPE, "k", "d2", kept_h=0.001 / 3600) == "new"
    time.sleep(0.01)
    with database.write() as c:
        assert idempotency.purge(c, kept_h=0.001 / 3600) == 1


def test_only_one_of_several_concurrent_requests_with_one_idempotency_key_is_executed(database):
    def send(_):
        with database.write() as c:
            outcome = idempotency.begin(c, SCOPE, "k", "d1")
            if outcome == "new":
                idempotency.complete(c, SCOPE, "k", 202, b"once", {})
            return outcome

    assert sorted(map(repr, run_concurrently(5, send))) == [repr("new")] + [repr(Replay(202, b"once", {}))] * 4
