"""Tables, figures and sentences of a rating by the method ``questions`` in a report."""

from collections.abc import Iterator, Mapping
from statistics import fmean

from assay.document import RatingDocument
from assay.explain import listed, share
from assay.methods.questions.detail import QuestionsComponent
from assay.methods.questions.method import GroupQuestions
from assay.methods.shared.answers.question_scores import AMBIGUOUS, DISAMBIGUATED
from reports import cells, charts
from reports.cases import QuestionCases
from reports.in_words import hidden_in_words, tested
from reports.method_report import MethodReport, Room
from reports.sheets import Wording
from reports.units import HUNDREDTHS, of_hundred
from reports.view import NOT_MEASURED, Picture, Table

WORDING = Wording.read("questions")

CONTEXTS: Mapping[str, str] = {AMBIGUOUS: "open", DISAMBIGUATED: "settled by a fact"}


def in_words(document: RatingDocument, part: QuestionsComponent) -> Iterator[str]:
    """Yield sentences on how many answers name somebody, and how many follow the stereotype or the facts."""
    contexts = part.contexts
    if AMBIGUOUS in contexts and contexts[AMBIGUOUS].read:
        row = contexts[AMBIGUOUS]
        yield (
            f"Of {row.read:,} answers to questions that cannot be answered, {row.naming or 0:,} name a person; "
            f"{row.biased or 0:,} of these follow the stereotype."
        )
    if DISAMBIGUATED in contexts and contexts[DISAMBIGUATED].read:
        row = contexts[DISAMBIGUATED]
        right_answers = f"{row.right or 0:,} are right{_right_answers_by_fit(part)}"
        yield f"Of {row.read:,} answers to questions that a fact settles, {right_answers}."
    yield from hidden_in_words(part, HUNDREDTHS, "{name}, differ from those that name the other person by {size}.")
    questions_phrase = f"{part.questions or 0:,} questions of {len(part.templates)} templates"
    yield tested(document, part, f"{questions_phrase}, each in three orders of its options")


def _right_answers_by_fit(part: QuestionsComponent) -> str:
    """Return a clause on accuracy where the fact fits the stereotype, and where not; empty if either is unknown."""
    accuracies = [
        (row.fitting, row.against) for row in part.templates if row.fitting is not None and row.against is not None
    ]
    if not accuracies:
        return ""
    fitting, against = (share(fmean(shares)) for shares in zip(*accuracies, strict=True))
    return f": {fitting} where the fact fits the stereotype, and {against} where it goes against it"


def tables(part: QuestionsComponent) -> Iterator[Table | None]:
    """Yield the tables of one component, or of all together (the aggregation); ``None`` for an empty table."""
    yield _contexts_table(part)
    yield _letters_table(part)
    if part.templates:
        yield WORDING.sheets["templates"].of(part)
    rows = tuple(
        (
            str(look.questions or cells.ABSENT),
            listed([f"{name}: {letter}" for name, letter in look.letters.items() if letter]) or NOT_MEASURED,
        )
        for look in part.looks
    )
    yield Table("Looks at the evidence", ("Questions", "Likeliest"), rows) if rows else None


def figures(part: QuestionsComponent) -> Iterator[Picture | None]:
    """Yield a figure of accuracy and bias scores, if known, for questions with and without a fact that settles them."""
    rows = [
        (f"{CONTEXTS[name]}: {title}", charts.span(effect))
        for name, row in part.contexts.items()
        for title, effect in (("accuracy", row.accuracy), ("bias score", row.weighted_bias))
        if name in CONTEXTS and effect.estimate is not None
    ]
    yield charts.forest("Accuracy and bias scores", "share of the answers", rows, reference=0.0, head="Questions")


def _contexts_table(part: QuestionsComponent) -> Table | None:
    if not part.contexts:
        return None
    rows = [
        (
            CONTEXTS.get(name, name),
            *(cells.number(count) for count in (row.read, row.right, row.naming, row.biased)),
            *(cells.intervals([effect])[0] for effect in (row.accuracy, row.bias, row.weighted_bias)),
        )
        for name, row in part.contexts.items()
    ]
    heads = ("Answers", "Right", "Name a person", "Follow the stereotype", "Accuracy a", "Bias s", "(1 − a) s")
    return Table("Answers by kind of question", ("Question", *heads), tuple(rows))


def _letters_table(part: QuestionsComponent) -> Table | None:
    """Return a table of the shares of answers A, B and C; 1/3 is no preference for a position, as options rotate."""
    rows = tuple((letter, cells.number(share)) for letter, share in part.letters.items())
    return Table("Positions: share of each letter", ("Letter", "Share"), rows) if rows else None


REPORT = MethodReport(
    GroupQuestions,
    WORDING.steps,
    WORDING.letters,
    in_words,
    tables,
    figures,
    # only `most_turns` limits further questions, unless the requester supplied the questions
    lambda document, _part: None if document.experiment.get("questions") else Room(None, "most_turns", "questions"),
    unit=of_hundred,
    ratable="questions",
    cases=QuestionCases,
)
