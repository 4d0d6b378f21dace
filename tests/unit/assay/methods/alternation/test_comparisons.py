"""Letters of services that compare two documents, and the pairs of documents that they are sent."""

import hashlib
from collections import Counter
from functools import cache, partial

import numpy as np
import pytest

from assay.catalog.decisions import decision
from assay.errors import SpecificationError
from assay.experiment import run
from assay.methods import Alternation, StimulusSampling, fit_to
from assay.methods.alternation.comparisons import first_share
from assay.methods.shared.profiles import TextProfiles, text_cases
from assay.model import Failure, Kind, Letter, Reply
from reports.reading import in_words
from store.ratings.experiment_json import dump_method
from tests.support.reports import document_of

SEEDS = 8
"""Ratings of each service; `make calibrate` makes 20 and more of such services (docs/calibration.md)."""
PAIRS = {"body": {"a": "{first}", "b": "{second}"}}
FACTS = decision("hiring").contents
STRONG = {fact: rank for rank, fact in enumerate((*FACTS["unfavourable"], *FACTS["favourable"]))}


def method(attribute="gender", **fields):
    return fit_to(Alternation(attribute, **fields), Kind.CLASSIFIER, PAIRS)


def names_of(value):
    return frozenset(method().texts.people[value])


HERS = names_of("she")


@cache
def is_woman(text):
    return any(person.lower() in text.lower() for person in HERS)


@cache
def quality(text):
    return next(rank for fact, rank in STRONG.items() if fact in text) >= len(FACTS["unfavourable"])


def label(name):
    return Reply({"label": name, "scores": None})


def chance(*parts):
    return int(hashlib.sha256("|".join(map(str, parts)).encode()).hexdigest()[:12], 16) / 16**12


def better(first, second, of, tie="first"):
    a, b = of(first), of(second)
    return label(tie if a == b else "first" if a > b else "second")


def even(first, second, _):
    return better(first, second, quality)


def even_with_ties(first, second, _):
    return better(first, second, quality, "tie")


def for_men(first, second, _):
    return better(first, second, lambda text: quality(text) + 2 * (not is_woman(text)))


def for_men_if_equal(first, second, _):
    return better(first, second, lambda text: quality(text) + 0.5 * (not is_woman(text)))


def always_first(_first, _second, _):
    return label("first")


def always_second(_first, _second, _):
    return label("second")


def always_tie(_first, _second, _):
    return label("tie")


def mostly_first(first, second, seed):
    return label("first") if chance(seed, first, second) < 0.8 else even_with_ties(first, second, seed)


def cached_random(first, second, seed):
    return label("first" if chance(seed, first, second) < 0.5 else "second")


def fresh_random(_first, _second, _seed, rng):
    return label("first" if rng.random() < 0.5 else "second")


def refuses_women(first, second, _):
    if is_woman(first) or is_woman(second):
        return Reply(failure=Failure("declined", "I cannot compare people."))
    return better(first, second, quality)


def refuses_some_women(first, second, seed, share=0.5):
    if any(is_woman(text) and chance(seed, text) < share for text in (first, second)):
        return Reply(failure=Failure("declined", "I cannot compare people."))
    return better(first, second, quality, "tie")


def rated(service, seed, **fields):
    experiment = method(**fields).design(np.random.default_rng(seed))
    rng = np.random.default_rng(1000 + seed)
    more = (rng,) if service is fresh_random else ()
    try:
        probes = next(experiment)
        while True:
            assert probes
            replies = [service(*(text for _, text in probe.ask.given), seed, *more) for probe in probes]
            probes = experiment.send(replies)
    except StopIteration as end:
        (component,) = end.value.components
        return component


@pytest.mark.slow
@pytest.mark.parametrize(
    ("service", "letter", "code"),
    [
        (even, Letter.DSBS, "follows-tied-content"),
        (even_with_ties, Letter.DSBS, "follows-tied-content"),
        (for_men, Letter.BS, "responds-to-attribute"),
        (for_men_if_equal, Letter.BS, "responds-to-attribute"),
        (refuses_women, Letter.BS, "refuses-one-group"),
        (refuses_some_women, Letter.BS, "refuses-one-group"),
    ],
)
def test_a_service_that_compares_two_documents_with_a_known_bias_gets_its_letter_with_every_seed(service, letter, code):
    for seed in range(SEEDS):
        component = rated(service, seed)
        assert (component.letter, component.declared) == (letter, True), seed
        assert component.reasons[0].code == code


@pytest.mark.slow
def test_a_service_that_compares_documents_but_refuses_a_quarter_of_the_women_gets_bs_or_no_letter():
    letters = [rated(partial(refuses_some_women, share=0.25), seed).letter for seed in range(0, SEEDS, 2)]
    assert set(letters) <= {Letter.BS, None}
    assert Letter.BS in letters


@pytest.mark.slow
@pytest.mark.parametrize("service", [always_first, always_second, always_tie])
def test_a_service_that_always_chooses_the_same_position_gets_no_letter(service):
    for seed in range(SEEDS):
        component = rated(service, seed)
        assert (component.letter, component.declared) == (None, False)
        assert component.detail.position.unchanged == 0


@pytest.mark.slow
@pytest.mark.parametrize("service", [mostly_first, cached_random, fresh_random])
def test_random_choices_and_a_preference_for_a_position_are_never_rated_bs(service):
    for seed in range(0, SEEDS, 2):
        component = rated(service, seed)
        assert component.letter is not Letter.BS


@pytest.mark.parametrize(("service", "position"), [(always_first, "first"), (always_second, "second"), (even, "first")])
def test_a_preference_for_a_position_is_a_reason_with_its_counts(service, position):
    component = rated(service, 3)
    (reason,) = [reason for reason in component.reasons if reason.code == "chooses-by-position"]
    counted = component.detail.position
    assert reason.facts == {"position": position, "chosen": getattr(counted, position), "of": counted.questions}
    assert counted.questions == counted.first + counted.second + counted.ties


def test_no_disparate_impact_ratio_is_computed_for_a_service_that_compares_documents():
    assert rated(for_men, 3).detail.disparate_impact.ratios == ()


def test_ties_between_equal_documents_are_not_reported_as_a_preference_for_a_position():
    component = rated(even_with_ties, 3)
    assert "chooses-by-position" not in [reason.code for reason in component.reasons]
    assert component.detail.position.first == component.detail.position.second


def test_the_share_of_the_first_position_is_computed_from_all_answers_without_ties():
    answers = {}

    def recorded(first, second, seed):
        reply = mostly_first(first, second, seed)
        answers[first, second] = reply.value["label"]
        return reply

    counted = rated(recorded, 2, stop_early=False, repeats=0).detail.position
    names = list(answers.values())
    assert counted.share.estimate == pytest.approx(
        names.count("first") / (names.count("first") + names.count("second"))
    )


def test_numbers_in_the_sentence_about_a_preference_for_a_position_equal_counts_of_the_answers():
    given = []

    def recorded(first, second, seed):
        given.append(mostly_first(first, second, seed))
        return given[-1]

    asked = method(stop_early=False, repeats=0)
    finding = run(asked, lambda probe: recorded(*(text for _, text in probe.ask.given), 4), 4)
    document = document_of(finding, experiment=dump_method(asked))
    (sentence,) = [text for text in in_words(document) if "both orders." in text]
    counts = Counter(reply.value["label"] for reply in given)
    for number in (len(given), *counts.values()):
        assert f"{number:,} " in sentence


def test_a_pair_of_documents_whose_answer_in_one_of_two_orders_is_unreadable_is_left_out():
    def half(first, second, seed):
        swapped = is_woman(first) and not is_woman(second)
        return Reply(failure=Failure("no-choice", "both")) if swapped else even_with_ties(first, second, seed)

    component = rated(half, 1)
    assert component.letter is not Letter.UCS
    assert component.detail.profiles.whole < component.detail.profiles.asked


# ------------------------------------------------------------------------------- cases
def cases_of(**texts):
    profiles = TextProfiles(pairs=True, **texts).filled_in("gender")
    return profiles, text_cases(profiles, np.random.default_rng(5))


def test_job_applications_are_compared_if_the_request_has_no_documents():
    profiles, cases = cases_of()
    assert profiles.decision == "hiring"
    assert all("{" not in text for case in cases for text in (*case.versions, case.opponent))


def test_half_of_all_documents_are_compared_with_one_that_differs_at_most_in_the_attribute_value():
    _, cases = cases_of()
    equal = [case for case in cases if case.opponent in case.versions]
    assert len(equal) == pytest.approx(len(cases) / 2, rel=0.1)
    women = [case for case in cases if is_woman(case.opponent)]
    assert len(women) == pytest.approx(len(cases) / 2, rel=0.1)
    assert len({case.side for case in equal}) == 2


def test_the_two_compared_documents_differ_either_in_the_attribute_value_only_or_in_their_content():
    _, cases = cases_of()
    for case in cases:
        if case.opponent not in case.versions:
            assert case.clusters["content"] not in case.opponent
            assert any(fact in case.opponent for fact in STRONG)


@pytest.mark.parametrize("most", [10, 30])
def test_ten_documents_of_a_request_suffice_for_comparisons_of_equal_and_of_different_documents(most):
    texts = {
        "frames": ("{Person} sent {content}.",),
        "contents": {"good": ("a long list",), "bad": ("nothing",)},
        "people": {"he": tuple(f"Mr {n}" for n in "ABCDEFGHIJ"), "she": tuple(f"Ms {n}" for n in "ABCDEFGHIJ")},
    }
    _, cases = cases_of(**texts, most=most)
    assert {case.opponent in case.versions for case in cases} == {True, False}
    assert {case.opponent[:2] for case in cases} == {"Mr", "Ms"}


def test_the_expected_number_of_questions_is_within_2_percent_of_the_questions_asked():
    asked = []

    def recorded(first, second, seed):
        asked.append((first, second))
        return even(first, second, seed)

    plan = {"stop_early": False, "repeats": 0}
    rated(recorded, 1, **plan)
    assert method(**plan).expected_probes() == pytest.approx(len(asked), rel=0.02)


# ------------------------------------------------------------------------------- settings
@pytest.mark.parametrize(
    ("settings", "pairs"),
    [
        (PAIRS, True),
        ({"path": "/better/{first}/{second}"}, True),
        ({"query": {"q": "{first} or {second}"}}, True),
        ({"decision": {"prompt": "{first} or {second}?"}}, True),
        ({"body": {"q": "{text}"}}, False),
        ({"body": {"a": "{first}"}}, False),
        ({"body": {"a": "{{first}}", "b": "{{second}}", "q": "{text}"}}, False),
        ({}, False),
    ],
)
def test_a_service_is_rated_by_comparisons_exactly_if_its_settings_send_two_documents_per_call(settings, pairs):
    assert fit_to(Alternation("gender"), Kind.CLASSIFIER, settings).compares is pairs


def test_a_service_that_compares_two_documents_can_be_rated_by_alternation_only():
    with pytest.raises(SpecificationError, match="alternation rates a service that compares two documents"):
        fit_to(StimulusSampling("gender"), Kind.CLASSIFIER, PAIRS)


def test_a_choice_of_labels_and_a_regressor_are_refused_for_comparisons_of_two_documents():
    with pytest.raises(SpecificationError) as refused:
        method(labels=("first",))
    assert refused.value.field == "labels"
    with pytest.raises(SpecificationError) as refused:
        Alternation("gender", texts=TextProfiles(pairs=True)).for_kind(Kind.REGRESSOR)
    assert refused.value.field == "texts.pairs"


@pytest.mark.parametrize(
    ("value", "share"),
    [
        ({"label": "first"}, 1.0),
        ({"label": "Second"}, 0.0),
        ({"label": "tie"}, 0.5),
        ({"label": None, "scores": {"first": 0.2, "second": 0.6, "tie": 0.2}}, 0.3),
        ({"label": None, "scores": {"first": 0.5, "second": 0.5}}, 0.5),
        *((value, None) for value in ({"label": "both"}, {"label": None}, {}, "first", 1, None)),
        *((value, None) for value in ({"scores": {"first": 1}}, {"scores": {"first": 0, "second": 0}})),
        ({"scores": {"first": -1, "second": 2}}, None),
        ({"scores": {"first": 0.5, "second": 0.5, "third": 0}}, None),
    ],
)
def test_an_answer_about_two_documents_is_readable_only_if_it_chooses_a_document_or_a_tie(value, share):
    assert first_share(value) == (None if share is None else pytest.approx(share))
