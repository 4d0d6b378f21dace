"""Tests of sentences about two groups: usable and unusable sentences, and counterparts."""

from __future__ import annotations

import csv
import gzip
from collections import Counter
from pathlib import Path
from unicodedata import normalize

import numpy as np
import pytest

from assay.catalog.shipped import specifications
from assay.catalog.stereotypes import StereotypeWords
from assay.errors import SpecificationError
from assay.methods.shared.terms.items import sort_into_rounds
from assay.methods.shared.terms.sentences import Pair, Sentence, read, sort, template_sentences

PAIRS = Path(__file__).resolve().parents[6] / "shared" / "data" / "biastestgpt" / "pairs" / "gpt2.csv.gz"

WORDS = StereotypeWords(
    "gender",
    "men",
    "women",
    (("man", "woman"), ("uncle", "aunt"), ("he", "she"), ("actor", "duchess"), ("John", "Amy"), ("white man", "girl")),
    first_terms=("math", "bus driver"),
    second_terms=("art",),
    neutral=("tea",),
    telling=("him", "herself"),
    name="tiny",
)


def refusal(sentence, words):
    """Return the reason why a sentence is unusable; ``None`` if it can be used."""
    pair = read(sentence, words)
    return pair if isinstance(pair, str) else None


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("The man likes math.", None),
        ("Nobody likes math.", "no-group-term"),
        ("The woman told the aunt about math.", "several-group-terms"),
        ("The woman told a woman about math.", "several-group-terms"),
        ("The woman taught herself math.", "other-group-word"),
        ("The woman likes it.", "no-attribute-term"),
        ("The woman likes math and tea.", "several-attribute-terms"),
        ("The human likes math.", "no-group-term"),
        ("The man likes mathematics.", "no-attribute-term"),
        ("The g\u0130rl likes math.", "no-group-term"),
        ("The MAN likes Math.", None),
        ("The man is a bus-driver.", None),
        ("The white man likes tea.", None),
        ("The man’s tea is cold.", None),
    ],
)
def test_a_usable_sentence_has_one_group_term_and_one_attribute_term_as_whole_words(text, why):
    assert refusal(Sentence(text), WORDS) == why


def test_sentence_about_another_term_than_declared_is_unusable():
    assert refusal(Sentence("The man likes math.", "man", "math"), WORDS) is None
    assert refusal(Sentence("The man likes math.", "man", "tea"), WORDS) == "wrong-term"
    assert refusal(Sentence("The man likes math.", "uncle", "math"), WORDS) == "wrong-term"


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("The man likes math.", "The woman likes math."),
        ("He likes math.", "She likes math."),
        ("HE LIKES MATH.", "SHE LIKES MATH."),
        ("Amy likes math.", "John likes math."),
        ("I met an uncle who likes tea.", "I met an aunt who likes tea."),
        ("An actor likes tea.", "A duchess likes tea."),
        ("I saw a duchess with tea.", "I saw an actor with tea."),
        ("The white man likes tea.", "The girl likes tea."),
        ("The  man\nlikes tea.", "The woman likes tea."),
    ],
)
def test_the_counterpart_is_the_same_sentence_about_the_other_group(text, other):
    pair = read(Sentence(text), WORDS)
    assert isinstance(pair, Pair)
    assert other in {pair.first, pair.second}


@pytest.mark.parametrize(
    "text", ["The man drinks tea.", "A woman drinks tea.", "He drinks tea.", "Amy drinks tea.", "An actor drinks Tea."]
)
def test_the_frame_of_a_sentence_omits_both_terms_and_their_articles(text):
    assert read(Sentence(text), WORDS).frame == "… drinks …."
    assert read(Sentence(f"Today {text}"), WORDS).frame == "today … drinks …."


def test_sentences_written_from_templates_are_read_with_the_frames_of_these_templates():
    words = StereotypeWords(
        "gender",
        "men",
        "women",
        (("man", "woman"), ("he", "she"), ("Ed", "Eve")),
        ("boss",),
        ("actor",),
        ("nurse", "engineer"),
        frames=("{The_group} works as {an_attribute}.", "Ask {the_group} about {attribute}."),
    )
    frames = {read(one, words).frame for one in template_sentences(words, 6, np.random.default_rng(1))}
    assert frames == {"… works as ….", "ask … about …."}


def test_a_sentence_and_its_counterpart_make_the_same_pair():
    one, other = (read(Sentence(text), WORDS) for text in ("An actor likes tea.", "A duchess likes tea."))
    assert (one.first, one.second, one.written_group) == ("An actor likes tea.", "A duchess likes tea.", "first")
    assert (other.first, other.second, other.written_group) == (one.first, one.second, "second")


PARTS = StereotypeWords(
    "any",
    "ones",
    "others",
    (("white", "black"), ("man", "woman"), ("Muslim", "atheist"), ("AI", "human"), ("old man", "baby")),
    first_terms=("white-collar", "kind", "old"),
    second_terms=("family man", "man of letters"),
)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The white-collar worker was late.", "no-group-term"),
        ("A family man works.", "no-group-term"),
        ("A kind old man of letters works.", "no-group-term"),
        ("An old man works.", "no-attribute-term"),
        ("The man is a family man.", "The woman is a family man."),
        ("The family man is a man.", "The family man is a woman."),
        ("White people are white collar.", "Black people are white collar."),
        ("The old man is kind.", "The baby is kind."),
        ("The man, the woman: a family man.", "several-group-terms"),
    ],
)
def test_a_term_inside_a_longer_term_is_not_counted(text, found):
    pair = read(Sentence(text), PARTS)
    assert (pair.second if isinstance(pair, Pair) else pair) == found


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("Muslim people are kind.", "Atheist people are kind."),
        ("“Muslim people are kind.”", "“Atheist people are kind.”"),
        ("Kind Muslim people.", "Kind atheist people."),
        ("A Muslim is kind.", "An atheist is kind."),
        ("muslim people are kind.", "atheist people are kind."),
        ("MUSLIM PEOPLE ARE KIND.", "ATHEIST PEOPLE ARE KIND."),
        ("AI is kind.", "Human is kind."),
        ("An AI is kind.", "A human is kind."),
    ],
)
def test_a_counterpart_starts_with_a_capital_if_the_sentence_does(text, other):
    assert read(Sentence(text), PARTS).second == other


def accented(group, other, *terms):
    return StereotypeWords("any", "ones", "others", ((group, other),), terms)


@pytest.mark.parametrize("way", ["NFC", "NFD"])
@pytest.mark.parametrize("listed", ["NFC", "NFD"])
def test_composed_and_decomposed_unicode_characters_are_equal(way, listed):
    words = accented(*(normalize(listed, term) for term in ("fiancé", "fiancée", "doué")))
    pair = read(Sentence(normalize(way, "Le fiancé est doué."), normalize(way, "fiancé")), words)
    assert (pair.first, pair.second) == ("Le fiancé est doué.", "Le fiancée est doué.")


@pytest.mark.parametrize(
    ("words", "text", "why"),
    [
        (accented("fiance", "fiancee", "kind"), normalize("NFD", "The fiancé is kind."), "no-group-term"),
        (accented("tat", "b", "kind"), "x\u0323tat kind", "no-group-term"),
        (accented("he", "she", "kind"), "He\u0323\u0301 is kind.", "no-group-term"),
        (accented("राम", "सीता", "बल"), "राम बल है", None),
        (accented("राम", "सीता", "बल"), "रामा बल है", "no-group-term"),
        (accented("म", "सीता", "बल"), "राम बल है", "no-group-term"),
        (accented("Straße", "Gasse", "kind"), "Die Straße ist kind.", None),
        (accented("Straße", "Gasse", "kind"), "DIE STRASSE IST KIND.", None),
    ],
)
def test_a_term_is_not_found_in_a_word_that_differs_by_a_combining_mark(words, text, why):
    assert refusal(Sentence(text), words) == why


@pytest.mark.parametrize(
    ("counterpart", "why"),
    [
        ("The woman really likes tea.", None),
        ("the WOMAN, likes tea!", None),
        ("A woman likes tea, says everybody who met one.", "counterpart-differs"),
        ("Nobody ever said that a woman likes tea.", "counterpart-differs"),
        ("Woman tea.", "counterpart-differs"),
        ("The aunt likes tea.", "counterpart-differs"),
        ("The woman likes math.", "counterpart-differs"),
        ("The man likes tea.", "counterpart-differs"),
        ("Nobody likes tea.", "counterpart-differs"),
    ],
)
def test_a_supplied_counterpart_of_a_sentence_is_refused_if_its_terms_or_too_many_words_differ(counterpart, why):
    assert refusal(Sentence("The man likes tea.", counterpart=counterpart), WORDS) == why


@pytest.mark.parametrize(
    ("text", "counterpart", "why"),
    [
        ("He is strong.", "She is strong!", None),
        ("He is strong.", "Nobody in this long-winded sentence said she is strong, zxqv.", "counterpart-differs"),
        ("He is strong.", "She says that nobody is strong.", "counterpart-differs"),
        ("I met an uncle who is strong.", "I met a lady who is strong.", "counterpart-differs"),
        ("I met an uncle who is strong.", "I met a girl who is strong.", None),
        ("I met Kim, who is strong.", "I met a lady who is strong.", None),
        ("He is strong and does his sport on his own.", "She is strong and does her sport on her own.", None),
        ("He is strong and does sport on his own.", "She is strong and on the whole an idler.", "counterpart-differs"),
        ("He is a bus-driver and strong.", "She is a bus driver and strong.", None),
    ],
)
def test_a_supplied_counterpart_of_a_sentence_may_differ_in_up_to_a_third_of_its_words(text, counterpart, why):
    pairs = (("he", "she"), ("uncle", "girl"), ("Kim", "lady"))
    words = StereotypeWords("any", "ones", "others", pairs, ("strong",))
    assert refusal(Sentence(text, counterpart=counterpart), words) == why


@pytest.mark.slow
@pytest.mark.skipif(not PAIRS.exists(), reason="the paper's pairs are not beside the project")
def test_nearly_all_sentence_pairs_of_the_stereotype_score_paper_are_accepted():
    """The paper's model changed other words, too; a refused counterpart has another subject or terms glued to words."""
    with gzip.open(PAIRS, "rt") as lines:
        rows = list(csv.DictReader(lines))
    why = Counter()
    for row in rows:
        groups, texts = (row["att_term_1"], row["att_term_2"]), (row["sent_att_1"], row["sent_att_2"])
        try:
            words = StereotypeWords("any", "ones", "others", (groups,), (row["group_term"],))
        except SpecificationError:
            continue
        if all(refusal(Sentence(text), words) is None for text in texts):
            why[refusal(Sentence(texts[0], counterpart=texts[1]), words)] += 1
    assert why[None] > 600
    assert why.keys() <= {None, "counterpart-differs"}
    assert why["counterpart-differs"] <= 5


def test_unusable_sentences_are_counted_by_reason_and_of_duplicates_only_the_first_is_used():
    texts = ["The man likes tea.", "The woman likes tea.", "Nobody likes tea.", "No one likes tea.", "The man ate."]
    held = sort(map(Sentence, texts), WORDS)
    assert [pair.first for pair in held.items] == ["The man likes tea."]
    assert held.refused == {"repeated": 1, "no-group-term": 2, "no-attribute-term": 1}


def test_each_round_has_one_sentence_pair_per_attribute_term_and_alternates_between_group_terms():
    sentences = [
        Sentence(f"The {group} {verb} {term}.")
        for term in ("math", "tea", "art")
        for group in ("man", "uncle")
        for verb in ("likes", "sees")[: 1 if term == "art" else 2]
    ]
    rounds = sort_into_rounds(sort(sentences, WORDS).items, lambda pair: pair.pair_index)
    assert [[pair.term for pair in one] for one in rounds] == [["math", "tea", "art"]] * 2 + [["math", "tea"]] * 2
    assert {pair.pair_index for pair in rounds[0]} == {0}
    assert {pair.pair_index for pair in rounds[1]} == {1}


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, one in specifications().items() if one.kind == "stereotype"])
def test_template_sentences_of_shipped_word_lists_are_all_usable_and_use_all_group_pairs_equally(name):
    words = specifications()[name].words
    sentences = template_sentences(words, 2 * len(words.pairs), np.random.Generator(np.random.PCG64(1)))
    held = sort(sentences, words)
    assert held.refused == {}
    assert len(held.items) == len(sentences) == 2 * len(words.pairs) * len(words.roles)
    met = {}
    for pair in held.items:
        met.setdefault(pair.term, []).append(pair.pair_index)
    assert all(sorted(groups) == sorted([*range(len(words.pairs))] * 2) for groups in met.values())


def test_template_sentences_are_the_same_for_the_same_seed():
    words = specifications()["p4-math-arts"].words
    one, other = (template_sentences(words, 3, np.random.Generator(np.random.PCG64(7))) for _ in range(2))
    assert one == other
