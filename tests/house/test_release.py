"""Released texts of the methodology never change, and every file that states the version states the same one."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest
import yaml

from assay import __version__
from assay.rating.decision import METHODOLOGY_VERSION
from tools.release import (
    RELEASED,
    ROOT,
    CannotRelease,
    altered_entries,
    altered_texts,
    digest,
    freeze,
    notes,
    read_released,
)

TEXT = b"# Methodology 9.9.9\n\nMade up for a test.\n"
ENTRY = {"digest": digest(TEXT), "release": "9.0.0"}


def git(root: Path, *arguments: str) -> None:
    author = ("-c", "user.name=Test", "-c", "user.email=test@example.invalid", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *author, *arguments], cwd=root, check=True, capture_output=True)


@pytest.fixture
def tagged(tmp_path) -> Path:
    """Return a repository whose tag v9.0.0 lists a made-up version, after a tag without a list."""
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "commit", "--quiet", "--allow-empty", "--message", "Begin")
    git(tmp_path, "tag", "v0.1.0")
    (tmp_path / RELEASED).parent.mkdir(parents=True)
    (tmp_path / RELEASED).write_text(json.dumps({"9.9.9": ENTRY}))
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "--message", "Release 9.0.0")
    git(tmp_path, "tag", "v9.0.0")
    return tmp_path


def test_every_released_methodology_still_has_its_released_text():
    assert altered_texts(read_released()) == []


def test_no_released_digest_has_changed_since_its_tag():
    if not (ROOT / ".git").exists():
        pytest.skip("the sources are not a git repository, so that there are no tags to compare with")
    assert altered_entries(read_released()) == []


def test_a_changed_or_missing_text_of_a_released_version_is_refused(tmp_path):
    (tmp_path / "9.9.9.md").write_bytes(TEXT)
    assert altered_texts({"9.9.9": ENTRY}, tmp_path) == []
    (tmp_path / "9.9.9.md").write_bytes(TEXT.replace(b"a test", b"a  test"))
    (changed,) = altered_texts({"9.9.9": ENTRY}, tmp_path)
    assert ENTRY["digest"] in changed
    (missing,) = altered_texts({"9.9.8": ENTRY}, tmp_path)
    assert "9.9.8.md is missing" in missing


@pytest.mark.parametrize("released", [{}, {"9.9.9": {**ENTRY, "digest": digest(b"another text")}}])
def test_an_entry_that_was_removed_or_changed_after_its_tag_is_refused(tagged, released):
    assert altered_entries({"9.9.9": ENTRY, "10.0.0": ENTRY}, tagged) == []
    (altered,) = altered_entries(released, tagged)
    assert altered.startswith("9.9.9: v9.0.0 has")


def test_a_version_can_be_released_again_only_with_the_same_text():
    released = freeze({}, "9.9.9", TEXT, "9.0.0")
    assert released == {"9.9.9": ENTRY}
    assert freeze(released, "9.9.9", TEXT, "9.1.0") == released
    with pytest.raises(CannotRelease, match=r"9\.9\.9 was released in 9\.0\.0 .* new version"):
        freeze(released, "9.9.9", TEXT + b"more", "9.1.0")


def test_release_notes_are_the_section_of_one_version():
    changelog = "# Changelog\n\n## Unreleased\n\n## 9.1.0 - 2030-02-01\n### Added\n- New.\n\n## 9.0.0 - 2030-01-01\n"
    assert notes(changelog, "9.1.0") == "### Added\n- New."
    for version in ("9.0.0", "9", "Unreleased"):
        with pytest.raises(CannotRelease):
            notes(changelog, version)


def test_the_readme_the_citation_and_the_installation_page_state_the_version_of_the_package():
    def stated(pattern: str, page: str) -> list[tuple[str, str]]:
        return re.findall(pattern, (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE)

    current = [(__version__, METHODOLOGY_VERSION)]
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))["version"] == __version__
    assert stated(r"^assay (\S+), methodology (\S+)$", "docs/install.md") == current
    assert stated(r"^\*\*Version (\S+) · methodology (\S+) · ", "README.md") == current
