"""Types of the tables of outcomes in a rating document, by which they are written and read."""

from collections.abc import Mapping
from dataclasses import dataclass

from assay.document import NO_EFFECT, NO_ENTRIES, NO_ITEMS, AggregationDocument, ComponentDocument, EffectDocument
from assay.methods.shared.outcome_tables.rows import OutcomeTable


@dataclass(frozen=True)
class ThresholdGroup:
    """A group of a threshold map: its people with a known score (with weights, the sums of their weights).

    For those `right` or `wrong`, the favourable decision is right or wrong by the recorded truth.
    """

    group: str | None = None
    total: float | None = None
    right: float | None = None
    wrong: float | None = None


@dataclass(frozen=True)
class ThresholdDocument:
    """Outcomes if scores from `threshold` were favourable; lists have a number for each group of the map."""

    threshold: float | None = None
    selected: tuple[float, ...] = NO_ITEMS
    """By group: number of people with a score of at least `threshold`."""
    right: tuple[float, ...] = NO_ITEMS
    """By group: number of `selected` people for whom the favourable decision is right."""
    wrong: tuple[float, ...] = NO_ITEMS
    """By group: number of `selected` people for whom the favourable decision is wrong."""
    ratio: EffectDocument = NO_EFFECT
    """Impact ratio: the lowest rate of a group divided by the highest."""
    tpr_gap: EffectDocument = NO_EFFECT
    """Largest difference of true positive rates between two groups."""
    fpr_gap: EffectDocument = NO_EFFECT
    """Largest difference of false positive rates between two groups."""


@dataclass(frozen=True)
class ThresholdMap:
    """Outcomes of the groups that are compared, at each threshold that the score could have."""

    chosen: float | None = None
    """The service's threshold, if a request names it."""
    groups: tuple[ThresholdGroup, ...] = NO_ITEMS
    thresholds: tuple[ThresholdDocument, ...] = NO_ITEMS


NO_MAP = ThresholdMap()
"""Map without thresholds: for an outcome without a score, too few groups to compare, or a map that is withheld."""


@dataclass(frozen=True)
class OutOfOrder:
    """People of a group who passed a step without having passed all steps before it."""

    group: str | None = None
    people: int | None = None


@dataclass(frozen=True)
class StepDocument(OutcomeTable):
    """The table of a step of a process: of the people who passed all steps before it, those who pass it."""

    step: str | None = None
    out_of_order: tuple[OutOfOrder, ...] = NO_ITEMS


@dataclass(frozen=True)
class GapDocument:
    """Where a group falls behind: its rate divided by that of the funnel's reference group, by step."""

    group: str | None = None
    steps: Mapping[str, EffectDocument] = NO_ENTRIES
    overall: EffectDocument = NO_EFFECT
    """Ratio for all steps together: the product of the ratios of the steps."""
    smallest: str | None = None
    """Step with the smallest ratio."""
    probability: float | None = None
    """Probability that the step `smallest` has the smallest ratio."""


@dataclass(frozen=True)
class FunnelDocument:
    """Outcomes by step of a process; `reference` is the group that passes all steps most often."""

    reference: str | None = None
    steps: tuple[StepDocument, ...] = NO_ITEMS
    gaps: tuple[GapDocument, ...] = NO_ITEMS


NO_FUNNEL = FunnelDocument()
"""The funnel of a process whose steps are not known."""


@dataclass(frozen=True)
class OutcomesComponent(OutcomeTable, ComponentDocument):
    """Outcomes by a column or an intersection of columns."""

    by: str | None = None
    outcome: str | None = None
    """What counts as the favourable outcome, in words."""
    median: float | None = None
    at_median: int | None = None
    """Number of people whose score is the median; they do not count as above it."""
    conditional: str | None = None
    """Condition under which step 1 compares people, such as the same truth or the same stratum."""
    clusters: int | None = None
    threshold_map: ThresholdMap = NO_MAP
    funnel: FunnelDocument = NO_FUNNEL


@dataclass(frozen=True)
class DataDocument:
    """The rated file, as a request named its parts."""

    rows: int | None = None
    digest: str | None = None
    period: str | None = None
    columns: Mapping[str, str] = NO_ENTRIES


NO_DATA = DataDocument()
"""A file of which nothing is known."""


@dataclass(frozen=True)
class OutcomesAggregation(AggregationDocument):
    """Part of the rating that concerns the whole file of decisions: its digest, period and columns."""

    data: DataDocument = NO_DATA
