"""Assay's No-U-Turn Sampler against numpyro's, on one core: ``python -m benchmarks.bench_sampler``.

Both draw from one posterior: a logistic regression on 500 rows of 100 correlated columns. Both make four
chains of 1,000 draws after 400 of warm-up, with their own defaults for the rest; what is compared is the
effective sample size of the worst dimension for each second of the core, everything compiled. numpyro runs
its chains together (``chain_method="vectorized"``), which takes it less than half the time of one after the
other. It is no part of Assay. Where it is missing, Assay's own speed is printed, with what to install for the
ratio.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.statistics.diagnostics import Convergence, convergence
from assay.statistics.nuts import Sampled, sample_nuts
from assay.statistics.nuts_tree import Target

Floats = NDArray[np.float64]

ROWS, DIMS, NEIGHBOURS = 500, 100, 0.5
"""Rows and columns of the design, and the correlation of columns beside each other."""

CHAINS, WARM_UP, DRAWS = 4, 400, 1000
REPEATS = 5
"""Runs of ours, the median of which counts; numpyro's second run counts."""

WANTED = 3.0
"""Times as many effective draws a second as numpyro's."""

AGREEMENT = 0.15
"""Means may differ by this share of a posterior sd: more than the Monte Carlo error of 100 dimensions."""


def on_one_core() -> None:
    """Begin anew, bound to one core, so that whoever counts cores finds one."""
    if hasattr(os, "sched_setaffinity") and len(cores := os.sched_getaffinity(0)) > 1:
        os.sched_setaffinity(0, {max(cores)})
        os.execv(sys.executable, [sys.executable, "-m", "benchmarks.bench_sampler"])


def simulated(rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Draw a design whose columns are an AR(1) sequence, and labels that follow a logit in it."""
    noise = rng.standard_normal((ROWS, DIMS))
    design = noise.copy()
    for at in range(1, DIMS):
        design[:, at] = NEIGHBOURS * design[:, at - 1] + np.sqrt(1 - NEIGHBOURS**2) * noise[:, at]
    weights = 0.3 * rng.standard_normal(DIMS)
    return design, (rng.random(ROWS) < 1 / (1 + np.exp(-design @ weights))).astype(float)


def posterior(design: Floats, labels: Floats) -> Target:
    """Write the density as a careful numpy user would: signed rows, and no array made twice."""
    signed = np.ascontiguousarray(design * (2 * labels - 1)[:, None])
    turned = np.ascontiguousarray(-signed.T)
    rooms: dict[int, tuple[Floats, Floats]] = {}

    def target(weights: Floats) -> tuple[Floats, Floats]:
        chains = len(weights)
        odds, total = rooms.setdefault(chains, (np.empty((chains, ROWS)), np.empty((chains, ROWS))))
        np.exp(np.matmul(weights, turned, out=odds), out=odds)
        np.add(odds, 1.0, out=total)
        gradient = np.matmul(np.divide(odds, total, out=odds), signed)
        gradient -= weights
        density = np.log(total, out=total).sum(axis=1)
        return -density - np.vecdot(weights, weights) / 2, gradient

    return target


@dataclass(frozen=True)
class Speed:
    """What a run took, in seconds of one core, and what it gave."""

    warm_up: float
    sampling: float
    draws: Floats
    leaves: float

    @property
    def judged(self) -> Convergence:
        return convergence(self.draws)

    @property
    def whole(self) -> float:
        """Effective draws a second of the whole run."""
        return float(self.judged.ess_bulk.min()) / (self.warm_up + self.sampling)

    @property
    def warm(self) -> float:
        """Effective draws a second after the warm-up."""
        return float(self.judged.ess_bulk.min()) / self.sampling

    def line(self, name: str) -> str:
        return (
            f"{name}: {self.warm_up:.2f} s warm-up, {self.sampling:.2f} s for {CHAINS} x {DRAWS} draws, "
            f"{self.leaves:.0f} leapfrog steps each; effective {self.judged.ess_bulk.min():.0f}, "
            f"R-hat {self.judged.worst_r_hat:.4f}; {self.whole:.0f} a second, {self.warm:.0f} after warm-up"
        )


def timed(what: Callable[[], Any]) -> tuple[float, Any]:
    """Time on the core, so that what else the machine does counts little."""
    start = time.process_time()
    found = what()
    return time.process_time() - start, found


def ours(target: Target) -> Speed:
    """Median of several runs, by effective draws a second of the whole."""
    runs = []
    for seed in range(REPEATS):

        def sample(draws: int, seed: int = seed) -> Sampled:
            rng = np.random.default_rng(seed)
            return sample_nuts(target, rng.standard_normal((CHAINS, DIMS)), rng, draws=draws, warm_up=WARM_UP)

        warm_up, _ = timed(lambda: sample(1))
        whole, found = timed(lambda: sample(DRAWS))
        runs.append(Speed(warm_up, whole - warm_up, found.draws, float(found.leaves.mean())))
    return sorted(runs, key=lambda run: run.whole)[REPEATS // 2]


def numpyro_run(design: Floats, labels: Floats) -> Speed:
    """Sample twice: the second run finds everything compiled, and is the one that counts."""
    jax, numpyro, infer = (importlib.import_module(name) for name in ("jax", "numpyro", "numpyro.infer"))
    normal, bernoulli = numpyro.distributions.Normal, numpyro.distributions.Bernoulli
    data = jax.numpy.asarray(design), jax.numpy.asarray(labels)

    def model(columns: Any, answers: Any) -> None:
        weights = numpyro.sample("weights", normal(0, 1).expand([DIMS]).to_event(1))
        numpyro.sample("answers", bernoulli(logits=columns @ weights), obs=answers)

    chains = infer.MCMC(
        infer.NUTS(model), num_warmup=WARM_UP, num_samples=DRAWS, num_chains=CHAINS,
        chain_method="vectorized", progress_bar=False,
    )  # fmt: skip

    def warm(seed: int) -> None:
        chains.warmup(jax.random.PRNGKey(seed), *data, extra_fields=("num_steps",))
        jax.block_until_ready(chains.last_state.z)

    def sample() -> Floats:
        chains.run(chains.post_warmup_state.rng_key, *data, extra_fields=("num_steps",))
        return np.asarray(chains.get_samples(group_by_chain=True)["weights"], dtype=float)

    for seed in (1, 2):
        warm_up, _ = timed(lambda seed=seed: warm(seed))  # type: ignore[misc]
        sampling, drawn = timed(sample)
    return Speed(warm_up, sampling, drawn, float(np.mean(chains.get_extra_fields()["num_steps"])))


def furthest(one: Floats, other: Floats) -> float:
    """Largest difference of two means, in posterior sds."""
    return float((np.abs(one.mean(axis=(0, 1)) - other.mean(axis=(0, 1))) / one.std(axis=(0, 1))).max())


def main() -> None:
    """Print both speeds, their ratios and how far the means are apart."""
    on_one_core()
    design, labels = simulated(np.random.default_rng(20))
    speed = ours(posterior(design, labels))
    print(f"logistic posterior, {ROWS} rows, {DIMS} dimensions; seconds of one core, worst dimension")
    print(speed.line("Assay's NUTS (double precision)"))
    if importlib.util.find_spec("numpyro") is None:
        print("numpyro is not in this environment, so there is no ratio; install it beside Assay: pip install numpyro")
        return
    other = numpyro_run(design, labels)
    print(other.line("numpyro's NUTS (single precision, its default)"))
    ratio, apart = speed.whole / other.whole, furthest(speed.draws, other.draws)
    print(
        f"ratio {ratio:.1f} (at least {WANTED:g} is wanted), {speed.warm / other.warm:.1f} after warm-up; "
        f"means at most {apart:.3f} sd apart (at most {AGREEMENT:g})"
    )
    if ratio < WANTED or apart > AGREEMENT:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
