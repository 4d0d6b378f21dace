import threading
import time

from store.jobs import idempotency
from store.jobs.idempotency import Fresh, InFlight, Mismatch, Replay

SCOPE = "key_1 POST /v1/jobs"


def test_a_request_is_carried_out_once_and_its_answer_repeated(database):
    with database.write() as c:
        assert idempotency.begin(c, SCOPE, "k", "d1") == Fresh()
        idempotency.complete(c, SCOPE, "k", 202, b'{"id": 1}', {"Location": "/v1/jobs/1"})
    with database.write() as c:
        assert idempotency.begin(c, SCOPE, "k", "d1") == Replay(202, b'{"id": 1}', {"Location": "/v1/jobs/1"})


def test_a_request_in_flight_is_told_apart_from_another_payload(database):
    with database.write() as c:
        idempotency.begin(c, SCOPE, "k", "d1")
    with database.write() as c:
        assert idempotency.begin(c, SCOPE, "k", "d1") == InFlight()
        assert idempotency.begin(c, SCOPE, "k", "d2") == Mismatch()
        idempotency.complete(c, SCOPE, "k", 202, b"", {})
        assert idempotency.begin(c, SCOPE, "k", "d2") == Mismatch()


def test_the_same_key_in_another_scope_is_another_request(database):
    with database.write() as c:
        idempotency.begin(c, SCOPE, "k", "d1")
        assert idempotency.begin(c, "key_2 POST /v1/jobs", "k", "d1") == Fresh()


def test_a_forgotten_request_may_be_sent_again_and_an_answered_one_is_not_forgotten(database):
    with database.write() as c:
        idempotency.begin(c, SCOPE, "k", "d1")
        idempotency.forget(c, SCOPE, "k")
        assert idempotency.begin(c, SCOPE, "k", "d2") == Fresh()
        idempotency.complete(c, SCOPE, "k", 201, b"made", {})
        idempotency.forget(c, SCOPE, "k")
        assert idempotency.begin(c, SCOPE, "k", "d2") == Replay(201, b"made", {})


def test_a_request_that_was_lost_with_its_process_may_be_sent_again(database):
    with database.write() as c:
        idempotency.begin(c, SCOPE, "k", "d1")
    time.sleep(0.06)
    with database.write() as c:
        assert idempotency.begin(c, SCOPE, "k", "d1", in_flight_s=0.05) == Fresh()
        assert idempotency.begin(c, SCOPE, "k", "d1") == InFlight()


def test_an_answer_is_kept_for_its_hours_and_then_purged(database):
    with database.write() as c:
        idempotency.begin(c, SCOPE, "k", "d1")
        idempotency.complete(c, SCOPE, "k", 202, b"", {})
        assert idempotency.purge(c) == 0
    time.sleep(0.01)
    with database.write() as c:
        assert idempotency.begin(c, SCOPE, "k", "d2", kept_h=0.001 / 3600) == Fresh()
    time.sleep(0.01)
    with database.write() as c:
        assert idempotency.purge(c, kept_h=0.001 / 3600) == 1


def test_of_many_requests_at_once_one_is_carried_out(database):
    outcomes, ready = [], threading.Barrier(5)

    def send():
        ready.wait()
        with database.write() as c:
            outcome = idempotency.begin(c, SCOPE, "k", "d1")
            if outcome == Fresh():
                idempotency.complete(c, SCOPE, "k", 202, b"once", {})
            outcomes.append(outcome)

    threads = [threading.Thread(target=send) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(map(repr, outcomes)) == [repr(Fresh())] + [repr(Replay(202, b"once", {}))] * 4
