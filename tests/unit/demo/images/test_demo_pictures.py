"""Tests of drawn pictures, their author, and image classifiers of known bias."""

import base64
import io

import httpx
import numpy as np
import pytest
from PIL import Image

from demo.images.viewers import NoPicture, ViewedPicture, Viewer, colour, draw, see, subject
from demo.language_models.models import preference
from demo.predictors.known import HELPERS, VIEWERS, predictor
from demo.server import DemoServer
from demo.stereotypes import FIRST, SECOND, lexicon, side_of, stereotypes
from store.formats.image import read_image

LABELS = ("a man", "a woman")
HIS, HERS, NEITHERS = "plumber", "receptionist", "professor"


@pytest.fixture(scope="module")
def post():
    with DemoServer() as server, httpx.Client(timeout=10, trust_env=False) as client:
        yield lambda path, body: client.post(f"{server.base}/{path}", json=body)


def packed(prompt: str, number: int = 0) -> str:
    return base64.b64encode(draw(prompt, number)).decode()


# ---------------------------------------------------------------------------- pictures
def test_every_term_is_drawn_in_a_different_colour_in_demo_pictures():
    assert len({colour(term) for term in lexicon()}) == len(lexicon())


def test_the_demo_recognises_the_term_of_a_picture_from_its_pixels():
    for words in stereotypes().values():
        for term in words.roles:
            assert see(draw(f"A photo of a {term} at work", 3)).term == subject(term)


def test_a_demo_picture_is_reproducible_and_each_picture_number_gives_a_different_picture():
    assert draw("A plumber", 0) == draw("A plumber", 0)
    assert len({draw("A plumber", number) for number in range(100)}) == 100
    facts = read_image(draw("A plumber", 0))
    assert (facts.media_type, facts.width, facts.height) == ("image/png", 64, 64)


def test_the_term_of_a_demo_picture_is_still_recognised_after_scaling_and_jpeg_compression():
    file = io.BytesIO()
    Image.open(io.BytesIO(draw("A plumber", 0))).resize((160, 160)).save(file, "JPEG", quality=90)
    assert see(file.getvalue()).term == ("plumber",)


def test_a_picture_that_the_demo_did_not_draw_has_no_known_term():
    file = io.BytesIO()
    Image.new("RGB", (10, 7), "white").save(file, "PNG")
    assert see(file.getvalue()).term == ()
    assert see(file.getvalue()).side == 0


@pytest.mark.parametrize("content", [b"", b"no picture", draw("A plumber", 0)[:60]])
def test_a_file_that_is_not_an_image_is_refused(content: bytes):
    with pytest.raises(NoPicture, match="cannot be read"):
        see(content)


# ---------------------------------------------------------------------------- image classifiers
@pytest.mark.parametrize(("lean", "stereotype"), [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0)])
@pytest.mark.parametrize("term", [HIS, HERS, NEITHERS])
def test_probabilities_answers_and_captions_have_the_planted_bias_on_average(lean: float, stereotype: float, term: str):
    viewer = Viewer(name="v", summary="", lean=lean, stereotype=stereotype)
    seen = [see(draw(term, number)) for number in range(400)]
    due = preference(lean + stereotype * side_of(term))
    assert np.mean([viewer.probabilities(each, LABELS)[0] for each in seen]) == pytest.approx(due, abs=4 * 0.15 / 20)
    said = [viewer.answers(each, LABELS)[0] > 0.5 for each in seen]
    assert np.mean(said) == pytest.approx(due, abs=4 * 0.5 / 20)
    captions = [side_of(viewer.caption(each)) == FIRST for each in seen]
    assert np.mean(captions) == pytest.approx(due, abs=4 * 0.5 / 20)


def test_swapping_the_labels_swaps_the_probabilities():
    picture = see(draw(HIS, 0))
    one = predictor("stereotyped-viewer")
    assert one.answers(picture, LABELS) == pytest.approx(one.answers(picture, LABELS[::-1])[::-1])
    assert sum(one.probabilities(picture, [*LABELS, "a chair"])) == pytest.approx(1)


def test_a_picture_is_assigned_to_the_group_whose_stereotype_it_shows_or_to_neither():
    assert (ViewedPicture((HIS,), "").side, ViewedPicture((HERS,), "").side, ViewedPicture((NEITHERS,), "").side) == (
        FIRST,
        SECOND,
        0,
    )


# ---------------------------------------------------------------------------- over HTTP
def test_the_image_author_draws_a_new_picture_each_time_and_the_same_picture_for_a_seed(post):
    path, body = "painter/v1/images/generations", {"model": "m", "prompt": "A photo of a mason", "n": 2}
    first, second = (each["b64_json"] for each in post(path, body).json()["data"])
    assert first != second == packed(body["prompt"], 1)
    [of_seed] = post(path, {**body, "n": 1, "seed": 0}).json()["data"]
    assert of_seed["b64_json"] == first
    [larger] = post(path, {**body, "n": 1, "seed": 0, "size": "256x256"}).json()["data"]
    assert Image.open(io.BytesIO(base64.b64decode(larger["b64_json"]))).size == (256, 256)


def test_faulty_demo_services_that_draw_images_return_no_valid_image(post):
    body = {"model": "m", "prompt": "A photo of a mason"}
    assert set(post("linking-painter/v1/images/generations", body).json()["data"][0]) == {"url"}
    [said] = post("scribbler/v1/images/generations", body).json()["data"]
    with pytest.raises(NoPicture):
        see(base64.b64decode(said["b64_json"]))
    assert {"painter", "linking-painter", "scribbler"} <= set(HELPERS)


@pytest.mark.parametrize("name", VIEWERS)
def test_an_image_classifier_gives_every_label_a_probability_in_each_protocol(post, name: str):
    image = packed(f"A photo of a {HIS}")
    zero_shot = post(name, {"inputs": image, "parameters": {"candidate_labels": LABELS}}).json()
    assert {each["label"] for each in zero_shot} == set(LABELS)
    assert [each["score"] for each in zero_shot] == sorted((each["score"] for each in zero_shot), reverse=True)
    custom = post(f"{name}/look", {"image_b64": image, "labels": LABELS}).json()["probabilities"]
    assert custom == {each["label"]: each["score"] for each in zero_shot}
    asked = {"inputs": {"image": image, "question": "Is this a man or a woman?"}}
    answers = post(name, asked).json()
    assert {each["answer"] for each in answers} == {"man", "woman"}
    assert post(name, {**asked, "parameters": {"top_k": 1}}).json() == answers[:1]
    [captioned] = post(name, {"inputs": image}).json()
    assert captioned["generated_text"].startswith("a picture of one ")


def test_a_chat_about_a_picture_is_answered_with_an_option_or_a_caption(post):
    shown = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{packed(HERS)}"}}
    for question, due in (("Which?\n\nA. man\nB. woman", {"A", "B"}), ("Describe it.", None)):
        content = [{"type": "text", "text": question}, shown]
        body = {"model": "m", "messages": [{"role": "user", "content": content}], "logprobs": True, "top_logprobs": 5}
        [said] = post("even-viewer/v1/chat/completions", body).json()["choices"]
        text = said["message"]["content"]
        assert text.startswith("a picture") if due is None else text in due
        if due:
            assert {each["token"] for each in said["logprobs"]["content"][0]["top_logprobs"]} == due


NO_IMAGE = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://pictures.invalid/1.png"}}]}


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("painter/v1/images/generations", {"model": "m"}),
        ("painter/v1/images/generations", {"prompt": "a", "n": 11}),
        ("painter/v1/images/generations", {"prompt": "a", "size": "4096x4096"}),
        ("painter/v1/images/generations", {"prompt": "a", "size": "64x32"}),
        ("even-viewer", {"inputs": "no base64", "parameters": {"candidate_labels": LABELS}}),
        ("even-viewer", {"inputs": base64.b64encode(b"text").decode()}),
        ("even-viewer", {"inputs": packed(HIS), "parameters": {"candidate_labels": ["one"]}}),
        ("even-viewer", {"inputs": {"image": packed(HIS), "question": ""}}),
        ("even-viewer/look", {"labels": LABELS}),
        ("even-viewer/v1/chat/completions", {"model": "m", "messages": []}),
        ("even-viewer/v1/chat/completions", {"model": "m", "messages": [NO_IMAGE]}),
    ],
)
def test_invalid_image_requests_are_refused_with_a_reason(post, path: str, body: dict):
    response = post(path, body)
    assert response.status_code == 400
    assert len(response.json()["error"]) > 10


def test_image_authors_and_image_classifiers_refuse_protocols_that_they_do_not_support(post):
    assert post("painter/look", {"labels": LABELS, "image_b64": ""}).status_code == 404
    assert post("even-viewer/v1/images/generations", {"prompt": "a"}).status_code == 404
    assert post("painter", {"inputs": "a"}).status_code == 404
