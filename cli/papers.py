"""`assay papers`: the tables and figures of the five papers, computed from a checkout."""

from __future__ import annotations

from pathlib import Path

import typer

from assay.errors import SpecificationError


def write_papers(output: Path, data: Path | None) -> None:
    """Write the page of the papers.

    Raises
    ------
    SpecificationError
        If the sources have no `tools`, the folder of the output does not exist, or the data are missing.
    """
    try:
        from tools.papers.page import write_page
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] != "tools":
            raise
        raise SpecificationError(
            "the papers are computed from a checkout of the sources: run `make papers` there"
        ) from None
    if not output.parent.is_dir():
        raise SpecificationError(f"there is no folder {output.parent} for the page; make it first", "output")
    computed, absent = write_page(data, output)
    typer.echo(f"{output}: {computed} tables and figures, and {absent} entries that cannot be computed here")
