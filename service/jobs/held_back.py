"""Material that the operator holds back (``ASSAY_HELD_BACK``): read at the start, hidden until a rating reveals it."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from assay.errors import SpecificationError
from assay.methods.shared.held_back import check_held_back
from assay.references import HeldBack

MOST_BYTES = 65_536


def read_held_back(path: Path | None) -> HeldBack:
    """Read the operator's file; without a file nothing is held back.

    Raises
    ------
    SpecificationError
        If the file cannot be read, is too large, or holds material that no rating can use.
    """
    if path is None:
        return HeldBack()
    try:
        with path.open("rb") as file:
            written = file.read(MOST_BYTES + 1)
        if len(written) > MOST_BYTES:
            raise SpecificationError(f"it has more than {MOST_BYTES:,} bytes")
        held = TypeAdapter(HeldBack).validate_python(tomllib.loads(written.decode()))
        check_held_back(held)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        wrong = f"it cannot be read as TOML: {error}"
    except ValidationError as invalid:
        first = invalid.errors(include_url=False)[0]
        wrong = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    except SpecificationError as error:
        wrong = f"{error.field}: {error}" if error.field else str(error)
    else:
        return held
    raise SpecificationError(f"ASSAY_HELD_BACK names {path}: {wrong}")


def without_held_back(experiment: dict[str, Any]) -> dict[str, Any]:
    """Return an experiment, as stored, without the held-back material that it names."""
    texts = experiment.get("texts")
    named = (experiment.get("held_back"), texts.get("held_back") if isinstance(texts, dict) else None)
    held = {text for material in named for text in material or ()}
    return {name: _without(entry, held) for name, entry in experiment.items()} if held else experiment


def _without(part: Any, held: set[str]) -> Any:
    if isinstance(part, Mapping):
        return {name: _without(entry, held) for name, entry in part.items()}
    if isinstance(part, list):
        return [_without(entry, held) for entry in part if not (isinstance(entry, str) and entry in held)]
    return part
