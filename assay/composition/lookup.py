"""Lookup of a chain in both tables, as JSON; an undeclared letter is replaced by all letters that are possible."""

from collections.abc import Sequence
from dataclasses import dataclass

from assay.composition.chain import TABLES, ChainAnswer, ChainProbabilities, TableName, combine, compose_chain
from assay.composition.wording import explain_chain, explain_difference, explain_probabilities, note
from assay.document import JsonObject, RatingDocument
from assay.model import Letter, Probabilities
from assay.rating.decision import DEFAULT_CONFIDENCE, WORST_FIRST, PartLetter, worst_letter


@dataclass(frozen=True)
class Part:
    """A service of a chain, with the facts that a look-up in the tables needs."""

    letter: Letter | None
    """The likeliest letter; ``None`` if nothing could be measured."""
    declared: bool = True
    probabilities: Probabilities | None = None
    """Probabilities of the letters; ``None`` if every letter is possible."""
    confidence: float = DEFAULT_CONFIDENCE
    """Probability from which a letter is declared."""

    @property
    def settled(self) -> bool:
        """Whether the service has one declared letter to look up."""
        return self.letter is not None and self.declared

    @property
    def candidates(self) -> Probabilities:
        """Possible letters, equally weighted: the declared one, else all of probability ``1 - confidence`` or more."""
        possible = [letter for letter in Letter if self._is_possible(letter)]
        return Probabilities(**{letter.value: (1 / len(possible) if letter in possible else 0.0) for letter in Letter})

    def _is_possible(self, letter: Letter) -> bool:
        if self.settled:
            return letter is self.letter
        return self.probabilities is None or self.probabilities.of(letter) >= 1 - self.confidence


def part_of(rating: RatingDocument) -> Part:
    """Return the letter and confidence of a service's rating, and its probabilities unless the letter is withheld."""
    part = PartLetter.of(rating)
    probabilities = part.probabilities.located() if part.probabilities and not part.withheld else None
    return Part(part.letter, part.declared, probabilities, rating.confidence or DEFAULT_CONFIDENCE)


def tables_document(parts: Sequence[Part], table: TableName = "published") -> JsonObject:
    """Look a chain up in both composition tables; the JSON has the results of `table`, and of both under ``tables``."""
    results = {name: _look_up(parts, name) for name in TABLES}
    answers = {name: answer.as_json() for name, answer in results.items()}
    chosen = answers[table]
    notes = []
    if answers["published"]["possible"] != answers["revised"]["possible"]:
        possible = {name: " or ".join(answer["possible"]) for name, answer in answers.items()}
        notes.append(note("tables-differ", **possible))
    for name, answer in answers.items():
        if answer["contradiction"]:
            notes.append(note("contradiction", table=name))
    for number, part in enumerate(parts, start=1):
        if part.letter is None:
            notes.append(note("link-unmeasured", link=number))
        elif not part.declared:
            notes.append(note("link-inconclusive", link=number, leaning=part.letter.value))
    return {
        "table": table,
        "possible": chosen["possible"],
        "worst": chosen["worst"],
        "contradiction": chosen["contradiction"],
        "probabilities": chosen["probabilities"],
        "tables": answers,
        "explanation": _explain(results["published"], results["revised"], results[table]),
        "notes": notes,
    }


@dataclass(frozen=True)
class LookUpResult:
    """Result of looking a chain up in one table."""

    possible: frozenset[Letter]
    """Possible letters of the composite."""
    answer: ChainAnswer | None
    """Answer of the table; ``None`` unless every link has one declared letter."""
    probabilities: ChainProbabilities | None
    """Probability of each letter; ``None`` unless every link has probabilities."""

    def as_json(self) -> JsonObject:
        """Return the result as JSON."""
        return {
            "possible": _in_order(self.possible),
            "letter": next(iter(self.possible)).value if len(self.possible) == 1 else None,
            "worst": worst_letter(self.possible).value,
            "contradiction": self.answer is not None and self.answer.contradiction,
            "probabilities": self.probabilities
            and {
                **{letter.value: self.probabilities.of(letter) for letter in WORST_FIRST},
                "must_be_measured": self.probabilities.must_be_measured,
            },
            "bracketings": [] if self.answer is None else _bracketings_json(self.answer),
        }


def _look_up(parts: Sequence[Part], table: TableName) -> LookUpResult:
    """Look a chain up by its declared letters if all are declared, and by its probabilities if all are known."""
    letters = [part.letter for part in parts if part.letter is not None and part.settled]
    answer = compose_chain(letters, table) if len(letters) == len(parts) else None
    known_probabilities = [part.probabilities for part in parts if part.probabilities is not None]
    probabilities = combine(known_probabilities, table) if len(known_probabilities) == len(parts) else None
    return LookUpResult(_possible_letters(parts, table) if answer is None else answer.possible, answer, probabilities)


def _explain(published: LookUpResult, revised: LookUpResult, headline: LookUpResult) -> list[str]:
    """Explain the `headline`, the result in the deciding table, and where the published and revised tables differ."""
    sentences = list(explain_chain(headline.answer)) if headline.answer is not None else []
    if published.answer is not None and revised.answer is not None:
        sentences += filter(None, [explain_difference(published.answer, revised.answer)])  # `None` if they agree
    return [*sentences, *(explain_probabilities(headline.probabilities) if headline.probabilities else ())]


def _possible_letters(parts: Sequence[Part], table: TableName) -> frozenset[Letter]:
    """Return a chain's possible letters: a table's results for every combination of the services' possible letters."""
    probabilities = combine([part.candidates for part in parts], table)
    if probabilities.must_be_measured > 0:
        return frozenset(Letter)
    return frozenset(letter for letter in Letter if probabilities.of(letter) > 0)


def _bracketings_json(answer: ChainAnswer) -> list[JsonObject]:
    """Return the bracketings as JSON: their steps, and the cells of the table that each step looked up."""
    return [
        {
            "written": bracketing.written,
            "possible": _in_order(bracketing.possible),
            "steps": [
                {
                    "first": step.first,
                    "second": step.second,
                    "possible": _in_order(step.possible),
                    "entries": [
                        {"row": entry.first.value, "column": entry.second.value, "possible": _in_order(entry.possible)}
                        for entry in step.entries
                    ],
                }
                for step in bracketing.steps
            ],
        }
        for bracketing in answer.bracketings
    ]


def _in_order(letters: frozenset[Letter]) -> list[str]:
    return [letter.value for letter in WORST_FIRST if letter in letters]
