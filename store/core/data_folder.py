"""Permissions of the data directory: only the owner may read it, because it holds keys, replies and sessions."""

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import structlog

FOLDER_MODE, FILE_MODE = 0o700, 0o600

OWN_PATTERNS = ("*.db*", "assay.*", "secret.key*", "first-admin-key", "*.log", "cache", "cache/**/*")
"""Files and folders of Assay in the data directory: databases and their copies, keys, logs, copies of uploads."""

log = structlog.get_logger(__name__)


def open_data_folder(folder: Path) -> None:
    """Create the data directory, make files of this process private, and repair permissions of an older version.

    Another user's files cannot be repaired. A warning states how many files were repaired, and how many were not.
    """
    os.umask(0o077)
    folder.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
    repaired_count = refused_count = 0
    for path, mode in _readable_by_others(folder):
        try:
            path.chmod(mode)
            repaired_count += 1
        except OSError:
            refused_count += 1
    if repaired_count or refused_count:
        counts = {"repaired": repaired_count, "refused": refused_count}
        log.warning("data directory was readable by others", folder=str(folder), **counts)


def create_private(file: Path) -> None:
    """Create an empty file that only its owner may read, and the folder of the file, unless they exist."""
    file.parent.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
    with suppress(OSError):  # the database reports in its own words that it cannot be created
        file.touch(mode=FILE_MODE, exist_ok=False)


def write_private(file: Path, content: str) -> None:
    """Write a file that only its owner may read; replace an older file of this name."""
    file.parent.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
    new_file = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        with open(os.open(new_file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE_MODE), "w", encoding="utf-8") as stream:
            stream.write(content)
        new_file.replace(file)
    finally:
        new_file.unlink(missing_ok=True)


def _readable_by_others(folder: Path) -> Iterator[tuple[Path, int]]:
    """Yield Assay's files in the folder that other users may read, each with the mode that denies them access.

    Other files are left alone, and so is a folder that all users share, such as ``/tmp``: the operator may have named
    a folder that has other purposes. Links are not followed.
    """
    for path in (folder, *(path for pattern in OWN_PATTERNS for path in folder.glob(pattern))):
        try:
            mode = path.lstat().st_mode
        except FileNotFoundError:  # removed by another process
            continue
        is_shared = mode & stat.S_ISVTX  # the sticky bit of a folder such as ``/tmp``
        if mode & 0o077 and not is_shared and (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            yield path, stat.S_IMODE(mode) & ~0o077
