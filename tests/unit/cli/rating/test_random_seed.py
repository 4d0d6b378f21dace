"""Seeds of `assay rate` and `assay plan`: random unless the file or an option gives one."""

import pytest

from cli.request.rating_options import RatingOptions
from cli.request.request import read_request


def request(**options) -> dict:
    return read_request(RatingOptions(protocol="libretranslate", url="http://127.0.0.1:5000", **options))


def test_two_requests_without_a_seed_have_different_seeds_and_nonces():
    first, second = request(), request()
    assert first["seed"] != second["seed"]
    assert first["nonce"] != second["nonce"]
    assert 0 <= first["seed"] < 2**53


@pytest.mark.parametrize("of_file", [False, True])
def test_a_given_seed_is_used_without_a_nonce_so_that_the_rating_is_reproducible(tmp_path, of_file):
    file = tmp_path / "request.toml"
    file.write_text("seed = 5\n")
    given = request(file=file) if of_file else request(seed=5)
    assert (given["seed"], given["nonce"]) == (5, "")
