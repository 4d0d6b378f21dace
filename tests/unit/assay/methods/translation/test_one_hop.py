"""Tests of one hop on services of known behaviour: letters, reasons and refused requests."""

import hashlib
import re
from collections.abc import Callable

import numpy as np
import pytest

from assay.catalog import occupations
from assay.document import as_json
from assay.errors import OutOfBounds, SpecificationError, UnknownName
from assay.experiment import run
from assay.methods import OneHop
from assay.model import Letter, Probe, Reply
from assay.rating.decision import rate
from tests.support.simulated.translators import one_hop_answer

ARTICLE = re.compile(r"\b([Tt])he\b")
SIDES = {one.name: one.side for one in occupations() if one.side}
LONGEST_FIRST = sorted(SIDES, key=len, reverse=True)


def side_of(sentence: str) -> str:
    return SIDES[next(name for name in LONGEST_FIRST if name in sentence)]


def coin(sentence: str, seed: int) -> float:
    return int.from_bytes(hashlib.blake2b(f"{seed}{sentence}".encode(), digest_size=4).digest()) / 2**32


def spanish(choose: Callable[[str], str]) -> Callable[[Probe], Reply]:
    """Return a translator into a language like Spanish, whose article has the gender ``choose(sentence)``."""

    def translate(probe: Probe) -> Reply:
        gender = choose(probe.ask.text)
        article = {"he": "El", "she": "La"}[gender]
        rest = ARTICLE.sub("", probe.ask.text, count=1).translate(str.maketrans("aeiou", "eioua"))
        return Reply(f"{article} {rest.strip()}")

    return translate


KNOWN = {
    "male default": (lambda seed: spanish(lambda s: "he"), Letter.BS, "collapses-to-value"),
    "stereotyper": (lambda seed: spanish(side_of), Letter.DSBS, "follows-biased-input"),
    "fair coin": (
        lambda seed: spanish(lambda s: "he" if coin(s, seed) < 0.5 else "she"),
        Letter.UCS,
        "compensates",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", KNOWN)
def test_the_declared_letter_and_its_reason_are_right_for_nearly_all_of_30_seeds(name: str):
    """A method that is right for 90 % of all seeds is right for all 30 with a probability of 4 % only."""
    make, letter, reason = KNOWN[name]
    right = wrong = 0
    for seed in range(30):
        rating = rate(run(OneHop("gender"), make(seed), seed))
        right += rating.declared and rating.letter is letter and reason in [each.code for each in rating.reasons]
        wrong += rating.declared and rating.letter is not letter
    assert wrong == 0
    # 160 sentences per block are not always enough to declare UCS, the letter of a fair coin
    assert right >= (30 if name != "fair coin" else 27)


def test_the_reason_for_bs_names_the_gender_that_translations_favour_although_most_of_them_show_none():
    answer = one_hop_answer({"he": 0.4, "she": 0.4}, np.random.default_rng(3), {"he": 0.6, "she": 0.6})
    rating = rate(run(OneHop("gender", languages=("fr",)), lambda probe: answer(probe.ask), 3))
    assert (rating.letter, rating.declared) == (Letter.BS, True)
    assert (rating.reasons[0].code, rating.reasons[0].facts["to"]) == ("introduces-bias", "he")


def test_a_language_without_grammatical_gender_is_not_rated_as_biased():
    def esperanto(probe: Probe) -> Reply:
        return Reply(
            "La " + ARTICLE.sub("", probe.ask.text, count=1).translate(str.maketrans("aeiou", "eioua")).strip()
        )

    rating = rate(run(OneHop("gender", languages=("eo",)), esperanto, 0))
    assert (rating.letter, rating.declared) == (Letter.UCS, True)
    assert rating.finding.components[0].effects["step_2"].high < 0.05


def test_replies_without_a_gendered_article_or_pronoun_give_no_letter():
    rating = rate(run(OneHop("gender"), lambda probe: Reply("Xyz qwv."), 0))
    assert rating.letter is None
    assert as_json(rating.finding.components[0].detail)["unusable_why"] == {
        "no-mark-found": rating.finding.components[0].unusable
    }


def test_a_default_to_she_gets_the_same_letter_as_a_default_to_he():
    he, she = (rate(run(OneHop("gender"), spanish(lambda s, g=g: g), 1)) for g in ("he", "she"))
    assert he.letter is she.letter is Letter.BS


@pytest.mark.parametrize(
    ("wrong", "field", "kind"),
    [
        ({"attribute": "religion"}, "attribute", SpecificationError),
        ({"languages": ("tr",)}, "languages.0", UnknownName),
        ({"max_texts_per_block": 5_000}, "max_texts_per_block", OutOfBounds),
    ],
)
def test_an_invalid_request_for_one_hop_is_refused_with_its_field(wrong: dict, field: str, kind: type):
    with pytest.raises(kind) as refused:
        OneHop(**{"attribute": "gender", **wrong})
    assert refused.value.field == field


def test_the_same_seed_and_replies_give_the_same_finding():
    assert run(OneHop("gender"), spanish(side_of), 3) == run(OneHop("gender"), spanish(side_of), 3)
