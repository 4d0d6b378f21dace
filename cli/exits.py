"""Exit codes: first the four letters, then the conventional codes of ``sysexits.h``."""

from enum import IntEnum
from typing import Self


class Exit(IntEnum):
    """Exit code of a command."""

    UCS = OK = 0
    DSBS = BELOW = 1
    BS = 2
    INCONCLUSIVE = 3
    USAGE = 64
    NOT_VERIFIED = 65
    UNAVAILABLE = 69
    SOFTWARE = 70
    INTERRUPTED = 130

    @classmethod
    def of_rating(cls, letter: str | None, *, declared: bool) -> Self:
        """Return the code of a rating; an undeclared letter is inconclusive."""
        return cls[letter] if declared and letter is not None else cls.INCONCLUSIVE

    @classmethod
    def of(cls, error: Exception) -> Self:
        """Return the exit code for an error of the caller, of the environment, or of Assay."""
        from assay.errors import CertificateError, RecordError, SpecificationError
        from store.core.errors import StoreError

        if isinstance(error, (CertificateError, RecordError)):
            return cls.NOT_VERIFIED
        if isinstance(error, (SpecificationError, ValueError, FileNotFoundError)):
            return cls.USAGE
        if isinstance(error, (StoreError, OSError)):
            return cls.UNAVAILABLE
        return cls.SOFTWARE


def as_one_line(error: Exception) -> str:
    """Return an error's message as one line; of a pydantic error, only the first invalid field."""
    from pydantic import ValidationError

    from reports.plain import escape_hidden

    if isinstance(error, ValidationError):
        first_error = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first_error["loc"])
        return escape_hidden(f"{where}: {first_error['msg']}" if where else str(first_error["msg"]))
    message = escape_hidden(str(error).split("\n")[0]) if str(error) else type(error).__name__
    return message if Exit.of(error) is not Exit.SOFTWARE else f"unexpected {type(error).__name__}: {message}"
