"""The child process of `store.formats.limited`: reads one file under limits, and writes its result as JSON."""

import json
import os
import resource
import sys
from collections.abc import Callable, Mapping
from typing import Any

from assay.document import Json, JsonObject
from assay.errors import SpecificationError
from store.core.child_processes import end_with_parent
from store.formats import inspect
from store.formats.choice_rows import read_trials
from store.formats.decision_rows import read_decisions
from store.formats.image import read_whole_image
from store.formats.limited import AT_A_LIMIT
from store.formats.refusal import NotInstalled
from store.formats.table import PARQUET, read_rows

TASKS: Mapping[str, Callable[..., Any]] = {
    "inspect": inspect,
    "rows": read_rows,
    "trials": read_trials,
    "decisions": read_decisions,
    "image": read_whole_image,
}


def main() -> None:
    """Run the task that standard input describes, and print its result; at a limit of time, memory or size, fail."""
    end_with_parent()
    request = json.load(sys.stdin)
    if request["arguments"].get("media_type") == PARQUET:
        _import_arrow()  # before the limits, so that they do not include its memory
    _limit_resources(request)
    try:
        with os.fdopen(request["file"], "rb") as file:
            file.seek(0)  # the parent process shares the file position and may have moved it
            answer = _run_task(TASKS[request["task"]], file, request["arguments"])
        sys.stdout.write(json.dumps(answer))
        sys.stdout.flush()
    except (MemoryError, OSError):  # OSError: the result is longer than a file may be
        os._exit(AT_A_LIMIT)


def _run_task(task: Callable[..., Any], file: object, arguments: Json) -> JsonObject:
    """Return the result of a task, or its error, as JSON for the parent process."""
    try:
        return {"result": task(file, **arguments)}
    except NotInstalled as error:
        return {"not_installed": [error.what, error.package, error.extra]}
    except SpecificationError as error:
        position = {name: getattr(error, name, None) for name in ("line", "column")}
        return {"unreadable": str(error), "code": error.code} | position


def _limit_resources(request: Json) -> None:
    """Let the kernel limit the processor time, the size of the result and the memory of this process."""
    resource.setrlimit(resource.RLIMIT_CPU, (request["processor_s"], request["processor_s"]))
    resource.setrlimit(resource.RLIMIT_FSIZE, (request["answer"], request["answer"]))  # bytes of the result
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        with open("/proc/self/statm", encoding="ascii") as statm:
            used_pages, *_ = statm.read().split()
        used_bytes = int(used_pages) * resource.getpagesize()
    except OSError:  # without /proc (not Linux), the limit includes the memory of the libraries
        used_bytes = 0
    resource.setrlimit(resource.RLIMIT_AS, (used_bytes + request["memory"], used_bytes + request["memory"]))


def _import_arrow() -> None:
    """Import pyarrow, if it is installed, with one thread."""
    try:
        import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]
        from pyarrow import parquet  # noqa: F401
    except ImportError:  # the missing library is reported when the file is read
        return
    pa.set_cpu_count(1)  # more threads would reserve address space, which the limit of memory counts
    pa.set_io_thread_count(1)


if __name__ == "__main__":
    main()
