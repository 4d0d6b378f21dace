"""Sessions: begun with a key or an account, found by their token, and ended by time, by the user or with the key.

Row 97 of docs/reliability.md: sessions had no limit, and each sign-in read all of them: 1,255 sessions delayed others
by 4.9 s.
"""

import hashlib

import pytest
from sqlalchemy import func, insert, select, update

from store.core.columns import read_clock
from store.security import keys, sessions, tables
from store.security.keys import USE_NOTED_MS
from store.security.rights import Rule
from store.security.sessions import SignedIn

MINUTE_MS = 60_000
RULES = {"mark": Rule(claim="groups", value="staff", tenant="acme", scopes=("admin",))}


@pytest.fixture
def made(database):
    with database.write() as c:
        return keys.create(c, "acme", ["ratings:read"], "a person's")


@pytest.fixture
def token(database, made):
    with database.write() as c:
        return sessions.begin(c, key_id=made[0].id)


def found(database, token):
    with database.read() as c:
        return sessions.find(c, token, RULES)


def age(database, **columns):
    """Set times of all sessions, in milliseconds from now."""
    with database.write() as c:
        now = read_clock(c)
        c.execute(update(tables.sessions).values({name: now + moved for name, moved in columns.items()}))


def count(database):
    with database.read() as c:
        return c.execute(select(func.count()).select_from(tables.sessions)).scalar_one()


def test_a_session_has_the_tenant_and_scopes_of_its_key(database, made, token):
    key = found(database, token)
    assert key == SignedIn("acme", ("ratings:read",), made[0].id, None)


def test_a_session_of_an_account_has_the_scopes_of_its_sign_in_rule_and_ends_with_the_rule(database):
    with database.write() as c:
        token = sessions.begin(c, rule="mark", subject="ada")
    assert found(database, token) == SignedIn("acme", ("admin",), None, "ada")
    with database.read() as c:
        assert sessions.find(c, token, {"another mark": RULES["mark"]}) is None


def test_a_session_of_an_account_ends_after_twelve_hours_without_a_request(database):
    with database.write() as c:
        token = sessions.begin(c, rule="mark", subject="ada")
    age(database, seen_at=-sessions.IDLE_MS - 1)
    assert found(database, token) is None


def test_only_the_digest_of_a_token_is_stored(database, token):
    with database.read() as c:
        row = c.execute(select(tables.sessions)).mappings().one()
    assert row["digest"] == hashlib.sha256(token.encode()).digest()
    assert token not in str(dict(row))


@pytest.mark.parametrize("sent", ["", "x", "assay_aaaaaaaa_b", "\0"])
def test_a_wrong_token_finds_no_session(database, token, sent):
    assert found(database, sent) is None
    assert found(database, token + sent if sent else token[:-1]) is None


def test_a_session_of_a_revoked_key_is_not_found(database, made):
    with database.write() as c:
        keys.revoke(c, made[0].id, "acme")
        late = sessions.begin(c, key_id=made[0].id)
    assert found(database, late) is None


def test_two_sessions_of_a_key_have_different_tokens_and_end_separately(database, made, token):
    with database.write() as c:
        other = sessions.begin(c, key_id=made[0].id)
        assert other != token
        sessions.end(c, token)
    assert found(database, token) is None
    assert found(database, other) is not None


def test_a_session_ends_after_twelve_hours_without_a_request(database, token):
    age(database, seen_at=-sessions.IDLE_MS + MINUTE_MS)
    assert found(database, token) is not None
    age(database, seen_at=-sessions.IDLE_MS - 1)
    assert found(database, token) is None


def test_a_request_keeps_a_session_alive(database, token):
    age(database, seen_at=-sessions.IDLE_MS + MINUTE_MS)
    assert found(database, token) is not None
    with database.read() as c:
        seen = c.execute(select(tables.sessions.c.seen_at)).scalar_one()
        assert read_clock(c) - seen < USE_NOTED_MS


def test_a_session_ends_after_seven_days_even_if_it_is_in_use(database, token):
    age(database, seen_at=0, expires_at=MINUTE_MS)
    assert found(database, token) is not None
    age(database, seen_at=0, expires_at=-1)
    assert found(database, token) is None


def test_a_session_lasts_seven_days_from_its_beginning(database, token):
    with database.read() as c:
        left = c.execute(select(tables.sessions.c.expires_at)).scalar_one() - read_clock(c)
    assert sessions.LONGEST_MS - MINUTE_MS < left <= sessions.LONGEST_MS


def test_revoking_the_key_ends_its_sessions(database, made, token):
    with database.write() as c:
        keys.revoke(c, made[0].id, "acme")
    assert found(database, token) is None


def test_a_session_ends_with_the_expiry_of_its_key(database, made, token):
    with database.write() as c:
        c.execute(update(tables.api_keys).values(expires_at=read_clock(c) - 1))
    assert found(database, token) is None


def test_beginning_a_session_removes_ended_sessions(database, made, token):
    age(database, seen_at=-sessions.IDLE_MS - 1)
    with database.write() as c:
        sessions.begin(c, key_id=made[0].id)
    assert count(database) == 1


@pytest.mark.parametrize("owner", [{"key_id"}, {"rule", "subject"}])
def test_a_key_or_an_account_has_at_most_50_sessions_and_one_more_ends_the_oldest(database, made, owner):
    whose = {"key_id": made[0].id} if owner == {"key_id"} else {"rule": "mark", "subject": "ada"}
    with database.write() as c:
        other = sessions.begin(c, rule="mark", subject="eve")
        tokens = [sessions.begin(c, **whose) for _ in range(sessions.MOST_SESSIONS + 5)]
        # sessions that begin in the same millisecond have no order
        for number, token in enumerate(tokens[: sessions.MOST_SESSIONS + 4]):
            digest = hashlib.sha256(token.encode()).digest()
            c.execute(
                update(tables.sessions)
                .where(tables.sessions.c.digest == digest)
                .values(expires_at=read_clock(c) + MINUTE_MS + number)
            )
        newest = sessions.begin(c, **whose)
    assert count(database) == sessions.MOST_SESSIONS + 1
    assert found(database, other) is not None, "another account's session goes on"
    assert found(database, newest) is not None
    assert found(database, tokens[-1]) is not None
    assert found(database, tokens[5]) is None


def test_beginning_a_session_ends_the_previous_session_of_the_browser(database, made, token):
    with database.write() as c:
        sessions.begin(c, previous=token, key_id=made[0].id)
    assert found(database, token) is None
    assert count(database) == 1


def test_one_sign_in_deletes_a_limited_number_of_ended_sessions(database, made):
    with database.write() as c:
        now = read_clock(c)
        rows = [
            {"digest": number.to_bytes(32), "rule": "r", "subject": str(number), "seen_at": now, "expires_at": now - 1}
            for number in range(3 * sessions.MOST_DELETED)
        ]
        c.execute(insert(tables.sessions), rows)
        sessions.begin(c, key_id=made[0].id)
    assert count(database) == 2 * sessions.MOST_DELETED + 1
