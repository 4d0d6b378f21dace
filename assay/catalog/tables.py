"""The one place where the catalog's files are read."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def read_table(name: str) -> dict[str, Any]:
    """Read one of the TOML files that are shipped with this package, once.

    Parameters
    ----------
    name : str
        Path below the package, without its suffix: ``"occupations"``, ``"attributes/gender"``.

    Returns
    -------
    dict
        Shared by all callers: read it, never change it.
    """
    return tomllib.loads(files("assay.catalog").joinpath(f"{name}.toml").read_text("utf-8"))
