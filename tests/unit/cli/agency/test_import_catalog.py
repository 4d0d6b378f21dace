"""`assay import`: catalogs in three formats become the body of a suite."""

from __future__ import annotations

import json

import pytest

from assay.errors import SpecificationError
from cli.agency.import_catalog import read_catalog, run

HERE = "http://127.0.0.1:5000"
TRANSLATORS = {"kind": "translator", "protocol": "libretranslate"}
NONE = {"kind": None, "protocol": None}


@pytest.fixture
def catalog(tmp_path):
    def catalog(name, content):
        file = tmp_path / name
        file.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return file

    return catalog


def test_rows_of_a_csv_catalog_become_targets(catalog):
    file = catalog(
        "services.csv",
        "name,kind,protocol,base_url,settings,id\n"
        f'A,translator,libretranslate,{HERE},"{{""timeout"": 3}}",\n'
        f"B,,,{HERE}/b,,\n"
        ",,,,,tgt_1\n",
    )
    assert read_catalog(file, TRANSLATORS) == [
        {"name": "A", **TRANSLATORS, "base_url": HERE, "settings": {"timeout": 3}},
        {"name": "B", **TRANSLATORS, "base_url": f"{HERE}/b"},
        {"id": "tgt_1"},
    ]


def test_entries_of_apis_json_become_targets(catalog):
    apis = {
        "name": "Ours",
        "apis": [
            {"name": "A", "baseURL": HERE, "x-assay": TRANSLATORS},
            {"name": "B", "baseURL": HERE, "x-assay": {"kind": "embedder", "protocol": "tei"}},
        ],
    }
    assert [one["kind"] for one in read_catalog(catalog("apis.json", apis), NONE)] == ["translator", "embedder"]


def test_an_openapi_document_may_be_yaml(catalog):
    file = catalog("openapi.yaml", f'openapi: 3.1.0\ninfo: {{title: A}}\nservers: [{{url: "{HERE}"}}]\n')
    assert read_catalog(file, TRANSLATORS) == [{"name": "A", "base_url": HERE, **TRANSLATORS}]
    with pytest.raises(SpecificationError, match="is not YAML"):
        read_catalog(catalog("broken.yml", "openapi: [3"), TRANSLATORS)


@pytest.mark.parametrize("several", [True, False])
def test_openapi_documents_become_targets(catalog, several):
    document = {"openapi": "3.1.0", "info": {"title": "A"}, "servers": [{"url": HERE}], "x-assay": TRANSLATORS}
    file = catalog("openapi.json", [document, document] if several else document)
    assert read_catalog(file, NONE) == [{"name": "A", "base_url": HERE, **TRANSLATORS}] * (2 if several else 1)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.csv", "name,secret\nA,sk-1\n", "no column is called 'secret'"),
        ("a.csv", "name,kind\nA,translator\n", "service 1: the protocol is missing"),
        ("a.csv", "name,kind,protocol\n", "names no service"),
        ("a.json", "{", "not JSON"),
        ("a.json", {"swagger": "2.0"}, "neither CSV"),
        ("a.json", {"openapi": "3.1.0", "x-assay": TRANSLATORS | {"secret": "x"}}, "no field of x-assay"),
    ],
)
def test_an_invalid_catalog_is_refused_with_the_reason(catalog, name, content, said):
    with pytest.raises(SpecificationError, match=said):
        read_catalog(catalog(name, content), NONE)


def test_an_import_without_an_agency_prints_the_request(catalog, capsys):
    file = catalog("a.csv", f"name,base_url\nA,{HERE}\n")
    run([file], TRANSLATORS, {"methods": [], "languages": ["es"]}, agency=None, key_file=None, plan=False)
    expected = {"targets": [{**TRANSLATORS, "name": "A", "base_url": HERE}], "languages": ["es"]}
    assert json.loads(capsys.readouterr().out) == expected


def test_an_agency_that_does_not_answer_is_named_in_the_error(catalog):
    file = catalog("a.csv", f"name,base_url\nA,{HERE}\n")
    with pytest.raises(OSError, match=r"no agency answers at http://127\.0\.0\.1:9"):
        run([file], TRANSLATORS, {}, agency="http://127.0.0.1:9", key_file=None, plan=False)


@pytest.mark.parametrize("address", ["http://[::1", "http://127.0.0.1:port"])
def test_a_malformed_address_of_the_agency_is_refused(catalog, address):
    file = catalog("a.csv", f"name,base_url\nA,{HERE}\n")
    with pytest.raises(SpecificationError, match="is not the address of an agency"):
        run([file], TRANSLATORS, {}, agency=address, key_file=None, plan=False)
