"""Reader of the catalog's TOML files."""

import tomllib
from functools import cache
from importlib.resources import files

from assay.document import JsonObject


@cache
def tables_in(folder: str) -> tuple[str, ...]:
    """Return the names of the TOML files in a folder of the catalog, without their suffix, sorted."""
    entries = files("assay.catalog").joinpath(folder).iterdir()
    return tuple(sorted(entry.name.removesuffix(".toml") for entry in entries if entry.name.endswith(".toml")))


@cache
def read_table(name: str) -> JsonObject:
    """Read a shipped TOML file, once: all callers share the table, and must not change it.

    `name` is the path below the package, without its suffix: ``"occupations"``, ``"attributes/gender"``.
    """
    return tomllib.loads(files("assay.catalog").joinpath(f"{name}.toml").read_text("utf-8"))
