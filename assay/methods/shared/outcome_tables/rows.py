"""Row types of a table of outcomes by group in a rating document, for writing and parsing its JSON."""

from collections.abc import Mapping
from dataclasses import dataclass

from assay.document import NO_EFFECT, NO_ENTRIES, NO_ITEMS, EffectDocument


@dataclass(frozen=True)
class DisparityDocument:
    """Difference and ratio of an error rate to that of the reference group, or `why` there are none."""

    difference: float | None = None
    ratio: float | None = None
    why: str | None = None


@dataclass(frozen=True)
class TenthDocument:
    """A tenth of the scores of all people: the group's people in it, their mean score, and the share that proves right.

    `above` is the lower end of the tenth; scores at the end belong to the tenth below.
    """

    above: float | None = None
    people: int | None = None
    mean: float | None = None
    truth: EffectDocument = NO_EFFECT


@dataclass(frozen=True)
class GroupOutcome:
    """Outcomes of one group: its row of the table."""

    group: str | None = None
    people: int | None = None
    """Number of people with a known outcome."""
    undecided: int | None = None
    """Number of people without a known outcome."""
    favourable: float | None = None
    """Number of favourable outcomes; with weights, the sum of their weights."""
    rate: EffectDocument = NO_EFFECT
    ratio: EffectDocument = NO_EFFECT
    """Impact ratio: the rate divided by that of the reference group, which has the highest rate."""
    difference: EffectDocument = NO_EFFECT
    """Rate minus that of the reference group."""
    shortfall: float | None = None
    """Number of favourable outcomes that the group lacks for the rate of the reference group."""
    z: float | None = None
    p: float | None = None
    test: str | None = None
    """``z`` or ``fisher-mid-p``: the test that gave `p`."""
    holm: float | None = None
    """`p` adjusted for all groups of the table (Holm)."""
    flagged: bool | None = None
    """Whether the impact ratio is below four fifths."""
    below_four_fifths: float | None = None
    """Probability that the rate is below four fifths of the highest rate, given the outcomes of all groups."""
    suspicious: bool | None = None
    """Whether the rate is below four fifths of the highest with at least the `confidence` that was requested."""
    excluded: str | None = None
    """Why the group was excluded from all comparisons; it is never the reference."""
    not_compared: str | None = None
    """Why the letter does not rest on the group."""
    mean_score: EffectDocument = NO_EFFECT
    matrix: Mapping[str, float] = NO_ENTRIES
    """Number of people by decision and truth: ``tp``, ``fp``, ``fn``, ``tn``."""
    error_rates: Mapping[str, EffectDocument] = NO_ENTRIES
    disparities: Mapping[str, DisparityDocument] = NO_ENTRIES
    auc: float | None = None
    tenths: tuple[TenthDocument, ...] = NO_ITEMS
    masked: tuple[str, ...] = NO_ITEMS
    """Parts of the row that a public rating does not show: ``people``, ``undecided``, ``truth``."""


@dataclass(frozen=True)
class OutcomeTable:
    """Outcomes of people by group: a row for each group, compared with the reference group."""

    groups: tuple[GroupOutcome, ...] = NO_ITEMS
    unknown: GroupOutcome = GroupOutcome()
    """People whose group is not known: they are counted, but not compared."""
    reference: str | None = None
    even_flagged: float | None = None
    """Probability that the four-fifths rule flags a service with equal rates for groups of these sizes."""
