"""Probe of a target: one question, shown to people with the request, the response, the parsed answer and a remedy."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

from assay.model import (
    FIRST,
    SECOND,
    Ask,
    Classify,
    Draw,
    Failure,
    Kind,
    Reply,
    Translate,
    service_said,
)
from workers.egress import CallFailed, Egress, Exchange, Quoter, ShownExchange, show_exchange
from workers.job_targets import USUAL_PAIRS, examination_of
from workers.targets.adapter import Adapter, Target
from workers.targets.checks.examination import Calls, Capability, TargetUnfit, readable_text, text_of_question
from workers.targets.checks.image_classifier import look_questions
from workers.targets.checks.language_model import RUNGS, SAMPLE_PROMPT, SAMPLE_QUESTIONS
from workers.targets.checks.remedies import doubt_about, remedy_for
from workers.targets.checks.samples import samples_for
from workers.targets.checks.translator import sentences_in
from workers.targets.parsing.comparison import documents_of
from workers.targets.protocols.http.decider import Decider, DecisionCall
from workers.targets.protocols.openai.images import SKETCH, OpenAIImages
from workers.targets.protocols.uploaded import Uploaded
from workers.targets.registry import connect

NOT_PROBED = "It can be rated, but not probed."

NOT_THIS_FORM = frozenset({"unsupported", "no-echo", "unknown-word"})
"""Codes of failures after which a target may still answer a question of another form."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeResult:
    """Result of a probe (a test question to a target), without credentials."""

    question: str = ""
    """The question, as text; empty if there was none."""
    exchange: ShownExchange | None = None
    """The last request and its response; ``None`` if nothing was sent."""
    exchanges: int = 0
    """Number of requests: more than one for a chain, or if a token was fetched first."""
    reading: str | None = None
    """The answer as Assay parsed it; ``None`` if it could not be parsed."""
    latency_s: float | None = None
    """Duration of the last request in seconds; ``None`` if it got no response."""
    capability: Mapping[str, Any] | None = None
    """Result of the examination (`Capability.as_json`); ``None`` unless it was requested and the target passed it."""
    code: str | None = None
    """Code of the failure; ``None`` if the answer was read."""
    service_said: str | None = None
    """The service's own error message, cleaned, 300 characters at most; ``None`` if it gave none."""
    exchanged: Self | None = None
    """Of a service that compares two documents: the result of the question with exchanged documents; else ``None``."""
    cause: str = ""
    remedy: str = ""
    """Remedy of what `cause` names, a fault or a doubt about a parsed answer; both are empty if there is none."""
    decision: Sequence[DecisionCall] = ()
    """Of a model that decides: the calls for the question, each with prompt, answer and parsed value; else empty."""

    def as_json(self) -> dict[str, Any]:
        """Return the result as a JSON object."""
        return asdict(self)


async def probe(
    target: Target,
    egress: Egress,
    *,
    pairs: Sequence[tuple[str, str]] = USUAL_PAIRS,
    asks: Sequence[Ask] = (),
    examine: bool = False,
    exchanges: list[Exchange] | None = None,
) -> ProbeResult:
    """Ask a target one question; return the request, the response and the parsed answer.

    A service that compares two documents is asked in both orders. A failed call is a result and not an exception.
    Nothing is retried and nothing is stored.

    `pairs` are the language pairs of a translator, `asks` the first questions of the experiment, if there is one.
    With `examine`, an answered question is followed by the examination before a rating, in about ten further calls.
    `exchanges` receives every exchange, complete and with its secrets.

    Raise `SpecificationError` if the target's settings do not fit its protocol, `RatingsRefused` if the host refuses
    ratings.
    """
    result = await _probe(
        target, egress, pairs, asks, examine=examine, exchanges=[] if exchanges is None else exchanges
    )
    question = sample_asks(target, pairs, asks)[0]
    documents = documents_of(question.given) if isinstance(question, Classify) else None
    if documents is None or result.exchange is None:
        return result
    swapped_question = Classify(((FIRST, documents[SECOND]), (SECOND, documents[FIRST])))
    swapped_result = await _probe(target, egress, pairs, [swapped_question], examine=False, exchanges=[])
    return replace(result, exchanged=swapped_result)  # the result for the documents in the other order


async def _probe(
    target: Target,
    egress: Egress,
    pairs: Sequence[tuple[str, str]],
    asks: Sequence[Ask],
    *,
    examine: bool,
    exchanges: list[Exchange],
) -> ProbeResult:
    """Ask a target one question, without a repetition in the other order; the parameters are those of `probe`."""
    try:
        adapter = connect(target, egress.watched(exchanges.append))
    except CallFailed as failed:  # the operator does not allow the protocol
        return ProbeResult(code=failed.code, cause=failed.message, remedy=NOT_PROBED)
    ask, reply, decision_calls = await _first_answer(adapter, sample_asks(target, pairs, asks), exchanges)
    exchange = exchanges[-1] if exchanges else None
    capability: Capability | None = None
    failure = reply.failure
    if failure is None and examine:
        try:
            capability = await examination_of(target, adapter, pairs, asks or image_questions(target), Calls()).run()
        except TargetUnfit as unfit:
            # the exchange shown is the last of the examination, in which the fault was found
            exchange, failure = exchanges[-1], Failure(unfit.code, str(unfit))
    remedy = remedy_for(failure, exchange, target, ask) if failure else doubt_about(reply.value, exchange, target, ask)
    if failure is not None and target.protocol == Uploaded.protocol:  # only a job has the upload
        remedy = replace(remedy, remedy=NOT_PROBED)
    quoter = Quoter(*_secrets_of(target))
    return ProbeResult(
        question=quoter.clean(text_of_question(ask)),
        exchange=None if exchange is None else show_exchange(exchange, _secrets_of(target)),
        exchanges=len(exchanges),
        # an answer that was read is shown even if the examination failed later
        reading=None if reply.failure is not None else quoter.clean(readable_text(reply.value)),
        latency_s=exchange.seconds if exchange is not None and exchange.received is not None else None,
        capability=None if capability is None else capability.as_json(),
        code=None if failure is None else failure.code,
        service_said=None if failure is None else service_said(failure.message),
        **asdict(remedy),  # `cause` and `remedy`
        decision=tuple(_mask_call(call, quoter) for call in decision_calls),
    )


def _mask_call(call: DecisionCall, quoter: Quoter) -> DecisionCall:
    """Return a call without credentials; line breaks stay in the prompt only."""
    prompt = "\n".join(map(quoter.clean, call.prompt.splitlines()))
    return replace(call, prompt=prompt, answer=quoter.clean(call.answer))


def image_questions(target: Target) -> list[Draw]:
    """Return a list with the sample question for a generator of images; empty for other targets."""
    return [SKETCH] if target.protocol == OpenAIImages.protocol else []


def sample_asks(target: Target, pairs: Sequence[tuple[str, str]], asks: Sequence[Ask] = ()) -> list[Ask]:
    """List the questions to try in turn: one, or for a language model the experiment's first and one of each kind."""
    match target.kind:
        case Kind.TRANSLATOR:
            source, target_language = pairs[0]
            _number, sentence = sentences_in(source, count=1)[0]
            return [Translate(sentence, source, target_language)]
        case Kind.LANGUAGE_MODEL:  # `RUNGS`: kinds of question (score, fill a gap, choose), the best first
            return [*asks[:1], *image_questions(target), *(SAMPLE_QUESTIONS[kind][0] for kind in RUNGS), SAMPLE_PROMPT]
        case Kind.IMAGE_CLASSIFIER:
            return list(look_questions(target, asks)[:1])
        case _:
            return list(samples_for(target, asks).questions[:1])


async def _first_answer(
    adapter: Adapter, asks: Sequence[Ask], exchanges: Sequence[Exchange]
) -> tuple[Ask, Reply, Sequence[DecisionCall]]:
    """Ask questions until a question is answered; if none is, return the first that was sent, with its failure.

    Return the question, its reply, and the calls of a model that decides (empty for other targets).
    """
    recorded_calls: list[DecisionCall] = []
    if isinstance(adapter, Decider):
        adapter.calls = recorded_calls
    first_question, first_failed_reply = asks[0], Reply()
    for ask in asks:
        exchanges_before = len(exchanges)
        try:
            reply = (await adapter.answer([ask]))[0]
        except CallFailed as failed:
            reply = Reply(failure=Failure(failed.code, failed.message))
        if reply.failure is None:
            return ask, reply, tuple(recorded_calls)
        earlier_failure = first_failed_reply.failure
        # a question that was sent replaces one that was not
        was_sent = len(exchanges) > exchanges_before
        if earlier_failure is None or (was_sent and earlier_failure.code == "unsupported"):
            first_question, first_failed_reply = ask, reply
        if reply.failure.code not in NOT_THIS_FORM:  # questions of other forms would fail too
            break
    return first_question, first_failed_reply, tuple(recorded_calls)


def _secrets_of(target: Target) -> list[str]:
    return [secret for secret in (target.secret, *target.link_secrets.values()) if secret]
