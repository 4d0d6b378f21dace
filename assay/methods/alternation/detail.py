"""Types of alternation's own part of a rating document."""

from collections.abc import Mapping
from dataclasses import dataclass

from assay.document import (
    NO_EFFECT,
    NO_ENTRIES,
    NO_ITEMS,
    Absent,
    EffectDocument,
    ExampleDocument,
    Json,
    Shares,
    always,
)
from assay.methods.alternation.gaussian_divergence import Fold
from assay.methods.shared.detail import ProfilesComponent
from assay.methods.shared.outcome_tables.rows import OutcomeTable
from assay.model import Letter


@dataclass(frozen=True)
class PairDocument:
    """Effect of changing one value into another.

    `shift` is the mean difference of the outputs; `effect` is the shift in standard deviations of the output, `d_z` in
    those of the differences. `changed` is the number of profiles whose output changes.
    """

    from_: str | None = None
    to: str | None = None
    shift: float | None = None
    effect: EffectDocument = NO_EFFECT
    d_z: float | Absent | None = None
    changed: float | None = None


@dataclass(frozen=True)
class ChangeDocument:
    """Two answers to a sentence compared: with another value, asked again, or about another person of the group.

    `what` names the comparison. `changed` of the `of` pairs of answers differ; `size` is the root mean square of
    numbers' differences. `from_` and `to` are the compared values. `error` (of repeated questions) is the standard
    error, between questions, of the share of changed labels or of numbers' mean square.
    """

    what: str | None = None
    changed: int | None = None
    of: int | None = None
    size: float | None = None
    from_: str | None = None
    to: str | None = None
    error: float | None = None


@dataclass(frozen=True)
class GroupDocument:
    """Mean output of the records whose original value is `value`, with that value; `small`: whether they are few."""

    value: str | None = None
    records: float | None = None
    mean: float | Absent | None = always(None)
    small: bool | None = None


@dataclass(frozen=True)
class LabelsDocument:
    """Number of profiles whose label differs (`changed`) between two values."""

    from_: str | None = None
    to: str | None = None
    changed: int | None = None


@dataclass(frozen=True)
class DivergenceDocument:
    """Kullback-Leibler divergence (`kl`, in nats) of the outputs under two values, and p-value of a sign-flip test."""

    from_: str | None = None
    to: str | None = None
    kl: float | Absent | None = None
    kl_interval: EffectDocument = NO_EFFECT
    kl_by_fold: tuple[Fold, ...] = NO_ITEMS
    sign_flip_p: float | Absent | None = None


@dataclass(frozen=True)
class RatioDocument:
    """Base rate of one group (`of`) divided by that of another (`to`), or the reason why there is none (`why`)."""

    of: str | None = None
    to: str | None = None
    ratio: EffectDocument = always(NO_EFFECT)
    why: str | None = always(None)


@dataclass(frozen=True)
class RateDocument:
    """Numbers of a group's records and positive outputs; `rate`, of a model's decisions, is the label's mean score."""

    value: str | None = None
    records: int | None = None
    positives: int | None = None
    rate: float | None = None


@dataclass(frozen=True)
class DisparateImpact:
    """Rates of the positive output by group and ratios of two rates, or the reason why there are none (`why`)."""

    rates: tuple[RateDocument, ...] = NO_ITEMS
    ratios: tuple[RatioDocument, ...] = NO_ITEMS
    why: str | None = None


@dataclass(frozen=True)
class WithoutDocument:
    """The effect without the cluster (such as a person) named `without`, in standard deviations of the output."""

    without: str | None = None
    effect: float | None = None


@dataclass(frozen=True)
class Carrier:
    """The single cluster (a person, a frame, a content) to which most of an effect is attributed."""

    kind: str
    name: str
    member: str | None
    """Of a pair of names (``Terrence / Tanisha``), the name whose outputs deviate more; ``None`` if there is none."""
    share: float
    """Share of the cluster in the sum of the absolute contributions of all clusters of its kind; in (.5, 1]."""
    effect: float
    """The mean difference with the cluster, in standard deviations of the output."""
    without: float
    """The mean difference without the cluster, in standard deviations of the output."""

    @property
    def facts(self) -> Json:
        """Facts that the text of a reason states about the cluster."""
        return {
            "carrier": self.member or self.name,  # of a pair of names, the one that deviates more
            "kind": self.kind,
            "share": self.share,  # of this cluster in the effect
            "effect": self.effect,
            "without": self.without,  # the effect without this cluster
        }


@dataclass(frozen=True)
class Leverage:
    """The largest effect, in standard deviations of the output, computed again without each cluster of a kind."""

    pair: tuple[str, ...] = NO_ITEMS
    effect: float | None = None
    person: tuple[WithoutDocument, ...] = NO_ITEMS
    frame: tuple[WithoutDocument, ...] = NO_ITEMS
    content: tuple[WithoutDocument, ...] = NO_ITEMS
    row: tuple[WithoutDocument, ...] = NO_ITEMS
    others: Mapping[str, tuple[WithoutDocument, ...]] = NO_ENTRIES
    """By column that a request names as the cluster of its records: the effects without each such cluster."""
    carrier: Carrier | None = None


@dataclass(frozen=True)
class ScaleDocument:
    """Letter on a scale on which the effect was measured; the first scale of a component gives its letter."""

    scale: str | None = None
    letter: Letter | None = always(None)
    declared: bool = always(False)


@dataclass(frozen=True)
class PositionDocument:
    """Answers of a service that compares two documents, by the position of the document that it chose.

    Of all `questions`, `first` chose the first document, `second` the second, and `ties` neither. Each comparison is
    asked in both orders; in `unchanged` comparisons, the same document was chosen in both. `share` is the share of
    `first` in the sum of `first` and `second`.
    """

    questions: int | None = None
    first: int | None = None
    second: int | None = None
    ties: int | None = None
    unchanged: int | None = None
    share: EffectDocument = NO_EFFECT


NOT_COMPARED = PositionDocument()
"""Document of a service that is asked about one document at a time."""


@dataclass(frozen=True)
class AnsweredExample(ExampleDocument):
    """A profile, and the answer to it."""

    middle: str | None = None
    returned: str | None = None
    read: tuple[str, ...] = NO_ITEMS
    why: str | None = None


@dataclass(frozen=True)
class RecordOutcomes(OutcomeTable):
    """Outcomes of the records with their original values, by group, and error rates; they do not affect the letter."""

    by: str | None = None
    """Column of the groups."""
    truth: str | None = None
    """Column with the true outcomes."""
    outcome: str | None = None
    """What counts as the favourable outcome, in words."""
    gaps: Mapping[str, EffectDocument] = NO_ENTRIES
    """Largest difference between two groups: of the selection rate, TPR, FPR and PPV."""
    tolerance: float | None = None
    """Largest difference of TPR and FPR that counts as none."""
    unequal: bool | None = None
    """Whether TPR or FPR differ by more than the tolerance; ``None`` if that is not settled."""
    why: str | None = None
    """Why there is no table."""


@dataclass(frozen=True)
class AlternationComponent(ProfilesComponent):
    """A label's score or a number, compared between the values; `not_within`: columns whose strata are not judged."""

    means: Shares = NO_ENTRIES
    examples: tuple[AnsweredExample, ...] = NO_ITEMS
    pairs: tuple[PairDocument, ...] = NO_ITEMS
    changes: tuple[ChangeDocument, ...] = NO_ITEMS
    groups: tuple[GroupDocument, ...] = NO_ITEMS
    labels: tuple[LabelsDocument, ...] = NO_ITEMS
    divergence: tuple[DivergenceDocument, ...] = NO_ITEMS
    disparate_impact: DisparateImpact = DisparateImpact()
    leverage: Leverage = Leverage()
    scales: tuple[ScaleDocument, ...] = NO_ITEMS
    not_within: tuple[str, ...] = NO_ITEMS
    position: PositionDocument = NOT_COMPARED
    outcomes: RecordOutcomes = RecordOutcomes()
