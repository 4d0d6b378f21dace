"""Plan of a rating: questions, calls, seconds and cost, and the chance that its letter is declared.

No question is sent. The service (``POST /v1/jobs/plan``) and the command line (``assay plan``) call `plan_of`.
"""

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from assay.document import JsonObject
from assay.experiment import Looks, Method, Session, generator, questions_in_a_call
from assay.model import Ask, Failure, Reply, Translate
from assay.rating.component import EARLY_ERROR_FRACTION, answers_needed
from assay.statistics.special import special

TOLERANCES = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0)
"""True effects, in multiples of the tolerance, for which the chance of a declared letter is computed."""

ALIKE = 0.1
"""Assumed correlation of two answers about the same topic (a word or an occupation)."""

RUNS = 4000
"""Number of simulated ratings for each true effect; two standard errors of a simulated chance are at most .016."""

MOST_GROUPED = 10_000
"""Maximum number of questions that are grouped into calls, which takes half a second; of more, all calls are full."""

UNKNOWN = "the precision of this method depends on answers that are known only after asking"


@dataclass(frozen=True)
class Service:
    """Facts about the service that is to be rated."""

    questions_per_call: int = 1
    """Maximum number of questions in one call."""
    concurrency: int = 8
    """Maximum number of simultaneous calls."""
    requests_per_second: float | None = None
    """Calls that may be started per second; ``None`` means no limit."""
    latency_s: float | None = None
    """Seconds of one call; ``None`` if no probe has measured it."""
    price_per_call: float | None = None
    """Price of one call, in any currency."""
    price_per_1000_characters: float | None = None
    """Price of 1,000 characters, in the same currency."""


@dataclass(frozen=True)
class Effort:
    """Questions and calls of a rating, not counting repeated calls, with their duration and cost.

    `seconds` is ``None`` if the latency is unknown, `cost` is ``None`` without a price.
    """

    questions: int
    calls: int
    seconds: float | None
    cost: float | None


@dataclass(frozen=True)
class Chance:
    """Probability that a letter is declared if the true effect is `effect` (`tolerances` times the tolerance)."""

    tolerances: float
    effect: float
    probability: float


@dataclass(frozen=True)
class Plan:
    """Plan of a rating."""

    clear: Effort
    """Effort if the letter is decided at the first look (interim analysis)."""
    at_most: Effort
    """Effort if no look before the last decides the letter."""
    declared: tuple[Chance, ...] | None
    """Chance for each of `TOLERANCES`; ``None`` if it cannot be computed, for the reason in `why_unknown`."""
    why_unknown: str | None

    def as_json(self) -> JsonObject:
        """Return the plan as JSON: the effort if the first analysis decides, and in ``at_most`` the worst case."""
        chances = None if self.declared is None else [asdict(chance) for chance in self.declared]
        chance_entry = {"declared": chances, "declared_unknown": self.why_unknown}
        return {**asdict(self.clear), "at_most": asdict(self.at_most), **chance_entry}


def plan_of(method: Method, service: Service, *, seed: int = 0, max_calls: int | None = None) -> Plan:
    """Plan a rating without sending a question.

    Parameters
    ----------
    method : Method
        The method, with its words, rows and pictures filled in, adapted to the kind of service.
    seed : int
        Seed of the first questions, whose mean length gives the price of a question.
    max_calls : int, optional
        Maximum number of calls of the job; it limits the worst case.
    """
    price = _question_price(method, service, seed)
    looks = method.planned_looks()
    questions, max_questions = method.expected_probes(), method.most_probes()
    calls, batches = calls_of_first_look(method, service.questions_per_call, seed)
    growth = max(1.0, max_questions / max(1, questions))  # assumed: each look doubles the questions
    later_looks = math.ceil(math.log2(growth)) if looks is None else len(looks.answers) - 1
    # a batch takes at most two calls more than its questions fill
    most_calls = calls + math.ceil((max_questions - questions) / service.questions_per_call) + 2 * batches * later_looks
    return Plan(
        clear=_effort(questions, calls, service, price),
        at_most=_effort(max_questions, min(max_questions, most_calls), service, price, max_calls),
        declared=None if looks is None else declared_chances(looks, method.delta, method.confidence),
        why_unknown=UNKNOWN if looks is None else None,
    )


def declared_chances(looks: Looks, delta: float, confidence: float) -> tuple[Chance, ...]:
    """Compute the chance that the letter of one component is declared, for true effects of some multiples of `delta`.

    The letter is declared if the effect of step 1 is below or above the tolerance with the required probability.
    Assumptions: step 2 and hidden effects add no uncertainty; no reply is lost; answers are yes or no with a share
    near one half; two answers about one topic correlate by `ALIKE`; the posterior is normal around the observed
    share. An interim analysis before the last may use a quarter of the permitted error, as in the methods.

    Parameters
    ----------
    delta, confidence : float
        Tolerance, in shares; probability from which a letter is declared.
    """
    answers = np.array(looks.answers, dtype=float)  # number of answers so far at each look
    n_new = np.diff(answers, prepend=0.0)  # number of answers that each look adds
    # 0.25: the variance of an answer that is yes or no with equal odds
    topic_variance = 0.25 * ALIKE / max(1, looks.topics)
    rng = generator(0)  # a fixed seed: equal plans have equal chances
    noise = np.cumsum(rng.normal(size=(RUNS, len(n_new))) * np.sqrt(0.25 * (1 - ALIKE) * n_new), axis=1) / answers
    noise += rng.normal(size=(RUNS, 1)) * math.sqrt(topic_variance)  # all looks have the same topics
    error = np.sqrt(topic_variance + 0.25 * (1 - ALIKE) / answers)  # standard error of the observed share
    is_enough = answers >= answers_needed(delta)  # a look at fewer answers gives no letter
    required_probability = 1 - (1 - confidence) * np.array([EARLY_ERROR_FRACTION] * (len(n_new) - 1) + [1.0])
    chances = []
    for multiple in TOLERANCES:
        observed = multiple * delta + noise
        p_within = special.ndtr((delta - observed) / error) - special.ndtr((-delta - observed) / error)
        is_declared = ((np.maximum(p_within, 1 - p_within) >= required_probability) & is_enough).any(axis=1)
        chances.append(Chance(multiple, round(multiple * delta, 6), round(float(is_declared.mean()), 3)))
    return tuple(chances)


def calls_of_first_look(method: Method, most_per_call: int, seed: int) -> tuple[int, int]:
    """Count calls and batches up to the first interim analysis, with questions grouped into calls as in a real job.

    The experiment runs on invented replies until `method.expected_probes` questions were asked. A translation gets a
    text, so that the translation back is asked as well; all other replies are failures, without effect before a look.
    """
    expected = method.expected_probes()
    if most_per_call == 1 or expected > MOST_GROUPED:
        return math.ceil(expected / most_per_call), 0  # 0: no batch needs calls beyond these
    session, calls, batches = Session(method.design(generator(seed))), 0, 0
    while session.finding is None and session.asked < expected:
        missing_probes = session.missing
        per_call = questions_in_a_call(missing_probes, most_per_call) if missing_probes else 1
        counts_by_group = Counter(_call_group(probe.ask) for probe in missing_probes)
        calls += sum(math.ceil(count / per_call) for count in counts_by_group.values())
        batches += 1
        for probe in missing_probes:
            session.accept(probe, _invent_reply(probe.ask))
        if session.asked < expected:
            session.advance()
    return calls, batches


def _call_group(ask: Ask) -> Hashable:
    """Return the property that all questions of a call share: the pair of languages, or the kind of question."""
    return (ask.source, ask.target) if isinstance(ask, Translate) else ask.asks


def _invent_reply(ask: Ask) -> Reply:
    if isinstance(ask, Translate):
        return Reply(" ".join(f"{word}x" for word in ask.text.split()) + ".")
    return Reply(failure=Failure("planned", "no service was asked"))


def _effort(questions: int, calls: int, service: Service, price: float | None, max_calls: int | None = None) -> Effort:
    """Return the duration and cost of a number of questions and of calls, which may be cut to `max_calls`."""
    if max_calls is not None and calls > max_calls:
        calls, questions = max_calls, max_calls * service.questions_per_call
    seconds = None
    if service.latency_s is not None:
        seconds = math.ceil(calls / service.concurrency) * service.latency_s
        if service.requests_per_second is not None:
            seconds = max(seconds, calls / service.requests_per_second)
    cost = None
    if price is not None or service.price_per_call is not None:
        cost = round(questions * (price or 0.0) + calls * (service.price_per_call or 0.0), 6)
    return Effort(questions, calls, None if seconds is None else round(seconds, 1), cost)


def _question_price(method: Method, service: Service, seed: int) -> float | None:
    """Return the price of a question by its characters, from the mean length of the first questions."""
    if service.price_per_1000_characters is None:
        return None
    first_probes: Sequence[Any] = next(method.design(generator(seed)), ())
    lengths = [_count_characters(probe.ask) for probe in first_probes]
    return service.price_per_1000_characters * sum(lengths) / max(1, len(lengths)) / 1000


def _count_characters(ask: Ask) -> int:
    """Count the characters that a question sends: of its texts, options, and names and values of a record."""

    def count(part: object) -> int:
        if isinstance(part, tuple):
            return sum(map(count, part))
        return 0 if part is None else len(str(part))

    unsent = {"source", "target", "number", "image"}
    return sum(count(getattr(ask, part_field.name)) for part_field in fields(ask) if part_field.name not in unsent)
