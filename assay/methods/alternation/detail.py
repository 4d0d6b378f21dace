"""Types of alternation's own part of a rating document."""

from __future__ import annotations

from dataclasses import dataclass, field

from assay.document import NO_EFFECT, Absent, EffectDocument, Shares
from assay.methods.shared.detail import ProfilesComponent


@dataclass(frozen=True)
class PairDocument:
    """Effect of changing one value into another."""

    from_: str | None = None
    to: str | None = None
    shift: float | None = None
    effect: EffectDocument = NO_EFFECT
    d_z: float | Absent | None = None
    changed: float | None = None


@dataclass(frozen=True)
class ChangeDocument:
    """Counted changes of single answers when the value, nothing, or the person was exchanged."""

    what: str | None = None
    from_: str | None = None
    to: str | None = None
    of: int | None = None
    changed: int | None = None
    size: float | None = None


@dataclass(frozen=True)
class GroupDocument:
    """Mean output of the records of one value, as they came."""

    value: str | None = None
    records: float | None = None
    mean: float | Absent | None = None
    small: bool | None = None


@dataclass(frozen=True)
class LabelsDocument:
    """Labels under one value and under another."""

    from_: str | None = None
    to: str | None = None
    changed: int | None = None


@dataclass(frozen=True)
class FoldDocument:
    """Gaussian KL divergence of one fold of the data."""

    kl_xy: float | None = None


@dataclass(frozen=True)
class DivergenceDocument:
    """How the distributions of outputs under two values differ."""

    from_: str | None = None
    to: str | None = None
    kl_interval: EffectDocument = NO_EFFECT
    sign_flip_p: float | Absent | None = None
    kl_by_fold: tuple[FoldDocument, ...] = ()


@dataclass(frozen=True)
class RatioDocument:
    """Base rate of one group over that of another."""

    of: str | None = None
    to: str | None = None
    ratio: EffectDocument = NO_EFFECT
    why: str | None = None


@dataclass(frozen=True)
class DisparateImpact:
    """Ratios of base rates."""

    ratios: tuple[RatioDocument, ...] = ()


@dataclass(frozen=True)
class WithoutDocument:
    """The largest effect without one cluster."""

    without: str | None = None
    effect: float | None = None


@dataclass(frozen=True)
class Leverage:
    """The largest effect, computed again without each cluster."""

    pair: tuple[str, ...] = ()
    effect: float | None = None
    person: tuple[WithoutDocument, ...] = ()
    frame: tuple[WithoutDocument, ...] = ()
    content: tuple[WithoutDocument, ...] = ()
    row: tuple[WithoutDocument, ...] = ()


@dataclass(frozen=True)
class ScaleDocument:
    """Scale on which an effect was measured, the first one being the declared scale."""

    scale: str | None = None


@dataclass(frozen=True)
class AlternationComponent(ProfilesComponent):
    """A label or an output, compared between the values of the attribute."""

    means: Shares = field(default_factory=dict)
    pairs: tuple[PairDocument, ...] = ()
    changes: tuple[ChangeDocument, ...] = ()
    groups: tuple[GroupDocument, ...] = ()
    labels: tuple[LabelsDocument, ...] = ()
    divergence: tuple[DivergenceDocument, ...] = ()
    disparate_impact: DisparateImpact = DisparateImpact()
    leverage: Leverage = Leverage()
    scales: tuple[ScaleDocument, ...] = ()
    not_within: tuple[str, ...] = ()
