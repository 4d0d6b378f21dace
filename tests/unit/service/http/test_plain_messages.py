"""Messages for addresses and values that a request cannot have: what was sent, and what would do."""

from __future__ import annotations

import pytest
from pydantic import TypeAdapter, ValidationError

from service.http.openapi.common_schemas import KindName, Url
from store.core.plain_messages import plain_message


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("127.0.0.1:5000/she", "not '127.0.0.1:5000/she'; did you mean 'http://127.0.0.1:5000/she'?"),
        ("localhost:5000", "not 'localhost:5000'; did you mean 'http://localhost:5000'?"),
        ("example", "not 'example'; did you mean 'http://example'?"),
        ("ftp://example", "not 'ftp://example'"),
        ("me:secret@example", "not '…'; did you mean 'http://…'?"),
    ],
)
def test_the_error_for_an_address_without_http_quotes_it_and_suggests_the_likely_address(url, message):
    with pytest.raises(ValidationError) as error:
        TypeAdapter(Url).validate_python(url)
    assert plain_message(error.value.errors()[0]) == f"an address must begin with http:// or https://, {message}"


@pytest.mark.parametrize("url", ["http://example:99999/", "https://[::1/x"])
def test_an_unparsable_address_that_begins_with_http_is_not_reported_as_lacking_http(url):
    with pytest.raises(ValidationError) as error:
        TypeAdapter(Url).validate_python(url)
    assert plain_message(error.value.errors()[0]) == "this is not an address; write it as http://host:port/path"


def test_the_error_for_a_value_that_is_not_allowed_quotes_it_and_suggests_the_nearest_allowed_value():
    with pytest.raises(ValidationError) as error:
        TypeAdapter(KindName).validate_python("translater")
    assert plain_message(error.value.errors()[0]).startswith("'translater' is not possible; did you mean 'translator'?")
