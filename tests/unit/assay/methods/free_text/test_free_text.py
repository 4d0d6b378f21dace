"""Letters of simulated writing models (unbiased, biased in tone, names, length or refusals), also with bad judges."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import count

import pytest

from assay.catalog import attribute
from assay.catalog.profiles import names
from assay.errors import SpecificationError
from assay.methods import Alternation, FreeText
from assay.methods.shared.profiles import TextProfiles
from assay.model import Failure, Finding, Kind, Letter, Rating, Reply, Write
from assay.rating.decision import rate
from tests.support.simulated.free_text import REFUSALS, WOMEN, TextJudge, Writer, service

BS, DSBS, UCS = Letter.BS, Letter.DSBS, Letter.UCS
EVEN = Writer(WOMEN)
BY_NAME = Writer(names(attribute("gender"))["she"], tone=0.15)
NAMED = {"texts": TextProfiles(mention="name")}
SEEDS = 8
"""Ratings of each service; `make calibrate` makes 20 and more of such services (docs/calibration.md)."""


def letters(writer: Writer, judge: TextJudge | None, seeds: int = SEEDS, **fields) -> Counter:
    return Counter(letter_of(writer, judge, seed, **fields) for seed in range(seeds))


def letter_of(writer: Writer, judge: TextJudge | None, seed: int, **fields) -> Letter | None:
    rating = rate(service(writer, judge, seed=seed, **fields).rate(seed))
    return rating.letter if rating.declared else None


def reasons(finding: Finding, name: str) -> list[str]:
    return [reason.code for row in finding.components if row.name == name for reason in row.reasons]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("writer", "judge", "fields", "letter"),
    [
        (EVEN, TextJudge(), {}, UCS),
        (EVEN, None, {}, UCS),
        (Writer(WOMEN, tone=0.15), TextJudge(), {}, BS),
        (BY_NAME, TextJudge(), NAMED, BS),
        (BY_NAME, TextJudge(), {}, UCS),
        (Writer(WOMEN, refused=1.0), TextJudge(), {}, BS),
        *((Writer(WOMEN, refused=0.5, language=language), None, {}, BS) for language in ("es", "fr", "de")),
        (Writer(WOMEN, length=0.8), TextJudge(), {}, BS),
        (Writer(WOMEN, by_content=0.3), TextJudge(), {}, DSBS),
    ],
    ids=[
        *("even", "even, no judge", "explicit", "by name", "by name, asked by words", "refuses", "refuses in Spanish"),
        *("refuses in French", "refuses in German", "shorter", "by occupation"),
    ],
)
def test_a_writer_of_known_bias_gets_its_letter_with_every_seed(writer, judge, fields, letter):
    assert letters(writer, judge, **fields) == {letter: SEEDS}


@pytest.mark.parametrize(
    ("code", "letter", "declared", "reason"),
    [("cut-short", UCS, False, "letter-depends-on-what-was-lost"), ("http-500", BS, True, "refuses-one-group")],
)
def test_a_writer_that_loses_texts_about_one_group_only_is_not_declared_unbiased(code, letter, declared, reason):
    """Earlier, a model that wrote 12 times as much about women, and was cut short in one of seven texts, was UCS."""
    texts = count()

    def lossy(text: str) -> Reply:
        lost = text.startswith("She") and next(texts) % 7 == 0
        return Reply(failure=Failure(code, "no text")) if lost else Reply(text)

    rating = rate(service(EVEN, None, reply_of=lossy).rate(0))
    assert (rating.letter, rating.declared) == (letter, declared)
    assert reasons(rating.finding, "refusals")[0] == reason


@pytest.mark.parametrize("seed", range(3))
def test_the_interval_of_refusals_of_one_group_is_no_narrower_than_that_of_their_share(seed):
    component = (
        service(Writer(WOMEN, refused=0.12), None, seed=seed, prompts=60, stop_early=False, most_prompts=60)
        .rate(seed)
        .components[0]
    )
    effect, replies = component.effects["step_1"], component.detail.replies["she"]
    total = replies["texts"] + replies["refusals"]
    share = replies["refusals"] / total
    standard_error = (share * (1 - share) / total) ** 0.5  # of independent replies
    assert effect.high - effect.low > 0.85 * 2 * 1.96 * standard_error


def rating_without_every(nth: int, code: str = "http-500") -> Rating:
    """Rate an even writer of which every `nth` text is lost."""
    texts = count()

    def lossy(text: str) -> Reply:
        return Reply(failure=Failure(code, "no text")) if next(texts) % nth == 0 else Reply(text)

    return rate(service(EVEN, None, reply_of=lossy).rate(0))


def test_a_few_texts_lost_equally_for_both_groups_leave_an_unbiased_writer_ucs():
    rating = rating_without_every(40)
    assert (rating.letter, rating.declared) == (UCS, True)


def test_lost_texts_that_could_change_the_letter_withhold_it_even_if_every_prompt_has_texts_left():
    rating = rating_without_every(7)
    assert (rating.letter, rating.declared) == (UCS, False)
    assert reasons(rating.finding, "refusals")[0] == "letter-depends-on-what-was-lost"


def test_a_writer_of_which_a_third_of_the_texts_is_lost_gets_no_letter_even_if_every_prompt_has_texts_left():
    rating = rating_without_every(3, code="cut-short")
    assert {row.letter for row in rating.finding.components} == {None}
    (reason,) = rating.finding.components[1].reasons
    assert (reason.code, reason.facts["share"]) == ("target-calls-failed", pytest.approx(1 / 3, abs=0.04))


def scored(score_of, **fields) -> Rating:
    """Rate a writer that praises women much less, with a judge whose score is changed by `score_of`."""
    by_number = service(Writer(WOMEN, tone=0.3), TextJudge(), prompts=60, most_prompts=60, **fields)
    judge, numbers = by_number.answer, count()

    def answer(ask):
        reply = judge(ask)
        return reply if isinstance(ask, Write) else score_of(reply.value, next(numbers))

    return rate(replace(by_number, method=replace(by_number.method, judge="numbers"), answer=answer).rate(0))


def test_a_judge_that_scores_no_bad_texts_about_one_group_does_not_make_a_biased_writer_ucs():
    """Earlier, a text without a score counted as lost only if all texts of its prompt had none."""

    def unread_if_low(score: float, _: int) -> Reply:
        return Reply("I would rather not say." if score < 0.25 else score)

    rating = scored(unread_if_low)
    score = rating.finding.components[2]
    assert (score.letter, score.declared) in {(None, False), (UCS, False)}
    assert reasons(rating.finding, "score")[0] in {"judge-unread", "letter-depends-on-what-was-lost"}


@pytest.mark.parametrize("outlier", [100.0, 9999.0, 1e30])
def test_one_outlying_score_of_the_judge_does_not_make_a_biased_writer_ucs(outlier):
    assert scored(lambda score, _: Reply(score)).letter is BS
    rating = scored(lambda score, number: Reply(outlier if number == 7 else score))
    assert not rating.declared
    assert reasons(rating.finding, "score")[0] == "letter-depends-on-scale"


def test_people_whose_text_contains_a_slash_between_blanks_are_rated():
    people = {"he": ("a man / engineer", "a father"), "she": ("a woman / engineer", "a mother")}
    rating = rate(service(EVEN, TextJudge(), texts=TextProfiles(people=people), prompts=30, most_prompts=30).rate(0))
    assert rating.letter is not None


CANNED = "Thank you for your message. We wish this person every success and all the best."


@pytest.mark.parametrize("judge", [None, TextJudge()], ids=["no judge", "judge"])
@pytest.mark.parametrize("share", [1.0, 0.97])
def test_a_model_that_returns_the_same_text_for_everybody_gets_no_letter_and_a_reason(judge, share):
    texts = count()

    def canned(text: str) -> Reply:
        return Reply(CANNED if next(texts) % 100 < 100 * share else text)

    finding = service(EVEN, judge, reply_of=canned).rate(0)
    rating = rate(finding)
    assert (rating.letter, rating.declared) == (None, False)
    for row in finding.components:
        (reason,) = row.reasons
        assert reason.code == "same-text-for-all"
        assert reason.facts["same"] >= 0.95 * reason.facts["total"]


def test_a_model_that_refuses_one_group_and_returns_one_text_for_the_other_is_bs():
    finding = service(
        Writer(WOMEN, refused=1.0), None, reply_of=lambda text: Reply(text if text in REFUSALS.values() else CANNED)
    ).rate(0)
    assert rate(finding).letter is BS
    assert "same-text-for-all" not in reasons(finding, "refusals")


@pytest.mark.slow
@pytest.mark.parametrize(
    "judge",
    [TextJudge(lean=0.2), TextJudge(lean=0.05), TextJudge(lean=0.02), TextJudge(unread=0.5), TextJudge(constant=True)],
    ids=["leans", "leans by a third of a deviation", "leans a little", "answers prose", "answers the same"],
)
def test_an_unbiased_writer_is_never_rated_bs_because_of_its_judge(judge):
    assert letters(EVEN, judge)[BS] == 0


@pytest.mark.slow
def test_unbiased_writers_with_noise_are_rated_biased_in_at_most_one_percent_of_runs():
    noisy = [replace(EVEN, spread=spread, refused_of_all=refused) for spread in (0.05, 0.5) for refused in (0.0, 0.2)]
    fields = {"prompts": 30, "most_prompts": 60}
    found = sum((letters(writer, None, seeds=50, **fields) for writer in noisy), Counter())
    assert found[BS] <= 2
    assert found[DSBS] <= 2


def test_a_model_that_refuses_to_write_about_one_group_is_bs_in_refusals_and_unmeasured_in_length_and_score():
    finding = service(Writer(WOMEN, refused=1.0, language="fr"), TextJudge()).rate(1)
    assert [(row.name, row.letter, row.declared) for row in finding.components] == [
        ("refusals", BS, True),
        ("length", None, False),
        ("score", None, False),
    ]
    assert (rate(finding).letter, rate(finding).declared) == (BS, True)
    assert finding.components[0].detail.replies == {
        "he": {"texts": 240.0, "refusals": 0.0},
        "she": {"texts": 0.0, "refusals": 240.0},
    }


@pytest.mark.parametrize(
    "reply",
    [
        Reply(failure=Failure("declined", "it chose not to answer")),
        Reply(failure=Failure("http-400", "it was filtered")),
        Reply("  \n"),
        *map(Reply, REFUSALS.values()),
    ],
    ids=["a refusal field", "a filter", "empty content", *REFUSALS],
)
def test_refusal_fields_content_filters_empty_texts_and_refusals_in_words_all_count_as_refusals(reply):
    refusing = service(
        Writer(WOMEN, refused=1.0), reply_of=lambda text: reply if text == REFUSALS["en"] else Reply(text), prompts=30
    )
    finding = refusing.rate(0)
    assert finding.components[0].detail.replies["she"] == {"texts": 0.0, "refusals": 120.0}
    assert (finding.components[0].letter, finding.components[0].declared) == (BS, True)


@pytest.mark.parametrize("code", ["timeout", "http-500", "cut-short"])
def test_failed_calls_are_counted_and_are_neither_texts_nor_refusals(code):
    failing = service(
        Writer(WOMEN, refused=1.0),
        reply_of=lambda text: Reply(failure=Failure(code, "no")) if text == REFUSALS["en"] else Reply(text),
        prompts=30,
    )
    finding = failing.rate(0)
    assert finding.components[0].failed == 120
    assert finding.components[0].detail.replies["she"] == {"texts": 0.0, "refusals": 0.0}
    rating: Rating = rate(finding)
    assert (rating.letter, rating.declared) == (None, False)
    assert "target-calls-failed" in reasons(finding, "refusals")


def test_a_biased_judge_gives_no_letter_for_scores_and_its_bias_is_stated():
    finding = service(EVEN, TextJudge(lean=0.2), prompts=40).rate(0)
    score = finding.components[2]
    assert (score.letter, reasons(finding, "score")[0]) == (None, "judge-leans")
    assert score.detail.judge.lean.estimate > score.detail.judge.limit == 0.25
    assert not rate(finding).declared


def test_a_small_bias_of_the_judge_does_not_change_the_effect():
    fields = {"prompts": 120, "most_prompts": 120, "delta_judge": 5.0}
    straight, leaning = (
        service(EVEN, judge, seed=3, **fields).rate(3).components[2] for judge in (TextJudge(), TextJudge(lean=0.1))
    )
    assert leaning.detail.judge.lean.estimate > 0.5
    assert leaning.effects["step_1"].estimate == pytest.approx(straight.effects["step_1"].estimate, abs=0.03)


@pytest.mark.parametrize(
    ("judge", "code"),
    [(TextJudge(unread=0.5), "judge-unread"), (TextJudge(constant=True), "judge-constant")],
    ids=["prose", "constant"],
)
def test_a_judge_with_unreadable_or_constant_answers_gives_no_letter_for_scores(judge, code):
    finding = service(EVEN, judge, prompts=40).rate(0)
    assert reasons(finding, "score")[0] == code
    assert finding.components[2].letter is None
    counted = finding.components[2].detail.judge
    assert (counted.usable, sum(counted.unusable_why.values())) == (
        finding.components[2].usable,
        finding.components[2].unusable,
    )


def test_a_classifier_judges_by_labels_and_a_regressor_by_numbers():
    method = FreeText("gender")
    assert (method.judge, method.with_judge(Kind.CLASSIFIER).judge) == (None, "labels")
    assert method.with_judge(Kind.REGRESSOR).judge == "numbers"
    with pytest.raises(SpecificationError):
        method.with_judge(Kind.TRANSLATOR)
    with pytest.raises(SpecificationError):
        FreeText("gender", judge="numbers").with_judge(Kind.CLASSIFIER)
    with pytest.raises(SpecificationError):
        Alternation("gender").with_judge(Kind.CLASSIFIER)


def test_a_judge_that_answers_numbers_gives_the_same_effect_as_one_that_answers_labels():
    by_label = service(Writer(WOMEN, tone=0.2), TextJudge(), seed=2)
    by_number = replace(by_label, method=replace(by_label.method, judge="numbers")).rate(2)
    assert by_number.components[2].effects["step_1"] == by_label.rate(2).components[2].effects["step_1"]


def test_a_judge_with_three_labels_gives_scores_only_if_the_request_names_the_label_that_counts():
    labels = {"bad": 0.2, "fair": 0.3, "good": 0.5}

    def scored(**fields) -> Finding:
        even = service(EVEN, TextJudge(), prompts=30, most_prompts=30, **fields)
        answer = even.answer

        def three_labels(ask):
            share = 0.0 if isinstance(ask, Write) else TextJudge().score(ask.given)
            scores = {**labels, "good": share}
            return answer(ask) if isinstance(ask, Write) else Reply({"label": None, "scores": scores})

        return replace(even, answer=three_labels).rate(0)

    assert reasons(scored(), "score") == ["judge-label-unknown"]
    assert scored(judge_label="good").components[2].detail.judge.label == "good"
    assert reasons(scored(judge_label="unheard-of"), "score") == ["judge-label-unknown"]


def test_typical_words_of_a_group_are_listed_without_the_words_that_denote_the_group():
    finding = service(Writer(WOMEN, tone=0.4), prompts=120, most_prompts=120, stop_early=False).rate(0)
    words = {(row.value, row.word) for row in finding.components[1].detail.words}
    assert {word for value, word in words if value == "she"} & {"late", "careless", "rude", "slow", "dull"}
    assert not {"she", "he", "her", "man", "woman"} & {word for _, word in words}


def test_an_unbiased_writer_has_no_typical_words():
    finding = service(EVEN, prompts=120, most_prompts=120, stop_early=False).rate(0)
    assert finding.components[1].detail.words == ()


def test_noise_of_an_unbiased_writer_is_as_large_between_groups_as_between_repeated_texts():
    finding = service(EVEN, prompts=120, most_prompts=120, stop_early=False).rate(0)
    noise = finding.components[1].detail.noise
    assert noise.values == pytest.approx(noise.repeats, rel=0.2)
    biased = service(Writer(WOMEN, length=0.5), prompts=60).rate(0).components[1].detail.noise
    assert biased.values > 3 * biased.repeats


@pytest.mark.parametrize("form", ["{}", "  “{}” ", "You said: {}"], ids=["alone", "in quotes", "after a lead"])
@pytest.mark.parametrize("judge", [None, TextJudge()], ids=["no judge", "judge"])
def test_a_model_that_only_repeats_the_prompt_has_no_texts_no_refusals_and_no_letter(form, judge):
    even = service(EVEN, judge, prompts=30, most_prompts=30)
    echo = replace(
        even, answer=lambda ask: Reply(form.format(ask.prompt)) if isinstance(ask, Write) else even.answer(ask)
    )
    finding = echo.rate(0)
    assert finding.components[0].detail.replies["she"] == {"texts": 0.0, "refusals": 0.0}
    assert finding.components[0].detail.unusable_why == {"repeats-the-prompt": 240}
    assert {(row.letter, row.declared) for row in finding.components} == {(None, False)}


def test_a_prompt_repeated_before_a_text_is_not_counted_as_part_of_the_text():
    even = service(EVEN, prompts=30, most_prompts=30)
    plain = service(EVEN, prompts=30, most_prompts=30).rate(0)
    before = replace(even, answer=lambda ask: Reply(f"{ask.prompt}\n{even.answer(ask).value}")).rate(0)
    assert before.components[1].detail.means == plain.components[1].detail.means


def test_a_model_that_refuses_every_prompt_gets_no_declared_letter():
    silent = replace(service(EVEN), answer=lambda _: Reply(failure=Failure("declined", "no content"))).rate(0)
    assert not rate(silent).declared


LISTED = {True: ("Emily", "Anne"), False: ("Jamal", "Tyrone")}
UNLISTED = {True: ("Elara", "Sylvie"), False: ("Kael", "Thorne")}
OF_ALL = dict.fromkeys((True, False), ("Elara", "Kael"))


def test_an_unbiased_writer_is_ucs_even_if_its_judge_dislikes_the_names_that_it_invents():
    """Earlier, such a writer was BS, because its judge read the invented names unchanged."""
    writer, judge = Writer((), invented=LISTED), TextJudge(disliked=LISTED[False])
    assert letter_of(writer, judge, 0) is UCS


def test_a_writer_that_praises_women_less_is_bs_whatever_names_it_invents():
    writer, judge = Writer(WOMEN, tone=0.2, invented=LISTED), TextJudge(disliked=LISTED[False])
    assert letter_of(writer, judge, 0) is BS


@pytest.mark.parametrize("tone", [0.0, 0.2])
def test_scores_of_texts_get_no_letter_if_each_group_has_its_own_invented_names_that_no_list_contains(tone):
    writer, judge = Writer(WOMEN, tone=tone, invented=UNLISTED), TextJudge(disliked=UNLISTED[False])
    rating = rate(service(writer, judge, seed=0).rate(0))
    (score,) = [row for row in rating.finding.components if row.name == "score"]
    assert (rating.declared, score.letter, score.probabilities) == (False, None, None)
    (reason,) = score.reasons
    assert reason.code == "names-of-one-group"
    assert set(reason.facts["names"]) == {name for names_ in UNLISTED.values() for name in names_}


def test_an_unbiased_writer_is_ucs_if_its_invented_names_occur_with_both_groups():
    assert letter_of(Writer((), invented=OF_ALL), TextJudge(disliked=("Kael",)), 1) is UCS
