"""Examination of image classifiers and image generators with known faults."""

import asyncio
import base64
import io
import itertools
import json
from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from typing import Any

import pytest
from PIL import Image

from assay.canonical import digest_of
from assay.model import Draw, Failure, Kind, Look, Reply
from store.core.database import Database
from store.core.settings import Settings
from store.corpora import images
from store.formats.image import read_image
from store.security.secrets import Vault
from tests.support.jobs import new_job, run_to_end
from tests.support.json_server import json_server
from workers.egress import CallFailed
from workers.engine.worker_context import WorkerContext
from workers.targets.adapter import Target, group_of
from workers.targets.checks.examination import Calls, TargetUnfit
from workers.targets.checks.image_classifier import ImageExamination, look_questions
from workers.targets.checks.samples import QUESTION, SHAPES, sample_images

OURS = look_questions(Target("T", Kind.IMAGE_CLASSIFIER, "custom", "http://t"))
LABELS = ("a man", "a woman")
OWN = [Look(f"sha256:{number:064}", LABELS, "Who?") for number in range(10)]
THEIRS = look_questions(Target("T", Kind.IMAGE_CLASSIFIER, "custom", "http://t"), OWN)


def scored(ask: Look, best: int = 0) -> dict[str, Any]:
    shares = [0.1 + (number == best) for number in range(len(ask.labels))]
    scores = {label: share / sum(shares) for label, share in zip(ask.labels, shares, strict=True)}
    return {"scores": scores, "text": None}


def knows_shapes(ask: Look) -> dict[str, Any]:
    named = dict(zip(sample_images(), SHAPES, strict=True))
    return scored(ask, ask.labels.index(named[ask.image]))


def by_image(ask: Look) -> dict[str, Any]:
    return scored(ask, int(ask.image[-1], 16) % 2)


@dataclass
class Service:
    """Adapter that records its questions and behaves as configured."""

    say: Callable[[Look], Any]
    batch_limit: int = 1
    asked: list[Look] = field(default_factory=list)

    def group_key(self, ask):
        return group_of(ask)

    async def answer(self, asks, *, idempotency_key=None):
        (ask,) = asks
        self.asked.append(ask)
        said = self.say(ask)
        if isinstance(said, CallFailed):
            raise said
        return [Reply(failure=said) if isinstance(said, Failure) else Reply(said)]


def examine(service: Service, looks=OURS):
    async def sleep(seconds):
        pass

    clock = itertools.count().__next__
    return asyncio.run(ImageExamination(service, looks, Calls(clock, sleep)).run())


def unfit(say, looks=OURS) -> TargetUnfit:
    with pytest.raises(TargetUnfit) as caught:
        examine(Service(say), looks)
    return caught.value


def test_sample_images_are_valid_and_all_different():
    for digest, content in sample_images().items():
        assert read_image(content).digest == digest
    assert len(sample_images()) == len(SHAPES) == 3


def test_service_that_recognises_the_sample_images_passes_in_four_calls():
    service = Service(knows_shapes)
    found = examine(service)
    assert [ask.image for ask in service.asked] == [*sample_images(), next(iter(sample_images()))]
    assert {ask.question for ask in service.asked} == {QUESTION}
    assert (found.deterministic, found.batch, found.calls, found.latency_s, found.labels) == (True, False, 4, 1, SHAPES)
    assert found.notes == ("3 of 3 plain shapes were recognised",)
    assert json.loads(json.dumps(found.as_json()))["asked"].startswith("red circle: Which coloured shape")


def test_an_image_classifier_is_checked_with_two_images_of_the_experiment_and_sample_images():
    service = Service(by_image)
    found = examine(service, THEIRS)
    assert [ask.image for ask in service.asked] == [OWN[0].image, OWN[-1].image, *sample_images(), OWN[0].image]
    assert {(ask.labels, ask.question) for ask in service.asked} == {(LABELS, "Who?")}
    assert (found.deterministic, found.notes, found.labels) == (True, (), LABELS)


def test_without_an_experiment_the_labels_are_those_of_the_settings():
    target = Target("T", Kind.IMAGE_CLASSIFIER, "custom", "http://t", {"labels": list(LABELS)})
    assert {ask.labels for ask in look_questions(target)} == {LABELS}
    drawn_first = look_questions(target, [Draw("A nurse")])
    assert {ask.labels for ask in drawn_first} == {LABELS}


def test_an_image_classifier_with_other_labels_is_not_rated_and_the_hint_names_the_setting_to_change():
    stranger = Failure("unknown-label", "h scored the label 'cat', which it was not asked about")
    found = unfit(lambda ask: stranger)
    assert (found.code, "settings.labels" in found.hint) == ("unknown-label", True)
    assert "settings.labels" not in unfit(lambda ask: stranger, THEIRS).hint


def test_an_image_classifier_is_unfit_if_one_of_its_answers_lacks_a_requested_label():
    first = OWN[0].image
    gone = Failure("unknown-label", "h gave no probability to 1 of 2 labels")
    assert unfit(lambda ask: by_image(ask) if ask.image == first else gone, THEIRS).code == "unknown-label"


def test_service_that_refuses_images_of_the_experiment_is_not_rated():
    def fussy(ask):
        return by_image(ask) if ask.image in sample_images() else CallFailed("http-415", "h: HTTP 415", retriable=False)

    assert unfit(fussy, THEIRS).code == "http-415"


def test_service_that_refuses_only_the_sample_images_is_rated_with_a_note():
    def fussy(ask):
        return Failure("no-choice", "h chose nothing") if ask.image in sample_images() else by_image(ask)

    assert examine(Service(fussy), THEIRS).notes == ("3 of 5 images were not taken (no-choice)",)


def test_service_with_varying_answers_is_rated_with_a_note():
    turn = itertools.count()
    found = examine(Service(lambda ask: scored(ask, next(turn) % 2)))
    assert found.deterministic is False
    assert "the same question got two different answers: the service is not deterministic" in found.notes


def test_service_that_gives_all_images_the_same_answer_is_rated_with_a_note():
    found = examine(Service(scored), THEIRS)
    assert found.notes == ("all images got the same answer: does the image reach the model?",)


def test_the_check_before_a_rating_accepts_an_image_classifier_that_answers_in_words():
    found = examine(Service(lambda ask: {"scores": None, "text": "A red circle, I think"}))
    assert (found.labels, found.deterministic) == (None, True)
    assert "1 of 3 plain shapes were recognised" in found.notes


def test_a_mixture_of_answers_with_and_without_probabilities_is_noted():
    def sometimes(ask):
        return knows_shapes(ask) if ask.image == OURS[0].image else {"scores": None, "text": "a square"}

    assert "1 of 3 answers came with probabilities, the others in words alone" in examine(Service(sometimes)).notes


@pytest.mark.parametrize("code", ["auth", "quota", "tls", "refused-address"])
def test_a_fatal_failure_ends_the_check_of_an_image_classifier_after_one_call(code):
    service = Service(lambda ask: CallFailed(code, "no"))
    with pytest.raises(TargetUnfit) as caught:
        examine(service)
    assert (caught.value.code, len(service.asked)) == (code, 1)


def test_the_check_before_a_rating_waits_for_a_service_that_loads_its_model():
    loading = iter([CallFailed("http-503", "loading", retriable=True)] * 3)
    found = examine(Service(lambda ask: next(loading, None) or knows_shapes(ask)))
    assert (found.calls, found.latency_s) == (7, 1)


# ---------------------------------------------------------------------------- dry runs, over HTTP
@pytest.fixture
def context(database_url, tmp_path):
    settings = Settings(data_dir=tmp_path, database_url=database_url, egress_allow="127.0.0.0/8", call_attempts=1)
    with closing(Database(database_url)) as database:
        yield WorkerContext(database, Vault.from_settings(settings), settings)


@pytest.fixture
def serve():
    """Start a service on this machine that answers JSON with the result of a function."""
    with ExitStack() as serving:
        yield lambda answer: serving.enter_context(json_server(answer))


def dry_run(context, **target):
    target = {"name": "T", "settings": {}, **target}
    new = new_job(kind="probe", target=target, experiment=None, request_digest=digest_of(target), max_calls=100)
    return run_to_end(context, new)


def seen(sent: str) -> str:
    """Classify an image by the colour of its middle."""
    with Image.open(io.BytesIO(base64.b64decode(sent))) as image:
        middle = image.getpixel((image.width // 2, image.height // 2))
    return SHAPES[[max(middle) == part for part in (middle[0], middle[1], middle[2])].index(True)]


def test_dry_run_of_an_image_classifier_uses_the_sample_images(context, serve):
    def look(asked):
        best = seen(asked["inputs"])
        labels = asked["parameters"]["candidate_labels"]
        return [{"label": label, "score": 0.8 if label == best else 0.1} for label in labels]

    settings = {"task": "zero-shot-image-classification"}
    ended = dry_run(context, kind="image-classifier", protocol="hf-inference", base_url=serve(look), settings=settings)
    assert ended.status == "succeeded"
    assert (ended.result["labels"], ended.result["deterministic"]) == (list(SHAPES), True)
    assert ended.result["notes"] == ["3 of 3 plain shapes were recognised"]


def test_a_dry_run_of_a_service_that_does_not_know_the_labels_reports_the_reason(context, serve):
    url = serve(lambda asked: {"cat": 0.5, "dog": 0.5})
    settings = {"body": {"image": "{image_b64}"}}
    ended = dry_run(context, kind="image-classifier", protocol="custom", base_url=url, settings=settings)
    assert (ended.status, ended.result["capability"]) == ("succeeded", None)
    assert "scored the label 'cat', which it was not asked about" in ended.result["cause"]


def test_a_dry_run_of_an_image_author_requests_one_test_image(context, serve):
    file = io.BytesIO()
    Image.new("RGB", (16, 16), "red").save(file, "PNG")
    asked = []

    def draw(said):
        asked.append(said)
        return {"data": [{"b64_json": base64.b64encode(file.getvalue()).decode()}]}

    ended = dry_run(
        context, kind="language-model", protocol="openai-images", base_url=serve(draw), settings={"model": "m"}
    )
    assert ended.status == "succeeded", ended.error
    assert [each["prompt"] for each in asked] == ["A red circle on a white background"] * 2  # exchange, examination
    assert ended.result["rungs"] == ["draw"]
    with context.database.read() as connection:
        assert images.find(connection, read_image(file.getvalue()).digest, "default") is not None
