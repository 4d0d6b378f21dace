"""scipy.special, imported when one of its functions is first called: it takes a tenth of the start of a service."""

from __future__ import annotations

from typing import Any


class _Special:
    def __getattr__(self, name: str) -> Any:
        import scipy.special

        function = getattr(scipy.special, name)
        setattr(self, name, function)
        return function


special: Any = _Special()
"""Its functions by their names."""
