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
def test_packed_json_is_unpacked_unchanged(value):
    assert unpack(pack(value)) == value


@pytest.mark.parametrize("extra", [-1, 0, 1])
def test_only_large_documents_are_compressed(extra):
    text = "a" * (COMPRESS_ABOVE_BYTES - 2 + extra)  # JSON adds two quotation marks
    assert (pack(text)[:1] == b"x") == (extra > 0)
    assert unpack(pack(text)) == text


def test_packing_json_keeps_the_order_of_keys():
    assert list(unpack(pack({"she": 1, "he": 2}))) == ["she", "he"]


def test_json_with_infinity_cannot_be_packed():
    with pytest.raises(ValueError, match="Out of range float"):
        pack({"share": float("inf")})


@given(ANY_TEXT)
def test_escaping_text_is_idempotent(text):
    escaped = storable(text)
    assert "\0" not in escaped
    escaped.encode("utf-8")
    assert storable(escaped) == escaped


def test_ordinary_text_is_not_escaped():
    assert storable("Grüße, 世界 😀\n") == "Grüße, 世界 😀\n"
