"""Answers of chat models that make decisions, in the formats of real APIs: each is read correctly, or is unusable."""

import math

import pytest

from assay.model import Kind
from tests.unit.workers.targets.test_deciding_models import CASE, OWN, PAY, chat, decide, last_message, lettered
from workers.targets.protocols.http.decision_reading import label_in, label_probabilities, number_in

TEXT = {**OWN, "reading": "text"}
LETTERS = {**OWN, "reading": "letters"}
APPROVE = {"prompt": "{text} Approve?", "labels": ["approve", "deny"]}
READ = {"yes": 1.0, "no": 0.0}
TOOL = [{"id": "1", "type": "function", "function": {"name": "decide", "arguments": '{"answer": "yes"}'}}]


def openai(finish_reason="stop", logprobs=None, **message):
    message = {"role": "assistant", **message}
    return {"choices": [{"index": 0, "message": message, "finish_reason": finish_reason, "logprobs": logprobs}]}


def anthropic(*blocks, stop_reason="end_turn"):
    return {"type": "message", "role": "assistant", "content": list(blocks), "stop_reason": stop_reason}


def gemini(*parts, reason="STOP", **more):
    return {"candidates": [{"content": {"parts": list(parts)}, "finishReason": reason}], **more}


def ollama(content, done_reason="stop", **more):
    message = {"role": "assistant", "content": content, **more}
    return {"message": message, "done": True, "done_reason": done_reason}


def said(text):
    return {"type": "text", "text": text}


SHAPES = {
    "OpenAI, text": ("openai-chat", openai(content="yes", refusal=None), READ),
    "OpenAI, parts": ("openai-chat", openai(content=[said("Yes"), said(".")]), READ),
    "OpenAI, refusal field": ("openai-chat", openai(content=None, refusal="I can't help."), "declined"),
    "OpenAI, refusal without content": ("openai-chat", openai(refusal="I can't help."), "declined"),
    "OpenAI, content filter": ("openai-chat", openai("content_filter", content="yes"), "declined"),
    "OpenAI, cut in a sentence": ("openai-chat", openai("length", content="Yes, the applicant has"), "no-choice"),
    "OpenAI, cut after the label": ("openai-chat", openai("length", content="Yes"), READ),
    "OpenAI, tool call": ("openai-chat", openai("tool_calls", content=None, tool_calls=TOOL), "no-choice"),
    "OpenAI, tool call without content": ("openai-chat", openai("tool_calls", tool_calls=TOOL), "no-choice"),
    "OpenAI, empty text": ("openai-chat", openai(content=""), "no-choice"),
    "reasoning, nothing else": ("openai-chat", openai(content=None, reasoning_content="yes, surely"), "no-choice"),
    "reasoning, no content": ("openai-chat", openai(reasoning="yes"), "no-choice"),
    "reasoning, cut": ("openai-chat", openai("length", content="", reasoning_content="yes"), "no-choice"),
    "reasoning, open tag": ("openai-chat", openai(content="<think>yes"), "no-choice"),
    "reasoning, closed tag": ("openai-chat", openai(content="<think>no</think>\n\nyes"), READ),
    "vLLM": (
        "openai-chat",
        openai(content="yes", reasoning_content=None, tool_calls=[], refusal=None, function_call=None),
        READ,
    ),
    "Mistral, thoughts in parts": (
        "openai-chat",
        openai(content=[{"type": "thinking", "thinking": [said("no")]}, said("yes")]),
        READ,
    ),
    "Anthropic, text": ("anthropic", anthropic(said("yes")), READ),
    "Anthropic, thoughts": ("anthropic", anthropic({"type": "thinking", "thinking": "no"}, said("yes")), READ),
    "Anthropic, tool call": (
        "anthropic",
        anthropic({"type": "tool_use", "name": "f", "input": {}}, stop_reason="tool_use"),
        "no-choice",
    ),
    "Anthropic, refusal": ("anthropic", anthropic(said("yes"), stop_reason="refusal"), "declined"),
    "Anthropic, cut": ("anthropic", anthropic(said("Yes, but the"), stop_reason="max_tokens"), "no-choice"),
    "Anthropic, empty": ("anthropic", anthropic(), "no-choice"),
    "Gemini, text": ("gemini", gemini({"text": "yes"}), READ),
    "Gemini, thoughts": ("gemini", gemini({"text": "no", "thought": True}, {"text": "yes"}), READ),
    "Gemini, safety": ("gemini", gemini(reason="SAFETY"), "declined"),
    "Gemini, cut while thinking": (
        "gemini",
        {"candidates": [{"content": {}, "finishReason": "MAX_TOKENS"}]},
        "no-choice",
    ),
    "Gemini, blocked prompt": ("gemini", {"promptFeedback": {"blockReason": "SAFETY"}}, "declined"),
    "Ollama, text": ("ollama", ollama("Yes."), READ),
    "Ollama, thoughts beside": ("ollama", ollama("yes", thinking="no"), READ),
    "Ollama, thoughts only": ("ollama", ollama("", "length", thinking="yes"), "no-choice"),
    "Ollama, cut": ("ollama", ollama("Yes, although", "length"), "no-choice"),
    "Ollama, tool call": ("ollama", ollama("", tool_calls=[{"function": {"name": "f", "arguments": {}}}]), "no-choice"),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_every_response_format_of_a_chat_api_is_read_or_fails_with_its_code(shape):
    protocol, answer, expected = SHAPES[shape]
    (reply,), _ = decide(lambda _: answer, TEXT, protocol)
    if isinstance(expected, dict):
        assert reply.failure is None
        assert reply.value["scores"] == expected
    else:
        assert reply.value is None
        assert reply.failure.code == expected


@pytest.mark.parametrize("shape", SHAPES)
def test_an_unreadable_response_of_a_chat_api_is_not_read_as_a_number(shape):
    protocol, answer, expected = SHAPES[shape]
    (reply,), _ = decide(lambda _: answer, PAY, protocol, kind=Kind.REGRESSOR)
    assert reply.value is None, "yes is no number"
    if isinstance(expected, str):
        assert reply.failure.code == expected


@pytest.mark.parametrize("shape", [name for name, (_, _, expected) in SHAPES.items() if isinstance(expected, str)])
def test_an_unreadable_response_of_a_chat_api_is_not_read_as_an_option_letter(shape):
    protocol, answer, expected = SHAPES[shape]
    (reply,), _ = decide(lambda _: answer, LETTERS, protocol)
    assert reply.value is None
    assert reply.failure.code == expected


# ------------------------------------------------------------------------------- probabilities
def likely(*shares):
    return [(token, math.log(share)) for token, share in shares]


@pytest.mark.parametrize(
    ("labels", "tokens", "expected"),
    [
        (("yes", "no"), [(" yes", 0.5), ("▁Yes", 0.1), ("ĠNO", 0.3), ("no.", 0.1)], (0.6, 0.4)),
        (("approve", "deny"), [("App", 0.5), ("De", 0.3), ("den", 0.2)], (0.5, 0.5)),
        (("approve", "deny"), [("App", 0.6), ("D", 0.4)], None),
        (("invite", "reject"), [("reject", 0.6), ("I", 0.3)], None),
        (("approve", "approve later"), [("app", 0.9), ("approve", 0.1)], None),
        (("no", "not sure"), [("no", 0.6), ("not", 0.4)], None),
        (("sim", "não"), [("bytes:\\xc3", 0.6), ("n", 0.3)], None),
        (("yes", "no"), [("<think>", 0.99), ("yes", 0.01)], None),
        (("yes", "no"), [("**", 0.7), ("yes", 0.2)], None),
        (("yes", "no"), [], None),
        (("1", "2"), [("1", 0.75), (" 2", 0.25)], (0.75, 0.25)),
        (("нет", "да"), [(" да", 0.8), ("Нет", 0.2)], (0.2, 0.8)),
        (("はい", "いいえ"), [("はい", 0.8), ("いい", 0.2)], (0.8, 0.2)),
    ],
)
def test_the_probability_of_a_label_is_that_of_first_tokens_that_clearly_begin_it(labels, tokens, expected):
    shares = label_probabilities(likely(*tokens), labels)
    if expected is None:
        assert shares is None
    else:
        assert tuple(shares.values()) == pytest.approx(expected)


def test_a_model_with_unclear_first_tokens_is_asked_to_choose_among_option_letters():
    def answer(request):
        options = lettered(request)
        if not options:
            return chat("Deny", {"D": 0.7, "App": 0.3})
        return chat(next(letter for letter, label in options.items() if label == "deny"))

    (reply,), heard = decide(answer, APPROVE)
    assert reply.value["scores"] == {"approve": 0.0, "deny": 1.0}
    assert len(heard) == 3


def test_blank_tokens_before_the_label_are_skipped():
    tops = [{"token": "yes", "logprob": math.log(0.7)}, {"token": "no", "logprob": math.log(0.3)}]
    content = [
        {"token": "\n", "logprob": 0.0, "top_logprobs": []},
        {"token": "yes", "logprob": -0.3, "top_logprobs": tops},
    ]
    (reply,), _ = decide(lambda _: openai(logprobs={"content": content}, content="\nyes"))
    assert reply.value["scores"] == pytest.approx({"yes": 0.7, "no": 0.3})


@pytest.mark.parametrize("logprobs", [None, {}, {"content": None}, {"content": []}, {"content": [{"token": "yes"}]}])
def test_a_model_without_usable_token_probabilities_is_asked_for_option_letters(logprobs):
    def answer(request):
        options = lettered(request)
        chosen = next((letter for letter, label in options.items() if label == "yes"), "yes")
        return openai(content=chosen, logprobs=logprobs)

    (reply,), heard = decide(answer)
    assert reply.value["scores"] == READ
    assert len(heard) == 3


def test_a_sentence_about_an_option_that_is_cut_at_the_token_limit_is_no_choice():
    (reply,), _ = decide(lambda _: openai("length", content="Option A is better, although"), LETTERS)
    assert reply.failure.code == "no-choice"
    assert "settings.decision.tokens" in reply.failure.message


def test_an_answer_cut_at_the_token_limit_that_could_continue_as_another_label_is_not_read():
    decision = {"prompt": "{text}", "labels": ["no", "not sure"], "reading": "text"}
    (reply,), _ = decide(lambda _: openai("length", content="No"), decision)
    assert reply.failure.code == "no-choice"


# ------------------------------------------------------------------------------- texts
@pytest.mark.parametrize(
    ("answer", "labels", "label"),
    [
        ("SÍ.", ("sí", "no"), "sí"),
        ("**Ja**", ("ja", "nein"), "ja"),
        ("Oui !", ("oui", "non"), "oui"),
        ("HAYIR", ("evet", "hayır"), "hayır"),
        ("はい。", ("はい", "いいえ"), "はい"),
        ("不是", ("是", "否"), None),
        ("not approved", ("approved", "not approved"), "not approved"),
        ("nicht genehmigt", ("genehmigt", "nicht genehmigt"), "nicht genehmigt"),
        ("very low", ("low", "very low"), "very low"),
        ("2.5", ("1", "2", "3"), None),
        ("2,5", ("1", "2", "3"), None),
        ("12", ("1", "2", "3"), None),
        ("1/3", ("1", "2", "3"), None),
        ("2. The risk is moderate", ("1", "2", "3"), "2"),
        ('{"decision": "yes", "reason": "no gaps"}', ("yes", "no"), "yes"),
        ('```json\n{"Decision": "No", "reason": "yes, he could"}\n```', ("yes", "no"), "no"),
        ('{"answer": "yes", "decision": "no"}', ("yes", "no"), None),
        ('{"reason": "yes"}', ("yes", "no"), None),
        ('{"decision": "perhaps", "reason": "yes"}', ("yes", "no"), None),
        ("Yes, definitely not", ("yes", "no"), None),
        ("Response: yes", ("yes", "no"), "yes"),
    ],
)
def test_labels_are_recognised_in_other_languages_spellings_and_formats(answer, labels, label):
    assert label_in(answer, labels) == label


@pytest.mark.parametrize(
    ("answer", "label"),
    [
        ("Yes. That is no reason to treat anybody otherwise.", "yes"),
        ("Yes. There is no further information.", "yes"),
        ("No. That is no reason to treat anybody otherwise.", "no"),
        ("Yes. Gender plays no part in this.", "yes"),
        ("Yes, but the answer is no for women.", None),
        ("Yes. On reflection, my answer is no.", None),
        ("Yes. It is no because she is a woman.", None),
        ("Yes. No.", None),
        ("Yes? That is no reason to reject her.", None),
        ("That is no reason to invite her.", None),
    ],
)
def test_the_word_no_in_a_phrase_such_as_no_reason_is_not_read_as_the_answer_no(answer, label):
    """Earlier, a model that added such a sentence for one group was BS, because its answers could not be read."""
    assert label_in(answer, ["yes", "no"]) == label


@pytest.mark.parametrize(
    ("answer", "number"),
    [
        ('{"salary": 52000}', 52000),
        ('{"salary": 52000, "bonus": 30000}', None),
        ('```json\n{"score": "52,000"}\n```', 52000),
        ('{"answer": 52000, "reason": "9 years"}', 52000),
        ('{"answer": "52,000"}', 52000),
    ],
)
def test_a_number_in_json_is_read_unless_several_fields_hold_numbers(answer, number):
    assert number_in(answer, (20_000, 200_000), None) == number


@pytest.mark.parametrize(
    "answer",
    [
        "75/100",
        "75 out of 100",
        "Score: 75",
        "Score: **75**/100",
        "The score is 75.",
        "I would give 75.",
        "I'd give a score of 75",
        "75 %",
        "75 points",
        "**75**",
        "About 75.",
        "~75",
        "<answer>75</answer>",
        "\\boxed{75}",
        "75\n\nReason: a solid record.",
        "75. The applicant is qualified.",
        "I'm sorry, but 75.",
        "Puntuación: 75",
        "Etwa 75 Punkte",
        "75 von 100",
        "<think>80?</think>75",
    ],
)
def test_a_score_is_read_from_the_usual_phrases_around_it(answer):
    assert number_in(answer, (0, 100), None) == 75


@pytest.mark.parametrize(
    "answer",
    [
        *(
            ">75",
            "<75",
            "45 grand",
            "45k",
            "45 thousand",
            "between 70 and 80",
            "70-80",
            "70 to 80",
            "75/10",
            "75 or 80",
        ),
        *(
            "at least 75",
            "up to 75",
            "MAX 75",
            "75+",
            "7,5/10",
            "75 – eighty",
            "75\nOn reflection fifty.",
            "75, maybe 80",
        ),
        *("not 75", "75 years", "Score: 70\nScore: 75", "75 (80 for men)", "75. Maybe eighty.", "I cannot give 75"),
    ],
)
def test_an_answer_that_may_mean_another_number_is_not_read(answer):
    """Earlier, ">75" was read as 75, and "45 grand" as 45."""
    assert number_in(answer, (0, 200_000), None) is None
    assert number_in(answer, (0, 100), None) is None


@pytest.mark.parametrize(
    ("answer", "bounds", "number"),
    [
        ("$4,500", (0, 50_000), 4500),
        ("4 500 €", (0, 50_000), 4500),
        ("4.500,00 €", (0, 50_000), 4500),
        ("4.500 €", (0, 50_000), 4500),
        ("4,500 USD", (0, 50_000), 4500),
        ("$4.50", (0, 50_000), 4.5),
        ("$52.000", (0, 100), None),
        ("1 %", (0, 1), None),
        ("1/2", (0, 2), None),
        ("4/5", (0, 5), 4),
    ],
)
def test_amounts_and_percentages_are_read_if_only_one_number_is_within_the_range(answer, bounds, number):
    assert number_in(answer, bounds, None) == number


@pytest.mark.parametrize(("answer", "number"), [("36 months", 36), ("3 years", None)])
def test_a_number_with_a_unit_is_read_if_the_prompt_asks_for_that_unit(answer, number):
    assert number_in(answer, (0, 120), None, "How many months?") == number


@pytest.mark.parametrize(
    ("answer", "prompt", "number"),
    [
        *(
            ("18 months", "{age} years old. How many months?", 18),
            ("2 years", "{age} years old. How many months?", None),
        ),
        *(("2 years", "Months or years?", None), ("2", "Months or years?", 2), ("2 years", "A loan over 5 years?", 2)),
        *(
            ("$90", "A price in dollars?", 90),
            ("90 USD", "A price in dollars?", 90),
            ("€90", "A price in dollars?", None),
        ),
        *(("₹90", "A price in dollars?", None), ("90 euros", "A price in $?", None), ("90 €", "A price?", 90)),
    ],
)
def test_a_number_in_another_unit_than_the_prompt_asks_for_is_not_read(answer, prompt, number):
    """ "2 years" were read as 2 months if the prompt had the word "years", and "€90" as 90 dollars."""
    assert number_in(answer, (0, 120), None, prompt) == number


def test_the_unit_of_a_models_first_number_is_that_of_its_later_numbers():
    own = {**PAY, "prompt": "Which salary? {text}"}
    amounts = iter(["$90,000", "₹90,000", "90 000", "USD 80,000", "€80,000", "80,000 dollars"])
    replies, _ = decide(lambda _: chat(next(amounts)), own, kind=Kind.REGRESSOR, cases=[CASE] * 6)
    assert [reply.value for reply in replies] == [90_000, None, 90_000, 80_000, None, 80_000]


def test_the_error_about_a_missing_number_names_a_setting_that_chat_models_have():
    (reply,), _ = decide(lambda _: chat("quite a lot"), PAY, kind=Kind.REGRESSOR)
    assert "settings.decision.answer" in reply.failure.message
    assert "settings.number" not in reply.failure.message


DECIDED = {
    ("yes", "no"): {
        "yes": [
            *("I recommend yes.", "I'd go with yes.", "\\boxed{yes}", "$\\boxed{\\text{Yes}}$", "<answer>yes</answer>"),
            *(
                "YES ✅",
                "✅ Yes",
                "Yes\nReason: No red flags.",
                "Yes (her pregnancy plays no part).",
                "Yes - no objections.",
            ),
            *("Yes. There is no invitation needed for her", "Yes, no doubt.", "Yes. Her age does not matter here."),
            *("Yes. I can't see any issue with his religion.", "<think>No.</think>Yes", "No gaps. My decision: yes"),
        ],
        "no": [
            *("I recommend no.", "\\boxed{no}", "<answer>No</answer>", "NO ❌", "No (his pregnancy plays no part)."),
            *("No\nReason: no licence.", "No, she does not meet the criteria.", "No, I cannot recommend inviting her."),
            *("I'm sorry, but no.", "No. I'm sorry, but he lacks experience.", "Unfortunately, no.", "No. Not at all."),
        ],
        None: [
            *("Yes... no, reject", "Yes. I do not recommend her.", "Yes. She should not be invited.", "No, wait. Yes."),
            *(
                "Yes, definitely not.",
                "No comment.",
                "No problem.",
                "Application no. 5: fine.",
                "I recommend no further steps.",
            ),
            *("Yes. I cannot answer that.", "No, I can't help with that.", "I would not say yes.", "Yes (no)."),
        ],
    },
    ("sí", "no"): {
        "sí": [
            "Si",
            "si.",
            "Sí. La religión no es un criterio.",
            "Sí (su embarazo no influye).",
            "Sí, no hay motivos en contra.",
        ],
        "no": ["No. La religión no es un criterio.", "No. Si falta la experiencia, se nota.", "Lo siento, pero no."],
        None: ["Sí. Ella no es apta.", "No tiene experiencia.", "Sí... no."],
    },
    ("sì", "no"): {"sì": ["Si", "Sì. Non ci sono problemi."], "no": ["No. Si richiede esperienza."]},
    ("sim", "não"): {"não": ["Nao", "Não, não tem experiência."], None: ["Sim. Nao, rejeitar"]},
    ("ja", "nein"): {"ja": ["Ja. Keine Bedenken."], "nein": ["Leider nein.", "Nein, er ist nicht geeignet."]},
    ("oui", "non"): {"oui": ["Oui. La religion n'est pas un critère."], "non": ["Non, il n'a pas d'expérience."]},
    ("approve", "reject"): {
        "approve": ["Approve", "Approved.", "Approval granted.", "I approve.", "The loan is approved.", "approving"],
        "reject": ["Rejected", "Decision: reject", "Rejection.", "I reject.", "The loan is rejected.", "rejecting"],
        None: [
            "not approved",
            "Approval denied.",
            "Approved? Rejected.",
            "Approved. Correction: rejected",
            "disapproved",
        ],
    },
    ("approved", "denied"): {"approved": ["Approve", "Approval."], "denied": ["Deny", "Denial.", "Denied"]},
    ("late", "later"): {"late": ["late"], "later": ["Later."]},
}
"""Answers by the possible labels and by the label that must be read from them."""


@pytest.mark.parametrize(
    ("labels", "label", "answer"),
    [
        (labels, label, answer)
        for labels, by_label in DECIDED.items()
        for label, answers in by_label.items()
        for answer in answers
    ],
)
def test_decisions_in_typical_phrases_of_chat_models_are_read_as_the_right_label(labels, label, answer):
    assert label_in(answer, labels) == label


@pytest.mark.parametrize("group", ["woman", "man", "Muslim", "pregnant applicant", "white person"])
@pytest.mark.parametrize("label", ["Yes", "No"])
@pytest.mark.parametrize(
    "form", ["{label} ({group}: no reason to differ).", "{label}. That a {group} applies is not a factor."]
)
def test_the_group_that_an_explanation_mentions_does_not_change_the_label_that_is_read(form, label, group):
    assert label_in(form.format(label=label, group=group), ("yes", "no")) == label.lower()


@pytest.mark.parametrize(
    ("answer", "code"),
    [("No, I can't help with that.", "declined"), ("Yes. Sorry, I do not recommend her.", "no-choice")],
)
def test_yes_followed_by_an_apology_counts_as_an_unclear_choice_and_not_as_a_refusal(answer, code):
    (reply,), _ = decide(lambda _: chat(answer), TEXT)
    assert reply.failure.code == code


def test_the_text_about_a_person_is_sent_unchanged_in_every_form_of_question_for_a_decision():
    _, heard = decide(lambda _: chat("hm"), OWN)
    assert all(last_message(request).startswith(f"{CASE} Invite?") for request in heard)
    assert len(heard) == 3


@pytest.mark.parametrize(
    "answer",
    [
        "Yes, of course! I recommend declining the application.",
        "Yes, I have reviewed it. Recommendation: decline.",
        "Yes, understood. Verdict: rejected.",
        "Yes, to a rejection.",
        "Yes. I'd go with another candidate.",
        "Yes, once the training is finished.",
        "They hope my answer is yes.",
        "No, please invite the applicant.",
        "No, do not reject.",
        "No, I have no objections.",
        "No, nothing speaks against an interview.",
        "No. I cannot reject such an applicant.",
        '{"decision": "yes", "final_decision": "no"}',
        '{"answer": "no", "final": "yes"}',
        '{"loser": "yes"}',
    ],
)
def test_an_answer_whose_explanation_contradicts_its_label_is_not_read(answer):
    """Each of these was read as its first word, so that a form of answers for one group changed the letter."""
    assert label_in(answer, ("yes", "no")) is None


@pytest.mark.parametrize(
    ("answer", "label"),
    [
        ("No. I recommend rejecting the application.", "no"),
        ("No, I would not invite him.", "no"),
        ("No. I would recommend another candidate.", "no"),
        ("Yes, there is no reason to reject.", "yes"),
        ("Yes. The applicant should be invited.", "yes"),
        ('{"answer": "yes", "final_answer": "yes"}', "yes"),
        ("Yes. The patient refuses food and is declining.", "yes"),
        ("Yes. After reviewing the file, I recommend an interview.", "yes"),
        ("Yes. When compared with another candidate, she is stronger.", "yes"),
        ("No. The patient does not refuse food.", "no"),
        ("No. Proceed with the next file.", "no"),
    ],
)
def test_an_answer_whose_explanation_agrees_with_its_label_is_read_as_that_label(answer, label):
    assert label_in(answer, ("yes", "no")) == label
