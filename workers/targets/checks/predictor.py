"""Examination of a classifier, a regressor or an embedder.

Questions are asked alone, one of them twice, and then all in one call, to detect answers in the wrong order.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from assay.document import Json
from assay.model import Failure
from workers.targets.adapter import Adapter, Prediction
from workers.targets.checks.answer_similarity import MOST_COMPARED, any_differ
from workers.targets.checks.examination import (
    Calls,
    Capability,
    Examination,
    TargetUnfit,
    readable_text,
    text_of_question,
)
from workers.targets.checks.samples import HINT, Samples, spread

SUM_TOLERANCE = 1e-3
"""Tolerance for the sum of probabilities, since services round them."""


def check_answers(answers: Sequence[Any]) -> list[str]:
    """Compare the answers (vectors, numbers or classes) to different questions; return notes on what looks wrong.

    Raise `TargetUnfit` with the code ``vector-length``, ``constant`` or ``label-set``.
    """
    if isinstance(answers[0], list):
        return _notes_on_vectors(answers)
    notes = _notes_on_classes(answers) if isinstance(answers[0], Mapping) else []
    if len(answers) > 1 and not any_differ(answers):
        same_answer = readable_text(answers[0])
        notes.append(f"all {len(answers)} questions got the same answer, {same_answer}: does the text reach the model?")
    return notes


def labels_in(answers: Sequence[Any]) -> tuple[str, ...] | None:
    """Return the labels in the answers, in the service's order; ``None`` if the answers are not classes."""
    classes = [answer for answer in answers if isinstance(answer, Mapping)]
    if not classes:
        return None
    labels = (label for answer in classes for label in (*(answer["scores"] or ()), answer["label"]))
    return tuple(dict.fromkeys(label for label in labels if label is not None))


def _notes_on_vectors(vectors: Sequence[list[float]]) -> list[str]:
    """Raise `TargetUnfit` for vectors of several lengths or all equal; return a note on vectors of zeros."""
    lengths = sorted({len(vector) for vector in vectors})
    if len(lengths) > 1:
        sizes = " and ".join(f"{length:,}" for length in lengths[:2])
        raise TargetUnfit(
            "vector-length",
            f"different texts got vectors of {sizes} numbers",
            "name the pooling or the output that gives one vector of one length for every text",
        )
    if len(vectors) > 1 and not any_differ(vectors):
        raise TargetUnfit(
            "constant",
            f"{len(vectors)} different texts got one and the same vector",
            "check the model, the path and the output: the text may not reach the model",
        )
    zero_count = sum(not any(vector) for vector in vectors)
    note = f"{zero_count} of {len(vectors)} texts got a vector of zeros, which counts as no answer"
    return [note] if zero_count else []


def _notes_on_classes(classes: Sequence[Json]) -> list[str]:
    """Raise `TargetUnfit` if only some answers of a classifier have probabilities; return notes on these."""
    scores = [answer["scores"] for answer in classes if answer["scores"] is not None]
    if scores and len(scores) < len(classes):
        raise TargetUnfit(
            "label-set",
            f"{len(scores)} of {len(classes)} answers came with probabilities, the others with a label alone",
            "make every answer one or the other",
        )
    return _notes_on_scores(scores) if scores else []


def _notes_on_scores(scores_of_answers: Sequence[Mapping[str, float]]) -> list[str]:
    """Raise `TargetUnfit` if the answers score different labels; return a note on odd labels or sums."""
    first_labels = set(scores_of_answers[0])
    other_labels = next((set(scores) for scores in scores_of_answers if set(scores) != first_labels), None)
    if other_labels is not None:
        raise TargetUnfit(
            "label-set",
            f"one answer scored {quoted_labels(first_labels)}, another {quoted_labels(other_labels)}",
            "declare its labels in settings.labels (the score of one of two is enough), or make the service score "
            "every label every time (hf-inference: settings.top_k; other protocols: the service's own setting)",
        )
    if len(first_labels) == 1:
        return [f"only the label {quoted_labels(first_labels)} is scored"]
    sums = [sum(scores.values()) for scores in scores_of_answers]
    worst_sum = max(sums, key=lambda total: abs(total - 1))
    if abs(worst_sum - 1) <= SUM_TOLERANCE:
        return []
    return [f"probabilities sum to {worst_sum:.3g}, not to 1: several labels may hold at once, or some are not told"]


def quoted_labels(labels: set[str]) -> str:
    """Return the names of the first five labels in alphabetical order, for messages."""
    names = sorted(labels)
    return ", ".join(repr(label) for label in names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


MOST_ASKED = 10
"""Maximum number of questions that are asked alone, until enough answers differ."""

UNKNOWN_WORD = "missing-word"
"""Failure code of a word outside an embedding's vocabulary; the experiment decides how many may be missing."""


class PredictorExamination(Examination):
    """Examination of a classifier, regressor or embedder, in about seven calls.

    A service is unfit if a call with several questions mixes up its answers, if its vectors have different lengths or
    are all equal, or if its labels change.
    """

    def __init__(self, adapter: Adapter, samples: Samples, calls: Calls) -> None:
        super().__init__(adapter, calls)
        self._questions = spread(samples.questions, adapter, MOST_ASKED)
        if not self._questions:
            raise ValueError("the check needs at least one question; got none")
        self._hint = HINT if samples.ours else ""  # advice for a service that does not support our texts

    async def run(self) -> Capability:
        """Ask questions alone, one of them twice, then all in one call; see `Examination.run`."""
        answers_alone = await self._answers_one_by_one()
        # there may be no answer if all words are outside an embedding's vocabulary
        question, answer = next(iter(answers_alone.items()), (self._questions[0], None))
        deterministic = order_kept = None
        if answers_alone:
            self._notes += check_answers(list(answers_alone.values()))
            deterministic = await self._is_deterministic(question, answer)
            order_kept = await self._keeps_order(answers_alone, deterministic)
        return self._capability(
            text_of_question(question),
            "" if answer is None else readable_text(answer),
            deterministic=deterministic,
            order_kept=order_kept,
            dimensions=len(answer) if isinstance(answer, list) else None,
            labels=labels_in(list(answers_alone.values())),
        )

    async def _answers_one_by_one(self) -> dict[Prediction, Any]:
        """Ask questions one by one until there are enough answers, not all alike if a call can hold several."""
        answers: dict[Prediction, Any] = {}
        failures: list[Failure] = []
        for question in self._questions:
            reply = await self._ask_alone(question)
            if reply.failure is None:
                answers[question] = reply.value
            else:
                failures.append(reply.failure)
            if len(answers) >= MOST_COMPARED and (self._adapter.batch_limit == 1 or any_differ([*answers.values()])):
                break
        failure = next((failure for failure in failures if failure.code != UNKNOWN_WORD), None)
        if not answers and failure is not None:
            hint = self._hint or "check the kind, the settings and the protocol's notes"
            raise TargetUnfit(failure.code, failure.message, hint)
        if failures:
            count = len(failures) + len(answers)
            self._notes.append(f"{len(failures)} of {count} questions failed ({failures[0].code})")
        return answers
