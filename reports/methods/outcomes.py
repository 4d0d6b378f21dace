"""Tables, figures and sentences of a rating of recorded decisions (method ``outcomes``) in a report."""

from collections.abc import Iterator, Mapping, Sequence

from assay.document import RatingDocument, ReasonDocument, read_json
from assay.explain import listed, share
from assay.methods.outcomes.detail import (
    FunnelDocument,
    GapDocument,
    OutcomesAggregation,
    OutcomesComponent,
    StepDocument,
    ThresholdDocument,
    ThresholdMap,
)
from assay.methods.outcomes.method import Outcomes
from assay.methods.shared.outcome_tables.effects import FOUR_FIFTHS
from assay.methods.shared.outcome_tables.rows import GroupOutcome
from assay.model import Letter
from assay.rating.document import DecidingEffect
from reports import cells, charts
from reports.method_report import MethodReport, in_order
from reports.methods.outcome_tables import error_rates_table, favourable_count, flags_text, outcomes_table, tests_table
from reports.plain import visible
from reports.sheets import Wording, evenly, shown_suffix
from reports.units import of_hundred
from reports.view import Curve, Forest, Mark, Panel, Panels, Table

WORDING = Wording.read("outcomes")

MOST_CURVES = 6
"""Maximum number of groups in the figure of thresholds, to fit a phone: those with the lowest and highest rates."""

MOST_STEP_ROWS = 12
"""Maximum number of groups of a step in the figure of steps."""


def in_words(document: RatingDocument, part: OutcomesComponent) -> Iterator[str | None]:
    """Yield sentences on the two most different groups, the four-fifths rule, steps of the process, recorded truth."""
    groups = [row for row in part.groups if row.rate.estimate is not None and row.excluded is None]
    if len(groups) > 1:
        low = min(groups, key=lambda row: row.rate.estimate or 0.0)
        high = max(groups, key=lambda row: row.rate.estimate or 0.0)
        yield (
            f"By {part.by}, {favourable_count(high)} of {high.people:,} ({share(high.rate.estimate or 0.0)}) in "
            f"“{high.group}” have the favourable outcome ({part.outcome}), and {favourable_count(low)} of "
            f"{low.people:,} ({share(low.rate.estimate or 0.0)}) in “{low.group}”."
        )
    yield flags_text(part, groups)
    yield from _funnel_in_words(part.funnel)
    if "truth" in read_json(OutcomesAggregation, document.aggregation.json).data.columns:
        yield (
            "Step 1 takes the recorded truth as it is: where yesterday's decisions shaped it, or were biased, step 1 "
            "cannot see that."
        )


def counts_in_words(document: RatingDocument, part: OutcomesComponent, deciding: DecidingEffect) -> Iterator[str]:
    """If step 1 decided BS: yield a sentence with the two most different groups' counts, or else the stored reason."""
    if deciding.step != 1 or document.letter is not Letter.BS:
        return
    reason = next((reason for reason in part.reasons if reason.code == "unequal-among-alike"), ReasonDocument())
    truth_phrase, favourable_cell, other_cell = ALIKE.get(str(reason.facts.get("alike")), ("", "", ""))
    by_group = {row.group: row for row in part.groups}  # `matrix`: numbers of people by decision and truth
    groups = [by_group[name] for name in (reason.facts.get("low"), reason.facts.get("high")) if name in by_group]
    counts = [row.matrix.get(cell) for row in groups for cell in (favourable_cell, other_cell)]  # of people
    if len(groups) < 2 or None in counts:  # no counts (strata other than the recorded truth), or masked ones
        yield from filter(None, (reason.text,))
        return
    clauses = []
    for row in groups:
        count = row.matrix[favourable_cell]
        if total := count + row.matrix[other_cell]:
            clauses.append(f"{count:,.0f} of {total:,.0f} ({share(count / total)}) in “{row.group}”")
    yield f"Of people for whom the favourable outcome {truth_phrase}, {listed(clauses)} have it ({part.outcome})."


ALIKE: Mapping[str, tuple[str, str, str]] = {
    "all proved right": ("proved right", "tp", "fn"),
    "all proved wrong": ("proved wrong", "fp", "tn"),
}
"""By name of people with the same true outcome: phrase, key of their favourable decisions, key of the others."""


def _funnel_in_words(funnel: FunnelDocument) -> Iterator[str]:
    """Yield sentences on the group that passes all steps least often, its largest gap, and people who skipped steps."""
    gaps = [gap for gap in funnel.gaps if gap.overall.estimate is not None]
    lowest = min(gaps, key=lambda gap: gap.overall.estimate or 0.0, default=GapDocument())
    step_names = "”, “".join(str(step.step) for step in funnel.steps)
    if lowest.overall.high is not None and lowest.overall.high < 1 and lowest.smallest is not None:
        ratio_at_step = lowest.steps[lowest.smallest]  # `smallest`: the step with the smallest ratio
        yield (
            f"“{lowest.group}” passes all steps (“{step_names}”) {cells.interval(lowest.overall)} times as often as "
            f"“{funnel.reference}”. The gap is largest at “{lowest.smallest}” (with a probability of "
            f"{lowest.probability or 0.0:.2f}): there the ratio is {cells.interval(ratio_at_step)}."
        )
    elif gaps:
        yield f"No group is surely behind “{funnel.reference}” in passing all steps (“{step_names}”)."
    if len(funnel.steps) > 1:
        yield "The letter is about the end of the process only: it does not say that each step treats groups alike."
    for step in funnel.steps:
        counts = [row.people for row in step.out_of_order]
        if None in counts:
            yield f"How many people passed “{step.step}” without having passed every step before it is masked."
        elif counts:
            people = f"{sum(filter(None, counts)):,} people"
            yield (
                f"{people} passed “{step.step}” without having passed every step before it. They are counted at no "
                "later step, and in the decision as the file has it."
            )


def tables(part: OutcomesComponent) -> Iterator[Table | None]:
    """Yield the tables of a component: outcomes, tests, error rates and calibration by group."""
    if not part.groups:
        return
    yield outcomes_table(part)
    yield tests_table(part)
    yield _steps_table(part)
    yield error_rates_table(part)
    yield _calibration_table(part)


def _calibration_table(part: OutcomesComponent) -> Table | None:
    """Return a table of each group's mean score, and share proved right, within each tenth of all scores."""
    rows = [(row.group or "", tenth) for row in part.groups for tenth in row.tenths]
    if not rows:
        return None
    columns = {
        "Group": [group for group, _ in rows],
        "Mean score": cells.numbers([tenth.mean for _, tenth in rows]),
        "People": cells.numbers([tenth.people for _, tenth in rows]),
        "Proved right": cells.intervals([tenth.truth for _, tenth in rows]),
    }
    return Table.of_columns(f"Calibration by tenths of the score, by {part.by}", columns)


def _funnel_figure(part: OutcomesComponent) -> Forest | None:
    """Return a figure of the shares of groups that pass each step of the process, such as an interview."""
    marks = []
    for step in part.funnel.steps:
        rows = [(row.group, charts.span(row.rate)) for row in step.groups if row.excluded is None]
        step_marks = evenly([Mark(visible(str(group)), (span,)) for group, span in rows if span], MOST_STEP_ROWS)
        marks += [Mark(f"{visible(str(step.step))}:", (None,)), *step_marks]  # a heading without a number, then groups
    table = _steps_table(part)
    if table is None or not any(mark.spans[0] for mark in marks):  # without numbers, all of them may be masked
        return None
    return Forest(table.title, "share of those who reached the step that passes it", tuple(marks), table)


def _steps_table(part: OutcomesComponent) -> Table | None:
    """Return a table of how many people of each group reached and passed each step of the process (funnel)."""
    gaps = {gap.group: gap for gap in part.funnel.gaps}
    rows = [
        (str(step.step), step, row)
        for step in part.funnel.steps
        for row in (*step.groups, *([step.unknown] if step.unknown.people or step.unknown.undecided else []))
    ]
    if not rows:
        return None
    reached = [None if row.people is None else row.people + (row.undecided or 0) for _, _, row in rows]
    ratios = [gaps[row.group].steps.get(name) if row.group in gaps else None for name, _, row in rows]
    columns = {
        "Step": [name for name, _, _ in rows],
        "Group": [row.group or "not known" for _, _, row in rows],
        "Reached it": cells.numbers(reached),
        "Passed": cells.numbers([row.favourable for _, _, row in rows]),
        "Rate": cells.intervals([row.rate for _, _, row in rows]),
        "Ratio": cells.intervals(ratios),
        "Note": [_step_note(step, row, part.funnel) for _, step, row in rows],
    }
    reference = part.funnel.reference
    title = f"Steps of the process, by {part.by}" + (f"; ratios to {visible(reference)}" if reference else "")
    return Table.of_columns(title, columns)


def _step_note(step: StepDocument, row: GroupOutcome, funnel: FunnelDocument) -> str:
    """Return remarks on a group at a step: the reference, the largest gap, people who skipped a step."""
    notes = ["reference"] if row.group is not None and row.group == funnel.reference else []
    notes += [
        f"largest gap of this group (probability {gap.probability or 0.0:.2f})"
        for gap in funnel.gaps
        if gap.group == row.group and gap.smallest == step.step and (gap.overall.high or 1.0) < 1  # surely behind
    ]
    notes += ["below four fifths of the highest rate"] if row.flagged else []
    notes += [f"excluded: {row.excluded}"] if row.excluded else []
    notes += [f"{row.undecided:,} of whom it is not known"] if row.undecided else []
    notes += [
        f"{disorder.people:,} passed it without all steps before it"
        for disorder in step.out_of_order
        if disorder.group == row.group and disorder.people is not None
    ]
    return "; ".join(notes) or cells.ABSENT


def _thresholds_figure(part: OutcomesComponent) -> Panels | None:
    """Return a figure of selection rates, impact ratio and gaps of error rates at each threshold of the score."""
    threshold_map, rows = part.threshold_map, part.threshold_map.thresholds
    if not rows:
        return None
    title = f"All thresholds of the score, by {part.by}"
    thresholds = tuple(row.threshold or 0.0 for row in rows)
    # without a chosen threshold, the groups are ordered by their rates at the middle one
    chosen_row = next((row for row in rows if row.threshold == threshold_map.chosen), rows[len(rows) // 2])
    totals = [group.total or 1.0 for group in threshold_map.groups]  # 1.0 prevents a division by 0
    by_rate = sorted(range(len(totals)), key=lambda index: chosen_row.selected[index] / totals[index])
    indices = by_rate if len(by_rate) <= MOST_CURVES else [*by_rate[: MOST_CURVES // 2], *by_rate[-MOST_CURVES // 2 :]]
    labels = [visible(str(group.group)) for group in threshold_map.groups]
    rate_curves = [
        Curve(labels[index], thresholds, tuple(row.selected[index] / totals[index] for row in rows))
        for index in sorted(indices)
    ]
    gaps = [_gap_curve("True positive rates", rows, "tpr_gap"), _gap_curve("False positive rates", rows, "fpr_gap")]
    panels = [
        Panel("Selection rate" + shown_suffix(rate_curves, threshold_map.groups), tuple(rate_curves)),
        Panel("Lowest rate / highest (dashed: four fifths)", (_gap_curve("Impact ratio", rows, "ratio"),), FOUR_FIFTHS),
        Panel("Largest difference of error rates", tuple(curve for curve in gaps if curve.x)),
    ]
    columns = {
        "Threshold": cells.numbers(thresholds),
        **{curve.label: cells.numbers(curve.y) for curve in rate_curves},
        "Impact ratio": cells.intervals([row.ratio for row in rows]),
        "TPR gap": cells.intervals([row.tpr_gap for row in rows]),
        "FPR gap": cells.intervals([row.fpr_gap for row in rows]),
    }
    return Panels(
        title,
        "score from which the decision is favourable",
        tuple(panel for panel in panels if any(curve.x for curve in panel.curves)),
        Table.of_columns(title, cells.filled(columns)),
        words=_thresholds_in_words(threshold_map),
        marked=threshold_map.chosen,
    )


def _gap_curve(name: str, rows: Sequence[ThresholdDocument], field: str) -> Curve:
    """Return the curve of the effect in `field`, with its interval, over those thresholds that have an estimate."""
    spans = [
        (row.threshold, span)
        for row in rows
        if row.threshold is not None and (span := charts.span(getattr(row, field))) is not None
    ]
    return Curve(
        name,
        tuple(threshold for threshold, _ in spans),
        tuple(span.estimate for _, span in spans),
        low=tuple(span.estimate if span.low is None else span.low for _, span in spans),
        high=tuple(min(1.0, span.estimate if span.high is None else span.high) for _, span in spans),  # the axis's end
    )


def _thresholds_in_words(threshold_map: ThresholdMap) -> str:
    ratios = [(row.threshold, row.ratio.estimate) for row in threshold_map.thresholds if row.ratio.estimate is not None]
    low_thresholds = [threshold for threshold, ratio in ratios if threshold is not None and ratio < FOUR_FIFTHS]
    lowest = f", the lowest of them {min(low_thresholds):.6g}" if low_thresholds else ""
    words = (
        f"{len(threshold_map.thresholds)} thresholds. The impact ratio is below four fifths at "
        f"{len(low_thresholds)} of {len(ratios)}{lowest}."
    )
    ratio = next((ratio for threshold, ratio in ratios if threshold == threshold_map.chosen), None)
    return words if ratio is None else f"{words} At the chosen threshold, {threshold_map.chosen:g}, it is {ratio:.2f}."


REPORT = MethodReport(
    Outcomes,
    WORDING.steps,
    WORDING.letters,
    in_words,
    tables,
    in_order(_thresholds_figure, _funnel_figure),
    unit=of_hundred,
    advice=lambda _document, part: WORDING.sentences["advice"].get(part.letter or ""),
    counted=lambda _: "People",
    unusable="left out, because their group or outcome is unknown",
    decided=counts_in_words,
)
