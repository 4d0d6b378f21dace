"""The exact sampler of a surrogate's posterior against numpyro's NUTS: ``python -m benchmarks.bench_sampler``.

P1 draws inputs with the No-U-Turn Sampler. Assay's target, a normal prior times a linear logit, needs no chain:
`assay.statistics.bayes.surrogate.sample_posterior`. Both draw here from one posterior in 100 correlated dimensions,
where the positive class is rare. The means must agree in every dimension, and the distribution along the slope by a
Kolmogorov-Smirnov test of the chains' draws, thinned to their effective sample size. numpyro is not part of Assay.
Without it, only Assay's own time is printed, with the package that the comparison needs.
"""

from __future__ import annotations

import importlib
import importlib.util
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import ks_2samp

from assay.statistics.bayes.surrogate import NormalPrior, Surrogate, log_mean_probability, sample_posterior

Floats = NDArray[np.float64]

DIMS, STEEPNESS, CONSTANT = 100, 3.0, -6.0
"""Dimensions, and the log odds of the positive class: their standard deviation under the prior, and their mean."""

CHAINS, WARM_UP, DRAWS = 4, 400, 1000
REPEATS = 30

ERRORS = 5.0
"""Standard errors by which means may differ, in the worst dimension."""

SMALLEST = 1e-3
"""Smallest p-value of the Kolmogorov-Smirnov test."""


def posterior(rng: np.random.Generator) -> tuple[Surrogate, NormalPrior]:
    """Make a prior of correlated dimensions, and a logit along a direction chosen at random."""
    factor = np.tril(rng.standard_normal((DIMS, DIMS))) / np.sqrt(DIMS) + np.eye(DIMS)
    weights = rng.standard_normal(DIMS)
    weights *= STEEPNESS / np.linalg.norm(weights @ factor)
    prior = NormalPrior(rng.standard_normal(DIMS), factor)
    return Surrogate(weights, float(CONSTANT - weights @ prior.mean)), prior


def exact(surrogate: Surrogate, prior: NormalPrior) -> tuple[float, Floats]:
    """Return the median time of several runs in seconds, and the vectors of the last."""
    seconds = []
    for seed in range(REPEATS):
        start = time.process_time()
        vectors = sample_posterior(surrogate, prior, CHAINS * DRAWS, np.random.default_rng(seed))
        seconds.append(time.process_time() - start)
    return float(np.median(seconds)), vectors


def nuts(surrogate: Surrogate, prior: NormalPrior) -> tuple[float, Floats]:
    """Return numpyro's time in seconds, everything compiled, and its vectors; shape (CHAINS, DRAWS, DIMS)."""
    jax, numpyro, infer = (importlib.import_module(name) for name in ("jax", "numpyro", "numpyro.infer"))
    numpyro.enable_x64()
    factor, mean, weights = (jax.numpy.asarray(one) for one in (prior.factor, prior.mean, surrogate.weights))

    def model() -> None:
        standard = numpyro.sample("standard", numpyro.distributions.Normal(0, 1).expand([prior.rank]).to_event(1))
        score = (factor @ standard + mean) @ weights + surrogate.constant
        numpyro.factor("yes", jax.nn.log_sigmoid(score))

    chains: Any = infer.MCMC(
        infer.NUTS(model), num_warmup=WARM_UP, num_samples=DRAWS, num_chains=CHAINS,
        chain_method="vectorized", progress_bar=False,
    )  # fmt: skip
    for seed in (1, 2):  # the first run includes compilation and is replaced by the second
        start = time.process_time()
        chains.run(jax.random.PRNGKey(seed))
        drawn = np.asarray(chains.get_samples(group_by_chain=True)["standard"], dtype=float)
        seconds = time.process_time() - start
    return seconds, prior.vectors_at(drawn)


def main() -> None:
    """Print both times and how well the draws agree."""
    surrogate, prior = posterior(np.random.default_rng(20))
    seconds, vectors = exact(surrogate, prior)
    print(f"posterior in {DIMS} dimensions; yes in {np.exp(log_mean_probability(surrogate, prior)):.4f} of the prior")
    print(f"exact sampler: {1000 * seconds:.1f} ms of CPU for {len(vectors)} independent draws")
    if importlib.util.find_spec("numpyro") is None:
        print("numpyro is not in this environment, so there is no comparison; install it: pip install numpyro")
        return
    theirs, chains = nuts(surrogate, prior)
    size = importlib.import_module("numpyro.diagnostics").effective_sample_size
    effective = np.minimum(np.asarray(size(chains)), chains[..., 0].size)
    error = np.hypot(chains.std(axis=(0, 1)) / np.sqrt(effective), vectors.std(axis=0) / np.sqrt(len(vectors)))
    apart = float((np.abs(chains.mean(axis=(0, 1)) - vectors.mean(axis=0)) / error).max())
    along = surrogate.score(chains)
    thin = max(1, int(np.ceil(along.size / float(size(along)))))
    p = float(ks_2samp(along[:, ::thin].ravel(), surrogate.score(vectors)).pvalue)
    print(f"numpyro's NUTS (double precision): {theirs:.2f} s of CPU for {CHAINS} x {DRAWS} draws, worth", end=" ")
    print(f"{float(size(along)):.0f} along the slope and {effective.min():.0f} in the worst dimension")
    print(f"ratio {theirs / seconds:.0f}; means at most {apart:.1f} standard errors apart (at most {ERRORS:g})")
    print(f"Kolmogorov-Smirnov along the slope p = {p:.2f} (at least {SMALLEST:g})")
    if apart > ERRORS or p < SMALLEST:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
