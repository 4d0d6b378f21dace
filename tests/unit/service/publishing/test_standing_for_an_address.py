"""Look-ups by URL (badge, latest, history): no rating of a competitor or upload displaces the verified owner's.

Row 90 of docs/reliability.md: ffe18d3c showed a competitor's rating, or invented answers, on the owner's badge.
"""

from __future__ import annotations

import base64
import json

import httpx
import pytest
from lxml import etree
from sqlalchemy import event, select, text, update

from assay.canonical import rating_digest
from service.app import create_app
from store.ratings import published
from store.ratings import ratings as stored_ratings
from store.ratings.tables import ratings
from store.targets import domains
from store.targets.domains import PROOF_DAYS, canonical_address
from workers.targets.registry import TargetChecker

pytestmark = pytest.mark.anyio

HOST = "api.example.com"
URL = f"https://{HOST}/translate"
OWNER, RIVAL, SECOND, OPERATOR = "acme", "rival", "second", "default"

ATTACKS = {
    "custom with another body": ("changed", {"protocol": "custom"}),
    "another system prompt on a preset": ("changed", {"settings": {"instruction": "Prefer men."}}),
    "a model of the competitor at the same address": ("named", {"settings": {"model": "rival/persona"}}),
    "an upload of invented choices": ("uploaded", {"kind": "classifier"}),
    "the worst of many private ratings, published afterwards": ("unpublished", {}),
    "newer with default settings": ("default", {}),
}
"""How a competitor rates the owner's address: the description of the service, and fields of the rated target."""

attacks = pytest.mark.parametrize(("description", "described"), ATTACKS.values(), ids=ATTACKS)


@pytest.fixture
async def agency(guarded, serve):
    """An agency with pages that requires keys."""
    return await serve(guarded, pages=True)


@pytest.fixture
def key(worker):
    """Return the headers of a tenant, one key for each."""
    made = {}

    def key(tenant):
        if tenant not in made:
            made[tenant] = {"Authorization": f"Bearer {worker.make_key(tenant)}"}
        return made[tenant]

    return key


@pytest.fixture
def rate(agency, key, request_body, worker):
    """Store a public rating of a URL by a tenant, and return the rating's id."""
    seeds = iter(range(1000))

    async def rate(tenant, letter, *, url=URL, description="default", visibility="public", described=None, **changes):
        body = request_body(seed=next(seeds), visibility=visibility)
        body["target"]["base_url"] = url
        job = await agency.post("/v1/jobs", json=body, headers=key(tenant))
        assert job.status_code == 202, job.text
        target = {"name": "T", "kind": "translator", "protocol": "libretranslate", "url": url, "digest": "sha256:00"}
        changes["target"] = target | (described or {})
        return worker.rate(job.json()["id"], letter=letter, description=description, **changes)

    return rate


@pytest.fixture
def prove(worker):
    """Record that a tenant proved some days ago that it owns the host."""

    def prove(tenant, host=HOST, days_ago=0):
        with worker.database.write() as c:
            added, _ = domains.add(c, tenant, host)
            domains.record_check(c, added.id, None)
            past = text("UPDATE domains SET verified_at = verified_at - :ms WHERE id = :id")
            c.execute(past, {"ms": days_ago * domains.DAY_MS, "id": added.id})

    return prove


async def latest(agency, headers=None, **query):
    answer = await agency.get("/v1/ratings/latest", params={"target_url": URL, **query}, headers=headers)
    return answer.json()["id"] if answer.status_code == 200 else answer.json()["code"]


async def badge(agency, url=URL):
    return (await agency.get("/v1/badge.json", params={"target_url": url})).json()["message"]


async def history(agency, **query):
    answer = await agency.get("/v1/registry/history", params={"target_url": URL, **query})
    assert answer.status_code == 200, answer.text
    return [row["id"] for row in answer.json()["items"]]


async def counts(agency):
    answer = (await agency.get("/v1/registry/distribution")).json()
    return {name: sum(row["counts"][name] for row in answer["items"]) for name in ("UCS", "DSBS", "BS")}


# ---------------------------------------------------------------------------- attacks on a proved owner
@attacks
async def test_publications_of_a_competitor_change_no_badge_history_or_latest_rating_of_a_verified_owner(
    agency, key, rate, prove, description, described
):
    prove(OWNER)
    own = await rate(OWNER, "UCS", description="changed")
    before = await badge(agency)
    await rate(RIVAL, "BS", description=description, described=described)
    await rate(RIVAL, "BS", description=description, described={**described, "digest": "sha256:01", "name": "T2"})
    for reader in (None, key(OWNER), key(SECOND), key(RIVAL)):
        assert await latest(agency, reader) == own
    assert await latest(agency, key(OWNER), whose="mine") == own
    assert await latest(agency, key(SECOND), whose="mine") == "no-rating"
    assert await badge(agency) == before
    assert before.startswith("UCS")
    assert "the host's owner" in before
    assert await history(agency) == [own]
    assert await counts(agency) == {"UCS": 1, "DSBS": 0, "BS": 0}


@attacks
async def test_a_composition_of_a_saved_target_uses_the_rating_by_the_verified_owner(
    agency, key, rate, prove, request_body, description, described
):
    prove(OWNER)
    own = await rate(OWNER, "UCS")
    await rate(RIVAL, "BS", description=description, described=described)
    for tenant in (OWNER, SECOND):
        body = request_body()["target"] | {"base_url": URL}
        saved = (await agency.post("/v1/targets", json=body, headers=key(tenant))).json()["id"]
        digest = (await agency.get(f"/v1/targets/{saved}", headers=key(tenant))).json()["digest"]
        same = {**described, "kind": "translator", "digest": digest}
        rated = await rate(OWNER, "UCS", described=same)
        await rate(RIVAL, "BS", description=description, described=same)
        chain = {"chain": [{"target": saved}, {"rating": own}], "attribute": "gender"}
        answer = await agency.post("/v1/compositions", json=chain, headers=key(tenant))
        assert answer.status_code == 201, answer.text
        first = answer.json()["chain"][0]["rating"]
        assert (first["id"], first["requester"]["role"]) == (rated, "owner")


@attacks
async def test_a_suite_of_the_verified_owner_never_reuses_ratings_of_a_competitor(
    agency, key, rate, prove, request_body, worker, description, described
):
    prove(OWNER)
    await rate(RIVAL, "BS", description=description, described=described)
    body = {"target": request_body()["target"] | {"base_url": URL}, "attributes": ["gender"], "max_age_s": 86_400}
    body["methods"] = ["round-trip"]
    answer = await agency.post("/v1/suites", json=body, headers=key(OWNER))
    assert answer.status_code == 202, answer.text
    suite = answer.json()
    (cell,) = suite["rows"][0]["cells"]
    assert (cell["status"], cell["letter"]) == ("queued", None)
    worker.rate(cell["job"], letter="UCS")
    read = (await agency.get(f"/v1/suites/{suite['id']}", headers=key(OWNER))).json()
    assert [cell["letter"] for cell in read["rows"][0]["cells"]] == ["UCS"]


@attacks
async def test_ratings_requested_by_a_third_party_are_marked_so_in_every_list_page_report_and_badge(
    agency, rate, prove, description, described
):
    prove(OWNER)
    rated = await rate(RIVAL, "BS", description=description, described=described)
    facts = {"role": "other", "host_proved": True, "description": description}
    stands = {"requester": "other", "host_proved": True, "for_address": description == "default"}
    stands |= {"changed_since": None}
    document = (await agency.get(f"/v1/ratings/{rated}")).json()
    assert (document["requester"], document["standing"]) == (facts, stands)
    for fields in ("summary", "full"):
        (row,) = (await agency.get("/v1/ratings", params={"target_url": URL, "fields": fields})).json()["items"]
        assert (row["requester"], row["standing"]) == (facts, stands)
    page, registry = (await agency.get(f"/r/{rated}")).text, (await agency.get("/registry")).text
    drawn = (await agency.get(f"/v1/ratings/{rated}/badge.svg")).text
    report = (await agency.get(f"/v1/ratings/{rated}/report.md")).text
    overlay = (await agency.get(f"/v1/ratings/{rated}/overlay.yaml")).text
    assert "Requested by a third party. The owner of the host is confirmed." in page
    assert "requested by a third party · the host's owner is confirmed" in registry
    model = ", model rival/persona" if description == "named" else ""
    assert f"<title>Bias rating: BS{model}, requested by a third party</title>" in drawn
    assert "Requested by a third party" in report
    for line in ('requester: "other"', "host_proved: true", f'description: "{description}"'):
        assert line in overlay
    links = (await agency.get(f"/v1/ratings/{rated}/linkset.json")).json()["linkset"][0]["describedby"][0]
    assert (links["requester"], links["host-proved"], links["description"]) == (["other"], ["true"], [description])
    dumped = (await agency.get("/v1/registry/dump.jsonl")).text
    assert f'"requester":{{"role":"other","host_proved":true,"description":"{description}"}}' in dumped


async def test_the_certificate_states_who_requested_the_rating_at_the_time_of_the_rating(agency, rate, prove):
    rated = await rate(RIVAL, "BS")
    prove(RIVAL)
    envelope = (await agency.get(f"/v1/ratings/{rated}/attestation.json")).json()
    statement = json.loads(base64.b64decode(envelope["payload"]))
    facts = {"role": "other", "host_proved": False, "description": "default"}
    assert statement["predicate"]["requester"] == facts
    document = (await agency.get(f"/v1/ratings/{rated}")).json()
    assert document["requester"] == facts
    assert document["standing"] == {
        "requester": "owner",
        "host_proved": True,
        "for_address": True,
        "changed_since": None,
    }


@pytest.mark.parametrize("other", [{"method": "one-hop"}, {"attribute": "race"}])
async def test_a_competitors_rating_by_another_method_or_attribute_makes_no_look_up_by_url_ambiguous(
    agency, rate, prove, other
):
    prove(OWNER)
    own = await rate(OWNER, "UCS")
    rival = await rate(RIVAL, "BS", **other)
    assert (await latest(agency), (await badge(agency))[:3], await history(agency)) == (own, "UCS", [own])
    assert await latest(agency, **other) == rival
    second = await rate(OWNER, "DSBS", **other)
    assert (await latest(agency), await latest(agency, **other)) == ("ambiguous-rating", second)


async def test_an_old_rating_without_a_recorded_requester_keeps_its_digest_and_its_certificate(
    agency, rate, prove, worker
):
    rated = await rate(OWNER, "UCS")
    with worker.database.write() as c:
        document = c.execute(select(ratings.c.document)).scalar_one()
        old = {name: value for name, value in document.items() if name != "requester"}
        c.execute(update(ratings).values(document=old, requester=None, host_proved=None, description=None))
    shown = (await agency.get(f"/v1/ratings/{rated}")).json()
    envelope = (await agency.get(f"/v1/ratings/{rated}/attestation.json")).json()
    predicate = json.loads(base64.b64decode(envelope["payload"]))["predicate"]
    assert rating_digest(shown) == rating_digest(old) == predicate["rating_digest"]
    assert "requester" not in predicate
    assert (await agency.get(f"/r/{rated}/history")).status_code == 200
    assert await latest(agency) == "no-rating"
    prove(OWNER)
    assert await latest(agency) == rated
    (row,) = (await agency.get("/v1/ratings", params={"mine": False})).json()["items"]
    assert (row["requester"], row["standing"]["requester"]) == (None, "owner")


# ---------------------------------------------------------------------------- order of requesters
@pytest.mark.parametrize(("tenant", "whose"), [(OWNER, "address"), (OPERATOR, "address"), (SECOND, "mine")])
async def test_a_look_up_by_url_and_model_never_returns_the_rating_of_another_model(
    agency, key, rate, prove, tenant, whose
):
    if tenant == OWNER:
        prove(OWNER)
    made = {}
    for model, setting, letter in (("large", "model", "UCS"), ("small", "deployment", "BS")):
        described = {"settings": {setting: model}, "digest": f"sha256:{model}"}
        made[model] = await rate(tenant, letter, description="named", described=described)
    headers = key(tenant)
    refused = await agency.get("/v1/ratings/latest", params={"target_url": URL, "whose": whose}, headers=headers)
    assert (refused.status_code, {row["model"] for row in refused.json()["candidates"]}) == (409, {"large", "small"})
    for model, rating in made.items():
        assert await latest(agency, headers, whose=whose, model=model) == rating
    assert await latest(agency, headers, whose=whose, model="other") == "no-rating"


SERVICES = {
    "two paths": ({"path": "/biased"}, {"path": "/even"}, "/biased", "/even"),
    "two models in bodies": ({"body": {"model": "A"}}, {"body": {"model": "B"}}, "A", "B"),
    "two bodies": ({"body": {"route": 1}}, {"body": {"route": 2}}, "a" * 24, "b" * 24),
    "two versions of a model": ({"model": "m", "version": "1"}, {"model": "m", "version": "2"}, "a" * 24, "b" * 24),
    "two queries": ({"query": {"v": "1"}}, {}, "a" * 24, "b" * 24),
    "two decisions of a model": ({"model": "m", "decision": {"name": "hiring"}}, {"model": "m"}, "a" * 24, "b" * 24),
}
"""Settings of two services at one address, and the names by which each can be chosen."""


@pytest.mark.parametrize(("first", "second", "first_name", "second_name"), SERVICES.values(), ids=SERVICES)
async def test_a_service_never_answers_for_another_that_is_called_in_another_way_at_the_same_address(
    agency, key, rate, prove, first, second, first_name, second_name
):
    prove(OWNER)
    made = {}
    for settings, name, letter, digit in ((first, first_name, "BS", "a"), (second, second_name, "DSBS", "b")):
        described = {"protocol": "custom", "settings": settings, "digest": f"sha256:{digit * 64}"}
        made[name] = await rate(OWNER, letter, description="changed", described=described)
    for whose in ("mine", "address"):
        query = {"target_url": URL, "attribute": "gender", "whose": whose}
        refused = await agency.get("/v1/ratings/latest", params=query, headers=key(OWNER))
        assert refused.status_code == 409
        assert {row["model"]: row["href"] for row in refused.json()["candidates"]} == {
            name: f"/v1/ratings/{rating}" for name, rating in made.items()
        }
        for name, rating in made.items():
            assert await latest(agency, key(OWNER), whose=whose, model=name) == rating
    assert (await badge(agency)) == "unrated"
    for name, letter in ((first_name, "BS"), (second_name, "DSBS")):
        answer = await agency.get("/v1/badge.json", params={"target_url": URL, "model": name})
        assert answer.json()["message"].startswith(f"{letter} ·")


async def test_a_service_is_found_by_its_whole_address_with_the_path_of_its_calls(agency, rate, prove):
    prove(OWNER)
    made = {}
    for path in ("/biased", "/even/"):
        described = {"protocol": "custom", "settings": {"path": path}, "digest": f"sha256:{path}"}
        made[path] = await rate(OWNER, "UCS", description="changed", described=described, url=f"https://{HOST}")
    for path, rating in made.items():
        assert await latest(agency, target_url=f"https://{HOST}{path}") == rating
        assert (await badge(agency, f"https://{HOST}{path}")).startswith("UCS")
    assert await latest(agency, target_url=f"https://{HOST}/other") == "no-rating"
    assert await latest(agency, target_url=f"https://{HOST}/even/more") == "no-rating"


@pytest.mark.parametrize("again", [{"labels": ["a", "b"]}, {"headers": {}}, {"batch_maximum": 2}, {"output": "a"}])
async def test_a_new_rating_replaces_the_older_one_if_only_the_reading_of_answers_changed(agency, rate, prove, again):
    prove(OWNER)
    for settings in ({}, again):
        described = {"protocol": "custom", "settings": {"path": "/even", **settings}, "digest": f"sha256:{settings}"}
        newest = await rate(OWNER, "UCS", description="changed", described=described)
    assert await latest(agency) == newest
    assert (await badge(agency)).startswith("UCS")


async def test_a_badge_shows_the_remaining_service_after_the_other_rating_at_its_address_was_withdrawn(
    agency, key, rate, prove
):
    prove(OWNER)
    wrong = await rate(OWNER, "BS", description="changed", described={"settings": {"path": "/wrong"}})
    await rate(OWNER, "UCS", description="changed", described={"settings": {"path": "/right"}})
    assert await badge(agency) == "unrated"
    body = {"reason": "wrong path"}
    assert (await agency.post(f"/v1/ratings/{wrong}/withdraw", json=body, headers=key(OWNER))).is_success
    assert (await badge(agency)).startswith("UCS")


async def test_a_badge_by_url_and_model_shows_the_letter_of_that_model(agency, rate, prove):
    prove(OWNER)
    for model, letter in (("large", "UCS"), ("small", "BS")):
        await rate(OWNER, letter, description="named", described={"settings": {"model": model}})
    for model, letter in (("large", "UCS"), ("small", "BS"), ("other", "unrated")):
        answer = await agency.get("/v1/badge.json", params={"target_url": URL, "model": model})
        assert answer.json()["message"].startswith(letter)


async def test_a_badge_by_url_names_the_model_that_was_rated(agency, rate, prove):
    prove(OWNER)
    assert "model" not in await badge(agency)
    await rate(OWNER, "UCS", description="named", described={"settings": {"deployment": "large <1>"}})
    assert (await badge(agency)).startswith("UCS")
    assert ", model large <1>, requested by the host's owner" in await badge(agency)
    drawn = etree.fromstring((await agency.get("/v1/badge.svg", params={"target_url": URL})).content)
    title, description = (drawn.findtext(f"{{*}}{name}") for name in ("title", "desc"))
    assert title == "Bias rating: UCS, model large <1>, requested by the host's owner"
    assert "was rated with the model large <1> for gender bias" in description
    assert title in drawn.get("aria-label")


async def test_history_and_distribution_can_be_limited_to_a_model(agency, rate, prove):
    prove(OWNER)
    made = {}
    for model, letter in (("large", "UCS"), ("small", "BS")):
        described = {"settings": {"model": model}, "digest": f"sha256:{model}"}
        made[model] = await rate(OWNER, letter, description="named", described=described)
    assert await history(agency) == [made["small"], made["large"]]
    for model, letter in (("large", "UCS"), ("small", "BS")):
        assert await history(agency, model=model) == [made[model]]
        rows = (await agency.get("/v1/registry/distribution", params={"model": model})).json()["items"]
        assert [(row["targets"], row["counts"][letter]) for row in rows] == [(1, 1)]
    assert await history(agency, model="other") == []


async def test_without_a_verified_owner_the_operators_rating_comes_before_third_parties(agency, rate, prove):
    by_other = await rate(RIVAL, "BS")
    assert (await latest(agency), (await badge(agency))[:2]) == (by_other, "BS")
    by_operator = await rate(OPERATOR, "DSBS", description="changed")
    newer = await rate(SECOND, "UCS")
    assert (await latest(agency), (await badge(agency))[:4]) == (by_operator, "DSBS")
    assert await history(agency) == [by_operator]
    assert await history(agency, whose="all") == [newer, by_operator, by_other]
    prove(SECOND)
    assert (await latest(agency), (await badge(agency))[:3]) == (newer, "UCS")
    assert await history(agency) == [newer]


async def test_among_ratings_of_third_parties_the_newest_with_the_default_description_is_returned(agency, rate):
    await rate(RIVAL, "BS")
    newer = await rate(SECOND, "UCS")
    await rate(RIVAL, "BS", description="changed")
    await rate(SECOND, "BS", description="uploaded")
    assert (await latest(agency), (await badge(agency))[:3]) == (newer, "UCS")


@pytest.mark.parametrize("description", ["unpublished", "named", "changed", "uploaded"])
async def test_third_party_ratings_with_chosen_models_changed_settings_or_uploads_are_not_returned_for_a_url(
    agency, key, rate, description
):
    rated = await rate(RIVAL, "BS", description=description)
    assert (await latest(agency), await badge(agency)) == ("no-rating", "unrated")
    assert await latest(agency, key(RIVAL)) == "no-rating"
    assert (await history(agency), await counts(agency)) == ([], {"UCS": 0, "DSBS": 0, "BS": 0})
    mine = rated if description != "uploaded" else "no-rating"
    assert await latest(agency, key(RIVAL), whose="mine") == mine


@pytest.mark.parametrize("tenant", [OWNER, OPERATOR])
async def test_rating_of_an_upload_is_never_returned_for_a_url(agency, key, rate, prove, tenant):
    prove(OWNER)
    await rate(tenant, "UCS", description="uploaded")
    assert (await latest(agency, key(tenant)), await badge(agency)) == ("no-rating", "unrated")
    assert await latest(agency, key(tenant), whose="mine") == "no-rating"


async def test_ratings_made_before_the_host_was_verified_count_as_the_owners_afterwards(agency, rate, prove):
    early = await rate(OWNER, "UCS", description="changed")
    other = await rate(RIVAL, "BS")
    before = await agency.get("/v1/ratings/latest", params={"target_url": URL})
    assert before.json()["id"] == other
    prove(OWNER)
    after = await agency.get(
        "/v1/ratings/latest", params={"target_url": URL}, headers={"If-None-Match": before.headers["ETag"]}
    )
    assert (after.status_code, after.json()["id"]) == (200, early)
    assert after.json()["requester"] == {"role": "other", "host_proved": False, "description": "changed"}


async def test_verifying_the_host_changes_the_etag_of_a_rating_and_of_its_badge(agency, rate, prove):
    rated = await rate(OWNER, "UCS")
    address = f"/v1/ratings/{rated}"
    before = (await agency.get(address)).headers["ETag"]
    drawn = (await agency.get(f"{address}/badge.svg")).headers["ETag"]
    assert (await agency.get(address, headers={"If-None-Match": before})).status_code == 304
    prove(OWNER)
    assert (await agency.get(address, headers={"If-None-Match": before})).status_code == 200
    assert (await agency.get(f"{address}/badge.svg", headers={"If-None-Match": drawn})).status_code == 200


async def test_an_expired_verification_of_a_host_gives_its_owner_no_precedence(agency, rate, prove):
    prove(OWNER, days_ago=PROOF_DAYS + 1)
    await rate(OWNER, "UCS", description="changed")
    by_operator = await rate(OPERATOR, "DSBS")
    assert await latest(agency) == by_operator
    prove(OWNER)
    assert await latest(agency) != by_operator


async def test_if_two_tenants_verified_a_host_the_newer_verification_counts(agency, rate, prove):
    prove(OWNER, days_ago=10)
    prove(SECOND)
    new_owner = await rate(SECOND, "DSBS")
    await rate(OWNER, "UCS", description="changed")
    assert await latest(agency) == new_owner
    prove(OWNER)
    assert await latest(agency) != new_owner


async def test_verifying_one_port_of_a_host_gives_no_precedence_on_another_port(agency, rate, prove):
    prove(RIVAL, host=f"{HOST}:8443")
    await rate(RIVAL, "BS", description="changed")
    assert (await latest(agency), await badge(agency)) == ("no-rating", "unrated")


async def test_a_withdrawn_rating_of_the_owner_is_not_replaced_by_a_competitors_on_a_badge(agency, key, rate, prove):
    prove(OWNER)
    own = await rate(OWNER, "BS")
    await rate(RIVAL, "UCS")
    answer = await agency.post(f"/v1/ratings/{own}/withdraw", json={"reason": "cached"}, headers=key(OWNER))
    assert answer.status_code == 200
    assert (await badge(agency)).startswith("withdrawn")


# ---------------------------------------------------------------------------- spellings of an address
SPELLINGS = [
    f"https://{HOST}/translate/",
    f"https://{HOST.upper()}/translate",
    f"https://{HOST}:443/translate",
    f"http://{HOST}:80//translate",
    f"http://{HOST}:443/translate",
    f"https://{HOST}./translate",
    f"https://{HOST}/%74ranslate",
    f"https://user:word@{HOST}/translate",
    f"https://{HOST}/translate?model=other",
    f"https://{HOST}/translate#top",
]


@pytest.mark.parametrize("spelling", SPELLINGS)
async def test_a_rating_under_another_spelling_of_a_url_does_not_replace_the_owners(agency, rate, prove, spelling):
    prove(OWNER)
    own = await rate(OWNER, "UCS")
    if "@" not in spelling:  # refused in a request, and left out in a look-up
        await rate(RIVAL, "BS", url=spelling)
    for url in (URL, spelling):
        answer = await agency.get("/v1/ratings/latest", params={"target_url": url})
        assert (answer.json()["id"], (await badge(agency, url))[:3]) == (own, "UCS")
    assert await counts(agency) == {"UCS": 1, "DSBS": 0, "BS": 0}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("https://bücher.example/t", "https://xn--bcher-kva.example/t"),
        ("http://[::1]:80/t", "http://[0:0::1]/t"),
        ("https://h.example/" + "a" * 2000, "https://h.example//" + "a" * 2000 + "/"),
    ],
)
def test_spellings_of_one_url_have_one_canonical_form(first, second):
    assert canonical_address(first) == canonical_address(second)
    assert len(canonical_address(first) or "") < 600


@pytest.mark.parametrize(
    "other", [f"https://{HOST}:8443/translate", f"https://x.{HOST}/translate", f"https://{HOST}/Translate", "ftp://x/"]
)
def test_urls_that_differ_in_port_host_or_path_are_different_addresses(other):
    assert canonical_address(other) != canonical_address(URL)


RESOLVED = [f"https://{HOST}/rival/{path}" for path in ("../translate", "%2e%2e/translate", "..%2ftranslate")]


@pytest.mark.parametrize("url", RESOLVED)
async def test_a_rating_of_a_url_that_servers_may_resolve_to_another_does_not_stand_for_the_other(agency, rate, url):
    own = await rate(SECOND, "UCS")
    await rate(RIVAL, "BS", url=url)  # of a target that an earlier version saved
    assert (await latest(agency), (await badge(agency))[:3]) == (own, "UCS")


async def test_a_url_with_resolvable_parts_is_refused_wherever_a_service_is_described(settings, request_body):
    app = create_app(settings, validator=TargetChecker(settings), doorbell=lambda _: None)
    translator = request_body()["target"] | {"base_url": URL}
    model = {"kind": "language-model", "protocol": "openai-chat", "base_url": URL, "settings": {"model": "m"}}
    wrong = {"base_url": RESOLVED[2]}
    link = {name: translator[name] for name in ("name", "kind", "protocol", "base_url")}
    links = [link | {"path": ["en", "es", "en"]}, link | wrong]
    chain = {"name": "C", "kind": "translator", "protocol": "chain", "settings": {"links": links}}
    asked = [{"target": translator | wrong}, {"target": chain}, {"judge": model | wrong}, {"author": model | wrong}]
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://assay.test") as client:
        saved = await client.post("/v1/targets", json=translator)
        changed = f"/v1/targets/{saved.json()['id']}"
        answers = [
            await client.post("/v1/targets", json=translator | wrong),
            await client.put(changed, json=translator | wrong, headers={"If-Match": saved.headers["ETag"]}),
            *[await client.post("/v1/jobs", json=request_body() | {"target": translator} | part) for part in asked],
        ]
    said = [(answer.status_code, "write the path it leads to" in answer.text) for answer in answers]
    assert said == [(422, True)] * 6, [answer.text for answer in answers]


# ---------------------------------------------------------------------------- objections
async def test_an_objection_and_its_answer_are_public_and_do_not_change_the_letter(agency, key, rate, prove):
    rated = await rate(RIVAL, "BS")
    address = f"/v1/ratings/{rated}"
    before = (await agency.get(address)).json()
    words = {"text": "This is not our service.", "objects": True}
    assert (await agency.put(f"{address}/reply", json=words, headers=key(OWNER))).status_code == 403
    prove(OWNER)
    tag = (await agency.get(f"{address}/badge.svg")).headers["ETag"]
    assert (await agency.put(f"{address}/reply", json=words, headers=key(OWNER))).status_code == 201
    answer = {"text": "We have asked again."}
    assert (await agency.put(f"{address}/reply/answer", json=answer, headers=key(SECOND))).status_code == 404
    assert (await agency.put(f"{address}/reply/answer", json=answer, headers=key(RIVAL))).status_code == 200
    after = await latest(agency)
    assert after == rated
    found = (await agency.get("/v1/ratings/latest", params={"target_url": URL})).json()
    assert (found["reply"]["objects"], found["reply"]["answer"]["text"]) == (True, answer["text"])
    assert found["reply"]["answer"]["by"] == "requester"
    assert (found["letter"], found["declared"]) == (before["letter"], before["declared"])
    assert "the owner objects" in await badge(agency)
    drawn = await agency.get(f"{address}/badge.svg", headers={"If-None-Match": tag})
    assert (drawn.status_code, "The owner of the host objects" in drawn.text) == (200, True)
    pages = [(await agency.get(f"/r/{rated}{end}")).text for end in ("", "/reply")]
    assert "The owner of the host objects to this rating." in pages[0]
    assert answer["text"] in pages[1]
    for file in ("report.md", "report.html"):
        report = (await agency.get(f"{address}/{file}")).text
        assert answer["text"] in report.replace("\\", "")


async def test_the_requester_cannot_replace_the_operators_answer_to_an_objection(agency, key, rate, prove):
    rated = await rate(RIVAL, "BS")
    prove(OWNER)
    reply, answer = f"/v1/ratings/{rated}/reply", f"/v1/ratings/{rated}/reply/answer"
    assert (await agency.put(answer, json={"text": "x"}, headers=key(RIVAL))).status_code == 404
    await agency.put(reply, json={"text": "No.", "objects": True}, headers=key(OWNER))
    shown = await agency.put(answer, json={"text": "The owner is right."}, headers=key(OPERATOR))
    assert shown.json()["answer"]["by"] == "operator"
    await agency.put(answer, json={"text": "He is not."}, headers=key(RIVAL))
    await agency.put(reply, json={"text": "No!", "objects": True}, headers=key(OWNER))
    assert (await agency.get(reply)).json()["answer"]["text"] == "The owner is right."


# ---------------------------------------------------------------------------- costs
async def test_look_ups_by_url_use_a_database_index_and_do_not_scan_the_ratings(worker, rate, prove):
    prove(OWNER)
    await rate(OWNER, "UCS")
    for read in (published.of_address, lambda c, url: stored_ratings.latest(c, None, url)):
        asked = []
        with worker.database.read() as c:
            event.listen(c, "before_cursor_execute", lambda _c, _k, sql, values, *_: asked.append((sql, values)))  # noqa: B023
            read(c, URL)
            for sql, values in tuple(asked):
                plan = " ".join(str(row) for row in c.exec_driver_sql(f"EXPLAIN QUERY PLAN {sql}", values))
                assert "ix_ratings_address (address=?)" in plan, plan
                assert "SCAN ratings" not in plan, plan
