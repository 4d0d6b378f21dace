"""`assay` run as a process that has its libraries loaded: forked from one that imported them."""

from __future__ import annotations

import multiprocessing
import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from subprocess import CompletedProcess

_forked = multiprocessing.get_context("forkserver")
_forked.set_forkserver_preload(["cli.rate", "cli.serve", "cli.keys", "cli.secrets"])


def run_command(*arguments: str, environment: Mapping[str, str], seconds: float = 120) -> CompletedProcess[str]:
    """Run ``assay`` with these arguments and variables.

    The process is one of its own, as from a shell, but for the 2 s of a processor that importing takes.
    """
    with tempfile.TemporaryDirectory(prefix="assay-command-") as folder:
        out, err = Path(folder, "out"), Path(folder, "err")
        process = _forked.Process(target=_command, args=(arguments, dict(environment), out, err))
        process.start()
        process.join(seconds)
        if process.exitcode is None:
            process.kill()
            process.join()
            raise TimeoutError(f"assay {' '.join(arguments)} has not ended after {seconds:.0f} s:\n{err.read_text()}")
        return CompletedProcess(arguments, process.exitcode, out.read_text(), err.read_text())


def _command(arguments: tuple[str, ...], environment: dict[str, str], out: Path, err: Path) -> None:
    os.environ.clear()
    os.environ.update(environment)
    for place, file in ((1, out), (2, err)):
        os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT), place)
    sys.argv = ["assay", *arguments]
    from cli.main import main

    main()
