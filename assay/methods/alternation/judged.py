"""Input of the analysis of alternation: answers by profile and value, repeated answers, strata, clusters, limits."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from assay.errors import EvidenceError
from assay.methods.alternation.detail import LabelsDocument
from assay.methods.shared.answers.of_profiles import Answers
from assay.methods.shared.profiles import JOINED, Case, numbered_clusters
from assay.model import Floats, HiddenEffect, Integers
from assay.statistics.hidden.scales import Scale
from assay.statistics.hidden.strata import Families
from assay.statistics.hypothesis_tests.published import Aggregate

TIMES = 3
"""Number of times that a repeated question is asked in all; its answers differ only by the service's noise."""

TEXT_PARTS = ("frame", "content")
"""Kinds of cluster that, with the person, determine a sentence."""

PRONOUNS = frozenset({"he", "she", "they", "him", "her", "them"})
"""Words for a value that are no names of persons, even if they are listed with a capital letter."""

A = TypeVar("A", bound=NDArray[Any])
D = TypeVar("D")
V = TypeVar("V")


@dataclass(frozen=True)
class Rules:
    """Fields of `Alternation` that decide what is computed from the answers, and the limits.

    `labels` are the labels to judge (empty: all or, of two, the second). `tie` is the share of a group's contents that
    come from one of the two lists in step 2. A divergence is reported for each of `folds` parts of the profiles.
    `alpha` is the level of the published rule's tests (``None``: not computed); `join` says how they become one result.
    `max_draw_weights` is the most random weights for clusters of a kind (``None``, without `strata`: no limit).
    `impact` adds the ratios of mean scores between groups, for decisions of the catalog such as hiring.
    """

    tie: float
    labels: Sequence[str]
    folds: int
    delta_individual: float | None
    delta_loss: float | None
    scale: Scale | Literal["auto"]
    alpha: float | None = None
    join: Aggregate = "worst"
    max_draw_weights: int | None = None
    impact: bool = False

    @property
    def judges_strata(self) -> bool:
        """Whether each stratum is judged separately. If so, differences of more than two values are fitted jointly."""
        return self.max_draw_weights is not None


@dataclass(frozen=True)
class JudgingTask:
    """Answers to judge, answers to repeated questions (`repeated_answers`), and families of strata of the profiles.

    A family is a column of records, or the frames or lists of contents of sentences. `not_within` names columns whose
    strata are not judged. If `letter_only`, the details beside the letter, which take longer, are left out.
    """

    answers: Answers
    repeated_answers: Answers
    families: Families
    rules: Rules
    letter_only: bool
    not_within: Sequence[str] = ()
    label_effects_cache: dict[bool, tuple[HiddenEffect, ...]] = field(default_factory=dict, compare=False)
    """Cache of the effects on single items: all labels without scores have the same; key: `maybe_noise`."""

    @cached_property
    def complete_indices(self) -> Sequence[int]:
        """Indices of the profiles with a usable answer for every value of the attribute."""
        return self.answers.complete_indices

    @cached_property
    def cases(self) -> list[Case]:
        """Profiles with a usable answer for every value of the attribute."""
        return [self.answers.cases[index] for index in self.complete_indices]

    @cached_property
    def clusters(self) -> Mapping[str, Integers]:
        """Index of the cluster (such as a person) of each profile in `cases`, by kind of cluster.

        With `judges_strata`, the kind "person" is left out if all are about the same unnamed people ("he", "she").
        """
        cluster_ids = numbered_clusters(self.cases)
        has_one_person = "person" in cluster_ids and not cluster_ids["person"].any()  # the only cluster is number 0
        if self.rules.judges_strata and has_one_person:
            words = self.cases[0].clusters["person"].split(JOINED)  # a word for each value
            if all(word.islower() or word.lower() in PRONOUNS for word in words):  # names are capitalised
                del cluster_ids["person"]
        return cluster_ids

    @cached_property
    def groups(self) -> Integers | None:
        """Index of the attribute's original value of each record in `cases`; ``None`` for sentences."""
        original_values = [case.original for case in self.cases]
        return None if original_values[0] is None else np.array(original_values, dtype=np.int64)

    @property
    def lost_shares(self) -> tuple[float, float]:
        """Share of profiles that lack an answer, and the largest weight they could have in a difference of step 2."""
        lost_share = 1 - len(self.cases) / len(self.answers.cases)
        if self.groups is None:  # sentences: a list of contents has the share `tie` of one group, 1 - `tie` of another
            return lost_share, (2 * self.rules.tie - 1) * lost_share
        sent, usable = (Counter(case.original for case in cases) for cases in (self.answers.cases, self.cases))
        return lost_share, max(1 - usable[group] / count for group, count in sent.items())  # of the worst group

    @cached_property
    def label_changes(self) -> tuple[LabelsDocument, ...]:
        """Number of profiles whose label differs, for each pair of values."""
        values, labels = self.answers.values, self.labels_of(self.answers, self.complete_indices)
        return tuple(
            LabelsDocument(values[a], values[b], int((labels[:, a] != labels[:, b]).sum()))
            for a, b in combinations(range(len(values)), 2)
        )

    @cached_property
    def repeated_indices(self) -> Sequence[int]:
        """Indices of the profiles asked `TIMES` times, with a usable answer for every value each time.

        `repeated_answers` holds the repetitions (turns): in each, the first profiles of `answers` were asked again.
        """
        profiles_per_turn = len(self.repeated_answers.cases) // (TIMES - 1)
        answered_again = {*self.repeated_answers.complete_indices}  # turn by turn
        turns = range(TIMES - 1)
        return [
            index
            for index in self.complete_indices
            if index < profiles_per_turn and all(index + turn * profiles_per_turn in answered_again for turn in turns)
        ]

    def stack_repeats(self, read_answers: Callable[[Answers, Sequence[int]], A]) -> A:
        """Read repeated profiles' answers in each repetition with `read_answers`; shape (profiles, values, `TIMES`)."""
        profiles_per_turn = len(self.repeated_answers.cases) // (TIMES - 1)
        repeats = [
            read_answers(self.repeated_answers, [index + turn * profiles_per_turn for index in self.repeated_indices])
            for turn in range(TIMES - 1)
        ]
        return np.stack([read_answers(self.answers, self.repeated_indices), *repeats], axis=2)  # type: ignore[return-value]

    @cached_property
    def sentence_cells(self) -> tuple[Integers, int]:
        """Index of each profile's sentence (frame and content), and the number of all possible combinations."""
        (frames, frame_index), (contents, content_index) = (
            np.unique([case.clusters[kind] for case in self.cases], return_inverse=True) for kind in TEXT_PARTS
        )
        return frame_index * len(contents) + content_index, len(frames) * len(contents)

    def labels_of(self, answers: Answers, indices: Sequence[int]) -> NDArray[np.str_]:
        """Return the returned or likeliest label of the profiles at `indices`, shape (profiles, values)."""
        values = range(len(answers.values))
        return np.array([[answers.label(index, value) for value in values] for index in indices])

    @cached_property
    def label_numbers(self) -> tuple[Integers, Integers | None]:
        """Labels, coded as numbers, of `cases` and of repeated profiles; ``None`` if none were repeated."""
        labels = self.labels_of(self.answers, self.complete_indices)
        repeats = self.stack_repeats(self.labels_of) if self.repeated_indices else labels[:0, :, None]  # empty
        distinct_labels, numbers = np.unique(np.concatenate([labels.ravel(), repeats.ravel()]), return_inverse=True)
        if self.rules.labels:
            judged_labels = [self.answers.spellings.first(label) for label in self.rules.labels]
            is_judged = np.isin(distinct_labels, judged_labels)  # these get numbers from 1, others 0
            numbers = np.where(is_judged, np.arange(len(distinct_labels)) + 1, 0)[numbers]
        first_numbers, repeat_numbers = np.split(numbers, [labels.size])
        has_repeats = bool(self.repeated_indices)
        return first_numbers.reshape(labels.shape), repeat_numbers.reshape(repeats.shape) if has_repeats else None

    def table(self, answers: Answers, label: str | None) -> Floats:
        """Return outputs, shape (profiles, values): numbers, or scores of `label` (0 if absent); NaN for no answer."""
        table = np.full((len(answers.cases), len(answers.values)), np.nan)
        for (profile, value), answer in answers.replies.items():
            table[profile, value] = answer if label is None else answer.get(label, 0.0)
        return table


def value_or_why(document_class: Callable[..., D], compute: Callable[[], V]) -> V | D:
    """Return the result of `compute`; if it raises `EvidenceError`, a document with the message as ``why``."""
    try:
        return compute()
    except EvidenceError as error:
        return document_class(why=str(error))
