"""The public form of a rating of recorded decisions: letters, and tables without small counts of people.

A number is published only if it can be computed from counts that are shown: the seed and draws from the whole file
would confirm a guess of a masked count. See decision 0124.
"""

from collections.abc import Collection, Container, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from assay.document import NO_ENTRIES, NO_ITEMS, EffectDocument, RatingDocument, ReasonDocument, Shares
from assay.experiment import generator
from assay.explain import Vocabulary, explain
from assay.methods.outcomes.detail import (
    NO_MAP,
    FunnelDocument,
    OutcomesAggregation,
    OutcomesComponent,
    OutOfOrder,
    StepDocument,
    ThresholdMap,
)
from assay.methods.outcomes.steps import NOT_REACHED, ReachedStep, reached_steps
from assay.methods.outcomes.suppression import (
    LEAST_SHOWN,
    PEOPLE,
    TRUTH,
    UNDECIDED,
    UNKNOWN_ANSWER,
    WHOLE_FILE,
    Part,
    PublicTable,
    masked_parts,
)
from assay.methods.outcomes.task import LEAST_PEOPLE, Task
from assay.methods.shared.outcome_tables.decision_table import Grouping
from assay.methods.shared.outcome_tables.group_tables import Outcomes, outcome_table, tenths_of
from assay.methods.shared.outcome_tables.rows import GroupOutcome, OutcomeTable
from assay.model import Floats, Integers, Reason


@dataclass(frozen=True)
class PublicScores:
    """Thresholds to publish, and names of groupings whose threshold `maps`, or `tenths` of scores, may be published."""

    thresholds: frozenset[float | None] = frozenset()
    maps: frozenset[str] = frozenset()
    tenths: frozenset[str] = frozenset()

    def map_of(self, component: OutcomesComponent) -> ThresholdMap:
        """Return the public threshold map of a component, which may be empty."""
        full_map = component.threshold_map
        rows = tuple(row for row in full_map.thresholds if row.threshold in self.thresholds)
        return replace(full_map, thresholds=rows) if rows and component.by in self.maps else NO_MAP


def public_scores(task: Task, full_map: ThresholdMap, masked_names: Container[str]) -> PublicScores:
    """Choose threshold maps and tenths of scores that reveal no masked count; groupings in `masked_names` get none."""
    scores, people = task.scores, task.table.people
    if scores is None:
        return PublicScores()
    median = next(output.facts["median"] for output in task.outputs if "median" in output.facts)
    # outcomes that cut the score at the median (in `facts`) or threshold: their counts are public in other tables
    cut_codes = [
        answer_codes(output.favourable) for output in task.outputs if output.facts or task.threshold is not None
    ]
    is_median = scores == median
    # codes by which public tables and maps count people; the number of people at the median is public unless small
    public_codes = [np.stack([*cut_codes, is_median])] if people[is_median].sum() >= LEAST_SHOWN else []
    tenths = set[str]()
    codes_by_grouping = {}
    for grouping in task.groupings:
        codes = np.stack([grouping.codes, *cut_codes, *([] if task.truth is None else [answer_codes(task.truth)])])
        if grouping.name in masked_names or not _is_large(_count_combinations(codes, people)):
            continue
        codes_by_grouping[grouping.name] = codes
        if task.truth is not None:
            with_tenths = np.vstack([codes, tenths_of(task.table, scores).codes])
            if _is_large(_count_combinations(with_tenths, people)):
                tenths.add(grouping.name)
                codes_by_grouping[grouping.name] = with_tenths
    thresholds, maps = list[float](), set[str]()
    all_thresholds = [row.threshold or 0.0 for row in full_map.thresholds]
    for name, codes in codes_by_grouping.items():
        shared_thresholds = _public_thresholds([*public_codes, codes], scores, people, all_thresholds)
        # all maps have the same thresholds; a map that costs the earlier maps most of theirs is left out
        if shared_thresholds and 2 * len(shared_thresholds) >= len(thresholds):
            thresholds, public_codes = shared_thresholds, [*public_codes, codes]
            maps.add(name)
    return PublicScores(frozenset(thresholds), frozenset(maps), frozenset(tenths))


def _public_thresholds(tables: list[Integers], scores: Floats, people: Floats, thresholds: list[float]) -> list[float]:
    """Choose thresholds between which each combination of codes in `tables` has either nobody or 5 or more people."""
    is_known = ~np.isnan(scores)
    bins = np.searchsorted(thresholds, scores[is_known], side="right")
    counts = np.hstack([_bin_sums(codes[:, is_known], bins, people[is_known], len(thresholds) + 1) for codes in tables])
    public_thresholds = list[float]()
    start = 0  # the first bin at or above the last public threshold
    for end, threshold in enumerate(thresholds, 1):
        if _is_large(counts[start:end].sum(axis=0)) and _is_large(counts[end:].sum(axis=0)):
            public_thresholds.append(threshold)
            start = end
    return public_thresholds


def _bin_sums(codes: Integers, bins: Integers, people: Floats, size: int) -> Floats:
    """Count people by bin of the score (`size` bins) and combination of codes, shape (bins, combinations)."""
    combinations, combination_index = np.unique(codes, axis=1, return_inverse=True)
    combination_count = combinations.shape[1]
    flat_index = bins * combination_count + combination_index.reshape(-1)
    return np.bincount(flat_index, people, size * combination_count).reshape(size, combination_count).astype(float)


def _count_combinations(codes: Integers, people: Floats) -> Floats:
    """Count people by combination of codes, shape (combinations,); `codes` has a row for each kind of code."""
    _, combination_index = np.unique(codes, axis=1, return_inverse=True)
    return np.bincount(combination_index.reshape(-1), people).astype(float)


def _is_large(counts: ArrayLike) -> bool:
    """Return whether each count is 0 or at least `LEAST_SHOWN`, so that it can be published."""
    sizes = np.asarray(counts)
    return bool(((sizes == 0) | (sizes >= LEAST_SHOWN)).all())


def answer_codes(answers: Floats) -> Integers:
    """Return answers (1, 0 or NaN) as integer codes: 1, 0, or `UNKNOWN_ANSWER`."""
    return np.nan_to_num(answers, nan=UNKNOWN_ANSWER).astype(np.int64)


DECIMALS = 3
"""Decimals of published effects and facts; more could confirm a guess of a count that no table shows."""

PROBABILITY_DECIMALS = 2
"""Decimals of published probabilities of letters."""

NOT_COUNTED = 3
"""Code of the answer of people whom a table does not count."""


def masked_rating(rating: RatingDocument, task: Task, vocabulary: Vocabulary) -> RatingDocument:
    """Return the public form of a rating, without small counts; `task` has the counted file and the request's settings.

    Letters are not changed. The seed, the commitment and the counted file are always left out; a component's effects,
    probabilities and facts are left out if a group that affects its letter is masked.
    """
    pairs = [(grouping, output) for grouping in task.groupings for output in task.outputs]
    # outputs hold arrays, which have no hash, so their identity is the key
    decision_codes = {id(output): answer_codes(output.favourable) for output in task.outputs}
    truth = None if task.truth is None else answer_codes(task.truth)
    tables = [PublicTable(grouping, decision_codes[id(output)], truth) for grouping, output in pairs]
    steps = [(grouping, step) for grouping in task.groupings for step in reached_steps(task.steps, grouping)]
    tables += [table for grouping, step in steps for table in _tables_of_step(grouping, step)]  # two for each step
    hidden_parts = masked_parts(tables, task.table.people)
    masked_names = {tables[part.table].grouping.name for part in hidden_parts if part != WHOLE_FILE}
    maps = (row.threshold_map for row in rating.components if isinstance(row, OutcomesComponent))
    full_map = next((candidate for candidate in maps if candidate.thresholds), NO_MAP)
    scores = public_scores(task, full_map, masked_names)
    components, withheld_names = [], set[str | None]()
    for index, (component, (grouping, output)) in enumerate(zip(rating.components, pairs, strict=True)):
        assert isinstance(component, OutcomesComponent)  # noqa: S101  of this method
        own_parts = {part for part in hidden_parts if part.table == index}
        public_tables = _PublicTables(task, grouping, task.outcomes(output), own_parts, scores)
        if public_tables.withholds(component):
            withheld_names.add(component.name)  # `public_tables.component` asks for its own name only
        public_component = public_tables.component(component, vocabulary, withheld_names)
        if component.funnel.steps:
            # `tables` has the components' tables first, then two for each step of each grouping
            first_table = len(pairs) + 2 * len(task.steps) * (index // len(task.outputs))
            funnel = _public_funnel(component, task, grouping, hidden_parts, first_table)
            public_component = replace(public_component, funnel=funnel)
        components.append(public_component)
    aggregation = rating.aggregation
    if isinstance(aggregation, OutcomesAggregation) and WHOLE_FILE in hidden_parts:
        aggregation = replace(aggregation, data=replace(aggregation.data, rows=None))
    return replace(
        rating,
        experiment={**rating.experiment, "table": None},
        seed=None,
        commitment=None,  # its nonce can be empty, and then its digest confirms a guess of the counted file
        components=tuple(components),
        aggregation=aggregation,
        probabilities=NO_ENTRIES if withheld_names else _round_shares(rating.probabilities),
        published=NO_ENTRIES if withheld_names else rating.published,
        reasons=_public_reasons(rating.reasons, withheld_names, vocabulary),
        counts={name: count for name, count in rating.counts.items() if name in {"asked", "failed"}},
        masked={"least": LEAST_SHOWN},
    )


def _tables_of_step(grouping: Grouping, step: ReachedStep) -> tuple[PublicTable, PublicTable]:
    """Return two tables: the outcomes of people who reached a step, and people who passed it out of order."""
    passed = np.where(step.grouping.codes == NOT_REACHED, NOT_COUNTED, answer_codes(step.passed))
    passed_out_of_order = np.where(step.out_of_order, 1, NOT_COUNTED)
    return PublicTable(grouping, passed, truth=None), PublicTable(grouping, passed_out_of_order, truth=None)


def _public_funnel(
    component: OutcomesComponent, task: Task, grouping: Grouping, hidden_parts: Collection[Part], start: int
) -> FunnelDocument:
    """Return a component's funnel without masked counts; `start` is the number of its first table (`Part.table`)."""
    full_funnel, documents = component.funnel, list[StepDocument]()
    tables = range(start, start + 2 * len(full_funnel.steps))  # two for each step, see `_tables_of_step`
    parts_by_table = [{part for part in hidden_parts if part.table == table} for table in tables]
    for index, (step, document) in enumerate(zip(reached_steps(task.steps, grouping), full_funnel.steps, strict=True)):
        outcomes = Outcomes(step.passed, truth=None, scores=None)
        reached_parts, out_of_order_parts = parts_by_table[2 * index : 2 * index + 2]
        of_reached = _PublicTables(task, step.grouping, outcomes, reached_parts, PublicScores())
        of_out_of_order = _PublicTables(task, grouping, outcomes, out_of_order_parts, PublicScores())
        table, out_of_order = of_reached.table(document), tuple(of_out_of_order.out_of_order(document))
        documents.append(StepDocument(**vars(table), step=document.step, out_of_order=out_of_order))
    if any(parts_by_table):  # gaps are shown only if they can be computed from counts that are shown
        return FunnelDocument(reference=None, steps=tuple(documents), gaps=NO_ITEMS)
    return replace(full_funnel, steps=tuple(documents))


class _PublicTables:
    """Removes masked counts, and numbers computed from them, from one component."""

    def __init__(
        self, task: Task, grouping: Grouping, outcomes: Outcomes, hidden_parts: Collection[Part], scores: PublicScores
    ) -> None:
        self.task, self.grouping, self.outcomes, self.scores = task, grouping, outcomes, scores
        self._masked: dict[int, list[str]] = {}  # names of the masked parts by code of the group
        for part in sorted(hidden_parts):
            self._masked.setdefault(part.code, []).append(part.name)

    def hides(self, label: str | None, *names: str) -> bool:
        """Return whether any of the parts `names` is masked in the row of the group `label` (``None``: unknown)."""
        code = -1 if label is None else self.grouping.labels.index(label)
        return any(name in self._masked.get(code, ()) for name in names)

    def withholds(self, component: OutcomesComponent) -> bool:
        """Return whether a group that affects the component's letter has a masked part."""
        groups = [row.group for row in component.groups if row.excluded is None and (row.people or 0) >= LEAST_PEOPLE]
        return any(self.hides(group, PEOPLE, TRUTH) for group in groups)

    def component(
        self, component: OutcomesComponent, vocabulary: Vocabulary, withheld_names: Collection[str | None]
    ) -> OutcomesComponent:
        """Return the component's public fields; effects and probabilities only if it is not in `withheld_names`."""
        public_component = OutcomesComponent(
            **vars(self.table(component)),
            **{name: getattr(component, name) for name in ("name", "letter", "declared", "by", "outcome")},
            **{name: getattr(component, name) for name in ("conditional", "median", "tolerances", "clusters")},
            at_median=_public_count(component.at_median),
            threshold_map=self.scores.map_of(component),
            reasons=_public_reasons(component.reasons, withheld_names, vocabulary),
        )
        if component.name in withheld_names:
            return public_component
        return replace(
            public_component,
            probabilities=_round_shares(component.probabilities),
            effects={name: effect and _round_effect(effect) for name, effect in component.effects.items()},
            published=component.published,
        )

    def out_of_order(self, step: StepDocument) -> Iterator[OutOfOrder]:
        """Yield each group's number of people who passed a step out of order; of masked groups ``None``, even for 0."""
        people_of = {row.group: row.people for row in step.out_of_order}
        for group in (*self.grouping.labels, None):  # the last are people of an unknown group
            is_masked = self.hides(group, PEOPLE)
            if is_masked or group in people_of:
                yield OutOfOrder(group, None if is_masked else people_of[group])

    def table(self, table: OutcomeTable) -> OutcomeTable:
        """Return a table with public rows; comparisons are recomputed among groups that are not masked."""
        hidden_groups = {row.group for row in table.groups if self.hides(row.group, PEOPLE)}
        if hidden_groups:
            table = self._recompute_without(table, hidden_groups)
        reference = table.reference
        keeps_truth = reference is None or not self.hides(reference, PEOPLE, TRUTH)
        keeps_tenths = self.grouping.name in self.scores.tenths
        rows = tuple(self.row(row, keeps_truth=keeps_truth, keeps_tenths=keeps_tenths) for row in table.groups)
        return OutcomeTable(rows, self.row(table.unknown, keeps_truth=False), reference, table.even_flagged)

    def _recompute_without(self, table: OutcomeTable, hidden_groups: Collection[str | None]) -> OutcomeTable:
        """Return the table with rows recomputed from unmasked groups alone; rows of masked ones stay unchanged."""
        task, grouping = self.task, self.grouping
        exclusions = task.excluded.get(grouping.name, {})
        visible_grouping = grouping.only([i for i, label in enumerate(grouping.labels) if label not in hidden_groups])
        # the seed is known, so that everybody can draw the same numbers from the counts that are shown
        result = outcome_table(task.table, visible_grouping, self.outcomes, exclusions, task.confidence, generator(0))
        rows = {row.group: row for row in result.groups}
        groups = tuple(replace(rows.get(row.group, row), not_compared=row.not_compared) for row in table.groups)
        return replace(result, groups=groups, unknown=table.unknown)

    def row(self, row: GroupOutcome, *, keeps_truth: bool, keeps_tenths: bool = False) -> GroupOutcome:
        """Return a row without masked parts; `keeps_truth` keeps comparisons of error rates, `keeps_tenths` tenths."""
        code = -1 if row.group is None else self.grouping.labels.index(row.group)
        masked = tuple(name for name in (PEOPLE, UNDECIDED, TRUTH) if name in self._masked.get(code, ())) or NO_ITEMS
        undecided_count = None if UNDECIDED in masked else row.undecided
        if PEOPLE in masked:
            facts = {"excluded": row.excluded, "not_compared": row.not_compared, "masked": masked}
            return GroupOutcome(row.group, undecided=undecided_count, **facts)  # type: ignore[arg-type]
        if TRUTH in masked:
            row = replace(row, matrix=NO_ENTRIES, error_rates=NO_ENTRIES, auc=None)
        if TRUTH in masked or not keeps_truth:
            row = replace(row, disparities=NO_ENTRIES)
        auc = None if row.auc is None else round(row.auc, DECIMALS)
        tenths = row.tenths if keeps_tenths else NO_ITEMS
        return replace(row, undecided=undecided_count, auc=auc, tenths=tenths, masked=masked)


def _public_count(count: int | None) -> int | None:
    """Return a count, or ``None`` if it is small (1 to 4 people)."""
    return None if count is not None and 0 < count < LEAST_SHOWN else count


def _public_reasons(
    reasons: Sequence[ReasonDocument], withheld_names: Collection[str | None], vocabulary: Vocabulary
) -> tuple[ReasonDocument, ...]:
    """Round the reasons' facts; drop those of withheld components and, if there are any, of the whole rating."""
    public_reasons = []
    for reason in reasons:
        is_withheld = reason.component in withheld_names or (withheld_names and reason.component is None)
        # facts of these reasons could reveal a masked count
        if is_withheld or reason.code in {"letter-depends-on-threshold", "steps-differ", "rows-seem-repeated"}:
            text = explain(Reason(str(reason.code), {}, reason.component), vocabulary)
            public_reasons.append(ReasonDocument(reason.code, text, {}, reason.component))
            continue
        rounded_facts = {name: round(fact, DECIMALS) for name, fact in reason.facts.items() if isinstance(fact, float)}
        public_reasons.append(replace(reason, facts={**reason.facts, **rounded_facts}))
    return tuple(public_reasons)


def _round_shares(shares: Shares) -> dict[str, float]:
    return {name: round(share, PROBABILITY_DECIMALS) for name, share in shares.items()}


def _round_effect(effect: EffectDocument) -> EffectDocument:
    ends = {name: getattr(effect, name) for name in ("estimate", "low", "high")}
    return replace(effect, **{name: None if end is None else round(end, DECIMALS) for name, end in ends.items()})
