"""Names of services that resemble a text with a typing error."""

import pytest

from store.ratings.services import close_words, similar_names

NAMES = ["always-he translator", "DeepL", "echo", "Google Translate", "Mistral Large"]


@pytest.mark.parametrize(
    ("wrong", "missing", "doubled", "swapped", "name"),
    [
        ("gopgle", "gogle", "gooogle", "goolge", "Google"),
        ("deapl", "depl", "deepll", "depel", "DeepL"),
        ("ecgo", "eco", "ecoho", "ehco", "echo"),
        ("mistrel", "mistrl", "misstral", "mitsral", "Mistral"),
        ("Google Tranzlate", "Google Tanslate", "Google  Translate", "Google Trasnlate", "Google Translate"),
    ],
)
def test_a_service_is_found_by_a_name_with_a_wrong_missing_or_swapped_character(wrong, missing, doubled, swapped, name):
    for text in (wrong, missing, doubled, swapped):
        assert close_words(text.casefold(), NAMES)[0] == name


@pytest.mark.parametrize("text", ["", "zzzz", "x" * 61, "translation services of the world"])
def test_no_name_is_suggested_for_a_text_that_resembles_none(text):
    assert close_words(text, NAMES) == []


def test_only_names_of_listed_ratings_are_suggested(database, published):
    described = {"kind": "translator", "protocol": "p", "url": "https://a.example.com/", "digest": "sha256:" + "1" * 64}
    published(tenant="default", visibility="public", target={**described, "name": "Babelfish"})
    published(tenant="rival", visibility="private", target={**described, "name": "Babelfisk", "digest": "sha256:22"})
    with database.read() as c:
        assert similar_names(c, "default", "BABELFIHS") == ["Babelfish"]
        assert similar_names(c, "rival", "babelfis", mine=True) == ["Babelfisk"]
        assert similar_names(c, None, "babelfis", kind="embedder") == []
