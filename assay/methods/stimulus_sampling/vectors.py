"""Vectors, each of one value of the attribute: their draws, replies and weights."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from assay.methods.shared.answers import LOST_SHARE, Answers, lost_reason, too_few
from assay.methods.shared.profiles import Case
from assay.methods.stimulus_sampling.inputs import VectorStimuli
from assay.methods.stimulus_sampling.reading import choose_label, flaw, no_probability, possible, probability
from assay.methods.stimulus_sampling.resemblance import VectorsHeard
from assay.model import Floats, Reason, Reply
from assay.statistics.bayes.importance import Weights, effective, weigh
from assay.statistics.bayes.surrogate import DEFENCE, Surrogate, log_mean_probability, sample_posterior
from assay.statistics.intervals.both_sides import SIDES
from assay.statistics.intervals.sampling_effects import SamplingEffects, cell_effects
from assay.statistics.special import special

Place = tuple[int, int]
"""A cell of the prior: the indices of a value and a side."""

BEFORE = 50
"""Number of vectors of each cell of the prior with which the inputs that get a yes are compared."""


@dataclass(frozen=True)
class Supply:
    """Vectors of a cell in the order in which they are asked about."""

    vectors: Floats
    """Numbers that are sent; shape (n, dims)."""
    scale: Floats
    """Importance weight of each vector: the prior's density over the density that it was drawn from; shape (n,). The
    mean of the weighted probabilities of yes is the cell's yes rate."""


def from_prior(stimuli: VectorStimuli, count: int, rng: np.random.Generator) -> dict[Place, Supply]:
    """Draw vectors of each cell from the prior."""
    drawn = {}
    for (cell, prior), own in zip(stimuli.priors.items(), rng.spawn(len(stimuli.priors)), strict=True):
        drawn[cell] = Supply(stimuli.rounded(prior.draw(count, own)), np.ones(count))
    return drawn


def from_surrogate(
    stimuli: VectorStimuli, surrogate: Surrogate, count: int, rng: np.random.Generator
) -> dict[Place, Supply]:
    """Draw vectors of each cell from the surrogate's posterior.

    One in ten comes from the prior itself (`DEFENCE`): the posterior never reaches inputs that the surrogate overlooks.
    """
    drawn = {}
    for (cell, prior), own in zip(stimuli.priors.items(), rng.spawn(len(stimuli.priors)), strict=True):
        found, plain = sample_posterior(surrogate, prior, count, own), prior.draw(count, own)
        vectors = np.where(own.random(count)[:, None] < DEFENCE, plain, found)
        # the density is that of the unrounded vectors, because these were drawn
        density = np.exp(special.log_expit(surrogate.score(vectors)) - log_mean_probability(surrogate, prior))
        drawn[cell] = Supply(stimuli.rounded(vectors), 1 / (DEFENCE + (1 - DEFENCE) * density))
    return drawn


def asked(
    supplies: Mapping[Place, Supply], count: int, stimuli: VectorStimuli, kind: str
) -> Iterator[tuple[Place, Case]]:
    """Yield the first `count` vectors of each cell as cases of one input."""
    for (value, side), supply in supplies.items():
        for place, vector in enumerate(supply.vectors[:count]):
            yield (value, side), Case(f"{kind}/{value}-{side}/{place}", (stimuli.record(vector),), own=value)


@dataclass(frozen=True)
class CellsHeard:
    """Vectors of each cell of the prior that were answered with a probability of yes."""

    values: tuple[str, ...]
    sides: tuple[str, ...]
    label: str
    cells: Mapping[tuple[int, int], Floats]
    """Weighted probabilities of yes, whose mean is the cell's yes rate."""
    scales: Mapping[tuple[int, int], Floats]
    """The weights: the values of `cells` if every answer were yes."""
    weights: Weights
    resemblance: VectorsHeard
    """The vectors, with their shares among the inputs that get a yes."""

    clusters: ClassVar[dict[str, dict[str, int]]] = {}
    carried_by: ClassVar[dict[str, float]] = {}
    """Effective number of clusters behind the yes answers: empty, because vectors share no clusters."""
    estimand: ClassVar[str] = "any vector of the stated prior"

    @property
    def cells_drawn(self) -> int:
        """Number of cells that inputs were drawn for."""
        return len(self.cells)

    @property
    def rates(self) -> Floats:
        """Yes rate of each cell, shape (values, 2)."""
        return np.array([[self.cells[v, s].mean() for s in range(SIDES)] for v in range(len(self.values))], dtype=float)

    def others(self) -> CellsHeard:
        """Return the same vectors with every other answer counted as yes: each probability p becomes 1 - p."""
        return replace(self, cells={cell: self.scales[cell] - yes for cell, yes in self.cells.items()})

    def effective_of(self, side: int) -> float:
        """Return the effective number of inputs (Kish) behind the yes answers of a side."""
        return effective(np.concatenate([self.cells[value, side] for value in range(len(self.values))]))

    def inputs_of(self, side: int) -> int:
        """Return the smallest number of inputs of a side with the same value."""
        return min(len(self.cells[value, side]) for value in range(len(self.values)))

    def effects(self, tie: float, rng: np.random.Generator, *, within: Sequence[int]) -> SamplingEffects:
        """Draw both effects, and the effect on each of the sides `within`."""
        return cell_effects(self.cells, len(self.values), tie, rng, within=within)


def read_vectors(replies: Sequence[Reply], wanted: str | None) -> tuple[str, Floats] | Reason:
    """Return the label of yes and each reply's probability of yes (NaN: unusable); a reason if too few are usable."""
    answers = Answers(tuple(Case(str(place), ()) for place in range(len(replies))), ("",), numbers=False)
    for place, reply in enumerate(replies):
        answers.take(place, 0, reply)
    answers.complete_top_labels()
    read = [answers.replies.get((place, 0)) for place in range(len(replies))]
    known = [one for one in read if one is not None]
    if too_few(answers, len(known)):
        return lost_reason(answers, len(known))
    label = choose_label(known, wanted)
    if isinstance(label, Reason):
        return label
    yes = np.array([np.nan if one is None else probability(one, label) for one in read])
    with np.errstate(invalid="ignore"):
        sound = possible(yes)
    if 1 - sound.sum() / len(replies) > LOST_SHARE:
        return no_probability(int((~sound).sum()), len(replies), label)
    return flaw(np.clip(yes[sound], 0.0, 1.0), label) or (label, np.where(sound, np.clip(yes, 0.0, 1.0), np.nan))


def hear_vectors(
    stimuli: VectorStimuli,
    supplies: Mapping[Place, Supply],
    replies: Mapping[Place, Sequence[Reply]],
    wanted: str | None,
    rng: np.random.Generator,
) -> CellsHeard | Reason:
    """Read the replies to the first vectors of each cell, in order; return a reason if they cannot be judged.

    `wanted` is the label that counts as yes; without it, the rarer of two does. `rng` draws vectors of the prior, with
    which the vectors that get a yes are compared.
    """
    read = read_vectors([reply for held in replies.values() for reply in held], wanted)
    if isinstance(read, Reason):
        return read
    label, yes = read
    vectors = np.concatenate([supplies[cell].vectors[: len(held)] for cell, held in replies.items()])
    scale = np.concatenate([supplies[cell].scale[: len(held)] for cell, held in replies.items()])
    ids = np.repeat(np.arange(len(replies)), [len(held) for held in replies.values()])
    known = np.isfinite(yes)
    vectors, scale, ids, yes = vectors[known], scale[known], ids[known], yes[known]
    corrected = yes * scale
    each = corrected / np.bincount(ids, minlength=len(replies))[ids]
    prior = [(value, one.draw(BEFORE, rng)) for (value, _), one in stimuli.priors.items()]
    resemblance = VectorsHeard(
        names=stimuli.names,
        values=stimuli.values,
        before=np.concatenate([drawn for _, drawn in prior]),
        value=np.repeat([value for value, _ in prior], BEFORE),
        asked=vectors,
        yes=yes,
        posterior=each / each.sum(),
    )
    return CellsHeard(
        values=stimuli.values,
        sides=stimuli.side_names,
        label=label,
        cells={cell: corrected[ids == place] for place, cell in enumerate(replies)},
        scales={cell: scale[ids == place] for place, cell in enumerate(replies)},
        weights=weigh(yes, 1 / scale),
        resemblance=resemblance,
    )
