"""Types of association's own part of a rating document."""

from collections.abc import Mapping
from dataclasses import dataclass

from assay.document import NO_EFFECT, NO_ENTRIES, NO_ITEMS, EffectDocument, Shares, always
from assay.methods.shared.detail import WordsComponent


@dataclass(frozen=True)
class ConnectionDocument:
    """Mean distance to a kind of attribute word, with 89 % intervals; `sigma` is the spread around each word's mean."""

    connection: str | None = None
    mean: float | None = None
    sd: float | None = None
    hpdi_89: EffectDocument = NO_EFFECT
    equal_tailed_89: EffectDocument = NO_EFFECT
    sigma: float | None = None

    @property
    def interval(self) -> EffectDocument:
        """The mean distance with its 89 % highest-density interval."""
        return EffectDocument(self.mean, self.hpdi_89.low, self.hpdi_89.high)


@dataclass(frozen=True)
class ProtectedDocument:
    """Mean distances of a protected word (of the group `group`) by connection, which is a kind of attribute word."""

    word: str | None = None
    group: str | None = None
    connections: Mapping[str, ConnectionDocument] = NO_ENTRIES


@dataclass(frozen=True)
class DensityDocument:
    """Observed and predicted density of a connection's distances, on one grid and with the same smoothing.

    `share_50` and `share_89` are the shares of the distances in the 50 % and 89 % highest-density intervals of their
    own word's prediction. Far below .5 and .89, predictions are too narrow; far above, too wide.
    """

    connection: str | None = None
    rows: int | None = None
    share_50: float | None = None
    share_89: float | None = None
    observed: tuple[float, ...] = NO_ITEMS
    predicted: tuple[float, ...] = NO_ITEMS


@dataclass(frozen=True)
class Predictive:
    """Posterior predictive check with shares of all distances (see `DensityDocument`), or `why` there is no check."""

    share_50: float | None = None
    share_89: float | None = None
    grid: tuple[float, ...] = NO_ITEMS
    connections: tuple[DensityDocument, ...] = NO_ITEMS
    why: str | None = None
    error: str | None = None


@dataclass(frozen=True)
class MeasureDocument:
    """A measure of one number (fields as in `EmbeddingMeasure`), or the reason why there is none."""

    value: float | None = None
    words: int | None = None
    sets: int | None = None
    by_word: Mapping[str, float] | tuple[float, ...] | None = None
    probabilities: tuple[float, ...] = NO_ITEMS
    c: float | None = None
    explained: float | None = None
    why: str | None = None
    error: str | None = None


@dataclass(frozen=True)
class WeatDocument:
    """WEAT of two groups (fields as in `Weat` and `PartitionTest`), and the other measures of them (`beside`)."""

    targets: tuple[str, ...] = NO_ITEMS
    attributes: tuple[str, ...] = NO_ITEMS
    statistic: float | None = None
    effect_size_ddof0: float | None = None
    effect_size_ddof1: float | None = None
    words: tuple[int, ...] = NO_ITEMS
    p_one_sided: float | None = None
    p_two_sided: float | None = None
    p_strict: float | None = None
    p_method: str | None = None
    partitions: int | None = None
    p_one_sided_error: float | None = None
    p_two_sided_error: float | None = None
    why: str | None = None
    error: str | None = None
    beside: Mapping[str, MeasureDocument] = NO_ENTRIES


@dataclass(frozen=True)
class MeasuredWeat(WeatDocument):
    """A WEAT that was computed; if partitions are drawn at random, it has no strict p-value (`p_strict`)."""

    p_strict: float | None = always(None)


@dataclass(frozen=True)
class NullDocument:
    """Probability that chance alone gives a WEAT effect as large as published (`NullCheck`), or `why` it is unknown."""

    effect: float | None = None
    words: int | None = None
    p_ddof0: float | None = None
    p_ddof1: float | None = None
    p_first_words: float | None = None
    published: float | None = None
    reason: str | None = None
    why: str | None = None
    error: str | None = None


@dataclass(frozen=True)
class Classical:
    """Published measures, which do not affect the letter: MAC, WEAT by pair of groups, and the null check of WEAT."""

    mac: MeasureDocument = MeasureDocument()
    weat: tuple[WeatDocument, ...] = NO_ITEMS
    null: NullDocument = NullDocument()


@dataclass(frozen=True)
class AssociationComponent(WordsComponent):
    """Distances between words for groups and words for stereotypes; `raw` by word, connection, attribute word."""

    dimensions: int | None = None
    connections: tuple[ConnectionDocument, ...] = NO_ITEMS
    protected: tuple[ProtectedDocument, ...] = NO_ITEMS
    predictive: Predictive = Predictive()
    raw: Mapping[str, Mapping[str, Shares]] = NO_ENTRIES
    classical: Classical = Classical()
