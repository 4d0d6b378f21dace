"""Material that the operator holds back (``ASSAY_HELD_BACK``), read at the start."""

from __future__ import annotations

import tomllib
from pathlib import Path

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
            content = file.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            raise SpecificationError(f"it has more than {MOST_BYTES:,} bytes")
        held_back = TypeAdapter(HeldBack).validate_python(tomllib.loads(content.decode()))
        check_held_back(held_back)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        wrong = f"it cannot be read as TOML: {error}"
    except ValidationError as invalid:
        first = invalid.errors(include_url=False)[0]
        wrong = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    except SpecificationError as error:
        wrong = f"{error.field}: {error}" if error.field else str(error)
    else:
        return held_back
    raise SpecificationError(f"ASSAY_HELD_BACK names {path}: {wrong}")
