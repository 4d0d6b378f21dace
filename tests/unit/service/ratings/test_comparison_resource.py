"""Comparison of two ratings: `/v1/ratings/{id}/comparison`."""

from __future__ import annotations

import copy

import numpy as np
import pytest

pytestmark = pytest.mark.anyio

WORDS = {
    "attribute": "gender",
    "protected": {"woman": ["she", "her"], "man": ["he", "his"]},
    "attributes": {"woman": ["gentle", "pretty"], "man": ["strong", "loud"]},
    "human": ["person", "visitor"],
    "neutral": ["chair", "river"],
    "name": "small",
}


def association(gap, words=WORDS, **changes):
    """Return an association rating in which the distance of stereotypical pairs is smaller by `gap`."""
    rng = np.random.default_rng(3)
    raw = {}
    for group, protected in words["protected"].items():
        for word in protected:
            rows = raw.setdefault(word, {})
            for other, listed in words["attributes"].items():
                connection, middle = ("associated", 0.7 - gap) if other == group else ("different", 0.7)
                rows[connection] = {each: middle + rng.normal(0, 0.02) for each in listed}
            rows["human"] = {each: 0.7 + rng.normal(0, 0.02) for each in words["human"]}
    part = {
        "name": "small", "letter": "DSBS", "declared": True, "probabilities": None, "effects": None, "usable": 12,
        "unusable": 0, "failed": 0, "reasons": [], "published": {}, "missing": {}, "raw": raw,
    }  # fmt: skip
    experiment = {"method": "association", "words": words, "residual": "per-connection", "prior": "paper"}
    return {"method": "association", "experiment": experiment, "components": [part]} | changes


@pytest.fixture
def rated(client, request_body, worker):
    """Make a rating and return its id."""
    seeds = iter(range(100))

    async def rated(visibility="private", headers=None, on=client, **document):
        body = request_body(seed=next(seeds), visibility=visibility)
        job = (await on.post("/v1/jobs", json=body, headers=headers)).json()
        return worker.rate(job["id"], **document)

    return rated


async def compare(client, one, other, **options):
    return await client.get(f"/v1/ratings/{one}/comparison", params={"with": other}, **options)


async def test_a_comparison_of_association_ratings_lists_differences_by_word_and_by_kind_of_word_pair(client, rated):
    before, after = await rated(**association(0.3)), await rated(**association(0.0))
    answer = await compare(client, before, after)
    assert answer.status_code == 200, answer.text
    found = answer.json()
    assert (found["before"]["id"], found["after"]["id"]) == (before, after)
    assert found["before"]["target"] == "T"
    assert found["effect"]["mean"] == pytest.approx(-0.3, abs=0.1)
    assert found["effect"]["hpdi"]["high"] < 0
    assert [one["name"] for one in found["words"]] == ["he", "her", "his", "she"]
    assert [one["name"] for one in found["connections"]] == ["associated", "different", "human"]


async def test_a_comparison_is_valid_for_its_documented_schema(client, rated):
    before, after = await rated(**association(0.3)), await rated(**association(0.0))
    document = (await client.get("/openapi.json")).json()
    schemas = document["components"]["schemas"]
    found = (await compare(client, before, after)).json()
    assert set(found) == set(schemas["ComparisonView"]["properties"])
    assert set(found["before"]) == set(schemas["ComparedRating"]["properties"])
    assert set(found["effect"]) == set(schemas["DifferenceView"]["properties"])
    operation = document["paths"]["/v1/ratings/{rating_id}/comparison"]["get"]
    assert [one["name"] for one in operation["parameters"] if one["in"] == "query"] == ["with"]


async def test_an_unchanged_comparison_is_304(client, rated):
    before, after = await rated(**association(0.3)), await rated(**association(0.0))
    etag = (await compare(client, before, after)).headers["ETag"]
    assert (await compare(client, before, after, headers={"If-None-Match": etag})).status_code == 304
    assert (await compare(client, after, before, headers={"If-None-Match": etag})).status_code == 200


async def test_a_comparison_with_a_missing_rating_is_404(client, rated):
    known = await rated(**association(0.3))
    for one, other in ((known, "rat_unknown"), ("rat_unknown", known)):
        answer = await compare(client, one, other)
        assert (answer.status_code, answer.json()["code"]) == (404, "not-found")
        assert "rat_unknown" in answer.json()["detail"]


async def test_a_comparison_of_ratings_by_different_methods_is_422_naming_the_methods(client, rated):
    before, after = await rated(**association(0.3)), await rated()
    answer = await compare(client, before, after)
    assert (answer.status_code, answer.json()["code"]) == (422, "bad-specification")
    [told] = answer.json()["errors"]
    assert (told["parameter"], told["code"]) == ("with", "not-comparable")
    assert "association and round-trip" in told["detail"]


async def test_a_comparison_of_ratings_with_different_words_is_422_naming_the_words(client, rated):
    words = copy.deepcopy(WORDS)
    words["protected"]["woman"] = ["she", "queen"]
    before, after = await rated(**association(0.3)), await rated(**association(0.3, words))
    answer = await compare(client, before, after)
    assert answer.status_code == 422
    assert "woman (protected) (only in the first: her; only in the second: queen)" in answer.json()["detail"]


@pytest.mark.parametrize("query", [{}, {"with": ""}, {"with": "rat_1", "without": "rat_2"}])
async def test_a_comparison_with_invalid_query_parameters_is_422(client, rated, query):
    known = await rated(**association(0.3))
    answer = await client.get(f"/v1/ratings/{known}/comparison", params=query)
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid-request")


async def test_a_comparison_requires_access_to_both_ratings(serve, guarded, rated, worker):
    client = await serve(guarded)
    headers = {"Authorization": f"Bearer {worker.make_key('mine')}"}
    seen = {
        visibility: await rated(visibility, headers, client, **association(0.3))
        for visibility in ("private", "unlisted", "public")
    }
    assert (await compare(client, seen["public"], seen["unlisted"])).headers["Cache-Control"].startswith("public")
    assert (await compare(client, seen["public"], seen["private"])).status_code == 404
    mine = await compare(client, seen["public"], seen["private"], headers=headers)
    assert (mine.status_code, mine.headers["Cache-Control"].split(",")[0]) == (200, "private")
