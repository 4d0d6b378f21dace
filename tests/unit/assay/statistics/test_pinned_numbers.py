"""Tests of pinned numbers: every statistics function returns its stored result for one small input.

Other tests show with known answers and symmetries that a number is right; this test shows that it has not changed.
A difference is either a mistake or a change of the methodology, which then needs a new version
(docs/methodology/README.md). All inputs are constants or computed without a generator; a function that draws gets a
generator with a fixed seed.

To store new results, run ``python tests/unit/assay/statistics/test_pinned_numbers.py``, then read ``git diff``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from inspect import signature
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.composition.chain import TABLES, combine, compose, compose_chain
from assay.errors import (
    AssayError,
    BadDistribution,
    EvidenceError,
    NoTransition,
    OutOfBounds,
    SpecificationError,
    TooFewObservations,
    UnknownName,
    ZeroVariance,
)
from assay.methods.alternation.gaussian_divergence import (
    Gaussian,
    gaussian_kl,
    gaussian_kl_interval,
    kl_by_fold,
    kl_of_folds,
)
from assay.methods.alternation.group_rates import disparate_impact
from assay.methods.alternation.published_rules import UnorderedValues, kolmogorov_smirnov
from assay.methods.association.comparison import compare
from assay.methods.association.predictive_check import predictive_check
from assay.methods.forced_choice.effects import choice_effects, trial_effects
from assay.methods.forced_choice.psychometric_fit import fit_psychometric
from assay.methods.shared.terms.effects import stereotype_effects
from assay.methods.stimulus_sampling.resemblance import principal_components
from assay.methods.stimulus_sampling.texts import inclusion
from assay.methods.visual_stereotype.image_scores import fit_images, score_images, term_interval
from assay.model import Component, Evidence, Finding, Letter, Probabilities, Reason
from assay.rating.decision import (
    deciding_components,
    letter_probabilities,
    rate,
    vote_probabilities,
    worst_probabilities,
)
from assay.statistics.bayes.beta_binomial import fit_shares
from assay.statistics.bayes.hierarchy import Posterior, fit_hierarchy
from assay.statistics.bayes.importance import pareto_shape, tail_shape, weigh
from assay.statistics.bayes.population import Margin, draw_population
from assay.statistics.bayes.spread_grid import Cells, LogAxis, Priors, SpreadGrid
from assay.statistics.bayes.stereotype_terms import fit_terms, preferred, score_choices
from assay.statistics.bayes.surrogate import (
    NormalPrior,
    Surrogate,
    fit_surrogate,
    log_mean_probability,
    sample_posterior,
)
from assay.statistics.bayes.transition import (
    draw_excess_concordance,
    draw_transitions,
    outputs_under,
    step_effects,
)
from assay.statistics.embeddings.embedding_bias import (
    direct_bias,
    embedding_coherence,
    mean_average_cosine,
    negative_sentiment_bias,
    relational_inner_product,
    relative_norm_distance,
)
from assay.statistics.embeddings.two_afc import indifference_points, summarise
from assay.statistics.embeddings.vector_sets import as_vectors, unit_vectors
from assay.statistics.embeddings.weat import (
    associations,
    cosines,
    null_check,
    partition_test,
    weat,
    weat_of_associations,
)
from assay.statistics.hypothesis_tests import goodness, published
from assay.statistics.hypothesis_tests.distribution import as_counts, as_shares, pad_to
from assay.statistics.hypothesis_tests.goodness import (
    chi_squared_fit,
    chi_squared_two_sample,
    every_outcome,
    exact_multinomial,
)
from assay.statistics.hypothesis_tests.paired import d_z, sign_flip_test
from assay.statistics.hypothesis_tests.published import published_letter
from assay.statistics.intervals.alternation_effects import Profiles, group_draws, paired_draws, tied_draws, without_each
from assay.statistics.intervals.correlation import pearson, slope
from assay.statistics.intervals.credible import (
    absolute_value_interval,
    bounded_interval,
    effect_interval,
    equal_tailed,
    hpdi,
    interval_of,
    wilson,
)
from assay.statistics.intervals.crossed import mean_draws, mean_error
from assay.statistics.intervals.sampling_effects import PairedAnswers, cell_effects, paired_effects
from assay.statistics.intervals.worst_block import step_intervals

PINS = Path(__file__).with_name("pinned_numbers.json")
SHOWN = 12
"""Arrays up to this size are stored in full; of a longer array, the first numbers and summaries are stored."""

RTOL, ATOL = 1e-9, 1e-12
OF_FITS = 1e-5
"""Relative tolerance of an optimiser's result, which depends on where it stopped."""

Same = Callable[..., None]
Cases = Mapping[str, object]

BS, DSBS, UCS = Letter.BS, Letter.DSBS, Letter.UCS


# ---------------------------------------------------------------------------- comparison
def plain(value: object) -> object:
    """Convert a result to JSON; check that it is immutable."""
    if is_dataclass(value):
        assert value.__dataclass_params__.frozen, f"{type(value).__name__} can be changed"
        public = {one.name for one in fields(value) if not one.name.startswith("_")}
        public |= {name for name, held in vars(type(value)).items() if name[0] != "_" and _is_read(held)}
        return {name: plain(getattr(value, name)) for name in sorted(public)}
    if isinstance(value, np.ndarray):
        return of_array(value)
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, frozenset):
        return sorted(map(str, value))
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, float | np.floating):
        return float(f"{value:.13g}") if np.isfinite(value) else str(value)  # JSON has no infinity
    return value.item() if isinstance(value, np.generic) else value


def _is_read(held: object) -> bool:
    return isinstance(held, property) or type(held).__name__ == "cached_property"


def of_array(values: np.ndarray) -> object:
    """Return a small array as a list; of a large one its shape, first and last numbers, mean and a weighted mean."""
    if values.size <= SHOWN or values.dtype.kind not in "fib":
        return plain(values.tolist())
    flat = values.ravel().astype(float)
    weights = np.cos(np.arange(flat.size))
    few = [*flat[: SHOWN // 2], flat[-1], flat.mean(), flat.std(), flat @ weights / flat.size]
    return {"shape": list(values.shape), "first, last, mean, sd, wave": plain(few)}


def leaves(value: object, path: str = "") -> Iterator[tuple[str, object]]:
    """List the leaves of a JSON document with their paths."""
    if isinstance(value, dict):
        yield path, sorted(value)
        for key, one in value.items():
            yield from leaves(one, f"{path}.{key}")
    elif isinstance(value, list):
        yield path, len(value)
        for place, one in enumerate(value):
            yield from leaves(one, f"{path}[{place}]")
    else:
        yield path, value


@pytest.fixture(scope="module")
def pins() -> dict[str, dict[str, object]]:
    return json.loads(PINS.read_text())


@pytest.fixture
def same(pins) -> Same:
    """Return a function that compares the results of a module with the pinned numbers."""

    def check(module: str, cases: Cases, rtol: float = RTOL, atol: float = ATOL) -> None:
        assert set(pins[module]) == set(cases)
        for name, case in cases.items():
            found, pinned = (dict(leaves(one, name)) for one in (plain(case), pins[module][name]))
            numbers = {path for path, one in pinned.items() if isinstance(one, float)}
            assert {path: one for path, one in found.items() if path not in numbers} == {
                path: one for path, one in pinned.items() if path not in numbers
            }
            for path in sorted(numbers):
                assert found[path] == pytest.approx(pinned[path], rel=rtol, abs=atol), f"{module}: {path}"

    return check


def pin() -> None:
    """Write the current numbers to `pinned_numbers.json`, a line for each case."""
    kept: dict[str, Cases] = {}

    def keep(module: str, cases: Cases, **_tolerance: float) -> None:
        kept[module] = cases

    for name, test in list(globals().items()):
        if name.startswith("test_") and list(signature(test).parameters) == ["same"]:
            test(keep)
    modules = (
        f"{json.dumps(module)}: {{\n"
        + ",\n".join(f" {json.dumps(name)}: {json.dumps(plain(case))}" for name, case in cases.items())
        + "\n}"
        for module, cases in kept.items()
    )
    PINS.write_text("{\n" + ",\n".join(modules) + "\n}\n")


# ---------------------------------------------------------------------------- inputs
def rng() -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(2024))


def wave(*shape: int, phase: float = 0.0) -> np.ndarray:
    """Return reproducible irregular numbers in [-1, 1): squares times the golden ratio, modulo 1."""
    places = np.arange(1.0, np.prod(shape) + 1)
    return (2 * ((places**2 * 0.6180339887498949 + places * phase * 0.2718281828) % 1) - 1).reshape(shape)


def profiles(values: Sequence[str] = ("a", "b"), count: int = 24) -> Profiles:
    """Return profiles that share names, frames and contents; the second value has slightly larger outputs."""
    places = np.arange(count)
    clusters = {"name": places % 6, "frame": places // 4 % 5, "content": places // 2 % 12, "row": places}
    shift = np.linspace(0, 0.4, len(values))
    by_name = wave(6, phase=1.0)[clusters["name"]][:, None]
    return Profiles(wave(count, len(values)) + shift + 0.5 * by_name, tuple(values), clusters)


def margins(centres: Sequence[float], sd: float = 0.05) -> list[Margin]:
    """Return a normal posterior for each centre, as probabilities of its own cells."""
    made = []
    for place, centre in enumerate(centres):
        edges = np.linspace(centre - 4 * sd, centre + (4 + place / 10) * sd, 22)
        mass = np.exp(-(((edges[1:] + edges[:-1]) / 2 - centre) ** 2) / (2 * sd**2))
        made.append(Margin(edges, mass / mass.sum()))
    return made


WORDS = ("he", "she", "they", "who")
DISTANCE = np.concatenate([0.8 + 0.1 * wave(18), 1.0 + 0.15 * wave(18, phase=1), 0.95 + 0.05 * wave(14, phase=2)])
CONNECTION = ["associated"] * 18 + ["different"] * 18 + ["neutral"] * 14
PROTECTED = [WORDS[place % 4] for place in range(36)] + [WORDS[place % 3] for place in range(14)]
ROWS = (DISTANCE, CONNECTION, PROTECTED)


def posterior(shift: float = 0.0, draws: int = 300, **options: Any) -> Posterior:
    return fit_hierarchy(DISTANCE + shift, CONNECTION, PROTECTED, rng(), draws=draws, **options)


SKEWED = np.exp(1.5 * wave(200))
FAIR, TILTED = [0.5, 0.5], [0.9, 0.1]
BLOCKS = {"u": [20, 20], "b": [34, 6]}


# ---------------------------------------------------------------------------- counts and shares
def test_shares_and_counts_equal_their_pinned_numbers(same):
    cases = {
        "shares": as_shares([1, 2.5, 0]),
        "shares of two cells": as_shares([3, 1], 2),
        "counts": as_counts([3.0, 0, 2]),
        "padded": pad_to([[0.5, 0.5], [1, 0]], 3),
        "one row padded": pad_to([0.2, 0.8], 2),
    }
    same("distribution", cases)


def test_transition_draws_and_effects_equal_their_pinned_numbers(same):
    counts = [[9, 1, 0], [2, 7, 1], [0, 0, 0]]
    drawn = draw_transitions(counts, rng(), 200)
    unbiased, biased = [[1 / 3, 1 / 3, 1 / 3], [0.5, 0.25, 0.25]], [[0.8, 0.1, 0.1], [0.1, 0.1, 0.8]]
    cases = {
        "transitions": drawn,
        "by default": draw_transitions(counts, rng()),
        "outputs": outputs_under(drawn, biased),
        "outputs of one block": outputs_under(drawn, unbiased[0]),
        "effects": step_effects(drawn, unbiased, biased),
        "neutral effects, no targets": step_effects(drawn[:, :2], [[0.5, 0.5]], [[0.9, 0.1]], neutral=True),
        "neutral effects, three values": step_effects(
            draw_transitions(np.eye(3, 4), rng(), 50), unbiased, biased, neutral=True
        ),
    }
    same("transition", cases)


def test_worst_block_intervals_equal_their_pinned_numbers(same):
    counts = np.array([[9, 1, 0], [2, 7, 1], [0, 0, 0]])
    drawn = draw_transitions(counts, rng(), 4500)
    unbiased, biased = [[1 / 3, 1 / 3, 1 / 3], [0.5, 0.25, 0.25]], [[0.8, 0.1, 0.1], [0.1, 0.1, 0.8]]
    many = draw_transitions(np.eye(6, 7) * 5 + 1, rng(), 300)
    six = np.full((1, 6), 1 / 6), [[0.5, *[0.1] * 5], [*[0.1] * 5, 0.5]]

    def stated(draws: np.ndarray, blocks: Any, **asked: Any) -> object:
        effects = step_effects(draws, *blocks, neutral=bool(asked.get("neutral")))
        return step_intervals(effects, draws, *blocks, **asked)

    two = [[0.5, 0.5]], [[0.9, 0.1], [0.1, 0.9]]
    pair = draw_transitions([[30, 10, 0], [9, 31, 0]], rng(), 800)
    cases = {
        "two values": stated(pair, two),
        "two values, what never came": stated(pair, two, observed=[[1, 1, 0], [1, 1, 0]]),
        "two values, all came": stated(pair, two, observed=np.ones((2, 3))),
        "two values, neutral": stated(pair, two, neutral=True),
        "two values, 80 %": stated(pair, two, level=0.8),
        "a tie and no tie": stated(draw_transitions([[40, 40, 9], [30, 50, 2]], rng(), 900), two),
        "three values": stated(drawn[:, :, :], (unbiased, biased), observed=counts > 0),
        "many outputs": stated(many, six),
        "many outputs, neutral": stated(many, six, neutral=True),
    }
    same("worst_block", cases)


def test_excess_concordance_equals_its_pinned_numbers(same):
    drawn = draw_transitions([[9, 1, 0], [2, 7, 1], [3, 3, 3]], rng(), 200)
    cases = {
        "every pair": draw_excess_concordance(7, 12, drawn, rng()),
        "weights": draw_excess_concordance(7, 12, drawn, rng(), {(0, 1): 3.0, (1, 2): 1.0}),
        "a weight of nought": draw_excess_concordance(7, 12, drawn, rng(), {(0, 1): 3.0, (0, 2): 0.0}),
        "none equal": draw_excess_concordance(0, 5, drawn, rng()),
        "all equal": draw_excess_concordance(5, 5, drawn, rng()),
        "no pairs": draw_excess_concordance(0, 0, drawn, rng()),
    }
    same("concordance", cases)


def test_multinomial_probabilities_equal_their_pinned_numbers(same):
    expected = np.array([2.0, 1.5, 0.5])
    log_p, distance = every_outcome(4, expected)
    outcomes = np.array([[4, 0, 0], [2, 1, 1]])
    from assay.statistics.hypothesis_tests.goodness import pearson as of_outcomes

    cases = {
        "every outcome": {"log_probability": log_p, "pearson": distance},
        "pearson": of_outcomes(outcomes, expected),
    }
    same("multinomial", cases)


def test_goodness_of_fit_tests_equal_their_pinned_numbers(same):
    thirds, counts = [1, 1, 1], [12, 5, 3]
    many = [60, 50, 45, 40, 30, 35, 40]
    cases = {
        "chi-squared": chi_squared_fit(counts, thirds),
        "an empty cell": chi_squared_fit([5, 3, 0], [0.5, 0.5, 0]),
        "impossible": chi_squared_fit([5, 3, 2], [0.5, 0.5, 0]),
        "one cell": chi_squared_fit([5, 0], [1, 0]),
        "two samples": chi_squared_two_sample(counts, [6, 6, 7]),
        "two samples, an empty cell": chi_squared_two_sample([12, 5, 0], [6, 6, 0]),
        "two samples, an empty cell kept": chi_squared_two_sample([12, 5, 0], [6, 6, 0], drop_empty=False),
        "exact": exact_multinomial(counts, thirds),
        "exact, ties": exact_multinomial([2, 0], [1, 1]),
        "exact, by distance": exact_multinomial([1, 3, 4], [5, 3, 1]),
        "exact, impossible": exact_multinomial([5, 3, 2], [0.5, 0.5, 0]),
        "drawn": exact_multinomial(many, [1] * 7, rng()),
    }
    same("goodness", cases)


def test_exact_test_enumerates_up_to_a_million_outcomes_and_samples_beyond():
    assert goodness.exact_multinomial([500, 912], [1, 1]).test == "exact-multinomial"
    # 998,991 outcomes: few enough to enumerate
    assert exact_multinomial([706, 706, 0], [1, 1, 1]).test == "exact-multinomial"
    # 1,001,820 outcomes: too many
    assert exact_multinomial([707, 706, 1], [1, 1, 1], rng()).test == "monte-carlo-multinomial"


def test_published_letters_equal_their_pinned_results(same):
    observed = {"u": [11, 9], "b": [17, 3], "c": [12, 8]}
    blocks = ({"u": FAIR}, {"b": TILTED, "c": [0.1, 0.9]})
    cases = {
        f"{reading}, {statistic}, {join}": published_letter(
            observed, *blocks, rng(), reading=reading, statistic=statistic, join=join
        )
        for reading in ("similar-to-biased", "departs-from-unbiased")
        for statistic, join in (
            *(("two-sample", None), ("two-sample", "or"), ("two-sample", "and")),
            *(("two-sample-df2", None), ("goodness-of-fit", None), ("exact-multinomial", None)),
        )
    }
    residual = {"u": [11, 9, 0], "b": [17, 3, 0]}
    for statistic in ("two-sample", "two-sample-df2"):
        cases[f"an empty residual, {statistic}"] = published_letter(
            residual, {"u": [0.5, 0.5, 0]}, {"b": [0.9, 0.1, 0]}, statistic=statistic, alpha=0.2
        )
    same("published", cases)


def test_a_p_value_equal_to_alpha_counts_as_similar_to_the_specified_distribution():
    p = chi_squared_fit([14, 6], FAIR).p
    blocks = {"u": [14, 6], "b": [10, 10]}, {"u": FAIR}, {"b": TILTED}
    assert not published_letter(*blocks, statistic="goodness-of-fit", alpha=p).step_1_biased
    assert published_letter(*blocks, statistic="goodness-of-fit", alpha=np.nextafter(p, 1)).step_1_biased


def test_divergences_equal_their_pinned_numbers(same):
    p, q = [0.5, 0.3, 0.2], [0.2, 0.3, 0.5]
    cases: dict[str, object] = {
        "KL": published.kl_divergence(p, q),
        "KL, outside": published.kl_divergence(p, [0.5, 0.5, 0]),
        "KL, nothing there": published.kl_divergence([0.5, 0.5, 0], p),
    }
    cases |= {
        "threshold, kl": published.bootstrap_threshold([2, 1, 0], 30, 0.05, rng(), 500),
        "threshold by default, kl": published.bootstrap_threshold(p, 30, 0.1, rng()),
        "one, kl": published.bootstrap_threshold(p, 1, 0.5, rng(), 1),
        "test, kl": published.divergence_test([20, 10, 0], p, 0.05, rng()),
        "letter, kl": published.divergence_letter(
            {**BLOCKS, "v": [25, 15], "c": [20, 20]},
            {"u": FAIR, "v": [0.4, 0.6]},
            {"b": TILTED, "c": [0.1, 0.9]},
            0.05,
            rng(),
        ),
        "test, impossible": published.divergence_test([20, 10, 1], [2, 1, 0], 0.05, rng()),
        "letter, biased at once": published.divergence_letter(
            {"u": [38, 2], "b": [20, 20]}, {"u": FAIR}, {"b": TILTED}, 0.05, rng()
        ),
    }
    same("divergence", cases)


def test_kolmogorov_smirnov_tests_equal_their_pinned_numbers(same):
    x, y = wave(9), wave(7, phase=0.4) + 0.3
    cases = {
        "ordinal": kolmogorov_smirnov([1, 1, 2, 3, 3], [2, 3, 3, 4], scale="ordinal"),
        "continuous": kolmogorov_smirnov(x, y, scale="continuous"),
        "largest exact": kolmogorov_smirnov(wave(1000), wave(1000) + 0.05, scale="continuous").test,
        "asymptotic": kolmogorov_smirnov(wave(1001), wave(1000) + 0.05, scale="continuous"),
    }
    same("ordered", cases)


def test_wilson_intervals_equal_their_pinned_numbers(same):
    cases: dict[str, object] = {}
    for yes, of in ((0, 1), (0, 12), (5, 12), (12, 12), (1, 1)):
        cases[f"wilson {yes}/{of}"] = wilson(yes, of)
    same("proportions", cases)


def test_intervals_of_draws_equal_their_pinned_numbers(same):
    draws = wave(101) + 0.3 * wave(101, phase=1)
    ties = [1.0, 1, 1, 2, 2, 3]
    cases: dict[str, object] = {}
    for name, function in (
        ("equal tails", equal_tailed),
        ("hpdi", hpdi),
        ("mean", interval_of),
        ("size", absolute_value_interval),
        ("bounded", bounded_interval),
    ):
        cases[name] = function(draws)
        cases[f"{name}, 80 %"] = function(draws, 0.8)
        cases[f"{name}, ties"] = function(ties, 0.5)
    cases["hpdi, one draw"] = hpdi([2.0])
    cases["effect at nothing"] = effect_interval(np.abs(draws), 0.9)
    cases["effect off nothing"] = effect_interval(np.abs(draws) ** 3 / 4 + 1)
    for shift in (0.1, 0.5, 1.0, 1.2, 3.2, 4.0, -1.2, -4.0):
        cases[f"size of a shift by {shift}"] = absolute_value_interval(draws + shift)
        cases[f"bounded, a shift by {shift}"] = bounded_interval(draws + shift)
    same("intervals", cases)


def test_letters_of_two_steps_equal_their_pinned_results(same):
    from assay.statistics.hypothesis_tests.published import two_step_letter

    same("steps", {f"{one}, {other}": two_step_letter(one, other) for one, other in product((False, True), repeat=2)})


# ---------------------------------------------------------------------------- predictions (P3)
def test_paired_tests_equal_their_pinned_numbers(same):
    some, many = wave(11) + 0.4, wave(40) + 0.25
    tied = [0.0, 1, 1, -1, 2, 0]
    cases = {
        "flips": sign_flip_test(some, rng()),
        "flips, ties": sign_flip_test(tied, rng()),
        "flips, nothing": sign_flip_test([0.0, 0.0], rng()),
        "flips, largest exact": sign_flip_test(wave(14) + 0.5, rng(), draws=50),
        "flips, drawn": sign_flip_test(wave(15) + 0.5, rng(), draws=50),
        "flips, drawn by default": sign_flip_test(many, rng()),
        "flips, clusters": sign_flip_test(some, rng(), clusters=np.arange(11) // 2),
        "flips, clusters that cancel": sign_flip_test([1, -1, 2, 3], rng(), clusters=["a", "a", "b", "c"]),
        "d_z": d_z(some),
        "d_z of two": d_z([1.0, 2.0]),
    }
    same("paired", cases)


def test_errors_of_crossed_clusters_equal_their_pinned_numbers(same):
    made = profiles(("a", "b", "c"), 36)
    wide = {"name": np.arange(120) % 60, "frame": np.arange(120) // 2, "content": np.arange(120) * 7 % 90}
    cases = {
        "error": mean_error(made.outputs, made.clusters),
        "error, one kind": mean_error(made.outputs, {"name": made.clusters["name"]}),
        "error, no kind": mean_error(made.outputs, {}),
        "error, least clusters": mean_error(made.outputs[:10], {"name": np.arange(10) % 5}),
        "error, least rows": mean_error(made.outputs[:5], {}),
        "error, constant": mean_error(np.ones((6, 1)), {}),
        "error, clusters with gaps": mean_error(made.outputs, {"name": 3 * made.clusters["name"] + 2}),
        "draws": mean_draws(made.outputs, made.clusters, rng(), 700),
        "draws, two kinds": mean_draws(
            made.outputs, {"n": made.clusters["name"], "f": made.clusters["frame"]}, rng(), 50
        ),
        "draws, no kind": mean_draws(made.outputs, {}, rng(), 500),
        "draws, constant": mean_draws(np.ones((6, 1)), {}, rng(), 3),
        "draws, a table too large": mean_draws(wave(120, 3), wide, rng(), 20),
    }
    same("crossed", cases)


def test_alternation_effects_equal_their_pinned_numbers(same):
    two, three = profiles(), profiles(("a", "b", "c"), 36)
    sides = np.arange(24) // 2 % 2
    by_side = Profiles(two.outputs + 0.3 * sides[:, None], two.values, two.clusters)
    apart = Profiles(by_side.outputs, two.values, {"name": two.clusters["name"] * 2 + sides})
    groups = np.repeat([0, 1, 2], [15, 15, 6])
    cases = {
        "scale": two.scale,
        "pairs": paired_draws(two, rng(), 200),
        "pairs by default": paired_draws(two, rng()),
        "pairs of three": {"/".join(pair): drawn for pair, drawn in paired_draws(three, rng(), 200).items()},
        "tied": tied_draws(by_side, sides, 0.9, rng(), 200),
        "tied by default": tied_draws(by_side, sides, 0.9, rng()),
        "tied, uneven sides": tied_draws(by_side, np.arange(24) % 12 // 8, 0.8, rng(), 200),
        "tied, nothing on both sides": tied_draws(apart, sides, 0.9, rng(), 200),
        "tied, three values": tied_draws(three, np.arange(36) // 2 % 2, 1.0, rng(), 200),
        "groups": group_draws(Profiles(three.outputs, three.values, {}), groups, rng(), 200),
        "groups by default": group_draws(Profiles(three.outputs, three.values, {}), groups, rng()),
        "groups, a small one": group_draws(
            Profiles(three.outputs, three.values, {}), np.repeat([0, 1, 2], [16, 16, 4]), rng(), 99
        ),
        "without each": without_each(two, "name", ("a", "b")),
        "without each of three": without_each(three, "frame", ("c", "a")),
        "without the only one": without_each(Profiles(two.outputs, two.values, {"k": np.full(24, 1)}), "k", ("a", "b")),
    }
    same("alternation_effects", cases)


def test_gaussian_divergences_equal_their_pinned_numbers(same):
    x, y = wave(12) + 0.5, 1.5 * wave(12, phase=1.0)
    constant = [2.0, 2, 2, 2]
    fold = np.arange(12) % 3
    cases = {
        "of a sample": Gaussian.of(x),
        "of a constant": Gaussian.of([0.1, 0.1, 0.1]),
        "KL": gaussian_kl(x, y),
        "KL of a constant with itself": gaussian_kl(constant, constant),
        "interval": gaussian_kl_interval(x, y),
        "interval of the same": gaussian_kl_interval(x, x),
        "folds": kl_of_folds(x, y, fold),
        "folds, one without spread": kl_of_folds([1.0, 1, 2, 3], [3.0, 4, 5, 7], [0, 0, 1, 1]),
        "by fold": kl_by_fold(x, y, 3, rng()),
        "by more folds than pairs": kl_by_fold(x[:5], y[:5], 10, rng()),
    }
    same("gaussian", cases)


def test_disparate_impact_equals_its_pinned_numbers(same):
    positive, groups = [1, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1, 1], [0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 0]
    cases = {
        "impact": disparate_impact(positive, groups, ("m", "f"), rng()),
        "impact, an empty group": disparate_impact(positive, groups, ("m", "f", "x"), rng()),
        "impact, no positive": disparate_impact([1, 1, 0, 0], [0, 0, 1, 1], ("m", "f"), rng()),
    }  # fmt: skip
    same("matched", cases)


# ---------------------------------------------------------------------------- vectors and choices (P1, P2)
def test_unit_vectors_equal_their_pinned_numbers(same):
    cases = {
        "as they are": as_vectors([[1, 2], [3, 4]], "them", least=2, dims=2),
        "units": unit_vectors([[3, 4], [0, -2e300]]),
    }
    same("vector_sets", cases)


def test_points_of_subjective_equality_of_vectors_equal_their_pinned_numbers(same):
    first, second, concepts = wave(3, 4) + 1, wave(3, 4, phase=2.0) - 1, wave(5, 4, phase=1.0)
    points = indifference_points(first, second, concepts)
    levels = np.linspace(-1, 2, 7)
    cases = {
        "points": points,
        "points, half the weight": indifference_points(first, second, concepts, weight=0.5),
        "replicates": summarise(points, points.ravel(), rng(), levels),
        "one replicate": summarise(points[0], points[0], rng(), levels),
        "one point": summarise([[0.4]], [0.3, 0.4, 0.6], rng(), levels),
        "one point that moved once": summarise([0.4], [0.4], rng(), levels),
    }
    same("two_afc", cases)


def test_psychometric_fits_equal_their_pinned_numbers(same):
    levels = np.linspace(0, 1, 7)
    cases = {}
    for name, chose, trials in (
        ("steep", [0, 0, 1, 5, 10, 10, 10], [10] * 7),
        ("flat", [3, 4, 4, 5, 6, 6, 7], [10] * 7),
        ("lapses", [4, 4, 6, 20, 34, 36, 37], [40] * 7),
        ("many", [0, 3, 80, 250, 420, 497, 500], [500] * 7),
        ("one level not shown", [0, 1, 0, 4, 8, 10, 10], [10, 10, 0, 10, 10, 10, 10]),
    ):
        fit = fit_psychometric(levels, chose, trials)
        cases[name] = fit
    cases["a level twice"] = fit_psychometric([0, 0, 1, 1], [0, 1, 3, 4], [4, 4, 4, 4])
    cases["more levels than at once"] = fit_psychometric(np.linspace(0, 1, 70), (np.arange(70) > 33) * 1, np.ones(70))
    same("psychometric", cases)


def test_forced_choice_effects_equal_their_pinned_numbers(same):
    points = 0.5 + 0.1 * wave(2, 3, 2, 9) + 0.05 * np.arange(9)
    centres = [0.3, 0.45, 0.8, 0.6, 0.52, 0.49, 0.55]
    cases: dict[str, object] = {}
    for name, effects in (
        ("vectors", choice_effects(points, 4, rng(), 200)),
        ("vectors by default", choice_effects(points, 4, rng())),
        ("vectors, one model", choice_effects(points[:1, :1, :1], 3, rng(), 200)),
        ("vectors, least", choice_effects(points[..., :4], 2, rng(), 200, least=2)),
        ("trials", trial_effects(margins(centres), 4, rng(), 200)),
        ("trials by default", trial_effects(margins(centres), 4, rng())),
        ("trials, least", trial_effects(margins(centres), 3, rng(), 200, least=3)),
    ):
        cases[name] = effects
        cases[f"{name}, intervals"] = effects.intervals()
    same("choice_effects", cases)


def test_population_draws_equal_their_pinned_numbers(same):
    cases = {
        "margin": margins([0.4])[0],
        "points apart": draw_population(margins([0.2, 0.5, 0.9, 0.6]), rng(), 300),
        "points as one": draw_population(margins([0.5, 0.51, 0.49]), rng(), 300),
        "many": draw_population(margins(0.5 + 0.2 * wave(70), sd=0.1), rng(), 100),
    }
    same("population", cases)


def test_correlations_and_slopes_equal_their_pinned_numbers(same):
    x, y = wave(8), wave(8, phase=0.8)
    cases = {
        "pearson": pearson(x, y),
        "negative": pearson(x, -y),
        "three": pearson([1, 2, 3], [1, 5, 2]),
        "four": pearson([1, 2, 3, 4], [1, 5, 2, 4]),
        "a line": pearson([1, 2, 3, 4], [2, 4, 6, 8]),
        "slope": slope(x, y, rng(), 200),
        "slope by default": slope(x, y, rng()),
        "slope of three, y constant": slope([1, 2, 4], [3, 3, 3], rng(), 50),
    }
    same("correlation", cases)


def test_hierarchical_fits_equal_their_pinned_numbers(same):
    own = posterior()
    cases: dict[str, object] = {
        "per connection": own,
        "by default": fit_hierarchy(*ROWS, rng()).mean("neutral"),
        "shared": posterior(residual="shared"),
        "weak": posterior(prior="weak"),
        "a prior of one's own": posterior(prior=Priors(0.9, 0.2, 3.0, 1.0)),
        "a row for each word": fit_hierarchy([0.9, 1.0, 1.1], ["z"] * 3, ["a", "b", "c"], rng(), draws=100),
        "two rows": fit_hierarchy([0.9, 1.0], ["z"] * 2, ["a", "a"], rng(), draws=100),
        "others in order": fit_hierarchy([0.9, 1.0, 0, 2], ["z", "z", "a", "a"], ["w"] * 4, rng(), draws=50),
        "spread, residual": {"spread": own.spread("different"), "residual": own.residual("different")},
        "cell": own.cell("associated", "she"),
        "cell by itself": own.cell_by_itself("associated", "she"),
        "words": {"here": own.words("neutral"), "nowhere": own.words("human"), "has": own.has("neutral", "who")},
    }
    same("hierarchy", cases)


def test_collapsed_likelihoods_equal_their_pinned_numbers(same):
    cells = Cells.of(DISTANCE[:18], PROTECTED[:18])
    sigma, tau = np.array([0.05, 0.1, 0.4]), np.array([0.02, 0.2, 1.0])
    prior = Priors()
    cases = {
        "priors": prior,
        "cells": cells,
        "evidence": cells.log_evidence(sigma, tau[:2], prior),
        "means": cells.draw_mean(sigma, tau, prior, rng()),
        "words": cells.draw_cells(np.array([0.7, 0.8, 0.9]), sigma, tau, rng()),
    }
    same("collapsed", cases)


def test_grid_of_sigma_and_tau_equals_its_pinned_numbers(same):
    parts = [Cells.of(DISTANCE[:18], PROTECTED[:18]), Cells.of(DISTANCE[36:], PROTECTED[36:])]
    axis = LogAxis(-2.0, 1.0, 6)
    sigma, taus = SpreadGrid.around(parts, Priors()).draw(rng(), 100)
    one_each = SpreadGrid.around([Cells.of(DISTANCE[:4], PROTECTED[:4])], Priors())
    cases = {
        "axis": axis,
        "narrowed": axis.narrow(np.array([-40.0, -20, -1, 0, -13, -30])),
        "narrowed to an end": axis.narrow(np.array([0.0, -13.9, -14.1, -20, -20, -20])),
        "within": axis.draw_in(np.array([0, 3, 5]), rng()),
        "grid": SpreadGrid.around(parts, Priors()),
        "grid, a row for each word": one_each,
        "draws": {"sigma": sigma, "taus": taus},
    }
    same("spread_grid", cases)


def test_predictive_checks_equal_their_pinned_numbers(same):
    checked = predictive_check(posterior(), *ROWS)
    one = predictive_check(posterior(draws=50), DISTANCE[:6], CONNECTION[:6], PROTECTED[:6])
    cases = {"check": checked, "points": len(checked.grid), "one connection": one}
    same("predictive", cases)


def test_comparisons_of_posteriors_equal_their_pinned_numbers(same):
    bare = fit_hierarchy(DISTANCE[18:], CONNECTION[18:], PROTECTED[18:], rng(), draws=200)
    cases = {
        "before and after": compare(posterior(), posterior(0.05)),
        "fewer draws": compare(posterior(), posterior(0.05, draws=200)),
        "half the mass": compare(posterior(), posterior(-0.05), mass=0.5),
        "without associated": compare(posterior(), bare),
    }
    same("comparison", cases)


def test_weat_equals_its_pinned_numbers(same):
    x, y, a, b = (wave(count, 6, phase=phase) + 0.2 for phase, count in enumerate((5, 5, 4, 3)))
    large = wave(21) + 0.1, wave(20, phase=1)
    cases = {
        "weat": weat(x, y, a, b),
        "weat, uneven": weat(x, y[:3], a, b),
        "weat, least": weat(x[:2], y[:2], a[:1], b[:1]),
        "of associations, ties": weat_of_associations([1.0, 1, 0], [0.0, 0, 1]),
        "drawn": weat_of_associations(*large, rng=rng()),
        "associations": associations(x, a, b),
        "cosines": cosines(x, a),
    }
    same("weat", cases)


def test_partition_tests_equal_their_pinned_numbers(same):
    cases = {
        "odd": partition_test(wave(4), wave(5, phase=1.0)),
        "ties": partition_test([1.0, 1, 2], [1.0, 0, 0]),
        "no difference": partition_test([1.0, 0], [1.0, 0]),
        "negative": partition_test([0.0, 0, 1], [3.0, 4, 5]),
        "one against one": partition_test([1.0], [2.0]),
        "mostly the first": partition_test(wave(8), wave(2, phase=1)),
        "largest exact": partition_test(wave(20) + 0.2, wave(20, phase=1)),
        "drawn": partition_test(wave(21) + 0.2, wave(20, phase=1), rng()),
    }
    same("partitions", cases)


def test_null_checks_of_effect_sizes_equal_their_pinned_numbers(same):
    effects = {
        "1.27": (1.27, 8),
        "-1.27": (-1.27, 8),
        "0": (0.0, 2),
        "2": (2.0, 8),
        "-2": (-2.0, 3),
        "two words": (1.4, 2),
    }
    cases: dict[str, object] = {name: null_check(*given) for name, given in effects.items()}
    same("null_check", cases)


def test_measures_of_embedding_bias_equal_their_pinned_numbers(same):
    first, second, words = wave(3, 5) + 0.3, wave(4, 5, phase=1) - 0.2, wave(6, 5, phase=2)
    distance, protected, sets = wave(8) + 1, list("aabbccaa"), list("xyxyxxxy")
    cases = {
        "MAC": mean_average_cosine(distance, protected),
        "MAC by set": mean_average_cosine(distance, protected, sets),
        "RND": relative_norm_distance(first, second, words),
        "ECT": embedding_coherence(first, second, words),
        "ECT, ties": embedding_coherence(first, second, words[[0, 0, 1, 2]]),
        "ECT, least": embedding_coherence(first, second, words[:3]),
    }
    same("embedding_bias", cases)


def test_direct_bias_and_ripa_equal_their_pinned_numbers(same):
    first, second, words = wave(4, 5) + 0.6, wave(4, 5, phase=1) - 0.2, wave(6, 5, phase=2)
    cases = {
        "direct bias": direct_bias(words, first, second),
        "direct bias, other way": direct_bias(words, second, first),
        "direct bias, one pair": direct_bias(words, first[:1], second[:1]),
        "RIPA": relational_inner_product(first, second, words),
    }
    same("bias_direction", cases)


def test_negative_sentiment_bias_equals_its_pinned_numbers(same):
    good, bad, targets = wave(5, 4) + 0.3, wave(6, 4, phase=1) - 0.3, wave(4, 4, phase=2)
    cases = {
        "penalised": negative_sentiment_bias(good, bad, targets),
        "far apart": negative_sentiment_bias(40 * good, 40 * bad, targets),
        "two targets alike": negative_sentiment_bias(good, bad, targets[[0, 0]]),
    }
    same("negative_sentiment", cases, rtol=1e-8)


# ---------------------------------------------------------------------------- stereotypes (P4)
def test_stereotype_scores_equal_their_pinned_numbers(same):
    one, other = [-3.0, -2.0, -5.0, -1.0, -4.0, -1.0], [-3.5, -2.0, -4.0, -1.0 + 5e-10, -4.5, -1.5]
    by_pair = [preferred(ahead - behind) for ahead, behind in zip(one, other, strict=True)]
    terms, biases = ["nurse", "nurse", "cook", "cook", "cook", "nurse"], ["g", "g", "g", "g", "h", "h"]
    scored = score_choices(by_pair, terms, biases)
    cases = {
        "prefer": by_pair,
        "scores": scored,
        "fit": fit_terms(scored.by_term),
        "fit of two": fit_terms(scored.by_term[:2]),
    }
    same("stereotype", cases)


def test_visual_stereotype_scores_equal_their_pinned_numbers(same):
    table = np.column_stack([0.5 + 0.4 * wave(12), 0.5 - 0.3 * wave(12, phase=0.3)])
    table[3] = 0.5
    terms = [f"t{place % 5}" for place in range(12)]
    by_image = table[np.arange(12), np.arange(12) % 2]
    cases = {
        "images": score_images(by_image, terms),
        "fit": fit_images(by_image, terms),
        "fit, drawn": fit_images(by_image, terms).draw_overall(rng(), 200),
        "fit, drawn by default": fit_images(by_image, terms).draw_overall(rng()),
        "term": term_interval(by_image[:5]),
        "term, two images": term_interval([0.1, 0.9]),
        "term, one image": term_interval([0.5]),
    }
    same("visual_stereotype", cases)


def test_beta_binomial_fits_equal_their_pinned_numbers(same):
    cases: dict[str, object] = {}
    for name, counts in {
        "few": ([3, 5, 1], [2, 0, 4]),
        "ties": ([3, 5, 1, 0], [2, 0, 4, 1], [1, 0, 3, 2]),
        "a tie each": ([3, 5], [2, 3], 1),
        "none": ([0, 0, 0], [3, 5, 4]),
        "all": ([4, 7], [0, 0]),
        "alike": ([50, 52, 49, 51], [50, 48, 51, 49]),
        "twenty to one": ([20] * 10, [1] * 10),  # a case in which the grid is narrowed two to three times in one step
        "many": ([900, 850, 960], [100, 150, 40]),
        "very many": ([40_000, 61_000], [60_000, 39_000]),
        "all and none": ([200, 0, 200, 0], [0, 200, 0, 200]),
    }.items():
        fit = fit_shares(*counts)
        cases[name] = fit
        cases[f"{name}, drawn"] = {
            "overall": fit.draw_overall(rng(), 100),
            "intervals": fit.shares(rng(), 100, 0.8),
        }
    few = fit_shares([3, 5, 1], [2, 0, 4])
    cases["by default"] = {
        "overall": few.draw_overall(rng()),
        "intervals": few.shares(rng()),
    }
    same("beta_binomial", cases)


def test_stereotype_effects_equal_their_pinned_numbers(same):
    neutral, one, other = (fit_shares(*counts) for counts in (([5, 6], [5, 3]), ([8, 7], [1, 3]), ([2, 3], [6, 7])))
    cases = {
        "one list": stereotype_effects(neutral, [one], rng(), 200),
        "two lists": stereotype_effects(neutral, [one, other], rng(), 200),
        "by default": stereotype_effects(neutral, [one], rng()),
    }
    same("stereotype_effects", cases)


# ---------------------------------------------------------------------------- stimulus sampling (P1)
def test_importance_weights_equal_their_pinned_numbers(same):
    yes = 0.5 + 0.45 * wave(60)
    proposed = np.exp(wave(60, phase=1))
    plain_weights, corrected = weigh(yes), weigh(yes, proposed)
    cases = {
        "weights": plain_weights,
        "weights, proposed": corrected,
        "weights, rounded": weigh([1 + 5e-10, -5e-10, 0.5]),
        "weights, equal": weigh([0.2] * 12),
        "weights, tiny": weigh([1e-300, 2e-300, 0.0]),
        "weights, heavy": weigh(np.minimum(1.0, np.arange(1, 401) ** -1.2)),
        "one input": weigh([0.3]),
        "weights as json": corrected.as_json(),
    }
    same("importance", cases)


def test_inclusion_probabilities_equal_their_pinned_numbers(same):
    density = [4, 1, 2, 1, 10, 0.5]
    cases = {f"{count} of six": inclusion(density, count) for count in (0.4, 1, 2, 3.5, 5, 5.9, 6, 7)}
    cases["equal"] = inclusion([1, 1, 1, 1], 3)
    cases["one"] = inclusion([3.0], 0.5)
    same("inclusion", cases)


def test_pareto_tail_shapes_equal_their_pinned_numbers(same):
    cases = {
        f"tail of {size}": tail_shape(SKEWED[:size]) for size in (1, 2, 20, 21, 26, 30, 60, 200)
    }  # fmt: skip
    cases |= {f"shape of {size}": pareto_shape(np.sort(SKEWED)[-size:]) for size in (5, 6, 7, 9, 16, 30)}
    cases["shape of equal steps"] = pareto_shape([1, 2, 3, 4, 5])
    cases["heavy"] = pareto_shape(np.arange(1.0, 40) ** -2)
    cases["tied weights"] = tail_shape(np.repeat([0.1, 0.2], [40, 10]))
    cases["nearly tied weights"] = tail_shape(np.append(np.full(40, 0.1), 0.1 + 1e-13 * np.arange(10)))
    same("pareto_tail", cases)


def test_surrogate_fits_equal_their_pinned_numbers(same):
    inputs = wave(40, 3) @ np.array([[1, 0.4, 0], [0, 1, 0.2], [0, 0, 2.0]]) + 0.5
    said = 1 / (1 + np.exp(-(inputs @ [1.0, -2.0, 0.5] - 0.3) - 0.5 * wave(40, phase=1)))
    hard = (said > 0.5).astype(float)
    flat = np.column_stack([inputs, np.ones(40)])
    cases = {
        "probabilities": fit_surrogate(inputs, said),
        "labels": fit_surrogate(inputs, hard),
        "labels, ridge": fit_surrogate(inputs, hard, ridge=10.0),
        "a constant dimension": fit_surrogate(flat, hard),
        "as json": fit_surrogate(inputs, said).as_json(),
    }
    same("surrogate, fitted", cases, rtol=OF_FITS, atol=1e-7)


def test_surrogate_of_probabilities_that_differ_by_rounding_is_finite():
    almost = fit_surrogate([[0.0], [1.0]], [1.0, np.nextafter(1, 0)])
    assert np.isfinite([*almost.weights, almost.constant]).all()


def test_draws_from_a_surrogate_equal_their_pinned_numbers(same):
    made = Surrogate(np.array([1.0, -2.0, 0.5]), -0.3)
    prior = NormalPrior(np.array([0.5, 0.0, -0.5]), np.array([[1.0, 0], [0.4, 0.8], [0.2, 0.1]]))
    vectors = wave(30, 3)
    fitted = NormalPrior.of(vectors)
    without = NormalPrior.of(np.column_stack([vectors, vectors[:, 0]]))
    cases = {
        "score": made.score(vectors),
        "probability": made.probability(vectors),
        "prior": {"mean": fitted.mean, "covariance": fitted.factor @ fitted.factor.T, "rank": fitted.rank},
        "a direction without spread": without.rank,
        "drawn from a prior": prior.draw(5, rng()),
        "drawn from the posterior": sample_posterior(made, prior, 8, rng()),
        "mean probability": log_mean_probability(made, prior),
    }
    same("surrogate, drawn", cases)


def test_principal_components_equal_their_pinned_numbers(same):
    vectors = wave(9, 4) * [3, 1, 0.5, 2]
    found, every = principal_components(vectors), principal_components(vectors[:4], 3)
    cases = {"two": found, "as many as there are": every, "of others": found.of(wave(2, 4))}
    same("projection", cases)


def test_stimulus_sampling_effects_equal_their_pinned_numbers(same):
    side = np.arange(24) // 2 % 2
    outputs = np.clip(0.5 + 0.4 * profiles().outputs, 0, 1)
    weight = 1 + 0.5 * wave(24, phase=3)
    shared = {"name": profiles().clusters["name"], "content": profiles().clusters["content"]}
    two = PairedAnswers(Profiles(outputs, ("a", "b"), shared), side, weight)
    apart = PairedAnswers(Profiles(outputs, ("a", "b"), {"content": shared["content"]}), side, weight)
    of_three = np.clip(0.5 + 0.4 * profiles(("a", "b", "c"), 24).outputs, 0, 1)
    three = PairedAnswers(Profiles(of_three, ("a", "b", "c"), shared), side, np.ones(24))
    least = PairedAnswers(Profiles(outputs[:10], ("a", "b"), {}), np.arange(10) % 2, np.ones(10))
    cells = {(value, half): 0.5 + 0.4 * wave(6 + value + half, phase=value) for value in range(3) for half in range(2)}
    cases: dict[str, object] = {"rates": two.rates}
    for name, effects in (
        ("two values", paired_effects(two, 0.9, rng(), 200)),
        ("by default", paired_effects(two, 0.9, rng())),
        ("nothing on both sides", paired_effects(apart, 0.9, rng(), 200)),
        ("three values", paired_effects(three, 0.8, rng(), 200)),
        ("five of a side", paired_effects(least, 1.0, rng(), 100)),
        ("cells of three values", cell_effects(cells, 3, 0.9, rng(), 200)),
        ("cells of two values", cell_effects(cells, 2, 0.9, rng(), 200)),
        ("cells by default", cell_effects(cells, 2, 0.9, rng())),
    ):
        cases[name] = effects
        cases[f"{name}, intervals"] = effects.intervals()
    same("sampling_effects", cases)


# ---------------------------------------------------------------------------- the letters
def test_verdicts_equal_their_pinned_numbers(same):
    evidence = Evidence(np.abs(wave(50)), np.abs(wave(50, phase=1)), np.abs(wave(50, phase=2)))
    at_once = Evidence(np.array([0.1, 0.1, 0.2, 0.1]), np.array([0.1, 0.2, 0.3, 0.0]), np.array([0.15, 0.1, 0.0, 0.2]))

    def component(name: str, bs: float, dsbs: float, confidence: float = 0.95, **more: Any) -> Component:
        given = Probabilities(bs, dsbs, 1 - bs - dsbs)
        letter = given.likeliest
        return Component(name, letter, given.of(letter) >= confidence, given, {}, 60, 0, 0, **more)

    told = (Reason("why", {"n": 1}, "es"),)
    spent = (Reason("budget-exhausted", {}, "fr"),)
    unmeasured = Component("xx", None, False, None, {}, 0, 0, 60, {"rule": None}, told)
    es = component("es", 0.97, 0.02, published={"rule": "BS", "other": "UCS"}, reasons=told)
    fr = component("fr", 0.01, 0.98, published={"rule": "DSBS"}, reasons=spent)
    de = component("de", 0.01, 0.01, published={"rule": "UCS", "other": None})
    low = component("it", 0.02, 0.02)
    others = [component(name, 0.01, 0.015) for name in ("pl", "pt", "ro")]
    cases: dict[str, object] = {
        "draws": letter_probabilities(evidence, 0.5, 0.9),
        "without content": letter_probabilities(evidence, 0.5),
        "at the tolerance": letter_probabilities(at_once, 0.1, 0.15),
    }
    for aggregation in ("worst", "vote"):
        for chosen in (
            [es],
            [de],
            [es, fr, de],
            [fr, de],
            [es, unmeasured],
            [de, unmeasured],
            [unmeasured],
            [de, low, *others],
        ):
            finding = Finding("round-trip", "gender", tuple(chosen), 0.95, 0.1, aggregation, (Reason("asked"),))
            rated = rate(finding)
            said = {
                one.name: getattr(rated, one.name)
                for one in fields(rated)
                if one.name not in ("finding", "methodology_version")
            }
            name = f"{aggregation}: {' '.join(one.name for one in chosen)}"
            cases[name] = {**said, "deciding": deciding_components(rated)}
    shares = [Probabilities(0.2, 0.3, 0.5), Probabilities(0.1, 0.6, 0.3), Probabilities(0.4, 0.4, 0.2)]
    cases["worst of three"], cases["vote of three"] = worst_probabilities(shares), vote_probabilities(shares)
    same("verdict", cases)


def test_compositions_equal_their_pinned_results(same):
    shares = [Probabilities(0.2, 0.3, 0.5), Probabilities(0.1, 0.6, 0.3), Probabilities(0.7, 0.1, 0.2)]
    cases: dict[str, object] = {}
    for table in TABLES:
        cases[f"{table}: pairs"] = {f"{a} {b}": compose(a, b, table) for a, b in product(Letter, repeat=2)}
        for length in (1, 2, 3):
            cases[f"{table}: {length} rated"] = combine(shares[:length], table)
        for chain in ([BS], [BS, UCS, DSBS], [BS, BS, UCS], [UCS, DSBS, BS, UCS]):
            cases[f"{table}: {' '.join(chain)}"] = compose_chain(chain, table)
        allowed = {" ".join(chain): compose_chain(chain, table).possible for chain in product(Letter, repeat=3)}
        cases[f"{table}: triples"] = allowed
    same("composition", cases)


# ---------------------------------------------------------------------------- refused input
NAN, INF = float("nan"), float("inf")
DRAWN = draw_transitions([[1, 1], [1, 1]], rng(), 3)
TWO_PAIRS = [[1.0, 0.0], [0.0, 1.0]]
EVEN_PROFILES = profiles()
FIVE_OF_A_CELL = dict.fromkeys(product((0, 1), repeat=2), np.ones(5))

REFUSED: dict[str, tuple[type[AssayError], str, Callable[[], object]]] = {
    "shares: a table": (BadDistribution, "non-negative", lambda: as_shares([[1, 2]])),
    "shares: none": (BadDistribution, "non-negative", lambda: as_shares([])),
    "shares: all zero": (BadDistribution, "not all zero", lambda: as_shares([0, 0])),
    "shares: one negative": (BadDistribution, "non-negative", lambda: as_shares([2, -1])),
    "shares: infinite": (BadDistribution, "non-negative", lambda: as_shares([1, INF])),
    "shares: another number": (BadDistribution, "3 shares .* not 2", lambda: as_shares([1, 1], 3)),
    "counts: half": (OutOfBounds, "whole", lambda: as_counts([1.5])),
    "counts: negative": (OutOfBounds, "whole", lambda: as_counts([2, -1])),
    "counts: a table": (OutOfBounds, "whole", lambda: as_counts([[1]])),
    "counts: nothing": (TooFewObservations, "3 cells", lambda: as_counts([0, 0, 0])),
    "padding: too many": (BadDistribution, "at most 2", lambda: pad_to([1, 1, 1], 2)),
    "padding: none": (BadDistribution, "at most 2", lambda: pad_to([], 2)),
    "transitions: a negative count": (OutOfBounds, "non-negative", lambda: draw_transitions([[1, -1]], rng())),
    "transitions: a row": (OutOfBounds, "table", lambda: draw_transitions([1, 1], rng())),
    "transitions: no block": (BadDistribution, "2 rows", lambda: outputs_under(DRAWN, [])),
    "transitions: another block": (BadDistribution, "2 rows", lambda: outputs_under(DRAWN, [1, 1, 1])),
    "concordance: more than all":
        (OutOfBounds, "between 0 and 2, not 3", lambda: draw_excess_concordance(3, 2, DRAWN, rng())),
    "concordance: less than none": (OutOfBounds, "not -1", lambda: draw_excess_concordance(-1, 2, DRAWN, rng())),
    "concordance: an unknown row":
        (OutOfBounds, "below 2", lambda: draw_excess_concordance(1, 2, DRAWN, rng(), {(0, 2): 1})),
    "concordance: a row before":
        (OutOfBounds, "below 2", lambda: draw_excess_concordance(1, 2, DRAWN, rng(), {(-1, 0): 1})),
    "concordance: negative":
        (OutOfBounds, "negative", lambda: draw_excess_concordance(1, 2, DRAWN, rng(), {(0, 1): 2, (1, 0): -1})),
    "concordance: no weight":
        (OutOfBounds, "none negative, not all 0", lambda: draw_excess_concordance(1, 2, DRAWN, rng(), {(0, 1): 0})),
    "two samples: lengths": (OutOfBounds, "same cells", lambda: chi_squared_two_sample([1, 2], [1, 2, 3])),
    "two samples: negative": (OutOfBounds, "non-negative", lambda: chi_squared_two_sample([1, 2], [1, -2])),
    "two samples: first negative": (OutOfBounds, "non-negative", lambda: chi_squared_two_sample([1, -2], [1, 2])),
    "two samples: no number": (OutOfBounds, "non-negative", lambda: chi_squared_two_sample([1, NAN], [1, 2])),
    "two samples: a table": (OutOfBounds, "two rows", lambda: chi_squared_two_sample([[1, 2]], [[1, 2]])),
    "two samples: first empty": (TooFewObservations, "not 0 and 2", lambda: chi_squared_two_sample([0, 0], [1, 1])),
    "two samples: second empty": (TooFewObservations, "not 2 and 0", lambda: chi_squared_two_sample([1, 1], [0, 0])),
    "exact: no generator":
        (SpecificationError, "1000000", lambda: exact_multinomial([60, 50, 45, 40, 30, 35, 40], [1] * 7)),
    "published: alpha 0":
        (OutOfBounds, "not 0", lambda: published_letter(BLOCKS, {"u": FAIR}, {"b": TILTED}, alpha=0)),
    "published: alpha 1":
        (OutOfBounds, "not 1", lambda: published_letter(BLOCKS, {"u": FAIR}, {"b": TILTED}, alpha=1)),
    "published: no unbiased": (SpecificationError, "at least one", lambda: published_letter(BLOCKS, {}, {"b": TILTED})),
    "published: no biased": (SpecificationError, "at least one", lambda: published_letter(BLOCKS, {"u": FAIR}, {})),
    "published: both": (SpecificationError, "both .* u", lambda: published_letter(BLOCKS, {"u": FAIR}, {"u": TILTED})),
    "published: not counted":
        (SpecificationError, "for x", lambda: published_letter(BLOCKS, {"u": FAIR}, {"x": TILTED})),
    "threshold: alpha 0": (OutOfBounds, "not 0", lambda: published.bootstrap_threshold(FAIR, 9, 0, rng())),
    "threshold: alpha 1": (OutOfBounds, "not 1", lambda: published.bootstrap_threshold(FAIR, 9, 1, rng())),
    "threshold: of nobody": (OutOfBounds, "0.1, 0", lambda: published.bootstrap_threshold(FAIR, 0, 0.1, rng())),
    "threshold: no draws":
        (OutOfBounds, "9 and 0", lambda: published.bootstrap_threshold(FAIR, 9, 0.1, rng(), 0)),
    "ordered: categories": (UnorderedValues, "no order", lambda: kolmogorov_smirnov([1], [2], scale="nominal")),
    "ordered: empty": (TooFewObservations, "sample is empty", lambda: kolmogorov_smirnov([], [2], scale="ordinal")),
    "ordered: no number": (OutOfBounds, "reference", lambda: kolmogorov_smirnov([1], [NAN], scale="ordinal")),
    "ordered: a table": (OutOfBounds, "sample", lambda: kolmogorov_smirnov([[1]], [1], scale="ordinal")),
    "wilson: no trials": (TooFewObservations, "no trials", lambda: wilson(0, 0)),
    "wilson: too many": (OutOfBounds, "between 0 and 2, the number of trials, not 3", lambda: wilson(3, 2)),
    "wilson: negative": (OutOfBounds, "not -1", lambda: wilson(-1, 2)),
    "interval: level 0": (OutOfBounds, "not 0", lambda: equal_tailed([1.0], 0)),
    "interval: level 1": (OutOfBounds, "not 1", lambda: hpdi([1.0], 1)),
    "interval: a table": (OutOfBounds, r"\(1, 2\)", lambda: hpdi([[1.0, 2.0]])),
    "interval: nothing": (TooFewObservations, "one draw", lambda: interval_of([])),
    "interval: no number": (EvidenceError, "1 of 3", lambda: effect_interval([1.0, NAN, 2.0])),
    "flips: no draw": (OutOfBounds, "not 0", lambda: sign_flip_test([1.0], rng(), draws=0)),
    "flips: nothing": (TooFewObservations, "0 values", lambda: sign_flip_test([], rng())),
    "flips: other clusters": (OutOfBounds, "2 and 1", lambda: sign_flip_test([1.0, 2.0], rng(), clusters=[1])),
    "d_z: one": (TooFewObservations, "at least 2", lambda: d_z([1.0])),
    "d_z: constant": (ZeroVariance, "all 3", lambda: d_z([0.1, 0.1, 0.1])),
    "crossed: four rows": (TooFewObservations, "4 profiles", lambda: mean_error(np.ones((4, 1)), {})),
    "crossed: four names":
        (TooFewObservations, "4 different names", lambda: mean_error(wave(9, 1), {"name": np.arange(9) % 4})),
    "profiles: one output":
        (ZeroVariance, "all 4 outputs are 1", lambda: Profiles(np.ones((2, 2)), ("a", "b"), {}).scale),
    "tied: one side": (TooFewObservations, "two sides", lambda: tied_draws(EVEN_PROFILES, [0] * 24, 0.9, rng())),
    "tied: the other side": (TooFewObservations, "two sides", lambda: tied_draws(EVEN_PROFILES, [1] * 24, 0.9, rng())),
    "tied: three sides":
        (TooFewObservations, "two sides", lambda: tied_draws(EVEN_PROFILES, [0, 1, 2] * 8, 0.9, rng())),
    "groups: one":
        (TooFewObservations, "1 groups", lambda: group_draws(EVEN_PROFILES, np.repeat([0, 1], [20, 4]), rng())),
    "gaussian: one": (TooFewObservations, "at least 2", lambda: gaussian_kl([1.0], [1.0, 2.0])),
    "gaussian: a constant": (ZeroVariance, "no finite", lambda: gaussian_kl([1.0, 1.0], [1.0, 2.0])),
    "gaussian: to a constant": (ZeroVariance, "no finite", lambda: gaussian_kl([1.0, 2.0], [1.0, 1.0])),
    "gaussian: too far":
        (EvidenceError, "too large", lambda: Gaussian(1e200, 1e-200).divergence_from(Gaussian(0, 1e-200))),
    "gaussian: no fold": (OutOfBounds, "not 0", lambda: kl_by_fold([1.0, 2], [1.0, 3], 0, rng())),
    "sample: a table": (OutOfBounds, r"\(1, 1\)", lambda: sign_flip_test([[1.0]], rng())),
    "sample: infinite": (EvidenceError, "1 of 2", lambda: sign_flip_test([1.0, INF], rng())),
    "impact: one group": (TooFewObservations, "'m'", lambda: disparate_impact([1, 0], [0, 0], ("m", "f"), rng())),
    "impact: nobody": (TooFewObservations, "none", lambda: disparate_impact([], [], ("m", "f"), rng())),
    "impact: none positive":
        (TooFewObservations, "none of 2", lambda: disparate_impact([0, 0], [0, 1], ("m", "f"), rng())),
    "vectors: a row": (OutOfBounds, r"\(2,\)", lambda: as_vectors([1, 2], "they")),
    "vectors: too few":
        (TooFewObservations, "hold 1 vectors; at least 2", lambda: as_vectors([[1, 2]], "they", least=2)),
    "vectors: lengths": (OutOfBounds, "2 numbers where others have 3", lambda: as_vectors([[1, 2]], "they", dims=3)),
    "vectors: no number": (EvidenceError, "1 of the 2", lambda: as_vectors([[1, 2], [1, NAN]], "they")),
    "vectors: zero": (EvidenceError, "1 of the 2 .*all zero", lambda: unit_vectors([[1, 2], [0, 0]])),
    "cues: shapes": (OutOfBounds, "equal shape", lambda: indifference_points([[1, 0]], TWO_PAIRS, TWO_PAIRS)),
    "cues: concepts": (OutOfBounds, "equal shape", lambda: indifference_points(TWO_PAIRS, TWO_PAIRS, [[1, 0, 0]])),
    "cues: zero": (ZeroVariance, "pair 2", lambda: indifference_points(TWO_PAIRS, [[0, 1], [0, 0]], TWO_PAIRS)),
    "cues: first zero": (ZeroVariance, "pair 1", lambda: indifference_points([[0, 0], [1, 1]], TWO_PAIRS, TWO_PAIRS)),
    "cues: one way": (NoTransition, "pair 1", lambda: indifference_points([[1, 0]], [[2, 0]], TWO_PAIRS)),
    "cues: short":
        (NoTransition, "concept 2 .*pair 1", lambda: indifference_points([[1e-7, 0]], [[0, 1e-7]], [[1, 1], [5, 0]])),
    "subject: nothing": (TooFewObservations, "no replicate", lambda: summarise([], [], rng(), [0.5])),
    "curve: one level": (TooFewObservations, "1 levels", lambda: fit_psychometric([1, 1, 2], [0, 1, 0], [1, 1, 0])),
    "curve: all first": (NoTransition, "all 4 .*first", lambda: fit_psychometric([0, 1], [0, 0], [2, 2])),
    "curve: all second": (NoTransition, "all 4 .*second", lambda: fit_psychometric([0, 1], [2, 2], [2, 2])),
    "curve: more than trials": (OutOfBounds, "from 0 to the trials", lambda: fit_psychometric([0, 1], [0, 3], [2, 2])),
    "curve: negative": (OutOfBounds, "from 0 to the trials", lambda: fit_psychometric([0, 1], [-1, 2], [2, 2])),
    "curve: lengths": (OutOfBounds, "equally many", lambda: fit_psychometric([0, 1], [0, 1], [2])),
    "curve: no level": (OutOfBounds, "finite", lambda: fit_psychometric([0, NAN], [0, 1], [2, 2])),
    "choices: two concepts":
        (TooFewObservations, "2 concepts", lambda: choice_effects(np.ones((1, 1, 1, 6)), 2, rng())),
    "choices: two controls":
        (TooFewObservations, "2 controls", lambda: choice_effects(np.ones((1, 1, 1, 6)), 4, rng())),
    "trials: two concepts": (TooFewObservations, "2 concepts", lambda: trial_effects(margins([0.1] * 6), 2, rng())),
    "trials: two controls": (TooFewObservations, "2 controls", lambda: trial_effects(margins([0.1] * 6), 4, rng())),
    "population: two": (TooFewObservations, "2 points", lambda: draw_population(margins([0.1, 0.2]), rng(), 9)),
    "correlation: two": (TooFewObservations, "2 pairs", lambda: pearson([1, 2], [1, 2])),
    "correlation: lengths": (OutOfBounds, "same length", lambda: pearson([1, 2, 3], [1, 2])),
    "correlation: a table": (OutOfBounds, "same length", lambda: pearson([[1, 2, 3]], [[1, 2, 3]])),
    "correlation: first constant": (ZeroVariance, "first", lambda: slope([1, 1, 1], [1, 2, 3], rng())),
    "correlation: second constant": (ZeroVariance, "second", lambda: pearson([1, 2, 3], [1, 1, 1])),
    "hierarchy: residual": (UnknownName, "none", lambda: posterior(residual="none")),
    "hierarchy: prior": (UnknownName, "mine", lambda: posterior(prior="mine")),
    "hierarchy: no draw": (OutOfBounds, "not 0", lambda: posterior(draws=0)),
    "hierarchy: one row":
        (TooFewObservations, "each of: b", lambda: fit_hierarchy([1, 0.9, 1], ["a", "a", "b"], ["x"] * 3, rng())),
    "hierarchy: no row": (TooFewObservations, "there is none", lambda: fit_hierarchy([], [], [], rng())),
    "hierarchy: lengths": (OutOfBounds, "2, 1 and 2", lambda: fit_hierarchy([1, 1], ["a"], ["x", "y"], rng())),
    "hierarchy: no number": (EvidenceError, "1 of 2", lambda: fit_hierarchy([1, NAN], ["a"] * 2, ["x"] * 2, rng())),
    "hierarchy: below": (OutOfBounds, "1 of 2", lambda: fit_hierarchy([1, -2e-6], ["a"] * 2, ["x"] * 2, rng())),
    "hierarchy: above": (OutOfBounds, "1 of 2", lambda: fit_hierarchy([1, 2 + 2e-6], ["a"] * 2, ["x"] * 2, rng())),
    "hierarchy: equal rows":
        (ZeroVariance, "every word of: a", lambda: fit_hierarchy([1, 1, 0.9, 0.9], ["a"] * 4, list("xxyy"), rng())),
    "hierarchy: equal words": (ZeroVariance, "one of: a", lambda: fit_hierarchy([1, 1], ["a"] * 2, ["x", "y"], rng())),
    "hierarchy: no connection": (TooFewObservations, "human", lambda: posterior().mean("human")),
    "hierarchy: no word": (TooFewObservations, "'who'", lambda: posterior().cell("neutral", "who")),
    "hierarchy: no word by itself": (TooFewObservations, "'who'", lambda: posterior().cell_by_itself("neutral", "who")),
    "predictive: no connection":
        (TooFewObservations, "human", lambda: predictive_check(posterior(), [1.0], ["human"], ["he"])),
    "comparison: nothing in common": (
        TooFewObservations, "associated, different, neutral before",
        lambda: compare(posterior(), fit_hierarchy([1, 0.9], ["human"] * 2, ["x"] * 2, rng())),
    ),
    "weat: one target": (TooFewObservations, "at least 2", lambda: weat_of_associations([1.0], [1.0, 2.0])),
    "weat: no spread": (ZeroVariance, "all 4", lambda: weat_of_associations([1.0, 1.0], [1.0, 1.0])),
    "partitions: 41": (SpecificationError, "41 members", lambda: partition_test(wave(21), wave(20))),
    "null check: one word": (OutOfBounds, "not 1", lambda: null_check(1.0, 1)),
    "null check: too large": (OutOfBounds, "2.001", lambda: null_check(-2.001, 8)),
    "null check: no number": (OutOfBounds, "nan", lambda: null_check(NAN, 8)),
    "MAC: lengths": (OutOfBounds, "2 and 1", lambda: mean_average_cosine([1.0, 2.0], ["a"])),
    "MAC: sets": (OutOfBounds, "2 and 1", lambda: mean_average_cosine([1.0, 2.0], ["a", "b"], ["x"])),
    "RND: dims": (OutOfBounds, "second group", lambda: relative_norm_distance([[1, 2]], [[1, 2, 3]], [[1, 2]])),
    "ECT: two": (TooFewObservations, "hold 2 vectors", lambda: embedding_coherence(wave(2, 3), wave(2, 3), wave(2, 3))),
    "direct bias: no direction": (ZeroVariance, "same way", lambda: direct_bias(TWO_PAIRS, TWO_PAIRS, TWO_PAIRS)),
    "direct bias: no pairs": (OutOfBounds, "2 and 1", lambda: direct_bias(TWO_PAIRS, TWO_PAIRS, [[1, 1]])),
    "direct bias: two directions":
        (EvidenceError, "equally well", lambda: direct_bias(TWO_PAIRS, TWO_PAIRS, [[-1, 0], [0, -1]])),
    "RNSB: one target": (TooFewObservations, "at least 2", lambda: negative_sentiment_bias([[1.0]], [[2.0]], [[1.0]])),
    "RNSB: none negative": (
        EvidenceError, "zero", lambda: negative_sentiment_bias([[1.0]], [[-1.0]], [[1e9], [1e9]])
    ),
    "stereotype: something else": (OutOfBounds, "1/2", lambda: score_choices([0.4], ["t"], ["b"])),
    "stereotype: no pairs": (TooFewObservations, "no pairs", lambda: score_choices([], [], [])),
    "stereotype: terms": (OutOfBounds, "1 pairs .* 2 terms and 1", lambda: score_choices([1], ["t", "u"], ["b"])),
    "stereotype: one term": (TooFewObservations, "not 1", lambda: fit_terms(score_choices([1], ["t"], ["b"]).by_term)),
    "stereotype: all ties":
        (TooFewObservations, "all 2", lambda: fit_terms(score_choices([0.5] * 2, ["t", "u"], ["b"] * 2).by_term)),
    "stereotype: no list":
        (TooFewObservations, "step 2", lambda: stereotype_effects(fit_shares([1, 2], [1, 1]), [], rng())),
    "images: terms": (OutOfBounds, r"\(1,\) and 2", lambda: score_images([0.5], ["a", "b"])),
    "images: none": (TooFewObservations, "no images", lambda: score_images([], [])),
    "images: a score above": (OutOfBounds, "0 and 1", lambda: score_images([1.5], ["a"])),
    "images: four terms":
        (TooFewObservations, "4 generation terms.* needs 5", lambda: fit_images([0.1, 0.2, 0.3, 0.4], list("abcd"))),
    "images: all one": (ZeroVariance, "each of 5", lambda: fit_images([0.1] * 5, list("abcde"))),
    "kinds: one": (TooFewObservations, "not 1", lambda: fit_shares([1], [2])),
    "kinds: lengths": (OutOfBounds, "the same shape", lambda: fit_shares([1, 2], [1])),
    "kinds: ties": (OutOfBounds, "the same shape", lambda: fit_shares([1, 2], [1, 2], [1, 2, 3])),
    "kinds: half": (OutOfBounds, "whole", lambda: fit_shares([1.5, 2], [1, 2])),
    "kinds: negative": (OutOfBounds, "whole", lambda: fit_shares([-1, 2], [1, 2])),
    "kinds: no trial": (OutOfBounds, r"trials\[1\] is 0", lambda: fit_shares([1, 0], [1, 0])),
    "kinds: all ties": (TooFewObservations, "all 4", lambda: fit_shares([0, 0], [0, 0], 2)),
    "weights: none": (TooFewObservations, "each input", lambda: weigh([])),
    "weights: a table": (TooFewObservations, "each input", lambda: weigh([[0.1]])),
    "weights: no number": (EvidenceError, "1 of 2", lambda: weigh([0.1, NAN])),
    "weights: above": (OutOfBounds, "to 1.1", lambda: weigh([0.1, 1.1])),
    "weights: just above": (OutOfBounds, "to 1", lambda: weigh([0.1, 1 + 2e-9])),
    "weights: just below": (OutOfBounds, "not -2e-09", lambda: weigh([-2e-9, 0.1])),
    "weights: never": (EvidenceError, "each of 2", lambda: weigh([0, 0])),
    "weights: proposed": (OutOfBounds, "2 proposed", lambda: weigh([0.1, 0.2], [1.0])),
    "weights: proposed nought": (EvidenceError, "positive", lambda: weigh([0.1, 0.2], [1.0, 0.0])),
    "weights: proposed infinite": (EvidenceError, "positive", lambda: weigh([0.1, 0.2], [1.0, INF])),
    "inclusion: nothing": (OutOfBounds, "not 0", lambda: inclusion([1.0], 0)),
    "inclusion: nobody": (EvidenceError, "positive", lambda: inclusion([], 1)),
    "inclusion: nought": (EvidenceError, "positive", lambda: inclusion([1.0, 0.0], 1)),
    "inclusion: infinite": (EvidenceError, "positive", lambda: inclusion([1.0, INF], 1)),
    "tail: four": (TooFewObservations, "5 positive", lambda: pareto_shape([1, 2, 3, 4])),
    "tail: nought": (TooFewObservations, "5 positive", lambda: pareto_shape([0, 1, 2, 3, 4])),
    "tail: infinite": (TooFewObservations, "5 positive", lambda: pareto_shape([1, 2, 3, 4, 5, INF])),
    "tail: a table": (TooFewObservations, "5 positive", lambda: pareto_shape([[1, 2, 3], [4, 5, 6]])),
    "surrogate: ridge 0": (OutOfBounds, "not 0", lambda: fit_surrogate(TWO_PAIRS, [0, 1], ridge=0)),
    "surrogate: ridge infinite": (OutOfBounds, "not inf", lambda: fit_surrogate(TWO_PAIRS, [0, 1], ridge=INF)),
    "surrogate: one input": (TooFewObservations, "at least 2", lambda: fit_surrogate([[1.0]], [0.5])),
    "surrogate: lengths": (OutOfBounds, "2 probabilities", lambda: fit_surrogate(TWO_PAIRS, [0.5])),
    "surrogate: above": (OutOfBounds, "to 1.1", lambda: fit_surrogate(TWO_PAIRS, [0.5, 1.1])),
    "surrogate: below": (OutOfBounds, "not -0.1", lambda: fit_surrogate(TWO_PAIRS, [-0.1, 1])),
    "surrogate: no number": (EvidenceError, "1 of 2", lambda: fit_surrogate(TWO_PAIRS, [NAN, 1])),
    "surrogate: always": (ZeroVariance, "probability 1", lambda: fit_surrogate(TWO_PAIRS, [1, 1])),
    "surrogate: never": (ZeroVariance, "probability 0", lambda: fit_surrogate(TWO_PAIRS, [0, 0])),
    "prior: one vector": (TooFewObservations, "at least 2", lambda: NormalPrior.of([[1.0]])),
    "prior: all one": (ZeroVariance, "all 2", lambda: NormalPrior.of([[1.0, 2], [1, 2]])),
    "projection: one vector": (TooFewObservations, "at least 2", lambda: principal_components([[1.0, 2.0]])),
    "projection: no component": (OutOfBounds, "1 to 1, not 0", lambda: principal_components(TWO_PAIRS, 0)),
    "projection: too many": (OutOfBounds, "1 to 1, not 2", lambda: principal_components(TWO_PAIRS, 2)),
    "projection: more than dims": (OutOfBounds, "1 to 2, not 3", lambda: principal_components(wave(9, 2), 3)),
    "projection: all one": (ZeroVariance, "all 2", lambda: principal_components([[1.0, 2], [1, 2]], 1)),
    "sampling: four of a side": (
        TooFewObservations, "needs 5 profiles",
        lambda: paired_effects(
            PairedAnswers(Profiles(wave(9, 2), ("a", "b"), {}), np.arange(9) % 2, np.ones(9)), 0.9, rng()
        ),
    ),
    "sampling: four of a cell": (
        TooFewObservations, "4 replies .*needs 5",
        lambda: cell_effects(FIVE_OF_A_CELL | {(1, 1): np.ones(4)}, 2, 0.9, rng()),
    ),
    "sampling: a cell missing": (TooFewObservations, "0 replies", lambda: cell_effects({}, 2, 0.9, rng())),
    "sampling: never yes": (
        EvidenceError, "no input got the positive class",
        lambda: cell_effects(dict.fromkeys(product((0, 1), repeat=2), np.zeros(5)), 2, 0.9, rng()),
    ),
    "composition: no chain": (SpecificationError, "at least one", lambda: compose_chain([])),
    "composition: no rated chain": (SpecificationError, "at least one", lambda: combine([])),
    "composition: no such table": (UnknownName, "mine", lambda: compose(BS, BS, "mine")),
    "composition: above one": (BadDistribution, "sum to one", lambda: combine([Probabilities(1.1, -0.1, 0)])),
    "composition: just above one": (BadDistribution, "sum to one", lambda: combine([Probabilities(1 + 5e-7, 0, 0)])),
    "composition: not one": (BadDistribution, "sum to one", lambda: combine([Probabilities(0.5, 0.3, 0.200002)])),
    "composition: no number": (BadDistribution, "sum to one", lambda: combine([Probabilities(NAN, 0.5, 0.5)])),
}  # fmt: skip


def test_invalid_arguments_are_refused_with_a_message_that_contains_their_value():
    for name, (error, seen, call) in REFUSED.items():
        with pytest.raises(AssayError, match=seen) as raised:
            call()
        assert type(raised.value) is error, name


if __name__ == "__main__":
    pin()
