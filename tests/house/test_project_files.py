"""Files for people who join the project agree with the sources: make targets, containers, templates, updates."""

from __future__ import annotations

import ast
import json
import re
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
FORMS = [path for path in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml") if path.name != "config.yml"]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / ".github" / "pull_request_template.md"]
PAGES += sorted((ROOT / "docs").glob("*.md"))


UNSHIPPED = {"assay_client", "benchmarks", "tests", "tools"}
"""Packages of the checkout that the wheel lacks. It lacks `demo`, too, which commands check first."""


def targets() -> set[str]:
    return set(re.findall(r"^([a-z-]+):.* ## ", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_every_make_target_that_a_page_names_exists(path):
    commands = re.findall(r"`make ([a-z -]+)", path.read_text(encoding="utf-8"))
    assert {target for command in commands for target in command.split()} <= targets()


def test_the_phony_list_of_the_makefile_contains_every_target_and_no_other():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    (phony,) = re.findall(r"^\.PHONY: (.+)$", makefile, re.MULTILINE)
    assert set(phony.split()) == targets()


def test_the_development_container_has_the_python_version_of_the_image():
    container = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text(encoding="utf-8"))
    (shipped,) = set(re.findall(r"^FROM python:(\d+\.\d+)-", (ROOT / "Dockerfile").read_text(), re.MULTILINE))
    assert container["image"].startswith(f"python:{shipped}-")
    assert container["postCreateCommand"].removeprefix("make ") in targets()


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.name)
def test_every_issue_form_has_a_label_and_an_identifier_for_each_field(path):
    form = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert form.keys() >= {"name", "description", "body"}
    fields = [field for field in form["body"] if field["type"] != "markdown"]
    assert {field["type"] for field in fields} <= {"textarea", "input", "checkboxes", "dropdown"}
    identifiers = [field["id"] for field in fields]
    assert len(identifiers) == len(set(identifiers)) > 0
    assert all(field["attributes"]["label"] for field in fields)


def test_folders_that_dependabot_checks_for_updates_exist():
    manifests = {"pip": "pyproject.toml", "docker": "Dockerfile", "npm": "package.json", "github-actions": "action.yml"}
    updates = yaml.safe_load((ROOT / ".github" / "dependabot.yml").read_text(encoding="utf-8"))["updates"]
    assert {update["package-ecosystem"] for update in updates} == set(manifests)
    for update in updates:
        for directory in update.get("directories") or [update["directory"]]:
            assert (ROOT / directory.lstrip("/") / manifests[update["package-ecosystem"]]).is_file(), directory


def test_no_module_of_the_wheel_imports_a_package_that_the_wheel_lacks():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    imports = set()
    for package in project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]:
        for path in (ROOT / package).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Import):
                    imports |= {(path.name, name.name.partition(".")[0]) for name in node.names}
                elif isinstance(node, ast.ImportFrom):
                    imports.add((path.name, str(node.module).partition(".")[0]))
    assert len(imports) > 300
    assert not {(file, package) for file, package in imports if package in UNSHIPPED}
