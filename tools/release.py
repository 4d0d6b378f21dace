"""Prepare a release: write its number and freeze the methodology, or print the release notes (docs/releasing.md).

``python -m tools.release cut 1.0.0`` writes the number into the files of `STATED`, gives *Unreleased* in CHANGELOG.md
the number and today's date, and adds the current methodology to the list of released digests.
``python -m tools.release notes 1.0.0`` prints the section of CHANGELOG.md for a version.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import subprocess
import sys
from collections.abc import Mapping
from datetime import UTC, date, datetime
from pathlib import Path

from assay import __version__
from assay.rating.decision import METHODOLOGY_VERSION

ROOT = Path(__file__).resolve().parents[1]
TEXTS = ROOT / "assay" / "rating" / "methodology"
RELEASED = Path("tests/house/released_methodologies.json")
"""Released versions of the methodology, each with the digest of its text and the first release that had it."""

NUMBER = re.compile(r"(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)")
STATED: Mapping[str, str] = {
    "assay/__init__.py": '__version__ = "{version}"\n',
    "CITATION.cff": "\nversion: {version}\n",
    "docs/install.md": "\nassay {version}, methodology",
    "deploy/kubernetes/kustomization.yaml": 'newTag: "{version}"\n',
    "README.md": "\n**Version {version} · methodology {methodology} · {status} ·",
}
"""Files that state the version, each with the words around it."""

Released = Mapping[str, Mapping[str, str]]


class CannotRelease(Exception):
    """A release is impossible; the message says why."""


def digest(text: bytes) -> str:
    """Return the digest by which ratings name a text of the methodology."""
    return "sha256:" + hashlib.sha256(text).hexdigest()


def altered_texts(released: Released, texts: Path = TEXTS) -> list[str]:
    """List the released versions whose text is missing or has another digest, each with its fault."""
    altered = []
    for version, entry in released.items():
        path = texts / f"{version}.md"
        if not path.is_file():
            altered.append(f"{version}: {path.name} is missing")
        elif (actual := digest(path.read_bytes())) != entry["digest"]:
            altered.append(f"{version}: the digest is {actual}; {entry['digest']} was released")
    return altered


def altered_entries(released: Released, root: Path = ROOT) -> list[str]:
    """List the entries that a release tag of the repository has and that are missing or different now.

    A tag without the list counts as one with an empty list.
    """
    altered = []
    for tag in _run_git(root, "tag", "--list", "v*").split():
        if not _run_git(root, "ls-tree", "--name-only", tag, RELEASED.as_posix()):
            continue
        for version, entry in json.loads(_run_git(root, "show", f"{tag}:{RELEASED.as_posix()}")).items():
            if released.get(version) != entry:
                altered.append(f"{version}: {tag} has {entry}, the list {released.get(version)}")
    return altered


def freeze(released: Released, version: str, text: bytes, release: str) -> dict[str, Mapping[str, str]]:
    """Return the list with a version of the methodology added.

    Raise `CannotRelease` if the version was released with another text.
    """
    former = released.get(version)
    if former is None:
        return {**released, version: {"digest": digest(text), "release": release}}
    if former["digest"] != digest(text):
        raise CannotRelease(
            f"methodology {version} was released in {former['release']} with the digest {former['digest']}; its text "
            f"now has {digest(text)}: give the changed text a new version"
        )
    return dict(released)


def statements(version: str) -> dict[str, str]:
    """Return the words with which each file of `STATED` states a version and its status."""
    status = "alpha: interfaces may change until 1.0.0" if version.startswith("0.") else "stable"
    facts = {"version": version, "methodology": METHODOLOGY_VERSION, "status": status}
    return {page: words.format(**facts) for page, words in STATED.items()}


def cut(root: Path, version: str, day: date) -> None:
    """Write the number of a release into the files below `root`, and freeze the current methodology.

    Raise `CannotRelease`, and change no file, if the version is not a later one, a file does not state the present
    version, the changelog has nothing unreleased, or the methodology was released with another text.
    """
    matches = [NUMBER.fullmatch(name) for name in (version, __version__)]
    new_numbers, present_numbers = (tuple(map(int, match.groups())) if match else () for match in matches)
    if new_numbers <= present_numbers:
        raise CannotRelease(f"{version!r} is not a version like 1.0.0 that follows {__version__}")
    present_statements, new_texts = statements(__version__), {}
    for page, words in statements(version).items():
        text = (root / page).read_text(encoding="utf-8")
        if text.count(present_statements[page]) != 1:
            raise CannotRelease(f"{page} does not state {present_statements[page].strip()!r} once")
        new_texts[page] = text.replace(present_statements[page], words)
    heading = f"## {version} - {day.isoformat()}"
    changelog = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    new_texts["CHANGELOG.md"] = changelog.replace("## Unreleased\n", f"## Unreleased\n\n{heading}\n", 1)
    notes(new_texts["CHANGELOG.md"], version)
    text_of_methodology = (root / TEXTS.relative_to(ROOT) / f"{METHODOLOGY_VERSION}.md").read_bytes()
    released = freeze(read_released(root), METHODOLOGY_VERSION, text_of_methodology, version)
    new_texts[str(RELEASED)] = json.dumps(released, indent=2) + "\n"
    for page, text in new_texts.items():
        (root / page).write_text(text, encoding="utf-8")


def notes(changelog: str, version: str) -> str:
    """Return the section of a changelog for a version, without its heading.

    Raise `CannotRelease` if there is no heading ``## VERSION - YYYY-MM-DD``, or nothing below it.
    """
    heading = re.search(rf"^## {re.escape(version)} - \d{{4}}-\d\d-\d\d$", changelog, re.MULTILINE)
    if heading is None:
        raise CannotRelease(f"CHANGELOG.md has no heading '## {version} - YYYY-MM-DD'")
    section = re.split(r"^## ", changelog[heading.end() :], maxsplit=1, flags=re.MULTILINE)[0].strip()
    if not section:
        raise CannotRelease(f"CHANGELOG.md has nothing about {version}")
    return section


def read_released(root: Path = ROOT) -> Released:
    """Return the committed list of released versions."""
    released: Released = json.loads((root / RELEASED).read_text(encoding="utf-8"))
    return released


def _run_git(root: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True, text=True).stdout


def main() -> None:
    """Run a command of this module."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("cut", help="write the number of a release and freeze its methodology").add_argument("version")
    commands.add_parser("notes", help="print the release notes of a version").add_argument("version")
    options = parser.parse_args()
    try:
        if options.command == "notes":
            print(notes((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), options.version))
        else:
            cut(ROOT, options.version, datetime.now(UTC).date())
            print(f"{options.version} is written, with methodology {METHODOLOGY_VERSION}; now `make client` and commit")
    except CannotRelease as reason:
        sys.exit(str(reason))


if __name__ == "__main__":
    main()
