"""Questions go to the rated service or to its author."""

from __future__ import annotations

import asyncio

import pytest

from assay.model import Classify, Kind, Reply, Score, Write
from workers.egress import CallFailed
from workers.job_targets import hosts_of
from workers.targets.chain.chain import Roles


class Remembering:
    """Adapter that records its questions."""

    batch_limit = 4

    def __init__(self, says: str, failure: CallFailed | None = None) -> None:
        self.says, self.failure, self.asked = says, failure, []

    def group_key(self, ask):
        return type(ask).__name__

    async def answer(self, asks, *, idempotency_key=None):
        self.asked += asks
        if self.failure is not None:
            raise self.failure
        return [Reply(self.says) for _ in asks]

    async def languages(self):
        return frozenset({("en", "es")})


def roles(author=None):
    rated, author = Remembering("rated"), author or Remembering("written")
    return Roles(rated, author, Kind.LANGUAGE_MODEL), rated, author


def test_questions_go_to_the_rated_service_and_requests_to_write_texts_go_to_the_author_service():
    both, rated, author = roles()
    assert asyncio.run(both.answer([Score("a"), Score("b")])) == [Reply("rated")] * 2
    assert asyncio.run(both.answer([Write("a story")])) == [Reply("written")]
    assert rated.asked == [Score("a"), Score("b")]
    assert author.asked == [Write("a story")]
    assert asyncio.run(both.languages()) == {("en", "es")}
    assert both.batch_limit == 4


def test_each_text_that_an_author_service_writes_is_requested_in_its_own_call():
    both, _, _ = roles()
    assert both.group_key(Score("a")) == both.group_key(Score("b"))
    keys = {both.group_key(ask) for ask in (Score("a"), Write("a"), Write("a", 1), Write("b"))}
    assert len(keys) == 4


def test_texts_are_written_by_the_rated_service_and_scored_by_the_judge_in_its_batches():
    writer, judge = Remembering("a text"), Remembering("good")
    judge.batch_limit = 2
    both = Roles(writer, judge, Kind.CLASSIFIER)
    assert asyncio.run(both.answer([Write("a story")])) == [Reply("a text")]
    assert asyncio.run(both.answer([Classify("a"), Classify("b")])) == [Reply("good")] * 2
    assert (writer.asked, judge.asked) == ([Write("a story")], [Classify("a"), Classify("b")])
    assert both.batch_limit == 2
    assert both.group_key(Write("a")) != both.group_key(Write("a", 1)) != both.group_key(Classify("a"))


def test_the_error_of_a_failed_judge_service_names_the_judge():
    both = Roles(
        Remembering("a text"),
        Remembering("", CallFailed("http-500", "broken", retriable=True, status=500)),
        Kind.CLASSIFIER,
    )
    with pytest.raises(CallFailed, match="judge"):
        asyncio.run(both.answer([Classify("a")]))


def test_the_error_of_a_failed_author_service_names_the_author_and_has_its_error_code():
    both, _, _ = roles(Remembering("", CallFailed("http-429", "too many", retriable=True, retry_after_s=3, status=429)))
    with pytest.raises(CallFailed) as failed:
        asyncio.run(both.answer([Write("a")]))
    assert str(failed.value) == "author: too many"
    assert (failed.value.code, failed.value.retriable, failed.value.retry_after_s) == ("http-429", True, 3)


def test_hosts_of_lists_the_hosts_of_the_rated_service_of_the_author_of_texts_and_of_every_service_of_a_chain():
    target = {"protocol": "openai-completions", "base_url": "http://127.0.0.1:81/v1", "settings": {}}
    author = {"protocol": "openai-chat", "base_url": "https://user@author.example/v1", "settings": {}}
    chain = {"protocol": "chain", "base_url": "", "settings": {"links": [target, {**author, "base_url": ""}]}}
    assert hosts_of(target, author) == ("127.0.0.1:81", "author.example")
    assert hosts_of(target, None) == ("127.0.0.1:81",)
    assert hosts_of(chain) == ("127.0.0.1:81", "openai-chat")
