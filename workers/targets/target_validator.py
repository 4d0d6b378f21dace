"""Target validator of the service (`service.targets.target_validator`): checks targets without calling them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from assay.errors import SpecificationError
from store.core.settings import Settings
from workers.egress import AddressRefused, Egress, refuse_url
from workers.targets import ProtocolInfo, check_target, connect, keep_to_links, protocols, read_target
from workers.targets.adapter import questions_per_call


class TargetChecker:
    """Lists protocols, and validates targets and callback addresses."""

    def __init__(self, settings: Settings) -> None:
        self._allow, self._scraping = settings.egress_networks, settings.allow_scraping

    def protocols(self) -> Sequence[ProtocolInfo]:
        """Return all protocols."""
        return protocols()

    def check(self, target: Mapping[str, Any]) -> None:
        """Raise a `SpecificationError` for an unknown protocol, invalid settings or a forbidden address."""
        check_target(target, self._allow, scraping=self._scraping)

    def questions_per_call(self, target: Mapping[str, Any]) -> int:
        """Return the maximum number of questions in one call to a validated target."""
        checked = read_target(target)
        adapter = connect(checked, Egress(self._allow, scraping=self._scraping))
        return questions_per_call(adapter, keep_to_links(checked).limits)

    def check_callback(self, url: str, field: str = "callback_url") -> None:
        """Raise a `SpecificationError` for an address to which no notice may be sent."""
        try:
            refuse_url(url, self._allow)
        except AddressRefused as refused:
            raise SpecificationError(str(refused), field) from None
