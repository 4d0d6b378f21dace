"""Adapter for image classifiers behind an HTTP interface that a job describes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from assay.model import Ask, Failure, Kind, Look, Reply
from workers.egress import Egress
from workers.targets.adapter import Target
from workers.targets.protocols.custom.adapter import Custom
from workers.targets.protocols.custom.settings import CustomSettings
from workers.targets.protocols.custom.templates import placeholders
from workers.targets.protocols.http.images import accept_look, in_base64, labels_wanted, picture_of


class CustomLooker(Custom):
    """Adapter for the HTTP interface that the settings describe, with one image per call."""

    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.IMAGE_CLASSIFIER})

    def __init__(self, target: Target, settings: CustomSettings, egress: Egress) -> None:
        super().__init__(target, settings, egress)
        self._sent = placeholders(settings.body)

    def _refuse(self, ask: Ask) -> Failure | None:
        if not isinstance(ask, Look):
            return super()._refuse(ask)
        if "question" in self._sent and not ask.question.strip():
            return Failure("unsupported", "there is no question about the image, and settings.body sends one")
        return labels_wanted(ask) if "labels" in self._sent else None

    def _values(self, asks: Sequence[Ask]) -> dict[str, Any]:
        (ask,) = asks
        if not isinstance(ask, Look):
            return super()._values(asks)
        image = picture_of(ask, self._egress)
        return {
            "image_b64": in_base64(image),
            "media_type": image.media_type,
            "labels": list(ask.labels),
            "question": ask.question,
        }

    def _accept(self, answer: Any, ask: Ask, origin: str) -> Reply:
        return accept_look(answer, ask, origin) if isinstance(ask, Look) else super()._accept(answer, ask, origin)
