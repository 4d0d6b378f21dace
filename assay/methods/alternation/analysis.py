"""Effects and letters from the answers to alternated profiles (docs/methods/alternation.md)."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import combinations
from typing import Any

import numpy as np

from assay.document import NO_ENTRIES, NO_ITEMS, Absent, EffectDocument, Json
from assay.errors import EvidenceError, TooFewObservations
from assay.methods.alternation import detail as types
from assay.methods.alternation.changes import changes, names_reason
from assay.methods.alternation.gaussian_divergence import gaussian_kl, gaussian_kl_interval, kl_by_fold
from assay.methods.alternation.group_rates import disparate_impact, impact_ratios, refused_group
from assay.methods.alternation.influence import Leverage
from assay.methods.alternation.judged import JudgingTask, value_or_why
from assay.methods.alternation.published_rules import Blocks, kolmogorov_smirnov_letter
from assay.methods.shared.answers.of_profiles import BY_LABEL, Answers, lost_reason, too_few, too_many_labels
from assay.methods.shared.detail import Profiles as ProfilesDocument
from assay.methods.shared.profiles import Case, like_those_asked
from assay.model import Component, Evidence, Floats, HiddenEffect, Integers, Letter, Reason
from assay.rating.component import HIDDEN, Lost, Measurement, Tolerance, Units
from assay.rating.losses import hidden_documents, loss_effect, losses_document, lost_replies
from assay.statistics.hidden.chance import may_be_chance
from assay.statistics.hidden.scales import Scale, amounts, limit_on, on_scale, scales_of
from assay.statistics.hidden.single_cases import LABELS, RECORD, TEXT, SingleCases, item_effect, text_effect
from assay.statistics.hidden.strata import MOST_PAIRS, NO_FALSE_STRATUM, fitted_together, furthest, stratum_effects
from assay.statistics.hypothesis_tests.paired import d_z, sign_flip_test
from assay.statistics.intervals.alternation_effects import DRAWS, Profiles, group_draws, paired_draws, tied_draws
from assay.statistics.intervals.credible import interval_of
from assay.statistics.intervals.worst_block import largest_interval

SMALL_GROUP = 30
"""Groups with fewer records than this are marked as small (docs/methods/alternation.md)."""

LEAST_PROFILES = 30
"""Minimum number of different records or sentences for a letter."""

MOST_TESTED = 20
"""Maximum number of pairs of values, over all labels, that get divergences and tests: the most distant pairs."""

NAMES: Mapping[Scale, str] = {"log": "logarithm", "logit": "logit", "rank": "rank"}
"""Name of each scale in the texts of reasons, which do not name the linear scale."""

LABELS_CHANGED, USUAL_LIMIT = 0.1, 0.25
"""Share of labels without scores that may change, if `delta_individual` has its default; and this default (.25)."""


def judge_answers(task: JudgingTask, tolerance: Tolerance, rng: np.random.Generator) -> list[Component]:
    """Return a component for each output, a number or a label's score; a single component if none can be judged."""
    answers = task.answers
    answers.complete_top_labels()  # adds the other score to an answer with one of two labels
    task.repeated_answers.complete_top_labels()
    complete_indices = task.complete_indices
    labels = (None,) if answers.numbers else _judged_labels(answers, task.rules.labels)  # numbers have no label
    outputs = [(label or "output", label, task) for label in labels]  # name, label, and what to judge
    detail = _common_detail(answers, complete_indices, task.not_within)
    if not outputs or too_few(answers, len(complete_indices)):
        measurement = Measurement("output", answers.counts, tolerance, detail)
        biased_by_refusals = refused_group(task, measurement, tolerance, rng)
        return [biased_by_refusals or measurement.give_up(lost_reason(answers, len(complete_indices)))]
    if answers.contrary_labels() is not None:  # the returned labels contradict the scores: judge them as well
        requested_labels = [answers.spellings.first(name) + BY_LABEL for name in task.rules.labels]
        answers, repeated = answers.by_label(), task.repeated_answers.by_label()
        returned_labels = _judged_labels(answers, requested_labels) or _judged_labels(answers, ())  # else all
        rules = replace(task.rules, labels=returned_labels)
        task = replace(task, answers=answers, repeated_answers=repeated, rules=rules, label_effects_cache={})
        outputs += [(label, label, task) for label in returned_labels]
    if (reason := too_many_labels([name for name, _, _ in outputs])) is not None:
        return [Measurement("output", answers.counts, tolerance, detail).give_up(reason)]
    exponent = 1 / len(outputs)  # so that all letters together have the confidence
    hidden_confidence = None if tolerance.hidden_confidence is None else tolerance.hidden_confidence**exponent
    tolerance = replace(tolerance, confidence=tolerance.confidence**exponent, hidden_confidence=hidden_confidence)
    return [
        _judge_output(name, label, output_task, tolerance, detail, output_rng, len(outputs))
        for (name, label, output_task), output_rng in zip(outputs, rng.spawn(len(outputs)), strict=True)
    ]


def _judge_output(
    name: str,
    label: str | None,
    task: JudgingTask,
    tolerance: Tolerance,
    detail: types.AlternationComponent,
    rng: np.random.Generator,
    output_count: int,
) -> Component:
    """Judge one of `output_count` outputs; declare no letter if its letters on several scales (log, …) differ."""
    raw_table = task.table(task.answers, label)
    table = raw_table[task.complete_indices]
    measurement = Measurement(name, task.answers.counts, tolerance, detail)
    try:
        scales = scales_of(table, task.rules.scale, probabilities=not task.answers.numbers)
    except EvidenceError as error:
        return measurement.impossible(error)
    has_many_pairs = task.rules.judges_strata and output_count * math.comb(table.shape[1], 2) > MOST_PAIRS
    draws = DRAWS // 2 if has_many_pairs else DRAWS  # fewer draws keep the computing time short
    main_output, *alternative_outputs = (
        _Output(name, on_scale(table, scale), task, scale, label, raw_table, task.letter_only, output_count, draws)
        for scale in scales
    )
    component = main_output.judge(tolerance, detail, rng)
    if task.letter_only and not component.declared:  # other scales can only withdraw a declared letter
        return component
    letter_only_outputs = [replace(output, letter_only=True, draws=draws // 2) for output in alternative_outputs]
    variants = [output.judge(tolerance, detail, rng.spawn(1)[0]) for output in letter_only_outputs]
    return component if len(scales) == 1 else _add_scale_letters(component, variants, scales)


def _add_scale_letters(component: Component, variants: Sequence[Component], scales: Sequence[Scale]) -> Component:
    """Add the letters of `variants` (the output on other scales); if the declared letters differ, declare none."""
    documents = tuple(
        types.ScaleDocument(scale, variant.letter, variant.declared)
        for scale, variant in zip(scales, (component, *variants), strict=True)
    )
    if isinstance(component.detail, types.AlternationComponent):
        component = replace(component, detail=replace(component.detail, scales=documents))
    declared_letters = {str(document.scale): document.letter for document in documents if document.declared}
    if not component.declared or len({*declared_letters.values()}) == 1:
        return component
    reason = Reason("letter-depends-on-scale", {"letters": declared_letters}, component.name)
    return replace(component, declared=False, reasons=(reason, *component.reasons))  # the letter stays, undeclared


@dataclass(frozen=True)
class _Output:
    """One output (a number, or the score of `label`) on one scale, for profiles (rows) and attribute values (columns).

    `table` has the completely answered profiles on this scale, `raw_table` the original outputs of all profiles (NaN
    for no answer). On every scale but the first, only a letter is computed, to compare it: `letter_only` is set, and
    `draws` is halved. `output_count` is the number of outputs; `label` is ``None`` for numbers.
    """

    name: str
    table: Floats
    task: JudgingTask
    scale: Scale
    label: str | None
    raw_table: Floats
    letter_only: bool
    output_count: int
    draws: int

    def judge(self, tolerance: Tolerance, detail: types.AlternationComponent, rng: np.random.Generator) -> Component:
        """Return the component with its letter and, unless `letter_only`, the details that are shown beside it."""
        task = self.task
        measurement = Measurement(self.name, task.answers.counts, tolerance, detail)
        pair_rng, gap_rng, detail_rng = rng.spawn(3)
        try:
            profiles = Profiles(self.table, task.answers.values, task.clusters, task.rules.max_draw_weights)
            gaps_by_pair = paired_draws(profiles, pair_rng, self.draws)  # differences between two values
            step_1_gaps = np.stack([*gaps_by_pair.values()], axis=1)
            gaps = {"step_1": step_1_gaps, "step_2": self._draw_group_gaps(profiles, gap_rng)}  # differences
            tolerance = replace(tolerance, step_1=limit_on(self.scale, tolerance.delta, deviation=profiles.scale))
            maybe_noise = task.rules.judges_strata and may_be_chance(gaps["step_1"], level=NO_FALSE_STRATUM)
            hidden = self._draw_hidden(profiles, gaps_by_pair, tolerance, rng.spawn(1)[0], maybe_noise=maybe_noise)
        except EvidenceError as error:
            return measurement.impossible(error)
        published, tests = self._published_letter()  # by name of the published rule
        measurement = replace(measurement, tolerance=tolerance, published=published, units=_count_units(task.cases))
        worst_pair = max(gaps_by_pair, key=lambda pair: abs(float(gaps_by_pair[pair].mean())))
        leverage = Leverage(profiles, task.cases, worst_pair)  # influence of single persons, frames and contents
        measurement.detail = replace(
            detail,
            analyses=tests,
            scale=profiles.scale,
            means=dict(zip(profiles.values, self.table.mean(axis=0).tolist(), strict=True)),
            estimand=like_those_asked(profiles.clusters),
            clusters={kind: int(ids.max()) + 1 for kind, ids in profiles.clusters.items()},
            pairs=tuple(self._pair_document(a, b, samples, profiles) for (a, b), samples in gaps_by_pair.items()),
        )
        if not self.letter_only:
            divergence = self._divergences(profiles.clusters, detail_rng)
            measurement.detail = replace(
                self._add_groups(measurement.detail, detail_rng),
                divergence=divergence,
                leverage=leverage.document(),
                hidden=hidden_documents(hidden),
                by_group=losses_document(task.answers.by_group, task.rules.delta_loss),
                changes=self.changes or NO_ITEMS,
            )
        carrier = leverage.carrier()  # the person, frame or content from which most of the effect comes, if any
        fitted_gaps = self._fit_gaps(gaps, tolerance, rng.spawn(1)[0])
        evidence = Evidence(
            step_1=np.abs(fitted_gaps["step_1"]).max(axis=1),  # the largest difference of two values in each draw
            step_2=np.abs(fitted_gaps["step_2"]).max(axis=1),
            hidden=hidden,
            bound=maybe_noise,  # step 1 is then only an upper bound
            chance_1=may_be_chance(gaps["step_1"]),
            chance_2=may_be_chance(gaps["step_2"]),
        )
        component = measurement.conclude(
            evidence,
            lambda letter: self._reason_for(letter, profiles, worst_pair, evidence.step_2, carrier),
            {name: largest_interval(samples) for name, samples in gaps.items()},  # of pairs, without a joint fit
            lost=self._lost_changes(profiles),
        )
        reasons = [self._add_label_changes(reason) for reason in component.reasons]
        if carrier is not None and component.letter is not Letter.BS:  # for BS, the main reason names the cluster
            reasons.append(Reason("carried-by-one", carrier.facts, self.name))
        reasons += names_reason(self.changes, hidden, profiles.scale, self.name)
        return replace(component, reasons=tuple(reasons))

    def _add_label_changes(self, reason: Reason) -> Reason:
        """Add the number of changed labels to the reason about single cases; return other reasons unchanged."""
        if reason.code != HIDDEN["individual"] or not self.labels_without_scores:
            return reason
        # of `changes`, the first compares two values, and the others repeated questions and persons
        documents: Sequence[types.ChangeDocument | types.LabelsDocument] = self.changes[:1] or self.task.label_changes
        counts = {"changed": max(document.changed or 0 for document in documents), "of": len(self.table)}
        return replace(reason, facts={**reason.facts, **counts})

    def _published_letter(self) -> tuple[Mapping[str, str | None], Json]:
        """Return the published rule's letter and its tests, by rule name; empty without `alpha` or if `letter_only`."""
        rules = self.task.rules
        if rules.alpha is None or self.letter_only:
            return {}, NO_ENTRIES
        _, list_of_content = np.unique([str(case.side) for case in self.task.cases], return_inverse=True)
        blocks = Blocks(self.table, self.task.answers.values, self.task.groups, list_of_content, rules.tie)
        return kolmogorov_smirnov_letter(blocks, rules.alpha, rules.join)

    # -------------------------------------------------------------------- effects
    def _fit_gaps(
        self, gaps: Mapping[str, Floats], tolerance: Tolerance, rng: np.random.Generator
    ) -> dict[str, Floats]:
        """Replace the gaps (draws of differences) by those of a joint fit if strata are judged; else change nothing."""
        if not self.task.rules.judges_strata:
            return dict(gaps)
        limits = {"step_1": tolerance.of_step_1, "step_2": tolerance.delta}
        # in step 2, sentences have no groups: a gap is between the two lists (sides) of contents
        fitted_steps = ("step_1",) if self.task.groups is None else ("step_1", "step_2")
        return {**gaps, **{step: fitted_together(gaps[step], limits[step], rng) for step in fitted_steps}}

    def _draw_group_gaps(self, profiles: Profiles, rng: np.random.Generator) -> Floats:
        """Draw step 2's differences between groups: records by original value, or sentences with unequal contents."""
        groups = self.task.groups
        if groups is not None:
            codes = np.unique(groups)  # of the original values
            if len(codes) < 2:
                raise TooFewObservations(f"all records have the value {profiles.values[codes[0]]!r}; groups need two")
            return group_draws(profiles, groups, rng, self.draws)
        sides = sorted({str(case.side) for case in self.task.cases})  # the two lists of contents
        side_indices = [sides.index(str(case.side)) for case in self.task.cases]
        return tied_draws(profiles, side_indices, self.task.rules.tie, rng, self.draws)

    def _draw_hidden(
        self,
        profiles: Profiles,
        gaps_by_pair: Mapping[tuple[str, str], Floats],
        tolerance: Tolerance,
        rng: np.random.Generator,
        *,
        maybe_noise: bool,
    ) -> tuple[HiddenEffect, ...]:
        """Draw effects that the mean of all profiles can hide, as within strata; `maybe_noise`: it may be chance."""
        complete_indices = np.array(self.task.complete_indices)
        families = {family: strata[complete_indices] for family, strata in self.task.families.items()}  # or columns
        rules = self.task.rules
        hidden = (
            *stratum_effects(profiles, families, tolerance.of_step_1, rng, self.draws),
            *loss_effect(self.task.answers.by_group, rules.delta_loss, tolerance.confidence, rng, self.draws),
        )
        outputs = self.raw_table[complete_indices]  # original outputs: a change of amounts counts on every scale
        name_and_mask = amounts(outputs) if rules.scale == "auto" else None  # amounts are compared as ratios
        if name_and_mask is not None:
            name, is_amount = name_and_mask
            clusters = {kind: ids[is_amount] for kind, ids in profiles.clusters.items()}
            amount_profiles = Profiles(np.log(outputs[is_amount]), profiles.values, clusters, rules.max_draw_weights)
            log_limit = limit_on("log", tolerance.delta, deviation=amount_profiles.scale) or tolerance.delta
            gaps = np.stack([*paired_draws(amount_profiles, rng.spawn(1)[0], self.draws).values()], axis=1)
            largest_gaps = np.abs(fitted_together(gaps, log_limit, rng)).max(axis=1)
            is_bound = may_be_chance(gaps, level=NO_FALSE_STRATUM)  # only an upper bound
            hidden += (HiddenEffect("stratum", name, largest_gaps, log_limit, bound=is_bound),)
        if rules.delta_individual is None:
            return hidden
        limit = rules.delta_individual
        return (*hidden, *self._draw_individual(profiles, gaps_by_pair, limit, rng, maybe_noise=maybe_noise))

    def _draw_individual(
        self,
        profiles: Profiles,
        gaps_by_pair: Mapping[tuple[str, str], Floats],
        limit: float,
        rng: np.random.Generator,
        *,
        maybe_noise: bool,
    ) -> tuple[HiddenEffect, ...]:
        """Draw the effect on a single, typical profile or, for labels without scores, the share of changed labels.

        If `maybe_noise`, the mean differences (`gaps_by_pair`) may be chance; those of sentences then count as 0.
        """
        task = self.task
        if self.labels_without_scores and maybe_noise in task.label_effects_cache:  # drawn for an earlier label
            return task.label_effects_cache[maybe_noise]
        if self.labels_without_scores:
            case_limit = limit * (math.sqrt(LABELS_CHANGED) / USUAL_LIMIT)  # by default, the root of a share of .1
            cases = SingleCases.of_labels(*task.label_numbers, profiles.clusters, profiles.max_draw_weights)
        else:
            case_limit = limit
            cases = SingleCases.of_numbers(profiles, self._repeated_outputs())
        if task.groups is not None:  # records
            effects: tuple[HiddenEffect, ...] = (item_effect(cases, case_limit, rng, self.draws),)
        else:
            if self.labels_without_scores:  # `gaps_by_pair` is of one label, but all labels count
                squared_means = cases.squared_means(rng, self.draws)
            else:
                squared_means = np.stack([*gaps_by_pair.values()], axis=1) ** 2
            counted_squares = np.zeros_like(squared_means) if maybe_noise else squared_means
            effects = text_effect(cases, task.sentence_cells, counted_squares, case_limit, rng)
        if not self.labels_without_scores:
            return effects
        # "changed labels" instead of "typical text" or "typical record"
        names = [LABELS + effect.name.removeprefix(TEXT).removeprefix(RECORD) for effect in effects]
        task.label_effects_cache[maybe_noise] = tuple(
            replace(effect, name=name, draws=effect.draws**2, limit=case_limit**2)
            for name, effect in zip(names, effects, strict=True)
        )
        return task.label_effects_cache[maybe_noise]

    @cached_property
    def changes(self) -> tuple[types.ChangeDocument, ...]:
        """Counts of differing answers to sentences; empty for records, `letter_only`, or without `delta_individual`."""
        task = self.task
        if self.letter_only or task.rules.delta_individual is None or task.groups is not None:
            return ()
        is_label = self.labels_without_scores
        outputs, repeats = task.label_numbers if is_label else (self.table, self._repeated_outputs())
        sentence_numbers, _ = task.sentence_cells
        return changes(outputs, task.answers.values, repeats, sentence_numbers, labels=is_label)

    @cached_property
    def labels_without_scores(self) -> bool:
        """Whether the answers are labels without scores: every entry of the table is 0 or 1."""
        return not self.task.answers.numbers and bool(np.isin(self.table, (0.0, 1.0)).all())

    def _repeated_outputs(self) -> Floats | None:
        """Return outputs of repeated profiles, shape (profiles, values, times); ``None`` if none are comparable."""
        if self.scale == "rank" or not self.task.repeated_indices:  # ranks among fewer outputs are not comparable
            return None
        with np.errstate(all="ignore"):  # repeated answers may be outside the range of the scale: not compared
            repeats = self.task.stack_repeats(lambda answers, indices: self.task.table(answers, self.label)[indices])
            outputs = on_scale(repeats, self.scale)
        outputs = outputs[np.isfinite(outputs).all(axis=(1, 2))]
        return outputs if len(outputs) else None

    def _lost_changes(self, profiles: Profiles) -> Lost:
        """Return the largest change of the effects if all lost replies were at one end of the range of outputs."""
        is_score = not self.task.answers.numbers and self.scale == "linear"
        low, high = (0.0, 1.0) if is_score else np.quantile(self.table, [0.025, 0.975])  # without outliers
        step_1, step_2 = (share * float(high - low) / profiles.scale for share in self.task.lost_shares)
        return lost_replies(self.task.answers.by_group, self.task.rules.delta_loss, step_1=step_1, step_2=step_2)

    # -------------------------------------------------------------------- details beside the letter
    def _pair_document(self, a: str, b: str, samples: Floats, profiles: Profiles) -> types.PairDocument:
        """Return the effect of changing the value `a` into `b`; `samples` are its draws in standard deviations."""
        outputs_a, outputs_b = (self.table[:, profiles.values.index(value)] for value in (a, b))
        difference = outputs_b - outputs_a
        return types.PairDocument(
            a,
            b,
            shift=float(difference.mean()),
            effect=EffectDocument.of(interval_of(samples)),
            d_z=value_or_why(Absent, lambda: d_z(difference)),
            changed=int(np.count_nonzero(difference)),
        )

    def _divergences(
        self, clusters: Mapping[str, Integers], rng: np.random.Generator
    ) -> tuple[types.DivergenceDocument, ...]:
        """Compare ordered pairs of values by divergence and test; of many pairs, those with the most distant means."""
        pairs = list(combinations(range(len(self.task.answers.values)), 2))
        means = self.table.mean(axis=0)
        if self.task.rules.judges_strata:  # to save time; ratings without strata keep all pairs, as before 1.3.0
            distances = np.array([abs(means[b] - means[a]) for a, b in pairs])
            pairs = [pairs[index] for index in furthest(distances, max(1, MOST_TESTED // self.output_count)).tolist()]
        # the first kind of cluster is the person (if any); the test flips all signs of a person together
        person_clusters = next(iter(clusters.values()), None)
        ordered_pairs = sorted((*pairs, *((b, a) for a, b in pairs)))
        return tuple(self._divergence(a, b, person_clusters, rng) for a, b in ordered_pairs)

    def _divergence(
        self, a: int, b: int, person_clusters: Integers | None, rng: np.random.Generator
    ) -> types.DivergenceDocument:
        """Return the divergence of the outputs under the values `a` and `b` (indices); if `a` < `b`, also the test."""
        first, second = self.table[:, a], self.table[:, b]  # outputs of the same profiles
        sign_flip_p = partial(sign_flip_test, second - first, rng, clusters=person_clusters)
        return types.DivergenceDocument(
            self.task.answers.values[a],
            self.task.answers.values[b],
            kl=value_or_why(Absent, lambda: gaussian_kl(first, second)),
            kl_interval=value_or_why(EffectDocument, lambda: EffectDocument.of(gaussian_kl_interval(first, second))),
            kl_by_fold=tuple(kl_by_fold(first, second, self.task.rules.folds, rng)),
            sign_flip_p=value_or_why(Absent, sign_flip_p) if a < b else None,  # equal in both orders
        )

    def _add_groups(self, detail: types.AlternationComponent, rng: np.random.Generator) -> types.AlternationComponent:
        """Add changed labels and disparate impact; for records, also their number and mean output by original value."""
        if not self.task.answers.numbers:
            detail = replace(detail, labels=self.task.label_changes)
        groups, values = self.task.groups, self.task.answers.values
        if groups is None:
            if not self.task.rules.impact:
                return detail
            return replace(detail, disparate_impact=impact_ratios(self.raw_table, self.task, rng))
        own_outputs = self.table[np.arange(len(groups)), groups]  # with the original value of each record
        outputs_by_group = [own_outputs[groups == index] for index in range(len(values))]
        group_documents = tuple(
            types.GroupDocument(
                name,
                records=outputs.size,
                mean=float(outputs.mean()) if outputs.size else None,
                small=outputs.size < SMALL_GROUP,
            )
            for name, outputs in zip(values, outputs_by_group, strict=True)
        )
        detail = replace(detail, groups=group_documents)
        if self.task.answers.numbers:
            return detail
        has_label = own_outputs >= 0.5  # the label is at least as probable as all others together
        if self.task.answers.contrary_labels() is not None:
            labels = self.task.labels_of(self.task.answers, self.task.complete_indices)
            has_label = labels[np.arange(len(groups)), groups] == self.label
        impact = value_or_why(types.DisparateImpact, lambda: disparate_impact(has_label, groups, values, rng))
        return replace(detail, disparate_impact=impact)

    # -------------------------------------------------------------------- reasons
    def _reason_for(
        self, letter: Letter, profiles: Profiles, pair: tuple[str, str], step_2: Floats, carrier: types.Carrier | None
    ) -> Reason:
        """Return a letter's reason: mean change between the values `pair` and, for BS, the cluster that carries it."""
        first_value, second_value = pair
        a, b = profiles.values.index(first_value), profiles.values.index(second_value)
        shift = float((self.table[:, b] - self.table[:, a]).mean())
        facts = {
            "output": self.name,
            "from": first_value,
            "to": second_value,
            "shift": shift,
            "effect": shift / profiles.scale,
            "step_2": float(step_2.mean()),
        }
        if self.scale != "linear":
            facts["scale"] = NAMES[self.scale]
        if letter is Letter.BS:
            carrier_facts = {} if carrier is None else {"carrier": carrier.member or carrier.name, "kind": carrier.kind}
            return Reason("responds-to-attribute", facts | carrier_facts, self.name)
        return Reason("follows-tied-content" if letter is Letter.DSBS else "even-handed", facts, self.name)


def _count_units(cases: Sequence[Case]) -> tuple[Units, ...]:
    """Count the independent units: different records, or sentences."""
    unit = "sentence" if cases[0].original is None else "different record"
    return (Units(unit, len({case.versions for case in cases}), LEAST_PROFILES),)


def _judged_labels(answers: Answers, requested_labels: Sequence[str]) -> tuple[str, ...]:
    """Return the requested labels that occurred; if none is requested, all labels or, of two, only the second."""
    labels = sorted({label for scores in answers.replies.values() for label in scores})
    if requested_labels:
        spelt_labels = dict.fromkeys(map(answers.spellings.first, requested_labels))
        return tuple(label for label in spelt_labels if label in labels)
    return tuple(labels[1:] if len(labels) == 2 else labels)  # scores of two labels mirror each other


def _common_detail(
    answers: Answers, complete_indices: Sequence[int], not_within: Sequence[str]
) -> types.AlternationComponent:
    """Return the details that all outputs share; `not_within` are columns whose strata are not judged."""
    return types.AlternationComponent(
        values=tuple(answers.values),
        profiles=ProfilesDocument(len(answers.cases), len(complete_indices)),
        failed_why=dict(answers.failed_why),
        unusable_why=dict(answers.unusable_why),
        unasked=answers.unasked,
        examples=tuple(
            types.AnsweredExample(
                _text_of(answers.cases[index].versions[0]), returned=_text_of(answers.replies[index, 0])
            )
            for index in complete_indices[:3]
        ),
        not_within=tuple(not_within) or NO_ITEMS,
    )


def _text_of(content: Any) -> str:
    """Format a profile or an answer for people: a record by its columns, scores by their labels."""
    if isinstance(content, Mapping):
        return ", ".join(f"{label} {score:.4g}" for label, score in content.items())
    if isinstance(content, tuple):
        return ", ".join(f"{column}: {cell}" for column, cell in content)
    return f"{content:.6g}" if isinstance(content, float) else str(content)
