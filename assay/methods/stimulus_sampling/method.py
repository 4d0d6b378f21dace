"""Stimulus sampling: which inputs are put into the positive class, and which group they are about (Liang & Acuna).

``p(s | +) ~ p(s) P(+ | s)``: inputs are generated from a stated prior, and each is weighted by the service's
probability of the positive class. It is at most 1, so no Markov chain is needed. If the positive class is rare, and
for vectors of numbers, a logit that is fitted to some replies (the surrogate) chooses the inputs; the service is asked
about these, and its answers correct the errors of the logit (docs/methods/stimulus-sampling.md).
"""

import math
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from annotated_types import Ge, Gt, Le, Lt, MaxLen, MinLen

from assay.bounds import Bounded
from assay.document import AggregationDocument, ComponentDocument
from assay.errors import EvidenceError, SpecificationError
from assay.experiment import Experiment, Method
from assay.methods.shared.answers.tally import Asking, Tally, ask_in_batches
from assay.methods.shared.detail import Profiles, ProfilesAggregation, ProfilesLook
from assay.methods.shared.profiles import Case, TextProfiles, text_cases
from assay.methods.stimulus_sampling import words as spoken
from assay.methods.stimulus_sampling.analysis import Rules, judge
from assay.methods.stimulus_sampling.detail import SamplingComponent
from assay.methods.stimulus_sampling.inputs import VectorStimuli
from assay.methods.stimulus_sampling.reading import OUTPUT, ReplyLog, read_positives
from assay.methods.stimulus_sampling.texts import AnsweredTexts, ProfileSampler, answered_texts
from assay.methods.stimulus_sampling.vectors import (
    AnsweredCells,
    PriorCell,
    Supply,
    answered_cells,
    from_prior,
    from_surrogate,
    vector_answers,
    vector_cases,
)
from assay.model import Classify, Component, Kind, Letter, Probe, Reason, Reply
from assay.rating.component import EARLY_ERROR_FRACTION, Measurement, Tolerance, insufficient, look_sizes
from assay.references import HeldBack
from assay.statistics.bayes.surrogate import Surrogate, fit_surrogate

Measuring = Generator[Sequence[Probe], Sequence[Reply], Component]
TRAINING = 500
"""Number of replies about vectors that the surrogate is fitted to (docs/methods/stimulus-sampling.md)."""

MOST_VECTORS = 20_000
"""Maximum number of vectors at the last interim analysis."""


@dataclass(frozen=True)
class StimulusSampling(Bounded, Method):
    """Ask a classifier about generated inputs, and find out which groups the inputs of the positive class are about.

    Parameters
    ----------
    attribute : str
        Attribute that the inputs are about: one of the catalog, or any name if `texts` or `vectors` are given.
    texts : TextProfiles, optional
        Frames, people and contents of the sentences; parts that are left out come from the catalog.
    vectors : VectorStimuli, optional
        Vectors of numbers instead of sentences.
    label : str, optional
        Label of the positive class. If it is left out: of two labels, the one that is rarer at the first interim
        analysis; of a single label with a score, its opposite if that is rarer.
    route : str
        ``weights``: inputs from the prior are weighted by their positive probability. ``surrogate``: a logit chooses
        the inputs to ask about. ``auto``: weights for sentences, if their effective number is at least a tenth of all.
    tie : float
        Share of a value's inputs in a tied prior that are of one side of the contents; 1 - `tie` for other values.
    delta : float
        Largest distance (total variation) between the attribute's distribution in the positive class and an
        even distribution that still counts as none.
    confidence : float
        Probability from which a letter is declared.
    samples : int
        Sentences (each asked with every value), or vectors, at the first interim analysis; each further one has twice
        as many.
    looks : int
        Maximum number of looks (interim analyses); fewer if a letter is clear or no sentence is left.
    strata : bool
        Whether the inputs of each side of the contents are also judged separately.
    delta_loss : float, optional
        Largest difference between the values' shares of lost replies that still counts as none. ``None``: not judged.
    """

    attribute: Annotated[str, MinLen(1), MaxLen(100)]
    method: Literal["stimulus-sampling"] = "stimulus-sampling"
    texts: TextProfiles | None = None
    vectors: VectorStimuli | None = None
    label: Annotated[str, MinLen(1), MaxLen(200)] | None = None
    route: Literal["auto", "weights", "surrogate"] = "auto"
    tie: Annotated[float, Gt(0.5), Lt(1)] = 0.9
    delta: Annotated[float, Gt(0), Lt(1)] = 0.1
    confidence: Annotated[float, Gt(0.5), Lt(1)] = 0.95
    samples: Annotated[int, Ge(50), Le(20_000)] = 500
    looks: Annotated[int, Ge(1), Le(8)] = 4
    strata: bool = True
    delta_loss: Annotated[float, Gt(0), Lt(1)] | None = 0.05

    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.CLASSIFIER})
    summary: ClassVar[str] = "Which groups do positively classified inputs come from?"
    paper: ClassVar[str] = "Liang & Acuna (2020)"
    REASONS: ClassVar[Mapping[str, str]] = spoken.REASONS
    PHRASES: ClassVar[Mapping[str, str]] = spoken.PHRASES
    COMPONENT: ClassVar[type[ComponentDocument]] = SamplingComponent
    AGGREGATION: ClassVar[type[AggregationDocument]] = ProfilesAggregation

    def __post_init__(self) -> None:
        """Fill in the catalog's sentences and check the fields."""
        super().__post_init__()
        if self.texts is not None and self.vectors is not None:
            raise SpecificationError("give texts or vectors, not both: they are different inputs", "vectors")
        if self.vectors is None:
            object.__setattr__(self, "texts", (self.texts or TextProfiles()).filled_in(self.attribute))

    @property
    def values(self) -> tuple[str, ...]:
        """Names of the attribute's values."""
        if self.vectors is not None:
            return self.vectors.values
        assert self.texts is not None  # noqa: S101  set by __post_init__
        return tuple(self.texts.people)

    def with_held_back(self, material: HeldBack) -> Self:
        """Return the method with unpublished (held-back) frames and contents besides those of the catalog."""
        return self if self.texts is None else replace(self, texts=self.texts.with_held_back(material))

    def expected_probes(self) -> int:
        """Count the questions of a job that is decided at the first interim analysis."""
        return self._count_probes(self.samples)

    def most_probes(self) -> int:
        """Count the questions of a job that runs to the last interim analysis."""
        return self._count_probes(self.samples * 2 ** (self.looks - 1))

    def _count_probes(self, samples: int) -> int:
        """Return the number of questions about `samples` vectors, or sentences with every value."""
        if self.vectors is not None:
            cell_count = len(self.vectors.priors)  # every cell gets the same number of vectors
            # vectors at the interim analyses, and vectors to fit the surrogate
            counts = (min(samples, MOST_VECTORS), 0 if self.route == "weights" else TRAINING)
            return sum(math.ceil(count / cell_count) * cell_count for count in counts)
        assert self.texts is not None  # noqa: S101
        return min(samples, self.texts.expected()) * len(self.values)

    def design(self, rng: np.random.Generator) -> Experiment:
        """Ask about generated inputs, and judge how the attribute is distributed among those of the positive class."""
        looks: list[ProfilesLook] = []
        reply_log = ReplyLog()
        ask_and_judge = self._judge_texts if self.vectors is None else self._judge_vectors
        component = yield from ask_and_judge(reply_log, rng, looks)
        return replace(
            self.finding([component], ProfilesAggregation(looks=tuple(looks))), reasons=reply_log.spellings.reasons()
        )

    # ------------------------------------------------------------------------ texts
    def _judge_texts(self, reply_log: ReplyLog, rng: np.random.Generator, looks: list[ProfilesLook]) -> Measuring:
        """Ask about sentences, and judge the answers at each interim analysis, which is added to `looks`."""
        assert self.texts is not None  # noqa: S101
        text_rng, sampler_rng, analysis_rng = rng.spawn(3)
        cases = text_cases(self.texts, text_rng)
        sampler: ProfileSampler | None = None  # until an analysis shows that a surrogate is needed
        component = None
        label = self.label
        for size, is_last in self._look_sizes(len(cases)):
            if sampler is None:  # profiles of the prior; their answers show whether a surrogate is needed
                profiles, p_included = list(cases[:size]), np.ones(size)  # probabilities of being included
                yield from self._ask_new(reply_log, profiles)
                outcome = answered_texts(reply_log.answers(profiles, self.values), p_included, label)
                label = self._chosen_label(outcome)
                sampler = self._choose_sampler(outcome, cases, sampler_rng)
            if sampler is not None:  # in this look and in all later ones
                profiles, p_included = sampler.take(size)
                yield from self._ask_new(reply_log, profiles)
                outcome = answered_texts(reply_log.answers(profiles, self.values), p_included, label)
            look_rng = analysis_rng.spawn(1)[0]
            route = "weights" if sampler is None else "surrogate"
            complete_count = len(reply_log.answers(profiles, self.values).complete_indices)
            component = self._judge(
                reply_log, outcome, look_rng, route=route, complete_count=complete_count, is_last=is_last
            )
            looks.append(ProfilesLook(len(profiles), {component.name: component.letter}))
            if component.declared or _is_hopeless(outcome, reply_log.tally(self.values)):
                break
        assert component is not None  # noqa: S101  set, because there is at least one look
        return component

    def _choose_sampler(
        self, outcome: AnsweredTexts | Reason, cases: Sequence[Case], rng: np.random.Generator
    ) -> ProfileSampler | None:
        """Return a sampler with a surrogate (fitted model) if requested or if positives are rare; else ``None``."""
        if isinstance(outcome, Reason) or self.route == "weights":
            return None
        if self.route == "auto" and outcome.weights.enough:
            return None
        try:
            density = outcome.sampling_density(cases)
        except EvidenceError:
            return None  # without a surrogate, importance weights alone are used
        return ProfileSampler(cases, density, rng.random(len(cases)))

    # ------------------------------------------------------------------------ vectors
    def _judge_vectors(self, reply_log: ReplyLog, rng: np.random.Generator, looks: list[ProfilesLook]) -> Measuring:
        """Ask about vectors, and judge the answers at each interim analysis, which is added to `looks`."""
        assert self.vectors is not None  # noqa: S101
        draw_rng, analysis_rng = rng.spawn(2)
        cell_count = len(self.vectors.priors)
        counts_per_cell = [(math.ceil(size / cell_count), is_last) for size, is_last in self._look_sizes(MOST_VECTORS)]
        largest_count, _ = counts_per_cell[-1]
        route = "weights" if self.route == "weights" else "surrogate"
        label = self.label
        if route == "weights":
            supplies = from_prior(self.vectors, largest_count, draw_rng)  # vectors for each cell (value and side)
        else:
            fit_result = yield from self._fit_surrogate(reply_log, draw_rng)
            if isinstance(fit_result, Reason):
                return self._judge(reply_log, fit_result, analysis_rng, route=route, complete_count=0, is_last=True)
            surrogate, label = fit_result
            supplies = from_surrogate(self.vectors, surrogate, largest_count, draw_rng)
        component = None
        for count, is_last in counts_per_cell:
            look_rng = analysis_rng.spawn(1)[0]
            replies = yield from self._collect_replies(reply_log, supplies, count, kind="vector")
            outcome = answered_cells(self.vectors, supplies, replies, label, look_rng.spawn(1)[0])
            label = self._chosen_label(outcome)
            complete_count = 0 if isinstance(outcome, Reason) else len(outcome.resemblance.p_positive)
            component = self._judge(
                reply_log, outcome, look_rng, route=route, complete_count=complete_count, is_last=is_last
            )
            looks.append(ProfilesLook(sum(map(len, replies.values())), {component.name: component.letter}))
            if component.declared or _is_hopeless(outcome, reply_log.tally(self.values)):
                break
        assert component is not None  # noqa: S101  set, because there is at least one look
        return component

    def _fit_surrogate(
        self, reply_log: ReplyLog, rng: np.random.Generator
    ) -> Generator[Sequence[Probe], Sequence[Reply], tuple[Surrogate, str | None] | Reason]:
        """Ask about vectors of the prior; return a surrogate (fitted model) and the positive label, or a reason."""
        assert self.vectors is not None  # noqa: S101
        count = math.ceil(TRAINING / len(self.vectors.priors))
        supplies = from_prior(self.vectors, count, rng)
        replies = yield from self._collect_replies(reply_log, supplies, count, kind="training")
        positives = read_positives(vector_answers(replies.values()), self.label)
        if isinstance(positives, Reason):
            return positives
        label, p_positive = positives[0], positives[1][:, 0]
        vectors = np.concatenate([supply.vectors for supply in supplies.values()])  # in the order of the replies
        is_usable = np.isfinite(p_positive)
        try:
            return fit_surrogate(vectors[is_usable], p_positive[is_usable]), label
        except EvidenceError as error:
            return insufficient(error)

    def _collect_replies(
        self, reply_log: ReplyLog, supplies: Mapping[PriorCell, Supply], count: int, kind: str
    ) -> Generator[Sequence[Probe], Sequence[Reply], dict[PriorCell, list[Reply]]]:
        """Ask about `count` vectors of each cell (value and side); return replies by cell. `kind` begins case names."""
        assert self.vectors is not None  # noqa: S101
        cells_and_cases = list(vector_cases(supplies, count, self.vectors, kind))
        yield from self._ask_new(reply_log, [case for _, case in cells_and_cases])
        replies: dict[PriorCell, list[Reply]] = {}
        for cell, case in cells_and_cases:
            replies.setdefault(cell, []).extend(reply_log.replies[case.name])
        return replies

    # ------------------------------------------------------------------------ shared by texts and vectors
    def _chosen_label(self, outcome: AnsweredTexts | AnsweredCells | Reason) -> str | None:
        """Return the positive label for later analyses, which does not change even if the other label becomes rarer."""
        return self.label if isinstance(outcome, Reason) else outcome.label

    def _look_sizes(self, max_size: int) -> Iterator[tuple[int, bool]]:
        """Yield the size (of inputs) of each interim analysis, and whether it is the last analysis."""
        largest = min(max_size, self.samples * 2 ** (self.looks - 1))
        for size in look_sizes(min(self.samples, largest), largest, stop_early=True):
            yield size, size == largest

    def _ask_new(self, reply_log: ReplyLog, cases: Sequence[Case]) -> Asking:
        """Ask about those of the `cases` that have no replies in the log."""

        def probes_about(case: Case) -> list[Probe]:
            return [
                Probe(f"{case.name}/{index}", Classify(stimulus), versions_of=(case.name,))
                for index, stimulus in enumerate(case.versions)
            ]

        new_cases = [case for case in cases if case.name not in reply_log.replies]
        yield from ask_in_batches([(case, probes_about(case)) for case in new_cases], reply_log.take)

    def _judge(
        self,
        reply_log: ReplyLog,
        outcome: AnsweredTexts | AnsweredCells | Reason,
        rng: np.random.Generator,
        *,
        route: str,
        complete_count: int,
        is_last: bool,
    ) -> Component:
        """Return the component of the answers so far; without a letter if `outcome` is the reason why there is none.

        If labels contradict the scores, both are judged, and the worse component is returned: BS, otherwise one that is
        undeclared, otherwise DSBS.
        """
        if not isinstance(outcome, Reason) and outcome.by_label is not None:
            judge_one = replace(self, confidence=math.sqrt(self.confidence))._judge  # noqa: SLF001  squared for both
            judge_outcome = partial(judge_one, reply_log, route=route, complete_count=complete_count, is_last=is_last)
            by_scores = replace(outcome, by_label=None)
            components = [judge_outcome(answers, rng.spawn(1)[0]) for answers in (by_scores, outcome.by_label)]
            ranks = {(Letter.BS, True): 0, (Letter.DSBS, True): 2, (Letter.UCS, True): 3}  # 0: worst, 1: undeclared
            worse = min(components, key=lambda rated: ranks.get((rated.letter or Letter.UCS, rated.declared), 1))
            return replace(worse, reasons=(*worse.reasons, Reason("labels-contradict-scores", {}, outcome.label)))
        tally = reply_log.tally(self.values)
        detail = SamplingComponent(
            values=tuple(self.values),
            route=route,
            profiles=Profiles(len(reply_log.replies), complete_count),
            failed_why=dict(tally.failed_why),
            unusable_why=dict(tally.unusable_why),
            unasked=tally.unasked,
        )
        if isinstance(outcome, Reason):
            tolerance = Tolerance.around(self.delta, self.confidence)
            return Measurement(outcome.component or OUTPUT, tally.counts, tolerance, detail).give_up(outcome)
        error_fraction = 1.0 if is_last else EARLY_ERROR_FRACTION
        confidence = 1 - error_fraction * (1 - self.confidence)
        tolerance = Tolerance.around(self.delta, confidence, hidden=self.confidence)
        rules = Rules(self.tie, self.strata, self.delta_loss, judge_rarer=self.label is None)
        return judge(outcome, tally, tolerance, rules, replace(detail, label=outcome.label), rng)


def _is_hopeless(outcome: object, tally: Tally) -> bool:
    """Return whether to stop asking: the budget is used up, or further answers cannot remove what prevents a letter."""
    if tally.unasked:
        return True
    return isinstance(outcome, Reason) and outcome.code not in {"never-yes", "constant-answers"}  # these can change
