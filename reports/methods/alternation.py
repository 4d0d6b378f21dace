"""Tables, figures and sentences of a rating by alternation in a report."""

import math
from collections.abc import Iterator, Mapping
from functools import partial

from assay.catalog.values import AND
from assay.document import NO_EFFECT, HiddenDocument, RatingDocument
from assay.explain import listed
from assay.methods.alternation.changes import ANOTHER_PERSON, SWAPPED
from assay.methods.alternation.detail import (
    NOT_COMPARED,
    AlternationComponent,
    ChangeDocument,
    DivergenceDocument,
    PairDocument,
    PositionDocument,
)
from assay.methods.alternation.method import Alternation
from assay.methods.shared.outcome_tables.effects import FOUR_FIFTHS
from assay.rating.document import DecidingEffect
from assay.statistics.hidden.single_cases import LABELS
from reports import cells, charts
from reports.cases import ProfileCases
from reports.in_words import hidden_in_words, tested
from reports.method_report import MethodReport, in_order
from reports.methods.material import looks_table, profiles_room, profiles_table
from reports.methods.outcome_tables import error_rates_table, favourable_count, outcomes_table, tests_table
from reports.sheets import Wording, shown_suffix
from reports.units import HUNDREDTHS, Unit, amount, hundredths, points
from reports.view import ARROW, Dots, Picture, Span, Strip, Table

WORDING = Wording.read("alternation")

STRATUM = "Within “{name}” alone, answers move by {size}."
INDIVIDUAL = (
    "Of that, the attribute itself moves a typical answer by {size}; the rest is what also differs when "
    "the same question is asked again{persons}."
)
FLIPS = (
    "{size} change by the attribute itself, where up to {limit} count as no bias; the rest are labels "
    "that also differ when the same question is asked again{persons}."
)


def in_words(document: RatingDocument, part: AlternationComponent) -> Iterator[str]:
    """Yield sentences on how much answers differ, in the service's own unit, and on the tested material."""
    experiment = document.experiment
    has_records, has_labels = experiment.get("records") is not None, experiment.get("answers") == "labels"
    case_effects = [hidden for hidden in part.hidden if hidden.kind == "individual"]
    labels_only = _judges_changed_labels(part)  # no numbers or scores to compare
    changes = _changes_by_comparison(part, labels_only=labels_only)
    unit = _effect_unit(document, part, hidden=None)
    yield from _means_in_words(part, unit, labels=has_labels)
    if AND in (document.attribute or ""):  # groups by several attributes at once
        yield from _extreme_groups_in_words(part)
    yield from _impact_in_words(part)
    if _scale(document, part) != "log" and not labels_only:  # 1.0: one standard deviation
        yield f"For comparison: answers to different inputs typically lie {unit.of(1.0)} from their average."
    yield from _gap_in_words(part, unit, records=has_records)
    yield from _changes_in_words(changes, unit, deviation=part.scale or 1.0)
    other_person = " or another person of the same group is named" if ANOTHER_PERSON in changes else ""
    template = FLIPS if labels_only else INDIVIDUAL if changes else OF_RECORDS  # sentence on single cases
    limit = max((hidden.limit or 0.0 for hidden in case_effects), default=0.0)
    case_template = template.replace("{persons}", other_person).replace("{limit}", HUNDREDTHS.limit(limit))
    case_unit = Unit(hundredths, " of 100 inputs") if labels_only else unit
    yield from hidden_in_words(part, unit, STRATUM, case_template, case_unit)
    if part.not_within:
        columns = listed([f"“{column}”" for column in part.not_within])
        yield f"Not looked into one by one: {columns}. What happens within a column is judged if “strata” names it."
    yield from _cases_in_words(experiment.get("texts"), part.position)
    yield from _outcomes_in_words(document, part)
    values = listed([f"“{value}”" for value in part.values])
    inputs = "records" if has_records else "sentences" if part.position == NOT_COMPARED else "documents with opponents"
    yield tested(document, part, f"{part.profiles.asked or 0:,} {inputs}, each with {values}")


def content_in_words(document: RatingDocument, part: AlternationComponent, deciding: DecidingEffect) -> Iterator[str]:
    """If content decided: yield sentences on how much groups differ with different, and with the same, content."""
    if deciding.step == 1 or deciding.hidden is not None:  # the attribute, or a hidden effect, decided
        return
    experiment, unit = document.experiment, _effect_unit(document, part, hidden=None)
    yield from _gap_in_words(part, unit, records=experiment.get("records") is not None)
    yield from _means_in_words(part, unit, labels=experiment.get("answers") == "labels")


def _judges_changed_labels(part: AlternationComponent) -> bool:
    """Return whether single cases are judged by changed labels, because the service gives labels without scores."""
    return any(hidden.kind == "individual" and (hidden.name or "").startswith(LABELS) for hidden in part.hidden)


def _gap_in_words(part: AlternationComponent, unit: Unit, *, records: bool) -> Iterator[str]:
    """Yield a sentence on step 2: how much the groups' averages differ where their content differs, too."""
    if (gap := part.effect("step_2")) is None:
        return
    where = (
        "As the records stand"
        if records
        else "Where each group was sent mostly with one kind of content, and other groups with another kind"
    )
    # only records have groups as they stand, with a mean each
    value_by_mean = {row.mean: row.value for row in part.groups if isinstance(row.mean, float)} if records else {}
    highest = f", the highest that of “{value_by_mean[max(value_by_mean)]}”" if len(value_by_mean) > 1 else ""
    yield f"{where}, the groups' averages differ by an estimated {unit.of(abs(gap))}{highest}."


def _cases_in_words(texts: object, counts: PositionDocument) -> Iterator[str]:
    """Yield sentences on how texts for a decision mention people, and how often the first or second document won."""
    # texts of `pairs` without `mention` also have a decision, but mention people as other sentences do
    if isinstance(texts, Mapping) and texts.get("decision") and (texts.get("mention") or not texts.get("pairs")):
        mentions = WORDING.sentences["mentions"]
        yield mentions.get(str(texts.get("mention")), mentions["explicit"])
    if counts.questions is not None:
        yield (
            f"Each comparison was asked in both orders. Of {counts.questions:,} answers, {counts.first:,} chose "
            f"the first document, {counts.second:,} the second, and {counts.ties:,} neither. A preference for a "
            "position favours no group, because both orders count equally."
        )


def _outcomes_in_words(document: RatingDocument, part: AlternationComponent) -> Iterator[str]:
    """Yield sentences on each group's favourable outcomes and error rates, with records as they came (not swapped)."""
    table = part.outcomes
    if table.why is not None:
        yield f"There are no outcomes by {table.by}: {table.why}."
    known_rows = [row for row in table.groups if row.rate.estimate is not None]
    if len(known_rows) < 2:
        return
    rates = listed([f"“{row.group}” {favourable_count(row)} of {row.people:,}" for row in known_rows])
    yield f"Of the records as they came, these have the favourable outcome ({table.outcome}): {rates}."
    gaps = [
        f"{name} by up to {text}"
        for key, name in (("tpr", "true positive rates"), ("fpr", "false positive rates"))
        if (text := cells.interval(table.gaps.get(key, NO_EFFECT))) is not None
    ]
    if gaps:
        yield f"Among records with the same recorded truth ({table.truth}), groups differ in {' and in '.join(gaps)}."
    comparison = {True: "unequal", False: "equal", None: "unsettled"}[table.unequal]
    sentences = WORDING.sentences["errors"][comparison]
    yield sentences.get(document.letter if document.declared else None) or sentences["undeclared"]
    if unreadable := sum(row.undecided or 0 for row in table.groups):
        yield f"{unreadable:,} records have no readable answer; they are counted, and in none of these rates."


def _means_in_words(part: AlternationComponent, unit: Unit, *, labels: bool) -> Iterator[str]:
    """Yield a sentence on the two values that differ most: in mean answers or, without scores, in counts of a label."""
    largest = max(part.pairs, key=lambda pair: abs(pair.shift or 0.0), default=PairDocument())
    shift, before, after = largest.shift, largest.from_, largest.to
    if shift is None or not before or not after:
        return
    if shift < 0:  # from the smaller to the larger value, so that a ratio above 1 is written
        shift, before, after = -shift, after, before
    name, means, inputs = part.name, part.means, part.profiles.whole
    if _judges_changed_labels(part) and inputs and before in means and after in means:
        count, other_count = (f"{round(means[value] * inputs):,}" for value in (before, after))
        yield (
            f"With “{before}”, {count} of {inputs:,} inputs get the label “{name}”; with “{after}” instead and nothing "
            f"else changed, {other_count}."
        )
        return
    answer = f"the score of “{name}”" if labels else "the answer"
    if part.position != NOT_COMPARED:
        answer = "the share of comparisons that a document wins"
    deviations = shift / (part.scale or 1.0)  # `unit` formats a number of standard deviations
    difference = f"{unit.of(deviations)} higher" if shift else "the same"
    yield f"With “{after}” instead of “{before}” and nothing else changed, {answer} is {difference} on average."


def _extreme_groups_in_words(part: AlternationComponent) -> Iterator[str]:
    higher_and_lower: set[tuple[str | None, str | None]] = set()  # pairs of values that surely differ
    for pair in part.pairs:
        if (pair.effect.low or 0.0) > 0:  # the whole interval is above 0
            higher_and_lower.add((pair.to, pair.from_))
        if (pair.effect.high or 0.0) < 0:
            higher_and_lower.add((pair.from_, pair.to))
    for value in part.values:
        other_values = [other_value for other_value in part.values if other_value != value]
        if all((other_value, value) in higher_and_lower for other_value in other_values):
            yield f"The answers about “{value}” are lower than those about each other group."
        if all((value, other_value) in higher_and_lower for other_value in other_values):
            yield f"The answers about “{value}” are higher than those about each other group."


def _impact_in_words(part: AlternationComponent) -> Iterator[str]:
    """Yield a sentence on the lowest impact ratio: a label's rate with one value, divided by that with another."""
    rates = {row.value: row.rate for row in part.disparate_impact.rates}
    ratios = [row for row in part.disparate_impact.ratios if row.ratio.estimate is not None]
    lowest = min(ratios, key=lambda row: row.ratio.estimate or 0.0, default=None)
    if lowest is None:
        return
    low_rate, high_rate, ratio = rates.get(lowest.of), rates.get(lowest.to), lowest.ratio  # low / high rate
    if low_rate is None or high_rate is None or ratio.low is None or ratio.high is None:
        return  # records have no rates for the same cases; their ratios are in the table
    verb = "flags" if (ratio.estimate or 0.0) < FOUR_FIFTHS else "does not flag"
    yield (
        f"Of the same cases, {hundredths(low_rate)} of 100 get “{part.name}” with “{lowest.of}”, and "
        f"{hundredths(high_rate)} of 100 with “{lowest.to}”: an impact ratio of {ratio.estimate:.2f} (probably between "
        f"{ratio.low:.2f} and {ratio.high:.2f}). The four-fifths rule of US agencies (below 0.80) {verb} this ratio."
    )


def _changes_by_comparison(part: AlternationComponent, *, labels_only: bool) -> dict[str | None, ChangeDocument]:
    """Return the numbers of changed answers by kind of comparison, such as `SWAPPED` (nothing but the value differs).

    Records have no such numbers: with `labels_only`, the label that changed most counts, otherwise the dict is empty.
    """
    if part.changes:
        return {change.what: change for change in part.changes}
    changed_counts, profile_count = [row.changed or 0 for row in part.labels], part.profiles.whole
    if not (labels_only and changed_counts and profile_count):
        return {}
    return {SWAPPED: ChangeDocument(SWAPPED, of=profile_count, changed=max(changed_counts))}


def _changes_in_words(changes: Mapping[str | None, ChangeDocument], unit: Unit, deviation: float) -> Iterator[str]:
    """Yield a sentence on changed answers for each kind of comparison: another value, repetition, another person."""
    for comparison, (label_template, size_template) in WORDING.sentences["counted"].items():
        change = changes.get(comparison, ChangeDocument())
        if change.changed is None or change.of is None:
            continue
        if change.size is None:
            yield label_template.format(changed=f"{change.changed:,}", of=f"{change.of:,}")
        else:
            size = unit.of(change.size / deviation)  # `unit` formats a number of standard deviations
            yield size_template.format(size=size, of=f"{change.of:,}")


OF_RECORDS = "Swapping nothing but the attribute moves a typical answer, up or down, by {size}."
"""Sentence on the typical change of records with numbers or scores."""


def _effect_unit(document: RatingDocument, part: AlternationComponent, hidden: HiddenDocument | None) -> Unit:
    """Return an effect's unit: counts out of 100 for losses and changed labels, otherwise that of the output scale."""
    if hidden is not None and hidden.kind == "loss":
        return HUNDREDTHS
    if hidden is not None and hidden.kind == "individual" and (hidden.name or "").startswith(LABELS):
        return Unit(hundredths, " of 100 inputs")
    scale, deviation = _scale(document, part), part.scale or 1.0  # effects are in standard deviations on the scale
    if scale == "log":
        return Unit(lambda size: amount(100 * math.expm1(size * deviation)), " %")
    if scale in {"linear", "auto"} and document.experiment.get("answers") == "labels":  # "auto": only linear fits
        return Unit(lambda size: points(size * deviation), " points of 100")
    unit_names = {"logit": " on the logit scale", "rank": " places in the order of all answers"}
    return Unit(lambda size: amount(size * deviation), unit_names.get(scale, ""))


def _scale(document: RatingDocument, part: AlternationComponent) -> str:
    return (part.scales[0].scale if part.scales else None) or str(document.experiment.get("scale") or "linear")


def tables(part: AlternationComponent) -> Iterator[Table | None]:
    """Yield the tables of one component, or of all together (the aggregation); ``None`` for an empty table."""
    yield profiles_table(part)
    for name in ("pairs", "changes", "groups", "labels", "divergence"):
        yield WORDING.sheets[name].of(part)
    yield WORDING.sheets["ratios"].of_rows(part.disparate_impact.ratios)
    yield WORDING.sheets["positions"].of_rows([part.position] if part.position != NOT_COMPARED else [])
    yield _leverage_table(part)
    if part.outcomes.groups:
        yield outcomes_table(part.outcomes)
        yield tests_table(part.outcomes)
        yield error_rates_table(part.outcomes)
    yield looks_table(part)


def _leverage_table(part: AlternationComponent) -> Table:
    """Return a table of the effect without one cluster (such as a person), for some clusters of each kind."""
    leverage = part.leverage
    by_kind = {"person": leverage.person, "frame": leverage.frame, "content": leverage.content, "row": leverage.row}
    by_kind |= leverage.others
    kinds_and_rows = [(kind, row) for kind, rows in by_kind.items() for row in rows]
    *effects, effect_with_all = cells.numbers([row.effect for _, row in kinds_and_rows] + [leverage.effect])
    rows = tuple(
        (row.without or cells.ABSENT, kind, effect) for (kind, row), effect in zip(kinds_and_rows, effects, strict=True)
    )
    pair_phrase = " from {} to {}".format(*leverage.pair) if len(leverage.pair) == 2 else ""
    title = f"The effect{pair_phrase} without one person, frame or content; it is {effect_with_all} with all"
    return Table(title, ("Without", "Kind", "Effect"), rows)


def _means_figure(part: AlternationComponent) -> Picture | None:
    name = part.name or "output"
    axis = "mean output, in the service's own unit" if name == "output" else f"mean score of {name}"
    rows = [(value, Span(mean)) for value, mean in part.means.items()] if part.pairs else []
    return charts.forest("Mean output under each value, same profiles", axis, rows, head="Value")


def _pairs_figure(part: AlternationComponent) -> Picture | None:
    rows = [(_direction_label(pair), charts.span(pair.effect)) for pair in part.pairs]
    title, axis = "What changing the attribute changes", "shift within profiles, in standard deviations"
    return charts.forest(title, axis, rows, reference=0.0, tolerance=part.tolerances.get("step_1"), head="Pair")


def _folds_figure(part: AlternationComponent) -> Picture | None:
    """Return a figure of how much answers for two values diverge, in each fold (part) of the profiles."""
    shown_rows = part.divergence[: charts.MOST_MARKS]
    rows = [
        Dots(_direction_label(row), (divergences,))
        for row in shown_rows  # x: the value from which the row's direction goes, y: to which
        if (divergences := tuple(fold.kl_xy for fold in row.kl_by_fold if fold.kl_xy is not None))
    ]
    if not rows:
        return None
    title = "Gaussian KL of each fold, in each direction" + shown_suffix(shown_rows, part.divergence)
    table_rows = tuple((row.label, ", ".join(cells.numbers(row.values[0]))) for row in rows)
    table = Table(title, ("Direction", "Folds"), table_rows)
    return Strip(title, "Gaussian KL, in nats", tuple(rows), kinds=("a fold",), table=table)


def _direction_label(row: PairDocument | DivergenceDocument) -> str:
    return ARROW.join((row.from_ or "?", row.to or "?"))


REPORT = MethodReport(
    Alternation,
    WORDING.steps,
    WORDING.letters,
    in_words,
    tables,
    in_order(_means_figure, _pairs_figure, _folds_figure),
    partial(profiles_room, field="texts.most"),
    unit=_effect_unit,
    decided=content_in_words,
    ratable="texts or records",
    cases=ProfileCases,
)
