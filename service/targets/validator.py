"""Interface of the target validator; its implementation is in `workers`, which the service does not import."""

from collections.abc import Sequence
from typing import Protocol

from assay.document import Json
from assay.model import Kind


class ProtocolInfo(Protocol):
    """Facts about a protocol of targets."""

    @property
    def name(self) -> str:
        """Name of the protocol in requests, in kebab-case."""

    @property
    def summary(self) -> str:
        """Summary of the protocol in one line, for people."""

    @property
    def kinds(self) -> frozenset[Kind]:
        """Kinds of service that the protocol supports."""

    @property
    def needs_url(self) -> bool:
        """Whether ``base_url`` must be given."""

    @property
    def needs_secret(self) -> bool:
        """Whether ``secret`` must be given."""

    @property
    def reproducible(self) -> bool:
        """Whether a later call reaches the same service (false for scraped services)."""

    @property
    def settings_type(self) -> type:
        """Dataclass of the protocol's settings."""


class TargetValidator(Protocol):
    """The list of protocols, and the checks of targets and callback addresses."""

    def protocols(self) -> Sequence[ProtocolInfo]:
        """Return all protocols, in the order of the documentation."""

    def check(self, target: Json) -> None:
        """Refuse an invalid description of a target, without calling it.

        `target` has ``name``, ``kind``, ``protocol``, ``base_url``, ``settings``, ``limits`` and ``secret`` (plain
        text or None), which no error message may contain. Without the key ``secret``, no secret is checked.
        Raise `SpecificationError` with the invalid `field`, as a dotted path.
        """

    def questions_per_call(self, target: Json) -> int:
        """Return the maximum number of questions in one call to a validated target."""

    def check_callback(self, url: str, field: str = "callback_url") -> None:
        """Refuse an address to which no notice may be sent; the error names `field`."""
