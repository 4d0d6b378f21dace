"""Released texts of the methodology never change, and every file that states the version states the same one."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from datetime import date
from pathlib import Path

import pytest
import yaml

from assay import __version__
from assay.rating.decision import METHODOLOGY_DIGEST, METHODOLOGY_VERSION
from tools.release import (
    RELEASED,
    ROOT,
    STATED,
    TEXTS,
    CannotRelease,
    altered_entries,
    altered_texts,
    cut,
    digest,
    freeze,
    notes,
    read_released,
    statements,
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


def test_no_digest_of_a_released_methodology_has_changed_since_its_git_tag():
    if not (ROOT / ".git").exists():
        pytest.skip("the sources are not a git repository, so that there are no tags to compare with")
    assert altered_entries(read_released()) == []


def test_a_changed_or_missing_text_of_a_released_methodology_version_is_reported(tmp_path):
    (tmp_path / "9.9.9.md").write_bytes(TEXT)
    assert altered_texts({"9.9.9": ENTRY}, tmp_path) == []
    (tmp_path / "9.9.9.md").write_bytes(TEXT.replace(b"a test", b"a  test"))
    (changed,) = altered_texts({"9.9.9": ENTRY}, tmp_path)
    assert ENTRY["digest"] in changed
    (missing,) = altered_texts({"9.9.8": ENTRY}, tmp_path)
    assert "9.9.8.md is missing" in missing


@pytest.mark.parametrize("released", [{}, {"9.9.9": {**ENTRY, "digest": digest(b"another text")}}])
def test_a_released_digest_that_was_removed_or_changed_after_its_git_tag_is_reported(tagged, released):
    assert altered_entries({"9.9.9": ENTRY, "10.0.0": ENTRY}, tagged) == []
    (altered,) = altered_entries(released, tagged)
    assert altered.startswith("9.9.9: v9.0.0 has")


def test_a_methodology_version_can_be_released_again_only_with_the_same_text():
    released = freeze({}, "9.9.9", TEXT, "9.0.0")
    assert released == {"9.9.9": ENTRY}
    assert freeze(released, "9.9.9", TEXT, "9.1.0") == released
    with pytest.raises(CannotRelease, match=r"9\.9\.9 was released in 9\.0\.0 .* new version"):
        freeze(released, "9.9.9", TEXT + b"more", "9.1.0")


def test_release_notes_are_the_section_of_the_changelog_for_the_released_version():
    changelog = "# Changelog\n\n## Unreleased\n\n## 9.1.0 - 2030-02-01\n### Added\n- New.\n\n## 9.0.0 - 2030-01-01\n"
    assert notes(changelog, "9.1.0") == "### Added\n- New."
    for version in ("9.0.0", "9", "Unreleased"):
        with pytest.raises(CannotRelease):
            notes(changelog, version)


def test_every_file_that_states_the_version_states_the_version_of_the_package():
    for page, words in statements(__version__).items():
        assert (ROOT / page).read_text(encoding="utf-8").count(words) == 1, page
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))["version"] == __version__
    installed = (ROOT / "docs/install.md").read_text(encoding="utf-8")
    assert re.findall(r"^assay (\S+), methodology (\S+)$", installed, re.MULTILINE) == [
        (__version__, METHODOLOGY_VERSION)
    ]


@pytest.fixture
def checkout(tmp_path) -> Path:
    """Return a copy of the files that a release changes, with an entry in the changelog, and of the methodology."""
    methodology = (TEXTS / f"{METHODOLOGY_VERSION}.md").relative_to(ROOT)
    for page in (*STATED, "CHANGELOG.md", RELEASED, methodology):
        (tmp_path / page).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / page, tmp_path / page)
    changelog = (tmp_path / "CHANGELOG.md").read_text(encoding="utf-8")
    entry = "## Unreleased\n### Added\n- Made up for a test.\n"
    (tmp_path / "CHANGELOG.md").write_text(changelog.replace("## Unreleased\n", entry, 1), encoding="utf-8")
    return tmp_path


def contents(root: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}


def test_a_release_writes_its_number_everywhere_and_freezes_the_methodology(checkout):
    changelog = (checkout / "CHANGELOG.md").read_text(encoding="utf-8")
    unreleased = changelog.split("## Unreleased\n")[1].split("\n## ")[0].strip()
    cut(checkout, "99.0.0", date(2030, 1, 2))
    for page, words in statements("99.0.0").items():
        assert words in (checkout / page).read_text(encoding="utf-8")
    assert "**Version 99.0.0" in (checkout / "README.md").read_text(encoding="utf-8")
    assert "alpha" not in (checkout / "README.md").read_text(encoding="utf-8").split("\n")[2]
    changelog = (checkout / "CHANGELOG.md").read_text(encoding="utf-8")
    assert "\n## Unreleased\n\n## 99.0.0 - 2030-01-02\n" in changelog
    assert notes(changelog, "99.0.0") == unreleased
    released = {METHODOLOGY_VERSION: read_released(checkout)[METHODOLOGY_VERSION]}
    assert released[METHODOLOGY_VERSION]["digest"] == METHODOLOGY_DIGEST
    texts = checkout / TEXTS.relative_to(ROOT)
    assert altered_texts(released, texts) == []
    text = texts / f"{METHODOLOGY_VERSION}.md"
    text.write_bytes(text.read_bytes() + b"\n")
    (altered,) = altered_texts(released, texts)
    assert altered.startswith(METHODOLOGY_VERSION)


@pytest.mark.parametrize("version", [__version__, "0.0.9", "v99.0.0", "99.0", "99.0.0rc1", "099.0.0", "9٣.0.0", ""])
def test_a_release_with_a_malformed_or_not_later_version_is_refused_and_changes_no_file(checkout, version):
    before = contents(checkout)
    with pytest.raises(CannotRelease, match="follows"):
        cut(checkout, version, date(2030, 1, 2))
    assert contents(checkout) == before


@pytest.mark.parametrize(
    ("page", "old", "new"),
    [
        ("README.md", f"Version {__version__} ", "Version 7.7.7 "),
        ("CHANGELOG.md", "## Unreleased\n", "## Unreleased\n\n## 7.7.7 - 2029-01-01\n"),
        ("CHANGELOG.md", "## Unreleased\n", "## 7.7.7 - 2029-01-01\n"),
        (RELEASED, "", json.dumps({METHODOLOGY_VERSION: {"digest": "sha256:0", "release": "7.7.7"}})),
    ],
)
def test_a_release_is_refused_and_changes_no_file_if_one_file_has_unexpected_content(checkout, page, old, new):
    faulty = checkout / page
    faulty.write_text(faulty.read_text(encoding="utf-8").replace(old, new, 1) if old else new, encoding="utf-8")
    before = contents(checkout)
    with pytest.raises(CannotRelease):
        cut(checkout, "99.0.0", date(2030, 1, 2))
    assert contents(checkout) == before
