"""Columns of the tables in files for regulators: each is a head and a function that formats a group's row."""

from collections.abc import Callable
from dataclasses import dataclass

from assay.document import EffectDocument
from assay.methods.shared.outcome_tables.rows import GroupOutcome
from reports import cells
from reports.regulators.audit import MASKED, is_masked

NOT_ESTIMABLE = "not estimable"


@dataclass(frozen=True)
class Column:
    """A column of a table of groups: its head, and the function that writes a group's cell."""

    head: str
    text: Callable[[GroupOutcome], str]
    """Returns the text of a cell; if there is no number, a reason or a dash."""


def _share(value: float) -> str:
    return f"{100 * value:.1f} %"


def _ratio(value: float) -> str:
    return f"{value:.2f}"


def _write_effect(effect: EffectDocument, write: Callable[[float], str], *, interval: bool = True) -> str:
    if effect.estimate is None:
        return f"{NOT_ESTIMABLE}: {effect.why}" if effect.why else cells.ABSENT
    if not interval or effect.low is None or effect.high is None:
        return write(effect.estimate)
    return f"{write(effect.estimate)} ({write(effect.low)} to {write(effect.high)})"


def _people_or_mask(row: GroupOutcome) -> str:
    if is_masked(row):
        return MASKED
    return cells.ABSENT if row.people is None else f"{row.people:,}"


def _error_rate_writer(name: str) -> Callable[[GroupOutcome], str]:
    return lambda row: _write_effect(row.error_rates.get(name, EffectDocument()), _share)


def _p_value(value: float | None) -> str:
    return cells.ABSENT if value is None else cells.p_value(value)


def _p_value_and_test(row: GroupOutcome) -> str:
    test = f" ({row.test})" if row.test else ""
    return cells.ABSENT if row.p is None else f"{_p_value(row.p)}{test}"


def _write_interval(effect: EffectDocument) -> str:
    if effect.low is None or effect.high is None:
        return cells.ABSENT
    return f"{_ratio(effect.low)} to {_ratio(effect.high)}"


def _equalised_odds(row: GroupOutcome) -> str:
    gaps = [row.disparities[name].difference for name in ("tpr", "fpr") if name in row.disparities]
    gap_sizes = [abs(gap) for gap in gaps if gap is not None]
    return f"largest difference {100 * max(gap_sizes):.1f} points" if len(gap_sizes) == 2 else cells.ABSENT


def _confusion_matrix(row: GroupOutcome) -> str:
    return (
        ", ".join(cells.number(row.matrix[name]) for name in ("tp", "fp", "fn", "tn")) if row.matrix else cells.ABSENT
    )


GROUP = Column("Category", lambda row: row.group or "not known")
PEOPLE = Column("People", _people_or_mask)
FAVOURABLE = Column("Favourable", lambda row: cells.number(row.favourable))
RATE = Column("Rate", lambda row: _write_effect(row.rate, _share))
RATIO = Column("Impact ratio", lambda row: _write_effect(row.ratio, _ratio))
DIFFERENCE = Column("Difference", lambda row: _write_effect(row.difference, lambda gap: f"{100 * gap:+.1f} points"))

LL144 = (
    GROUP,
    PEOPLE,
    FAVOURABLE,
    Column("Selection or scoring rate", lambda row: _write_effect(row.rate, _share, interval=False)),
    Column("Impact ratio", lambda row: _write_effect(row.ratio, _ratio, interval=False)),
    Column("95 % interval of the ratio", lambda row: _write_interval(row.ratio)),
    Column("Remark", lambda row: f"excluded: {row.excluded}" if row.excluded else ""),
)
"""Columns of a bias audit under 6 RCNY 5-301 (New York City, Local Law 144), and the impact ratio's interval."""

EEOC = (
    GROUP,
    PEOPLE,
    FAVOURABLE,
    RATE,
    RATIO,
    Column("Below four fifths", lambda row: {True: "yes", False: "no", None: cells.ABSENT}[row.flagged]),
    Column("P(ratio < .8)", lambda row: _p_value(row.below_four_fifths)),
    Column("Standard deviations", lambda row: cells.ABSENT if row.z is None else f"{row.z:.2f}"),
    Column("p", _p_value_and_test),
    Column("p (Holm)", lambda row: _p_value(row.holm)),
    Column("Shortfall", lambda row: cells.ABSENT if row.shortfall is None else f"{row.shortfall:.1f}"),
)
"""Columns of adverse impact for the EEOC: four-fifths rule, standard deviations, exact test, shortfall."""

MEASURES = (
    GROUP,
    PEOPLE,
    RATE,
    DIFFERENCE,
    RATIO,
    Column("True positive rate", _error_rate_writer("tpr")),
    Column("False positive rate", _error_rate_writer("fpr")),
    Column("Precision", _error_rate_writer("ppv")),
    Column("Area under the curve", lambda row: cells.ABSENT if row.auc is None else f"{row.auc:.3f}"),
)
"""Columns of performance measures by group (AI Act)."""

TR_24027 = (
    GROUP,
    PEOPLE,
    Column("Demographic parity (7.5): rate", lambda row: _write_effect(row.rate, _share)),
    Column("Equality of opportunity (7.4): TPR", _error_rate_writer("tpr")),
    Column("Predictive equality (7.6): FPR", _error_rate_writer("fpr")),
    Column("Equalized odds (7.3): TPR and FPR together", _equalised_odds),
    Column("Confusion matrix (7.2): TP, FP, FN, TN", _confusion_matrix),
)
"""Columns named as in clause 7 of ISO/IEC TR 24027."""
