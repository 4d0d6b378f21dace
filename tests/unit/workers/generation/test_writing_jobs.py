"""Jobs of kind ``writing``, and the sentences that ratings store in corpora."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from assay.canonical import digest_of
from assay.catalog.stereotypes import StereotypeWords
from assay.methods import StereotypeScore
from assay.methods.shared.terms.sentence_generation import Writing
from assay.methods.shared.terms.sentences import Sentence
from demo.server import DemoServer
from store.core.database import Database
from store.core.errors import StoreUnavailable
from store.core.settings import Settings
from store.corpora import corpora, specifications
from store.corpora import items as corpus_items
from store.corpora.corpora import NewCorpus, Rules, StoredCorpus
from store.corpora.items import NewItem
from store.jobs import jobs, observations
from store.jobs.jobs import NewJob
from store.ratings.experiment_json import dump_method
from store.security.secrets import Vault
from tests.support.jobs import new_job, run_to_end
from workers.engine.worker_context import WorkerContext
from workers.generation import corpus_sentences
from workers.run_job import run_job

WORDS = StereotypeWords(
    attribute="gender",
    first="men",
    second="women",
    pairs=(("man", "woman"), ("brother", "sister")),
    first_terms=("plumber", "mason"),
    second_terms=("secretary", "dietitian"),
    neutral=("artist", "judge"),
    telling=("himself", "herself"),
    name="work",
)
RULES = Rules("work", 1, "sha256:" + "1" * 64, specifications.dump_words(WORDS))
TERMS = tuple(WORDS.roles)


@pytest.fixture(scope="module")
def author() -> Iterator[DemoServer]:
    with DemoServer() as server:
        yield server


@pytest.fixture
def context(database_url: str, tmp_path: Path) -> Iterator[WorkerContext]:
    settings = Settings(data_dir=tmp_path, database_url=database_url, egress_allow="127.0.0.0/8", call_attempts=1)
    database = Database(database_url)
    yield WorkerContext(database, Vault.from_settings(settings), settings)
    database.close()


@pytest.fixture
def corpus(context: WorkerContext) -> Callable[..., StoredCorpus]:
    """Create a corpus with some sentences and the given properties."""

    def make(*texts: str, tenant: str = "default", **special: Any) -> StoredCorpus:
        plain = {"name": "Work", "kind": "sentences", "language": "en", "attribute": "gender", "rules": RULES}
        with context.database.write() as c:
            made = corpora.add(c, NewCorpus(tenant, **{**plain, **special}))
            if texts:
                corpus_items.add(c, made.id, tenant, [NewItem(text) for text in texts])
            return made

    return make


def described(author: DemoServer, name: str, protocol: str = "openai-chat") -> dict[str, Any]:
    about = {"name": name, "kind": "language-model", "protocol": protocol, "base_url": author.url(name)}
    return {**about, "settings": {"model": name}}


def order(author: DemoServer, into: StoredCorpus, name: str = "even-model", **changes: Any) -> NewJob:
    asked = {"corpus": into.id, "specification": "work@1", "words": specifications.dump_words(WORDS)}
    asked |= {"per_term": 3, "family": "nothing-else", "tries": 3, "reuse": False} | changes
    return new_job(
        kind="writing", target=described(author, name), experiment=asked, request_digest=digest_of(asked), seed=5
    )


def items_of(context: WorkerContext, corpus_id: str) -> list[corpus_items.StoredItem]:
    with context.database.read() as c:
        return corpus_items.all_items(c, corpus_id)


def terms(items: list[corpus_items.StoredItem]) -> Counter[str]:
    return Counter(str(item.attribute_term) for item in items)


# ---------------------------------------------------------------------------- for a corpus
def test_the_requested_number_of_sentences_is_stored_for_every_term_with_author_and_prompt(context, corpus, author):
    into = corpus()
    job = run_to_end(context, order(author, into))
    items = items_of(context, into.id)
    assert (job.status, job.stage) == ("succeeded", "written"), job.error
    assert terms(items) == dict.fromkeys(TERMS, 3)
    told = job.result
    assert (told["wanted"], told["written"], told["added"], told["duplicates"]) == (18, 18, 18, 0)
    assert (told["corpus"], told["version"], told["left_out"], told["reused"]) == (into.id, 2, 0, 0)
    for item in items:
        how = item.provenance
        assert (item.source, how["job"], how["author"]["model"]) == ("written", job.id, "even-model")
        assert f'"{item.group_term}"' in how["prompt"]
        assert item.counterpart


def test_invalid_sentences_are_counted_by_reason_and_requested_again(context, corpus, author):
    into = corpus()
    job = run_to_end(context, order(author, into, "sloppy-writer-60", per_term=4))
    told, items = job.result, items_of(context, into.id)
    assert sum(told["refused"].values()) > 5
    assert set(told["refused"]) <= {
        *("no-attribute-term", "several-group-terms", "other-group-word", "several-lines", "repeated"),
    }
    assert told["asked"] == told["written"] + sum(told["refused"].values())
    assert len(items) == told["added"] <= 24
    assert not any("herself" in str(item.text) or "\n" in str(item.text) for item in items)


def test_no_sentences_are_requested_for_a_term_that_already_has_enough(context, corpus, author):
    into = corpus(*(f"The {who} met the {term}." for term in TERMS[:4] for who in ("man", "woman", "brother")))
    job = run_to_end(context, order(author, into))
    with context.database.read() as c:
        asked = [one.observation.probe.ask.prompt for one in observations.page(c, job.id, 0, 99)]
    assert job.result["wanted"] == job.result["added"] == len(asked) == 6
    assert all('"artist"' in prompt or '"judge"' in prompt for prompt in asked)


@pytest.mark.slow
def test_sentences_of_own_and_shared_corpora_are_reused_only_on_request(context, corpus, author):
    theirs = corpus(
        *(f"The {who} met the {term}." for term in TERMS for who in ("man", "woman")),
        tenant="other",
        visibility="shared",
    )
    corpus("The man saw the judge.", tenant="other")  # a private corpus of another tenant cannot be copied from
    corpus("The man heard the judge.", visibility="shared", rules=None)  # a corpus without rules is not copied from
    into = corpus("The man met the judge.", "The sister met the judge.", "The brother met the judge.")
    job = run_to_end(context, order(author, into, reuse=True))
    items = items_of(context, into.id)
    assert terms(items) == {**dict.fromkeys(TERMS[:5], 3), "None": 3}
    taken = [item for item in items if "taken_from" in item.provenance]
    assert (len(taken), job.result["reused"], job.result["written"]) == (10, 10, 5)
    assert {item.provenance["taken_from"]["corpus"] for item in taken} == {theirs.id}
    again = corpus()
    assert run_to_end(context, order(author, again)).result["written"] == 18, (
        "without being asked nothing is taken over"
    )


def test_a_resumed_job_that_has_sentences_written_repeats_no_author_request(context, corpus, author, monkeypatch):
    into = corpus()
    new = order(author, into)
    with monkeypatch.context() as broken:
        broken.setattr(corpus_sentences.Task, "finish", _unavailable)
        first = run_to_end(context, new)
    assert (first.status, first.asked, items_of(context, into.id)) == ("running", 18, [])
    with context.database.write() as c:
        jobs.release_orphans(c)
    run_job(new.id, context, "another worker")
    with context.database.read() as c:
        job = jobs.find(c, new.id, None)
    assert (job.status, job.result["added"], job.calls) == ("succeeded", 18, first.calls)


def _unavailable(*_: Any) -> None:
    raise StoreUnavailable("unreachable")


def test_job_fails_with_a_reason_when_its_corpus_is_deleted(context, corpus, author):
    into = corpus()
    with context.database.write() as c:
        corpora.remove(c, into.id, "default")
    job = run_to_end(context, order(author, into))
    assert (job.status, job.error["reason"]) == ("failed", "corpus-gone")
    assert into.id in job.error["detail"]


def test_corpus_of_another_tenant_is_never_changed(context, corpus, author):
    theirs = corpus(tenant="other", visibility="shared")
    job = run_to_end(context, order(author, theirs))
    assert (job.status, items_of(context, theirs.id)) == ("failed", [])


@pytest.mark.slow
def test_unreachable_author_fails_the_job_and_leaves_the_corpus_unchanged(context, corpus, author):
    into = corpus("The man met the judge.")
    new = order(author, into)
    gone = replace(new, target={**new.target, "base_url": "http://127.0.0.1:9"})
    job = run_to_end(context, gone)
    assert (job.status, job.error["code"]) == ("failed", "target_unavailable")
    assert len(items_of(context, into.id)) == 1


def test_sentences_beyond_the_size_limit_are_left_out_and_counted(context, corpus, author, monkeypatch):
    monkeypatch.setattr("workers.generation.authored.MOST_ITEMS", 10)
    into = corpus("The man met the judge.")
    job = run_to_end(context, order(author, into))
    assert (job.result["added"], job.result["left_out"]) == (9, 8)


# ---------------------------------------------------------------------------- for a rating
def rating(author: DemoServer, named: StoredCorpus | None, **changes: Any) -> NewJob:
    method = StereotypeScore(
        words=(WORDS,),
        sentences=(Sentence("The man met the judge.", id="kept"),),
        writing=Writing(per_term=2),
        corpus=None if named is None else named.reference,
        per_term=2,
        most_per_term=2,
        **changes,
    )
    new = order(author, named) if named is not None else replace(order(author, _nowhere()))
    experiment = dump_method(method)
    target = described(author, "even-model", "openai-completions")
    return replace(
        new,
        kind="rating",
        target=target,
        author=described(author, "sloppy-writer-30"),
        experiment=experiment,
        request_digest=digest_of(experiment),
    )


def _nowhere() -> StoredCorpus:
    return StoredCorpus("", "", "", "", "", id="none", version=1, created_at=0, updated_at=0, removed_at=None)


@pytest.mark.slow
def test_sentences_for_a_rating_are_stored_in_the_corpus_that_it_names(context, corpus, author):
    named = corpus("The man met the judge.")
    job = run_to_end(context, rating(author, named))
    assert job.status == "succeeded", job.error
    new = [item for item in items_of(context, named.id) if item.source == "written"]
    assert terms(new) == {**dict.fromkeys(TERMS[:5], 2), "judge": 1}
    assert {item.provenance["job"] for item in new} == {job.id}
    assert {item.provenance["author"]["name"] for item in new} == {"sloppy-writer-30"}
    with context.database.read() as c:
        assert [one.id for one in corpora.page(c, "default", limit=9)] == [named.id]


@pytest.mark.parametrize("whose", ["nobody", "another", "gone", "other words"])
def test_sentences_are_stored_in_a_new_corpus_if_the_rating_names_no_usable_corpus(context, corpus, author, whose):
    named = None
    if whose == "another":
        named = corpus(tenant="other", visibility="shared")
    elif whose != "nobody":
        rules = replace(RULES, words={**RULES.words, "neutral": ["judge"]}) if whose == "other words" else RULES
        named = corpus(rules=rules)
    new = rating(author, named)
    if whose == "gone":
        with context.database.write() as c:
            corpora.remove(c, named.id, "default")
    job = run_to_end(context, new)
    assert job.status == "succeeded", job.error
    with context.database.read() as c:
        mine = [one for one in corpora.page(c, "default", limit=9) if one.tenant == "default"]
        made = next(one for one in mine if named is None or one.id != named.id)
        if whose == "another":
            assert corpus_items.all_items(c, named.id) == []
    assert (made.visibility, made.attribute, made.rules.name) == ("private", "gender", "work")
    assert job.id in made.description
    assert len(items_of(context, made.id)) == 11


@pytest.mark.slow
def test_a_corpus_created_for_the_sentences_of_a_rating_has_the_words_of_its_experiment(context, author):
    method = StereotypeScore(specification="p4-math-arts", writing=Writing(per_term=1), per_term=1, most_per_term=1)
    experiment = dump_method(method)
    new = replace(rating(author, None), experiment=experiment, request_digest="sha256:math")
    run_to_end(context, new)
    with context.database.read() as c:
        (made,) = corpora.page(c, "default", limit=9)
        shipped = specifications.find_named(c, "default", "p4-math-arts")
    assert (made.rules.name, made.rules.version, made.rules.digest) == ("p4-math-arts", 1, shipped.digest)


def test_a_rating_for_which_no_service_writes_sentences_creates_no_corpus(context, author):
    method = StereotypeScore(words=(WORDS,), per_term=2, most_per_term=2)
    experiment = dump_method(method)
    new = replace(rating(author, None), author=None, experiment=experiment, request_digest="sha256:templates")
    assert run_to_end(context, new).status == "succeeded"
    with context.database.read() as c:
        assert corpora.page(c, "default", limit=9) == []
