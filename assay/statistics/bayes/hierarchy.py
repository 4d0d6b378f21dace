"""Posterior of cosine distances in the model of Dobrzeniecka & Urbaniak, drawn exactly.

A connection ``c`` is the relation of attribute words to a protected word ``p``: associated, different, human, neutral.
The distance is ``y ~ N(beta[c, p], sigma_c)`` with ``beta[c, p] ~ N(mu_c, tau_c)``, ``mu_c ~ N(1, .3)`` and
``tau_c, sigma_c ~ Exp(2)``. ``beta`` and ``mu`` are integrated out in closed form. The density of a connection's two
other parameters is tabulated, and draws come from this table, without a Markov chain (docs/methods/association.md).
"""

from dataclasses import dataclass
from itertools import chain
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from assay.errors import EvidenceError, OutOfBounds, TooFewObservations, UnknownName, ZeroVariance
from assay.model import Floats, Integers
from assay.statistics.bayes.spread_grid import Cells, Priors, SpreadGrid

Residual = Literal["per-connection", "shared"]
"""Whether every connection has its own residual sigma, or all share one."""

ORDER = ("associated", "different", "human", "neutral")
"""Order of connections in reports; others follow, in alphabetical order."""

PRIORS = {"paper": Priors(), "weak": Priors(mean=1.0, sd=1.0, spread_rate=0.5, residual_rate=0.5)}
"""The prior of Dobrzeniecka & Urbaniak, section 4.1, and a weak one that covers the range of a cosine distance."""

NO_SPREAD = 1e-9
"""Cosine distances this close to one another differ by rounding only."""

SLACK = 1e-6
"""Permitted excess of a distance beyond [0, 2], because vectors may have single precision."""


@dataclass(frozen=True)
class ConnectionDraws:
    """Posterior draws of the mean cosine distances between the protected words and one kind of attribute words."""

    name: str
    words: tuple[str, ...]
    """Protected words of the connection, in alphabetical order."""
    row_counts: Integers
    """Number of distances of each word; shape (words,)."""
    observed_means: Floats
    """Arithmetic mean of each word's distances; shape (words,)."""
    mu: Floats
    """Mean over the words; shape (draws,)."""
    tau: Floats
    """Spread of the words around the mean; shape (draws,)."""
    sigma: Floats
    """Spread of distances around their word's mean; shape (draws,)."""
    beta: Floats
    """Mean of each word; shape (words, draws)."""


@dataclass(frozen=True)
class Posterior:
    """Independent posterior draws of all mean distances and spreads: of each kind of attribute words (a "connection").

    Draws with the same index are one joint draw, so that differences of draws are draws of differences.
    """

    connection_draws: tuple[ConnectionDraws, ...]
    """Draws of each connection that has rows."""

    @property
    def connections(self) -> tuple[str, ...]:
        """Names of the kinds of attribute words that have distances, such as "associated"; in the order of `ORDER`."""
        return tuple(part.name for part in self.connection_draws)

    @property
    def draws(self) -> int:
        """Number of joint draws."""
        return int(self.connection_draws[0].mu.size)

    def draws_of(self, connection: str) -> ConnectionDraws:
        """Return the draws for one kind of attribute words; raise `TooFewObservations` if it has no distances."""
        for draws in self.connection_draws:
            if draws.name == connection:
                return draws
        raise TooFewObservations(
            f"no distance is to a word that is {connection!r}; there are distances to {', '.join(self.connections)}"
        )

    def mean(self, connection: str) -> Floats:
        """Draws of the mean distance (``mu``) to attribute words of one kind, such as "associated"; shape (draws,)."""
        return self.draws_of(connection).mu

    def spread(self, connection: str) -> Floats:
        """Draws of ``tau``, the sd between protected words of their mean distance to one kind of words; (draws,)."""
        return self.draws_of(connection).tau

    def residual(self, connection: str) -> Floats:
        """Draws of ``sigma``, the sd of single distances around their protected word's mean; shape (draws,)."""
        return self.draws_of(connection).sigma

    def words(self, connection: str) -> tuple[str, ...]:
        """Return the protected words with a distance to attribute words of this kind; empty if none has."""
        return self.draws_of(connection).words if connection in self.connections else ()

    def has(self, connection: str, word: str) -> bool:
        """Return whether a protected word has any distance to attribute words of this kind, such as "associated"."""
        return word in self.words(connection)

    def cell(self, connection: str, word: str) -> Floats:
        """Return draws of ``beta``, a protected word's mean distance to attribute words of one kind; shape (draws,).

        Raise `TooFewObservations` if the word has no distance to any of these.
        """
        draws, index = self._draws_and_index(connection, word)
        return np.asarray(draws.beta[index])

    def cell_by_itself(self, connection: str, word: str) -> Floats:
        """Return draws of the word's mean distance from its own rows alone, without shrinkage; shape (draws,).

        `cell` shrinks words towards each other, so that a difference between two groups of words is underestimated:
        with 40 control words by a twentieth, which is half of the difference's uncertainty. In these draws, words share
        only the residual sd. The random noise is that of the draws of `cell`, and the errors are those of `cell`.
        """
        draws, index = self._draws_and_index(connection, word)
        error_variance = draws.sigma**2 / draws.row_counts[index]  # sigma: residual sd; tau: sd of the words' means
        # the inverse of the shrinkage in `Cells.draw_cells`
        shrinkage = draws.tau**2 / (draws.tau**2 + error_variance)
        observed_mean = draws.observed_means[index]
        noise = draws.beta[index] - draws.mu - shrinkage * (observed_mean - draws.mu)
        return np.asarray(observed_mean + noise / np.sqrt(shrinkage))

    def _draws_and_index(self, connection: str, word: str) -> tuple[ConnectionDraws, int]:
        draws = self.draws_of(connection)
        if word not in draws.words:
            raise TooFewObservations(
                f"{word!r} has no distance to a word that is {connection!r}; {', '.join(draws.words)} have"
            )
        return draws, draws.words.index(word)


def fit_hierarchy(
    distance: ArrayLike,
    connection: ArrayLike,
    protected: ArrayLike,
    rng: np.random.Generator,
    *,
    draws: int = 4000,
    residual: Residual = "per-connection",
    prior: Priors | str = "paper",
) -> Posterior:
    """Draw from the posterior of the mean distance to each kind of attribute words, and of each protected word to them.

    Repeated rows count each time: remove duplicates first if they are one observation. The draws of a kind
    (connection) do not depend on the order of the rows.

    Parameters
    ----------
    distance : array_like, shape (n,)
        Cosine distances, in [0, 2].
    connection, protected : array_like of str, shape (n,)
        Protected word of each row, and how its attribute word relates to it, such as "associated" (the connection).
    draws : int
        Number of joint, independent draws.
    residual : {"per-connection", "shared"}
        One residual sigma for each connection, which reproduces the figures of Dobrzeniecka & Urbaniak, or one for all.
    prior : Priors or str
        A name in `PRIORS`, or the parameters.

    Raises
    ------
    TooFewObservations
        If there are no rows, or a connection has fewer than two.
    ZeroVariance
        If all distances of each protected word are equal: the residual would be zero, and every interval a point.
    EvidenceError
        If a distance is not a finite number.
    OutOfBounds
        If a distance is outside [0, 2] (the published tables have -100 where a word is missing: leave such rows out),
        columns differ in length, or `draws` is less than 1.
    UnknownName
        If there is no prior or no kind of residual with the given name.

    References
    ----------
    .. [1] Dobrzeniecka & Urbaniak, "A Bayesian approach to uncertainty in word embedding bias estimation",
       section 4.
    .. [2] Gelman et al. (2013), "Bayesian Data Analysis", 3rd ed., section 5.4.
    """
    priors = _validate_prior(prior, residual, draws)
    cells = _cells_by_connection(distance, connection, protected)
    sigma_groups = [cells] if residual == "shared" else [{name: cells[name]} for name in cells]
    return Posterior(tuple(chain.from_iterable(_draw_group(group, priors, rng, draws) for group in sigma_groups)))


def _validate_prior(prior: Priors | str, residual: str, draws: int) -> Priors:
    """Validate the arguments other than data, and return the prior to use."""
    if residual not in ("per-connection", "shared"):
        raise UnknownName("kind of residual", residual, ("per-connection", "shared"), "residual")
    if draws < 1:
        raise OutOfBounds(f"at least one draw is needed, not {draws}", "draws")
    if isinstance(prior, Priors):
        return prior
    if prior not in PRIORS:
        raise UnknownName("prior", prior, PRIORS, "prior")
    return PRIORS[prior]


def _cells_by_connection(distance: ArrayLike, connection: ArrayLike, protected: ArrayLike) -> dict[str, Cells]:
    """Validate the rows, and summarise them by connection: the kind of attribute word ("associated", "human" …)."""
    distances, connections, words = checked_columns(distance, connection, protected)
    rows_of: dict[str, list[int]] = {}
    for row, name in enumerate(connections):
        rows_of.setdefault(name, []).append(row)
    if short_names := sorted(name for name, rows in rows_of.items() if len(rows) < 2):
        raise TooFewObservations(
            f"a mean with an interval needs two distances or more; there is one of each of: {', '.join(short_names)}"
        )
    names = [name for name in ORDER if name in rows_of] + sorted(set(rows_of) - set(ORDER))
    return {name: Cells.of(distances[rows_of[name]], [words[row] for row in rows_of[name]]) for name in names}


def checked_columns(
    distance: ArrayLike, connection: ArrayLike, protected: ArrayLike
) -> tuple[Floats, list[str], list[str]]:
    """Return the three columns, checked: equally long, and all distances between 0 and 2.

    Parameters and errors are those of `fit_hierarchy`.
    """
    distances = np.asarray(distance, dtype=float)
    connections, words = np.asarray(connection).tolist(), np.asarray(protected).tolist()
    if distances.ndim != 1 or not distances.size == len(connections) == len(words):
        raise OutOfBounds(
            "each row has a distance, a connection and a protected word; "
            f"there are {distances.size}, {len(connections)} and {len(words)}"
        )
    if distances.size == 0:
        raise TooFewObservations("a mean with an interval needs two distances or more; there is none")
    if unusable := int((~np.isfinite(distances)).sum()):
        raise EvidenceError(f"{unusable} of {distances.size} distances are not finite numbers")
    outside = (distances < -SLACK) | (distances > 2 + SLACK)
    if outside.any():
        raise OutOfBounds(
            f"a cosine distance must be between 0 and 2; {int(outside.sum())} of {distances.size} are not, such as "
            f"{distances[outside][0]:g}. Leave out the rows of missing words",
            "distance",
        )
    return distances, connections, words


def _draw_group(group: dict[str, Cells], prior: Priors, rng: np.random.Generator, draws: int) -> list[ConnectionDraws]:
    """Draw the parameters of the kinds of attribute words in `group`, whose distances share one residual sd."""
    _check_variance(group)
    sigma, taus = SpreadGrid.around(list(group.values()), prior).draw(rng, draws)
    connection_draws = []
    for (name, cells), tau in zip(group.items(), taus, strict=True):
        mu = cells.draw_mean(sigma, tau, prior, rng)  # mean of the words' mean distances, whose sd is tau
        beta = cells.draw_cells(mu, sigma, tau, rng)  # mean distance of each protected word
        connection_draws.append(ConnectionDraws(name, cells.words, cells.row_counts, cells.means, mu, tau, sigma, beta))
    return connection_draws


def _check_variance(group: dict[str, Cells]) -> None:
    """Raise `ZeroVariance` if these kinds of attribute words leave no residual variance: intervals would be points."""
    names, df = ", ".join(group), sum(cells.df for cells in group.values())  # df: degrees of freedom
    if df > 0 and sum(cells.within for cells in group.values()) <= NO_SPREAD**2 * df:  # within: sums of squares
        raise ZeroVariance(
            f"all distances of a protected word are equal, in every word of: {names}; "
            "a residual needs distances that differ"
        )
    if df == 0 and any(np.ptp(cells.means) <= NO_SPREAD for cells in group.values()):  # one row for each word
        raise ZeroVariance(f"all distances are equal in one of: {names}; a residual needs distances that differ")
