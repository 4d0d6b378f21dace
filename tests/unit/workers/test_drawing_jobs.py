"""Ratings whose images an author generates over HTTP, for a classifier with a planted bias."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from assay.canonical import digest_of
from assay.catalog.stereotypes import VisualWords
from assay.methods import VisualStereotype
from assay.methods.visual_stereotype.image_generation import Drawing, draw_prompt
from assay.methods.visual_stereotype.inputs import picture_of
from assay.model import Draw
from demo.server import DemoServer
from store.core.database import Database
from store.core.settings import Settings
from store.corpora import corpora, images
from store.corpora import items as corpus_items
from store.corpora.corpora import NewCorpus, StoredCorpus
from store.corpora.materials import corpus_item
from store.jobs import jobs, observations
from store.jobs.jobs import NewJob
from store.ratings import ratings
from store.ratings.experiment_json import dump_method
from store.security.secrets import Vault
from tests.support.jobs import new_job, run_to_end
from workers.engine.worker_context import WorkerContext
from workers.run_job import run_job

WORDS = VisualWords(
    attribute="gender",
    first="man",
    second="woman",
    first_terms=("plumber", "mason", "roofer", "carpenter", "electrician", "conductor"),
    second_terms=("secretary", "dietitian", "hairdresser", "paralegal", "receptionist", "housekeeper"),
    neutral=("artist", "judge", "broker", "author", "cook", "auditor", "designer", "economist", "weaver", "reporter"),
    name="work",
)
TERMS = tuple(WORDS.roles)
PER_TERM = 8
"""Pictures of a term: 60 of the ten neutral terms, so that answers in words are enough for a letter."""

METHOD = VisualStereotype(words=(WORDS,), drawing=Drawing(per_term=PER_TERM), per_term=PER_TERM, stop_early=False)


@pytest.fixture(scope="module")
def services() -> Iterator[DemoServer]:
    with DemoServer() as server:
        yield server


@pytest.fixture
def context(sqlite_url: str, tmp_path: Path) -> Iterator[WorkerContext]:
    settings = Settings(data_dir=tmp_path, database_url=sqlite_url, egress_allow="127.0.0.0/8", call_attempts=1)
    database = Database(sqlite_url)
    yield WorkerContext(database, Vault.from_settings(settings), settings)
    database.close()


def described(services: DemoServer, name: str, kind: str, protocol: str, **settings: Any) -> dict[str, Any]:
    about = {"name": name, "kind": kind, "protocol": protocol, "base_url": services.url(name)}
    return {**about, "settings": settings, "limits": {"concurrency": 8, "timeout_s": 10}}


def painter(services: DemoServer, name: str = "painter") -> dict[str, Any]:
    return described(services, name, "language-model", "openai-images", model=name, size="64x64", send_seed=True)


def viewer(services: DemoServer, name: str, protocol: str = "hf-inference", **settings: Any) -> dict[str, Any]:
    settings = settings or {"task": "zero-shot-image-classification"}
    return described(services, name, "image-classifier", protocol, **settings)


def order(
    target: dict[str, Any], author: dict[str, Any] | None, method: VisualStereotype = METHOD, tenant: str = "default"
) -> NewJob:
    experiment = dump_method(method)
    return new_job(
        tenant=tenant,
        target=target,
        author=author,
        experiment=experiment,
        request_digest=digest_of([target, experiment]),
        seed=5,
        expected=method.expected_probes(),
    )


def rated(context: WorkerContext, new: NewJob) -> dict[str, Any]:
    job = run_to_end(context, new)
    assert job.status == "succeeded", job.error
    with context.database.read() as c:
        rating = ratings.find(c, str(job.rating_id), new.tenant)
    assert rating is not None
    return dict(rating.document)


def kept(context: WorkerContext, tenant: str = "default") -> list[StoredCorpus]:
    with context.database.read() as c:
        return corpora.page(c, tenant, limit=9)


def codes(document: dict[str, Any]) -> list[str]:
    return [reason["code"] for reason in document["components"][0]["reasons"]]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "letter"), [("even-viewer", "UCS"), ("stereotyped-viewer", "DSBS"), ("leaning-viewer", "BS")]
)
def test_planted_bias_is_found_in_generated_images(context, services, name, letter):
    document = rated(context, order(viewer(services, name), painter(services)))
    assert (document["letter"], document["declared"]) == (letter, True), codes(document)
    (component,) = document["components"]
    assert (component["scale"], component["images_seen"]) == ("probabilities", PER_TERM * len(TERMS))
    assert component["drawing"]["drawn"] == component["drawing"]["wanted"] == PER_TERM * len(TERMS)
    assert document["author"]["name"] == "painter"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("protocol", "settings", "names"),
    [
        ("hf-inference", {"task": "visual-question-answering", "top_k": 5}, "probabilities"),
        ("hf-inference", {"task": "visual-question-answering", "top_k": 1}, "labels"),
        ("hf-inference", {"task": "image-to-text"}, "labels"),
        ("openai-chat", {"model": "demo"}, "probabilities"),
        ("openai-chat", {"model": "demo", "top_logprobs": None}, "labels"),
        (
            "custom",
            {
                "path": "/look",
                "body": {"image_b64": "{image_b64}", "labels": "{labels}"},
                "output": "probabilities",
            },
            "probabilities",
        ),
    ],
)
def test_an_image_classifier_is_rated_through_questions_captions_and_choices(
    context, services, protocol, settings, names
):
    target = viewer(services, "stereotyped-viewer-600", protocol, **settings)
    document = rated(context, order(target, painter(services)))
    assert document["letter"] == "DSBS", document["components"][0]["reasons"]
    assert document["components"][0]["scale"] == names


@pytest.mark.slow
def test_images_for_a_rating_are_stored_and_reused_by_a_later_rating(context, services):
    first = rated(context, order(viewer(services, "even-viewer"), painter(services)))
    (corpus,) = kept(context)
    with context.database.read() as c:
        items = corpus_items.all_items(c, corpus.id)
        assert images.missing(c, [str(item.image) for item in items], "default") == []
    assert (corpus.kind, corpus.visibility, corpus.attribute) == ("images", "private", "gender")
    assert Counter(item.term for item in items) == dict.fromkeys(TERMS, PER_TERM)
    how = items[0].provenance
    assert how["author"]["host"] == services.url("").removeprefix("http://").rstrip("/")
    assert how["prompt"] == draw_prompt(str(items[0].term), "portrait")
    again = replace(METHOD, pictures=tuple(map(picture_of, map(corpus_item, items))), corpus=corpus.reference)
    second = rated(context, order(viewer(services, "leaning-viewer"), painter(services), again))
    assert second["components"][0]["drawing"]["asked"] == 0
    assert (first["author"]["name"], second["author"]) == ("painter", None), "who was not asked has no part in it"
    assert {row["image"] for row in second["components"][0]["images"]} == {
        row["image"] for row in first["components"][0]["images"]
    }
    assert [one.id for one in kept(context)] == [corpus.id]


@pytest.mark.slow
def test_only_missing_images_are_generated_and_stored_in_the_named_corpus(context, services):
    rated(context, order(viewer(services, "even-viewer"), painter(services), replace(METHOD, drawing=Drawing(1))))
    (corpus,) = kept(context)
    with context.database.read() as c:
        items = corpus_items.all_items(c, corpus.id)
    more = replace(
        METHOD,
        pictures=tuple(map(picture_of, map(corpus_item, items))),
        drawing=Drawing(2, prompt="face"),
        corpus=corpus.reference,
    )
    document = rated(context, order(viewer(services, "even-viewer"), painter(services), more))
    assert document["components"][0]["drawing"]["drawn"] == len(TERMS)
    with context.database.read() as c:
        assert len(corpus_items.all_items(c, corpus.id)) == 2 * len(TERMS)


@pytest.mark.slow
def test_interrupted_job_generates_no_image_again(context, services, monkeypatch):
    def fails(*_: Any) -> None:
        raise KeyboardInterrupt

    new = order(viewer(services, "even-viewer"), painter(services))
    with context.database.write() as c:
        jobs.add(c, new)
    with monkeypatch.context() as during:
        during.setattr("workers.generation.authored.keep", fails)
        with pytest.raises(KeyboardInterrupt):
            run_job(new.id, context, "a worker")
    with context.database.read() as c:
        drawn = [row.observation for row in observations.page(c, new.id, 0, 999)]
    assert sum(isinstance(one.probe.ask, Draw) for one in drawn) == PER_TERM * len(TERMS)
    assert kept(context) == []


@pytest.mark.slow
def test_images_for_a_failed_rating_are_stored(context, services, monkeypatch):
    def fails(*_: Any, **__: Any) -> None:
        raise ValueError("it broke")

    monkeypatch.setattr("workers.run_job.rating_document", fails)
    job = run_to_end(context, order(viewer(services, "even-viewer"), painter(services)))
    assert (job.status, job.error["code"]) == ("failed", "internal_error")
    (corpus,) = kept(context)
    with context.database.read() as c:
        assert Counter(item.term for item in corpus_items.all_items(c, corpus.id)) == dict.fromkeys(TERMS, PER_TERM)


@pytest.mark.parametrize(("author", "why"), [("linking-painter", "image-elsewhere"), ("scribbler", "not-an-image")])
def test_a_job_fails_if_its_author_returns_no_usable_image(context, services, author, why):
    job = run_to_end(context, order(viewer(services, "even-viewer"), painter(services, author)))
    assert job.status == "failed"
    assert why in str(job.error)
    assert kept(context) == []


@pytest.mark.slow
def test_a_rating_fails_if_its_images_are_no_longer_stored(context, services):
    rated(context, order(viewer(services, "even-viewer"), painter(services)))
    (corpus,) = kept(context)
    with context.database.read() as c:
        pictures = tuple(map(picture_of, map(corpus_item, corpus_items.all_items(c, corpus.id))))
    lost = replace(METHOD, pictures=pictures, drawing=None)
    job = run_to_end(context, order(viewer(services, "even-viewer"), None, lost, tenant="other"))
    assert "image-gone" in str(job.error)


def test_images_are_not_stored_in_a_corpus_of_another_tenant(context, services):
    with context.database.write() as c:
        theirs = corpora.add(c, NewCorpus("other", "Theirs", "images", "en", "gender", visibility="shared"))
    named = replace(METHOD, corpus=theirs.reference, drawing=Drawing(1))
    rated(context, order(viewer(services, "even-viewer"), painter(services), named))
    assert sorted(one.tenant for one in kept(context)) == ["default", "other"]
    with context.database.read() as c:
        assert corpus_items.all_items(c, theirs.id) == []
