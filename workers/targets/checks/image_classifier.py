"""Examination of an image classifier with images of the experiment and built-in images of plain shapes."""

from collections.abc import Sequence
from typing import Any

from assay.document import JsonObject
from assay.model import Ask, Look, Reply
from workers.targets.adapter import Adapter, Target
from workers.targets.checks.answer_similarity import ROUNDING, difference
from workers.targets.checks.examination import (
    Calls,
    Capability,
    Examination,
    TargetUnfit,
    readable_text,
    text_of_question,
)
from workers.targets.checks.samples import QUESTION, SHAPES, sample_images

MOST_OF_THE_EXPERIMENT = 2
"""Maximum number of the experiment's images that an examination sends, since they can be large."""

ENOUGH_IMAGES = 3
"""If the experiment has at least this number of images, no built-in images are needed."""

MEND = "check the task, the labels, the question and the protocol's notes"
MEND_LABELS = "it was tried with labels of ours; if it knows its own alone, write them into settings.labels"


def look_questions(target: Target, asks: Sequence[Ask] = (), *, fresh: bool = False) -> tuple[Look, ...]:
    """Return the questions for the examination of an image classifier.

    They are some of the first questions of the experiment (`asks`), and built-in questions in the same form. Without
    an experiment, only built-in questions are asked, about the labels in the target's settings or the shapes' names.
    If `fresh`, and the experiment has enough images, the built-in ones, which are always the same, are left out.
    """
    looks = list(dict.fromkeys(ask for ask in asks if isinstance(ask, Look)))
    if looks:
        first_look = looks[0]
        same_form = [ask for ask in looks if (ask.labels, ask.question) == (first_look.labels, first_look.question)]
        if fresh and len(same_form) >= ENOUGH_IMAGES:
            return (same_form[0], same_form[len(same_form) // 2], same_form[-1])
        chosen_looks = same_form if len(same_form) <= MOST_OF_THE_EXPERIMENT else [same_form[0], same_form[-1]]
        return (*chosen_looks, *(Look(image, first_look.labels, first_look.question) for image in sample_images()))
    labels = tuple(target.settings.get("labels") or SHAPES)
    return tuple(Look(image, labels, QUESTION) for image in sample_images())


class ImageExamination(Examination):
    """Examination of an image classifier, in four to six calls, with questions of one form (`look_questions`).

    A service is unfit if it refuses all images, or all images of the experiment, or if it scores labels other than
    those of the question.
    """

    def __init__(self, adapter: Adapter, looks: Sequence[Look], calls: Calls) -> None:
        if not looks:
            raise ValueError("the check needs at least one question; got none")
        super().__init__(adapter, calls)
        self._looks = looks

    async def run(self) -> Capability:
        """Ask about the images, and once more about the first; see `Examination.run`."""
        replies = {ask: await self._ask_alone(ask) for ask in self._looks}
        self._check_failures(replies)
        answers = {ask: reply.value for ask, reply in replies.items() if reply.failure is None}
        question, answer = next(iter(answers.items()))
        self._note_answer_forms([*answers.values()])
        self._note_recognised_shapes(answers)
        return self._capability(
            text_of_question(question),
            readable_text(answer),
            deterministic=await self._is_deterministic(question, answer),
            labels=question.labels if answer["scores"] is not None else None,
        )

    def _answer_distance(self, answer: JsonObject, other_answer: JsonObject) -> float:
        """Return the distance between the probabilities of two answers; for texts, 0 if equal and 1 if not."""
        if answer["scores"] is not None and other_answer["scores"] is not None:
            return difference(answer, other_answer)
        return float(answer != other_answer)

    def _check_failures(self, replies: dict[Look, Reply]) -> None:
        """Raise `TargetUnfit` for a service that refuses all images or does not know the labels."""
        failures = {ask: reply.failure for ask, reply in replies.items() if reply.failure is not None}
        experiment_looks = {ask for ask in replies if ask.image not in sample_images()}
        fatal_failures = [failure for failure in failures.values() if failure.code == "unknown-label"]
        if len(failures) == len(replies) or (experiment_looks and failures.keys() >= experiment_looks):  # all of them
            fatal_failures += failures.values()
        if fatal_failures:
            first_failure, labels = fatal_failures[0], self._looks[0].labels  # all questions have the same labels
            has_sample_labels = first_failure.code == "unknown-label" and labels == SHAPES
            raise TargetUnfit(first_failure.code, first_failure.message, MEND_LABELS if has_sample_labels else MEND)
        if failures:
            failure = next(iter(failures.values()))
            self._notes.append(f"{len(failures)} of {len(replies)} images were not taken ({failure.code})")

    def _note_answer_forms(self, answers: Sequence[Any]) -> None:
        """Add notes about constant answers, and about answers in different forms."""
        if len(answers) > 1 and not any(self._answer_distance(answers[0], answer) > ROUNDING for answer in answers[1:]):
            self._notes.append("all images got the same answer: does the image reach the model?")
        scored_count = sum(answer["scores"] is not None for answer in answers)
        if 0 < scored_count < len(answers):
            scored_answers = f"{scored_count} of {len(answers)} answers"
            self._notes.append(f"{scored_answers} came with probabilities, the others in words alone")

    def _note_recognised_shapes(self, answers: dict[Look, Any]) -> None:
        """Add a note with the number of recognised shapes, if the labels are the names of the shapes."""
        shapes = dict(zip(sample_images(), SHAPES, strict=True))
        shape_answers = {ask: answer for ask, answer in answers.items() if ask.image in shapes and ask.labels == SHAPES}
        if shape_answers:
            correct_count = sum(shapes[ask.image] in _label_or_text(answer) for ask, answer in shape_answers.items())
            self._notes.append(f"{correct_count} of {len(shape_answers)} plain shapes were recognised")


def _label_or_text(answer: JsonObject) -> str:
    scores = answer["scores"]
    return str(answer["text"]).casefold() if scores is None else str(max(scores, key=scores.__getitem__))
