"""Outcomes: a service judged by its own recorded decisions, without a call.

The file stays with the uploader. A rating holds counts of people by the named columns, and the digest of the file.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from annotated_types import Gt, Lt, MaxLen, MinLen

from assay.bounds import Bounded, refuse_repeats
from assay.document import AggregationDocument, ComponentDocument, RatingDocument
from assay.errors import SpecificationError, UnknownName
from assay.experiment import Experiment, Method
from assay.explain import Vocabulary
from assay.methods.outcomes import words as spoken
from assay.methods.outcomes.analysis import judge_outcomes
from assay.methods.outcomes.detail import DataDocument, OutcomesAggregation, OutcomesComponent
from assay.methods.outcomes.masking import masked_rating
from assay.methods.outcomes.steps import Step
from assay.methods.outcomes.task import Output, Task
from assay.methods.shared.outcome_tables.decision_table import DecisionTable, Grouping, grouping_of
from assay.methods.shared.outcome_tables.rates import quantile
from assay.model import Floats, Kind, Reason
from assay.references import NOTHING, LoadedMaterial, NamedDecisions, References
from assay.statistics.hidden.scales import is_dominated_by_few

Column = Annotated[str, MaxLen(200)]
Value = Annotated[str, MinLen(1), MaxLen(200)]

SMALL_SHARE = 0.02
"""Share of the people below which a group may be excluded (6 RCNY 5-301)."""

MOST_VALUES = 200
"""Maximum number of groups of a column or an intersection."""


@dataclass(frozen=True)
class Exclusion(Bounded):
    """A small group that is left out of all comparisons, with the reason; it keeps its row in the table.

    Parameters
    ----------
    by : str
        Column of the group; of an intersection, its columns joined by `` x ``.
    group : str
        Name of the group, as the table has it.
    why : str
        The reason, which the rating states.
    """

    by: Column
    group: Annotated[str, MinLen(1), MaxLen(1000)]
    why: Annotated[str, MinLen(1), MaxLen(500)]


@dataclass(frozen=True)
class Outcomes(Bounded, Method):
    """Compare recorded decisions, or scores, between groups of people.

    Parameters
    ----------
    attribute : str
        What the rating is about, in a word. Empty: the columns of `by`.
    by : tuple of str
        Columns of the file with the groups of people. Empty: the column that is named like `attribute`.
    intersections : tuple of tuple of str
        Columns whose combinations are groups too, such as sex and race together.
    decision : str
        Column of the decision. Empty: the column ``decision``, or none if there is a score.
    favourable : str
        Value of `decision` that is favourable to the person.
    unfavourable : tuple of str
        Values that are not. Empty: the only other value. People with a further value are counted as without a decision.
    score : str
        Column of the service's score; a higher one is better for the person.
    threshold : float, optional
        Score from which the decision is favourable, if there is no column of decisions.
    steps : tuple of str
        Columns of the steps of the process, in their order, such as screened, interviewed, hired. Without `decision`
        and `score`, the last step is the decision; it is read as the steps are, unless `unfavourable` is given.
    step_favourable : tuple of str
        Values of these columns that mean "passed". Empty: the value of `favourable`.
    step_unfavourable : tuple of str
        Values that mean "not passed"; an empty text stands for empty cells. Empty: the only other value. It is not
        known whether people with a further value passed.
    truth : str
        Column of what later proved right (repaid, stayed). Empty if that is not known.
    truth_favourable : str
        Value of `truth` by which the favourable decision is right. Empty: the same as `favourable`.
    truth_unfavourable : tuple of str
        Values by which it is wrong. Empty: the only other value.
    strata : tuple of str
        Columns of what may legitimately matter, such as the job: people are compared within their combinations.
    cluster : str
        Column of people who belong together, such as the employer: only clusters are independent.
    weight : str
        Column of weights.
    unknown : tuple of str
        Values that mean "not known", in all columns of text. Empty cells always do.
    exclusions : tuple of Exclusion
        Groups of less than 2 % of the people that are left out of comparisons. They are never the reference.
    period : str
        Dates of the data, such as ``2026-01..2026-06``; the report states it.
    delta : float
        Largest difference of favourable rates that still counts as none.
    delta_score : float
        The same for mean scores, in standard deviations of the score.
    confidence : float
        Probability from which a letter is declared.
    aggregation : str
        How several components become one letter: ``worst`` or ``vote``.
    table : DecisionTable, optional
        The counted file; filled in from the upload.
    """

    attribute: Annotated[str, MaxLen(100)] = ""
    method: Literal["outcomes"] = "outcomes"
    by: Annotated[tuple[Column, ...], MaxLen(6)] = ()
    intersections: Annotated[tuple[Annotated[tuple[Column, ...], MinLen(2), MaxLen(3)], ...], MaxLen(8)] = ()
    decision: Column = ""
    favourable: Annotated[str, MaxLen(200)] = ""
    unfavourable: Annotated[tuple[Value, ...], MaxLen(20)] = ()
    score: Column = ""
    threshold: float | None = None
    steps: Annotated[tuple[Column, ...], MaxLen(8)] = ()
    step_favourable: Annotated[tuple[Value, ...], MaxLen(20)] = ()
    step_unfavourable: Annotated[tuple[Column, ...], MaxLen(20)] = ()
    truth: Column = ""
    truth_favourable: Annotated[str, MaxLen(200)] = ""
    truth_unfavourable: Annotated[tuple[Value, ...], MaxLen(20)] = ()
    strata: Annotated[tuple[Column, ...], MaxLen(4)] = ()
    cluster: Column = ""
    weight: Column = ""
    unknown: Annotated[tuple[Value, ...], MaxLen(20)] = ()
    exclusions: Annotated[tuple[Exclusion, ...], MaxLen(100)] = ()
    period: Annotated[str, MaxLen(100)] = ""
    delta: Annotated[float, Gt(0), Lt(1)] = 0.05
    delta_score: Annotated[float, Gt(0), Lt(10)] = 0.1
    confidence: Annotated[float, Gt(0.5), Lt(1)] = 0.95
    aggregation: Literal["worst", "vote"] = "worst"
    table: DecisionTable | None = None

    holds_people: ClassVar[bool] = True
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.DECISION_TOOL})
    summary: ClassVar[str] = "Who got which decision: do outcomes differ between groups, also among people alike?"
    paper: ClassVar[str] = "Srivastava & Rossi (2018); Hardt, Price & Srebro (2016)"
    REASONS: ClassVar[Mapping[str, str]] = spoken.REASONS
    COMPONENT: ClassVar[type[ComponentDocument]] = OutcomesComponent
    AGGREGATION: ClassVar[type[AggregationDocument]] = OutcomesAggregation

    def __post_init__(self) -> None:
        """Fill in default columns, and check all fields; a counted file must have the named columns and values."""
        super().__post_init__()
        if not self.by and not self.attribute:
            raise SpecificationError("name the columns with the groups of people", "by")
        if not self.by:
            object.__setattr__(self, "by", (self.attribute,))
        if not self.decision and not self.score:
            object.__setattr__(self, "decision", self.steps[-1] if self.steps else "decision")
        refuse_repeats("by", self.by)
        used_names = [*filter(None, (*self.by, self.score, self.truth, *self.strata, self.cluster, self.weight))]
        refuse_repeats("decision", [*used_names, *filter(None, (self.decision,))])
        refuse_repeats("steps", [*used_names, *self.steps])  # a step may be the decision
        for index, columns in enumerate(self.intersections):
            for name in columns:
                if name not in self.by:
                    raise UnknownName("column of by", name, self.by, f"intersections.{index}")
            refuse_repeats(f"intersections.{index}", columns)
            refuse_repeats("intersections", [" x ".join(sorted(names)) for names in self.intersections[: index + 1]])
        if self.threshold is not None and (self.decision or not self.score):
            raise SpecificationError("a threshold needs a score column; leave the decision column out", "threshold")
        if not self.attribute:
            object.__setattr__(self, "attribute", ", ".join(self.by)[:100])  # the length limit of the field
        if self.table is not None:
            self.task()  # raises an error for an unknown column or value

    # ------------------------------------------------------------------------ the file
    def references(self) -> References:
        """Return the columns by which people must be counted; nothing if the file is counted already."""
        if self.table is not None:
            return NOTHING
        cuts = () if self.threshold is None else (self.threshold,)  # people are counted on each side of it
        names = tuple(filter(None, dict.fromkeys((*self.by, self.decision, *self.steps, self.truth, *self.strata))))
        decisions = NamedDecisions(names, self.score, self.cluster, self.weight, self.unknown, cuts)
        return References(decisions=decisions)

    def with_references(self, material: LoadedMaterial) -> Self:
        """Return a copy with the counted file in `material`; unchanged if it has none."""
        return self if material.decisions is None else replace(self, table=DecisionTable.read(material.decisions))

    def expected_probes(self) -> int:
        """Return 0: nothing is asked."""
        return 0

    # ------------------------------------------------------------------------ design
    def design(self, rng: np.random.Generator) -> Experiment:
        """Judge the recorded outcomes; no question is asked."""
        if self.table is None:
            raise SpecificationError("there is no file of decisions: upload one, and name it in the target", "table")
        components = judge_outcomes(self.task(), rng)
        yield from ()  # a design is a generator, even if it asks nothing
        # rows of a cluster may repeat; by chance, all counts are multiples of `times` in one of times**cells files
        times = 1 if self.table.clusters else max(1, math.gcd(*self.table.counts))
        is_chance = len(self.table.counts) * math.log10(times) <= 9  # in one of at most a billion files
        repeated = () if is_chance else (Reason("rows-seem-repeated", {"times": times}),)
        return replace(self.finding(components, self._aggregation()), reasons=repeated)

    def masked(self, rating: RatingDocument) -> RatingDocument:
        """Return the rating without small counts of people; raise `MaskingTooCostly` if there are too many."""
        return masked_rating(rating, self.task(), Vocabulary.of(self))

    def _aggregation(self) -> OutcomesAggregation:
        """Return the facts of the file for the rating: number of people, digest, period and columns."""
        assert self.table is not None  # noqa: S101  only called with a table
        names = ("by", "decision", "steps", "score", "truth", "strata", "cluster", "weight")
        values = {name: getattr(self, name) for name in names}
        columns = {
            name: value if isinstance(value, str) else ", ".join(value) for name, value in values.items() if value
        }
        return OutcomesAggregation(data=DataDocument(self.table.rows, self.table.digest, self.period or None, columns))

    def task(self) -> Task:
        """Return the table with this request's settings: groupings, outputs, truth, scores, strata, exclusions.

        Raise `SpecificationError` if the table lacks a column or a value, or a group must not be excluded.
        """
        table = self.table
        assert table is not None  # noqa: S101  called with a table only
        column_lists = (*((name,) for name in self.by), *self.intersections)
        groupings = [grouping_of(table, names, self.unknown) for names in column_lists]
        for grouping in groupings:
            if len(grouping.labels) > MOST_VALUES:
                message = f"{grouping.name} has {len(grouping.labels):,} groups, and at most {MOST_VALUES} are compared"
                raise SpecificationError(f"{message}: name a column of groups, not of single values", "by")
        strata = grouping_of(table, self.strata, self.unknown) if self.strata else None
        return Task(
            table=table,
            groupings=groupings,
            outputs=self._read_outputs(table),
            truth=self._read_truth(table),
            scores=table.score if self.score else None,
            strata=replace(strata, name=" and ".join(self.strata)) if strata else None,
            excluded=self._read_exclusions(table, groupings),
            confidence=self.confidence,
            delta=self.delta,
            threshold=self.threshold,
            steps=[Step(name, self._read_passed(table, name)) for name in self.steps],
        )

    def _read_passed(self, table: DecisionTable, name: str) -> Floats:
        """Return whether the people of each cell (with equal data) passed the step `name`: 1, 0, or NaN if unknown."""
        values = table.column(name).values
        negative = [value for value in self.step_unfavourable if value in values]
        answers = table.answers(name, self._passing_value(table, name), negative, self.unknown, field="step_favourable")
        if "" in self.step_unfavourable:
            answers[np.array(table.column(name).codes) < 0] = 0.0  # empty cells mean "not passed"
        return answers

    def _passing_value(self, table: DecisionTable, name: str) -> str:
        """Return the one requested value for "passed" that occurs in column `name`, otherwise the first requested."""
        candidates = self.step_favourable or (self.favourable,)
        known_values = [value for value in candidates if value in table.column(name).values]
        if len(known_values) > 1:
            message = f"{name} has several values that mean “passed”: {', '.join(map(repr, known_values))}"
            raise SpecificationError(message, "step_favourable")
        return known_values[0] if known_values else candidates[0]

    def _read_truth(self, table: DecisionTable) -> Floats | None:
        """Return the true outcome of each cell (people with equal data): 1, 0 or NaN; ``None`` without a column."""
        if not self.truth:
            return None
        positive = self.truth_favourable
        if not positive and self.favourable in table.column(self.truth).values:
            positive = self.favourable
        return table.answers(self.truth, positive, self.truth_unfavourable, self.unknown, field="truth_favourable")

    def _read_outputs(self, table: DecisionTable) -> list[Output]:
        """Return the outcomes to judge: the decision, the score, or both, each with its favourable value."""
        outputs = []
        if self.decision:
            favourable, decisions = self._read_decisions(table)
            words = f"{self.decision}: {favourable}"
            output = Output(self.decision, decisions, favourable=decisions, words=words, delta=self.delta, binary=True)
            outputs.append(output)
        if not self.score:
            return outputs
        scores = table.score
        has_score = ~np.isnan(scores)
        if not has_score.any():
            raise SpecificationError(f"no row has a number in the column {self.score}", "score")
        if self.threshold is not None:
            decisions = np.where(has_score, scores >= self.threshold, np.nan)
            words = f"{self.score} of {self.threshold:g} or more"
            output = Output("decision", decisions, favourable=decisions, words=words, delta=self.delta, binary=True)
            outputs.append(output)
        known_scores, people, weights = (numbers[has_score] for numbers in (scores, table.people, table.weight_sums))
        median = quantile(known_scores, people, 0.5)
        mean = np.average(known_scores, weights=weights)
        deviation = float(np.sqrt(np.average((known_scores - mean) ** 2, weights=weights)))
        if not deviation > 0:
            raise SpecificationError(f"every score in the column {self.score} is {mean:g}", "score")
        facts = {"median": median, "at_median": int(people[known_scores == median].sum())}
        is_above = np.where(has_score, scores > median, np.nan)
        words = f"{self.score} above the median of {median:g}"
        output = Output(self.score, scores / deviation, is_above, words, self.delta_score, binary=False, facts=facts)
        quartiles = np.quantile(known_scores, (0.25, 0.75), method="inverted_cdf", weights=weights)
        return [*outputs, replace(output, by_few=is_dominated_by_few(known_scores, deviation, quartiles))]

    def _read_decisions(self, table: DecisionTable) -> tuple[str, Floats]:
        """Return the favourable value of the column of decisions, and the decisions: 1 or 0, NaN if unknown."""
        if self.decision in self.steps and not self.unfavourable:
            return self._passing_value(table, self.decision), self._read_passed(table, self.decision)
        decisions = table.answers(self.decision, self.favourable, self.unfavourable, self.unknown, field="favourable")
        return self.favourable, decisions

    def _read_exclusions(self, table: DecisionTable, groupings: list[Grouping]) -> dict[str, dict[str, str]]:
        """Return, by name of a grouping, the excluded groups with their reasons; raise an error for a large group."""
        by_name = {grouping.name: grouping for grouping in groupings}
        exclusions: dict[str, dict[str, str]] = {}
        for index, exclusion in enumerate(self.exclusions):
            field, grouping = f"exclusions.{index}", by_name.get(exclusion.by)
            if grouping is None:
                raise UnknownName("table", exclusion.by, tuple(by_name), f"{field}.by")
            if exclusion.group not in grouping.labels:
                raise UnknownName(f"group of {exclusion.by}", exclusion.group, grouping.labels, f"{field}.group")
            in_group = grouping.codes == grouping.labels.index(exclusion.group)
            share = float(table.people[in_group].sum() / table.people.sum())
            if share >= SMALL_SHARE:
                message = "of the people; only a group of less than 2 % may be excluded"
                raise SpecificationError(f"{exclusion.group} is {share:.1%} {message}", f"{field}.group")
            exclusions.setdefault(exclusion.by, {})[exclusion.group] = exclusion.why
        return exclusions
