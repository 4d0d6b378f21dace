"""Letters of compositions, inferred from ratings of the links, compared with measurements of the whole chain."""

from __future__ import annotations

import itertools

import pytest

from demo.translators.apertium import Apertium

SEED = itertools.count(100)


def target(services, name: str) -> dict:
    return {"name": name, "kind": "translator", "protocol": "libretranslate", "base_url": services.url(name)}


def experiment(**more) -> dict:
    return {"method": "round-trip", "attribute": "gender", "languages": ["es"], **more}


@pytest.fixture(scope="module")
def rated(shared_agency, services):
    """Return the rating of a demo service, requested only once."""
    known: dict[str, dict] = {}

    def rated(name: str) -> dict:
        if name not in known:
            # 60 texts a block: from the 60 contents of one look of 20, a chain's letter is often uncertain
            body = {"target": target(services, name), "experiment": experiment(texts_per_block=60), "seed": 7}
            job = shared_agency.finished(shared_agency.agency.post("/v1/jobs", body)["id"])
            known[name] = shared_agency.agency.get(job["rating"]["href"])
        return known[name]

    return rated


@pytest.fixture(scope="module")
def compose(shared_agency, rated):
    def compose(*names: str, **more) -> dict:
        chain = [{"rating": rated(name)["id"]} for name in names]
        return shared_agency.agency.post("/v1/compositions", {"chain": chain, **more})

    return compose


@pytest.fixture(scope="module")
def measured(shared_agency):
    """Send the verification request of a composition; return the rating."""

    def measured(composition: dict) -> dict:
        offered = composition["verification"]
        assert (offered["ready"], offered["why"]) == (True, None)
        # another seed, so that the sentences differ from those used to rate the links
        body = offered["body"] | {"seed": next(SEED)}
        job = shared_agency.finished(shared_agency.agency.post(offered["href"], body)["id"])
        assert job["status"] == "succeeded", job
        return shared_agency.agency.get(job["rating"]["href"])

    return measured


CHAINS = {
    ("faithful", "always-he"): "BS",
    ("always-he", "faithful"): "BS",
    ("balancing", "always-he"): "BS",
    ("faithful", "balancing"): "UCS",
    ("faithful", "faithful", "faithful"): "DSBS",
}
"""Chains of services whose letter is the same by both composition tables and by the transition matrices."""


@pytest.mark.parametrize("names", CHAINS, ids="*".join)
def test_the_inferred_letter_of_a_chain_equals_the_measured_letter(names, compose, measured):
    found = compose(*names)
    assert (found["provenance"], found["letter"], found["settled_by"]) == ("inferred", CHAINS[names], "table")
    assert (found["predicted"]["letter"], found["predicted"]["provenance"]) == (CHAINS[names], "inferred")
    assert {one["rating"]["provenance"] for one in found["chain"]} == {"measured"}
    rating = measured(found)
    assert (rating["letter"], rating["declared"]) == (CHAINS[names], True)
    assert rating["target"]["protocol"] == "chain"
    assert [one["name"] for one in rating["target"]["settings"]["links"]] == list(names)


def test_transition_matrices_give_the_measured_letter_of_a_chain_if_table_2_allows_three_letters(compose, measured):
    found = compose("always-he", "always-he")
    assert found["tables"]["published"]["possible"] == ["BS", "DSBS", "UCS"]
    assert (found["letter"], found["settled_by"], found["must_be_measured"]) == ("BS", "matrices", False)
    assert found["probabilities"]["must_be_measured"] > 0.9
    assert measured(found)["letter"] == "BS"


def test_a_measured_chain_agrees_with_the_revised_composition_table_where_the_two_tables_differ(compose, measured):
    found = compose("balancing", "faithful")
    answers = {name: table["letter"] for name, table in found["tables"].items()}
    assert answers == {"published": "DSBS", "revised": "UCS"}
    assert found["letter"] == "DSBS"
    assert {"tables-differ", "prediction-differs"} <= {note["code"] for note in found["notes"]}
    assert compose("balancing", "faithful", table="revised")["letter"] == "UCS"
    assert measured(found)["letter"] == "UCS"


def test_the_rating_of_a_measured_chain_can_be_a_part_of_a_longer_chain(shared_agency, compose, measured, rated):
    pair = measured(compose("faithful", "balancing"))
    chain = [{"rating": pair["id"]}, {"rating": rated("always-he")["id"]}]
    found = shared_agency.agency.post("/v1/compositions", {"chain": chain})
    links = found["verification"]["body"]["target"]["settings"]["links"]
    assert [link["name"] for link in links] == ["faithful", "balancing", "always-he"]
    assert measured(found)["letter"] == found["letter"] == "BS"


def test_saved_targets_are_composed_by_their_newest_ratings_and_keep_their_secrets(shared_agency, services, measured):
    agency = shared_agency.agency
    ids = []
    for name in ("faithful", "balancing"):
        saved = agency.post("/v1/targets", target(services, name) | {"secret": "sk-only-the-vault-knows"})
        ids.append(saved["id"])
        shared_agency.finished(
            agency.post("/v1/jobs", {"target": {"id": saved["id"]}, "experiment": experiment(), "seed": 1})["id"]
        )
    chain = [{"target": one} for one in ids]
    found = agency.post("/v1/compositions", {"chain": chain, "attribute": "gender"})
    links = found["verification"]["body"]["target"]["settings"]["links"]
    assert links == [{"id": ids[0], "path": ["en", "*", "en"]}, {"id": ids[1]}]
    rating = measured(found)
    assert rating["letter"] == found["letter"] == "UCS"
    assert "sk-only" not in str(rating) + str(found)
    job = agency.post("/v1/targets", {"name": "both", "kind": "translator", "protocol": "chain",
                                      "settings": {"links": links}})  # fmt: skip
    probe = shared_agency.finished(agency.post(f"/v1/targets/{job['id']}/probe", {})["id"])
    assert (probe["status"], probe["result"]["deterministic"]) == ("succeeded", True)


def test_a_failed_job_names_the_failing_link_of_its_chain(shared_agency, services):
    links = [target(services, "faithful") | {"path": ["en", "*", "en"]}, target(services, "unauthorised")]
    chain = {"name": "c", "kind": "translator", "protocol": "chain", "settings": {"links": links}}
    job = shared_agency.agency.post("/v1/jobs", {"target": chain, "experiment": experiment()})
    ended = shared_agency.finished(job["id"])
    assert ended["status"] == "failed"
    assert "Link 2 of 2 (unauthorised)" in ended["error"]["detail"]


def test_a_translator_followed_by_a_classifier_is_rated_as_a_classifier(shared_agency, services, rated, measured):
    agency = shared_agency.agency
    judge = {"name": "judge", "kind": "classifier", "protocol": "hf-inference"}
    judge |= {"base_url": services.url("group-sentiment-10")}
    asked = {"method": "alternation", "attribute": "gender", "profiles": 200}
    job = shared_agency.finished(agency.post("/v1/jobs", {"target": judge, "experiment": asked, "seed": 1})["id"])
    chain = [{"rating": rated("faithful")["id"]}, {"rating": job["rating"]["id"]}]
    found = agency.post("/v1/compositions", {"chain": chain})
    assert (found["kind"], found["letter"], found["settled_by"]) == ("classifier", "BS", "table")
    assert "methods-differ" in {note["code"] for note in found["notes"]}
    rating = measured(found)
    assert (rating["target"]["kind"], rating["method"], rating["letter"]) == ("classifier", "alternation", "BS")


@pytest.mark.skipif(not Apertium.available(), reason=f"Apertium is not installed; {Apertium.how_to_install}")
def test_apertiums_own_chain_gives_the_same_matrix_as_a_chain_of_two_apertium_targets(shared_agency):
    def rate(settings: dict, languages: list[str], **more) -> dict:
        # with another seed, the second link's letter can be uncertain, and with it the chain's
        body = {"target": described | {"settings": settings} | more, "experiment": asked | {"languages": languages}}
        job = shared_agency.finished(shared_agency.agency.post("/v1/jobs", body | {"seed": 1})["id"], 200)
        assert job["status"] == "succeeded", job
        return shared_agency.agency.get(job["rating"]["href"])

    asked = {"method": "round-trip", "attribute": "gender", "stop_early": False, "texts_per_block": 20}
    with Apertium() as apertium:
        described = {"name": "APy", "kind": "translator", "protocol": "apertium", "base_url": apertium.url}
        links = [described | {"path": ["en", "es", "en"]}, described]
        ours = rate({"links": links}, ["eo"], protocol="chain", base_url=None)
        theirs = rate({"chain": ["eng", "spa", "eng"]}, ["eo"])
        chain = [{"rating": rate({}, [language])["id"]} for language in ("es", "eo")]
        found = shared_agency.agency.post("/v1/compositions", {"chain": chain})
        assert found["verification"]["body"]["target"]["settings"]["links"][0]["path"] == ["en", "es", "en"]
    assert (ours["letter"], theirs["letter"]) == ("BS", "BS")
    one, other = (rating["components"][0]["transitions"] for rating in (ours, theirs))
    assert one == other
    assert found["letter"] == "BS"
    assert found["predicted"]["emits_other"]  # no rating measured how Esperanto translates "it"
    assert "emits-other" in {note["code"] for note in found["notes"]}
