"""The public data that the papers' tables and figures are computed from; they are not shipped with Assay."""

from __future__ import annotations

import csv
import gzip
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.errors import SpecificationError

BESIDE = Path(__file__).resolve().parents[3] / "shared"
"""Folder beside the checkout that holds `data`, `known_answers` and, for tests alone, the texts of the `papers`."""


class SharedDataMissing(SpecificationError):
    """A file or folder of the shared data is missing."""

    code = "shared-data-missing"


@dataclass(frozen=True)
class Shared:
    """Folder with the data sets (`data`) and with answers of independent programs (`known_answers`)."""

    folder: Path = BESIDE

    def check(self) -> None:
        """Raise `SharedDataMissing` if the folder holds no data at all."""
        if not (self.folder / "data").is_dir():
            raise SharedDataMissing(f"the papers' data are not in {self.folder}; give their folder with --data", "data")

    def data(self, name: str) -> Path:
        """Return the path of a file or folder of the data sets; raise `SharedDataMissing` if it is not there."""
        return self._check_exists(self.folder / "data" / name)

    def known(self, name: str) -> Any:
        """Read a file of known answers; raise `SharedDataMissing` if it is not there."""
        return json.loads(self._check_exists(self.folder / "known_answers" / name).read_text(encoding="utf-8"))

    def rows(self, name: str) -> list[dict[str, str]]:
        """Read a gzipped CSV file of the data sets."""
        with gzip.open(self.data(name), "rt", encoding="utf-8", newline="") as lines:
            return list(csv.DictReader(lines))

    def _check_exists(self, path: Path) -> Path:
        if not path.exists():
            raise SharedDataMissing(f"{path.relative_to(self.folder)} is not in {self.folder}", "data")
        return path
