"""Reader of untrusted files: a child process with limits on memory, processor time and output.

A few hundred bytes of Parquet or PNG can unpack to gigabytes, and a parser can have errors of its own. In a child
process, a file costs at most `MEMORY_BYTES` and `PROCESSOR_S`, and cannot harm the parent process.
"""

import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from threading import BoundedSemaphore
from typing import Any, BinaryIO

from store.formats.refusal import NotInstalled, Unreadable

MEMORY_BYTES = 384 << 20
"""Maximum memory of a child process in bytes, in addition to the memory of its libraries."""

PROCESSOR_S = 120
"""Maximum processor time of a child process in seconds; reading 64 MiB of CSV takes about half of this time."""

AT_A_LIMIT = 70
"""Exit status of a child process that reached its limit of memory or output."""

ANSWER_BYTES = 7 << 20
"""Maximum size of a child process's result in bytes of JSON; parsed, it takes ten times as much memory."""

LONGEST_S = 4 * PROCESSOR_S
"""Maximum duration of a child process in seconds; longer than `PROCESSOR_S` because its priority is low."""

NICENESS = 19
"""Lowest priority, so that a child process takes only the processor time that requests leave."""

MOST_CHILDREN = 2
"""Maximum number of concurrent child processes; each may take `MEMORY_BYTES` in addition to its libraries."""

READERS = ThreadPoolExecutor(MOST_CHILDREN, thread_name_prefix="files")
"""Threads that read files for an event loop; a thread that waits for a child delays no other work."""

_CHILDREN = BoundedSemaphore(MOST_CHILDREN)


def run_limited(task: str, file: BinaryIO, **arguments: object) -> Any:
    """Run a task of `store.formats.child` on a file, in a child process with limits, and return its result.

    The file is on disk, and is read from its start; `arguments` are JSON values for the task.

    Raise `Unreadable` if the task raises it or the child exceeds its limits, `NotInstalled` if a package for reading
    the file is missing, and `RuntimeError` if the child cannot start or has an error of its own.
    """
    file.flush()
    request = {"task": task, "file": file.fileno(), "arguments": arguments, "memory": MEMORY_BYTES}
    request |= {"processor_s": PROCESSOR_S, "answer": ANSWER_BYTES}
    with _CHILDREN, tempfile.TemporaryFile(prefix="assay-answer-") as answer:  # at most `MOST_CHILDREN` at once
        child = subprocess.Popen(
            [sys.executable, "-I", "-m", "store.formats.child"],
            stdin=subprocess.PIPE,
            stdout=answer,
            stderr=subprocess.DEVNULL,
            pass_fds=[file.fileno()],
            # arenas and threads would reserve address space, which the limit of memory counts
            env={"MALLOC_ARENA_MAX": "1", "OPENBLAS_NUM_THREADS": "1", "ARROW_DEFAULT_MEMORY_POOL": "system"},
        )
        try:
            os.setpriority(os.PRIO_PROCESS, child.pid, NICENESS)  # set here, to apply to the child's imports too
            child.communicate(json.dumps(request).encode("ascii"), timeout=LONGEST_S)
        except subprocess.TimeoutExpired:
            pass  # the child is killed below, and its status then reports the limit
        finally:
            child.kill()
            child.wait()
        answer.seek(0)
        return _result_of_child(child.returncode, answer.read())


def _result_of_child(status: int, answer: bytes) -> Any:
    """Parse the JSON that a child wrote; raise the error in it, or an error for its exit status (negative: signal)."""
    if status < 0 or status == AT_A_LIMIT:  # ended by a signal: out of time, or a parser that crashed
        raise Unreadable(
            f"reading it takes more than {MEMORY_BYTES >> 20} MiB of memory, {PROCESSOR_S} s or {ANSWER_BYTES >> 20} "
            "MiB of content; send a smaller file"
        )
    if status != 0:
        raise RuntimeError(f"the process that reads files ended with status {status}")
    document = json.loads(answer)
    if "unreadable" in document:
        refusal = Unreadable(document["unreadable"])
        refusal.line, refusal.column = document["line"], document["column"]
        if (code := document.get("code")) is not None:
            refusal.code = code
        raise refusal
    if "not_installed" in document:
        raise NotInstalled(*document["not_installed"])
    return document["result"]
