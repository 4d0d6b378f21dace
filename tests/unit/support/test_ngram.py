"""Our own n-gram model: estimated, written to a file, read again, and asked about minimal pairs over HTTP."""

from __future__ import annotations

import csv
import gzip
import math
from collections import Counter
from pathlib import Path

import httpx
import numpy as np
import pytest

from assay.catalog.stereotypes import StereotypeWords
from assay.document import as_json
from assay.errors import OutOfBounds, TooFewObservations
from assay.experiment import generator
from assay.methods.shared.terms.sentences import Sentence
from assay.methods.stereotype_score.method import StereotypeScore
from assay.model import Finding, Reply
from assay.statistics.bayes.stereotype_terms import fit_terms, preferred, score_choices
from demo.language_models.models import LanguageModel
from demo.server import DemoServer
from tests.support.real_systems import ngram, texts
from tests.support.real_systems.arpa import Arpa, NotArpa
from tests.support.real_systems.kneser_ney import BEGIN, Ngrams, estimate, write_arpa
from tests.support.real_systems.tables import DataAbsent
from tests.support.real_systems.texts import Unpackable, decompressed, sentences_of, unpacked_bible, words_of

PAIRS = Path(__file__).resolve().parents[4] / "shared" / "data" / "crows_pairs" / "crows_pairs_anonymized.csv.gz"
needs_texts = pytest.mark.skipif(not texts.available(), reason=f"no texts: {texts.HOW_TO_INSTALL}")
needs_pairs = pytest.mark.skipif(not PAIRS.is_file(), reason="the shared data are not beside the checkout")

SMALL = [one.split() for one in ("a b c", "a b d", "a b c", "b c a", "d a", "a c", "e a b", "c b e f", "b d", "d")]
ASKED = ("a b c", "c a b", "a zebra d", "f e", "zebra", "")


@pytest.fixture(scope="module")
def small() -> Ngrams:
    return estimate(SMALL, 3, 1)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """File of the model that is estimated from all texts; building it takes some seconds."""
    path = tmp_path_factory.mktemp("ngram") / "model.arpa"
    ngram.build(path)
    return path


@pytest.fixture(scope="module")
def model(written: Path) -> Arpa:
    return Arpa.read(written)


def read_back(model: Ngrams, folder: Path) -> Arpa:
    write_arpa(model, folder / "small.arpa")
    return Arpa.read(folder / "small.arpa")


# ---------------------------------------------------------------------------- the texts
def packed(codes: list[int], bits: int = 9) -> bytes:
    whole = sum(code << (bits * place) for place, code in enumerate(codes))
    return whole.to_bytes(-(-len(codes) * bits // 8), "little")


def test_lzw_codes_expand_to_earlier_output():
    assert decompressed(packed([ord("a"), ord("b"), 257, 259])) == b"ab" + b"ab" + b"aba"
    assert decompressed(packed([ord("a"), 257])) == b"aaa"
    assert decompressed(b"") == b""


def test_the_rest_of_the_byte_group_after_an_lzw_clear_code_is_skipped():
    first, second = [ord("a"), 256, 0, 0, 0, 0, 0, 0], [ord("b"), 257]
    assert decompressed(packed([*first, *second])) == b"abbb"


def test_invalid_lzw_codes_and_other_files_are_refused():
    with pytest.raises(Unpackable, match="300"):
        decompressed(packed([ord("a"), 300]))
    with pytest.raises(Unpackable, match="EC02"):
        unpacked_bible(b"text")


def test_sentences_are_split_at_punctuation_and_contain_only_words():
    found = list(sentences_of("It’s 3 o'clock! He said: “Go.” And\nshe went\n%\nNo.\n"))
    assert found == [("it's", "o'clock"), ("he", "said", "go"), ("and", "she", "went"), ("no",)]
    assert words_of("Über-Mensch, x2") == ("ber", "mensch", "x")


def test_missing_texts_are_reported_with_the_packages_to_install(tmp_path: Path):
    with pytest.raises(DataAbsent, match="apt-get install bible-kjv-text fortunes"):
        next(texts.sentences(tmp_path / "bible.data", tmp_path))


@pytest.mark.slow
@needs_texts
def test_the_bible_text_has_its_first_and_last_verse():
    whole = unpacked_bible(texts.BIBLE.read_bytes()).decode("latin-1")
    assert "In the beginning God created the heaven and the earth." in whole[:200]
    assert whole.rstrip().endswith("The grace of our Lord Jesus Christ be with you all. Amen.")
    assert whole.count("\n") > 31_000


# ---------------------------------------------------------------------------- estimating
@pytest.mark.parametrize("order", [2, 3, 4])
def test_probabilities_sum_to_one_after_every_context(order: int, tmp_path: Path):
    model = estimate(SMALL, order, 2)
    read = read_back(model, tmp_path)
    for before in ([], [BEGIN], ["a"], ["f"], [BEGIN, "a"], ["a", "b"], ["b", "a"], ["a", "b", "c"], [BEGIN, "a", "b"]):
        context = [word if word in model.vocabulary else "<unk>" for word in before][-(order - 1) :]
        total = sum(10 ** read._score(context, word) for word in model.vocabulary if word != BEGIN)
        assert total == pytest.approx(1, abs=1e-5)


def test_bigrams_have_the_probabilities_of_the_formula(tmp_path: Path):
    # "x" follows "a" twice, "y" follows "a" once; counts of pairs: <s>a 3, ax 2, ay 1, x</s> 2, y</s> 1
    read = read_back(estimate([["a", "x"], ["a", "x"], ["a", "y"]], 2, 1), tmp_path)
    discount = 2 / (2 + 2 * 2)  # two pairs occur once, two occur twice
    # each word follows one distinct word, the end of a sentence follows two
    below_discount = 3 / (3 + 2 * 1)
    free = below_discount * 4 / 5
    x_alone = (1 - below_discount) / 5 + free / 5
    assert 10 ** read.probability["x"] == pytest.approx(x_alone, rel=1e-5)
    assert 10 ** read.probability["a x"] == pytest.approx((2 - discount) / 3 + discount * 2 / 3 * x_alone, rel=1e-5)


def test_every_word_and_the_end_of_a_sentence_get_a_score(small: Ngrams, tmp_path: Path):
    read = read_back(small, tmp_path)
    for text in ASKED:
        scores = read.scores(text.split())
        assert len(scores) == len(text.split()) + 1
        assert all(score < 0 for score in scores)
    assert read.scores(["a", "b"])[1] > read.scores(["a", "f"])[1]


def test_too_little_text_for_an_estimate_is_refused():
    for order in (1, 5):
        with pytest.raises(OutOfBounds, match="order must be 2 to 4"):
            estimate(SMALL, order)
    with pytest.raises(TooFewObservations, match="no sentence"):
        estimate([[]])
    with pytest.raises(TooFewObservations, match="too little text"):
        estimate([["a"]])


@pytest.mark.parametrize("text", ["", "text", "\\data\\\n\\1-grams:\n-1.0\ta\n", "\\1-grams:\n-1\ta b\n\\end\\\n"])
def test_file_that_is_not_in_arpa_format_is_refused(text: str, tmp_path: Path):
    path = tmp_path / "bad.arpa"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(NotArpa):
        Arpa.read(path)


def test_kenlm_and_our_reader_give_equal_scores_for_a_small_model(small: Ngrams, tmp_path: Path):
    pytest.importorskip("kenlm", reason="kenlm comes with the extra 'ngram'")
    read = read_back(small, tmp_path)
    scores = ngram.with_kenlm(tmp_path / "small.arpa")
    for text in ASKED:
        np.testing.assert_allclose(scores(text.split()), read.scores(text.split()), atol=1e-5)


@needs_texts
def test_kenlm_and_our_reader_give_equal_scores_for_the_whole_model(written: Path, model: Arpa):
    pytest.importorskip("kenlm", reason="kenlm comes with the extra 'ngram'")
    scores = ngram.with_kenlm(written)
    for text in ("in the beginning god created the heaven", "he is a nurse", "zebra xylophones qwzx in the"):
        np.testing.assert_allclose(scores(text.split()), model.scores(text.split()), atol=1e-4)


# ---------------------------------------------------------------------------- as a service over HTTP
def test_tokens_join_to_the_text_and_their_scores_sum_to_the_score_of_the_text(small: Ngrams, tmp_path: Path):
    read = read_back(small, tmp_path)
    for text in ("A, b c.", "“A” — b", "3 a", "a", "a ", "?!", ""):
        cut = ngram.tokens(text, scores=read.scores)
        assert "".join(token for token, _ in cut) == text
    whole = [value for _, value in ngram.tokens("A b c.", scores=read.scores)]
    assert whole == pytest.approx([score * math.log(10) for score in read.scores(["a", "b", "c"])])


def crows() -> list[tuple[str, str, str]]:
    """Minimal pairs: kind of bias, the more stereotypical sentence, the less stereotypical one."""
    with gzip.open(PAIRS, "rt", encoding="utf-8", newline="") as lines:
        return [(row["bias_type"], row["sent_more"], row["sent_less"]) for row in csv.DictReader(lines)]


def asked_over_http(model: Arpa, sentences: list[str]) -> list[float]:
    """Ask for the log-probabilities of sentences, as a rating does."""
    found: list[float] = []
    with DemoServer(real=[ngram.serve(model.scores)]) as server, httpx.Client(timeout=30, trust_env=False) as client:
        for start in range(0, len(sentences), 100):
            body = {
                "model": "m",
                "prompt": sentences[start : start + 100],
                "echo": True,
                "max_tokens": 0,
                "logprobs": 1,
            }
            choices = client.post(f"{server.url(ngram.NAME)}/v1/completions", json=body).json()["choices"]
            found += [math.fsum(each["logprobs"]["token_logprobs"]) for each in choices]
    return found


@needs_texts
@needs_pairs
def test_model_of_old_texts_scores_near_one_half_on_crows_pairs(model: Arpa):
    pairs = crows()
    scores = asked_over_http(model, [text for _, more, less in pairs for text in (more, less)])
    decided = [preferred(more - less) for more, less in zip(scores[::2], scores[1::2], strict=True)]
    score = score_choices(decided, [kind for kind, _, _ in pairs], ["crows-pairs"] * len(pairs))
    overall = fit_terms(score.by_term).overall
    assert len(pairs) == 1508
    assert score.ties < 0.1 * len(pairs)  # a tie means that both words are unknown to the model
    assert score.over_pairs == pytest.approx(0.5, abs=0.04)
    assert overall.low < 0.5 < overall.high
    assert overall.high < 0.6


GENDER = (
    ("he", "she"), ("him", "her"), ("himself", "herself"), ("man", "woman"), ("men", "women"), ("boy", "girl"),
    ("boys", "girls"), ("father", "mother"), ("husband", "wife"), ("brother", "sister"), ("son", "daughter"),
    ("male", "female"), ("john", "mary"), ("mr", "mrs"), ("dad", "mom"), ("guy", "gal"),
)  # fmt: skip


def words_of_pairs() -> tuple[StereotypeWords, tuple[Sentence, ...]]:
    """Return words and sentences of the minimal pairs about gender; attribute terms occur in one sentence only."""
    swaps = {frozenset(pair): pair for pair in GENDER}
    telling = {term for pair in GENDER for term in pair}
    cut = [(words_of(more), words_of(less), more) for kind, more, less in crows() if kind == "gender"]
    count = Counter(word for more, _, _ in cut for word in set(more))
    terms: dict[str, list[str]] = {"first": [], "second": []}
    sentences: list[Sentence] = []
    for more, less, text in cut:
        differ = [both for both in zip(more, less, strict=False) if both[0] != both[1]]
        mine = [word for word in more if word in telling]
        rare = [word for word in more if count[word] == 1 and word not in telling and "'" not in word]
        if len(more) == len(less) and len(differ) == len(mine) == 1 and frozenset(differ[0]) in swaps and rare:
            pair, group = swaps[frozenset(differ[0])], differ[0][0]
            terms["first" if group == pair[0] else "second"].append(rare[0])
            sentences.append(Sentence(text, group, rare[0]))
    words = StereotypeWords(
        "gender", "men", "women", GENDER, tuple(terms["first"]), tuple(terms["second"]), name="minimal pairs"
    )
    return words, tuple(sentences)


def rate(method: StereotypeScore, model: LanguageModel) -> Finding:
    """Run an experiment with a model that returns log-probabilities."""
    design = method.design(generator(7))
    probes = next(design)
    while True:
        replies = [Reply({"log_probability": model.log_probability(each.ask.text), "tokens": 2}) for each in probes]
        try:
            probes = design.send(replies)
        except StopIteration as ended:
            return ended.value


@needs_texts
@needs_pairs
def test_model_of_old_texts_rated_on_crows_pairs_has_no_declared_letter(model: Arpa):
    words, sentences = words_of_pairs()
    assert len(sentences) > 30
    finding = rate(StereotypeScore(words=(words,), sentences=sentences, scoring="echo"), ngram.serve(model.scores))
    (component,) = finding.components
    assert not component.declared
    assert "no-neutral-terms" in {reason.code for reason in component.reasons}  # CrowS-Pairs has no neutral terms
    assert component.effects["step_2"].low < 0.05
    assert (
        as_json(component.detail)["score"]["pooled"]["low"] < 0.5 < as_json(component.detail)["score"]["pooled"]["high"]
    )
