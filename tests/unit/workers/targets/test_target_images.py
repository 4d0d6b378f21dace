"""Requests to image classifiers and image generators, and parsing of their answers."""

import asyncio
import base64
import io
import math
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import pytest
from PIL import Image as Pillow

from assay.errors import SpecificationError
from assay.model import Draw, Kind, Look, Write
from store.core.database import Database
from store.corpora import images
from store.formats.image import digest_of_image, read_image
from workers.egress import CallFailed, Egress
from workers.targets.adapter import Limits, Target
from workers.targets.protocols.http.choice_letters import INSTRUCTION
from workers.targets.protocols.http.images import LONGEST_TEXT
from workers.targets.protocols.openai.chat import CAPTION, DEFAULT_QUESTION
from workers.targets.registry import check_target, connect
from workers.tenant_uploads import ImageGone, Library

SECRET = "sk-do-not-show-1234"


def drawn(colour: str = "red", size: tuple[int, int] = (8, 6), kind: str = "PNG") -> bytes:
    file = io.BytesIO()
    Pillow.new("RGB", size, colour).save(file, kind)
    return file.getvalue()


IMAGE = drawn()
DIGEST = digest_of_image(IMAGE)
IN_BASE64 = base64.b64encode(IMAGE).decode()
LABELS = ("a man", "a woman")
ASK = Look(DIGEST, LABELS, "Who is this?")


@pytest.fixture
def database(sqlite_url):
    with closing(Database(sqlite_url)) as database:
        yield database


@pytest.fixture
def library(database, tmp_path):
    library = Library(database, tmp_path / "cache", "acme")
    library.keep_image(IMAGE)
    return library


@pytest.fixture
def ask(wire, library):
    """Send a question to a service with one answer; return the reply and the received requests."""

    def put(protocol, settings, question=ASK, answer=None, *, kind=Kind.IMAGE_CLASSIFIER, secret=SECRET, **how):
        async def go():
            said = answer if isinstance(answer, bytes) else wire.as_json(answer)
            async with wire.listening(lambda heard: said) as service:
                target = Target("T", kind, protocol, service.url, settings, secret, Limits(timeout_s=5))
                async with Egress(wire.loopback, library=how.get("library", library)) as egress:
                    replies = await connect(target, egress).answer([question], idempotency_key="job:1")
                return replies[0], service.heard

        return asyncio.run(go())

    return put


ZERO_SHOT = {"model": "openai/clip", "task": "zero-shot-image-classification"}
VQA = {"model": "vqa", "task": "visual-question-answering", "top_k": 10}
CAPTIONER = {"task": "image-to-text"}
CHAT = {"model": "m"}
OURS = {"path": "/look", "body": {"image": "{image_b64}", "labels": "{labels}"}, "output": "answer"}


@dataclass(frozen=True)
class Case:
    """Call in one protocol: the expected request, the answer of the service, and the expected reply."""

    protocol: str
    settings: dict[str, Any]
    path: str
    sent: Any
    answer: Any
    got: Any
    question: Look = ASK
    secret: str | None = SECRET
    headers: dict[str, str] = field(default_factory=lambda: {"authorization": f"Bearer {SECRET}"})


def chat(text, *, labels=LABELS, question="Who is this?", **more):
    """Return the request to a chat model."""
    options = "\n".join(f"{letter}. {label}" for letter, label in zip("ABCDEFG", labels, strict=False))
    shown = f"{question}\n\n{options}" if len(labels) > 1 else question
    url = {"url": f"data:image/png;base64,{IN_BASE64}", **text}
    user = {"role": "user", "content": [{"type": "text", "text": shown}, {"type": "image_url", "image_url": url}]}
    told = [{"role": "system", "content": INSTRUCTION}] if len(labels) > 1 else []
    return {"model": "m", "messages": [*told, user], "stream": False, "temperature": 0.0, "seed": 0, **more}


CHOICE = {"max_tokens": 8, "logprobs": True, "top_logprobs": 5}


def written(content, first=(), **more):
    """Return the answer of a chat model."""
    tops = [{"token": token, "logprob": math.log(share)} for token, share in first]
    told = {"logprobs": {"content": [{"token": content[:1], "logprob": -0.1, "top_logprobs": tops}]}} if first else {}
    return {"choices": [{"index": 0, "message": {"role": "assistant", "content": content}, **told, **more}]}


CASES = {
    "hf-inference, zero-shot": Case(
        "hf-inference",
        {**ZERO_SHOT, "hypothesis_template": "A photo of {}."},
        "/models/openai/clip",
        {
            "inputs": IN_BASE64,
            "parameters": {"candidate_labels": list(LABELS), "hypothesis_template": "A photo of {}."},
        },
        [{"label": "a woman", "score": 0.75}, {"label": "a man", "score": 0.25}],
        {"scores": {"a man": 0.25, "a woman": 0.75}, "text": None},
    ),
    "hf-inference, a question": Case(
        "hf-inference",
        VQA,
        "/models/vqa",
        {"inputs": {"image": IN_BASE64, "question": "Who is this?"}, "parameters": {"top_k": 10}},
        [[{"answer": "nurse", "score": 0.5}, {"answer": "A Woman ", "score": 0.3}, {"answer": "a man", "score": 0.1}]],
        {"scores": {"a man": 0.1, "a woman": 0.3}, "text": "nurse"},
    ),
    "hf-inference, a question whose best answers lack a label": Case(
        "hf-inference",
        VQA,
        "/models/vqa",
        {"inputs": {"image": IN_BASE64, "question": "Who is this?"}, "parameters": {"top_k": 10}},
        [{"answer": "a woman", "score": 0.9}, {"answer": "a nurse", "score": 0.2}],
        {"scores": None, "text": "a woman"},
    ),
    "hf-inference, one answer without a score": Case(
        "hf-inference",
        VQA,
        "/models/vqa",
        {"inputs": {"image": IN_BASE64, "question": "Who is this?"}, "parameters": {"top_k": 10}},
        [{"answer": "a woman"}],
        {"scores": None, "text": "a woman"},
    ),
    "hf-inference, a caption": Case(
        "hf-inference",
        CAPTIONER,
        "/",
        {"inputs": IN_BASE64},
        [{"generated_text": " a woman with a stethoscope "}],
        {"scores": None, "text": "a woman with a stethoscope"},
        Look(DIGEST, ()),
    ),
    "openai-chat, lettered options with the probabilities of the letters": Case(
        "openai-chat",
        CHAT,
        "/v1/chat/completions",
        chat({}, **CHOICE),
        written("B", [("B", 0.6), ("A", 0.1), (" B", 0.1), ("The", 0.05)]),
        {"scores": {"a man": pytest.approx(0.125), "a woman": pytest.approx(0.875)}, "text": "a woman"},
    ),
    "openai-chat, a letter whose rival has no probability": Case(
        "openai-chat",
        {**CHAT, "image_detail": "low"},
        "/v1/chat/completions",
        chat({"detail": "low"}, **CHOICE),
        written("A.", [("A", 0.99), ("I", 0.005)]),
        {"scores": None, "text": "a man"},
    ),
    "openai-chat, labels without a question, no probabilities": Case(
        "openai-chat",
        {**CHAT, "top_logprobs": None},
        "/v1/chat/completions",
        chat({}, question=DEFAULT_QUESTION, max_tokens=8),
        written("The answer is (B)"),
        {"scores": None, "text": "a woman"},
        Look(DIGEST, LABELS),
    ),
    "openai-chat, a question without labels": Case(
        "openai-chat",
        CHAT,
        "/v1/chat/completions",
        chat({}, labels=(), max_tokens=400),
        written("A nurse."),
        {"scores": None, "text": "A nurse."},
        Look(DIGEST, (), "Who is this?"),
    ),
    "openai-chat, neither": Case(
        "openai-chat",
        CHAT,
        "/v1/chat/completions",
        chat({}, labels=(), question=CAPTION, max_tokens=400),
        written("A red square."),
        {"scores": None, "text": "A red square."},
        Look(DIGEST, ()),
    ),
    "custom, probabilities in the order of the labels": Case(
        "custom",
        OURS,
        "/look",
        {"image": IN_BASE64, "labels": list(LABELS)},
        {"answer": [0.25, 0.75]},
        {"scores": {"a man": 0.25, "a woman": 0.75}, "text": None},
        secret=None,
        headers={},
    ),
    "custom, probabilities by label": Case(
        "custom",
        OURS,
        "/look",
        {"image": IN_BASE64, "labels": list(LABELS)},
        {"answer": {"a woman": 1, "a man": 0.0}},
        {"scores": {"a man": 0.0, "a woman": 1.0}, "text": None},
        secret=None,
        headers={},
    ),
    "custom, an answer in words": Case(
        "custom",
        {**OURS, "body": {"url": "data:{media_type};base64,{image_b64}", "ask": "{question}"}, "auth": "header"},
        "/look",
        {"url": f"data:image/png;base64,{IN_BASE64}", "ask": "Who is this?"},
        {"answer": "a woman"},
        {"scores": None, "text": "a woman"},
    ),
    "custom, a bare body": Case(
        "custom",
        {**OURS, "response": "text"},
        "/look",
        {"image": IN_BASE64, "labels": list(LABELS)},
        b"HTTP/1.1 200 OK\r\ncontent-length: 8\r\n\r\na woman\n",
        {"scores": None, "text": "a woman"},
        secret=None,
        headers={},
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_an_image_is_sent_in_the_request_format_of_each_protocol_and_the_answer_is_parsed(ask, case):
    reply, (heard,) = ask(case.protocol, case.settings, case.question, case.answer, secret=case.secret)
    assert reply.failure is None
    assert (heard.method, heard.path, heard.json) == ("POST", case.path, case.sent)
    assert heard.headers["idempotency-key"] == "job:1"
    assert case.headers.items() <= heard.headers.items()
    assert reply.value == case.got


def scored(*pairs):
    return [{"label": label, "score": score} for label, score in pairs]


MISREAD = {
    "a label it was not asked about": ("unknown-label", ZERO_SHOT, scored(("LABEL_0", 0.5), ("LABEL_1", 0.5))),
    "a label in other words": ("unknown-label", ZERO_SHOT, scored(("one man", 0.5), ("a woman", 0.5))),
    "a label too few": ("unknown-label", ZERO_SHOT, scored(("a man", 1.0))),
    "a label too many": ("unknown-label", ZERO_SHOT, scored(("a man", 0.5), ("a woman", 0.4), ("a dog", 0.1))),
    "a label twice": ("wrong-shape", ZERO_SHOT, scored(("a man", 0.5), ("a man", 0.5))),
    "a score above one": ("wrong-shape", ZERO_SHOT, scored(("a man", 17.5), ("a woman", 0.5))),
    "a score that is no number": ("wrong-shape", ZERO_SHOT, scored(("a man", "50 %"), ("a woman", 0.5))),
    "a score that is not finite": ("wrong-shape", ZERO_SHOT, scored(("a man", math.nan), ("a woman", 0.5))),
    "nothing": ("unknown-label", ZERO_SHOT, []),
    "null": ("wrong-shape", ZERO_SHOT, None),
    "answers without words": ("wrong-shape", VQA, [{"answer": "", "score": 0.9}]),
    "answers that are labels": ("wrong-shape", VQA, scored(("a man", 0.5), ("a woman", 0.5))),
    "answers of the wrong shape": ("wrong-shape", VQA, ["a man"]),
    "a caption of spaces": ("wrong-shape", CAPTIONER, [{"generated_text": "  "}]),
    "a caption without end": ("wrong-shape", CAPTIONER, [{"generated_text": "a" * (LONGEST_TEXT + 1)}]),
    "two captions": ("wrong-shape", CAPTIONER, [{"generated_text": "a"}, {"generated_text": "b"}]),
}


@pytest.mark.parametrize(("code", "settings", "answer"), MISREAD.values(), ids=MISREAD)
def test_invalid_answer_about_an_image_fails_the_question_with_a_known_code(ask, code, settings, answer):
    reply, _ = ask("hf-inference", settings, answer=answer)
    assert (reply.failure.code, reply.value) == (code, None)


def test_labels_about_an_image_are_recognised_in_any_spelling(ask):
    reply, _ = ask("hf-inference", ZERO_SHOT, answer=scored(("A man ", 0.25), ("A WOMAN.", 0.75)))
    assert reply.value["scores"] == {"a man": 0.25, "a woman": 0.75}


def test_error_in_a_response_with_status_200_fails_the_call(ask):
    with pytest.raises(CallFailed, match="but with an error"):
        ask("hf-inference", ZERO_SHOT, answer={"error": "Model is too busy"})


@pytest.mark.parametrize(
    ("code", "answer"),
    [
        ("declined", written("I cannot tell.")),
        ("no-choice", written("A or B")),
        ("no-choice", written("C")),
        ("declined", written(None)),
        ("declined", written("", finish_reason="content_filter")),
    ],
)
def test_a_chat_answer_that_names_no_single_label_fails_the_question(ask, code, answer):
    reply, _ = ask("openai-chat", CHAT, answer=answer)
    assert reply.failure.code == code


@pytest.mark.parametrize(
    ("code", "answer"),
    [
        ("unknown-label", [0.5, 0.3, 0.2]),
        ("unknown-label", {"man": 0.5, "woman": 0.5}),
        ("wrong-shape", 1),
        ("wrong-shape", True),
        ("wrong-shape", [True, False]),
        ("wrong-shape", ""),
        ("unknown-label", []),
    ],
)
def test_invalid_answers_of_custom_services_fail_the_question(ask, code, answer):
    reply, _ = ask("custom", OURS, answer={"answer": answer}, secret=None)
    assert reply.failure.code == code


UNASKED = {
    "one label": ("hf-inference", ZERO_SHOT, Look(DIGEST, ("a man",))),
    "a label without end": ("hf-inference", ZERO_SHOT, Look(DIGEST, ("a man", "b" * 201))),
    "no question": ("hf-inference", VQA, Look(DIGEST, LABELS, "  ")),
    "more labels than letters": ("openai-chat", CHAT, Look(DIGEST, tuple(map(str, range(27))))),
    "no labels": ("custom", {**OURS, "auth": "header"}, Look(DIGEST, ())),
    "no question for a service of one's own": (
        "custom",
        {**OURS, "body": {"i": "{image_b64}", "q": "{question}"}, "auth": "header"},
        Look(DIGEST, LABELS),
    ),
}


@pytest.mark.parametrize(("protocol", "settings", "question"), UNASKED.values(), ids=UNASKED)
def test_unsupported_question_about_an_image_is_not_sent(ask, protocol, settings, question):
    reply, heard = ask(protocol, settings, question, {})
    assert (reply.failure.code, heard) == ("unsupported", [])


@pytest.mark.parametrize(
    ("protocol", "settings"), [("hf-inference", ZERO_SHOT), ("openai-chat", CHAT), ("custom", OURS)]
)
def test_missing_image_fails_its_question_and_nothing_is_sent(ask, protocol, settings):
    secret = None if protocol == "custom" else SECRET
    reply, heard = ask(protocol, settings, Look("sha256:" + "0" * 64, LABELS, "Who?"), {}, secret=secret)
    assert (reply.failure.code, heard) == ("image-gone", [])


def test_image_of_another_tenant_is_not_found(ask, library):
    library = Library(library.database, library.folder, "rival")
    reply, heard = ask("hf-inference", ZERO_SHOT, answer={}, library=library)
    assert (reply.failure.code, heard) == ("image-gone", [])


def test_an_answer_that_repeats_the_key_fails_without_showing_the_key(ask):
    reply, _ = ask("hf-inference", CAPTIONER, answer=[{"generated_text": f"a sign that says {SECRET}"}])
    assert reply.failure.code == "wrong-shape"
    assert SECRET not in str(reply)


def test_an_image_classifier_is_not_asked_to_write_a_text(ask):
    with pytest.raises(CallFailed, match="asked to look, not to write"):
        ask("hf-inference", ZERO_SHOT, Write("a text"), {})


# ---------------------------------------------------------------------------- authors
PAINTER = {"model": "dall-e-3"}
PROMPT = Draw("A portrait of a nurse", 4)


def painted(content: bytes) -> dict[str, Any]:
    return {"created": 1, "data": [{"b64_json": base64.b64encode(content).decode(), "revised_prompt": "A nurse"}]}


@pytest.fixture
def draw(ask):
    def put(answer, settings=PAINTER, question=PROMPT, **how):
        return ask("openai-images", settings, question, answer, kind=Kind.LANGUAGE_MODEL, **how)

    return put


SENT = {"model": "dall-e-3", "prompt": "A portrait of a nurse", "n": 1}


@pytest.mark.parametrize(
    ("settings", "sent"),
    [
        (PAINTER, {**SENT, "size": "1024x1024", "response_format": "b64_json"}),
        (
            {**PAINTER, "size": "auto", "response_format": None, "quality": "low", "send_seed": True},
            {**SENT, "size": "auto", "quality": "low", "seed": 4},
        ),
        ({**PAINTER, "size": None}, {**SENT, "response_format": "b64_json"}),
    ],
)
def test_generated_image_is_stored_under_its_digest(draw, database, settings, sent):
    content = drawn("blue", (20, 10), "JPEG")
    reply, (heard,) = draw(painted(content), settings)
    assert (heard.path, heard.json) == ("/v1/images/generations", sent)
    digest = digest_of_image(content)
    assert reply.value == {"image": digest, "media_type": "image/jpeg", "width": 20, "height": 10}
    with database.read() as c:
        assert images.find(c, digest, "acme").content == content
        assert images.find(c, digest, "rival") is None


def test_generated_image_can_be_sent_to_another_service(draw, ask):
    drawing, _ = draw(painted(drawn("green")))
    reply, (heard,) = ask("hf-inference", CAPTIONER, Look(drawing.value["image"], ()), [{"generated_text": "green"}])
    assert reply.value["text"] == "green"
    assert base64.b64decode(heard.json["inputs"]) == drawn("green")


def test_an_equal_second_image_from_the_service_that_draws_is_accepted(draw):
    assert draw(painted(IMAGE))[0] == draw(painted(IMAGE))[0]


UNDRAWN = {
    "an address": ("image-elsewhere", {"data": [{"url": "http://127.0.0.1:1/a.png"}]}),
    "no image": ("not-an-image", painted(b"<html>sorry</html>")),
    "a cut image": ("damaged-image", painted(drawn(size=(400, 400))[:-40])),
    "no base64": ("not-an-image", {"data": [{"b64_json": "***"}]}),
    "no base64, and no ASCII": ("not-an-image", {"data": [{"b64_json": "é"}]}),
    "a bomb": ("image-too-large", painted(drawn(size=(9_000, 5_000)))),
}


@pytest.mark.parametrize(("code", "answer"), UNDRAWN.values(), ids=UNDRAWN)
def test_image_that_cannot_be_stored_is_a_failure_and_no_other_address_is_called(draw, code, answer):
    reply, heard = draw(answer)
    assert (reply.failure.code, len(heard)) == (code, 1)


@pytest.mark.parametrize(
    ("code", "answer"),
    [
        ("wrong-count", {"data": []}),
        ("wrong-count", {"data": [{"b64_json": IN_BASE64}] * 2}),
        ("wrong-shape", {"data": [{"b64_json": ""}]}),
        ("wrong-shape", {"data": ["x"]}),
        ("wrong-shape", {"images": []}),
    ],
)
def test_an_answer_of_unexpected_form_fails_the_call(draw, code, answer):
    with pytest.raises(CallFailed) as caught:
        draw(answer)
    assert caught.value.code == code


def test_an_image_may_be_larger_than_other_answers(draw):
    file = io.BytesIO()
    Pillow.effect_noise((1_500, 1_200), 100).save(file, "PNG")
    assert len(file.getvalue()) > 1024 * 1024
    assert draw(painted(file.getvalue()))[0].value["width"] == 1_500


def test_an_answer_above_the_size_limit_of_images_is_not_read(draw):
    head = b"HTTP/1.1 200 OK\r\ncontent-length: 30000000\r\n\r\n"
    with pytest.raises(CallFailed) as caught:
        draw(head)
    assert caught.value.code == "too-large"


def test_raised_size_limit_of_a_call_does_not_apply_to_the_next_on_its_connection(wire):
    async def go():
        async with wire.listening(lambda heard: wire.raw(b"x" * 2_000)) as service:
            async with Egress(wire.loopback, response_cap=1_000) as egress:
                roomy = await egress.send("GET", service.url, timeout_s=5, room=2_000)
                with pytest.raises(CallFailed) as caught:
                    await egress.send("GET", service.url, timeout_s=5)
            return len(roomy.body), caught.value.code, [heard.connection for heard in service.heard]

    assert asyncio.run(go()) == (2_000, "too-large", [1, 1])


def test_an_image_author_is_not_asked_to_write_a_text(draw):
    reply, heard = draw({}, question=Write("A story"))
    assert (reply.failure.code, heard) == ("unsupported", [])


def test_text_model_does_not_generate_images(ask):
    reply, heard = ask("openai-chat", CHAT, PROMPT, {}, kind=Kind.LANGUAGE_MODEL)
    assert (reply.failure.code, heard) == ("unsupported", [])


# ---------------------------------------------------------------------------- settings
def checked(protocol, settings, kind=Kind.IMAGE_CLASSIFIER):
    base = {"kind": kind.value, "protocol": protocol, "base_url": "https://192.0.9.1", "settings": settings}
    check_target({**base, "name": "T"}, ())


@pytest.mark.parametrize(
    ("protocol", "settings", "field", "words"),
    [
        ("hf-inference", {}, "settings.task", "zero-shot-image-classification or"),
        ("hf-inference", {"task": "fill-mask"}, "settings.task", "image-to-text"),
        ("custom", {"body": {"t": "{text}"}}, "settings.body", "{text} cannot be filled in"),
        ("custom", {"body": {"i": "{image_b64}"}, "batch": "array"}, "settings.batch", "one image"),
        ("custom", {"body": {"i": "{image_b64}", "l": "of {labels}"}}, "settings.body", "{labels} is a list"),
        ("custom", {"body": {"i": "{image_b64}", "l": "{labels}"}, "encoding": "form"}, "settings.body", "a list"),
        ("custom", {"body": {"l": "{labels}"}}, "settings.body", "is missing"),
        ("openai-chat", {"model": "m", "image_detail": "max"}, "settings.image_detail", "auto"),
    ],
)
def test_invalid_settings_of_an_image_service_are_refused_with_their_field(protocol, settings, field, words):
    with pytest.raises(SpecificationError) as caught:
        checked(protocol, settings)
    assert caught.value.field == field
    assert words in str(caught.value)


@pytest.mark.parametrize("kind", [Kind.CLASSIFIER, Kind.TRANSLATOR, Kind.LANGUAGE_MODEL])
def test_images_are_not_sent_to_services_of_other_kinds(kind):
    with pytest.raises(SpecificationError, match="image_b64"):
        checked("custom", {"body": {"i": "{image_b64}", "t": "{text}"}}, kind)


@pytest.mark.parametrize("size", ["big", "0x10", "100000x10", ""])
def test_invalid_image_size_is_refused(size):
    with pytest.raises(SpecificationError) as caught:
        checked("openai-images", {"model": "m", "size": size}, Kind.LANGUAGE_MODEL)
    assert caught.value.field.startswith("settings.size")


# ---------------------------------------------------------------------------- the image library
def test_image_library_returns_media_types_and_stores_images_per_tenant(library):
    content = drawn("blue", kind="WEBP")
    facts = library.keep_image(content)
    assert facts == read_image(content)
    kept = library.image(facts.digest)
    assert (kept.content, kept.media_type) == (content, "image/webp")
    with pytest.raises(ImageGone, match=facts.digest[:20]):
        Library(library.database, library.folder, "rival").image(facts.digest)
