"""Print the requirements of a reference's environment: ``python -m benchmarks.references weat``.

The reference itself comes from the extra ``bench-<name>``. The libraries of the science have no versions here,
because a reference may need older ones than Assay (wefe 1.0.1 needs numpy 1). Assay is installed beside it unchanged.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

SCIENCE = ("annotated-types", "numpy", "scipy")
PYPROJECT = Path(__file__).resolve().parent.parent / "pyproject.toml"


def needed(name: str) -> list[str]:
    """List the requirements of one reference's environment."""
    extras = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    return [*extras[f"bench-{name.replace('_', '-')}"], *SCIENCE]


if __name__ == "__main__":
    print("\n".join(needed(sys.argv[1])))
