"""scipy.special, imported when one of its functions is first used: the import takes a tenth of the start-up time."""

from typing import Any


class _Special:
    def __getattr__(self, name: str) -> Any:
        """Return a function of scipy.special, which is imported at the first use, because the import is slow."""
        import scipy.special

        function = getattr(scipy.special, name)
        setattr(self, name, function)  # later uses find it without this method
        return function


special: Any = _Special()
"""Functions of scipy.special, as attributes of the same names."""
