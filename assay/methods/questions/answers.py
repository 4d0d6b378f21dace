"""Answers to questions about two people: the option chosen in every order of the options, and counts of replies."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from assay.methods.questions.asked import OPTIONS, AskedQuestion
from assay.methods.shared.answers.tally import Asking, Tally, ask_in_batches
from assay.model import Choose, Floats, Probe, Reply

GROUPS: Mapping[bool, str] = {True: "the stereotyped group", False: "the other group"}
"""Name of the group that a context's fact is about, by whether the fact agrees with the stereotype."""

AnswerKey = tuple[int, int, int]
"""Key of an answer: index of the question, number of the order of its options, and number of the repetition."""


@dataclass
class QuestionAnswers(Tally):
    """Options that the model chose in the questions of one category, and counts of its replies."""

    repeats: int
    """Number of times that each question is asked in each order."""
    questions: tuple[AskedQuestion, ...] = ()
    """The questions that were asked so far."""
    choices: dict[AnswerKey, int] = field(default_factory=dict)
    """Index of the chosen option in `Question.options`, whichever order was sent."""
    letters: Counter[int] = field(default_factory=Counter)
    """Number of choices of the first, second and third option in the order that was sent."""

    def ask(self, questions: Sequence[AskedQuestion], order_rng: np.random.Generator) -> Asking:
        """Ask further questions in every order of their options, sent in random sequence, and count the replies."""
        keys = [
            (len(self.questions) + index, order, repeat)
            for index in range(len(questions))
            for order in range(OPTIONS)
            for repeat in range(self.repeats)
        ]
        self.questions += tuple(questions)
        shuffled_keys = [keys[number] for number in order_rng.permutation(len(keys)).tolist()]
        probes = [(key, [self._build_probe(key)]) for key in shuffled_keys]
        yield from ask_in_batches(probes, lambda key, replies: self.take(key, replies[0]))

    def _build_probe(self, key: AnswerKey) -> Probe:
        """Return the probe for a key; all questions on the same two people are versions of one item (`versions_of`)."""
        index, order, repeat = key
        question = self.questions[index]
        ask = Choose(question.text, question.in_order(order))
        probe = Probe(f"{question.name}/{order}", ask, versions_of=(f"{question.question.template}/{question.turn}",))
        return probe.repeated(repeat) if repeat else probe

    def take(self, key: AnswerKey, reply: Reply) -> None:
        """Count the reply to the question, order and repetition in `key`; store the chosen option if it is usable."""
        question_index, order, _ = key
        question = self.questions[question_index]
        position = reply.value.get("choice") if isinstance(reply.value, Mapping) else None
        is_usable = isinstance(position, int) and not isinstance(position, bool) and 0 <= position < OPTIONS
        fits = question.fits_stereotype
        group = None if fits is None else GROUPS[fits]  # that the stated fact is about
        outcome = self.count_reply(reply.failure, None if is_usable else "no-choice", group)
        if outcome == "usable" and isinstance(position, int):
            self.letters[position] += 1
            self.choices[key] = (position + order) % OPTIONS  # the index before the options were rotated

    def shares(self) -> Mapping[int, Floats]:
        """Return, by index of a question, the share of answers for each option, shape (3,).

        Only questions answered in all orders and repetitions count, so that a preferred position favours no option.
        """
        choices_by_question: dict[int, list[int]] = {}
        for (index, _, _), choice in sorted(self.choices.items()):  # in the order of the questions, not of the replies
            choices_by_question.setdefault(index, []).append(choice)
        answers_per_question = OPTIONS * self.repeats
        return {
            index: np.bincount(choices, minlength=OPTIONS) / answers_per_question
            for index, choices in choices_by_question.items()
            if len(choices) == answers_per_question
        }
