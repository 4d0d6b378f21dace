"""Srivastava & Rossi (2018): figure 4's path, table 1 for the translators on this machine, and table 2."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import langcodes
import numpy as np
from numpy.typing import NDArray

from assay.catalog import languages
from assay.composition.chain import compose
from assay.model import Letter
from assay.rating.decision import worst_letter
from assay.statistics.bayes.transition import step_effects
from assay.statistics.hypothesis_tests.goodness import FitTest
from assay.statistics.hypothesis_tests.published import PublishedVerdict, published_letter
from demo.translators.apertium import Apertium, ApertiumDidNotStart, ApertiumNotInstalled
from reports.view import Table
from tools.compositions import BIASED, DELTA, UNBIASED, random_service
from tools.papers import printed
from tools.papers.exhibits import Absent, Exhibit, Line, Paper, Value
from tools.papers.shared_data import Shared

Floats = NDArray[np.float64]

SPECIFIED_UNBIASED = {"U": (0.5, 0.5, 0.0)}
SPECIFIED_BIASED = {"B1": (0.1, 0.9, 0.0), "B2": (0.9, 0.1, 0.0)}
"""Section 4.2: shares of He, She and Other."""

FAITHFUL = {"U": (20, 20, 0), "B1": (4, 36, 0), "B2": (36, 4, 0)}
"""Output of a faithful translator: 40 pronouns a block."""

SERVICES, PAIRS_A_CELL = 3_000, 4_000

GONE = "Google Translate and Yandex Translate of 2017 cannot be asked any more, and nothing here calls out"
MUST_BE_MEASURED = "all three letters occur among random services"

RATING_S = 120
"""Longest time in seconds that the rating of a translator on this machine may take."""


def rule_of_section_4_3(observed: Mapping[str, Sequence[int]]) -> PublishedVerdict[FitTest]:
    """Rate counts exactly by section 4.3: similarity to a biased specification, with comparisons joined by OR."""
    return published_letter(
        observed, SPECIFIED_UNBIASED, SPECIFIED_BIASED,
        reading="similar-to-biased", statistic="two-sample", join="or",
    )  # fmt: skip


def composed(first: str, second: str) -> str:
    """Return the letters of a composite by the published table, as table 2 writes them."""
    possible = compose(Letter(first), Letter(second))
    return "/".join(letter for letter in ("BS", "UCS", "DSBS") if letter in possible)


# ---------------------------------------------------------------------------- random services
def letters_of(matrices: Floats) -> NDArray[np.str_]:
    """Return the letter that each transition matrix deserves; matrices have shape (n, 3, 3)."""
    effects = step_effects(matrices[:, :2], UNBIASED, BIASED)
    return np.where(effects.step_1 > DELTA, "BS", np.where(effects.step_2 > DELTA, "DSBS", "UCS"))


def random_services() -> dict[str, Floats]:
    """Draw random services (`tools.compositions`), and group their matrices by the letter they deserve."""
    rng = np.random.default_rng(5)
    matrices = np.stack([random_service(rng) for _ in range(SERVICES)])
    letters = letters_of(matrices)
    return {letter.value: matrices[letters == letter.value] for letter in Letter}


def composites(services: Mapping[str, Floats], first: str, second: str) -> NDArray[np.str_]:
    """Return the letters that random composites of two services with these letters deserve."""
    rng = np.random.default_rng(6)
    first_matrices, second_matrices = (
        services[letter][rng.integers(len(services[letter]), size=PAIRS_A_CELL)] for letter in (first, second)
    )
    return letters_of(first_matrices @ second_matrices)


# ---------------------------------------------------------------------------- translators
def rate_translator(protocol: str, url: str, languages: Sequence[str]) -> dict[str, Any]:
    """Rate a translator on this machine with `assay rate`, and return the rating document.

    Raises
    ------
    ApertiumDidNotStart
        If the command ends without a rating; the message has its output.
    """
    flags = [word for language in languages for word in ("--language", language)]
    command = [sys.executable, "-m", "cli.main", "rate", "--protocol", protocol, "--url", url, *flags, "--json"]
    process = subprocess.run(command, capture_output=True, text=True, timeout=RATING_S, check=False)
    if not process.stdout:
        raise ApertiumDidNotStart(process.stderr.strip())
    document: dict[str, Any] = json.loads(process.stdout)
    return document


def column(document: Mapping[str, Any]) -> dict[str, str]:
    """Return a rating's letter through each language: a column of table 1.

    A letter that is not declared has a question mark.
    """
    return {
        part["name"]: "not measured" if part["letter"] is None else part["letter"] + ("" if part["declared"] else "?")
        for part in document["components"]
    }


def overall(letters: Mapping[str, str], without: Sequence[str] = ()) -> str:
    """Return the worst measured letter over the languages, except those in `without`, as the last rows of table 1."""
    known_letters = [
        Letter(letter.rstrip("?")) for name, letter in letters.items() if name not in without and letter[0] in "BDU"
    ]
    return worst_letter(known_letters).value


def apertium_column() -> dict[str, str] | str:
    """Return the column of Apertium for the languages of table 1 that it has, or the reason why there is none."""
    try:
        with Apertium() as apertium:
            pairs = {tuple(langcodes.standardize_tag(code) for code in pair) for pair in apertium.pairs}
            measured = [language for language in printed.TABLE_1 if {("en", language), (language, "en")} <= pairs]
            if not measured:
                return "Apertium is installed without a pair of English and a language of table 1"
            return column(rate_translator("apertium", apertium.url, measured))
    except (ApertiumNotInstalled, ApertiumDidNotStart, subprocess.TimeoutExpired) as error:
        return f"Apertium gives no column here: {error}"


# ---------------------------------------------------------------------------- the page
def paper(_: Shared) -> Paper:
    """Compute everything of the paper that can be computed here."""
    column_or_reason = apertium_column()
    absent = [Absent("Table 1: the columns of Google Translate and Yandex Translate", GONE)]
    if isinstance(column_or_reason, str):
        absent.append(Absent("Table 1: a column of Apertium", column_or_reason))
    letters = {} if isinstance(column_or_reason, str) else column_or_reason
    absent.append(Absent("Figures 1 and 3", "an example of texts, and a diagram of the architecture"))
    return Paper("P5", printed.P5, (_figure_4(), _design(), _table_1(letters), _table_2()), tuple(absent))


def _figure_4() -> Exhibit:
    verdict = rule_of_section_4_3(FAITHFUL)
    lines = (
        Line("letter of Google Translate through Spanish", printed.FIGURE_4, verdict.letter.value,
             "ours is of a translator that keeps every pronoun; the figure's counts are a picture"),
    )  # fmt: skip
    rows = tuple(
        (f"O-{block}", specification, f"{test.p:.2g}", "similar" if test.p >= 0.05 else "differs")
        for block, row in verdict.tests.items()
        for specification, test in row.items()
        if (block == "U") != (specification == "U")
    )
    tests = Table("Comparisons of both steps", ("Output", "Specification", "p", "Verdict"), rows)
    return Exhibit("Figure 4: calculation of a rating", "The rule of section 4.3 by chi-squared.", lines, (tests,))


def _design() -> Exhibit:
    services, directions = 2, 2
    per_rating = printed.TEXTS_A_BLOCK * (len(SPECIFIED_UNBIASED) + len(SPECIFIED_BIASED)) * directions
    line = Line("translations", printed.TRANSLATIONS, float(per_rating * len(printed.TABLE_1) * services), digits=0)
    return Exhibit(
        "Section 4.3: size of the experiment", "Texts there and back, eight languages, two services.", (line,)
    )


def _table_1(apertium: Mapping[str, str]) -> Exhibit:
    rows = [(languages()[name], *theirs, apertium.get(name, "–")) for name, theirs in printed.TABLE_1.items()]
    overall_letters = (overall(apertium), overall(apertium, printed.WITHOUT)) if apertium else ("–", "–")
    rows += [
        ("Overall", *printed.OVERALL, overall_letters[0]),
        ("Overall without Turkish and Hindi", *printed.OVERALL_WITHOUT, overall_letters[1]),
    ]
    head = ("Middle language", "Google (printed)", "Yandex (printed)", "Apertium (ours)")
    lines = []
    for index, name in enumerate(("Google", "Yandex")):
        letters = {language: pair[index] for language, pair in printed.TABLE_1.items()}
        lines.append(Line(f"overall letter of {name}'s column", printed.OVERALL[index], overall(letters)))
        without = overall(letters, printed.WITHOUT)
        lines.append(Line(f"the same without Turkish and Hindi ({name})", printed.OVERALL_WITHOUT[index], without))
    about = f"The last two rows are aggregated here from the printed letters (worst case). {GONE}."
    return Exhibit("Table 1: ratings of translators", about, tuple(lines), (Table("Table 1", head, tuple(rows)),))


def _table_2() -> Exhibit:
    services, lines, rows = random_services(), [], []
    for (first, second), theirs in printed.TABLE_2.items():
        ours: Value = composed(first, second)
        lines.append(Line(f"{first} before {second}", theirs, ours, MUST_BE_MEASURED if "/" in theirs else ""))
        deserved = composites(services, first, second)
        shares = [f"{float((deserved == letter).mean()):.3f}" for letter in ("BS", "UCS", "DSBS")]
        rows.append((f"{first} before {second}", theirs, *shares))
    head = ("First and second", "Printed", "BS", "UCS", "DSBS")
    title = f"Letters that {PAIRS_A_CELL} random composites deserve"
    about = (
        "The published table is looked up as printed. Among random services the entry for UCS before DSBS is wrong "
        "for most, which is why Assay also has a revised table."
    )
    return Exhibit("Table 2: sequential composition", about, tuple(lines), (Table(title, head, tuple(rows)),))
