"""Vectors of numbers as inputs: drawing them for each value and side, their answers and importance weights."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from assay.document import NO_ENTRIES, Shares
from assay.methods.shared.answers.of_profiles import BY_LABEL, Answers
from assay.methods.shared.profiles import Case
from assay.methods.stimulus_sampling.inputs import VectorStimuli
from assay.methods.stimulus_sampling.reading import read_positives
from assay.methods.stimulus_sampling.resemblance import AnsweredVectors
from assay.model import Floats, Reason, Reply
from assay.statistics.bayes.importance import Weights, effective, weigh
from assay.statistics.bayes.surrogate import DEFENCE, Surrogate, log_mean_probability, sample_posterior
from assay.statistics.intervals.both_sides import SIDES
from assay.statistics.intervals.sampling_effects import SamplingEffects, cell_effects
from assay.statistics.special import special

PriorCell = tuple[int, int]
"""A cell of the prior: (index of a value, index of a side)."""

PRIOR_VECTORS = 50
"""Number of vectors drawn for each cell (value and side), with which inputs of the positive class are compared."""


@dataclass(frozen=True)
class Supply:
    """Vectors drawn for one cell (value and side of the content), in the order in which they are asked about."""

    vectors: Floats
    """Numbers that are sent; shape (n, dims)."""
    scale: Floats
    """Importance weight of each vector: the prior's density over the density that it was drawn from; shape (n,). The
    mean of the weighted probabilities of the positive class is the cell's positive rate."""


def from_prior(stimuli: VectorStimuli, count: int, rng: np.random.Generator) -> dict[PriorCell, Supply]:
    """Draw `count` vectors of each cell (value and side of the content) from the prior, so that all weigh the same."""
    supplies = {}
    for (cell, prior), child_rng in zip(stimuli.priors.items(), rng.spawn(len(stimuli.priors)), strict=True):
        supplies[cell] = Supply(stimuli.rounded(prior.draw(count, child_rng)), scale=np.ones(count))  # equal weights
    return supplies


def from_surrogate(
    stimuli: VectorStimuli, surrogate: Surrogate, count: int, rng: np.random.Generator
) -> dict[PriorCell, Supply]:
    """Draw `count` vectors of each cell from the surrogate's distribution of inputs of the positive class.

    One in ten comes from the prior itself (`DEFENCE`), to sample positive inputs that the surrogate overlooks.
    """
    supplies = {}
    for (cell, prior), child_rng in zip(stimuli.priors.items(), rng.spawn(len(stimuli.priors)), strict=True):
        posterior_vectors = sample_posterior(surrogate, prior, count, child_rng)
        prior_vectors = prior.draw(count, child_rng)
        vectors = np.where(child_rng.random(count)[:, None] < DEFENCE, prior_vectors, posterior_vectors)
        # density of the posterior over that of the prior, at the unrounded vectors, because those were drawn
        density_ratio = np.exp(special.log_expit(surrogate.score(vectors)) - log_mean_probability(surrogate, prior))
        supplies[cell] = Supply(stimuli.rounded(vectors), scale=1 / (DEFENCE + (1 - DEFENCE) * density_ratio))
    return supplies


def vector_cases(
    supplies: Mapping[PriorCell, Supply], count: int, stimuli: VectorStimuli, kind: str
) -> Iterator[tuple[PriorCell, Case]]:
    """Yield (cell, case) for the first `count` vectors of each cell; the cases' names begin with `kind`."""
    for (value, side), supply in supplies.items():
        for index, vector in enumerate(supply.vectors[:count]):
            yield (value, side), Case(f"{kind}/{value}-{side}/{index}", (stimuli.record(vector),), original=value)


@dataclass(frozen=True)
class AnsweredCells:
    """Vectors whose reply has a usable probability of the positive class, by value and side of the content (a cell)."""

    values: tuple[str, ...]
    sides: tuple[str, ...]
    label: str
    cells: Mapping[tuple[int, int], Floats]
    """By cell: probability of the positive class of each vector times its weight; the mean is the positive rate."""
    scales: Mapping[tuple[int, int], Floats]
    """By cell: importance weight of each vector."""
    weights: Weights
    resemblance: AnsweredVectors
    """The vectors, with their shares among the inputs of the positive class."""
    by_label: Self | Reason | None = None
    """The same vectors by their labels alone, if too many of these contradict the scores."""

    clusters: ClassVar[Shares] = NO_ENTRIES
    effective_clusters: ClassVar[dict[str, float]] = {}
    """Effective number of clusters behind the positive answers: empty, because vectors share no clusters."""
    estimand: ClassVar[str] = "any vector of the stated prior"

    @property
    def cell_count(self) -> int:
        """Number of cells from which inputs were drawn."""
        return len(self.cells)

    @property
    def rates(self) -> Floats:
        """Positive rate of each cell, shape (values, 2)."""
        cells = [[self.cells[value, side] for side in range(SIDES)] for value in range(len(self.values))]
        return np.array([[positives.mean() for positives in row] for row in cells], dtype=float)

    def with_opposite_label(self) -> Self:
        """Return the vectors with the opposite label as positive class: each probability p becomes 1 - p."""
        return replace(self, cells={cell: self.scales[cell] - positives for cell, positives in self.cells.items()})

    def effective_inputs(self, side: int) -> float:
        """Return the effective number of inputs (Kish) behind the positive answers of a side."""
        return effective(np.concatenate([self.cells[value, side] for value in range(len(self.values))]))

    def input_count(self, side: int) -> int:
        """Return the smallest number of inputs over the cells of a side."""
        return min(len(self.cells[value, side]) for value in range(len(self.values)))

    def effects(self, tie: float, rng: np.random.Generator, *, within: Sequence[int]) -> SamplingEffects:
        """Return draws of both steps' effects, and of the effect in each side of contents with index in `within`."""
        return cell_effects(self.cells, len(self.values), tie, rng, within=within)


def vector_answers(cell_replies: Iterable[Sequence[Reply]]) -> Answers:
    """Return the answers to vectors; a vector is asked about once, so there is only one value, which has no name."""
    replies = [reply for replies_of_cell in cell_replies for reply in replies_of_cell]
    answers = Answers(tuple(Case(str(index), ()) for index in range(len(replies))), values=("",), numbers=False)
    for index, reply in enumerate(replies):
        answers.take(index, 0, reply)
    return answers


def answered_cells(
    stimuli: VectorStimuli,
    supplies: Mapping[PriorCell, Supply],
    replies: Mapping[PriorCell, Sequence[Reply]],
    requested_label: str | None,
    rng: np.random.Generator,
    answers: Answers | None = None,
) -> AnsweredCells | Reason:
    """Combine vectors and replies, in the order of each supply (a cell's vectors); return a reason if few are usable.

    `requested_label` is the label of the positive class; ``None``: the rarer of two labels. `rng` draws vectors of the
    prior, with which the vectors of the positive class are compared. `answers` are the replies as answers.
    """
    answers = vector_answers(replies.values()) if answers is None else answers
    positives = read_positives(answers, requested_label)
    if isinstance(positives, Reason):
        return positives
    label, p_positive = positives[0], positives[1][:, 0]
    by_label: AnsweredCells | Reason | None = None
    if answers.contrary_labels() is not None:  # labels contradict the scores beside them
        by_label = answered_cells(stimuli, supplies, replies, f"{label}{BY_LABEL}", rng.spawn(1)[0], answers.by_label())
    # a supply is as large as the last look, and its first vectors were asked about
    vectors = np.concatenate([supplies[cell].vectors[: len(cell_replies)] for cell, cell_replies in replies.items()])
    scale = np.concatenate([supplies[cell].scale[: len(cell_replies)] for cell, cell_replies in replies.items()])
    cell_ids = np.repeat(np.arange(len(replies)), [len(cell_replies) for cell_replies in replies.values()])
    is_usable = np.isfinite(p_positive)
    vectors, scale = vectors[is_usable], scale[is_usable]
    cell_ids, p_positive = cell_ids[is_usable], p_positive[is_usable]
    weighted_positives = p_positive * scale
    # each cell has the same weight in the prior, whatever its number of usable replies
    input_shares = weighted_positives / np.bincount(cell_ids, minlength=len(replies))[cell_ids]
    samples = [(value, prior.draw(PRIOR_VECTORS, rng)) for (value, _side), prior in stimuli.priors.items()]
    resemblance = AnsweredVectors(
        names=stimuli.names,
        values=stimuli.values,
        prior_vectors=np.concatenate([vectors_of_prior for _, vectors_of_prior in samples]),
        prior_values=np.repeat([value for value, _ in samples], PRIOR_VECTORS),
        inputs=vectors,
        p_positive=p_positive,
        posterior=input_shares / input_shares.sum(),
    )
    return AnsweredCells(
        values=stimuli.values,
        sides=stimuli.side_names,
        label=label,
        cells={cell: weighted_positives[cell_ids == index] for index, cell in enumerate(replies)},
        scales={cell: scale[cell_ids == index] for index, cell in enumerate(replies)},
        weights=weigh(p_positive, proposed=1 / scale),
        resemblance=resemblance,
        by_label=by_label,
    )
