"""Dobrzeniecka & Urbaniak: the posteriors behind the figures, on the paper's own 18 tables of cosine distances.

The limits that the captions call 89 % HPDI are the 5.5 % and 94.5 % quantiles, read off the vector figures.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.stats import ttest_rel

from assay.methods.association.comparison import compare
from assay.methods.association.detail import Predictive
from assay.methods.association.predictive_check import predictive_check
from assay.statistics.bayes.hierarchy import Posterior, Residual, fit_hierarchy
from assay.statistics.embeddings.embedding_bias import mean_average_cosine
from assay.statistics.embeddings.weat import null_check, weat_of_associations
from assay.statistics.intervals.credible import IntervalEnds, equal_tailed
from reports import charts
from reports.cells import number
from reports.view import Dots, Forest, Mark, Span, Strip, Table
from tools.papers import printed
from tools.papers.exhibits import Absent, Exhibit, Line, Paper
from tools.papers.shared_data import Shared

Floats = NDArray[np.float64]

EIGHTEEN = (
    *(f"{group}_group_{corpus}_dataset" for group in ("gender", "race", "religion") for corpus in ("glove", "google")),
    *(f"{group}_group_reddit_dataset" for group in ("gender", "race", "religion")),
    *(f"weat_{number}_{corpus}" for number in (1, 7) for corpus in ("glove", "google", "reddit")),
    *(f"debiased_{group}_reddit" for group in ("gender", "race", "religion")),
)
"""Tables that the paper's 18 figures of posteriors show."""

REDDIT: Mapping[str, Mapping[str, str]] = {
    group: {"before": f"{group}_group_reddit_dataset", "after": f"debiased_{group}_reddit"}
    for group in ("gender", "race", "religion")
}
"""Names of the tables of Reddit vectors before and after debiasing, by what the protected words are about."""

MISSING = -100.0
NAMES = {"none": "neutral"}
MASS = 0.89
DRAWS, CHECK_DRAWS = 20_000, 1_000

SIMULATION = "posterior draws: ours are exact and independent, theirs are a chain's"
CUT = "printed with two digits, some of them cut instead of rounded"
UNEXPLAINED = "unexplained: the authors' own table gives ours"

CUT_AT_MOST = 0.015
"""Largest difference that cutting (not rounding) to two digits explains; 1 - MAC is also rounded."""

NEAREST = 10
"""Number of nearest attributes with which figures 6 and 7 are read."""


@dataclass(frozen=True)
class Distances:
    """Cosine distances of a table, with the connection and the protected word of each; shape (rows,)."""

    distance: Floats
    connection: tuple[str, ...]
    protected: tuple[str, ...]

    def within(self, boundary: float, connection: str) -> float:
        """Return the share of a connection's similarities (1 - distance) within the boundary around 0."""
        rows = np.array([name == connection for name in self.connection])
        return float((np.abs(1 - self.distance[rows]) <= boundary).mean())


@cache
def table(shared: Shared, name: str) -> Distances:
    """Read a table, without the words that the embedding lacks."""
    rows = [row for row in shared.rows(f"bayes_tables/{name}.csv.gz") if float(row["cosine_distance"]) != MISSING]
    return Distances(
        np.array([float(row["cosine_distance"]) for row in rows]),
        tuple(NAMES.get(row["connection"], row["connection"]) for row in rows),
        tuple(row["protected_word"] for row in rows),
    )


@cache
def posterior(shared: Shared, name: str, residual: Residual = "per-connection", draws: int = DRAWS) -> Posterior:
    """Draw from the posterior of a table's means."""
    distances = table(shared, name)
    rng = np.random.default_rng(1)
    return fit_hierarchy(
        distances.distance, distances.connection, distances.protected, rng, draws=draws, residual=residual
    )


@cache
def check(shared: Shared, name: str) -> Predictive:
    """Compute which shares of a table's distances lie within their predictive intervals."""
    distances = table(shared, name)
    return predictive_check(
        posterior(shared, name, draws=CHECK_DRAWS), distances.distance, distances.connection, distances.protected
    )


def interval_order(shared: Shared, name: str, first_name: str, second_name: str) -> str:
    """Return the order of two connections' 89 % intervals, in the words of `printed.PLACES`."""
    first, second = (limits(posterior(shared, name).mean(connection)) for connection in (first_name, second_name))
    if first.high < second.low:
        return "is closer than"
    return "overlaps" if first.low <= second.high else "is farther than"


def limits(draws: Floats) -> IntervalEnds:
    """Return the limits that the paper's captions call 89 % HPDI."""
    return equal_tailed(draws, MASS)


@cache
def mean_cosine(shared: Shared, name: str) -> tuple[float, Floats]:
    """Return the mean average cosine distance of a table's stereotypes, and the mean of each (word, stereotype)."""
    rows = [row for row in shared.rows(f"bayes_tables/{name}.csv.gz") if row["word_class"].endswith("_stereotype")]
    distances = [float(row["cosine_distance"]) for row in rows]
    words, stereotypes = [row["protected_word"] for row in rows], [row["word_class"] for row in rows]
    distances_of_pair: dict[tuple[str, str], list[float]] = {}
    for word, stereotype, distance in zip(words, stereotypes, distances, strict=True):
        distances_of_pair.setdefault((word, stereotype), []).append(distance)
    pair_means = np.array([float(np.mean(distances_of_pair[pair])) for pair in sorted(distances_of_pair)])
    return mean_average_cosine(distances, words, stereotypes).value, pair_means


def mac_p(shared: Shared) -> float:
    """Return the p-value of a paired t-test: mean cosine distances of the religion list before and after debiasing."""
    (_, before), (_, after) = (mean_cosine(shared, name) for name in REDDIT["religion"].values())
    return float(ttest_rel(before, after).pvalue)


def weat_example() -> float:
    """Return the WEAT effect size of the example in the paper's section 2."""
    return weat_of_associations(printed.WEAT_EXAMPLE[:2], printed.WEAT_EXAMPLE[2:]).effect_size_ddof0


def first_association() -> float:
    """Return s(he, A, B), the association of "he" with A minus that with B, of the example in the paper's section 2."""
    with_a, with_b = (float(np.mean(cosines)) for cosines in printed.WEAT_EXAMPLE_COSINES)
    return with_a - with_b


def nearest(shared: Shared, word: str) -> str:
    """Return the connection that is most over-represented among a protected word's nearest attributes.

    Religion, Reddit: each connection's share of the nearest ten is divided by its share of all attributes.
    """
    distances = table(shared, REDDIT["religion"]["before"])
    is_of_word = np.array([name == word for name in distances.protected])
    connections = np.array(distances.connection)[is_of_word]
    near = connections[np.argsort(distances.distance[is_of_word])[:NEAREST]]
    return max(
        sorted(set(distances.connection)), key=lambda name: float((near == name).mean() / (connections == name).mean())
    )


def moved_as_reported(group: str, before: Posterior, after: Posterior) -> bool:
    """Return whether debiasing moved the connections as section 5.2 reports."""
    effect_before, effect_after = (
        float((fit.mean("different") - fit.mean("associated")).mean()) for fit in (before, after)
    )
    shifts = [float(after.mean(name).mean() - before.mean(name).mean()) for name in before.connections]
    if group == "religion":
        return all(shift > 0 for shift in shifts)
    if group == "race":
        return abs(effect_after) < abs(effect_before)
    return abs(shifts[0] - shifts[1]) < 0.02


# ---------------------------------------------------------------------------- the page
def paper(shared: Shared) -> Paper:
    """Compute everything of the paper that can be computed here."""
    exhibits = (
        _sample(shared),
        _mac(shared),
        _weat(),
        _within(shared),
        _actual(shared),
        _predictive(shared),
        _places(shared),
        *(_posterior(shared, name) for name in EIGHTEEN),
        _debiasing(shared),
    )
    absent = (
        Absent(
            "Table 2: soft debiased", "the softly debiased vectors are not public; the 18 tables have the hard ones"
        ),
        Absent("Figures 8 and 9, and the t-tests of section 3.2", "one random sample without its seed"),
        Absent(
            "Digits of 15 of the 18 figures of posteriors",
            "printed as pictures; three were read off, so that the other fifteen are shown with ours alone",
        ),
    )
    return Paper("P2", printed.P2, exhibits, absent)


def _sample(shared: Shared) -> Exhibit:
    rows = shared.rows("bayes_tables/religion_group_reddit_dataset.csv.gz")
    ours = {(row["protected_word"], row["word_to_compare"]): float(row["cosine_distance"]) for row in rows}
    lines = tuple(
        Line(f"{word}, {term}", value, ours[word, term], CUT if abs(value - ours[word, term]) > 0.005 else "")
        for (word, term), value in printed.RELIGION_SAMPLE.items()
    )
    return Exhibit("Table 1: sample of the religion distances", "Read from the authors' table, not computed.", lines)


def _mac(shared: Shared) -> Exhibit:
    tables = {"Biased": REDDIT["religion"]["before"], "Hard Debiased": REDDIT["religion"]["after"]}
    why = "the authors' own table gives ours"
    mac_by_name = {name: mean_cosine(shared, table_name)[0] for name, table_name in tables.items()}
    lines = [Line(f"MAC, {name.lower()}", printed.MAC[name], mac, why) for name, mac in mac_by_name.items()]
    p = f"{printed.MAC_P['Hard Debiased']:.1e}"
    test = "a paired t-test over the 45 means of (word, stereotype); the paper does not name its test"
    lines.append(Line("p-value of hard debiasing", p, f"{mac_p(shared):.1e}", test))
    return Exhibit(
        "Table 2: MAC before and after debiasing", "Mean average cosine distance, religion, Reddit.", tuple(lines)
    )


def _weat() -> Exhibit:
    nulls = null_check(printed.NULL_EFFECT, printed.NULL_WORDS)
    lines = (
        Line("s(he, A, B)", printed.WEAT_EXAMPLE[0], first_association()),
        Line("WEAT of the example", printed.WEAT_OF_EXAMPLE, weat_example(), "the paper rounds the divisor to .44"),
        Line("share of null samples beyond 1.27", printed.NULL_SHARE, nulls.p_ddof1, nulls.reason, digits=4),
        Line(
            "the same, comparing two words only", printed.NULL_SHARE, nulls.p_first_words, "what the authors' code does"
        ),
    )
    return Exhibit("Section 2 and figure 10: WEAT", "The example, and effects of the size 1.27 by chance.", lines)


def _within(shared: Shared) -> Exhibit:
    lines = []
    for (group, when, connection), value in printed.WITHIN.items():
        ours = table(shared, REDDIT[group][when]).within(printed.WITHIN_ONE_LESS_MAC, connection)
        why = UNEXPLAINED if abs(ours - value) > CUT_AT_MOST else CUT
        lines.append(Line(f"{group}, {when}: {connection}", value, ours, why))
    about = f"Shares of cosine similarities within ±{printed.WITHIN_ONE_LESS_MAC} of 0, Reddit."
    return Exhibit("Figures 3 to 5 and 15 to 17: empirical distributions", about, tuple(lines))


def _actual(shared: Shared) -> Exhibit:
    lines, pictures = [], []
    distances = table(shared, REDDIT["religion"]["before"])
    for word, claim in printed.NEAREST.items():
        why = f"commonest of the nearest {NEAREST} for its number of words; the paper speaks of a picture"
        lines.append(Line(f"nearest attributes of {word}", claim, nearest(shared, word), why))
        pairs = [
            (connection, distance)
            for connection, protected, distance in zip(
                distances.connection, distances.protected, distances.distance, strict=True
            )
            if protected == word
        ]
        dots = tuple(
            Dots(name, (tuple(sorted(float(distance) for connection, distance in pairs if connection == name)),))
            for name in ("associated", "different", "human", "neutral")
        )
        rows = tuple(
            (row.label, str(len(values)), f"{values[0]:.3f}", f"{float(np.median(values)):.3f}", f"{values[-1]:.3f}")
            for row in dots
            for values in row.values
        )
        title = f"Actual distances of {word}"
        values_table = Table(title, ("Connection", "Attributes", "Least", "Median", "Greatest"), rows)
        pictures.append(Strip(title, "cosine distance", dots, ("one attribute word",), values_table))
    about = "Distances of two protected words to every attribute, religion, Reddit."
    return Exhibit("Figures 6 and 7: actual distances", about, tuple(lines), pictures=tuple(pictures))


def _predictive(shared: Shared) -> Exhibit:
    checks = {name: check(shared, name) for name in EIGHTEEN}
    rows = tuple((name, f"{row.share_50:.3f}", f"{row.share_89:.3f}") for name, row in checks.items())
    reddit_checks = [row for name, row in checks.items() if "reddit" in name]
    shares_50 = np.array([row.share_50 for row in reddit_checks])
    shares_89 = np.array([row.share_89 for row in reddit_checks])
    why = "the paper does not say which list of Reddit it is of; the nearest of ours is shown"
    lines = (
        Line("within 50 % HPDI", printed.PREDICTIVE_50, _nearest_value(shares_50, printed.PREDICTIVE_50), why),
        Line("within 89 % HPDI", printed.PREDICTIVE_89, _nearest_value(shares_89, printed.PREDICTIVE_89), why),
    )
    title = "Figure 12 and appendix A.2: posterior predictive checks"
    shares = Table("Shares of distances in their predictive intervals", ("Table", "50 %", "89 %"), rows)
    return Exhibit(title, "How many distances lie in their own predictive interval.", lines, (shares,))


def _nearest_value(values: Floats, target: float) -> float:
    return float(values[np.argmin(np.abs(values - target))])


def _places(shared: Shared) -> Exhibit:
    lines = []
    for name, first, claim, second in printed.PLACES:
        ours = interval_order(shared, name, first, second)
        why = "" if ours == claim else "the intervals just miss or touch each other; the paper compares pictures"
        lines.append(Line(f"{name}: {first} … {second}", claim, ours, why))
    for connection, value in printed.GENDER_REDDIT.items():
        ours_mean = float(posterior(shared, "gender_group_reddit_dataset").mean(connection).mean())
        lines.append(
            Line(f"gender (Reddit): mean of {connection}", value, ours_mean, "“around” in the paper", digits=2)
        )
    return Exhibit("Section 5.1: what lies closer", "Read off the 89 % intervals of the means.", tuple(lines))


def _posterior(shared: Shared, name: str) -> Exhibit:
    draws = posterior(shared, name)
    theirs = printed.posteriors(shared).get(name)
    about = f"{table(shared, name).distance.size} distances of {len(draws.words('neutral'))} protected words."
    title = f"Appendix A.1: posterior of {name}"
    return Exhibit(
        title,
        about if theirs else f"{about} The printed figure has no digits here.",
        tuple(_overall_lines(draws, theirs["published"]["overall"])) if theirs else (),
        (_cells_table(draws, theirs["published"]["by_protected_word"] if theirs else {}),),
        (_connections_forest(draws, theirs["published"]["overall"] if theirs else {}, name),),
    )


def _overall_lines(means: Posterior, theirs: Mapping[str, Mapping[str, float]]) -> Iterator[Line]:
    for connection, figure in theirs.items():
        draws = means.mean(NAMES.get(connection, connection))
        ends = limits(draws)
        for key, ours in (("mean", float(draws.mean())), ("low", ends.low), ("high", ends.high)):
            yield Line(f"{NAMES.get(connection, connection)}: {key}", figure[key], ours, SIMULATION, digits=4)


def _connections_forest(means: Posterior, theirs: Mapping[str, Mapping[str, float]], name: str) -> Forest:
    by_name = {NAMES.get(key, key): Span(row["mean"], row["low"], row["high"]) for key, row in theirs.items()}
    our_spans = {name: _draws_span(means.mean(name)) for name in means.connections}
    marks = tuple(
        Mark(name, (our_span, by_name[name]) if theirs else (our_span,)) for name, our_span in our_spans.items()
    )
    kinds = ("ours", "printed") if theirs else ()
    title = f"Mean cosine distance by connection, {name}"
    return Forest(title, "cosine distance", marks, charts.forest_table(title, "Connection", marks, kinds), kinds)


def _draws_span(draws: Floats) -> Span:
    ends = limits(draws)
    return Span(float(draws.mean()), ends.low, ends.high)


def _cells_table(means: Posterior, theirs: Mapping[str, Mapping[str, Mapping[str, float]]]) -> Table:
    """Make the table of means by protected word; printed means follow in brackets."""
    published = {
        (word, NAMES.get(connection, connection)): figure["mean"]
        for word, figures in theirs.items()
        for connection, figure in figures.items()
    }
    rows = []
    for word in means.words("neutral"):
        row = [word]
        for connection in means.connections:
            if not means.has(connection, word):
                row.append("–")
                continue
            mean = f"{means.cell(connection, word).mean():.3f}"
            row.append(f"{mean} [{published[word, connection]:.3f}]" if (word, connection) in published else mean)
        rows.append(tuple(row))
    title = "Means by protected word" + (", with the printed ones in brackets" if theirs else "")
    return Table(title, ("Word", *means.connections), tuple(rows))


def _debiasing(shared: Shared) -> Exhibit:
    lines = []
    for group, tables in REDDIT.items():
        before, after = (posterior(shared, name) for name in tables.values())
        changes = compare(before, after)
        by_name = {change.name: change for change in changes.connections}
        shifts = ", ".join(f"{name} {number(change.mean)}" for name, change in by_name.items())
        claim = {
            "gender": "associated and different are shifted jointly",
            "religion": "all connections grow towards neutral",
            "race": "different and associated become aligned",
        }[group]
        ours = claim if moved_as_reported(group, before, after) else "not so"
        lines.append(Line(group, claim, ours, f"means moved by: {shifts}"))
    title = "Section 5.2, figures 13 and 14: debiasing"
    return Exhibit(title, "Changes of the connections' means by debiasing, Reddit.", tuple(lines))
