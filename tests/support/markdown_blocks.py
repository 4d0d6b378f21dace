"""Code blocks of documentation pages, and the marks that say how a block is tested."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

_BLOCK = re.compile(
    r"(?:^<!-- (?P<mark>[a-z ]+): (?P<why>.+?) -->\n)?^(?P<fence>```+)(?P<language>[^\n]*)\n(?P<text>.*?)^(?P=fence)$",
    re.MULTILINE | re.DOTALL,
)
_FILE = re.compile(r"^`(?P<name>[\w./-]+)`:\n\n```\w+\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A fenced block.

    Attributes
    ----------
    mark, why : str
        The HTML comment above it: ``not run`` and a reason, ``run`` and the test,
        ``file`` and the file that is shown; or empty.
    line : int
        Line of its fence, from 1.
    """

    language: str
    text: str
    mark: str
    why: str
    line: int


def blocks(page: Path) -> list[Block]:
    """Return the blocks of a page in order."""
    written = page.read_text(encoding="utf-8")
    return [
        Block(
            found["language"],
            found["text"],
            found["mark"] or "",
            found["why"] or "",
            _line(written, found.start("fence")),
        )
        for found in _BLOCK.finditer(written)
    ]


def shown_files(page: Path) -> dict[str, str]:
    """Return the files that a page shows completely: the file name on a line, and the block below."""
    return {found["name"]: found["text"] for found in _FILE.finditer(page.read_text(encoding="utf-8"))}


def pages() -> list[Path]:
    """Return every page whose blocks are tested."""
    return [*sorted((ROOT / "docs").rglob("*.md")), ROOT / "README.md", ROOT / "clients/python/README.md"]


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1
