import pytest
from hypothesis import given
from hypothesis import strategies as st

from store.core.columns import COMPRESS_ABOVE_BYTES, pack, storable, unpack

ANY_TEXT = st.text(st.characters(exclude_categories=()))
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | ANY_TEXT,
    lambda inner: st.lists(inner) | st.dictionaries(ANY_TEXT, inner),
    max_leaves=20,
)


@given(ANY_JSON)
def test_whatever_is_packed_comes_back(value):
    assert unpack(pack(value)) == value


@pytest.mark.parametrize("extra", [-1, 0, 1])
def test_only_what_is_large_is_compressed(extra):
    text = "a" * (COMPRESS_ABOVE_BYTES - 2 + extra)  # two quotes
    assert (pack(text)[:1] == b"x") == (extra > 0)
    assert unpack(pack(text)) == text


def test_the_order_of_what_was_said_is_kept():
    assert list(unpack(pack({"she": 1, "he": 2}))) == ["she", "he"]


def test_a_number_json_has_no_word_for_is_refused():
    with pytest.raises(ValueError, match="Out of range float"):
        pack({"share": float("inf")})


@given(ANY_TEXT)
def test_text_is_made_storable_and_stays_so(text):
    made = storable(text)
    assert "\0" not in made
    made.encode("utf-8")
    assert storable(made) == made


def test_ordinary_text_is_stored_as_it_is():
    assert storable("Grüße, 世界 😀\n") == "Grüße, 世界 😀\n"
