"""What the service must know of targets. The composition root brings it; the service never calls out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from assay.model import Kind


class ProtocolInfo(Protocol):
    """A protocol that targets may speak, as far as a request needs to know it."""

    @property
    def name(self) -> str:
        """Name in requests, kebab-case."""
        ...

    @property
    def summary(self) -> str:
        """One line for people."""
        ...

    @property
    def kinds(self) -> frozenset[Kind]:
        """Kinds of service that can be reached with it."""
        ...

    @property
    def needs_url(self) -> bool:
        """Whether ``base_url`` must be given."""
        ...

    @property
    def needs_secret(self) -> bool:
        """Whether ``secret`` must be given."""
        ...

    @property
    def reproducible(self) -> bool:
        """Whether asking again can be expected to reach the same service (false where it is scraped)."""
        ...

    @property
    def settings_type(self) -> type:
        """Dataclass of the protocol's own settings."""
        ...


class TargetDesk(Protocol):
    """The list of protocols, and the check that a target can be reached as it is described."""

    def protocols(self) -> Sequence[ProtocolInfo]:
        """Every protocol, in the order of the documentation."""
        ...

    def check(self, target: Mapping[str, Any]) -> None:
        """Refuse a target that no call could reach, or whose parts do not go together.

        Parameters
        ----------
        target : mapping
            ``name``, ``kind``, ``protocol``, ``base_url``, ``settings``, ``limits`` and, in plain
            text or None, ``secret``; no message may repeat it.

        Raises
        ------
        SpecificationError
            With the `field` to mend, dotted where nested.
        """
        ...

    def check_callback(self, url: str, field: str = "callback_url") -> None:
        """Refuse an address that no notice may be sent to.

        Raises
        ------
        SpecificationError
            With the `field` that holds it.
        """
        ...
