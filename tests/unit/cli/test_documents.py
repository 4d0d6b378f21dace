"""Untrusted catalogs and OpenAPI documents need little time and memory; malformed ones are refused in one line.

Row 98 of docs/reliability.md: at ffe18d3c a YAML bomb took 5 GB, a self-reference more than 60 s.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from assay.errors import SpecificationError
from cli.agency.import_catalog import read_catalog
from cli.documents import MOST_BYTES, parse_toml, parse_yaml, read_document, read_text
from cli.drafting.openapi import read_openapi

ROOT = Path(__file__).resolve().parents[3]
NINE = "[x, x, x, x, x, x, x, x, x]"
BOMB = f"openapi: 3.0.0\na0: &a0 {NINE}\n" + "".join(
    f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 9)}]\n" for level in range(1, 12)
)
"""Aliases of aliases: 9**12 values in 600 characters."""

OPENAPI = "openapi: 3.0.0\ninfo: {title: t}\nservers: [{url: 'https://a.example'}]\n"
LOOP = OPENAPI + (
    "paths: {/t: {post: {requestBody: {content: {application/json: {schema: {$ref: '#/components/schemas/A'}}}}}}}\n"
    "components: {schemas: {A: {properties: {"
    + ", ".join(f"p{number}: {{$ref: '#/components/schemas/A'}}" for number in range(20))
    + "}}}}\n"
)
"""A schema with 20 members of its own kind: 20**8 members in eight levels."""

MALFORMED = {
    "aliases of aliases.yaml": BOMB,
    "refers to itself.yaml": "apis: &a [*a]\n",
    "nested deeply.yaml": "apis: " + "[" * 100_000,
    "nested deeply.json": '{"apis": ' + "[" * 100_000,
    "millions of values.yaml": "apis: [" + "[]," * 1_000_000 + "]",
    "a list of texts.json": '{"apis": ["a", "b"]}',
    "servers that are a text.json": '{"openapi": "3.1.0", "servers": "https://a.example"}',
    "more cells than columns.csv": "name,kind\na,b,c,d\n",
    "a cell of a megabyte.csv": 'name,kind\n"' + "x" * 1_000_000 + '",b\n',
    "a date.yaml": "openapi: 3.1.0\nx-assay: {name: !!timestamp 2026-01-01}\n",
    "a number without end.json": '{"openapi": "3.1.0", "x-assay": {"limits": {"concurrency": 1e999}}}',
    "too many digits.json": '{"openapi": ' + "9" * 10_000 + "}",
    "larger than 4 MiB.json": " " * (MOST_BYTES + 1),
    "not text.csv": b"\xff\xfe\x00",
    "fields of a text.json": '{"openapi": "3.1.0", "x-assay": "translator"}',
    "a name that is a list.json": '{"openapi": "3.1.0", "x-assay": {"kind": ["translator"], "protocol": "tei"}}',
}


@pytest.fixture
def file(tmp_path):
    def file(name, content):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return file


MEASURED = """
import json, resource, subprocess, sys
done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([done.returncode, done.stderr.splitlines(), used.ru_maxrss / 1000, used.ru_utime]))
"""
"""Program that runs a command and prints its exit code, lines, memory and time.

It is small, because the kernel counts the memory of the process that starts a command as the command's.
"""


def assay(*arguments):
    """Run a command; return its exit code, its lines on standard error, and its peak memory in MB."""
    command = [sys.executable, "-m", "cli.main", *map(str, arguments)]
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, *command], cwd=ROOT, check=True, capture_output=True, text=True
    )
    code, lines, memory_mb, processor_s = json.loads(done.stdout)
    return code, lines, memory_mb, processor_s


@pytest.mark.slow
@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_catalog_exits_with_64_and_one_line_and_needs_few_resources(file, name):
    # aliases of aliases took 5 GB, and a list of texts ended as "unexpected AttributeError"
    code, lines, memory_mb, processor_s = assay("import", file(name, MALFORMED[name]))
    assert code == 64
    assert len(lines) == 1
    assert "unexpected" not in lines[0]
    assert memory_mb < 300  # of these, about 100 are the interpreter and its libraries
    assert processor_s < 10


@pytest.mark.slow
@pytest.mark.parametrize("content", [BOMB, LOOP, OPENAPI + "paths: &a {/t: *a}\n", OPENAPI + "paths: [post]\n"])
def test_a_malformed_openapi_document_exits_with_64_and_one_line_and_needs_few_resources(file, tmp_path, content):
    # a schema of its own kind took more than a minute
    code, lines, memory_mb, processor_s = assay("init", tmp_path / "new.toml", "--openapi", file("a.yaml", content))
    assert code == 64
    assert len(lines) == 1
    assert "unexpected" not in lines[0]
    assert memory_mb < 300
    assert processor_s < 10
    assert not (tmp_path / "new.toml").exists()


@pytest.mark.parametrize("name", [name for name in MALFORMED if "millions" not in name])
def test_every_kind_of_malformed_catalog_is_refused(file, name):
    with pytest.raises(SpecificationError):
        read_catalog(file(name, MALFORMED[name]), {"kind": None, "protocol": None})


def test_a_schema_that_refers_to_itself_once_is_read(file):
    once = LOOP.replace("p1:", "text: {type: string}, p1:").split(", p1:")[0] + "}}}}\n"
    assert read_openapi(file("a.yaml", once), None).body["text"] == "example text"


def test_yaml_values_have_the_types_of_json():
    read = parse_yaml("a: no\nb: 2026-01-01\nc: 12\nd: 1.5\ne: ~\nf: true\n200: x\nh: 1:30\ni: 010\nj: 1e3", "a.yaml")
    assert read == {
        "a": "no",
        "b": "2026-01-01",
        "c": 12,
        "d": 1.5,
        "e": None,
        "f": True,
        "200": "x",
        "h": "1:30",
        "i": "010",
        "j": 1000.0,
    }


def test_a_yaml_alias_of_a_small_value_is_replaced():
    assert parse_yaml("a: &a {b: 1}\nc: *a\nd: {<<: *a, e: 2}", "a.yaml")["d"] == {"b": 1, "e": 2}


def test_a_yaml_alias_of_a_long_text_counts_its_characters_towards_the_limit():
    text = f"a: &a {'x' * 100_000}\nb: [{', '.join(['*a'] * 100)}]"
    with pytest.raises(SpecificationError, match="when its aliases are replaced"):
        parse_yaml(text, "a.yaml")


@pytest.mark.parametrize(
    "text", ["a = " + "[" * 100_000, ".".join("a" * 100_000) + " = 1", "a = 2026-01-01", "a = nan"]
)
def test_toml_that_is_slow_to_read_or_not_json_is_refused(text):
    with pytest.raises(SpecificationError):
        parse_toml(text, "a.toml")


def test_an_endless_file_is_refused():
    with pytest.raises(SpecificationError, match="more than"):
        read_text(Path("/dev/zero"))


def test_a_json_file_may_begin_with_a_byte_order_mark(file):
    assert read_document(file("a.json", "\ufeff{}")) == {}


def test_yaml_is_read_in_one_module_only():
    # so that no other place forgets the limits
    packages = ("assay", "reports", "store", "service", "web", "workers", "cli", "demo")
    modules = [path for package in packages for path in (ROOT / package).rglob("*.py")]
    assert [
        path.name
        for path in modules
        if re.search(
            r"^from yaml\b|\byaml\.\w*(?:load|parse|compose|scan)", path.read_text(encoding="utf-8"), re.MULTILINE
        )
    ] == ["documents.py"]
