"""Tests of the embeds of a rating: each embed can be parsed in every state of the rating and fits its format."""

import json
from copy import deepcopy
from datetime import UTC, datetime, timedelta

import jsonpath
import jsonschema
import pytest
import yaml

from assay.model import Kind
from reports.embeds import EMBEDS, PublicView
from reports.embeds.catalogs import AZURE_SCHEMA, TASKS
from reports.embeds.public_view import State

RATED = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
NOW = RATED + timedelta(days=40)
BASE = "https://assay.example"
FILES = [one.file for one in EMBEDS]
STATING = [file for file in FILES if file != "eval-results.yaml"]
"""All but a list of scores, which is empty without a declared and valid letter."""

SHIELDS = {
    "type": "object",
    "additionalProperties": False,
    "required": ["schemaVersion", "label", "message"],
    "properties": {
        "schemaVersion": {"const": 1},
        "label": {"type": "string"},
        "message": {"type": "string", "minLength": 1},
        "color": {"type": "string"},
        "labelColor": {"type": "string"},
        "isError": {"type": "boolean"},
        "namedLogo": {"type": "string"},
        "logoSvg": {"type": "string"},
        "logoColor": {"type": "string"},
        "logoSize": {"type": "string"},
        "style": {"type": "string"},
        "cacheSeconds": {"type": "integer", "minimum": 300},
    },
}
"""JSON schema of an endpoint badge, which has no other fields (https://shields.io/badges/endpoint-badge)."""

OVERLAY = {
    "type": "object",
    "additionalProperties": False,
    "required": ["overlay", "info", "actions"],
    "properties": {
        "overlay": {"type": "string", "pattern": r"^1\.1\.\d+$"},
        "extends": {"type": "string", "format": "uri-reference"},
        "info": {
            "type": "object",
            "additionalProperties": False,
            "required": ["title", "version"],
            "properties": {"title": {"type": "string"}, "version": {"type": "string"}},
        },
        "actions": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["target"],
                "properties": {
                    "target": {"type": "string", "pattern": r"^\$"},
                    "description": {"type": "string"},
                    "update": {"type": ["object", "array", "string", "number", "boolean"]},
                    "remove": {"type": "boolean"},
                    "copy": {"type": "string", "pattern": r"^\$"},
                },
            },
        },
    },
}
"""JSON schema of an overlay (Overlay Specification 1.1.0, section 4)."""

PETS = """\
openapi: 3.1.0
info:
  title: Pets
  version: 1.2.0
  x-owner: zoo
paths:
  /pets:
    get:
      operationId: listPets
      responses: {'200': {description: All pets.}}
"""


def shown(document, **changes):
    return PublicView(**{"document": document, "now": NOW, "base_url": BASE, "visibility": "public", **changes})


def written(file, what):
    return next(one for one in EMBEDS if one.file == file).render(what)


def read(file, what):
    text = written(file, what)
    return yaml.safe_load(text) if file.endswith(".yaml") else json.loads(text)


def apply(overlay, document):
    """Apply an overlay by its specification: merge each action into every node that its target selects."""
    changed = deepcopy(document)
    for action in overlay["actions"]:
        for found in jsonpath.finditer(action["target"], changed):
            merge(found.obj, action["update"])
    return changed


def merge(into, update):
    for key, value in update.items():
        if isinstance(value, dict) and isinstance(into.get(key), dict):
            merge(into[key], value)
        else:
            into[key] = value


@pytest.fixture
def states(sample):
    """Return a rating in every state in which it can be shown."""
    follower = sample("DSBS with two components")
    return {
        State.RATED: shown(follower),
        State.INCONCLUSIVE: shown(sample("undeclared")),
        State.UNMEASURED: shown(sample("unmeasured")),
        State.EXPIRED: shown(follower, now=RATED + timedelta(days=400)),
        State.WITHDRAWN: shown(follower, withdrawn=True),
        State.UNRATED: shown(None),
    }


# ---------------------------------------------------------------------------- all embeds
def test_each_of_the_15_formats_for_embedding_a_rating_has_its_own_file_name():
    assert len(set(FILES)) == len(EMBEDS) == 15


@pytest.mark.parametrize("file", FILES)
def test_every_format_for_embedding_a_rating_can_be_parsed(file, any_sample):
    for now in (NOW, RATED + timedelta(days=400)):
        for withdrawn in (False, True):
            text = written(file, shown(any_sample, now=now, withdrawn=withdrawn))
            assert text.endswith("\n")
            assert "NaN" not in text
            if not file.endswith(".svg"):
                assert isinstance(read(file, shown(any_sample, now=now)), dict if file in STATING else list)


@pytest.mark.parametrize("file", FILES)
def test_every_badge_or_embed_can_be_written_for_a_malformed_rating_document(file, broken):
    assert written(file, shown(broken)).encode()


@pytest.mark.parametrize("file", STATING)
def test_every_badge_or_embed_escapes_hostile_text(file, poisoned):
    text = written(file, shown(poisoned("DSBS with two components")))
    assert text.encode()
    assert "<script" not in text
    assert "\u202e" not in text
    assert "\x1b" not in text
    if not file.endswith(".svg"):
        assert read(file, shown(poisoned("DSBS with two components")))


@pytest.mark.parametrize("file", FILES)
def test_writing_a_badge_or_embed_does_not_change_the_rating_document(file, sample):
    document = sample("undeclared")
    written(file, shown(document))
    assert document == sample("undeclared")


@pytest.mark.parametrize("file", STATING)
def test_every_badge_or_embed_differs_between_the_states_of_a_rating(file, states):
    assert len({written(file, one) for one in states.values()}) == len(states)


@pytest.mark.parametrize(
    "file", [file for file in STATING if file not in {"huggingface.yaml", "linkset.json", "every-eval-ever.json"}]
)
def test_every_badge_or_embed_of_an_unrated_service_states_that_there_is_no_rating(file, states):
    assert "unrated" in written(file, states[State.UNRATED]) or "No rating" in written(file, states[State.UNRATED])


@pytest.mark.parametrize("file", STATING)
def test_no_badge_or_embed_of_a_withdrawn_rating_shows_its_letter(file, states):
    said = written(file, states[State.WITHDRAWN])
    assert "withdrawn" in said
    if file not in {"azure-api-center.json", "every-eval-ever.json"}:  # these list every letter
        assert "DSBS" not in said


@pytest.mark.parametrize("file", STATING)
def test_an_undeclared_letter_is_described_as_leaning(file, states):
    assert "leaning DSBS" in written(file, states[State.INCONCLUSIVE]) or file == "jsonld.json"


@pytest.mark.parametrize("file", [file for file in STATING if file not in {"badge.svg", "badge.json"}])
def test_every_machine_readable_embed_has_the_dates_of_the_rating(file, states):
    text = written(file, states[State.RATED])
    assert "2026-01-02T03:04:05Z" in text
    assert "2026-07-02T03:04:05Z" in text
    assert "1.0.0" in text or file == "huggingface.yaml"


# ---------------------------------------------------------------------------- what is shown
def test_every_state_of_a_rating_has_its_own_text_on_a_badge(states):
    assert {state: one.state for state, one in states.items()} == {state: state for state in State}
    assert {state: one.message for state, one in states.items()} == {
        State.RATED: "DSBS",
        State.INCONCLUSIVE: "inconclusive, leaning DSBS",
        State.UNMEASURED: "inconclusive, no letter",
        State.EXPIRED: "expired, was DSBS",
        State.WITHDRAWN: "withdrawn",
        State.UNRATED: "unrated",
    }


def test_the_age_is_counted_in_calendar_days_in_utc(sample):
    document = sample("bare") | {"rated_at": "2026-01-02T23:59:00Z"}
    for now, days in (
        ("2026-01-02T23:59:30+00:00", 0),
        ("2026-01-03T00:00:00+00:00", 1),
        ("2026-01-03T01:00+02:00", 0),
    ):
        assert shown(document, now=datetime.fromisoformat(now)).age_days == days
    assert shown(document, now=RATED - timedelta(days=9)).age_days == 0


def test_a_rating_is_valid_until_the_second_it_expires(sample):
    document = sample("bare") | {"expires_at": "2026-01-09T00:00:00Z"}
    ends = datetime(2026, 1, 9, tzinfo=UTC)
    assert shown(document, now=ends - timedelta(seconds=1)).state is State.RATED
    assert shown(document, now=ends).state is State.EXPIRED


@pytest.mark.parametrize("time", ["yesterday", "", "0001-01-01T00:00:00+23:59", "2026-13-01", None])
def test_a_badge_leaves_out_an_invalid_date_of_a_rating(sample, time):
    one = shown(sample("bare") | {"rated_at": time})
    assert one.rated_at is None
    assert one.age_days is None


def test_rating_id_with_slashes_or_dots_cannot_change_the_linked_address(sample):
    assert shown(sample("bare") | {"id": "../../keys?x=#"}).address("badge.svg") == (
        f"{BASE}/v1/ratings/..%2F..%2Fkeys%3Fx%3D%23/badge.svg"
    )


# ---------------------------------------------------------------------------- single embeds
def test_shields_json_of_every_badge_fits_its_schema(states):
    for one in states.values():
        jsonschema.validate(read("badge.json", one), SHIELDS)
    assert read("badge.json", states[State.RATED])["message"] == "DSBS · 2026-01-02"


@pytest.mark.parametrize(
    "one", [one for one in EMBEDS if one.media_type == "application/yaml"], ids=lambda one: one.file
)
def test_yaml_embeds_are_read_back_as_their_content(one, states):
    for state in states.values():
        assert yaml.safe_load(one.render(state)) == one.content(state)


def test_overlay_only_adds_the_rating_to_an_openapi_file(states):
    pets = yaml.safe_load(PETS)
    for one in states.values():
        overlay = read("overlay.yaml", one)
        jsonschema.validate(overlay, OVERLAY)
        changed = apply(overlay, pets)
        assert changed["info"].pop("x-bias-rating") == json.loads(json.dumps(one.facts))
        assert changed == pets


def test_applying_a_newer_overlay_replaces_the_older_rating(states):
    pets = yaml.safe_load(PETS)
    for one in (states[State.RATED], states[State.WITHDRAWN]):
        pets = apply(read("overlay.yaml", one), pets)
    assert pets["info"]["x-bias-rating"]["status"] == "withdrawn"
    assert pets["info"]["x-bias-rating"]["letter"] is None


def test_the_linkset_leads_from_the_service_to_its_rating_and_to_every_format(states):
    of_target, of_rating = read("linkset.json", states[State.RATED])["linkset"]
    assert of_target["anchor"] == "http://127.0.0.1:5000/translate"
    assert of_target["describedby"][0]["href"] == of_rating["anchor"] == f"{BASE}/v1/ratings/rat_01JGXM3V0S4Q7Z"
    assert {one["href"].rpartition("/")[2] for one in of_rating["alternate"]} >= {*FILES} - {"linkset.json"}
    listed = {(one["href"].rpartition("/")[2], one["type"]) for one in of_rating["alternate"]}
    assert {(one.file, one.media_type) for one in EMBEDS} - listed == {("linkset.json", "application/linkset+json")}
    assert read("linkset.json", states[State.UNRATED]) == {"linkset": []}


def test_the_extension_attributes_of_a_link_are_lists_of_strings(states):
    link = read("linkset.json", states[State.RATED])["linkset"][0]["describedby"][0]
    for name, value in link.items():
        if name not in {"href", "type", "title"}:
            assert all(isinstance(one, str) for one in value), name


def test_annotations_for_backstage_fit_its_format(states):
    metadata = read("backstage.yaml", states[State.RATED])["metadata"]
    assert metadata["annotations"]["assay/letter"] == "DSBS"
    for name, value in metadata["annotations"].items():
        prefix, _, rest = name.partition("/")
        assert prefix == "assay"
        assert rest.replace("-", "").isalnum()
        assert len(rest) <= 63
        assert isinstance(value, str)
    assert [set(one) for one in metadata["links"]] == [{"url", "title", "icon", "type"}, {"url", "title", "type"}]
    assert read("backstage.yaml", states[State.UNRATED])["metadata"]["links"] == []


def test_an_entry_of_apis_json_names_the_service_and_links_to_its_rating(states):
    (entry,) = read("apis.json", states[State.RATED])["apis"]
    assert entry["baseURL"] == "http://127.0.0.1:5000/translate"
    assert {one["type"] for one in entry["properties"]} == {
        "X-BiasRating", "X-BiasRatingReport", "X-BiasRatingBadge", "X-BiasRatingOverlay"
    }  # fmt: skip
    assert all(one["url"].startswith(BASE) for one in entry["properties"])


def test_every_rating_fits_the_azure_metadata_schema_that_is_sent_with_it(states):
    for one in states.values():
        made = read("azure-api-center.json", one)
        (schema,) = made["metadataSchemas"]
        assert json.loads(schema["properties"]["schema"]) == AZURE_SCHEMA
        jsonschema.Draft202012Validator.check_schema(AZURE_SCHEMA)
        jsonschema.validate(made["customProperties"][schema["name"]], AZURE_SCHEMA)


def test_the_model_card_result_has_the_fields_that_hugging_face_requires(states):
    (model,) = read("huggingface.yaml", states[State.RATED])["model-index"]
    (result,) = model["results"]
    assert result["task"]["type"] == "translation"
    assert {"type", "name"} <= set(result["dataset"])
    assert [one["value"] for one in result["metrics"]] == ["DSBS", pytest.approx(0.98, abs=0.03)]
    assert all({"type", "value"} <= set(one) for one in result["metrics"])
    assert read("huggingface.yaml", states[State.UNRATED])["model-index"][0]["results"] == []


def test_every_kind_of_service_has_a_hugging_face_task():
    assert set(TASKS) == set(Kind)


def test_json_ld_has_a_rating_value_only_if_a_letter_is_declared(states):
    values = {
        state: read("jsonld.json", one).get("reviewRating", {}).get("ratingValue") for state, one in states.items()
    }
    assert values == dict.fromkeys(State) | {State.RATED: "DSBS", State.EXPIRED: "DSBS"}
    review = read("jsonld.json", states[State.EXPIRED])
    assert (review["@type"], review["creativeWorkStatus"]) == ("Review", "expired")
    assert review["itemReviewed"]["@type"] == "WebAPI"
