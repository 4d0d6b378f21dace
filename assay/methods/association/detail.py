"""Types of association's own part of a rating document."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from assay.document import NO_EFFECT, EffectDocument, Shares
from assay.methods.shared.detail import WordsComponent


@dataclass(frozen=True)
class ConnectionDocument:
    """Mean distance of a connection, with its 89 % intervals."""

    connection: str | None = None
    mean: float | None = None
    hpdi_89: EffectDocument = NO_EFFECT
    equal_tailed_89: EffectDocument = NO_EFFECT
    sigma: float | None = None

    @property
    def interval(self) -> EffectDocument:
        """The mean with its highest-density interval."""
        return EffectDocument(self.mean, self.hpdi_89.low, self.hpdi_89.high)


@dataclass(frozen=True)
class ProtectedDocument:
    """Mean distances of a protected word by connection."""

    word: str | None = None
    group: str | None = None
    connections: Mapping[str, ConnectionDocument] = field(default_factory=dict)


@dataclass(frozen=True)
class DensityDocument:
    """Observed and predicted density of a connection's distances."""

    connection: str | None = None
    observed: tuple[float, ...] = ()
    predicted: tuple[float, ...] = ()


@dataclass(frozen=True)
class Predictive:
    """Posterior predictive check of the distances."""

    share_50: float | None = None
    share_89: float | None = None
    grid: tuple[float, ...] = ()
    connections: tuple[DensityDocument, ...] = ()


@dataclass(frozen=True)
class MeasureDocument:
    """A measure of one number, or the reason why there is none."""

    value: float | None = None
    why: str | None = None


@dataclass(frozen=True)
class WeatDocument:
    """WEAT of two groups, and the measures beside it."""

    targets: tuple[str, ...] = ()
    effect_size_ddof1: float | None = None
    p_one_sided: float | None = None
    beside: Mapping[str, MeasureDocument] = field(default_factory=dict)
    why: str | None = None


@dataclass(frozen=True)
class Classical:
    """Measures that are older than the method."""

    mac: MeasureDocument = MeasureDocument()
    weat: tuple[WeatDocument, ...] = ()


@dataclass(frozen=True)
class AssociationComponent(WordsComponent):
    """Distances between words for groups and words for stereotypes."""

    connections: tuple[ConnectionDocument, ...] = ()
    protected: tuple[ProtectedDocument, ...] = ()
    predictive: Predictive = Predictive()
    raw: Mapping[str, Mapping[str, Shares]] = field(default_factory=dict)
    classical: Classical = Classical()
