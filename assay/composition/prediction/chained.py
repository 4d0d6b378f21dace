"""Transition matrix of a chain of services: the product of their matrices, or their answers chained by content.

Content by content, the first service's recorded answer to each sentence is looked up among the second's questions, and
so on, as a measurement of the composite would do. If a question was not recorded, the service's matrix replaces the
answer.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from assay.composition.prediction.measured_service import TransitionEvidence
from assay.model import Floats
from assay.statistics.bayes.transition import draw_excess_concordance, draw_transitions


@dataclass(frozen=True)
class ChainDraws:
    """Draws of a chain's transition matrix: the probability of each output, given the value in the input."""

    transitions: Floats
    """Probability of each output for each input value; shape (draws, rows, outputs)."""
    content: Floats | None
    """Excess concordance (equal answers beyond chance); shape (draws,). ``None``: no content asked with two values."""
    unmeasured: Floats
    """Share of the inputs that reach a later service without a value, in [0, 1]; shape (draws, rows). The answers to
    such texts were never measured, so that the outputs are known only to within this share."""


def chain_pooled(services: Sequence[TransitionEvidence], rng: np.random.Generator, draws: int) -> ChainDraws:
    """Draw a chain's transition matrix (product of its services') and concordance (equal answers beyond chance)."""
    first, *later_services = services
    transitions = draw_transitions(first.table, rng, draws)
    chain_concordance = _draw_concordance(first, transitions, rng)
    unmeasured_share = np.zeros(transitions.shape[:2])
    for service in later_services:
        unmeasured_share += transitions[:, :, -1]  # shares that reach this service without a value
        service_matrix = draw_square(service, rng, draws)
        asked_rows = service_matrix[:, : len(service.rows)]  # without the row for text without a value
        own_concordance = _draw_concordance(service, asked_rows, rng)
        chain_concordance = _carry_over(transitions, chain_concordance, service_matrix, own_concordance)
        transitions = transitions @ service_matrix
    return ChainDraws(transitions, chain_concordance, np.minimum(unmeasured_share, 1.0))


def draw_square(service: TransitionEvidence, rng: np.random.Generator, draws: int) -> Floats:
    """Draw a service's probabilities that each output comes from each input; shape (draws, outputs, outputs).

    The last row is of text without a value, which was never sent; it has the prior alone, ``Dirichlet(1 / outputs)``.
    """
    return draw_transitions(np.vstack([service.table, np.zeros(len(service.outputs), dtype=np.int64)]), rng, draws)


def _draw_concordance(service: TransitionEvidence, transitions: Floats, rng: np.random.Generator) -> Floats | None:
    return draw_excess_concordance(service.equal, service.pairs, transitions, rng)


def _carry_over(
    chain: Floats, chain_concordance: Floats | None, service: Floats, own_concordance: Floats | None
) -> Floats | None:
    """Return the excess concordance of a chain after a service with the square matrix `service`; shape (draws,).

    That is the probability of equal answers to two values, minus the probability by chance.
    Two sentences with the same content and two values leave the chain with one value or with two. With
    one value, the service gets the same sentence twice; its answers count as equal, because Assay asks no
    sentence twice. With two values, its answers are equal by chance and by its own excess concordance.
    """
    if chain_concordance is None or own_concordance is None:
        return None
    transitions_after = chain @ service
    # element (i, j): probability that the values i and j get the same answer
    p_same_by_chance = service @ service.transpose(0, 2, 1)
    p_same = np.clip(p_same_by_chance + own_concordance[:, None, None], 0.0, 1.0)
    pairs = list(combinations(range(chain.shape[1]), 2))
    excess = np.zeros(len(chain))
    for a, b in pairs:
        joint = chain[:, a, :, None] * chain[:, b, None, :]  # element (i, j): a leaves as i and b as j, by chance
        p_one_value_by_chance = np.einsum("dii->d", joint)
        p_two_values_by_chance = 1.0 - p_one_value_by_chance
        p_one_value = np.clip(p_one_value_by_chance + chain_concordance, 0.0, 1.0)
        p_same_answer_to_different = np.einsum("dij,dij->d", joint, p_same) - np.einsum("dii,dii->d", joint, p_same)
        # `scale` takes the probability of two values from that by chance to that with the excess concordance
        is_possible = p_two_values_by_chance > 0
        scale = np.divide(1.0 - p_one_value, p_two_values_by_chance, out=np.zeros(len(chain)), where=is_possible)
        by_chance = np.einsum("dv,dv->d", transitions_after[:, a], transitions_after[:, b])
        excess += p_one_value + scale * p_same_answer_to_different - by_chance
    return np.asarray(excess / len(pairs), dtype=float)


Answers = tuple[tuple[float, ...] | None, ...]
"""For each value in the question: the share of each output; ``None`` if the question was not asked."""


@dataclass(frozen=True)
class RecordedPath:
    """Recorded path of a sentence through a chain."""

    row: int
    """Index of the input value."""
    final_shares: tuple[float, ...]
    """Shares of the final outputs, as far as they were recorded; shape (outputs,)."""
    missing: tuple[tuple[float, ...], ...]
    """For each later service and each value in its input, the share of sentences that it has no recorded answer to;
    shape (services - 1, outputs). The matrices of this and all following services replace these answers."""


def share_matched(services: Sequence[TransitionEvidence]) -> float:
    """Return the share of the first service's sentences whose path through the chain was recorded, in [0, 1]."""
    path_counts = Counter(path for stages in _answers_by_content(services) for path in _recorded_paths(stages))
    total = path_counts.total()
    return sum(count * sum(path.final_shares) for path, count in path_counts.items()) / total if total else 0.0


def chain_stratified(services: Sequence[TransitionEvidence], rng: np.random.Generator, draws: int) -> ChainDraws:
    """Draw the transition matrix of a chain from the answers to each content (text without value), resampled.

    ``T = sum_o w_o T1_o @ T2_o`` over contents o; their weights w are a Bayesian bootstrap, with the prior
    of a measured matrix (1 / outputs for each output) as an additional content. If the path of every
    sentence was recorded once, the result is the posterior that measuring the composite would give.
    """
    rows, outputs = services[0].table.shape
    matrices = [draw_square(service, rng, draws) for service in services[1:]]
    onward_matrices, visit_counts = _later_products(matrices)
    contents = _answers_by_content(services)
    # gamma numbers become Dirichlet weights after division by their sum; these are the prior's
    weighted_shares = rng.gamma(1 / outputs, size=(draws, rows, outputs))
    unmeasured = np.zeros((draws, rows))
    for path, count in Counter(path for stages in contents for path in _recorded_paths(stages)).items():
        weight = rng.gamma(count, size=draws)
        output_shares: Floats = np.broadcast_to(np.array(path.final_shares), (draws, outputs))
        for missing, onward_matrix, visits in zip(path.missing, onward_matrices, visit_counts, strict=True):
            if any(missing):  # the matrices replace these answers
                output_shares = output_shares + np.array(missing) @ onward_matrix
                unmeasured[:, path.row] += weight * (visits @ np.array(missing))
        weighted_shares[:, path.row] += weight[:, None] * output_shares
    totals = weighted_shares.sum(axis=2)
    transitions = weighted_shares / totals[:, :, None]
    concordance = _draw_stratified_content(contents, matrices, transitions, rng)
    return ChainDraws(transitions, concordance, np.minimum(unmeasured / totals, 1.0))


def _answers_by_content(services: Sequence[TransitionEvidence]) -> list[tuple[Answers, ...]]:
    """Return all services' answers to each content (a sentence without its value) that the first was asked about."""
    return [tuple(_answers_by_row(service, content) for service in services) for content in services[0].contents]


def _answers_by_row(service: TransitionEvidence, content: str) -> Answers:
    """Return the answers of a service to a content, for each value that the service before it can return."""
    rows = service.contents.get(content, {})
    return tuple(_shares(rows.get(row, {}), service.outputs) for row in service.outputs)


def _shares(counts: Mapping[str, int], outputs: Sequence[str]) -> tuple[float, ...] | None:
    total = sum(counts.values())
    return tuple(counts.get(output, 0) / total for output in outputs) if total else None


def _recorded_paths(stages: tuple[Answers, ...]) -> Iterator[RecordedPath]:
    """Yield each sentence's path through the chain, for one content; `stages` has the answers of each service."""
    first_answers, *later_stages = stages
    for row, shares in enumerate(first_answers):
        if shares is None:
            continue
        stage_shares, missing = np.array(shares), []
        for stage in later_stages:
            is_known = np.array([answer is not None for answer in stage])
            missing.append(tuple(np.where(is_known, 0.0, stage_shares).tolist()))
            stage_shares = stage_shares @ _fill_matrix(stage, np.zeros((len(stage), len(stage))))  # 0: not recorded
        yield RecordedPath(row, tuple(stage_shares.tolist()), tuple(missing))


def _later_products(matrices: Sequence[Floats]) -> tuple[list[Floats], list[Floats]]:
    """For each later service, return the shares of the final outputs by its input; shape (draws, outputs, outputs).

    Also return how many services are expected to receive text without a value, from this service on; shape (draws,
    outputs).
    """
    onward_matrices: list[Floats] = []
    visit_counts: list[Floats] = []
    for matrix in reversed(matrices):
        visits = np.zeros(matrix.shape[:2])
        visits[:, -1] = 1.0  # the last input, text without a value, is received by this service itself
        if visit_counts:  # and by later ones, which receive its outputs
            visits += (matrix @ visit_counts[0][:, :, None])[:, :, 0]
        visit_counts.insert(0, visits)
        onward_matrices.insert(0, matrix @ onward_matrices[0] if onward_matrices else matrix)
    return onward_matrices, visit_counts


def _draw_stratified_content(
    contents: Sequence[tuple[Answers, ...]], matrices: Sequence[Floats], transitions: Floats, rng: np.random.Generator
) -> Floats | None:
    """Draw how often two values get equal answers beyond chance; ``None`` if no content was asked with two values."""
    mean_matrices = [matrix.mean(axis=0) for matrix in matrices]  # for answers that were not recorded
    equal_pairs, pairs_by_rows = 0.0, Counter[tuple[int, int]]()  # expected number of equal pairs, number of all
    for (first_answers, *later), count in Counter(contents).items():
        stage_matrices = [_fill_matrix(stage, matrix) for stage, matrix in zip(later, mean_matrices, strict=True)]
        for (a, first_shares), (b, second_shares) in combinations(enumerate(first_answers), 2):
            if first_shares is not None and second_shares is not None:
                equal_pairs += count * _chance_of_equal(np.array(first_shares), np.array(second_shares), stage_matrices)
                pairs_by_rows[a, b] += count
    pair_count = pairs_by_rows.total()
    return draw_excess_concordance(round(equal_pairs), pair_count, transitions, rng, weights=pairs_by_rows or None)


def _fill_matrix(answers: Answers, matrix: Floats) -> Floats:
    """Return a copy of a service's `matrix`, with the recorded answers to one content in the rows of their values."""
    matrix_with_answers = matrix.copy()
    for row, shares in enumerate(answers):
        if shares is not None:
            matrix_with_answers[row] = shares
    return matrix_with_answers


def _chance_of_equal(first_shares: Floats, second_shares: Floats, matrices: Sequence[Floats]) -> float:
    """Return the probability that two sentences of one content get equal outputs; texts that became equal stay so."""
    joint = np.outer(first_shares, second_shares)
    for matrix in matrices:  # of each later service
        diagonal = np.diagonal(joint)  # pairs that are equal before this service
        joint = matrix.T @ (joint - np.diag(diagonal)) @ matrix + np.diag(diagonal @ matrix)
    return float(np.trace(joint))
