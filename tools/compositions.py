"""Random pairs of services: accuracy of a composite's predicted letter against that of a measured one.

Each service is a transition matrix. Both are measured with `INPUTS` inputs a row. The composite's letter is predicted
from these measurements (`assay.composition.prediction`), measured directly with as many inputs a row (which costs as
many calls of each service), and looked up in the tables by the measured letters. The true letter is that of the
product of the true matrices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.composition.chain import compose_chain
from assay.composition.prediction.measured_service import TransitionEvidence
from assay.composition.prediction.predicted import predict_chain
from assay.model import Evidence, Letter, Probabilities
from assay.rating.decision import letter_probabilities
from assay.statistics.bayes.transition import draw_transitions, step_effects

ROWS, OUTPUTS = ("he", "she"), ("he", "she", "other")
UNBIASED, BIASED = ((0.5, 0.5),), ((0.1, 0.9), (0.9, 0.1))
DELTA, CONFIDENCE = 0.1, 0.95
INPUTS = 60
PAIRS = 2_000
DRAWS = 4_000

NEARNESS = 100
"""Concentration of the Dirichlet by which a service's rows vary around its kind's matrix, by a few per cent."""

PREDICTED, MEASURED = "predicted from the matrices of the parts", "measured directly"

COLUMNS = ("how", "right", "of BS", "of DSBS", "of UCS", "declared right", "declared wrong", "left open")

Matrix = NDArray[np.float64]


# ---------------------------------------------------------------------------- simulated services
def faithful(_: np.random.Generator) -> Matrix:
    """Make a service that returns each value as it was sent."""
    return np.eye(3)


def flipper(rng: np.random.Generator) -> Matrix:
    """Make a service that turns up to half of one value into the other."""
    matrix, source, share = np.eye(3), rng.integers(2), rng.uniform(0, 0.5)
    matrix[source, source], matrix[source, 1 - source] = 1 - share, share
    return matrix


def swapper(rng: np.random.Generator) -> Matrix:
    """Make a service that swaps up to 30 % of the values."""
    matrix, share = np.eye(3), rng.uniform(0, 0.3)
    matrix[:2, :2] = [[1 - share, share], [share, 1 - share]]
    return matrix


def balancer(_: np.random.Generator) -> Matrix:
    """Make a service that answers each value at random."""
    matrix = np.eye(3)
    matrix[:2, :2] = 0.5
    return matrix


def collapser(rng: np.random.Generator) -> Matrix:
    """Make a service that turns half or more of the values into one."""
    share, value = rng.uniform(0.5, 1), rng.integers(2)
    matrix = np.eye(3) * (1 - share)
    matrix[:, value] += share
    return matrix


def eraser(rng: np.random.Generator) -> Matrix:
    """Make a service that loses up to half of the values."""
    share = rng.uniform(0, 0.5)
    matrix = np.eye(3) * (1 - share)
    matrix[:, 2] += share
    return matrix


KINDS: Sequence[Callable[[np.random.Generator], Matrix]] = (faithful, flipper, swapper, balancer, collapser, eraser)
"""Kinds of translators according to docs/methods/round-trip.md; all are equally likely."""


def random_service(rng: np.random.Generator, nearness: float = NEARNESS) -> Matrix:
    """Draw a service near one of the kinds: its true transition matrix, with a row for the output "other"."""
    kind_matrix = KINDS[int(rng.integers(len(KINDS)))](rng)
    return np.stack([rng.dirichlet(row * nearness + 1 / 3) for row in kind_matrix])


def true_letter(matrix: Matrix) -> Letter:
    """Return the letter that a matrix deserves."""
    effects = step_effects(matrix[None, : len(ROWS)], UNBIASED, BIASED)
    if effects.step_1[0] > DELTA:
        return Letter.BS
    return Letter.DSBS if effects.step_2[0] > DELTA else Letter.UCS


# ---------------------------------------------------------------------------- measurement
@dataclass(frozen=True)
class CompositeResult:
    """Result of one way to rate a composite; `letter` is ``None`` if this way leaves the letter open."""

    letter: Letter | None
    declared: bool


@dataclass(frozen=True)
class Pair:
    """One composite: its true letter, and the result of each way to rate it."""

    truth: Letter
    results: Mapping[str, CompositeResult]


def count_transitions(matrix: Matrix, inputs: int, rng: np.random.Generator) -> TransitionEvidence:
    """Count the outputs of a service that is asked `inputs` times with each value."""
    counts = tuple(tuple(rng.multinomial(inputs, row).tolist()) for row in matrix[: len(ROWS)])
    return TransitionEvidence(ROWS, OUTPUTS, counts, UNBIASED, BIASED, DELTA, CONFIDENCE)


def letter_chances(evidence: TransitionEvidence, rng: np.random.Generator) -> Probabilities:
    """Return the probabilities of a service's letters."""
    effects = step_effects(draw_transitions(evidence.table, rng, DRAWS), UNBIASED, BIASED)
    return letter_probabilities(Evidence(effects.step_1, effects.step_2), DELTA)


def likeliest_result(probabilities: Probabilities) -> CompositeResult:
    """Return the likeliest letter, and whether it is declared."""
    letter = probabilities.likeliest
    return CompositeResult(letter, probabilities.of(letter) >= CONFIDENCE)


def measure_pair(rng: np.random.Generator, inputs: int = INPUTS) -> Pair:
    """Draw two services, and rate their composite in every way."""
    first, second = random_service(rng), random_service(rng)
    composite = first @ second
    evidence_of_services = [count_transitions(matrix, inputs, rng) for matrix in (first, second)]
    letters = [letter_chances(matrix, rng).likeliest for matrix in evidence_of_services]
    predicted = predict_chain((evidence_of_services[0], evidence_of_services[1]), rng, DRAWS)
    results = {
        PREDICTED: CompositeResult(predicted.letter, predicted.declared),
        MEASURED: likeliest_result(letter_chances(count_transitions(composite, inputs, rng), rng)),
        "published table": CompositeResult(compose_chain(letters, "published").letter, declared=False),
        "revised table": CompositeResult(compose_chain(letters, "revised").letter, declared=False),
    }
    return Pair(true_letter(composite), results)


def measure_pairs(pairs: int = PAIRS, seed: int = 9, inputs: int = INPUTS) -> list[Pair]:
    """Rate many composites in every way, each with its own seed."""
    return [measure_pair(np.random.default_rng([seed, index]), inputs) for index in range(pairs)]


def share_right(pairs: Sequence[Pair], way: str) -> float:
    """Return the share of composites for which one way of rating gives the true letter, declared or leaning."""
    return sum(pair.results[way].letter is pair.truth for pair in pairs) / len(pairs)


# ---------------------------------------------------------------------------- page of results
def rows(pairs: Sequence[Pair]) -> Iterator[tuple[str, ...]]:
    """Return a row for each way to rate, under `COLUMNS`."""
    for way in pairs[0].results:
        results = [(pair.results[way], pair.truth) for pair in pairs]
        declared = [result.letter is truth for result, truth in results if result.declared]
        yield (
            way,
            f"{share_right(pairs, way):.3f}",
            *(_count_right(results, letter) for letter in (Letter.BS, Letter.DSBS, Letter.UCS)),
            str(sum(declared)),
            str(len(declared) - sum(declared)),
            str(sum(result.letter is None for result, _ in results)),
        )


def _count_right(results: Sequence[tuple[CompositeResult, Letter]], letter: Letter) -> str:
    right = [result.letter is truth for result, truth in results if truth is letter]
    return f"{sum(right)} of {len(right)}"


def section(pairs: Sequence[Pair]) -> Iterator[str]:
    """Write the page's part about compositions, line by line."""
    yield "## Compositions"
    yield f"{len(pairs)} random pairs of services (`tools/compositions.py`), each service rated with {INPUTS} inputs"
    yield "for each value. The prediction multiplies the matrices of the parts; the direct measurement of the chain"
    yield "uses as many calls. Right and declared as above. The tables start from the measured letters and declare no"
    yield "letter; chains that they leave open must be measured."
    yield ""
    yield f"| {' | '.join(COLUMNS)} |"
    yield f"|{'---|' * len(COLUMNS)}"
    for row in rows(pairs):
        yield f"| {' | '.join(row)} |"
    yield ""


if __name__ == "__main__":
    print("\n".join(section(measure_pairs())))
