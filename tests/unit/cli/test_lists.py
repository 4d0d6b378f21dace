"""Lists of names for requests: JSON output, filters, complete names, and errors for wrong names."""

import io
import json
import os
import subprocess

import pytest

from cli.main import main
from store.core import migrate
from tests.support.commands import run_command
from workers.targets.registry import protocols


def assay(*arguments: str) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("ASSAY_")}
    return run_command(*arguments, environment=clean)


@pytest.mark.parametrize("name", ["methods", "attributes", "specifications", "protocols"])
def test_the_json_output_of_a_list_is_one_document(name):
    listed = json.loads(assay(name, "--json").stdout)
    assert len(listed) > 2
    assert name.rstrip("s") in listed[0]


def test_every_field_of_a_method_is_described():
    for one in json.loads(assay("methods", "--json").stdout):
        fields = json.loads(assay("methods", one["method"], "--json").stdout)["fields"]
        assert not [field["field"] for field in fields if not field["description"]]
    assert "is a component" in assay("methods", "round-trip").stdout


@pytest.mark.slow
def test_lists_are_filtered_by_kind_attribute_and_text():
    embedders = json.loads(assay("protocols", "--kind", "embedder", "--json").stdout)
    assert all("embedder" in one["rates"] for one in embedders)
    assert {"openai-embeddings", "custom"} <= {one["protocol"] for one in embedders}
    assert "libretranslate" not in {one["protocol"] for one in embedders}
    about = json.loads(assay("specifications", "--attribute", "race", "--json").stdout)
    assert about
    assert {one["about"] for one in about} == {"race"}
    assert [one["attribute"] for one in json.loads(assay("attributes", "--search", "HINDU", "--json").stdout)] == [
        "religion"
    ]


def test_names_are_not_shortened_in_a_narrow_table():
    shown = assay("specifications").stdout
    for one in json.loads(assay("specifications", "--json").stdout):
        assert one["specification"] in shown


@pytest.mark.slow
@pytest.mark.parametrize("name", [one.name for one in protocols()])
def test_every_setting_of_a_protocol_is_listed_with_its_description(name):
    listed = json.loads(assay("protocols", name, "--json").stdout)
    schema = next(one for one in protocols() if one.name == name).settings_schema()
    assert [one["setting"] for one in listed["settings"]] == list(schema.get("properties", {}))
    assert all(len(one["description"]) > 10 for one in listed["settings"])


@pytest.mark.slow
def test_a_protocol_is_shown_as_text_with_defaults_and_descriptions():
    shown = assay("protocols", "libretranslate").stdout
    assert "batch_maximum" in shown
    assert "default 25" in shown
    assert "Most texts in one call" in shown


@pytest.mark.slow
def test_api_keys_are_listed_with_complete_ids_as_table_and_as_json(tmp_path):
    database = f"sqlite:///{tmp_path}/keys.db"
    migrate.upgrade(database)
    for name in ("first", "second"):
        assert assay("keys", "create", "--name", name, "--database-url", database).returncode == 0
    listed = json.loads(assay("keys", "list", "--database-url", database, "--json").stdout)
    assert [one["name"] for one in listed] == ["second", "first"]
    shown = assay("keys", "list", "--database-url", database, "--search", "first").stdout
    assert listed[1]["id"] in shown
    assert listed[0]["id"] not in shown


@pytest.mark.parametrize(
    ("command", "near"),
    [
        (("rate", "--url", "http://127.0.0.1:9", "--protocol", "libretranslat"), "libretranslate"),
        (("rate", "--url", "http://127.0.0.1:9", "--protocol", "openai_chat"), "openai-chat"),
        (("protocols", "libretranslat"), "libretranslate"),
    ],
)
def test_an_unknown_protocol_is_refused_with_the_nearest_name(command, near):
    done = assay(*command)
    assert done.returncode == 64
    assert f"did you mean {near!r}?" in done.stderr


def test_help_has_the_whole_first_paragraph_of_every_command():
    told = " ".join(assay("--help").stdout.split())
    assert "..." not in told.partition("Commands:")[2]
    assert "migrate Bring the database to the schema of this version. Safe to run twice, or from two machines." in told
    assert "rotate Reseal" in " ".join(assay("secrets", "--help").stdout.split())


@pytest.mark.parametrize("command", ["rate", "probe", "methods", "protocols"])
def test_help_names_all_six_kinds_of_service(command):
    told = " ".join(assay(command, "--help").stdout.split())
    for kind in ("translator", "classifier", "regressor", "embedder", "language-model", "image-classifier"):
        assert kind in told


def test_a_list_is_printed_to_a_terminal_without_the_characters_of_its_texts(monkeypatch):
    printed = io.BytesIO()
    terminal = io.TextIOWrapper(printed, encoding="ascii", write_through=True)
    monkeypatch.setattr("sys.stdout", terminal)
    monkeypatch.setattr("sys.argv", ["assay", "protocols", "custom"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    assert b"(1.234,5 ?)" in printed.getvalue()
