"""scipy.special, imported when one of its functions is first used: the import takes a tenth of the start-up time."""

from typing import Any


class _Special:
    def __getattr__(self, name: str) -> Any:
        import scipy.special

        function = getattr(scipy.special, name)
        setattr(self, name, function)  # later uses find it without this method
        return function


special: Any = _Special()
"""Functions of scipy.special, as attributes of the same names."""
