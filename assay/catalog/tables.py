"""Reader of the catalog's TOML files."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files

from assay.document import JsonObject


@cache
def read_table(name: str) -> JsonObject:
    """Read a shipped TOML file, once.

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
