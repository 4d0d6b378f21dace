"""Experiments as generators: they yield probes and never call a service. Read `workers/run_job.py` first.

A method's `design` is a generator: it yields a batch of probes, is sent the replies in the same
order, and returns a finding. The driver decides how the probes are answered: the worker calls a
target, a test calls a function, a replay reads the record. A crashed job is resumed by a replay: the
recorded replies are sent first, and only the missing questions are asked.
"""

from abc import ABC, abstractmethod
from collections import Counter, OrderedDict
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import ClassVar, Self

import numpy as np

from assay.canonical import EvidenceTree
from assay.document import NO_AGGREGATION, AggregationDocument, ComponentDocument, RatingDocument
from assay.errors import RecordError, RecordIncomplete, SpecificationError
from assay.model import Ask, Component, Failure, Finding, Kind, Observation, Probe, Reply
from assay.references import NOTHING, CorpusItem, HeldBack, LoadedMaterial, References

Experiment = Generator[Sequence[Probe], Sequence[Reply], Finding]
"""Generator that yields batches of probes, is sent their replies in order, and returns a finding."""

BUDGET = "budget-exhausted"
"""Failure code of a probe that `max_calls` or the deadline did not allow."""

REMEMBERED_ASKS = 20_000
"""Maximum number of questions whose answers a session remembers, to copy them to identical questions."""

MOST_VERSIONS = 32
"""Maximum number of versions of an item in a batch that are sent in different calls; if there are more, none are."""


def questions_in_a_call(probes: Sequence[Probe], capacity: int) -> int:
    """Return how many questions of a batch share a call, if a call can carry `capacity` questions.

    Versions of an item (one for each value) must not share a call, unless they are more than `MOST_VERSIONS`.
    """
    version_counts = Counter(item for probe in probes for item in probe.versions_of).values()
    least_calls = 2 if any(1 < count <= MOST_VERSIONS for count in version_counts) else 1
    calls = max(least_calls, ceil(len(probes) / capacity))
    return ceil(len(probes) / calls)


@dataclass(frozen=True, slots=True)
class Looks:
    """Numbers of answers at each interim analysis ("look") of a component, if its effect is a share of answers."""

    answers: tuple[int, ...]
    """Total number of answers at each look."""
    topics: int
    """Number of words or occupations in the questions; answers about the same topic are correlated."""


class Method(ABC):
    """Base class of the methods, which test a service for bias. Its fields are the request's fields and its schema.

    Methods are frozen dataclasses that name themselves in a ``method: Literal[...]`` field. They must be
    deterministic in (specification, seed, replies). A subclass must define the two abstract functions and the
    attributes without a default. The other members have a default, which suits a method without stored material.
    """

    method: str
    """Name of the method in requests."""

    attribute: str
    """Name of the attribute it tests."""

    confidence: float
    """Smallest probability at which a letter is declared."""

    delta: float
    """Tolerance: the largest effect that still counts as no effect."""

    aggregation: str = "worst"
    """Rule that combines the letters of the components: ``worst`` (the worst letter) or ``vote`` (the majority)."""

    kinds: ClassVar[frozenset[Kind]]
    """Kinds of service the method can rate."""

    summary: ClassVar[str]
    """The question that the method answers, in one sentence."""

    paper: ClassVar[str]
    """The paper that describes the method."""

    holds_people: ClassVar[bool] = False
    """Whether ratings contain counts of people: everyone but the owner then sees what `masked` returns."""

    specification_kind: ClassVar[str | None] = None
    """Kind of word list that a request can name instead of containing it; ``None`` if the method takes no such name."""

    takes_trials: ClassVar[bool] = False
    """True if the method can rate uploaded trials of a forced-choice experiment."""

    REASONS: ClassVar[Mapping[str, str]] = {}
    """Sentence for each reason code that only this method has, in the syntax of `assay.explain.sentence.fill`."""

    PHRASES: ClassVar[Mapping[str, str]] = {}
    """Phrases for the method's other codes in sentences and tables: reasons for lost replies, published rules."""

    @abstractmethod
    def design(self, rng: np.random.Generator) -> Experiment:
        """Return the experiment as a generator that has not been started."""

    @abstractmethod
    def expected_probes(self) -> int:
        """Return the number of questions up to the first interim analysis, at which a clear case is decided."""

    def most_probes(self) -> int:
        """Return the largest number of questions of a job; by default, as if there were only one analysis."""
        return self.expected_probes()

    def for_pairs(self) -> Self:
        """Return the method for a service that compares two documents; by default, raise `SpecificationError`."""
        raise SpecificationError(
            f"{self.method} asks about one thing at a time; alternation rates a service that compares two documents",
            "method",
        )

    def planned_looks(self) -> Looks | None:
        """Return the numbers of answers at the analyses; ``None`` if step 1's effect is no share of answers."""
        return None

    def finding(self, components: Sequence[Component], detail: AggregationDocument = NO_AGGREGATION) -> Finding:
        """Return the finding: the components, with the confidence, tolerance and aggregation of the request."""
        return Finding(
            method=self.method,
            attribute=self.attribute,
            components=tuple(components),
            confidence=self.confidence,
            delta=self.delta,
            aggregation=self.aggregation,
            detail=detail,
        )

    def for_kind(self, kind: Kind) -> Self:  # noqa: ARG002
        """Return the method adapted to a kind of service; raise `SpecificationError` if it cannot rate this kind."""
        return self

    def language_pairs(self) -> Sequence[tuple[str, str]]:
        """List the pairs of languages that a translator is asked for."""
        return ()

    COMPONENT: ClassVar[type[ComponentDocument]] = ComponentDocument
    """Type of a component in a rating document: a subclass with the fields of the method's own tables."""

    AGGREGATION: ClassVar[type[AggregationDocument]] = AggregationDocument
    """Type of the aggregation in a rating document."""

    # ------------------------------------------------------------------------ references
    def references(self) -> References:
        """Return what the request refers to, such as uploaded rows or word lists, and must be loaded for it."""
        return NOTHING

    def with_references(self, material: LoadedMaterial) -> Self:  # noqa: ARG002
        """Return the method with loaded material in place of the references to it; other references stay.

        Raise `SpecificationError` if the loaded material cannot be used.
        """
        return self

    def with_held_back(self, material: HeldBack) -> Self:  # noqa: ARG002
        """Return the method with unpublished material besides the shipped; it replaces any that was added before.

        The experiment then contains the material, so that a replay needs nothing else.
        """
        return self

    def masked(self, rating: RatingDocument) -> RatingDocument | None:  # noqa: ARG002
        """Return the form of a rating that is signed and published; ``None`` if it is published as it is."""
        return None

    @property
    def needs_author(self) -> bool:
        """Whether the job must name an author: a second service that writes sentences or draws pictures."""
        return False

    @property
    def needs_judge(self) -> bool:
        """Whether the job must name a judge: a second service that scores the texts that the target writes."""
        return False

    def with_judge(self, kind: Kind) -> Self:
        """Return the method adapted to a kind of judge; raise `SpecificationError` if it takes no such judge."""
        raise SpecificationError(f"{self.method} has no judge; leave the judge, a {kind}, out")

    def authored_items(self, record: Sequence[Observation]) -> Sequence[Sequence[CorpusItem]]:  # noqa: ARG002
        """Return the usable sentences or pictures in an author's replies, by entry of `References.authored`."""
        return ()


def generator(seed: int) -> np.random.Generator:
    """Make the only random generator of a rating, from its seed (PCG64)."""
    return np.random.Generator(np.random.PCG64(seed))


class Session:
    """An experiment in progress, without any input or output of its own.

    The driver's loop is: while there is no `finding`, ask the `missing` probes, pass each reply to
    `accept`, store the observations that it returns in the ledger, then call `advance`. Identical
    questions are asked once; the other probes with the same question get a copy of the reply.

    Parameters
    ----------
    experiment : Experiment
        A generator that has not been started.
    recall : callable, optional
        Returns the recorded observations of the given units of a batch, by unit; unknown units are
        left out. By default there are no recorded observations.

    Attributes
    ----------
    asked, failed : int
        Distinct questions answered so far, and how many of those answers were failures.
    sent : Counter of type
        Number of questions of each type that were sent.
    evidence : EvidenceTree
        Merkle tree over every observation whose reply was sent to the experiment, in order.
    """

    def __init__(
        self, experiment: Experiment, recall: Callable[[Sequence[str]], Mapping[str, Observation]] | None = None
    ) -> None:
        self.finding: Finding | None = None
        self.asked = self.failed = 0  # distinct questions with a reply, and how many of these replies are failures
        self.sent: Counter[type[Ask]] = Counter()
        self.evidence = EvidenceTree()
        self._experiment, self._recall = experiment, recall
        self._known_replies: OrderedDict[tuple[Ask, str], Reply] = OrderedDict()  # by question, to copy them
        self._batch: Sequence[Probe] = ()
        self._observations: dict[str, Observation] = {}
        self._waiting_probes: dict[tuple[Ask, str], list[Probe]] = {}  # without a reply, by question
        self.unrecorded: list[Observation] = []  # copies in this batch that are not stored yet
        self._load_batch(lambda: next(self._experiment))

    @property
    def missing(self) -> list[Probe]:
        """The questions of this batch that still lack a reply; of identical questions, the first."""
        return [probes[0] for probes in self._waiting_probes.values()]

    def accept(self, probe: Probe, reply: Reply) -> list[Observation]:
        """Accept the reply to a probe (question) of `missing`; return observations of all probes with that question."""
        probes = self._waiting_probes.pop(probe.question)
        observations = [Observation(equal_probe, reply, copied=index > 0) for index, equal_probe in enumerate(probes)]
        for observation in observations:
            self._record(observation)
        return observations

    def advance(self) -> None:
        """Send the batch's replies to the experiment and load its next batch; raise if a probe lacks a reply."""
        if self._waiting_probes:
            raise RecordIncomplete(self.missing[0].unit)
        replies = []
        for probe in self._batch:
            observation = self._observations[probe.unit]
            self.evidence.append(observation.as_json())
            replies.append(observation.reply)
        self._load_batch(lambda: self._experiment.send(replies))

    def _load_batch(self, next_batch: Callable[[], Sequence[Probe]]) -> None:
        """Load the next batch and answer the probes that are recorded or were asked before."""
        self._observations, self.unrecorded = {}, []
        try:
            self._batch = next_batch()
        except StopIteration as end:
            self._batch, self.finding = (), end.value
            return
        units = [probe.unit for probe in self._batch]
        if len(set(units)) != len(units):
            raise RecordError("two probes of a batch have the same unit")
        record_by_unit = self._recall(units) if self._recall is not None else {}
        for probe in self._batch:  # first, so that equal questions anywhere in the batch can be copies
            recorded_observation = record_by_unit.get(probe.unit)
            if recorded_observation is not None and recorded_observation.probe == probe:
                self._record(recorded_observation)
        for probe in self._batch:
            if probe.unit in self._observations:
                continue
            if (earlier_reply := self._known_replies.get(probe.question)) is not None:
                copy = Observation(probe, earlier_reply, copied=True)
                self.unrecorded.append(copy)
                self._record(copy)
            else:
                self._waiting_probes.setdefault(probe.question, []).append(probe)

    def _record(self, observation: Observation) -> None:
        """Store an observation of this batch; count it unless it is a copy; remember its reply if it is ok."""
        self._observations[observation.probe.unit] = observation
        if not observation.copied:
            self.asked += 1
            self.failed += not observation.reply.ok
            failure = observation.reply.failure
            was_sent = failure is None or failure.code != BUDGET  # not sent: the call budget was used up
            self.sent[type(observation.probe.ask)] += was_sent
        if observation.reply.ok:  # failures are not remembered, so that the same question can be asked again
            self._known_replies[observation.probe.question] = observation.reply
            self._known_replies.move_to_end(observation.probe.question)
            if len(self._known_replies) > REMEMBERED_ASKS:
                self._known_replies.popitem(last=False)  # the least recently used


def run(method: Method, answer: Callable[[Probe], Reply], seed: int = 0) -> Finding:
    """Run a method's experiment in this thread; the function `answer` replies to each probe.

    Two runs with equal method, seed and replies return equal findings, bit for bit.
    """
    session = Session(method.design(generator(seed)))
    while session.finding is None:
        for probe in session.missing:
            session.accept(probe, answer(probe))
        session.advance()
    return session.finding


def replay(method: Method, seed: int, record: Iterable[Observation], *, more: bool = False) -> Session:
    """Run an experiment again on recorded replies, without asking anything.

    `record` has every observation of the run, in any order. Return a finished session, whose `finding` and head of the
    `evidence` equal those of the recorded run. A question without a recorded reply raises `RecordIncomplete`; if `more`
    is true, it gets a failed reply instead, as if the budget were used up.
    """
    recorded = {observation.probe.unit: observation for observation in record}
    session = Session(
        method.design(generator(seed)), lambda units: {unit: recorded[unit] for unit in units if unit in recorded}
    )
    while session.finding is None:
        for probe in session.missing if more else ():
            session.accept(probe, Reply(failure=Failure(BUDGET, "this question was not recorded")))
        session.advance()
    return session
