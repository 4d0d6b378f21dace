"""Tests of the published decision rules: known letters, symmetries, and the vote of several blocks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from assay.errors import OutOfBounds, SpecificationError, TooFewObservations
from assay.model import Letter
from assay.statistics.hypothesis_tests.published import JOIN_OF, published_letter

KNOWN = Path(__file__).resolve().parents[4] / "shared" / "known_answers" / "two_step.json"

UNBIASED = {"U": [0.5, 0.5, 0.0]}
BIASED = {"B1": [0.1, 0.9, 0.0], "B2": [0.9, 0.1, 0.0]}
FAITHFUL = {"U": [20, 20, 0], "B1": [4, 36, 0], "B2": [36, 4, 0]}
MOSTLY_HE = {"U": [34, 5, 1], "B1": [34, 5, 1], "B2": [34, 5, 1]}
ONE_BLOCK_BALANCED = {"U": [20, 20, 0], "B1": [17, 23, 0], "B2": [36, 4, 0]}

# rule names in the file of known answers, with their reading, statistic and join
RULES = {
    "published_two_sample_drop_both_zero_or": ("similar-to-biased", "two-sample", "or"),
    "published_two_sample_df2_or": ("similar-to-biased", "two-sample-df2", "or"),
    "two_sample_drop_and": ("similar-to-biased", "two-sample", "and"),
    "gof_drop_or": ("similar-to-biased", "goodness-of-fit", "or"),
    "notunbiased_two_drop_and": ("departs-from-unbiased", "two-sample", "and"),
}


@pytest.mark.skipif(not KNOWN.exists(), reason="the shared known answers are not beside the project")
@pytest.mark.parametrize("rule", RULES)
def test_every_known_published_letter_is_reproduced(rule):
    known = json.loads(KNOWN.read_text())
    reading, statistic, join = RULES[rule]
    for case in known["cases"]:
        verdict = published_letter(
            case["outputs"],
            {"U": known["specs"]["U"]},
            {name: known["specs"][name] for name in ("B1", "B2")},
            reading=reading,
            statistic=statistic,
            join=join,
            alpha=known["alpha"],
        )
        assert (case["name"], verdict.letter) == (case["name"], case["expected_rating"][rule])


def test_one_balanced_output_is_enough_for_ucs_if_outputs_are_joined_by_or_but_not_if_joined_by_and():
    letters = {
        join: published_letter(ONE_BLOCK_BALANCED, UNBIASED, BIASED, reading="similar-to-biased", join=join).letter
        for join in ("or", "and")
    }
    assert letters == {"or": Letter.UCS, "and": Letter.DSBS}


@pytest.mark.parametrize("reading", JOIN_OF)
def test_each_reading_of_the_published_rule_has_its_own_default_way_to_combine_blocks(reading):
    told = published_letter(ONE_BLOCK_BALANCED, UNBIASED, BIASED, reading=reading, join=JOIN_OF[reading])
    assert published_letter(ONE_BLOCK_BALANCED, UNBIASED, BIASED, reading=reading) == told


def test_the_published_rule_compares_every_block_with_every_specified_distribution():
    verdict = published_letter(FAITHFUL, UNBIASED, BIASED)
    assert [*verdict.tests] == ["U", "B1", "B2"]
    assert all([*row] == ["U", "B1", "B2"] for row in verdict.tests.values())


@pytest.mark.parametrize("reading", JOIN_OF)
@pytest.mark.parametrize("statistic", ["two-sample", "two-sample-df2", "goodness-of-fit", "exact-multinomial"])
def test_swapping_he_and_she_everywhere_keeps_the_letter(reading, statistic):
    def mirrored(rows):
        return {name: [row[1], row[0], row[2]] for name, row in rows.items()}

    for observed in (FAITHFUL, ONE_BLOCK_BALANCED, MOSTLY_HE):
        straight = published_letter(observed, UNBIASED, BIASED, reading=reading, statistic=statistic)
        swapped = published_letter(
            mirrored(observed), mirrored(UNBIASED), mirrored(BIASED), reading=reading, statistic=statistic
        )
        assert swapped.letter is straight.letter


def test_output_near_any_declared_unbiased_distribution_is_unbiased():
    unbiased = {"U1": [0.5, 0.5, 0.0], "U2": [0.2, 0.8, 0.0]}
    observed = {"U1": [20, 20, 0], "U2": [8, 32, 0], "B2": [36, 4, 0]}
    verdict = published_letter(observed, unbiased, {"B2": [0.9, 0.1, 0.0]})
    assert (verdict.step_1_biased, verdict.letter) == (False, Letter.DSBS)


def test_a_block_without_counts_is_refused_and_named():
    with pytest.raises(SpecificationError, match="no counts were given for B2"):
        published_letter({"U": [1, 1, 0], "B1": [1, 1, 0]}, UNBIASED, BIASED)


@pytest.mark.parametrize(("unbiased", "biased"), [({}, BIASED), (UNBIASED, {})])
def test_the_published_rule_without_a_distribution_for_each_step_is_refused(unbiased, biased):
    with pytest.raises(SpecificationError, match="at least one unbiased and one biased"):
        published_letter(FAITHFUL, unbiased, biased)


def test_a_block_cannot_be_both_unbiased_and_biased():
    with pytest.raises(SpecificationError, match="both unbiased and biased: U"):
        published_letter(FAITHFUL, UNBIASED, {**BIASED, "U": [0.9, 0.1, 0.0]})


def test_a_block_without_usable_outputs_is_refused():
    with pytest.raises(TooFewObservations):
        published_letter({**FAITHFUL, "B1": [0, 0, 0]}, UNBIASED, BIASED)


@pytest.mark.parametrize("alpha", [0, 1, -0.1])
def test_a_significance_level_outside_zero_and_one_is_refused(alpha):
    with pytest.raises(OutOfBounds):
        published_letter(FAITHFUL, UNBIASED, BIASED, alpha=alpha)


# ---------------------------------------------------------------------------- vote (footnote 4)
THREE_BIASED = {"B1": [0.9, 0.1, 0.0], "B2": [0.6, 0.4, 0.0], "B3": [0.55, 0.45, 0.0]}


@pytest.mark.parametrize(
    ("blocks", "join", "letter"),
    [
        ({"B1": [36, 4, 0], "B2": [24, 16, 0], "B3": [22, 18, 0]}, "and", Letter.DSBS),
        ({"B1": [36, 4, 0], "B2": [24, 16, 0], "B3": [22, 18, 0]}, "or", Letter.UCS),
        ({"B1": [36, 4, 0], "B2": [24, 16, 0], "B3": [22, 18, 0]}, "vote", Letter.UCS),
        ({"B1": [36, 4, 0], "B2": [36, 4, 0], "B3": [22, 18, 0]}, "or", Letter.UCS),
        ({"B1": [36, 4, 0], "B2": [36, 4, 0], "B3": [22, 18, 0]}, "vote", Letter.DSBS),
    ],
)
def test_a_vote_in_step_2_follows_the_majority_of_the_biased_blocks(blocks, join, letter):
    verdict = published_letter({"U": [20, 20, 0], **blocks}, UNBIASED, THREE_BIASED, join=join)
    assert verdict.letter is letter


def test_if_one_of_two_outputs_in_step_2_is_one_sided_a_vote_gives_dsbs():
    observed = {"U": [20, 20, 0], "B1": [18, 22, 0], "B2": [36, 4, 0]}
    assert published_letter(observed, UNBIASED, BIASED, join="vote").letter is Letter.DSBS


@pytest.mark.parametrize(("join", "letter"), [("or", Letter.BS), ("vote", Letter.DSBS)])
def test_a_vote_in_step_1_is_counted_over_the_specified_biased_distributions(join, letter):
    """The output (36, 4, 0) of the unbiased block is similar to one of the three biased specifications."""
    biased = {"B1": [0.9, 0.1, 0.0], "B2": [0.1, 0.9, 0.0], "B3": [0.2, 0.8, 0.0]}
    observed = {block: [36, 4, 0] for block in ("U", *biased)}
    verdict = published_letter(observed, UNBIASED, biased, reading="similar-to-biased", join=join)
    assert verdict.letter is letter


def test_one_biased_output_of_three_unbiased_blocks_is_outvoted_in_step_1():
    unbiased = {"U1": [0.5, 0.5, 0.0], "U2": [0.5, 0.5, 0.0], "U3": [0.5, 0.5, 0.0]}
    observed = {"U1": [36, 4, 0], "U2": [20, 20, 0], "U3": [20, 20, 0], "B": [36, 4, 0]}
    biased = {"B": [0.9, 0.1, 0.0]}
    assert published_letter(observed, unbiased, biased).letter is Letter.BS
    assert published_letter(observed, unbiased, biased, join="vote").letter is Letter.DSBS
