"""Child process of `assay rate --python`: answers JSON lines with a function. It imports nothing of Assay.

A line ``{"text": …, "source": …, "target": …}``, ``{"text": …}`` or ``{"row": {…}}`` is answered by
``{"output": …}`` or ``{"error": …}``. What the function prints goes to the standard error.
"""

import importlib
import json
import os
import sys
from functools import reduce
from typing import Any


def plain(value: Any) -> Any:
    """Return a value of numpy as JSON can hold it; raise `TypeError` for anything else that JSON cannot hold."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} cannot be written as JSON; return texts, numbers, lists or dictionaries")


def main() -> None:
    """Call the user's function with each line of standard input (JSON), and write its result as a line of JSON."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what the function prints goes to standard error, not among the answers
    sys.path[0] = os.getcwd()  # modules are imported from the folder of the command, not from that of this file
    module, _, name = sys.argv[1].partition(":")
    try:
        function: Any = reduce(getattr, name.split("."), importlib.import_module(module))
    except (ModuleNotFoundError, AttributeError) as error:
        sys.exit(f"{sys.argv[1]} is not found from {os.getcwd()}: {error}")
    for line in sys.stdin:
        try:
            arguments = json.loads(line).values()  # in the order of the members
            reply = json.dumps({"output": function(*arguments)}, default=plain)  # also values of numpy
        except Exception as error:  # noqa: BLE001 - any exception of the function becomes its answer
            reply = json.dumps({"error": f"{type(error).__name__}: {error}"})
        answers.write(reply + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
