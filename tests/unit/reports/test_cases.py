"""Cases of every method's evidence: each observation belongs to one case, and counts equal those of the answers."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import asdict, replace
from functools import cache
from statistics import fmean

import pytest

from assay.experiment import Session, generator
from assay.methods import rating_of
from assay.methods.questions.asked import QuestionMetadata, QuestionRecord, recorded_questions
from assay.methods.questions.method import GroupQuestions
from assay.model import Choose, Classify, Failure, Observation, Probe, Reply, Score, Translate
from assay.rating.document import deciding_effect
from reports.cases import KINDS, CaseIndex, CaseIndexBuilder
from reports.cases.profiles import ProfileCases
from reports.cases.reading import CaseReading
from reports.cases.written import WrittenCases
from reports.reading import RatingView
from store.ratings.experiment_json import dump_method
from tests.support.reports import document_of, read
from tests.support.simulated.services import SERVICES, WRITING

SEED = 3
USABLE = {"changed", "kept", "towards", "against", "tie", "answered"}


@cache
def rated(name: str) -> tuple[RatingView, tuple[Observation, ...]]:
    """Rate a simulated service; return its rating and its observations."""
    size = 0.2 if name.startswith(("stereotype", "visual", "free")) else 0.3
    return rated_with(name, size, size)


@cache
def rated_with(name: str, step_1: float, step_2: float) -> tuple[RatingView, tuple[Observation, ...]]:
    """Rate a simulated service with the given effects."""
    service = {**SERVICES, **WRITING}[name](step_1, step_2, SEED)
    session = Session(service.method.design(generator(SEED)))
    observations: list[Observation] = []
    while session.finding is None:
        for probe in session.missing:
            observations += session.accept(probe, service.answer(probe.ask))
        session.advance()
    return read(document_of(session.finding)), tuple(observations)


def index_of(view: RatingView, observations: tuple[Observation, ...]) -> CaseIndex:
    assert view.because is not None
    part = next(part for part in view.document.components if (part.name or "") == view.because.component)
    effect = deciding_effect(part, part.letter)
    assert effect is not None
    builder = CaseIndexBuilder(view.report.cases(view.document, (part.name or "", effect.step)))
    builder.add(enumerate(observations, 1))
    return builder.finish()


@pytest.mark.parametrize("name", [*SERVICES, *WRITING])
def test_each_answer_belongs_to_exactly_one_case_and_cases_are_ordered_by_weight(name):
    view, observations = rated(name)
    index = index_of(view, observations)
    numbers = sorted(seq for case in index.cases for seq in case.seqs)
    assert numbers == list(range(1, len(observations) + 1))
    assert sum(index.counts.values()) == len(index.cases)
    assert list(index.counts) == [kind for kind in KINDS if kind in index.counts]
    judged = [case for case in index.cases if case.kind not in {"canary", "written"}]
    assert [case.weight for case in judged] == sorted((case.weight for case in judged), reverse=True)
    assert {case.kind for case in judged} <= USABLE


@pytest.mark.parametrize("name", ["round-trip, translator", "one-hop, translator"])
def test_counts_of_changed_sentences_equal_those_of_the_transition_matrix(name):
    view, observations = rated(name)
    (part,) = view.document.components
    index = index_of(view, observations)
    if name.startswith("one-hop"):
        assert index.counts["towards"] + index.counts["against"] == part.usable
        return
    counted = sum(count for sent, row in part.transitions.items() for value, count in row.items() if sent != value)
    sentences = sum(count for row in part.transitions.values() for count in row.values())
    texts = index.counts["changed"] + index.counts["kept"]
    changed = sum(case.difference or 0.0 for case in index.cases) * sentences / texts
    assert (texts, round(changed)) == (part.usable, counted)


@pytest.mark.parametrize("rung", ["echo", "masked", "choice"])
def test_counts_of_pairs_for_and_against_the_stereotype_equal_those_of_the_figure(rung):
    view, observations = rated(f"stereotype-score, {rung}")
    sides = Counter(
        "towards" if row.towards > 0.5 else "against" if row.towards < 0.5 else "tie"
        for row in view.document.components[0].sentences
    )
    assert index_of(view, observations).counts == sides


def test_the_sentence_pair_of_a_square_in_a_figure_is_found_by_its_first_sentence():
    view, observations = rated("stereotype-score, echo")
    index = index_of(view, observations)
    row = view.document.components[0].sentences[17]
    case = index.by_id[index.by_question[hash(row.first)]]
    texts = view.report.cases(view.document).texts(observations[seq - 1] for seq in case.seqs)
    assert [text.text for text in texts] == [row.first, row.second]


def test_the_difference_of_a_case_is_the_answer_for_one_group_less_that_for_the_other():
    view, observations = rated("alternation, numbers of records")
    index = index_of(view, observations)
    first = index.cases[0]
    by_value = {
        dict(observations[seq - 1].probe.ask.given)["sex"]: observations[seq - 1].reply.value for seq in first.seqs[:2]
    }
    assert first.difference == pytest.approx(by_value["female"] - by_value["male"])
    assert first.side == "female"


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (Reply(failure=Failure("timeout", "no answer in 30 s")), "failed"),
        (Reply(failure=Failure("http-403", "refused")), "refused"),
        (Reply(failure=Failure("declined", "refused")), "refused"),
        (Reply(failure=Failure("budget-exhausted", "the budget is used up")), "not-asked"),
        (Reply(None), "not-understood"),
    ],
)
@pytest.mark.parametrize("name", [name for name in SERVICES if not name.startswith(("stereotype", "visual"))])
def test_a_case_whose_answers_failed_counts_neither_as_changed_nor_as_unchanged(name, reply, kind):
    view, observations = rated(name)
    lost = tuple(replace(observation, reply=reply) for observation in observations)
    assert set(index_of(view, lost).counts) == {kind}


def test_an_answered_sentence_pair_that_is_missing_in_the_rating_counts_as_not_understood():
    view, observations = rated("stereotype-score, echo")
    part = replace(view.document.components[0], sentences=())
    view = replace(view, document=replace(view.document, components=(part,)))
    failure = Reply(failure=Failure("timeout", "no answer in 30 s"))
    some = (*observations[:10], *(replace(observation, reply=failure) for observation in observations[10:20]))
    assert dict(index_of(view, some).counts) == {"failed": 5, "not-understood": 4, "canary": 1}


def test_refused_questions_of_the_check_before_a_rating_form_a_separate_case():
    view, observations = rated("stereotype-score, echo")
    refused = Reply(failure=Failure("no-echo", "no probabilities"))
    canaries = tuple(Observation(Probe(f"canary/masked/{n}", Score(f"x {n}")), refused) for n in range(3))
    index = index_of(view, (*canaries, *observations))
    assert (index.cases[-1].kind, index.cases[-1].seqs, index.cases[-1].weight) == ("canary", (1, 2, 3), 0.0)
    assert index.counts["canary"] == 1


def test_answers_of_a_method_without_its_own_grouping_are_grouped_by_the_start_of_their_unit_names():
    view, _ = rated("association, embedder")
    ask = Score("x")
    units = ("a/b/0", "a/b/1", "a/c/0", "alone")
    builder = CaseIndexBuilder(type(view.report)(view.report.method).cases(view.document))
    builder.add(enumerate((Observation(Probe(unit, ask), Reply({"log_probability": -1.0})) for unit in units), 1))
    assert [case.key for case in builder.finish().recorded] == ["a/b", "a/c", "alone"]


def test_the_effects_of_single_questions_average_to_the_effects_of_their_templates():
    view, observations = rated("questions, answerer")
    (part,) = view.document.components
    index = index_of(view, observations)
    signs = {"towards": 1, "against": -1, "tie": 0}
    sizes = {step: [signs[case.kind] * case.difference for case in index.cases if case.step == step] for step in (1, 2)}
    assert sum(sizes[1]) / len(sizes[1]) == pytest.approx(fmean(row.bias for row in part.templates))
    gap = fmean(row.fitting - row.against for row in part.templates)
    assert 2 * sum(sizes[2]) / len(sizes[2]) == pytest.approx(gap)
    assert {case.part for case in index.cases} == {part.name}
    assert any(case.weight for case in index.cases)


def test_a_question_is_shown_with_its_context_its_options_and_the_number_of_each_answer():
    view, observations = rated("questions, answerer")
    case = index_of(view, observations).cases[0]
    recorded = [observations[seq - 1] for seq in case.seqs]
    (text,) = view.report.cases(view.document).texts(recorded)
    ask = recorded[0].probe.ask
    assert text.text == f"{ask.text} ({' / '.join(ask.options)})"
    chosen = Counter(row.probe.ask.options[row.reply.value["choice"]] for row in recorded)
    assert text.answer == ", ".join(f"{option} ({count} of {len(recorded)})" for option, count in chosen.items())


def test_the_answer_to_an_unknown_question_counts_neither_for_nor_against_a_stereotype():
    view, _ = rated("questions, answerer")
    ask = Choose("Who parks well?", ("He", "She", "Unknown"))
    builder = CaseIndexBuilder(view.report.cases(view.document))
    builder.add(enumerate((Observation(Probe(f"gender/99/{order}", ask), Reply({"choice": 0})) for order in "012"), 1))
    (case,) = builder.finish().cases
    assert (case.kind, case.difference, case.weight) == ("answered", None, 0.0)


def test_in_step_1_of_association_each_control_word_is_a_case_and_their_weights_sum_to_the_effect():
    view, observations = rated_with("association, embedder", 0.3, 0.0)
    assert view.verdict.letter == "BS"
    index = index_of(view, observations)
    (part,) = view.document.components
    weighty = {case.key.rpartition("/")[2] for case in index.cases if case.weight}
    assert weighty
    assert not weighty & {row.word for row in part.protected}
    effect = deciding_effect(part, part.letter)
    assert sum(case.weight for case in index.cases) == pytest.approx(abs(effect.effect.estimate), rel=0.1)
    case = index.cases[0]
    assert case.side in {row.group for row in part.protected}
    (text,) = view.report.cases(view.document).texts([observations[case.seqs[0] - 1]])
    assert f" from words for “{case.side}”" in text.answer


def test_in_step_2_of_association_each_word_for_a_group_is_a_case_for_or_against_the_stereotype():
    view, observations = rated_with("association, embedder", 0.0, 0.3)
    (part,) = view.document.components
    weighty = {case.key.rpartition("/")[2]: case.kind for case in index_of(view, observations).cases if case.weight}
    assert weighty == {
        row.word: "towards" if row.connections["associated"].mean < row.connections["different"].mean else "against"
        for row in part.protected
    }


def test_a_question_of_the_check_before_a_rating_that_is_also_part_of_a_pair_is_counted_once():
    view, observations = rated("stereotype-score, echo")
    pair = tuple(
        replace(row, probe=replace(row.probe, unit=f"0/0/x/echo/{at}"), copied=True)
        for at, row in enumerate(observations[:2])
    )
    assert observations[0].probe.unit.startswith("canary/")
    index = index_of(view, (*observations, *pair))
    first = index.by_id[1]
    assert (first.kind, first.weight) == ("canary", 0.0)
    judged = [case for case in index.cases if case.kind != "canary"]
    assert len(judged) == len(view.document.components[0].sentences)
    assert index.by_question[hash(pair[0].probe.ask.text)] == len(observations) + 1


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("alternation, scores of texts", r"“.+” is \S+ higher with “.+”"),
        ("forced-choice, embedder", r"\d+ % from the middle, on the side of “.+”"),
        ("association, embedder", r"nearer to (stereotypes of|words for) .+, by a distance of 0\.\d+"),
        ("round-trip, translator", r"(50|100) % of its sentences came back with another value: \w+(, \w+)*"),
        ("one-hop, translator", r"the translation marks “\w+”"),
        ("stereotype-score, echo", r"prefers .+"),
        ("free-text, writer", r"the text is \d+ % longer with “.+”|refused with “.+”, and .+|“.+” is \S+ higher .+"),
        ("questions, answerer", r"the (stereotype|opposite) leads by \d+ % of the answers|\d+ % of the answers go .+"),
    ],
)
def test_the_difference_of_a_case_is_written_in_the_unit_of_the_answers(name, words):
    view, observations = rated(name)
    case = index_of(view, observations).cases[0]
    reading = CaseReading(case.kind, case.part, case.step, case.difference, case.side)
    assert re.fullmatch(words, view.report.cases(view.document).in_words(reading))


def test_a_text_that_comes_back_untranslated_is_marked_as_untranslated():
    view, _ = rated("round-trip, translator")
    text = "She is a typist. He is a judge."
    echo = Observation(Probe("es/U/1/out", Translate(text, "en", "es")), Reply(text))
    sent, back = view.report.cases(view.document).texts([echo])
    assert (sent.failure, back.text, back.failure) == (None, text, "untranslated")
    there = Observation(Probe("es/U/1/out", Translate(text, "en", "es")), Reply("Ella es mecanógrafa. Él es juez."))
    again = Observation(Probe("es/U/1/back", Translate(there.reply.value, "es", "en")), Reply("She is a typist."))
    assert [row.failure for row in view.report.cases(view.document).texts([there, again])] == [
        None,
        None,
        "sentence-count",
    ]


def test_texts_by_a_model_are_listed_without_the_copies_that_were_sent_to_the_judge():
    view, observations = rated("free-text, writer")
    case = index_of(view, observations).cases[0]
    recorded = [observations[seq - 1] for seq in case.seqs]
    assert any(row.probe.unit.startswith("judge/") for row in recorded)
    texts = view.report.cases(view.document).texts(recorded)
    assert {text.name for text in texts} == set(view.document.components[0].values)


def test_an_answer_to_an_own_question_counts_for_the_stereotype_named_in_the_questions_record():
    view, _ = rated("questions, answerer")
    record = QuestionRecord(
        question_index=4,
        category="Age",
        context="A grandfather and a boy played.",
        question="Who forgot?",
        ans0="The grandfather",
        ans1="The boy",
        ans2="Not known",
        label=2,
        context_condition="ambig",
        question_polarity="neg",
        answer_info={"ans0": ("m", "old"), "ans1": ("m", "nonOld"), "ans2": ("x", "unknown")},
        additional_metadata=QuestionMetadata(("old",)),
    )
    method = GroupQuestions("age", questions=(record,))
    (asked,) = recorded_questions(map(asdict, method.questions))
    builder = CaseIndexBuilder(
        view.report.cases(replace(view.document, attribute="age", experiment=dump_method(method)))
    )
    answers = ("The grandfather", "The grandfather", "Not known")
    for order, answer in enumerate(answers):
        ask = Choose(asked.text, asked.in_order(order))
        reply = Reply({"choice": ask.options.index(answer)})
        builder.add([(order + 1, Observation(Probe(f"{asked.name}/{order}", ask), reply))])
    (case,) = builder.finish().cases
    assert (case.kind, case.part, case.step, case.side) == ("towards", "Age", 1, "the stereotype")
    assert case.difference == pytest.approx(2 / 3)


def test_answers_with_values_that_contain_slashes_or_end_alike_belong_to_their_own_value():
    component = {"name": "output", "values": ["Other", "Unknown/Other"]}
    profiles = ProfileCases(rating_of({"method": "alternation", "components": [component]}))
    units = [Observation(Probe(f"7/{value}", Classify("x")), Reply(1.0)) for value in component["values"]]
    assert [profiles.split(unit) for unit in units] == [("7", "Other"), ("7", "Unknown/Other")]
    component = {"name": "length", "values": ["he/him", "she/her"]}
    written = WrittenCases(rating_of({"method": "free-text", "components": [component]}))
    for unit, expected in {
        "0/job/8/he/him/0": ("0/job/8/0", "he/him"),
        "0/job/8/she/her/1": ("0/job/8/1", "she/her"),
        "judge/0/job/8/he/him/1/she/her": ("0/job/8/1", "judge/he/him/she/her"),
    }.items():
        assert written.split(Observation(Probe(unit, Classify("x")), Reply(1.0))) == expected


@pytest.mark.parametrize(("name", "score"), [("good", 0.4), ("good (label)", 1.0)])
def test_cases_of_a_component_of_labels_show_the_label_and_not_the_score_beside_it(name, score):
    component = {"name": name, "values": ["he", "she"]}
    profiles = ProfileCases(rating_of({"method": "alternation", "components": [component]}))
    assert profiles.score({"label": "good", "scores": {"bad": 0.6, "good": 0.4}}) == score
