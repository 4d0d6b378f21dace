import time

from sqlalchemy import select

from store.core.columns import ALPHABET, iso, new_id, now_ms, read_clock


def test_database_clock_returns_whole_milliseconds(database):
    with database.read() as c:
        before = time.time_ns() // 1_000_000
        now = read_clock(c)
        after = time.time_ns() // 1_000_000
    assert isinstance(now, int)
    assert before - 1 <= now <= after + 1


def test_database_clock_is_constant_within_one_statement(database):
    with database.write() as c:
        first, same = c.execute(select(now_ms(), now_ms().label("again"))).one()
        time.sleep(0.003)
        assert first == same < read_clock(c)


def test_times_are_formatted_in_utc_with_seconds():
    assert iso(1_767_323_045_999) == "2026-01-02T03:04:05Z"
    assert iso(0) == "1970-01-01T00:00:00Z"


def test_ids_are_unique_sortable_and_prefixed():
    ids = [new_id("job") for _ in range(200)]
    time.sleep(0.002)
    later = new_id("job")
    assert len(set(ids)) == 200
    assert all(each < later for each in ids)
    assert all(each[:4] == "job_" and len(each) == 30 and set(each[4:]) <= set(ALPHABET) for each in ids)
