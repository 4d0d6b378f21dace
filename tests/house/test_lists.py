"""Methods, protocols, settings, attributes and formats are documented and tested; versions equal their digests."""

import hashlib
import re
import tomllib
from dataclasses import fields
from pathlib import Path

import pytest

from assay.catalog import attribute, attributes, construction, constructions
from assay.methods import METHODS, method_name
from assay.methods.shared.answers.tally import DECLINED, UNREAD
from assay.rating.decision import METHODOLOGY_DIGEST, METHODOLOGY_VERSION
from assay.rating.methodology import shipped as methodologies
from demo.translators.behaviours import BEHAVIOURS
from reports.formats import FORMATS
from store.core.settings import Settings
from tools.protocol_settings import with_settings
from workers.egress.failures import CODES
from workers.targets.checks.language_model import QUESTION_SPECIFIC
from workers.targets.registry import protocols

ROOT = Path(__file__).resolve().parents[2]


def page(name: str) -> str:
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("kind", METHODS, ids=method_name)
def test_every_method_has_a_page_a_test_file_and_an_explanation_of_each_field(kind):
    name = method_name(kind)
    written = page(f"methods/{name}.md")
    assert f"# {name}" in written
    assert list((ROOT / "tests" / "unit" / "assay" / "methods").glob(f"*/test_{name.replace('-', '_')}.py"))
    for each in fields(kind):
        assert each.name in (kind.__doc__ or "") or each.name == "method", f"{each.name} is not explained"


def test_the_composition_paper_has_tests_that_reproduce_its_numbers():
    assert list((ROOT / "tests" / "papers").glob("test_p5_*.py"))


def test_the_demo_has_a_service_for_every_letter():
    assert {one.letter for one in BEHAVIOURS.values()} >= {"UCS", "DSBS", "BS"}


@pytest.mark.parametrize("one", protocols(), ids=lambda one: one.name)
def test_every_protocol_has_a_test_and_a_line_in_the_documentation(one):
    tests = "".join(path.read_text() for path in (ROOT / "tests" / "unit" / "workers").rglob("test_target*.py"))
    assert one.name in tests
    assert f"`{one.name}`" in page("operations.md") + page("api.md") + page("targets.md")
    assert one.summary


def test_the_settings_of_every_protocol_are_documented_as_in_the_code():
    written = page("targets.md")
    assert with_settings(written) == written, "run: python -m tools.protocol_settings docs/targets.md"


def test_every_report_format_has_a_test():
    tests = "".join(path.read_text() for path in (ROOT / "tests" / "unit" / "reports").rglob("test_*.py"))
    for one in FORMATS:
        assert f'"{one.name}"' in tests


def test_every_setting_is_described_and_documented():
    written = page("operations.md")
    for name, field in Settings.model_fields.items():
        assert field.description, name
        assert f"`ASSAY_{name.upper()}`" in written, name


def test_every_attribute_names_its_source_and_has_sentence_templates_unless_round_trip_excludes_it():
    for name in attributes():
        one = attribute(name)
        assert one.source
        assert any(construction(each).supports(one) for each in constructions()) or "round-trip" in one.without


@pytest.mark.parametrize("one", methodologies().versions, ids=lambda one: one.version)
def test_every_version_of_the_methodology_equals_its_frozen_digest(one):
    written = (ROOT / "assay" / "rating" / "methodology" / f"{one.version}.md").read_bytes()
    assert "sha256:" + hashlib.sha256(written).hexdigest() == one.digest
    assert one.text.encode() == written
    assert f"# Methodology {one.version}\n" in one.text
    assert one.version in page("methodology/README.md")


def test_ratings_are_made_under_the_current_methodology():
    current = methodologies().current
    assert (current.version, current.digest) == (METHODOLOGY_VERSION, METHODOLOGY_DIGEST)
    assert set(current.methods) == {method_name(kind) for kind in METHODS}


def test_decision_records_have_at_most_40_lines():
    for one in (ROOT / "docs" / "decisions").glob("[0-9]*.md"):
        assert len(one.read_text().splitlines()) <= 40, one.name


def test_the_index_lists_every_decision_once_with_its_title():
    decisions = ROOT / "docs" / "decisions"
    headings = {path.name: path.read_text(encoding="utf-8").split("\n", 1)[0] for path in decisions.glob("[0-9]*.md")}
    listed = re.findall(r"^- \[(.+)\]\((.+)\)$", page("decisions/README.md"), re.MULTILINE)
    assert sorted((name, f"# {title}") for title, name in listed) == sorted(headings.items())
    for name, heading in headings.items():
        assert heading.startswith(f"# {int(name[:4])}. "), name


def test_every_relative_link_in_the_documentation_resolves():
    for one in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", one.read_text(encoding="utf-8")):
            assert (one.parent / link).exists(), f"{one.name}: {link}"


def test_the_lock_file_has_hashes_and_no_addresses():
    lock = (ROOT / "requirements.lock").read_text()
    assert "--hash=sha256:" in lock
    assert not re.search(r"https?://|file:|--index|--find-links", lock)


def test_every_declared_dependency_is_locked():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lock = (ROOT / "requirements.lock").read_text().lower()
    for wanted in [*project["dependencies"], *project["optional-dependencies"]["dev"]]:
        name = re.split(r"[\[<>=~! ]", wanted)[0].lower().replace("_", "-")
        assert re.search(rf"^{re.escape(name)}==", lock, re.MULTILINE), name


def test_no_module_outside_the_packages_of_methods_and_their_reports_names_a_method_class():
    classes = re.compile(rf"\b({'|'.join(each.__name__ for each in METHODS)})\b")
    # `statistics` is excluded, because one of its classes has the name of a method
    own = ROOT / "assay" / "methods", ROOT / "reports" / "methods", ROOT / "assay" / "statistics"
    told = [
        f"{path.relative_to(ROOT)}: {found[0]}"
        for package in ("assay", "reports", "store", "service", "web", "workers", "cli", "demo")
        for path in sorted((ROOT / package).rglob("*.py"))
        if not any(folder in path.parents for folder in own)
        for found in [classes.search(path.read_text(encoding="utf-8"))]
        if found
    ]
    assert told == []


def test_the_codes_that_mark_an_answer_as_unreadable_are_all_known_failure_codes():
    # an unknown code here would make unreadable answers about one group count as refusals, a proof of bias
    assert {*UNREAD, DECLINED, *QUESTION_SPECIFIC} <= set(CODES)
