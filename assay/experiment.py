"""Experiments as generators: they yield probes and never call a service. Read after `workers/run_job.py`.

A method's `design` is a generator: it yields a batch of probes, is sent the replies in the same
order, and returns a finding. The driver decides how the probes are answered: the worker calls a
target, a test calls a function, a replay reads the record. A crashed job is resumed by a replay: the
recorded replies are sent first, and only the missing questions are asked.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from assay.canonical import EvidenceTree
from assay.errors import RecordError, RecordIncomplete
from assay.model import AUTHORED, Ask, Component, Failure, Finding, Kind, Observation, Probe, Reply
from assay.references import NOTHING, CorpusItem, Found, References

Experiment = Generator[Sequence[Probe], Sequence[Reply], Finding]
"""Yields batches of probes, is sent their replies in order, returns a finding."""

BUDGET = "budget-exhausted"
"""Failure code of a probe that `max_calls` or the deadline did not allow."""

REMEMBERED_ASKS = 20_000
"""Questions whose answers a session keeps to recognise a repetition (bounds its memory)."""


@dataclass(frozen=True, slots=True)
class Room:
    """Questions about a component that its material still allows: how many, by which field, and what makes more.

    Attributes
    ----------
    left : int or None
        Questions; ``None``: without a limit but that of the field.
    field : str
        Field of the experiment whose larger value asks them; empty where none is left.
    material : str
        What must be added for more.
    """

    left: int | None
    field: str
    material: str


@dataclass(frozen=True, slots=True)
class Looks:
    """Answers of one component whose share is the effect of step 1, at each look.

    Attributes
    ----------
    answers : tuple of int
        Answers so far at each look.
    topics : int
        Words or occupations that the answers are about; answers about the same one are alike.
    """

    answers: tuple[int, ...]
    topics: int


class Method(ABC):
    """A way to look for bias. Its fields are the request's fields and the OpenAPI schema.

    Methods are frozen dataclasses that name themselves in a ``method: Literal[...]`` field. They must be
    deterministic in (specification, seed, replies). Two functions and five facts are needed; the rest has a default,
    which is right for a method that holds everything it asks about.
    """

    method: str
    """Name of the method, as requests have it."""

    attribute: str
    """Name of the attribute it tests."""

    confidence: float
    """Probability from which a letter is declared."""

    delta: float
    """Largest effect that still counts as none."""

    aggregation: str = "worst"
    """Rule that makes one letter of several components: ``worst`` (the worst letter) or ``vote`` (the majority)."""

    kinds: ClassVar[frozenset[Kind]]
    """Kinds of service the method can rate."""

    summary: ClassVar[str]
    """The question it answers, in a sentence."""

    paper: ClassVar[str]
    """The paper that describes the method."""

    specification_kind: ClassVar[str | None] = None
    """Kind of words it takes by the name of a specification."""

    takes_trials: ClassVar[bool] = False
    """True if the method can rate uploaded trials of a forced-choice experiment."""

    SINCE: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    """Fields that each version of the methodology added, with the values that switch them off."""

    ASKED_SINCE: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    """Likewise, fields that change what is asked: recorded evidence keeps the values it was recorded with."""

    STEPS: ClassVar[tuple[str, str]] = ("balanced input", "one-sided input")
    """Names of the input in step 1 and in step 2."""

    REASONS: ClassVar[Mapping[str, str]] = {}
    """Sentence of each reason code that is the method's own, in the syntax of `assay.explain.sentence.fill`."""

    PHRASES: ClassVar[Mapping[str, str]] = {}
    """Words for its other codes, which stand in sentences and tables: why a reply was lost, a published rule."""

    LETTERS: ClassVar[Mapping[str, str]] = {}
    """One sentence for each of ``UCS``, ``DSBS``, ``BS`` and ``inconclusive``: what it says about a rated service."""

    @abstractmethod
    def design(self, rng: np.random.Generator) -> Experiment:
        """Begin the experiment."""

    @abstractmethod
    def expected_probes(self) -> int:
        """Count the probes of a clear case; the driver shows progress against it."""

    def most_probes(self) -> int:
        """Count the probes of a case that is never clear; without further looks those of a clear one."""
        return self.expected_probes()

    def planned_looks(self) -> Looks | None:
        """Return the answers behind the effect of step 1; ``None`` where it is not a share of answers."""
        return None

    def finding(self, components: Sequence[Component], detail: Mapping[str, Any] | None = None) -> Finding:
        """Return the finding of its components, under the limits that the request declared."""
        return Finding(
            method=self.method,
            attribute=self.attribute,
            components=tuple(components),
            confidence=self.confidence,
            delta=self.delta,
            aggregation=self.aggregation,
            detail=detail or {},
        )

    def for_kind(self, kind: Kind) -> Self:  # noqa: ARG002
        """Return the method as it rates a kind of service; raise `SpecificationError` if it cannot."""
        return self

    def language_pairs(self) -> Sequence[tuple[str, str]]:
        """List the pairs of languages that a translator is asked for."""
        return ()

    # ------------------------------------------------------------------------ report
    @staticmethod
    def in_words(document: Mapping[str, Any], part: Mapping[str, Any], /) -> Iterable[str | None]:  # noqa: ARG004
        """Write sentences for readers who know no statistics: effects in the service's own unit, and what was tested.

        They are about the component `part` of the stored `document`. ``None`` among them is left out; without any the
        report has common sentences (`assay.reports.in_words`).
        """
        return ()

    @classmethod
    def room(cls, document: Mapping[str, Any], part: Mapping[str, Any], /) -> Room | None:  # noqa: ARG003
        """Return how many more questions about a component can be asked; ``None`` where that is not known."""
        return None

    @staticmethod
    def tables(part: Mapping[str, Any], /) -> Iterable[object]:  # noqa: ARG004
        """Make tables (`assay.reports.view.Table`) of a component as stored, or of the aggregation.

        ``None`` among them is left out. The document may be old: what is not there makes no table.
        """
        return ()

    @staticmethod
    def figures(part: Mapping[str, Any], /) -> Iterable[object]:  # noqa: ARG004
        """Make figures (`assay.reports.view.Picture`) of a component as stored; else as for `tables`."""
        return ()

    @staticmethod
    def title_of(name: str, /) -> str:
        """Return the title of a component for people, such as that of the words it is named after."""
        return name

    @staticmethod
    def counted(part: Mapping[str, Any], /) -> str:  # noqa: ARG004
        """Return the plural of what a component counts as usable, unusable or failed."""
        return "Answers"

    # ------------------------------------------------------------------------ references
    def references(self) -> References:
        """List the references of the experiment to stored material."""
        return NOTHING

    def with_references(self, found: Found) -> Self:  # noqa: ARG002
        """Return the method with its references replaced by the found material; other references stay.

        Raise `SpecificationError` if what was found is of no use.
        """
        return self

    @property
    def needs_author(self) -> bool:
        """Whether the job must name a second service, which writes or draws."""
        return False

    def authored_items(self, record: Sequence[Observation]) -> Sequence[Sequence[CorpusItem]]:  # noqa: ARG002
        """Return the usable items of an author's recorded replies, for each entry of `References.authored`."""
        return ()


def generator(seed: int) -> np.random.Generator:
    """Make the one random generator of a rating from its seed (PCG64)."""
    return np.random.Generator(np.random.PCG64(seed))


class Session:
    """An experiment in progress, without any input or output of its own.

    The driver's loop is: while there is no `finding`, ask what is `missing`, hand every reply to
    `accept`, keep what that returns in the ledger, then `advance`. Identical questions are asked
    once; their other units are answered with a copy.

    Parameters
    ----------
    experiment : Experiment
        A generator that has not been started.
    recall : callable, optional
        Gives the recorded observations for the named units of a batch, by unit; units it does not
        know are left out. The default remembers nothing.

    Attributes
    ----------
    asked, failed : int
        Distinct questions answered so far, and how many of those answers were failures.
    evidence : EvidenceTree
        Seal over every observation the experiment was sent, in its order.
    """

    def __init__(
        self,
        experiment: Experiment,
        recall: Callable[[Sequence[str]], Mapping[str, Observation]] | None = None,
    ) -> None:
        self.finding: Finding | None = None
        self.asked = self.failed = self.authored = 0
        self.evidence = EvidenceTree()
        self._experiment, self._recall = experiment, recall
        self._known: OrderedDict[tuple[Ask, str], Reply] = OrderedDict()
        self._batch: Sequence[Probe] = ()
        self._answers: dict[str, Observation] = {}
        self._waiting: dict[tuple[Ask, str], list[Probe]] = {}
        self.unrecorded: list[Observation] = []
        self._load(lambda: next(self._experiment))

    @property
    def missing(self) -> list[Probe]:
        """The first probe of every distinct question of this batch that still lacks a reply."""
        return [probes[0] for probes in self._waiting.values()]

    def accept(self, probe: Probe, reply: Reply) -> list[Observation]:
        """Accept one reply; return its observations (the probe's and its copies')."""
        probes = self._waiting.pop(probe.question)
        made = [Observation(each, reply, copied=place > 0) for place, each in enumerate(probes)]
        for observation in made:
            self._keep(observation)
        return made

    def advance(self) -> None:
        """Send the finished batch's replies to the experiment and load its next batch."""
        if self._waiting:
            raise RecordIncomplete(self.missing[0].unit)
        replies = []
        for probe in self._batch:
            observation = self._answers[probe.unit]
            self.evidence.append(observation.as_json())
            replies.append(observation.reply)
        self._load(lambda: self._experiment.send(replies))

    def _load(self, step: Callable[[], Sequence[Probe]]) -> None:
        """Load the next batch and answer the probes that are recorded or were asked before."""
        self._answers, self.unrecorded = {}, []
        try:
            self._batch = step()
        except StopIteration as end:
            self._batch, self.finding = (), end.value
            return
        units = [probe.unit for probe in self._batch]
        if len(set(units)) != len(units):
            raise RecordError("an experiment gave one unit to two probes of a batch")
        recorded = self._recall(units) if self._recall is not None else {}
        for probe in self._batch:
            before = recorded.get(probe.unit)
            if before is not None and before.probe == probe:
                self._keep(before)
        for probe in self._batch:
            if probe.unit in self._answers:
                continue
            if (known := self._known.get(probe.question)) is not None:
                copy = Observation(probe, known, copied=True)
                self.unrecorded.append(copy)
                self._keep(copy)
            else:
                self._waiting.setdefault(probe.question, []).append(probe)

    def _keep(self, observation: Observation) -> None:
        self._answers[observation.probe.unit] = observation
        if not observation.copied:
            self.asked += 1
            self.failed += not observation.reply.ok
            failure = observation.reply.failure
            sent = failure is None or failure.code != BUDGET
            self.authored += sent and isinstance(observation.probe.ask, AUTHORED)
        if observation.reply.ok:  # failures are not remembered, so that the same question can be asked again
            self._known[observation.probe.question] = observation.reply
            self._known.move_to_end(observation.probe.question)
            if len(self._known) > REMEMBERED_ASKS:
                self._known.popitem(last=False)


def run(method: Method, answer: Callable[[Probe], Reply], seed: int = 0) -> Finding:
    """Run an experiment against a plain function, in this thread.

    Returns
    -------
    Finding
        The same, bit for bit, for the same method, seed and replies.
    """
    session = Session(method.design(generator(seed)))
    while session.finding is None:
        for probe in session.missing:
            session.accept(probe, answer(probe))
        session.advance()
    return session.finding


def replay(method: Method, seed: int, record: Iterable[Observation], *, more: bool = False) -> Session:
    """Run an experiment again on recorded replies, without asking anything.

    Parameters
    ----------
    record : iterable of Observation
        Every observation of the run, in any order.
    more : bool
        Whether the experiment may ask more than the recorded one. It is then judged as if the budget had ended there.

    Returns
    -------
    Session
        Finished: its `finding` and the head of its `evidence` equal the original's.

    Raises
    ------
    RecordIncomplete
        If the experiment asks something that was not recorded, and may not ask more.
    """
    ledger = {observation.probe.unit: observation for observation in record}
    session = Session(
        method.design(generator(seed)),
        lambda units: {unit: ledger[unit] for unit in units if unit in ledger},
    )
    while session.finding is None:
        for probe in session.missing if more else ():
            session.accept(probe, Reply(failure=Failure(BUDGET, "the recorded experiment did not ask this")))
        session.advance()
    return session
