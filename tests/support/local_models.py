"""Models without HTTP, which tests rate: as functions, or as a program that answers JSON lines."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping
from typing import Any


def faithful(text: str, source: str, target: str) -> str:
    """Translate like the faithful service of the demonstration."""
    from demo.translators.behaviours import BEHAVIOURS

    print("this line is no answer")
    return BEHAVIOURS["faithful"].translate(text, source, target)


def length(given: str | Mapping[str, Any]) -> float:
    """Return a number that depends on the text, or on a column of the record."""
    return float(len(given) if isinstance(given, str) else given["age"])


def vector(text: str) -> Any:
    """Return a vector as a numpy array."""
    import numpy as np

    return np.array([len(text), 1.0])


def fails(text: str) -> float:
    """Raise an error for one text, answer the others."""
    if text == "bad":
        raise ValueError("no such text")
    return 1.0


def sleeps(text: str) -> float:
    """Answer one text very slowly."""
    time.sleep(30 if text == "slow" else 0)
    return 1.0


def main() -> None:
    """Answer JSON lines with texts in capitals; one text ends the program, another is answered with invalid JSON."""
    for line in sys.stdin:
        text = json.loads(line)["text"]
        if text == "end":
            sys.exit(3)
        print("no JSON" if text == "garbled" else json.dumps({"output": text.upper()}), flush=True)


if __name__ == "__main__":
    main()
