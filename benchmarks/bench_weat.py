"""The exact p-value of WEAT against wefe's of 10,000 iterations: ``python -m benchmarks.bench_weat``.

Both start from the vectors of eight and eight target words and of eight and eight attribute words. wefe is not
part of Assay. Without it, only Assay's own time is printed, with the package that the environment needs for
the ratio: ``wefe==1.0.1``.

The p-values are printed and not compared. Assay counts all 12,870 partitions; wefe draws sixteen of the words
with replacement, so that a word may be on both sides, or twice on one side. Only the effect sizes must agree.
"""

from __future__ import annotations

import importlib
import importlib.util
import statistics
import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.statistics.embeddings.weat import Weat, weat

WORDS = 8
DIMS = 300
REPEATS = 200
ITERATIONS = 10_000

LEAN = 0.01
"""Weight of the attributes in the target vectors: gives an effect size of about 1, as in WEAT 7."""

AGREEMENT = 1e-5
"""Largest difference of the two effect sizes."""

WANTED = 5_000
"""Required ratio of wefe's time to Assay's."""

SETS = ("first", "second", "own", "other")

Vectors = dict[str, NDArray[np.float64]]


def simulated(rng: np.random.Generator) -> Vectors:
    """Draw vectors in which the first targets lean towards the first attributes, and the second towards the second."""
    drawn = {name: rng.normal(size=(WORDS, DIMS)) for name in SETS}
    drawn["first"] += LEAN * drawn["own"].sum(axis=0)
    drawn["second"] += LEAN * drawn["other"].sum(axis=0)
    return drawn


def assay_run(vectors: Vectors) -> tuple[float, Weat]:
    """Return the median seconds of a whole test, from vectors to p-value, and its result."""
    taken = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        found = weat(*(vectors[name] for name in SETS))
        taken.append(time.perf_counter() - start)
    return statistics.median(taken), found


@dataclass(frozen=True)
class Theirs:
    """Result of wefe: seconds, effect size, one-sided p-value."""

    seconds: float
    effect_size: float
    p: float


def wefe_run(vectors: Vectors) -> Theirs:
    """Run the same test with wefe once."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model, query, metric = _prepared(vectors)
        start = time.perf_counter()
        found = metric.run_query(query, model, calculate_p_value=True, p_value_iterations=ITERATIONS)
        seconds = time.perf_counter() - start
    return Theirs(seconds, float(found["effect_size"]), float(found["p_value"]))


def _prepared(vectors: Vectors) -> tuple[Any, Any, Any]:
    """Convert the vectors to a model and a query of wefe."""
    named = {f"{name}-{at}": row for name in SETS for at, row in enumerate(vectors[name])}
    keyed = importlib.import_module("gensim.models").KeyedVectors(DIMS)
    keyed.add_vectors(list(named), np.stack(list(named.values())))
    words = [[f"{name}-{at}" for at in range(WORDS)] for name in SETS]
    query = importlib.import_module("wefe.query").Query(words[:2], words[2:], list(SETS[:2]), list(SETS[2:]))
    model = importlib.import_module("wefe.word_embedding_model").WordEmbeddingModel(keyed, "simulated")
    return model, query, importlib.import_module("wefe.metrics").WEAT()


def main() -> None:
    """Print both times, their ratio, and how far the effect sizes are apart."""
    vectors = simulated(np.random.default_rng(7))
    seconds, ours = assay_run(vectors)
    print(f"WEAT of {WORDS} + {WORDS} words, {ours.p.partitions} partitions: {1000 * seconds:.2f} ms")
    print(f"effect size {ours.effect_size_ddof0:.4f}, p = {ours.p.p_one_sided:.5f} ({ours.p.p_method})")
    if importlib.util.find_spec("wefe") is None:
        print("wefe is not in this environment, so there is no ratio; needs: pip install wefe==1.0.1")
        return
    theirs = wefe_run(vectors)
    ratio, apart = theirs.seconds / seconds, abs(theirs.effect_size - ours.effect_size_ddof0)
    print(f"wefe at {ITERATIONS} iterations: {theirs.seconds:.1f} s")
    print(f"effect size {theirs.effect_size:.4f}, p = {theirs.p:.5f}")
    print(f"ratio {ratio:.0f} (at least {WANTED} is wanted); effect sizes {apart:.1e} apart (at most {AGREEMENT:.0e})")
    if ratio < WANTED or apart > AGREEMENT:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
