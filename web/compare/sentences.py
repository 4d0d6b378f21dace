"""Replies of two ratings to the same questions, joined by the question."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, Self

from assay.document import JsonObject, RatingDocument
from assay.methods.stereotype_score.detail import StereotypeComponent
from web.frame import Api

ROWS = 200
PAGES = 10
"""Maximum number of pages of observations that are read for each rating; later observations are not joined."""

MOST_WORDS = 300
"""Longest reply, in words, whose differences are marked; the time grows with the square of its length."""

LEGS = ("out", "back")
"""Endings of the ids (units) of a text's two translations, there and back."""

Question = tuple[str, str | None]
"""Text of a question, and the language of its answer (``None``: not a translation)."""


@dataclass(frozen=True)
class Reply:
    """A reply as text; `score` is its number, if it has one."""

    text: str
    score: float | None = None


@dataclass(frozen=True)
class JoinedQuestion:
    """A question of both ratings; `moved` is the difference of the scores or, without scores, 1 if the texts differ."""

    question: str
    language: str | None
    before: str
    after: str
    moved: float

    @classmethod
    def of(cls, question: Question, before: Reply, after: Reply) -> Self:
        """Return a question with its replies in both ratings, and the difference between them."""
        distance = float(before.text != after.text)
        if before.score is not None and after.score is not None:
            distance = abs(after.score - before.score)
        return cls(*question, before.text, after.text, distance)

    @property
    def changed(self) -> bool:
        """Whether the replies differ."""
        return self.before != self.after

    @property
    def words(self) -> tuple[list[tuple[str, bool]], list[tuple[str, bool]]]:
        """Both replies as runs of words, each with whether the other reply lacks it; long replies are single runs."""
        words_before, words_after = self.before.split(), self.after.split()
        if max(len(words_before), len(words_after)) > MOST_WORDS:
            return [(self.before, self.changed)], [(self.after, self.changed)]
        runs_before, runs_after = list[tuple[str, bool]](), list[tuple[str, bool]]()
        matcher = SequenceMatcher(None, words_before, words_after, autojunk=False)
        for tag, before_start, before_end, after_start, after_end in matcher.get_opcodes():
            if before_end > before_start:
                runs_before.append((" ".join(words_before[before_start:before_end]), tag != "equal"))
            if after_end > after_start:
                runs_after.append((" ".join(words_after[after_start:after_end]), tag != "equal"))
        return runs_before, runs_after


async def joined_by_question(
    api: Api, before: RatingDocument, after: RatingDocument
) -> tuple[list[JoinedQuestion], bool]:
    """Return questions of both ratings with their replies, largest change first, and whether replies were left out."""
    replies, later_replies = _preferred_sentences(before), _preferred_sentences(after)
    is_cut = False
    if not replies:  # the method has no pairs of sentences
        replies, is_cut = await _read_replies(api, before.id)
        later_replies, later_is_cut = await _read_replies(api, after.id)
        is_cut = is_cut or later_is_cut
    questions = [question for question in replies if question in later_replies]
    joined = [JoinedQuestion.of(question, replies[question], later_replies[question]) for question in questions]
    return sorted(joined, key=lambda question: (not question.changed, -question.moved)), is_cut


def _preferred_sentences(rating: RatingDocument) -> dict[Question, Reply]:
    """Return the sentence that the model prefers, by pair; empty for a method without pairs of sentences."""
    replies: dict[Question, Reply] = {}
    for component in rating.components:
        for pair in component.sentences if isinstance(component, StereotypeComponent) else ():
            # `prefers` is "first", "second" or "neither", which is shown as it is
            text = {"first": pair.first, "second": pair.second}.get(str(pair.prefers)) or str(pair.prefers)
            replies[f"{pair.first} / {pair.second}", None] = Reply(text)
    return replies


async def _read_replies(api: Api, rating_id: str | None) -> tuple[dict[Question, Reply], bool]:
    """Return the last reply to each question, and whether observations were left out."""
    observations: list[JsonObject] = []
    cursor: str | None = None
    for _ in range(PAGES):
        page = await api.get(f"/v1/ratings/{rating_id}/observations", limit=ROWS, cursor=cursor)
        observations += page["items"]
        if (cursor := page["next_cursor"]) is None:
            break
    return dict(_answered_questions(observations)), cursor is not None


def _answered_questions(observations: list[JsonObject]) -> Iterator[tuple[Question, Reply]]:
    """Yield questions with replies; a round trip gives two replies: the translation, and the text translated back."""
    questions: dict[str, Question] = {}
    for observation in observations:
        text_unit, _, direction = observation["unit"].rpartition("/")  # the id of what was asked about
        unit = text_unit if direction in LEGS else observation["unit"]  # both translations of a text share their unit
        question = observation["ask"].get("text") or observation["ask"].get("given")
        reply = _format_reply(observation["value"])
        if isinstance(question, str):  # the first translation of a text has the question
            questions.setdefault(unit, (question, observation["ask"].get("target")))
        if unit in questions and reply is not None:
            yield questions[unit], reply


def _format_reply(value: Any) -> Reply | None:
    """Format a reply: a text unchanged, a class with its probability, or a number; ``None`` for a vector."""
    if isinstance(value, Mapping):
        if scores := value.get("scores"):
            label = value.get("label") or max(scores, key=scores.get)
            first_label = min(scores)  # the score of the same label in both replies, whichever label is likelier
            return Reply(f"{label} {scores.get(label, 0.0):.2f}", scores[first_label])
        text = value.get("label") or value.get("text")
        return None if text is None else Reply(str(text))
    if isinstance(value, float | int):
        return Reply(f"{value:.3f}", float(value))
    return Reply(value) if isinstance(value, str) else None
