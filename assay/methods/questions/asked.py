"""Questions about two people: shipped templates filled with people, and a caller's records in the form of BBQ."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Annotated, ClassVar, Literal

import numpy as np
from annotated_types import Ge, Le, MaxLen, MinLen

from assay.bounds import Bounded
from assay.catalog.sentences.questions import QuestionTemplate, people_in_questions, question_templates, unknown_options
from assay.document import Json
from assay.experiment import generator
from assay.methods.shared.answers.question_scores import Question, read_question

OPTIONS = 3
"""Number of options of a question: two people, and "cannot be known"."""

QUESTIONS_EACH = 6
"""Number of questions from a template and two people: three contexts, each with a negative and a positive question."""

MAX_CONTEXT_CHARACTERS = 4000
"""Maximum number of characters of a context."""

Option = Annotated[str, MinLen(1), MaxLen(500)]


@dataclass(frozen=True)
class QuestionMetadata:
    """Members of ``additional_metadata`` of a record of BBQ that are used; others are ignored.

    Parameters
    ----------
    stereotyped_groups : tuple of str
        Names of the groups to which the stereotype ascribes the answer of a negative question.
    """

    stereotyped_groups: Annotated[tuple[Annotated[str, MaxLen(200)], ...], MaxLen(50)] = ()


@dataclass(frozen=True)
class QuestionRecord(Bounded):
    """A question in the form of BBQ's records; members that are not listed here are ignored.

    Parameters
    ----------
    question_index : str or int
        Name of the template within its category: questions of one template are not independent.
    category : str
        Category, such as ``Age``; each gets a letter of its own.
    context, question : str
        The situation, and the question about it.
    ans0, ans1, ans2 : str
        The options: two people, and one that says that the answer cannot be known.
    label : int
        Index of the right option.
    context_condition : str
        ``ambig``: the context leaves the answer open; ``disambig``: it settles it.
    question_polarity : str
        ``neg``: the stereotype is that the answer is the stereotyped group; ``nonneg``: that it is the other one.
    answer_info : mapping of str to tuple of str
        For ``ans0`` to ``ans2``, names of the group; the last one is ``unknown`` for the option "cannot be known".
    additional_metadata : QuestionMetadata
        The stereotyped groups.
    """

    question_index: Annotated[str, MaxLen(200)] | int
    category: Annotated[str, MinLen(1), MaxLen(100)]
    context: Annotated[str, MaxLen(MAX_CONTEXT_CHARACTERS)]
    question: Annotated[str, MinLen(1), MaxLen(1000)]
    ans0: Option
    ans1: Option
    ans2: Option
    label: Annotated[int, Ge(0), Le(OPTIONS - 1)]
    context_condition: Literal["ambig", "disambig"]
    question_polarity: Literal["neg", "nonneg"]
    answer_info: Mapping[str, tuple[str, ...]]
    additional_metadata: QuestionMetadata = QuestionMetadata()

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "ignore"}


@dataclass(frozen=True)
class AskedQuestion:
    """A question with its full text and the groups of its two people."""

    name: str
    category: str
    text: str
    question: Question
    groups: tuple[str, ...]
    """Name of the group of each option."""
    turn: int = 0
    """Number of the turn, from 0: in each turn, shipped questions are asked about other people."""

    @property
    def fits_stereotype(self) -> bool | None:
        """Whether the context states a fact that agrees with the stereotype.

        ``None`` if the context states no fact, or if it is not known which group the stereotype is about.
        """
        question = self.question
        if question.ambiguous or question.stereotyped is None:
            return None
        # the stereotype expects the stereotyped group for a negative question, and the other for a positive one
        return (question.right == question.stereotyped) == question.negative

    def in_order(self, order: int) -> tuple[str, ...]:
        """Return the options rotated to the left by `order` (0, 1 or 2) places."""
        return self.question.options[order:] + self.question.options[:order]


def recorded_questions(records: Iterable[Json]) -> tuple[AskedQuestion, ...]:
    """Convert records to questions; raise `SpecificationError` if a record is invalid or no option is "unknown"."""
    questions = []
    for number, record in enumerate(records):
        question = read_question(record)
        # the last entry of each option is the name of its group
        groups = tuple(record["answer_info"][f"ans{option}"][-1] for option in range(OPTIONS))
        text = f"{record['context']}\n{record['question']}".strip()
        questions.append(AskedQuestion(f"{question.template}/{number}", record["category"], text, question, groups))
    return tuple(questions)


def shipped_questions(attribute: str, turns: int, rng: np.random.Generator) -> tuple[AskedQuestion, ...]:
    """Return the shipped questions about an attribute with shuffled options, in turns; each turn has other people."""
    people = people_in_questions(attribute)
    return tuple(
        question
        for turn in range(turns)
        for index, template in enumerate(question_templates(attribute))
        for question in _template_questions(template, attribute, people, index + turn, turn, rng)
    )


def questions_by_name(experiment: Json, attribute: str) -> Mapping[str, AskedQuestion]:
    """Return, by name, all questions that a stored experiment may have asked; shipped options in any order."""
    recorded = recorded_questions(experiment.get("questions") or ())
    questions = recorded or shipped_questions(attribute, most_turns(attribute), generator(0))  # any order of options
    return {question.name: question for question in questions}


def most_turns(attribute: str) -> int:
    """Return the number of turns for which there are different shipped people; 0 if there are none."""
    return min((len(mentions) for mentions in people_in_questions(attribute).values()), default=0)


def _template_questions(
    template: QuestionTemplate,
    category: str,
    people: Mapping[str, Sequence[str]],
    number: int,
    turn: int,
    rng: np.random.Generator,
) -> Iterator[AskedQuestion]:
    """Yield the six questions of a template in a `turn`; `number` chooses the two people and who is named first."""
    stereotyped_person, other_person = (
        people[value][number % len(people[value])] for value in (template.stereotyped, template.counterpart)
    )
    persons = (stereotyped_person, other_person)
    first_person, second_person = persons if number % 2 else persons[::-1]
    context = template.context.format(First=_capitalise(first_person), second=second_person)
    unknown_option = unknown_options()[number % len(unknown_options())]
    for negative, bad_person in product((True, False), (None, stereotyped_person, other_person)):
        # the fact ascribes the bad trait to `bad_person`, and the good trait to the other; ``None``: open context
        good_person = other_person if bad_person == stereotyped_person else stereotyped_person
        fact = "" if bad_person is None else f" {template.fact.format(Bad=_capitalise(bad_person), good=good_person)}"
        question_text = template.negative if negative else template.positive
        value_of_option = {
            stereotyped_person: template.stereotyped,
            other_person: template.counterpart,
            unknown_option: "unknown",
        }
        options = [list(value_of_option)[position] for position in rng.permutation(OPTIONS)]
        person_in_answer = bad_person if negative else good_person
        question = Question(
            template=template.name,
            ambiguous=bad_person is None,
            negative=negative,
            options=tuple(map(_capitalise, options)),
            right=options.index(unknown_option if bad_person is None else person_in_answer),
            unknown=options.index(unknown_option),
            stereotyped=options.index(stereotyped_person),
        )
        fact_name = {None: "open", other_person: "against", stereotyped_person: "fits"}[bad_person]
        yield AskedQuestion(
            f"{template.name}/{turn}/{'negative' if negative else 'positive'}/{fact_name}",
            category,
            text=f"{context}{fact}\n{question_text}",
            question=question,
            groups=tuple(value_of_option[option] for option in options),
            turn=turn,
        )


def _capitalise(text: str) -> str:
    return text[:1].upper() + text[1:]
