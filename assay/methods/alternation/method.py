"""Alternation: the same profile with another value of the attribute, for classifiers and regressors (Alelyani).

The service is asked about every profile once with each value of the protected attribute; all else stays equal. Profiles
are sentences written from frames, people and contents, or the rows of a table. Step 1 is the paired difference of the
outputs; step 2 is the gap between groups whose content differs with the attribute. The service is only asked, never
retrained: Alelyani's fourth step, retraining on swapped data, makes every divergence 0 (docs/methods/alternation.md).
"""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from annotated_types import Ge, Gt, Le, Lt, MaxLen
from numpy.typing import NDArray

from assay.bounds import Bounded
from assay.document import AggregationDocument, ComponentDocument
from assay.errors import SpecificationError
from assay.experiment import Experiment, Method
from assay.methods.alternation import words as spoken
from assay.methods.alternation.analysis import judge_answers
from assay.methods.alternation.by_truth import OutcomeRule, outcome_rule_of, record_outcomes
from assay.methods.alternation.comparisons import ComparedAnswers, both_orders, with_position
from assay.methods.alternation.detail import AlternationComponent
from assay.methods.alternation.judged import TIMES, JudgingTask, Rules
from assay.methods.shared.answers.of_profiles import Answers
from assay.methods.shared.answers.tally import Asking, ask_in_batches
from assay.methods.shared.detail import ProfilesAggregation, ProfilesLook
from assay.methods.shared.profiles import (
    MOST_STRATA,
    Case,
    RecordProfiles,
    TextProfiles,
    record_cases,
    record_strata,
    text_cases,
)
from assay.model import Classify, Component, Kind, Probe, Regress
from assay.rating.component import EARLY_ERROR_FRACTION, Tolerance, is_settled, look_sizes
from assay.references import NOTHING, HeldBack, LoadedMaterial, NamedRows, References
from assay.statistics.hypothesis_tests.published import Aggregate

MOST_WEIGHTS = 250
"""Maximum number of random weights for resampling records: correlations of draws are exact to .06 (1 / sqrt(250))."""


@dataclass(frozen=True)
class Alternation(Bounded, Method):
    """Ask a classifier or a regressor about the same profile with each value of an attribute.

    Parameters
    ----------
    attribute : str
        Attribute that changes: one of the catalog, or the name of a table's column.
    texts : TextProfiles, optional
        Frames, people and contents of the sentences; parts that are left out come from the catalog.
    records : RecordProfiles, optional
        Rows to take profiles from. Without `texts` and `records` the catalog's sentences are used.
    answers : str, optional
        ``labels`` (a classifier) or ``numbers`` (a regressor); filled in from the target's kind.
    labels : tuple of str
        Labels whose scores are judged, each as a component. Empty: all labels; of two, only the last in the alphabet.
    tie : float
        Share of a list of contents that goes to a group in step 2 (a biased block); other groups get the remainder.
    delta : float
        Largest effect that still counts as none, in standard deviations of the output.
    confidence : float
        Probability from which a letter is declared.
    aggregation : str
        How several components become one letter: ``worst`` or ``vote``.
    profiles : int
        Number of profiles at the first interim analysis. Each further analysis has twice as many, until the letters
        are clear or no profiles are left.
    stop_early : bool
        Whether to compute letters before all profiles have been asked about, and to stop when they are clear.
    folds : int
        Number of folds into which profiles are split; the divergence of each is reported, as in the figures of Alelyani
        (2021).
    strata : tuple of str, optional
        Columns of records in whose strata the difference is judged too; empty: the first, up to 12 strata in all.
        The strata of sentences are the sides of their contents and their frames. ``None``: no strata.
    delta_individual : float, optional
        Largest systematic difference of a typical profile that still counts as none, in standard deviations of the
        output. If labels have no scores, the default allows a tenth of them to change. ``None``: not judged.
    delta_loss : float, optional
        Largest difference between the groups' shares of lost replies that still counts as none. ``None``: not judged.
    scale : str
        Scale of the comparison: ``linear``, ``log`` (ratios), ``logit``, ``rank`` or ``auto``.
    alpha : float, optional
        Level of the tests of a published rule, Kolmogorov-Smirnov in two steps, whose letter is shown beside the
        headline. ``None``: not computed.
    join : str
        How the published rule combines comparisons: ``worst`` (biased if any is) or ``vote`` (if at least half are).
    repeats : int
        Number of profiles that are asked about three times, to separate the service's noise from its differences.
    truth : str
        Column of records with what later proved right (repaid, stayed). It is not sent; the outcomes of the records as
        they came are shown beside the letter, with error rates by group. Empty: no such tables.
    favourable : str
        Label that is favourable to the person; needed with `truth`, unless the answers are numbers.
    threshold : float, optional
        Number, or score of the favourable label, from which an answer is favourable; needed with `truth` for numbers.
        Left out: the returned label decides, or else the likeliest.
    truth_favourable : str, number or boolean, optional
        Value of `truth` by which a favourable answer is right. Left out: the same as `favourable`.
    """

    attribute: Annotated[str, MaxLen(100)]
    method: Literal["alternation"] = "alternation"
    texts: TextProfiles | None = None
    records: RecordProfiles | None = None
    answers: Literal["labels", "numbers"] | None = None
    labels: Annotated[tuple[str, ...], MaxLen(20)] = ()
    tie: Annotated[float, Gt(0.5), Le(1)] = 0.9
    delta: Annotated[float, Gt(0), Lt(10)] = 0.1
    confidence: Annotated[float, Gt(0.5), Lt(1)] = 0.95
    profiles: Annotated[int, Ge(10), Le(20_000)] = 800
    stop_early: bool = True
    folds: Annotated[int, Ge(2), Le(50)] = 10
    aggregation: Literal["worst", "vote"] = "worst"
    strata: Annotated[tuple[str, ...], MaxLen(MOST_STRATA)] | None = ()
    delta_individual: Annotated[float, Gt(0), Lt(10)] | None = 0.25
    delta_loss: Annotated[float, Gt(0), Lt(1)] | None = 0.05
    scale: Literal["auto", "linear", "log", "logit", "rank"] = "auto"
    repeats: Annotated[int, Ge(0), Le(1000)] = 50
    alpha: Annotated[float, Gt(0), Lt(0.5)] | None = None
    join: Aggregate = "worst"
    truth: Annotated[str, MaxLen(200)] = ""
    favourable: Annotated[str, MaxLen(200)] = ""
    threshold: float | None = None
    truth_favourable: str | int | float | bool | None = None

    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.CLASSIFIER, Kind.REGRESSOR})
    summary: ClassVar[str] = "Does the answer change when nothing but the attribute changes?"
    paper: ClassVar[str] = "Alelyani (2021)"
    REASONS: ClassVar[Mapping[str, str]] = spoken.REASONS
    PHRASES: ClassVar[Mapping[str, str]] = spoken.PHRASES
    COMPONENT: ClassVar[type[ComponentDocument]] = AlternationComponent
    AGGREGATION: ClassVar[type[AggregationDocument]] = ProfilesAggregation

    def __post_init__(self) -> None:
        """Fill in the catalog's profiles and check the fields."""
        super().__post_init__()
        if self.texts is not None and self.records is not None:
            raise SpecificationError("give texts or records, not both: they are different profiles", "records")
        if self.records is None:
            object.__setattr__(self, "texts", (self.texts or TextProfiles()).filled_in(self.attribute))
        if self.answers == "numbers" and self.labels:
            raise SpecificationError("a regressor has no labels; leave them out", "labels")
        if self.compares and self.labels:
            raise SpecificationError(
                "leave labels out: a service that compares is judged by how often it prefers a value", "labels"
            )
        if self.records is None and self.strata:
            raise SpecificationError("strata can be named for records only; sentences have their own", "strata")
        if self.truth:
            self._check_truth()

    def _check_truth(self) -> None:
        """Raise `SpecificationError` if `truth` or a field for it is invalid; rows of an upload are checked later."""
        if self.records is None:
            raise SpecificationError("only records have a column with the truth", "truth")
        if self.answers == "numbers" and self.threshold is None:
            raise SpecificationError("say from which number an answer is favourable", "threshold")
        if self.answers == "numbers" and self.favourable:
            raise SpecificationError("a regressor has no labels; leave it out, and give a threshold", "favourable")
        if self.answers == "labels" and not self.favourable:
            raise SpecificationError("say which label is favourable to the person", "favourable")
        self._outcome_rule()  # raises an error if the records lack the column or its values

    def _outcome_rule(self) -> OutcomeRule | None:
        """Return the rule of favourable answers; ``None`` without `truth` or while an upload has no rows yet."""
        if self.records is None or not self.truth:
            return None
        return outcome_rule_of(self.records, self.truth, self.favourable, self.threshold, self.truth_favourable)

    @property
    def values(self) -> tuple[str, ...]:
        """Names of the attribute's values."""
        profiles = self._profiles
        return tuple(profiles.people) if isinstance(profiles, TextProfiles) else tuple(map(str, profiles.values))

    @property
    def _profiles(self) -> TextProfiles | RecordProfiles:
        profiles = self.texts if self.records is None else self.records
        assert profiles is not None  # noqa: S101  set by __post_init__
        return profiles

    def for_kind(self, kind: Kind) -> Self:
        """Return a copy that expects a regressor's numbers or a classifier's labels; raise if `answers` differs."""
        answers: Literal["labels", "numbers"] = "numbers" if kind is Kind.REGRESSOR else "labels"
        if self.answers not in {None, answers}:
            raise SpecificationError(f"a {kind} returns {answers}, not {self.answers}", "answers")
        if self.compares and answers == "numbers":
            problem = "a regressor cannot choose between two documents; name a classifier, or leave `pairs` out"
            raise SpecificationError(problem, "texts.pairs")
        return replace(self, answers=answers)

    @property
    def compares(self) -> bool:
        """Whether the service chooses between two documents, instead of labelling one."""
        return self.texts is not None and self.texts.pairs

    def for_pairs(self) -> Self:
        """Return a copy that compares sentences in pairs; `self` for records, in which a requester gives the pairs."""
        return self if self.texts is None else replace(self, texts=self.texts.for_pairs())

    def references(self) -> References:
        """Return the reference to the rows of an upload, if there is one."""
        records = self.records
        if records is None or records.upload is None:
            return NOTHING
        return References(rows=NamedRows(records.upload, records.column, records.values, records.most, field="records"))

    def with_references(self, material: LoadedMaterial) -> Self:
        """Return a copy whose records are the uploaded rows in `material`; unchanged if it has none."""
        if self.records is None or not material.rows:
            return self
        return replace(self, records=replace(self.records, rows=material.rows, upload=None))

    def with_held_back(self, material: HeldBack) -> Self:
        """Return the method with held-back frames and contents beside the catalog's."""
        return self if self.texts is None else replace(self, texts=self.texts.with_held_back(material))

    def expected_probes(self) -> int:
        """Count the questions of a job that is decided at the first interim analysis."""
        return self._count_probes(self._first_look_size(self._profiles.expected()))

    def most_probes(self) -> int:
        """Count the questions of a job that runs to the last interim analysis."""
        return self._count_probes(self._profiles.expected())

    def _count_probes(self, profiles: int) -> int:
        """Return the number of questions about `profiles` texts or records, with repeated questions about the first."""
        repeated_profiles = min(self.repeats, profiles) * (TIMES - 1)
        # under one value, half of the profiles equal their opponent: two questions fewer, so one on average
        questions = 2 * len(self.values) - 1 if self.compares else len(self.values)
        return (profiles + repeated_profiles) * questions

    def _first_look_size(self, available: int) -> int:
        return min(self.profiles, available) if self.stop_early else available

    def design(self, rng: np.random.Generator) -> Experiment:
        """Ask about every profile (text or record) with every value, until an interim analysis finds a clear letter."""
        cases_rng, analysis_rng, order_rng = rng.spawn(3)
        profiles = self._profiles
        if isinstance(profiles, TextProfiles):
            cases = text_cases(profiles, cases_rng)
        else:
            # with strata, rows that differ in the attribute only count as one cluster
            cases = record_cases(profiles, cases_rng, merge_copies=self.strata is not None, truth=self.truth)
        answers_class = ComparedAnswers if self.compares else Answers
        answers = answers_class((), self.values, numbers=self.answers == "numbers")
        repeated_answers = answers_class((), self.values, numbers=answers.numbers, spellings=answers.spellings)
        components: list[Component] = []
        looks: list[ProfilesLook] = []
        for size in look_sizes(self._first_look_size(len(cases)), len(cases), self.stop_early):
            yield from self._ask(answers, cases[:size], order_rng)
            if self.repeats and not repeated_answers.cases:
                yield from self._ask(repeated_answers, cases[: self.repeats], order_rng, times=TIMES)
            is_last = size == len(cases)
            final_rng = analysis_rng.spawn(1)[0]
            interim_rng = deepcopy(final_rng)  # draws the same numbers
            error_fraction = 1.0 if is_last else EARLY_ERROR_FRACTION
            components = self._judge(answers, repeated_answers, interim_rng, error_fraction, letter_only=not is_last)
            looks.append(ProfilesLook(size, {component.name: component.letter for component in components}))
            if answers.unasked or all(map(is_settled, components)):
                # judge again with equal draws: the letters are the same, and the details are added
                if not is_last:
                    components = self._judge(answers, repeated_answers, final_rng, error_fraction, letter_only=False)
                break
        reasons = (*answers.spellings.reasons(), *filter(None, [answers.contrary_labels()]))
        return replace(self.finding(components, ProfilesAggregation(looks=tuple(looks))), reasons=reasons)

    def _judge(
        self,
        answers: Answers,
        repeated_answers: Answers,
        rng: np.random.Generator,
        error_fraction: float,
        *,
        letter_only: bool,
    ) -> list[Component]:
        """Judge the answers so far; `error_fraction` multiplies the permitted error probability."""
        confidence = 1 - error_fraction * (1 - self.confidence)
        # ``None``, without strata: `mean_draws` draws a weight for each record
        max_draw_weights = None if self.strata is None else MOST_WEIGHTS
        # ratios of selection rates are computed for decisions; shares of won comparisons are no such rates
        impact = bool(self.texts and self.texts.decision is not None and self.answers == "labels" and not self.compares)
        limits = (self.delta_individual, self.delta_loss)
        rules = Rules(
            self.tie, self.labels, self.folds, *limits, self.scale, self.alpha, self.join, max_draw_weights, impact
        )
        families, not_within = ({}, ()) if self.strata is None else self._strata_families(answers.cases)
        task = JudgingTask(answers, repeated_answers, families, rules, letter_only, not_within)
        components = judge_answers(task, Tolerance.around(self.delta, confidence, hidden=self.confidence), rng)
        if isinstance(answers, ComparedAnswers):
            components = [with_position(component, answers) for component in components]
        rule = None if letter_only else self._outcome_rule()
        if rule is None or self.records is None or not isinstance(components[0].detail, AlternationComponent):
            return components
        outcomes = record_outcomes(answers, self.records.column, rule, rng.spawn(1)[0])  # once for all components
        return [replace(components[0], detail=replace(components[0].detail, outcomes=outcomes)), *components[1:]]

    def _strata_families(self, cases: Sequence[Case]) -> tuple[dict[str, NDArray[np.str_]], Sequence[str]]:
        """Return the stratum (part) of each profile by family (column, sentence frame …), and the columns left out."""
        if self.records is not None:
            return record_strata(self.records, cases, self.strata or ())
        families = {
            "side": np.array([str(case.side) for case in cases]),
            "frame": np.array([case.clusters["frame"] for case in cases]),
        }
        if self.compares:
            opponents = ["an equal document" if case.opponent in case.versions else "another content" for case in cases]
            families["opponent"] = np.array(opponents)
        return families, ()

    def _ask(self, answers: Answers, cases: Sequence[Case], order_rng: np.random.Generator, times: int = 1) -> Asking:
        """Ask about the `cases` that `answers` lacks; with `times` > 1, repeat each question `times` - 1 times.

        With strata, the values of each case come in a random order: in a fixed order, two replicas of a target that
        answer in turn would each see one value only.
        """
        questions: list[tuple[tuple[int, int], list[Probe]]] = []
        for turn in range(max(1, times - 1)):  # every question once in each turn
            for index in range(len(answers.cases), len(cases)):
                value_indices = np.arange(len(self.values))
                if self.strata is not None:
                    value_indices = order_rng.permutation(value_indices)
                for value in value_indices.tolist():
                    probes = self._build_probes(cases[index], value)
                    if times > 1:  # the first repetition is the second time that the question is asked
                        probes = [probe.repeated(turn + 2) for probe in probes]
                    questions.append(((index + turn * len(cases), value), probes))
        answers.cases = tuple(cases) * max(1, times - 1)  # once for each repetition, as the indices above
        yield from ask_in_batches(questions, lambda key, replies: answers.take(*key, *replies))

    def _build_probes(self, case: Case, value: int) -> list[Probe]:
        """Return the question about a case with a value (index); to compare documents, a question for each order.

        Two equal documents get no question. The questions about a case are marked as versions, to be sent far apart.
        """
        name, document, versions_of = f"{case.name}/{self.values[value]}", case.versions[value], (case.name,)
        if case.opponent is None:
            question = Regress if self.answers == "numbers" else Classify
            return [Probe(name, question(document), versions_of)]
        orders = {} if document == case.opponent else both_orders(str(document), case.opponent)
        return [Probe(f"{name}/{position}", Classify(record), versions_of) for position, record in orders.items()]
