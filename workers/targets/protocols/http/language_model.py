"""Base class of the HTTP adapters for language models, and parsing of their answers.

A protocol splits its answer into one piece for each question (`_parse_response`): echoed tokens, a model's output, or a
reply. Each piece is parsed here, so that an invalid piece loses only its own question.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal, TypeVar

from annotated_types import Ge, Le, MaxLen, MinLen
from pydantic import Field

from assay.catalog.answer_text import normalise_answer, refuses_in_words
from assay.document import JsonObject
from assay.model import Ask, Choose, Draw, Failure, Fill, Kind, Reply, Score, Write
from workers.egress import CallFailed
from workers.targets.adapter import Worded
from workers.targets.parsing.answer_parsing import Misread, ModelFault, quoted
from workers.targets.parsing.echoed_tokens import NotEchoed, score_of
from workers.targets.protocols.http import choice_letters
from workers.targets.protocols.http.adapter import HttpAdapter
from workers.targets.protocols.http.decision import Decision
from workers.targets.settings import CalledSettings

LONGEST_TEXT = 100_000
"""Maximum length of a written text in characters."""

REFUSALS = frozenset({400, 405, 422, 501})
"""HTTP statuses with which engines refuse to echo the prompt's tokens."""

Tokens = Annotated[int, Ge(1), Le(100_000)]


@dataclass(frozen=True, kw_only=True)
class LanguageModelSettings(CalledSettings):
    """Base class of the settings of language models."""

    choice_instruction: Annotated[
        str,
        MinLen(1),
        MaxLen(2000),
        Field(description="Language models: what they are told where they have to choose."),
    ] = choice_letters.INSTRUCTION
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
        Annotated[float, Ge(0), Le(2)] | None,
        Field(description="Language models: at 0 all texts of one prompt are the same. Null leaves it out."),
    ] = 1.0
    decision: Annotated[
        Decision | None,
        Field(
            description="Language models that decide: with it, the target is a classifier (labels) or a regressor (a "
            "number within a range)."
        ),
    ] = None
    writing_stop: Annotated[
        tuple[Annotated[str, MinLen(1), MaxLen(100)], ...],
        MaxLen(4),
        Field(description="Language models: where a text they write ends, for models that would go on and on."),
    ] = ()

    def check_kind(self, kind: Kind) -> None:
        """Raise a `SpecificationError` for a decision whose answers are not those of this kind of service."""
        super().check_kind(kind)
        if self.decision is not None:
            self.decision.check_kind(kind)


M = TypeVar("M", bound=CalledSettings)


@dataclass(frozen=True, slots=True)
class ModelOutput:
    """Output of a language model for one question."""

    text: Any
    """The model's text; not validated yet."""
    likely_tokens: choice_letters.Likelihoods = ()
    """Likely first tokens with their log-probabilities; empty if the service does not return them."""
    end_reason: Literal["", "length", "declined"] = ""
    """``"length"`` at the limit of tokens, ``"declined"`` if the model refused to answer."""
    thinking: bool = False
    """Whether the model wrote thoughts beside the text, as reasoning models do."""

    @property
    def answer_tokens(self) -> choice_letters.Likelihoods:
        """Likely first tokens of the answer; empty if the output has thoughts, because the tokens may be theirs."""
        has_thoughts = self.thinking or choice_letters.without_thoughts(self.text) != self.text
        return () if has_thoughts else self.likely_tokens


@dataclass(frozen=True, slots=True)
class Decide(Choose):
    """Question of a `Decider` to a language model; without options, it asks for a label's text or a number."""

    read: Callable[[ModelOutput], JsonObject | float] = field(kw_only=True)
    """Function that parses a model's output, or raises `Misread`."""


class HttpLanguageModel(HttpAdapter[M, Worded]):
    """Base class of the HTTP adapters for language models; `answers` are the kinds of question it supports."""

    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.LANGUAGE_MODEL})
    answers: ClassVar[tuple[type[Ask], ...]] = (Choose, Write)

    async def answer(self, asks: Sequence[Ask], *, idempotency_key: str | None = None) -> Sequence[Reply]:
        """Send questions of one form in one call; if echoing prompts is refused, all replies are ``unsupported``."""
        try:
            return await super().answer(asks, idempotency_key=idempotency_key)
        except CallFailed as failed:
            if failed.status in REFUSALS and isinstance(asks[0], Score):
                message = f"the request for the prompt's tokens was refused: {failed.message}"
                return [Reply(failure=Failure("unsupported", message))] * len(asks)
            raise

    def _refusal(self, ask: Worded) -> Failure | None:
        return refusal_of_kind(ask, self._kinds_of_question())

    def _kinds_of_question(self) -> Sequence[type[Ask]]:
        return self.answers

    def _validate_answer(self, answer: Any, ask: Worded, origin: str) -> Reply:
        return accept_worded(answer, ask, origin)


def prompt_of(ask: Worded, instruction: str) -> str:
    """Return the prompt of a question for a model that continues texts."""
    match ask:
        case Choose():
            return choice_letters.completed_by_letter(ask, instruction)
        case Write(prompt=text) | Score(text=text):
            return text
    raise AssertionError(ask.asks)  # pragma: no cover - refused before


def refusal_of_kind(ask: Ask, supported_types: Sequence[type[Ask]]) -> Failure | None:
    """Return a failure for an unsupported kind of question, or for too few or too many options, else ``None``."""
    if not isinstance(ask, tuple(supported_types)):
        return Failure("unsupported", UNSUPPORTED.get(type(ask), f"this service cannot be asked to {ask.asks}"))
    if not isinstance(ask, Choose) or isinstance(ask, Decide):  # decisions are not answered with letters alone
        return None
    if not 2 <= len(ask.options) <= len(choice_letters.LETTERS):
        return Failure("unsupported", f"{len(ask.options)} options; 2 to {len(choice_letters.LETTERS)} have letters")
    return None


UNSUPPORTED: dict[type[Ask], str] = {
    Score: "this service does not give back the log-probabilities of a prompt's tokens",
    Fill: "this service is no masked language model",
    Draw: "this service draws no images",
}
"""Messages for kinds of question that are not sent."""


def accept_worded(answer: Any, ask: Ask, origin: str) -> Reply:
    """Parse an answer of a language model into a reply; an invalid answer becomes a failure."""
    try:
        if isinstance(ask, Score):
            return Reply(score_of(answer, ask.text))
        if answer.end_reason == "declined":
            raise ModelFault("chose not to answer", "declined")
        if not isinstance(answer.text, str):
            raise Misread(f"returned {type(answer.text).__name__}; expected the text of the model")
        match ask:
            case Decide(read=read):
                return Reply(read(answer))
            case Choose():
                return Reply({"choice": _parse_choice(answer, ask)})
            case _:
                return Reply(_parse_text(answer))
    except NotEchoed as error:
        return Reply(failure=Failure(error.code, f"{origin} {error}; its log-probabilities are not those of the text"))
    except Misread as error:
        return error.reply(origin)


def _parse_choice(output: ModelOutput, ask: Choose) -> int:
    """Read the choice from the probabilities of the first token if the answer is only a letter, else from the text."""
    text = choice_letters.without_thoughts(output.text)
    choice = None
    if text.strip() and choice_letters.bare_letter(text):  # an empty text counts as a bare letter, but chooses none
        choice = choice_letters.likeliest_letter(output.answer_tokens, len(ask.options))
    if choice is None:
        read = choice_letters.letter_in_cut if output.end_reason == "length" else choice_letters.letter_in
        choice = read(output.text, ask.options)
    if choice is not None:
        return choice
    if output.end_reason == "length":
        so_far = "it was still thinking" if output.thinking or not text.strip() else f"it had written {quoted(text)}"
        advice = "raise settings.choice_tokens (null: no limit)"
        raise ModelFault(f"reached its limit of tokens before it chose ({so_far}); {advice}", "no-choice")
    if refuses_in_words(normalise_answer(text)):
        raise ModelFault(f"declined: {quoted(text)}", "declined")
    last_letter = choice_letters.LETTERS[len(ask.options) - 1]
    raise ModelFault(f"answered {quoted(text)}, which is not one of A to {last_letter}", "no-choice")


def _parse_text(output: ModelOutput) -> str:
    """Return a written text without thoughts; raise `ModelFault` if it is cut off, empty or too long."""
    text = choice_letters.without_thoughts(output.text).strip()
    if output.end_reason == "length":
        raise ModelFault("stopped at its limit of tokens; raise settings.writing_tokens", "cut-short")
    if not text:
        raise ModelFault("wrote nothing", "declined")
    if len(text) > LONGEST_TEXT:
        raise ModelFault(f"wrote {len(text):,} characters; at most {LONGEST_TEXT:,} are allowed", "too-large")
    return text
