"""Tests of the demo language models: planted biases, in every protocol."""

import math

import httpx
import numpy as np
import pytest

from assay.catalog.stereotypes import StereotypeWords
from assay.experiment import generator
from assay.methods.shared.terms.sentence_generation import PROMPTS, write_prompt
from assay.methods.shared.terms.sentences import Pair, Sentence, read, sort, template_sentences
from assay.model import Kind
from demo.interfaces.language_models import MASK, MOST_PROMPTS
from demo.language_models.models import REFUSAL, UNFIT, fill, preference, tokens, total, write
from demo.predictors.known import FAMILIES, HELPERS, predictor
from demo.server import DemoServer
from demo.stereotypes import FIRST, NEITHER, SECOND, mentions_in, stereotypes

FIRST_READ = ("p4-professions", "p4-math-arts", "p4-science-arts", "p4-flowers-insects", "p4-instruments-weapons")
"""Specifications whose group terms never belong to the opposite group in another specification."""

ROLES = {"first": FIRST, "second": SECOND, "neutral": NEITHER}
HE, SHE = "The man works as a plumber.", "The woman works as a plumber."


@pytest.fixture(scope="module")
def post():
    with DemoServer() as server, httpx.Client(timeout=10, trust_env=False) as client:
        yield lambda path, body: client.post(f"{server.base}/{path}", json=body)


def pairs_of(name: str):
    words = stereotypes()[name]
    return sort(template_sentences(words, 20, generator(1)), words).items


# ---------------------------------------------------------------------------- planted bias
@pytest.mark.parametrize("name", FIRST_READ)
def test_the_demo_models_find_the_same_group_and_attribute_terms_as_the_rating(name: str):
    for pair in pairs_of(name):
        his, hers = mentions_in(pair.first), mentions_in(pair.second)
        assert (his.group, hers.group) == (FIRST, SECOND)
        assert his.attribute == hers.attribute == ROLES[pair.role]
        assert his.other_words == hers.other_words


def test_the_longest_of_overlapping_terms_is_found_and_only_as_a_whole_word():
    assert mentions_in("The boyfriend became a registered nurse.").group == FIRST
    assert mentions_in("She became a registered nurse.").attribute == SECOND
    assert mentions_in("The manager became a nursery.").group == NEITHER


@pytest.mark.slow
@pytest.mark.parametrize(("lean", "stereotype"), [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (0.5, 0.5)])
def test_preferences_of_a_demo_language_model_have_the_log_odds_built_into_it(lean: float, stereotype: float):
    found: dict[str, list[bool]] = {"first": [], "second": [], "neutral": []}
    for name in FIRST_READ:
        for pair in pairs_of(name):
            planted = {"lean": lean, "stereotype": stereotype}
            found[pair.role].append(total(pair.first, **planted) > total(pair.second, **planted))
    for role, side in ROLES.items():
        due = preference(lean + side * stereotype)
        error = math.sqrt(due * (1 - due) / len(found[role]))
        assert np.mean(found[role]) == pytest.approx(due, abs=4 * error)


def test_without_noise_both_sentences_of_a_pair_are_equally_likely():
    for pair in pairs_of("p4-professions"):
        one, other = (total(text, lean=0, stereotype=0, noise=0) for text in (pair.first, pair.second))
        assert one == other


def test_the_parameter_lean_is_added_to_the_log_odds_of_the_first_groups_sentence():
    for pair in pairs_of("p4-professions")[:50]:
        ahead = [total(pair.first, lean=x, stereotype=0) - total(pair.second, lean=x, stereotype=0) for x in (-1, 0, 1)]
        assert ahead[2] - ahead[1] == pytest.approx(1)
        assert ahead[1] - ahead[0] == pytest.approx(1)


def test_tokens_join_to_the_text_and_their_scores_sum_to_the_score_of_the_text():
    for text in (HE, " two  blanks ", "One", "“Quoted” — and so on…\n", "ŝi 🙂."):
        cut = tokens(text, lean=1, stereotype=1)
        assert "".join(token for token, _ in cut) == text
        assert cut[0][1] is None
        if len(cut) > 1:
            assert math.fsum(value for _, value in cut[1:]) == pytest.approx(total(text, lean=1, stereotype=1))
            assert all(value < 0 for _, value in cut[1:])
    assert tokens("", lean=0, stereotype=0) == []


def test_filled_gaps_show_the_same_preference_as_whole_sentences():
    planted = {"lean": 0.0, "stereotype": 1.0}
    for pair in pairs_of("p4-professions")[:100]:
        his, hers = (
            fill(text[: text.index("a")], "a", text[text.index("a") + 1 :], **planted)
            for text in (pair.first, pair.second)
        )
        assert (his > hers) == (total(pair.first, **planted) > total(pair.second, **planted))


@pytest.mark.parametrize("family", ["stereotyped-model", "leaning-model", "stereotyped-viewer", "leaning-viewer"])
def test_the_expected_letter_changes_at_a_preference_of_sixty_percent_for_one_group(family: str):
    assert FAMILIES[family].make(40).letter == "UCS"
    assert FAMILIES[family].make(41).letter in {"BS", "DSBS"}
    assert predictor(f"{family}-41").letter == FAMILIES[family].make(41).letter


# ---------------------------------------------------------------------------- written sentences
@pytest.mark.parametrize("name", stereotypes())
@pytest.mark.parametrize("family", PROMPTS)
def test_a_writer_writes_valid_sentences_for_every_specification(name: str, family):
    words: StereotypeWords = stereotypes()[name]
    for number, attribute in enumerate(words.roles):
        group = words.pairs[number % len(words.pairs)][number % 2]
        text = write(write_prompt(words, group, attribute, family), number)
        assert isinstance(read(Sentence(text, group, attribute), words), Pair), text


def test_the_writer_writes_different_sentences_for_one_prompt():
    prompt = write_prompt(stereotypes()["p4-professions"], "she", "mason", "plain")
    assert len({write(prompt, number) for number in range(50)}) == 50


def test_a_sloppy_writer_makes_every_kind_of_error_at_its_declared_rate():
    words = stereotypes()["p4-professions"]
    prompts = [(write_prompt(words, "she", term, "plain"), term) for term in words.roles]
    texts = [(write(prompt, number, sloppy=0.3), term) for prompt, term in prompts for number in range(10)]
    wrong = [why for text, term in texts if isinstance(why := read(Sentence(text, "she", term), words), str)]
    assert {"no-attribute-term", "several-group-terms", "other-group-word"} <= set(wrong)
    of_two_lines = sum("\n" in text for text, _ in texts)
    assert (len(wrong) + of_two_lines) / len(texts) == pytest.approx(0.3, abs=0.07)


def test_a_demo_writer_answers_prompts_without_quotation_marks_or_without_known_terms():
    sentence = Sentence(write("A sentence with mother and mason, please", 0))
    assert isinstance(read(sentence, stereotypes()["p4-professions"]), Pair)
    assert write("Hello", 0)


# ---------------------------------------------------------------------------- openai-completions
def test_an_array_of_prompts_is_returned_with_its_tokens(post):
    body = {"model": "m", "prompt": [HE, SHE], "echo": True, "max_tokens": 0, "logprobs": 1}
    said = post("stereotyped-model/v1/completions", body).json()
    assert [each["index"] for each in said["choices"]] == [0, 1]
    for text, each in zip((HE, SHE), said["choices"], strict=True):
        told = each["logprobs"]
        assert each["text"] == "".join(told["tokens"]) == text
        assert [
            text[start:].startswith(token) for start, token in zip(told["text_offset"], told["tokens"], strict=True)
        ]
        assert told["token_logprobs"][0] is None
        assert sum(told["token_logprobs"][1:]) == pytest.approx(predictor("stereotyped-model").log_probability(text))
    more = post("stereotyped-model/v1/completions", {**body, "prompt": HE, "max_tokens": 1}).json()["choices"][0]
    assert more["text"].startswith(HE)
    assert len(more["text"]) > len(HE)


def test_the_demo_model_that_ignores_the_parameter_echo_does_not_return_the_tokens_of_the_prompt(post):
    body = {"model": "m", "prompt": HE, "echo": True, "max_tokens": 0, "logprobs": 1}
    [said] = post("no-echo-model/v1/completions", body).json()["choices"]
    assert "".join(said["logprobs"]["tokens"]) != HE


@pytest.mark.parametrize("order", [(HE, SHE), (SHE, HE)])
def test_the_same_sentence_is_chosen_in_either_order_in_every_protocol(post, order: tuple[str, str]):
    question = f"Which?\n\nA. {order[0]}\nB. {order[1]}\n\nAnswer:"
    messages = [{"role": "system", "content": "One letter."}, {"role": "user", "content": question}]
    due = "AB"[order.index(max(order, key=predictor("even-model").log_probability))]
    completed = post("even-model/v1/completions", {"model": "m", "prompt": question, "logprobs": 5}).json()["choices"][
        0
    ]
    tops = completed["logprobs"]["top_logprobs"][0]
    assert completed["text"].strip() == max(tops, key=tops.__getitem__).strip() == due
    assert sum(map(math.exp, tops.values())) == pytest.approx(1)
    asked = {"model": "m", "messages": messages, "logprobs": True, "top_logprobs": 5}
    chosen = post("even-model/v1/chat/completions", asked).json()["choices"][0]
    assert chosen["message"]["content"] == chosen["logprobs"]["content"][0]["token"] == due
    local = post("even-model/api/chat", {**asked, "stream": False}).json()
    assert (local["message"]["content"], local["done"]) == (due, True)
    assert (
        post("even-model/api/generate", {"model": "m", "prompt": question, "stream": False}).json()["response"] == due
    )
    parameters = {"details": True, "top_n_tokens": 5}
    detailed = post("even-model/generate", {"inputs": question, "parameters": parameters}).json()
    assert detailed["generated_text"] == detailed["details"]["top_tokens"][0][0]["text"] == due
    written = post("even-model", {"inputs": question, "parameters": {"return_full_text": False}}).json()
    assert written == [{"generated_text": due}]


def test_one_chat_service_always_answers_a_and_one_always_refuses_in_either_order_of_options(post):
    for question in (f"A. {HE}\nB. {SHE}", f"A. {SHE}\nB. {HE}"):
        body = {"model": "m", "messages": [{"role": "user", "content": question}]}
        assert post("always-a-chat/v1/chat/completions", body).json()["choices"][0]["message"]["content"] == "A"
        assert post("refusing-chat/v1/chat/completions", body).json()["choices"][0]["message"]["content"] == REFUSAL


def test_a_demo_language_model_writes_different_texts_for_different_seeds(post):
    body = {"model": "m", "messages": [{"role": "user", "content": 'With "she" and "mason".'}]}
    texts = {
        post("even-model/v1/chat/completions", {**body, "seed": seed}).json()["choices"][0]["message"]["content"]
        for seed in (0, 1, 2, 0)
    }
    assert len(texts) == 3


# ---------------------------------------------------------------------------- fill-mask, tgi
def test_gap_is_filled_with_the_requested_word_or_its_first_piece(post):
    body = {"inputs": f"The man works as a {MASK}.", "parameters": {"targets": ["plumber"], "top_k": 1}}
    [said] = post("even-model/models/owner/name", body).json()
    assert (said["token_str"], said["sequence"]) == ("plumber", HE)
    assert 0 < said["score"] < 1
    body["parameters"]["targets"] = ["extraordinarily"]
    assert post("even-model", body).json()[0]["token_str"] == "extr"


def test_tgi_returns_prompt_tokens_on_request(post):
    body = {"inputs": HE, "parameters": {"details": True, "decoder_input_details": True}}
    prefill = post("even-model/generate", body).json()["details"]["prefill"]
    assert "".join(each["text"] for each in prefill) == HE
    assert prefill[0]["logprob"] is None
    assert post("no-echo-model/generate", body).json()["details"]["prefill"] == []
    assert set(post("even-model/generate", {"inputs": HE}).json()) == {"generated_text"}


# ---------------------------------------------------------------------------- refused requests
CHAT = {"model": "m", "messages": [{"role": "user", "content": "Hello"}]}


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("even-model/v1/completions", {"prompt": "a"}),
        ("even-model/v1/completions", {"model": "m", "prompt": []}),
        ("even-model/v1/completions", {"model": "m", "prompt": ["a", 1]}),
        ("even-model/v1/completions", {"model": "m", "prompt": ["a"] * (MOST_PROMPTS + 1)}),
        ("even-model/v1/completions", {"model": "m", "prompt": "a", "echo": "yes"}),
        ("even-model/v1/completions", {"model": "m", "prompt": "a", "max_tokens": -1}),
        ("even-model/v1/completions", {"model": "m", "prompt": "a", "seed": "x"}),
        ("even-model/v1/chat/completions", {"model": "m", "messages": []}),
        ("even-model/v1/chat/completions", {"model": "m", "messages": "Hello"}),
        ("even-model/v1/chat/completions", {**CHAT, "stream": True}),
        ("even-model/v1/chat/completions", {**CHAT, "logprobs": True, "top_logprobs": "all"}),
        ("even-model/v1/chat/completions", {"model": "m", "messages": [{"role": "user", "content": [{"type": "x"}]}]}),
        ("even-model/api/chat", CHAT),
        ("even-model/api/chat", {**CHAT, "stream": False, "options": 1}),
        ("even-model/api/generate", {"model": "m", "stream": False, "prompt": 1}),
        ("even-model", {"inputs": ["a"]}),
        ("even-model", {"inputs": f"{MASK} {MASK}"}),
        ("even-model", {"inputs": MASK, "parameters": {"targets": [1]}}),
        ("even-model", {"inputs": MASK, "parameters": {"top_k": 0}}),
    ],
)
def test_an_invalid_question_is_refused_with_a_reason(post, path: str, body: dict):
    response = post(path, body)
    assert response.status_code == 400
    assert len(response.json()["error"]) > 10


def test_invalid_tgi_requests_are_422_as_in_tgi(post):
    for body in ({"inputs": ""}, {"inputs": "a", "parameters": {"temperature": 0}}):
        assert post("even-model/generate", body).status_code == 422


def test_chat_model_refuses_other_protocols_and_names_those_it_supports(post):
    response = post("always-a-chat/v1/completions", {"model": "m", "prompt": "a"})
    assert response.status_code == 404
    assert response.json()["error"].endswith("openai-chat and ollama")
    assert post("fair-wage/v1/chat/completions", CHAT).status_code == 404
    assert post("even-embedder/generate", {"inputs": "a"}).status_code == 404


def test_faulty_models_are_served_without_an_expected_letter():
    for one in UNFIT:
        assert HELPERS[one.model.name] is one.model
        assert one.model.letter is None
        assert one.protocol in one.model.protocols
        assert one.model.kinds == (Kind.LANGUAGE_MODEL,)
