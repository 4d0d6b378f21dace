"""Tests of the hierarchical model of cosine distances: known posteriors, a second computation, recovery and errors."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from assay.errors import EvidenceError, OutOfBounds, TooFewObservations, UnknownName, ZeroVariance
from assay.statistics.bayes import spread_grid
from assay.statistics.bayes.hierarchy import PRIORS, fit_hierarchy
from assay.statistics.bayes.spread_grid import Cells, Priors
from assay.statistics.intervals.credible import equal_tailed, hpdi

KNOWN = Path(__file__).resolve().parents[6] / "shared" / "known_answers" / "hierarchical.json"

TIGHT = Priors(mean=1.0, sd=0.05, spread_rate=40.0, residual_rate=40.0)
"""A prior under which simulated distances hardly ever leave [0, 2]."""


def make_rows(rng, words=8, each=10, mu=0.9, tau=0.08, sigma=0.15, connection="human"):
    """Draw rows of one connection from the model; return also the true means of the words."""
    beta = rng.normal(mu, tau, words)
    distance = rng.normal(np.repeat(beta, each), sigma)
    return (
        np.clip(distance, 0, 2),
        [connection] * (words * each),
        np.repeat([f"w{i}" for i in range(words)], each),
        beta,
    )


def weighed_from_the_prior(y, cell, draws=1_500_000):
    """Return means and sds of mu, beta[0], tau, sigma, and the effective sample size, by weighting prior draws."""
    rng, prior = np.random.default_rng(8), PRIORS["paper"]
    mu = rng.normal(prior.mean, prior.sd, draws)
    tau, sigma = rng.exponential(1 / prior.spread_rate, draws), rng.exponential(1 / prior.residual_rate, draws)
    beta = mu + tau * rng.standard_normal((max(cell) + 1, draws))
    log_weight = -len(y) * np.log(sigma)
    for value, at in zip(y, cell, strict=True):
        log_weight -= 0.5 * ((value - beta[at]) / sigma) ** 2
    weight = np.exp(log_weight - log_weight.max())
    weight /= weight.sum()
    numbers = np.stack([mu, beta[0], tau, sigma])
    mean = numbers @ weight
    return mean, np.sqrt((numbers - mean[:, None]) ** 2 @ weight), 1 / (weight**2).sum()


@pytest.fixture(scope="module")
def known():
    if not KNOWN.exists():
        pytest.skip("the shared known answers are not beside the project")
    small = json.loads(KNOWN.read_text())
    names = small["connections"]
    case = small["small"]
    posterior = fit_hierarchy(
        case["y"],
        [names[at] for at in case["conn"]],
        [f"w{at}" for at in case["pw"]],
        np.random.default_rng(1),
        residual="shared",
    )
    return posterior, names, case["posterior"]


def test_means_and_spreads_with_one_shared_sigma_agree_with_six_long_mcmc_chains(known):
    posterior, names, expected = known
    for at, name in enumerate(names):
        for drawn, key in ((posterior.mean(name), "mu"), (posterior.spread(name), "tau")):
            sd, limits = expected["sd"][key][at], hpdi(drawn, 0.89)
            assert drawn.mean() == pytest.approx(expected[f"{key}_mean"][at], abs=0.1 * sd)
            ends = [ends[at] for ends in expected[f"{key}_hdi89"]]
            assert [limits.low, limits.high] == pytest.approx(ends, abs=0.25 * sd)
        for word, (mean, sd) in enumerate(zip(expected["beta_mean"][at], expected["sd"]["beta"][at], strict=True)):
            assert posterior.cell(name, f"w{word}").mean() == pytest.approx(mean, abs=0.1 * sd)


def test_the_posterior_of_the_shared_sigma_agrees_with_the_mcmc_chains(known):
    posterior, names, expected = known
    sd, drawn = expected["sd"]["sigma"], posterior.residual(names[0])
    assert all(np.array_equal(drawn, posterior.residual(name)) for name in names)
    assert drawn.mean() == pytest.approx(expected["sigma_mean"], abs=0.1 * sd)
    limits = hpdi(drawn, 0.89)
    assert [limits.low, limits.high] == pytest.approx(expected["sigma_hdi89"], abs=0.25 * sd)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("y", "cell"),
    [
        ([0.7, 0.8, 0.95, 1.1, 1.0], [0, 0, 1, 1, 1]),
        ([0.7, 0.9, 1.0], [0, 0, 0]),  # one word only, so tau follows its prior
        ([0.9, 1.0, 0.4], [0, 0, 1]),
    ],
)
def test_the_posterior_of_a_small_table_agrees_with_importance_sampling_from_the_prior(y, cell):
    mean, sd, effective = weighed_from_the_prior(y, cell)
    assert effective > 4000
    posterior = fit_hierarchy(y, ["human"] * len(y), [f"w{at}" for at in cell], np.random.default_rng(2), draws=40_000)
    drawn = [
        posterior.mean("human"),
        posterior.cell("human", "w0"),
        posterior.spread("human"),
        posterior.residual("human"),
    ]
    assert [one.mean() for one in drawn] == pytest.approx(mean, abs=0.06 * sd.max())
    assert [one.std() for one in drawn] == pytest.approx(sd, rel=0.08)


def test_with_one_row_per_word_the_posterior_cannot_separate_the_spread_of_words_from_the_residual_spread():
    y, rng = np.array([0.6, 0.9, 1.1, 0.8]), np.random.default_rng(8)
    # with one row per word, distances are N(mu, hypot(tau, sigma)): the data cannot tell tau from sigma
    mu, tau, sigma = rng.normal(1, 0.3, 10**6), rng.exponential(0.5, 10**6), rng.exponential(0.5, 10**6)
    total = np.hypot(tau, sigma)
    weight = np.exp(-0.5 * sum(((value - mu) / total) ** 2 for value in y)) / total**4
    weight /= weight.sum()
    posterior = fit_hierarchy(y, ["human"] * 4, list("abcd"), np.random.default_rng(2), draws=40_000)
    drawn = np.stack([posterior.mean("human"), posterior.spread("human"), posterior.residual("human")])
    assert drawn.mean(axis=1) == pytest.approx(np.stack([mu, tau, sigma]) @ weight, abs=0.004)
    assert drawn[1].mean() == pytest.approx(drawn[2].mean(), abs=0.004)


def test_the_collapsed_density_equals_that_of_the_correlated_normal():
    """The means of cells are jointly normal, and the covariance of any two is the prior variance of mu."""
    rng, prior = np.random.default_rng(27), Priors(mean=0.9, sd=0.2)
    words = [f"w{at}" for at in (0, 0, 0, 1, 2, 2, 3, 4, 4, 4)]
    cells = Cells.of(rng.normal(0.8, 0.2, len(words)), words)
    sigma, tau = np.array([0.01, 0.1, 0.5]), np.array([1e-3, 0.05, 0.4, 2.0])
    expected = np.empty((sigma.size, tau.size))
    for i, s in enumerate(sigma):
        for j, t in enumerate(tau):
            covariance = np.diag(s**2 / cells.row_counts + t**2) + prior.sd**2
            away = cells.means - prior.mean
            expected[i, j] = -0.5 * (np.linalg.slogdet(covariance)[1] + away @ np.linalg.solve(covariance, away))
    assert cells.log_evidence(sigma, tau, prior) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(("words", "each"), [(2, 2), (15, 200), (120, 1), (1, 5)])
def test_a_grid_six_times_as_fine_gives_the_same_posterior_means(monkeypatch, words, each):
    y, _, names, _ = make_rows(np.random.default_rng(28), words=words, each=each)
    cells = [Cells.of(y, list(names))]

    def means():
        grid = spread_grid.SpreadGrid.around(cells, PRIORS["paper"])
        weight = np.exp(grid.log_sigma - grid.log_sigma.max())
        weight /= weight.sum()
        return [weight @ grid.sigma.values, weight @ np.exp(grid.log_tau[0]) @ grid.taus[0].values]

    usual = means()
    monkeypatch.setattr(spread_grid, "SIGMA_POINTS", 6 * spread_grid.SIGMA_POINTS)
    monkeypatch.setattr(spread_grid, "TAU_POINTS", 6 * spread_grid.TAU_POINTS)
    assert means() == pytest.approx(usual, rel=1e-3)


@pytest.mark.slow
def test_ranks_of_truths_from_the_prior_are_uniform():
    """Simulation-based calibration (Talts et al. 2018): an error of the sampler would make the ranks uneven."""
    rng, ranks = np.random.default_rng(3), []
    for _ in range(400):
        mu, tau, sigma = rng.normal(TIGHT.mean, TIGHT.sd), rng.exponential(1 / 40), rng.exponential(1 / 40)
        y, connection, words, beta = make_rows(rng, words=4, each=3, mu=mu, tau=tau, sigma=sigma)
        posterior = fit_hierarchy(y, connection, words, rng, draws=99, prior=TIGHT)
        drawn = (posterior.mean("human"), posterior.spread("human"), posterior.residual("human"))
        truths = (mu, tau, sigma, beta[0])
        drawn = (*drawn, posterior.cell("human", "w0"))
        ranks.append([np.count_nonzero(one < truth) for one, truth in zip(drawn, truths, strict=True)])
    for of_one in np.transpose(ranks):
        counts = np.bincount(of_one // 10, minlength=10)
        # the 1 in 10,000 quantile of chi-squared with 9 degrees of freedom
        assert ((counts - 40) ** 2 / 40).sum() < 33.7


def test_intervals_of_words_have_their_nominal_coverage():
    rng, held = np.random.default_rng(4), []
    for _ in range(60):
        y, connection, words, beta = make_rows(rng)
        posterior = fit_hierarchy(y, connection, words, rng, draws=500)
        for word, truth in enumerate(beta):
            limits = equal_tailed(posterior.cell("human", f"w{word}"), 0.89)
            held.append(limits.low <= truth <= limits.high)
    assert np.mean(held) == pytest.approx(0.89, abs=0.05)  # three standard errors of 480 words are .043


def test_many_rows_recover_the_true_parameters():
    y, connection, words, beta = make_rows(np.random.default_rng(5), words=60, each=200)
    posterior = fit_hierarchy(y, connection, words, np.random.default_rng(6))
    assert posterior.mean("human").mean() == pytest.approx(beta.mean(), abs=0.003)
    assert posterior.spread("human").mean() == pytest.approx(beta.std(ddof=1), abs=0.005)
    assert posterior.residual("human").mean() == pytest.approx(0.15, abs=0.003)
    means = [posterior.cell("human", f"w{word}").mean() for word in range(60)]
    assert means == pytest.approx(beta, abs=0.045)


def test_the_grid_resolves_a_million_rows():
    y, connection, words, _ = make_rows(np.random.default_rng(7), words=10, each=100_000)
    posterior = fit_hierarchy(y, connection, words, np.random.default_rng(8))
    residual = posterior.residual("human")
    assert residual.std() == pytest.approx(0.15 / np.sqrt(2 * 1e6), rel=0.1)
    assert len(np.unique(residual)) == residual.size


def test_the_mean_of_a_word_with_few_rows_shrinks_towards_the_overall_mean():
    y, connection, words, _ = make_rows(np.random.default_rng(9), words=6, each=20)
    connection, words = [*connection, "human"], [*words, "odd"]
    y = np.append(y, 0.3)
    posterior = fit_hierarchy(y, connection, words, np.random.default_rng(10))
    assert 0.3 + 0.1 < posterior.cell("human", "odd").mean() < posterior.mean("human").mean()


@pytest.mark.parametrize("residual", ["per-connection", "shared"])
def test_the_posterior_does_not_depend_on_the_order_of_the_rows(residual):
    rng = np.random.default_rng(11)
    y, first, words, _ = make_rows(rng)
    z, second, _, _ = make_rows(rng, mu=0.8, connection="associated")
    y, connection, words = np.concatenate([y, z]), np.array([*first, *second]), np.concatenate([words, words])
    shuffled = rng.permutation(y.size)
    one = fit_hierarchy(y, connection, words, np.random.default_rng(12), residual=residual)
    other = fit_hierarchy(
        y[shuffled], connection[shuffled], words[shuffled], np.random.default_rng(12), residual=residual
    )
    assert one.connections == other.connections == ("associated", "human")
    for name in one.connections:
        assert other.mean(name) == pytest.approx(one.mean(name), abs=1e-9)
        assert other.cell(name, "w3") == pytest.approx(one.cell(name, "w3"), abs=1e-9)


def test_swapping_two_labels_swaps_their_posteriors():
    rng = np.random.default_rng(13)
    y, _, words, _ = make_rows(rng)
    z, _, _, _ = make_rows(rng, mu=0.7, each=3)
    distance, words = np.concatenate([y, z]), np.concatenate([words, words[: z.size]])
    labels = np.repeat(["associated", "different"], [y.size, z.size])
    swapped = np.repeat(["different", "associated"], [y.size, z.size])
    one = fit_hierarchy(distance, labels, words, np.random.default_rng(14), draws=20_000)
    other = fit_hierarchy(distance, swapped, words, np.random.default_rng(15), draws=20_000)
    for here, there in (("associated", "different"), ("different", "associated")):
        sd = one.mean(here).std()
        assert other.mean(there).mean() == pytest.approx(one.mean(here).mean(), abs=0.05 * sd)
        assert other.mean(there).std() == pytest.approx(sd, rel=0.05)


def test_kinds_of_word_pairs_with_their_own_sigma_are_fitted_independently():
    rng = np.random.default_rng(16)
    y, connection, words, _ = make_rows(rng, connection="associated")
    z, other, _, _ = make_rows(rng, sigma=0.4, connection="human")
    alone = fit_hierarchy(y, connection, words, np.random.default_rng(17))
    both = fit_hierarchy(
        np.concatenate([y, z]), [*connection, *other], np.concatenate([words, words]), np.random.default_rng(17)
    )
    assert np.array_equal(alone.mean("associated"), both.mean("associated"))
    assert both.residual("human").mean() > 2 * both.residual("associated").mean()


def test_draws_are_independent_of_one_another():
    y, connection, words, _ = make_rows(np.random.default_rng(18))
    drawn = fit_hierarchy(y, connection, words, np.random.default_rng(19)).mean("human")
    lagged = np.corrcoef(drawn[:-1], drawn[1:])[0, 1]
    assert abs(lagged) < 4 / np.sqrt(drawn.size)


def test_a_weaker_prior_widens_the_interval_of_few_rows():
    rows = ([0.7, 0.9, 0.8], ["human"] * 3, ["a", "a", "b"])
    paper, weak = (fit_hierarchy(*rows, np.random.default_rng(20), prior=name).mean("human") for name in PRIORS)
    assert weak.std() > 1.2 * paper.std()


def test_the_prior_hardly_affects_the_posterior_of_many_rows():
    y, connection, words, _ = make_rows(np.random.default_rng(21), words=20, each=50)
    paper, weak = (
        fit_hierarchy(y, connection, words, np.random.default_rng(22), prior=name).mean("human") for name in PRIORS
    )
    assert weak.mean() == pytest.approx(paper.mean(), abs=0.1 * paper.std())


def test_kinds_of_word_pairs_are_listed_in_the_order_of_the_paper():
    names = ["neutral", "zeal", "human", "different", "associated", "kin"]
    posterior = fit_hierarchy(
        [0.7, 0.9] * len(names), np.repeat(names, 2), ["a", "a"] * len(names), np.random.default_rng(23)
    )
    assert posterior.connections == ("associated", "different", "human", "neutral", "kin", "zeal")


def test_the_posterior_of_a_kind_of_word_pair_or_of_a_word_without_rows_is_refused():
    y, connection, words, _ = make_rows(np.random.default_rng(24))
    posterior = fit_hierarchy(y, connection, words, np.random.default_rng(25))
    assert posterior.has("human", "w0")
    assert not posterior.has("human", "unheard")
    assert not posterior.has("associated", "w0")
    with pytest.raises(TooFewObservations, match=r"'associated'.*there are distances to human"):
        posterior.mean("associated")
    with pytest.raises(TooFewObservations, match="'unheard' has no distance"):
        posterior.cell("human", "unheard")


@pytest.mark.parametrize(
    ("distance", "connection", "protected", "error", "said"),
    [
        ([], [], [], TooFewObservations, "there is none"),
        ([0.8, 0.9, 0.7], ["human", "human", "associated"], ["a", "b", "a"], TooFewObservations, "associated"),
        ([0.8, 0.8, 0.8], ["human"] * 3, ["a", "a", "a"], ZeroVariance, "differ"),
        ([0.8, 0.8, 0.9, 0.9], ["human"] * 4, ["a", "a", "b", "b"], ZeroVariance, "differ"),
        ([0.8, 0.8, 0.8], ["human"] * 3, ["a", "b", "c"], ZeroVariance, "differ"),
        ([0.8, float("nan")], ["human"] * 2, ["a", "a"], EvidenceError, "1 of 2 distances are not finite"),
        ([0.8, float("inf")], ["human"] * 2, ["a", "a"], EvidenceError, "1 of 2 distances are not finite"),
        ([0.8, -100.0], ["human"] * 2, ["a", "a"], OutOfBounds, "-100.*missing words"),
        ([0.8, 0.9], ["human"], ["a", "a"], OutOfBounds, "2, 1 and 2"),
    ],
)
@pytest.mark.parametrize("residual", ["per-connection", "shared"])
def test_invalid_rows_of_distances_are_refused_with_the_reason(distance, connection, protected, error, said, residual):
    with pytest.raises(error, match=said):
        fit_hierarchy(distance, connection, protected, np.random.default_rng(1), residual=residual)


@pytest.mark.parametrize("wrong", [{"prior": "flat"}, {"residual": "per-word"}, {"draws": 0}])
def test_invalid_settings_of_the_hierarchical_fit_are_refused(wrong):
    with pytest.raises((UnknownName, OutOfBounds)):
        fit_hierarchy([0.8, 0.9], ["human"] * 2, ["a", "a"], np.random.default_rng(1), **wrong)
