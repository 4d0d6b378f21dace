"""The association posterior against PyMC's NUTS with its defaults: ``python -m benchmarks.bench_association``.

Both draw from one model (P2; a residual for each connection) on one table: 15 protected words and 322
attribute words, 4,830 rows. PyMC is not part of Assay. Without it, only Assay's own time is printed,
with the package that the environment needs for the ratio: ``pymc``.
"""

from __future__ import annotations

import importlib
import importlib.util
import logging
import statistics
import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.statistics.bayes.hierarchy import PRIORS, Posterior, fit_hierarchy

DRAWS = 4000
REPEATS = 30
AGREEMENT = 0.1
"""Largest permitted difference of two means, in posterior standard deviations."""

WANTED = 500
"""Required ratio of PyMC's time to Assay's."""

FEW_ROWS = 10
"""Number of rows per word below which the PyMC model has offsets as parameters."""

WORDS = 15
ATTRIBUTES = {"associated": 55, "different": 110, "human": 85 * WORDS, "neutral": 226 * WORDS}
"""Rows of each connection, as in P2's religion table; a word has 3 to 4 associated rows."""

TRUTH = {"associated": (0.83, 0.12), "different": (0.88, 0.09), "human": (0.91, 0.05), "neutral": (0.95, 0.03)}
"""True mean and spread over words in the simulated table."""


@dataclass(frozen=True)
class Rows:
    """A table of cosine distances."""

    distance: NDArray[np.float64]
    connection: NDArray[np.str_]
    protected: NDArray[np.str_]


def simulated(rng: np.random.Generator) -> Rows:
    """Draw a table with the shape of P2's religion/Reddit."""
    distance, connection, protected = [], [], []
    for name, rows in ATTRIBUTES.items():
        mu, tau = TRUTH[name]
        beta, word = rng.normal(mu, tau, WORDS), np.arange(rows) % WORDS
        distance.append(np.clip(rng.normal(beta[word], 0.19), 0, 2))
        connection += [name] * rows
        protected += [f"word-{at:02}" for at in word]
    return Rows(np.concatenate(distance), np.array(connection), np.array(protected))


def assay_seconds(rows: Rows) -> float:
    """Return the median seconds of a whole fit, from rows to draws."""
    taken = []
    for seed in range(REPEATS):
        start = time.perf_counter()
        fit(rows, seed)
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)


def fit(rows: Rows, seed: int, draws: int = DRAWS) -> Posterior:
    return fit_hierarchy(rows.distance, rows.connection, rows.protected, np.random.default_rng(seed), draws=draws)


def pymc_model(pm: Any, rows: Rows, names: tuple[str, ...]) -> Any:
    """Write the model as a careful PyMC user would.

    It is vectorised, and has the words' offsets, not their means, as parameters where a word has few rows.
    With means everywhere, the chains are a third faster, but diverge in a tenth of their draws and end
    0.2 to 0.4 sd from the correct means.
    """
    at_connection = np.array([names.index(name) for name in rows.connection])
    words, at_word = np.unique(rows.protected, return_inverse=True)
    prior = PRIORS["paper"]
    with pm.Model() as model:
        mu = pm.Normal("mu", prior.mean, prior.sd, shape=len(names))
        tau = pm.Exponential("tau", prior.spread_rate, shape=len(names))
        sigma = pm.Exponential("sigma", prior.residual_rate, shape=len(names))
        means = []
        for at, name in enumerate(names):
            if ATTRIBUTES[name] < FEW_ROWS * WORDS:
                means.append(mu[at] + tau[at] * pm.Normal(f"offset_{name}", shape=len(words)))
            else:
                means.append(pm.Normal(f"mean_{name}", mu[at], tau[at], shape=len(words)))
        beta = pm.Deterministic("beta", pm.math.stack(means))
        pm.Normal("y", beta[at_connection, at_word], sigma[at_connection], observed=rows.distance)
    return model


@dataclass(frozen=True)
class Chains:
    """Result of PyMC's defaults: seconds, draws of every parameter by name, and number of divergences."""

    seconds: float
    drawn: dict[str, NDArray[np.float64]]
    diverged: int

    @property
    def draws(self) -> int:
        return len(self.drawn["mu"])


def pymc_run(rows: Rows, names: tuple[str, ...]) -> Chains:
    """Sample with PyMC's defaults twice, and return the second run, which needs no compilation."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pm = importlib.import_module("pymc")
        logging.getLogger("pymc").setLevel(logging.ERROR)
        with pymc_model(pm, rows, names):
            for seed in (1, 2):
                start = time.perf_counter()
                trace = pm.sample(random_seed=seed, progressbar=False)
                seconds = time.perf_counter() - start
    drawn = {name: trace.posterior[name].to_numpy() for name in ("mu", "tau", "sigma", "beta")}
    together = {name: one.reshape(-1, *one.shape[2:]) for name, one in drawn.items()}
    return Chains(seconds, together, int(trace.sample_stats["diverging"].sum()))


def furthest(ours: Posterior, theirs: dict[str, NDArray[np.float64]]) -> float:
    """Largest difference of two means, over every parameter, in posterior sds."""
    pairs = []
    for at, part in enumerate(ours.connection_draws):
        pairs += [(getattr(part, name), theirs[name][:, at]) for name in ("mu", "tau", "sigma")]
        pairs += [(drawn, theirs["beta"][:, at, word]) for word, drawn in enumerate(part.beta)]
    return max(float(abs(one.mean() - other.mean()) / one.std()) for one, other in pairs)


def main() -> None:
    """Print both times, their ratio and how far the means are apart."""
    rows = simulated(np.random.default_rng(20))
    ours = assay_seconds(rows)
    print(f"association posterior, {rows.distance.size} rows, {DRAWS} draws: {1000 * ours:.1f} ms")
    if importlib.util.find_spec("pymc") is None:
        print("PyMC is not in this environment, so there is no ratio; install it beside Assay: pip install pymc")
        return
    # ten times as many draws as usual, so that the remaining Monte Carlo error is PyMC's
    posterior = fit(rows, 1, draws=10 * DRAWS)
    theirs = pymc_run(rows, posterior.connections)
    ratio, apart = theirs.seconds / ours, furthest(posterior, theirs.drawn)
    print(
        f"PyMC's NUTS with its defaults, compiled: {theirs.seconds:.2f} s for {theirs.draws} draws, "
        f"{theirs.diverged} of which diverged"
    )
    print(f"ratio {ratio:.0f} (at least {WANTED} is wanted); means at most {apart:.3f} sd apart (at most {AGREEMENT})")
    if ratio < WANTED or apart > AGREEMENT:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
