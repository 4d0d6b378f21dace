"""Outcomes of records with their original value of the attribute, and error rates by a column of true outcomes.

The tables are those of the method ``outcomes``, and do not affect the letter: a service can ignore the attribute and
err more often for one group, or follow the attribute with equal outcomes of the groups.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from assay.document import EffectDocument
from assay.errors import SpecificationError, UnknownName
from assay.methods.alternation.detail import RecordOutcomes
from assay.methods.shared.answers.of_profiles import Answers
from assay.methods.shared.outcome_tables.decision_table import UNKNOWN, DecisionTable, as_text, grouping_of
from assay.methods.shared.outcome_tables.group_tables import Outcomes, largest_gap, outcome_table, sample_of
from assay.methods.shared.profiles import ROW, Cell, RecordProfiles
from assay.model import Floats, Integers

TOLERANCE = 0.05
"""Largest difference of error rates that counts as none: the default of the method ``outcomes``."""

LEAST_PEOPLE = 30
"""Minimum number of records of a group in the denominator of a rate for the group to be compared."""

GROUP, DECISION, TRUTH = "group", "decision", "truth"
"""Names of the columns of the table of counted records."""


@dataclass(frozen=True)
class OutcomeRule:
    """Rules that decide which answers are favourable and for which true outcomes a favourable answer is right."""

    truth: str
    """Column with the true outcome of each record."""
    favourable: str
    """The favourable label; empty for numbers."""
    threshold: float | None
    """Number, or score of the label, from which an answer is favourable. ``None``: the (likeliest) label decides."""
    right_value: str
    """True outcome (value of the column `truth`) for which a favourable answer is right."""

    @property
    def words(self) -> str:
        """Text that describes a favourable answer: a label, or a threshold such as "0.5 or more"."""
        if self.threshold is None:
            return self.favourable
        return f"{self.favourable} {self.threshold:g} or more".strip()

    def decides(self, answer: Any, label: str) -> bool:
        """Return whether an answer is favourable; `label` is the favourable label in the service's spelling."""
        if not isinstance(answer, Mapping):
            return bool(answer >= (self.threshold or 0.0))  # a request about numbers has a threshold
        if label not in answer:
            return False
        if self.threshold is not None or len(answer) == 1:  # without a threshold, a single score needs .5
            return bool(answer[label] >= (0.5 if self.threshold is None else self.threshold))
        return bool(max(sorted(answer), key=answer.__getitem__) == label)  # of equal scores, first in the alphabet


def outcome_rule_of(
    records: RecordProfiles, truth: str, favourable: str, threshold: float | None, favourable_truth: Cell
) -> OutcomeRule | None:
    """Validate the column `truth` and return the rule of favourable answers; ``None`` while an upload has no rows yet.

    `favourable_truth` is the true outcome for which a favourable answer is right; if empty, it equals `favourable`.

    Raises
    ------
    UnknownName, SpecificationError
        If the records lack the column or the value; if the column is that of groups or clusters, or has a third value.
    """
    if truth in {records.column, records.cluster}:
        raise SpecificationError(f"{truth} is the column of the groups or of the clusters; name another one", "truth")
    if not records.rows:
        return None
    if truth not in records.rows[0]:
        raise UnknownName("column", truth, tuple(records.rows[0]), "truth")
    values = sorted({as_text(row[truth]) for row in records.rows} - {""})
    right_value = as_text(favourable_truth) or favourable
    if right_value not in values:
        raise UnknownName(f"value of {truth}", right_value, values, "truth_favourable")
    if len(values) > 2:
        names = ", ".join(map(repr, values[:8]))
        message = f"{truth} must have two values, right and wrong, beside empty cells; it has {len(values)}: {names}"
        raise SpecificationError(message, "truth")
    return OutcomeRule(truth, favourable, threshold, right_value)


def record_outcomes(answers: Answers, by: str, rule: OutcomeRule, rng: np.random.Generator) -> RecordOutcomes:
    """Compute rates, error rates and their gaps by group, from the answer to each record with its original value.

    `by` names the column of the groups. A missing or unreadable answer counts as undecided; a record without a true
    outcome is in no error rate. The result has only a reason (``why``) if no answer can be read or has the label.
    """
    favourable_label = answers.spellings.first(rule.favourable)
    document = RecordOutcomes(by=by, truth=rule.truth, outcome=rule.words)
    labels = {name for answer in answers.replies.values() if isinstance(answer, Mapping) for name in answer}
    labels.update(answers.returned.values())
    if not answers.replies:
        return replace(document, why="no answer could be read")
    if labels and favourable_label not in labels:
        label_names = ", ".join(map(repr, sorted(labels)[:8]))
        return replace(document, why=f"no answer has the label {rule.favourable!r}; labels: {label_names}")
    if rule.threshold is None:  # a returned label decides, whatever the scores beside it are
        answers = replace(
            answers, replies=answers.replies | {key: {name: 1.0} for key, name in answers.returned.items()}
        )
    table = _count_records(answers, rule, favourable_label)
    grouping = grouping_of(table, (GROUP,))
    favourable, truth = (_numeric_column(table, name) for name in (DECISION, TRUTH))
    table_rng, *gap_rngs = rng.spawn(5)
    outcomes = Outcomes(favourable, truth, scores=None)
    result = outcome_table(table, grouping, outcomes, exclusions={}, confidence=0.95, rng=table_rng)
    rates = {  # the numbers whose mean is the rate, and the records in its denominator
        "selection": (favourable, ~np.isnan(favourable)),
        "tpr": (favourable, ~np.isnan(favourable) & (truth == 1)),
        "fpr": (favourable, ~np.isnan(favourable) & (truth == 0)),
        "ppv": (truth, ~np.isnan(truth) & (favourable == 1)),
    }
    gaps = {}
    for (name, (numbers, in_denominator)), gap_rng in zip(rates.items(), gap_rngs, strict=True):
        sample = sample_of(table, grouping, numbers, in_denominator, binary=True)
        gaps[name] = largest_gap(sample, gap_rng, LEAST_PEOPLE)
    return replace(
        document,
        groups=result.groups,
        reference=result.reference,
        even_flagged=result.even_flagged,
        gaps=gaps,
        tolerance=TOLERANCE,
        unequal=_is_unequal(gaps["tpr"], gaps["fpr"]),
    )


def _is_unequal(*gaps: EffectDocument) -> bool | None:
    """True if a gap's interval is above `TOLERANCE`, False if all intervals are within it, otherwise ``None``."""
    if any(gap.low is not None and gap.low > TOLERANCE for gap in gaps):
        return True
    return False if all(gap.high is not None and gap.high <= TOLERANCE for gap in gaps) else None


def _count_records(answers: Answers, rule: OutcomeRule, label: str) -> DecisionTable:
    """Count the records by group, decision, and truth: whether the favourable answer (`label`) is right for them."""
    cases = answers.cases
    # indices in `answers.values`; `original` is None only for sentences, and those have no outcomes
    original_indices = np.array([case.original or 0 for case in cases], dtype=np.int64)
    own_answers = [answers.replies.get((record, int(value))) for record, value in enumerate(original_indices)]
    decisions = [UNKNOWN if answer is None else int(rule.decides(answer, label)) for answer in own_answers]
    truths = [as_text(case.truth) for case in cases]
    favourable_is_right = [UNKNOWN if not text else int(text == rule.right_value) for text in truths]
    clusters = None
    # the column of clusters that the request names; `ROW` is no column
    cluster_column = next((kind for kind in cases[0].clusters if kind != ROW), None)
    if cluster_column is not None:
        _, clusters = np.unique([case.clusters[cluster_column] for case in cases], return_inverse=True)
    columns: dict[str, tuple[tuple[str, ...], Integers]] = {
        GROUP: (answers.values, original_indices),
        DECISION: (("no", "yes"), np.array(decisions, dtype=np.int64)),
        TRUTH: (("wrong", "right"), np.array(favourable_is_right, dtype=np.int64)),
    }
    return DecisionTable.counted(digest="", columns=columns, clusters=clusters)  # these records come from no file


def _numeric_column(table: DecisionTable, name: str) -> Floats:
    """Return the codes of a column as floating-point numbers, NaN in place of `UNKNOWN`."""
    codes = np.array(table.column(name).codes, dtype=float)
    return np.where(codes == UNKNOWN, np.nan, codes)
