"""Tests of corpora: access, changes, and items without duplicates."""

from __future__ import annotations

import pytest

from assay.catalog.terms import normalised
from assay.references import AuthoredItems
from store.core.errors import CorpusFull, ItemTaken
from store.corpora import corpora, images
from store.corpora import items as corpus_items
from store.corpora.corpora import NewCorpus, Rules
from store.corpora.items import NewItem, text_digest
from store.corpora.materials import stored_material
from store.formats.image import ImageFacts

RULES = Rules("professions", 2, "sha256:" + "1" * 64, {"attribute": "gender"})


@pytest.fixture
def corpus(database):
    """Factory of stored corpora; keyword arguments replace the defaults."""

    def make(tenant="acme", **changes):
        defaults = {"name": "Ward", "kind": "sentences", "language": "en", "attribute": "gender"}
        with database.write() as c:
            return corpora.add(c, NewCorpus(tenant, **defaults | changes))

    return make


def sentence(text="The nurse said she was late.", **changes):
    return NewItem(text, **{"group_term": "she", "attribute_term": "nurse", **changes})


def added(database, one, *items, tenant="acme"):
    with database.write() as c:
        return corpus_items.add(c, one.id, tenant, items)


def texts(database, one):
    with database.read() as c:
        return [item.text for item in corpus_items.all_items(c, one.id)]


def test_stored_corpus_is_read_back_unchanged(database, corpus):
    made = corpus(rules=RULES, licence="CC-BY-4.0", citation="Ours", description="Ward talk", visibility="shared")
    with database.read() as c:
        assert corpora.find(c, made.id, "acme") == made
    assert (made.rules, made.version, made.reference) == (RULES, 1, f"{made.id}@1")


def test_other_tenants_can_read_only_shared_corpora_and_change_none(database, corpus):
    private, shared = corpus(), corpus(visibility="shared")
    with database.write() as c:
        assert corpora.find(c, private.id, "other") is None
        assert corpora.find(c, shared.id, "other") == shared
        assert [one.id for one in corpora.page(c, "other", limit=9)] == [shared.id]
        assert {one.id for one in corpora.page(c, "acme", limit=9)} == {private.id, shared.id}
        for one in (private, shared):
            assert corpora.change(c, one.id, "other", {"name": "Mine"}) is None
            assert not corpora.remove(c, one.id, "other")
            assert corpus_items.add(c, one.id, "other", [sentence()]) is None


@pytest.mark.parametrize("named", ["professions", "professions@2", RULES.digest])
def test_corpora_can_be_filtered_by_specification(database, corpus, named):
    fitting = corpus(rules=RULES, visibility="shared")
    corpus(rules=Rules("others", 1, "sha256:" + "2" * 64, {}), visibility="shared")
    corpus(visibility="shared")
    with database.read() as c:
        assert [one.id for one in corpora.page(c, "other", specification=named, limit=9)] == [fitting.id]
        assert corpora.page(c, "other", specification="professions@3", limit=9) == []
        assert corpora.page(c, "other", specification=named, attribute="age", limit=9) == []


def test_pages_of_corpora_list_each_corpus_once(database, corpus):
    made = {corpus().id for _ in range(5)}
    seen, before = [], None
    with database.read() as c:
        while rows := corpora.page(c, "acme", before=before, limit=2):
            seen += [row.id for row in rows]
            before = (rows[-1].created_at, rows[-1].id)
    assert (len(seen), set(seen)) == (5, made)


def test_name_and_visibility_of_a_corpus_can_change(database, corpus):
    made = corpus(rules=RULES)
    with database.write() as c:
        changed = corpora.change(c, made.id, "acme", {"name": "Ward 2", "visibility": "shared"})
    assert (changed.name, changed.visibility, changed.version, changed.rules) == ("Ward 2", "shared", 2, RULES)


def test_corpus_is_changed_only_if_the_version_matches(database, corpus):
    made = corpus()
    with database.write() as c:
        assert corpora.change(c, made.id, "acme", {"name": "Late"}, 2) is None
        assert corpora.change(c, made.id, "acme", {"name": "In time"}, 1).version == 2


def test_removed_corpus_cannot_be_read_by_any_tenant(database, corpus):
    made = corpus(visibility="shared")
    with database.write() as c:
        assert corpora.remove(c, made.id, "acme")
        assert not corpora.remove(c, made.id, "acme")
        assert corpora.find(c, made.id, "acme") is corpora.find(c, made.id, "other") is None
        assert corpus_items.add(c, made.id, "acme", [sentence()]) is None


# ---------------------------------------------------------------------------- items
@pytest.mark.parametrize(
    "same",
    [
        "The nurse said she was late.",
        "  the  nurse said SHE was late. ",
        "The nurse\u00a0said she was late.",
        "The nurse said she was late\uff0e",
    ],
)
def test_adding_a_sentence_equal_after_normalisation_returns_the_existing_item(database, corpus, same):
    one = corpus()
    first = added(database, one, sentence(provenance={"by": "first"}))
    second = added(database, one, sentence(same, source="written", provenance={"by": "second"}))
    assert second.added == frozenset()
    assert second.items == first.items
    assert second.corpus.version == first.corpus.version == 2


def test_sentences_with_typographic_and_plain_quotes_have_the_same_digest():
    assert text_digest("\u201cShe\u2019s late\u201d") == text_digest('"she\'s late"')
    assert normalised("A \t B\n") == "a b"


def test_added_items_are_returned_in_order_including_duplicates(database, corpus):
    one = corpus()
    kept = added(database, one, sentence("One."), sentence("Two."), sentence("ONE."))
    assert [item.text for item in kept.items] == ["One.", "Two.", "One."]
    assert (len(kept.added), [item.seq for item in kept.items]) == (2, [1, 2, 1])
    with database.read() as c:
        assert corpora.sizes(c, [one.id, "crp_none"]) == {one.id: 2, "crp_none": 0}
        assert [item.text for item in corpus_items.page(c, one.id, 1, 5)] == ["Two."]


def test_1200_items_can_be_added_at_once(database, corpus):
    one = corpus()
    kept = added(database, one, *(sentence(f"Sentence {number}.") for number in range(1200)))
    assert len(kept.added) == 1200
    assert added(database, one, *(sentence(f"Sentence {number}.") for number in range(1200))).added == frozenset()
    assert texts(database, one)[-1] == "Sentence 1199."


def test_full_corpus_refuses_more_items(database, corpus, monkeypatch):
    monkeypatch.setattr(corpus_items, "MOST_ITEMS", 2)
    one = corpus()
    added(database, one, sentence("One."))
    with pytest.raises(CorpusFull, match="more than 2 items"):
        added(database, one, sentence("Two."), sentence("Three."))
    assert texts(database, one) == ["One."]
    assert len(added(database, one, sentence("One."), sentence("Two.")).added) == 1


def test_edited_sentence_keeps_its_provenance_and_former_texts(database, corpus):
    one = corpus()
    (item,) = added(database, one, sentence(source="written", provenance={"model": "demo"})).items
    with database.write() as c:
        edited = corpus_items.edit(c, one.id, "acme", item.id, sentence("The nurse knew she was late."))
        again = corpus_items.edit(c, one.id, "acme", item.id, sentence("The nurse thought she was late."))
        same = corpus_items.edit(c, one.id, "acme", item.id, sentence("The nurse thought she was late."))
    assert (edited.id, edited.seq, edited.source) == (item.id, item.seq, "edited")
    assert edited.provenance["model"] == "demo"
    former = [(each["text"], each["source"]) for each in again.provenance["edited_from"]]
    assert former == [(item.text, "written"), ("The nurse knew she was late.", "edited")]
    assert same.provenance == again.provenance
    with database.read() as c:
        assert corpora.find(c, one.id, "acme").version == 5


def test_edited_sentence_keeps_its_original_and_its_latest_previous_texts(database, corpus):
    one = corpus()
    (item,) = added(database, one, sentence("Text 0.")).items
    with database.write() as c:
        for number in range(1, 30):
            last = corpus_items.edit(c, one.id, "acme", item.id, sentence(f"Text {number}."))
    former = [each["text"] for each in last.provenance["edited_from"]]
    assert len(former) == corpus_items.MOST_EDITS
    assert (former[0], former[1], former[-1]) == ("Text 0.", "Text 10.", "Text 28.")


def test_a_sentence_cannot_be_edited_into_a_duplicate_of_another_in_its_corpus(database, corpus):
    one = corpus()
    first, second = added(database, one, sentence("One."), sentence("Two.")).items
    with pytest.raises(ItemTaken, match=first.id), database.write() as c:
        corpus_items.edit(c, one.id, "acme", second.id, sentence("one."))
    with database.write() as c:
        assert corpus_items.remove(c, one.id, "acme", [first.id])
        assert corpus_items.edit(c, one.id, "acme", second.id, sentence("one.")).text == "one."


def test_removed_item_can_be_added_again(database, corpus):
    one = corpus()
    (item,) = added(database, one, sentence()).items
    with database.write() as c:
        assert not corpus_items.remove(c, one.id, "other", [item.id])
        assert corpus_items.remove(c, one.id, "acme", [item.id])
        assert not corpus_items.remove(c, one.id, "acme", [item.id])
        assert corpus_items.find(c, one.id, item.id) is None
        assert corpus_items.edit(c, one.id, "acme", item.id, sentence("Else.")) is None
    kept = added(database, one, sentence(provenance={"by": "another"}))
    assert len(kept.added) == 1
    assert kept.items[0].provenance == {"by": "another"}
    assert texts(database, one) == [sentence().text]


def test_reusable_sentences_come_from_own_and_shared_corpora_with_the_same_word_specification(database, corpus):
    mine = corpus(rules=RULES)
    for number, special in enumerate(
        [
            {"rules": RULES, "visibility": "shared", "tenant": "other"},
            {"rules": RULES, "tenant": "other"},
            {"rules": RULES},
            {"visibility": "shared"},
        ]
    ):
        one = corpus(**special)
        added(database, one, sentence(f"Sentence {number}."), tenant=one.tenant)
    added(database, mine, sentence("My own."))
    with database.read() as c:
        found = corpus_items.sentences_of_rules(c, "acme", RULES.digest, mine.id, 9)
    assert [item.text for item in found] == ["Sentence 0.", "Sentence 2."]


def test_picture_with_the_same_image_is_stored_once(database, corpus):
    one = corpus(kind="images")
    kept = added(database, one, NewItem(image="sha256:a", term="nurse"), NewItem(image="sha256:a", term="doctor"))
    assert (len(kept.added), kept.items[0].term, kept.items[1].term) == (1, "nurse", "nurse")
    with database.write() as c:
        changed = corpus_items.edit(c, one.id, "acme", kept.items[0].id, NewItem(image="sha256:a", term="doctor"))
    assert (changed.term, changed.source, changed.provenance) == ("doctor", "uploaded", {})


def test_image_can_be_read_by_every_tenant_that_can_read_its_corpus(database, corpus):
    one, facts = corpus(kind="images"), ImageFacts("sha256:a", "image/png", 1, 1)
    added(database, one, NewItem(image=facts.digest, term="nurse"))
    with database.write() as c:
        images.keep(c, "acme", b"pixels", facts)
        assert images.find(c, facts.digest, "acme").content == b"pixels"
        assert images.find(c, facts.digest, "other") is None
        corpora.change(c, one.id, "acme", {"visibility": "shared"})
        assert images.find(c, facts.digest, "other").content == b"pixels"
        corpora.remove(c, one.id, "acme")
        assert images.find(c, facts.digest, "other") is None


def test_text_with_nul_and_lone_surrogates_can_be_stored(database, corpus):
    one = corpus(name="n\0me")
    assert one.name == "n\\x00me"
    assert len(added(database, one, sentence("NUL \0 and half \ud800 a pair.")).added) == 1


@pytest.mark.parametrize(
    ("terms", "reuse", "texts"), [(("nurse",), True, ["A nurse."]), (("nurse",), False, []), ((), True, [])]
)
def test_sentences_written_by_authors_are_found_by_term_in_own_corpora_without_a_specification(
    database, corpus, terms, reuse, texts
):
    own = sentence("A nurse.", source="written"), sentence("A cook.", attribute_term="cook", source="written")
    added(database, corpus(), *own, sentence("A nurse, uploaded."))
    added(
        database, corpus("other", visibility="shared"), sentence("A nurse of others.", source="written"), tenant="other"
    )
    wanted = AuthoredItems("sentences", "mine", "gender", terms, reuse=reuse)
    with database.read() as c:
        (kept,) = stored_material(c, "acme", [wanted])
    assert [item.text for item in kept] == texts
