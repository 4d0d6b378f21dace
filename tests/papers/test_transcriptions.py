"""Numbers and words copied from the papers (`printed`) are compared with the papers' own texts.

A text is read as a list of its words and numbers, without punctuation, so that line breaks, ligatures, columns and
signs do not matter. A row is found where its cells follow one another closely; a number that only occurs somewhere
does not count. Values outside these texts cannot be checked here: the posteriors of the second paper are in pictures
(and in `known_answers`), the fourth paper prints no score, and the text of the first lacks its digits. The relations
"overlaps" and "is closer than" (`printed.PLACES`) summarise sentences of the second paper.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from itertools import product

import pytest

from assay.catalog import languages
from assay.catalog.shipped import specifications
from assay.catalog.tables import read_table
from assay.model import Letter
from tools.papers import p3, p5, printed
from tools.papers.shared_data import Shared

PAPERS = Shared().folder / "papers"
pytestmark = pytest.mark.skipif(not PAPERS.is_dir(), reason="the papers' texts are not beside the project")

Token = str | float

TOKEN = re.compile(
    r"(?P<number>(?:(?<![\w)\]}])-)?(?:\d{1,3}(?:,\d{3})+(?!\d)|\d*\.?\d+)(?:e-?\d+)?)(?P<percent>\s?%)?"
    r"|(?P<word>[^\W\d_]+)"
)


def tokens(text: str) -> list[Token]:
    """Return the words of a text in lower case, and its numbers; percentages become shares."""
    plain = unicodedata.normalize("NFKC", text).replace("\N{MINUS SIGN}", "-").replace("\N{SOFT HYPHEN}", "").lower()
    plain = re.sub(r"(?<=[a-z])-\n\s*(?=[a-z])", "", plain)
    return [
        one["word"] or float(one["number"].replace(",", "")) / (100 if one["percent"] else 1)
        for one in TOKEN.finditer(plain)
    ]


@cache
def read(paper: str) -> list[Token]:
    return tokens((PAPERS / f"{paper}.txt").read_text(encoding="utf-8"))


@cache
def index(paper: str) -> dict[Token, set[int]]:
    """Return the positions of each word and number."""
    found: dict[Token, set[int]] = {}
    for place, token in enumerate(read(paper)):
        found.setdefault(token, set()).add(place)
    return found


def places(paper: str, *row: str | float, within: int = 1) -> set[int]:
    """Find a row; return the places of its last token. Each token is at most `within` places after its predecessor."""
    first, *others = (token for cell in row for token in (tokens(cell) if isinstance(cell, str) else [float(cell)]))
    found = index(paper).get(first, set())
    for wanted in others:
        near = {place + step for place in found for step in range(1, within + 1)}
        found = near & index(paper).get(wanted, set())
    return found


# ---------------------------------------------------------------------------- reading a paper
def test_ligatures_minus_signs_and_hyphenated_words_of_a_paper_are_read_as_words_and_numbers():
    text = (
        "\N{LATIN SMALL LIGATURE FI}g | \N{MINUS SIGN}.6 and x=-.3,\n14,864 rec-\nords 3.006e-07; 56 % 1-2 \U0001d44e"
    )
    assert tokens(text) == ["fig", -0.6, "and", "x", -0.3, 14_864, "records", 3.006e-07, 0.56, 1, 2, "a"]


def test_a_table_row_is_found_in_a_paper_only_where_its_cells_follow_one_another_closely():
    (_, attribute), distance = next(iter(printed.RELIGION_SAMPLE.items()))
    assert places("P2", attribute, distance, within=2)
    assert not places("P2", attribute, distance)
    assert places("P2", printed.MAC["Soft Debiased"])
    assert not places("P2", "biased", printed.MAC["Soft Debiased"])


@pytest.mark.parametrize(
    ("paper", "citation"),
    [("P1", printed.P1), ("P2", printed.P2), ("P3", printed.P3), ("P4", printed.P4), ("P5", printed.P5)],
)
def test_author_names_and_titles_in_our_citations_are_those_printed_in_the_papers(paper, citation):
    """The text of the first paper lacks its authors; years and places of publication are not checked."""
    authors, title = re.sub(r" \(.*", "", citation).split(", ", 1)
    assert places(paper, title)
    names = [] if paper == "P1" else authors.removesuffix(" et al.").split(" & ")
    assert all(places(paper, name) for name in names)


# ---------------------------------------------------------------------------- Liang & Acuna
@pytest.mark.parametrize(("axis", "order"), [("JND", printed.JND_ORDER), ("PSE", printed.LOVE_TO_HATE)])
def test_the_transcribed_orders_of_occupations_are_those_printed_in_the_paper(axis, order):
    (end,) = places("P1", axis, *order)
    assert read("P1")[end + 1] not in {*printed.JND_ORDER, *printed.LOVE_TO_HATE}


@pytest.mark.parametrize("name", printed.WORDS)
def test_the_transcribed_nearest_and_farthest_words_and_their_labels_are_those_printed_in_the_paper(name):
    end, sentiment = re.split(" to | from ", name)
    (last,) = places("P1", end, "conditioned", sentiment, "sentiment", *printed.WORDS[name], within=3)
    labels = read("P1")[last + 1 - 2 * 9 : last + 2 : 2]
    assert set(labels) <= {"positive", "negative"}
    assert labels.count("positive") == printed.POSITIVE_OF_TEN[name]


@pytest.mark.parametrize(("word", "side"), printed.SIDES.items())
def test_the_transcribed_direction_of_bias_of_each_occupation_is_that_printed_in_the_paper(word, side):
    against = {"men's side": "woman", "women's side": "man"}[side]
    assert places("P1", word, "biased", "against", against, within=5)


def test_the_transcribed_occupation_with_less_uncertainty_is_that_printed_in_the_paper():
    (other,) = set(printed.SIDES) - {printed.SMALLER_JND}
    assert places("P1", printed.SMALLER_JND, "lower", "uncertainty", other, within=10)


def test_the_transcribed_statements_of_the_first_paper_are_printed_in_it():
    towards, way = {"towards men": "male"}, {"plus": "positive", "minus": "negative"}
    assert places("P1", towards[printed.ELECTRICIAN], "electrician")
    assert places("P1", "teacher", "favor", printed.TEACHER, within=5)
    assert places("P1", "PSE", {"correlate": "correlates"}[printed.LABOUR], "percent", within=4)
    assert places("P1", {"grows with it": "correlates"}[printed.JND_OF_LABOUR], "standard", "deviation", within=4)
    for sentiment, sign in printed.SENTIMENT_SIGNS.items():
        assert places("P1", way[sign], "correlation", "distance", "conditioned", sentiment, within=4)


@pytest.mark.parametrize("specification", ["gender-occupations", "love-hate"])
def test_cue_pairs_of_the_catalog_are_those_printed_in_the_paper(specification):
    for first, second in specifications()[specification].words.cues:
        assert places("P1", first, second, within=2) or places("P1", second, first, within=2), (first, second)


# ---------------------------------------------------------------------------- Dobrzeniecka & Urbaniak
@pytest.mark.parametrize(("cell", "distance"), printed.RELIGION_SAMPLE.items())
def test_the_transcribed_rows_of_table_1_are_those_printed_in_the_paper(cell, distance):
    """The paper prints the attribute's set between the attribute and its distance."""
    assert places("P2", *cell, distance, within=2)


def test_the_transcribed_rows_of_table_2_are_those_printed_in_the_paper():
    assert set(printed.MAC) == {"Biased", *printed.MAC_P}
    for name, mac in printed.MAC.items():
        p = [printed.MAC_P[name]] if name in printed.MAC_P else ["N"]
        # the paper prints the parameter of soft debiasing after its name
        assert places("P2", name, mac, *p, within=4), name


def test_the_transcribed_numbers_of_the_weat_example_are_those_printed_in_the_paper():
    (a, b), s = printed.WEAT_EXAMPLE_COSINES, printed.WEAT_EXAMPLE
    assert places("P2", "he", *a, 2, *b, 2, s[0], within=4)
    for word, association in zip(("he", "man", "woman", "she"), s, strict=True):
        # the first association is printed after the calculation that gives it
        assert places("P2", word, association, within=12 if word == "he" else 3), word
    assert places("P2", "she", s[3], "sd", 4, printed.WEAT_OF_EXAMPLE, within=30)


def test_the_transcribed_numbers_of_the_null_model_are_those_printed_in_the_paper():
    assert places("P2", "statistic", printed.NULL_EFFECT, within=4)
    assert places("P2", "protected", "size", printed.NULL_WORDS, within=4)
    assert places("P2", printed.NULL_SHARE, "samples", "WEAT", within=4)


def test_the_transcribed_similarity_threshold_is_that_printed_in_the_paper():
    assert places("P2", "similarity", printed.WITHIN_ONE_LESS_MAC, within=4)


def test_the_transcribed_shares_of_similarities_within_the_boundary_are_those_printed_in_the_paper():
    """After debiasing, one share is printed for both lists of stereotypes."""
    of = printed.WITHIN
    before, after = (
        {name: of["religion", when, name] for name in ("neutral", "human", "different", "associated")}
        for when in ("before", "after")
    )
    assert after["different"] == after["associated"]
    words = [cell for name in ("neutral", "human") for cell in (before[name], name)]
    words += [cell for name in ("neutral", "human") for cell in (after[name], name)]
    words += [cell for name in ("different", "associated") for cell in (before[name], name)]
    assert places("P2", "religion", "before", *words, after["different"], within=30)
    race = [
        cell
        for name in ("human", "different")
        for cell in (of["race", "before", name], of["race", "after", name], name)
    ]
    assert places("P2", "race", *race[:3], within=40)
    assert places("P2", *race, within=3)


def test_the_transcribed_nearest_words_of_muslim_and_priest_are_those_printed_in_the_paper():
    assert places("P2", "muslim", "similar", printed.NEAREST["muslim"], within=8)
    assert places("P2", "priest", "nearest", "are", printed.NEAREST["priest"], within=10)


def test_the_transcribed_shares_within_predictive_intervals_are_those_printed_in_the_paper():
    assert places("P2", printed.PREDICTIVE_89, 0.89, "HPDI", printed.PREDICTIVE_50, 0.5, "HPDI", within=7)


def test_the_transcribed_mean_distances_for_gender_in_reddit_vectors_are_those_printed_in_the_paper():
    """The text calls different attributes "opposite", and prints one number for two connections."""
    mean = printed.GENDER_REDDIT
    assert places("P2", "associated", "opposite", "neutral", "human", mean["associated"], mean["human"], within=6)
    assert (mean["different"], mean["neutral"]) == (mean["associated"], mean["human"])


@pytest.mark.parametrize("name", ["gender", "race", "religion"])
def test_word_lists_of_the_catalog_are_those_printed_in_the_paper(name):
    words = specifications()[f"p2-{name}"].words
    for group, attributes in words.attributes.items():
        assert places("P2", group, *attributes), group
    for word in (one for group in words.protected.values() for one in group):
        assert any(places("P2", *one) for one in product(*words.protected.values()) if word in one), word


@pytest.mark.parametrize(("kind", "title"), [("human", "Human-related"), ("neutral", "Neutral")])
def test_control_words_of_the_catalog_are_those_printed_in_the_paper(kind, title):
    assert places("P2", title, *read_table("words/controls")[kind])


# ---------------------------------------------------------------------------- Alelyani
def test_the_transcribed_number_of_census_records_is_that_printed_in_the_paper():
    assert places("P3", printed.RECORDS, "instances")


def test_the_transcribed_mean_wages_are_those_printed_in_the_paper():
    women, men = ([printed.WAGES[group, how] for how in ("own", "swapped")] for group in ("women", "men"))
    assert places("P3", "females", *women, "male", "male", *men, within=7)


def test_the_transcribed_divergence_and_number_of_folds_are_those_printed_in_the_paper():
    assert places("P3", "divergence", "folds", printed.KL, within=6)
    assert places("P3", p3.FOLDS, "fold")


@pytest.mark.parametrize(("move", "way"), printed.RACE_MOVES.items())
def test_the_transcribed_effects_of_a_change_of_race_are_those_printed_in_the_paper(move, way):
    """The text states one effect in reverse order, and summarises all effects that involve American Indians."""
    if "American Indian" in move:
        (other,) = set(move) - {"American Indian"}
        assert places("P3", other, "Indian", "Alternation")
        assert places("P3", {"rises": "better"}[way], "from", "to", "American Indian", within=9)
    else:
        said = {"rises": "higher", "falls": "lower"}[way]
        assert places("P3", *move, said, within=6) or places("P3", said, *move, within=7)


# ---------------------------------------------------------------------------- Srivastava & Rossi
def test_the_transcribed_numbers_of_blocks_texts_and_translations_are_those_printed_in_the_paper():
    texts = printed.BLOCKS * printed.TEXTS_A_BLOCK
    assert places("P5", printed.BLOCKS, printed.TEXTS_A_BLOCK, texts, "texts")
    assert places("P5", 2 * texts, len(printed.TABLE_1), 2, printed.TRANSLATIONS, "translations")


def test_the_transcribed_specified_distributions_are_those_printed_in_the_paper():
    (unbiased,) = p5.SPECIFIED_UNBIASED.values()
    one, other = p5.SPECIFIED_BIASED.values()
    assert places("P5", "distribution", *unbiased)
    assert places("P5", "distributions", *one, "and", *other)


def test_the_transcribed_letter_of_figure_4_is_that_printed_in_the_paper():
    assert places("P5", "rating", "generated", printed.FIGURE_4, within=2)


def test_the_transcribed_rows_of_the_table_of_translators_are_those_printed_in_the_paper():
    """The paper prints its own code of two letters after each language."""
    names = [languages()[code] for code in printed.TABLE_1]
    numbered = enumerate(zip(names, printed.TABLE_1.values(), strict=True), 1)
    for number, (name, letters) in numbered:
        (code,) = {read("P5")[place + 1] for place in places("P5", float(number), name)}
        assert places("P5", float(number), name, code, *letters), name
    assert places("P5", "overall", *printed.OVERALL)
    without = [languages()[code][:2] for code in printed.WITHOUT]
    assert places("P5", "overall", "excluding", *without, *printed.OVERALL_WITHOUT)


def test_the_transcribed_table_of_letters_of_chained_services_is_that_printed_in_the_paper():
    letters = [letter.value for letter in (Letter.BS, Letter.UCS, Letter.DSBS)]
    rows = [cell for first in letters for cell in (first, *(printed.TABLE_2[first, second] for second in letters))]
    assert places("P5", *letters, *rows)
