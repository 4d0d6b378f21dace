"""What the service must know of targets, without calling any: given to it by the command line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from assay.errors import SpecificationError
from store.core.settings import Settings
from workers.egress import AddressRefused, refuse_url
from workers.targets import ProtocolInfo, check_target, protocols


class Desk:
    """Knows the protocols and refuses targets that could never be called."""

    def __init__(self, settings: Settings) -> None:
        self._allow, self._scraping = settings.egress_networks, settings.allow_scraping

    def protocols(self) -> Sequence[ProtocolInfo]:
        """Every protocol a target may speak."""
        return protocols()

    def check(self, target: Mapping[str, Any]) -> None:
        """Refuse an unknown protocol, wrong settings or an address nobody may call.

        Raises
        ------
        SpecificationError
            With the `field` to mend.
        """
        check_target(target, self._allow, scraping=self._scraping)

    def check_callback(self, url: str, field: str = "callback_url") -> None:
        """Refuse an address that no notice may be sent to.

        Raises
        ------
        SpecificationError
            With the `field` that holds it.
        """
        try:
            refuse_url(url, self._allow)
        except AddressRefused as refused:
            raise SpecificationError(str(refused), field) from None
