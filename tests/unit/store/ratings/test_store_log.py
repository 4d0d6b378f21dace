"""Tests of the transparency log against a Merkle tree that is computed from all leaves."""

from __future__ import annotations

import pytest
from sqlalchemy import event, select

from assay.canonical import canonical_json
from assay.evidence import merkle
from store.core.errors import BeyondTheLog
from store.ratings import log
from store.ratings.tables import log_nodes
from tests.support.concurrency import run_concurrently


@pytest.fixture
def grown(database):
    """Function that appends a number of entries and returns their leaves."""

    def grow(count: int) -> list[bytes]:
        with database.write() as c:
            return [log.append(c, f"rat_{place}", "published", {"letter": "BS"}).leaf for place in range(count)]

    return grow


def test_head_of_an_empty_log_is_that_of_an_empty_tree(database):
    with database.read() as c:
        assert log.head(c) == log.TreeHead(0, merkle.EMPTY_HEAD)
        assert log.entries(c, 0, 9) == []


def test_leaf_of_the_log_is_the_hash_of_its_entry(database, grown):
    grown(2)
    with database.read() as c:
        second = log.entries(c, 1, 9)[0]
    assert (second.position, second.rating_id, second.entry["rating"]) == (1, "rat_1", "rat_1")
    assert second.leaf == merkle.leaf_hash(canonical_json(second.entry))


def test_log_heads_and_proofs_equal_those_of_a_merkle_tree_computed_from_all_leaves(database, grown):
    leaves = grown(19)
    with database.read() as c:
        for size in range(1, 20):
            whole = merkle.head(leaves[:size])
            assert log.head(c, size).root == whole
            for position in range(size):
                proof = log.inclusion(c, position, size)
                assert (proof.leaf, proof.head.root) == (leaves[position], whole)
                assert merkle.proves_inclusion(proof.leaf, position, size, proof.path, whole)
            for first in range(1, size + 1):
                growth = log.consistency(c, first, size)
                assert growth.first.root == merkle.head(leaves[:first])
                assert merkle.proves_growth(first, size, growth.first.root, whole, growth.path)


def test_the_log_stores_exactly_the_roots_of_complete_merkle_subtrees(database, grown):
    leaves = grown(13)
    node = merkle.nodes_from(leaves)
    with database.read() as c:
        stored = {(row.level, row.place): bytes(row.hash) for row in c.execute(select(log_nodes))}
    wanted = {(level, place) for level in range(4) for place in range(13 >> level)}
    assert stored == {one: node(*one) for one in wanted}


@pytest.mark.parametrize(
    ("call", "name", "most"),
    [
        (lambda c: log.head(c, 4), "size", 3),
        (lambda c: log.inclusion(c, 3), "position", 2),
        (lambda c: log.inclusion(c, 0, 4), "size", 3),
        (lambda c: log.consistency(c, 1, 4), "second", 3),
        (lambda c: log.consistency(c, 3, 2), "first", 2),
    ],
)
def test_position_or_size_after_the_end_of_the_log_is_refused(database, grown, call, name, most):
    grown(3)
    with database.read() as c, pytest.raises(BeyondTheLog) as refused:
        call(c)
    assert (refused.value.name, refused.value.largest) == (name, most)


def test_rolled_back_append_leaves_no_gap_in_the_log(database, grown):
    grown(3)

    def fail_after_appending() -> None:
        with database.write() as c:
            log.append(c, "rat_x", "published", {})
            log.append(c, "rat_y", "published", {"letter": float("nan")})

    with pytest.raises(ValueError, match="not JSON compliant"):
        fail_after_appending()
    leaves = grown(2)
    with database.read() as c:
        assert [entry.position for entry in log.entries(c, 0, 9)] == [0, 1, 2, 3, 4]
        assert log.inclusion(c, 4).leaf == leaves[1]


def test_concurrent_appends_leave_no_gap_in_the_log(database):
    def append(writer: int) -> None:
        for number in range(5):
            with database.write() as c:
                log.append(c, f"rat_{writer}_{number}", "published", {})

    run_concurrently(4, append)
    with database.read() as c:
        entries = log.entries(c, 0, 99)
        assert [entry.position for entry in entries] == list(range(20))
        assert log.head(c).root == merkle.head([entry.leaf for entry in entries])


def test_inclusion_proof_needs_two_sql_statements_and_a_logarithmic_number_of_hashes(database, grown):
    grown(130)
    with database.read() as c:
        statements = []
        event.listen(c, "before_cursor_execute", lambda _c, _cursor, statement, *_: statements.append(statement))
        proof = log.inclusion(c, 77)
    assert len(statements) == 2  # one statement reads the size, one all nodes
    assert len(proof.path) == 8
