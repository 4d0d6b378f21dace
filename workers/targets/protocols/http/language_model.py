"""What language models over HTTP share: how each kind of question is put to them, and what an answer is.

A protocol writes the request for some questions of one kind (`_ask_for`), and cuts the answer into
one piece for each of them (`_read`): echoed tokens, what was said, or a reply. What a piece means is
read here, so that one bad piece loses one question.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, TypeVar

from annotated_types import Ge, Le, MaxLen, MinLen
from pydantic import Field

from assay.model import Ask, Choose, Draw, Failure, Fill, Kind, Reply, Score, Write
from workers.egress import CallFailed
from workers.targets.adapter import Worded
from workers.targets.parsing.answer_parsing import Misread
from workers.targets.parsing.echoed_tokens import NotEchoed, score_of
from workers.targets.protocols.http.adapter import HttpAdapter
from workers.targets.protocols.http.choice_letters import INSTRUCTION, LETTERS, Likelihoods, letter_in, likeliest_letter
from workers.targets.settings import TargetSettings

LONGEST_TEXT = 100_000
"""Characters of a written text that are taken."""

REFUSALS = frozenset({400, 405, 422, 501})
"""Statuses by which an engine refuses to give the prompt's tokens back."""

Tokens = Annotated[int, Ge(1), Le(100_000)]
Warmth = Annotated[float, Ge(0), Le(2)]


@dataclass(frozen=True, kw_only=True)
class LanguageModelSettings(TargetSettings):
    """What the settings of every language model have."""

    choice_instruction: Annotated[
        str,
        MinLen(1),
        MaxLen(2000),
        Field(description="Language models: what they are told where they have to choose."),
    ] = INSTRUCTION
    choice_tokens: Annotated[
        Tokens | None,
        Field(description="Language models: most tokens of a choice. Null leaves it out, for services that refuse it."),
    ] = 8
    top_logprobs: Annotated[
        Annotated[int, Ge(1), Le(20)] | None,
        Field(
            description="Language models: of how many first tokens the probabilities are asked for; the likeliest "
            "letter is the choice. Null asks for none, and the choice is the letter that is written."
        ),
    ] = 5
    writing_tokens: Annotated[
        Tokens | None, Field(description="Language models: most tokens of a text they write. Null leaves it out.")
    ] = 400
    writing_temperature: Annotated[
        Warmth | None,
        Field(description="Language models: at 0 all texts of one prompt are the same. Null leaves it out."),
    ] = 1.0
    writing_stop: Annotated[
        tuple[Annotated[str, MinLen(1), MaxLen(100)], ...],
        MaxLen(4),
        Field(description="Language models: where a text they write ends, for models that would go on and on."),
    ] = ()


M = TypeVar("M", bound=TargetSettings)


@dataclass(frozen=True, slots=True)
class Said:
    """What a model wrote.

    Attributes
    ----------
    text : JSON value
        A text is due.
    first : sequence of (str, float)
        Tokens that could have come first, with their log-probabilities, as far as they are known.
    ended : str
        ``"length"`` at its limit of tokens, ``"declined"`` where it chose not to answer.
    """

    text: Any
    first: Likelihoods = ()
    ended: Literal["", "length", "declined"] = ""


class HttpLanguageModel(HttpAdapter[M, Worded]):
    """A language model spoken to over HTTP (an `Adapter`).

    Attributes
    ----------
    answers : tuple of type
        The kinds of question that the protocol carries.
    """

    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.LANGUAGE_MODEL})
    answers: ClassVar[tuple[type[Ask], ...]] = (Choose, Write)

    async def answer(self, asks: Sequence[Ask], *, idempotency_key: str | None = None) -> Sequence[Reply]:
        """Put questions of one form in one call; a request for an echo that is refused is told from other failures."""
        try:
            return await super().answer(asks, idempotency_key=idempotency_key)
        except CallFailed as failed:
            if failed.status in REFUSALS and isinstance(asks[0], Score):
                why = f"the request for the prompt's tokens was refused: {failed.message}"
                return [Reply(failure=Failure("unsupported", why))] * len(asks)
            raise

    def _refuse(self, ask: Worded) -> Failure | None:
        return why_unasked(ask, self._offered())

    def _offered(self) -> Sequence[type[Ask]]:
        """Say which kinds of question this target can be asked."""
        return self.answers

    def _accept(self, said: Any, ask: Worded, place: str) -> Reply:
        return accept_worded(said, ask, place)


def why_unasked(ask: Ask, answers: Sequence[type[Ask]]) -> Failure | None:
    """Say why a question is not put to a language model: its protocol has no way to, or the letters do not suffice."""
    if not isinstance(ask, tuple(answers)):
        return Failure("unsupported", UNASKED.get(type(ask), f"this service cannot be asked to {ask.asks}"))
    if isinstance(ask, Choose) and not 2 <= len(ask.options) <= len(LETTERS):
        return Failure("unsupported", f"{len(ask.options)} options; 2 to {len(LETTERS)} have letters")
    return None


UNASKED: dict[type[Ask], str] = {
    Score: "this service does not give back the log-probabilities of a prompt's tokens",
    Fill: "this service is no masked language model",
    Draw: "this service draws no images",
}
"""Why a kind of question is not sent."""


def accept_worded(said: Any, ask: Ask, place: str) -> Reply:
    """Read an answer as what the question asked for; one that is not that is a failure of its own."""
    try:
        match ask:
            case Score(text=text):
                return Reply(score_of(said, text))
            case Choose():
                return _chosen(said, ask, place)
            case _:
                return _written(said, place)
    except NotEchoed as wrong:
        return Reply(failure=Failure("no-echo", f"{place} {wrong}; its log-probabilities say nothing about the text"))
    except Misread as wrong:
        return Reply(failure=Failure("wrong-shape", f"{place} {wrong}"))


def _chosen(said: Said, ask: Choose, place: str) -> Reply:
    choice = likeliest_letter(said.first, len(ask.options))
    if choice is None and (failure := _unsaid(said, place)) is not None:
        return Reply(failure=failure)
    if choice is None:
        choice = letter_in(said.text, ask.options)
    if choice is None:
        cut = ", at its limit of tokens" if said.ended == "length" else ""
        last = LETTERS[len(ask.options) - 1]
        return Reply(failure=Failure("no-choice", f"the model at {place} answered with none of A to {last}{cut}"))
    return Reply({"choice": choice})


def _written(said: Said, place: str) -> Reply:
    if (failure := _unsaid(said, place)) is not None:
        return Reply(failure=failure)
    if said.ended == "length":
        return Reply(failure=Failure("cut-short", f"the model at {place} stopped at its limit of tokens"))
    text = said.text.strip()
    if not text:
        return Reply(failure=Failure("declined", f"the model at {place} wrote nothing"))
    if len(text) > LONGEST_TEXT:
        why = f"the model at {place} wrote {len(text):,} characters; at most {LONGEST_TEXT:,} are taken"
        return Reply(failure=Failure("too-large", why))
    return Reply(text)


def _unsaid(said: Said, place: str) -> Failure | None:
    """Say why there is no text, if there is none."""
    if said.ended == "declined":
        return Failure("declined", f"the model at {place} chose not to answer")
    if not isinstance(said.text, str):
        return Failure("wrong-shape", f"{place} gave {type(said.text).__name__} where the model's text is due")
    return None
