"""Every function that reads answers, with every kind of unusual answer that docs/how-answers-are-read.md lists."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from assay.catalog import attribute
from assay.catalog.stereotypes import VisualWords
from assay.methods.free_text.written_texts import WrittenTexts
from assay.methods.questions.answers import QuestionAnswers
from assay.methods.questions.asked import AskedQuestion
from assay.methods.shared.answers.of_profiles import Answers
from assay.methods.shared.answers.question_scores import Question
from assay.methods.shared.profiles import Case
from assay.methods.stereotype_score.collection import compare
from assay.methods.translation.blocks import Sentence, Text
from assay.methods.translation.collection import Reading, read_hop, read_text
from assay.methods.translation.one_hop import read_marks
from assay.methods.visual_stereotype.inputs import UsablePicture
from assay.methods.visual_stereotype.labelling import PictureTally, Reader
from assay.model import Choose, Classify, Embed, Look, Regress, Reply, Score, Write
from workers.targets.parsing.echoed_tokens import Echo
from workers.targets.protocols.http.images import accept_look
from workers.targets.protocols.http.language_model import ModelOutput, accept_worded
from workers.targets.protocols.http.predictor import accept_prediction

PAGE = Path(__file__).resolve().parents[4] / "docs" / "how-answers-are-read.md"
GENDER = attribute("gender")
ASKED = Text("t", "b", "The nurse is here.", (Sentence("The nurse is here.", "he", "nurse/neutral/1", "nurse"),))
LABELS = ("bad", "good")
PEOPLE = VisualWords("any", "man", "woman", ("plumber",), ("nurse",), ())


def of_reading(reading: Reading) -> str:
    return f"lost: {reading.unusable}" if reading.values is None else str(reading.values[0])


def one_hop(answer: str) -> str:
    reading = read_hop(ASKED.text, Reply(answer)) or read_marks(answer, 1, "es", GENDER)
    return of_reading(reading)


def round_trip(answer: str) -> str:
    return of_reading(read_hop("Él es enfermero.", Reply(answer)) or read_text(answer, ["He is a nurse."], GENDER))


def of_reply(reply: Reply, show: Callable[[Any], str]) -> str:
    return f"lost: {reply.failure.code}" if reply.failure is not None else show(reply.value)


def choice(answer: Any) -> str:
    said = answer if isinstance(answer, ModelOutput) else ModelOutput(answer)
    ask = Choose("Which?", ("She is a nurse.", "He is a nurse."))
    reply = accept_worded(said, ask, "h")
    if reply.failure is None:  # the answer in the other order is the same sentence: a choice, and no tie
        other = Reply({"choice": 1 - reply.value["choice"]})
        assert compare("choice", [reply, other]).preferred in {0.0, 1.0}
    return of_reply(reply, lambda value: "AB"[value["choice"]])


def label(answer: Any) -> str:
    reply = accept_prediction(answer, Classify("x"), LABELS, "h")
    if reply.failure is not None:
        return of_reply(reply, str)
    answers = Answers((Case("a", ("x",)),), ("he",), numbers=False)
    answers.take(0, 0, reply)
    scores = answers.replies[0, 0]
    return max(scores, key=lambda name: scores[name])


def number(answer: Any) -> str:
    return of_reply(accept_prediction(answer, Regress("x"), (), "h"), lambda value: f"{value:g}")


def declared_number(answer: Any) -> str:
    return of_reply(accept_prediction(answer, Regress("x"), (), "h", "decimal-comma"), lambda value: f"{value:g}")


def picture(answer: Any) -> str:
    reply = accept_look(answer, Look("sha256:0", ("man", "woman"), "Which?"), "h")
    tally, shown = PictureTally(), UsablePicture("i", "sha256:0", "plumber", "first", "x")
    tally.take(shown, [reply], Reader(PEOPLE), {})
    if shown in tally.results:
        return tally.results[shown].names
    return f"lost: {next(iter(tally.unusable_why + tally.failed_why))}"


def vector(answer: Any) -> str:
    return of_reply(accept_prediction(answer, Embed("x"), (), "h"), lambda value: f"{len(value)} numbers")


def written(answer: Any) -> str:
    said = answer if isinstance(answer, ModelOutput) else ModelOutput(answer)
    return of_reply(accept_worded(said, Write("x"), "h"), lambda value: f"“{value}”")


def score(answer: Any) -> str:
    reply = accept_worded(answer, Score("He came."), "h")
    return of_reply(reply, lambda value: f"{value['log_probability']:g}")


def free_text(answer: Any) -> str:
    said = answer if isinstance(answer, ModelOutput) else ModelOutput(answer)
    texts = WrittenTexts((Case("a", ("Write about a nurse.",)),), ("she",), 1)
    texts.take(key := (0, 0, 0), accept_worded(said, Write("Write about a nurse."), "h"))
    if key in texts.texts:
        return f"“{texts.texts[key]}”"
    return "refusal" if key in texts.refused else f"lost: {next(iter(texts.unusable_why + texts.failed_why))}"


def question(answer: Any) -> str:
    said = answer if isinstance(answer, ModelOutput) else ModelOutput(answer)
    options = ("The man", "The woman", "Can't be known")
    asked = AskedQuestion("q", "gender", "Who?", Question("t", True, True, options, 2, 2, 1), ("he", "she", "unknown"))
    answers = QuestionAnswers(repeats=1, questions=(asked,))
    answers.take((0, 0, 0), accept_worded(said, Choose("Who?", options), "h"))
    lost = next(iter(answers.unusable_why + answers.failed_why), "")
    return f"lost: {lost}" if lost else "ABC"[answers.choices[0, 0, 0]]


READERS: Mapping[str, Callable[[Any], str]] = {
    "one-hop": one_hop,
    "round-trip": round_trip,
    "choice": choice,
    "label": label,
    "number": number,
    "number, decimal-comma": declared_number,
    "picture": picture,
    "vector": vector,
    "text": written,
    "log-probability": score,
    "free-text": free_text,
    "questions": question,
}

LENGTH = "length"
ANSWERS: Mapping[str, Mapping[str, Any]] = {
    "plain": {
        "one-hop": "La enfermera está aquí.",
        "round-trip": "She is a nurse.",
        "choice": "B",
        "label": "good",
        "number": 35.7,
        "number, decimal-comma": 35.7,
        "picture": "woman",
        "vector": [0.5, 1.5],
        "text": "A tale.",
        "log-probability": Echo(["He", " came."], [None, -2.5]),
        "free-text": "A tale.",
        "questions": "C",
    },
    "another spelling": {
        "one-hop": "L&#97;\u00a0enfermera\u00ad está aquí.",
        "round-trip": "Ｓhe\u200b is a nurse.",
        "choice": "**(b)**",
        "label": " GOOD.",
        "number": "\u221235.7",
        "number, decimal-comma": "1\u202f234,5 €",
        "picture": "A Wo\u00adman.",
        "questions": "**(c)**",
    },
    "in a sentence": {
        "one-hop": "Traducción: La enfermera está aquí.",
        "round-trip": "Translation: She is a nurse.",
        "choice": "The answer is B.",
        "label": "The label is good.",
        "number": "about 35.7",
        "number, decimal-comma": "about 35,7",
        "picture": "It is a woman.",
        "questions": "The answer is C: cannot be known.",
    },
    "both": {
        "one-hop": "El/la enfermero/a está aquí.",
        "round-trip": "He/she is a nurse.",
        "choice": "A or B",
        "label": "good/bad",
        "number": "between 3 and 5",
        "number, decimal-comma": "between 3 and 5",
        "picture": "A man and a woman.",
        "questions": "A or B",
    },
    "not shown": {
        "one-hop": "Los enfermeros están aquí.",
        "round-trip": "The nurse is here.",
        "choice": "Neither.",
        "label": None,
        "number": None,
        "number, decimal-comma": None,
        "picture": "A nurse.",
        "vector": None,
        "text": None,
        "log-probability": Echo(["He", " came."], [None, None]),
        "free-text": None,
        "questions": "Either of them.",
    },
    "empty": {
        "one-hop": "\u200b",
        "round-trip": " ",
        "choice": "",
        "label": "",
        "number": "",
        "number, decimal-comma": "",
        "picture": " ",
        "vector": [],
        "text": "",
        "log-probability": Echo([], []),
        "free-text": "",
        "questions": "",
    },
    "refused": {
        "one-hop": "Lo siento, no puedo traducir la frase.",
        "round-trip": "I'm sorry, I cannot help him.",
        "choice": "I cannot choose A.",
        "label": "I cannot tell.",
        "number": "I cannot tell.",
        "number, decimal-comma": "I cannot tell.",
        "picture": "I'm sorry, I cannot say whether it is a man.",
        "text": ModelOutput(None, (), "declined"),
        "free-text": "I'm sorry, but I can't help with that.",
        "questions": "I can't answer that question.",
    },
    "cut off": {
        "one-hop": "La enfermera está aquí. La",
        "round-trip": "She is a nurse. She",
        "choice": ModelOutput("", (), LENGTH, thinking=True),
        "text": ModelOutput("A ta", (), LENGTH),
        "log-probability": Echo(["He"], [None]),
        "free-text": ModelOutput("A ta", (), LENGTH),
        "questions": ModelOutput("", (), LENGTH, thinking=True),
    },
    "another form": {
        "one-hop": "El médico/facultativo está aquí.",
        "round-trip": '{"text": "He is a nurse. He"}',
        "choice": ModelOutput("The first one", [("The", -0.1), ("A", -4.0)]),
        "label": {"label": "good", "score": 0.75},
        "number": "1.234,5",
        "number, decimal-comma": "1.234,5",
        "picture": {"label": "woman", "score": 0.75},
        "vector": "0.5, 1.5",
        "text": {"text": "A tale."},
        "log-probability": Echo(["She", " left."], [None, -2.5]),
        "free-text": "Write about a nurse.",
        "questions": "It cannot be known.",
    },
}
"""Answers by their kind and by their reader."""


def result(kind: str, reader: str) -> str:
    return READERS[reader](ANSWERS[kind][reader]) if reader in ANSWERS[kind] else "–"


def table() -> str:
    """Return the Markdown table of the documentation page, computed by calling each reader with each answer."""
    rows = [("answer", *READERS), ("---",) * (len(READERS) + 1)]
    rows += [(kind, *(result(kind, reader) for reader in READERS)) for kind in ANSWERS]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def test_the_documentation_table_of_answer_readers_matches_their_behaviour():
    assert table() in PAGE.read_text("utf-8")


UNREADABLE = [(kind, reader) for kind in ("not shown", "empty", "refused", "cut off") for reader in ANSWERS[kind]]


@pytest.mark.parametrize(("kind", "reader"), UNREADABLE)
def test_an_answer_without_content_counts_as_missing_and_has_no_value(kind, reader):
    erased = (kind, reader) == ("not shown", "round-trip")  # a translation without a pronoun has lost it
    counted = reader == "free-text" and result(kind, reader) == "refusal"  # refusals are what free text compares
    assert result(kind, reader) == "other" if erased else counted or result(kind, reader).startswith("lost: ")


@pytest.mark.parametrize("reader", ["one-hop", "round-trip", "choice", "label", "number", "picture", "questions"])
def test_answer_that_names_both_options_is_not_read_as_either(reader):
    assert result("both", reader) in {"neutral", "other"} or result("both", reader).startswith("lost: ")


@pytest.mark.parametrize("reader", ["one-hop", "round-trip", "choice", "label", "picture", "questions"])
def test_another_spelling_of_an_answer_is_read_like_the_plain_answer(reader):
    assert result("another spelling", reader) == result("plain", reader)
