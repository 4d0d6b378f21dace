"""Embeds: formats in which other sites show a rating, such as a badge or a catalog entry, each a line in `EMBEDS`.

The content of an embed depends on the document, the current time and whether the rating was withdrawn.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

from assay.document import JsonObject
from reports.embeds import badge, catalogs, evaluation_records, linkset
from reports.embeds.notation import yaml_text
from reports.embeds.public_view import PublicView

__all__ = ["EMBEDS", "Embed", "PublicView"]


@dataclass(frozen=True, slots=True)
class Embed:
    """A format in which other sites show a rating."""

    file: str
    """File name, which is the last part of its address."""
    media_type: str
    """Value of the header ``Content-Type``."""
    render: Callable[[PublicView], str]
    """Returns the text for a `PublicView`, which may have no rating; must not fail on absent fields."""
    title: str
    """Name of the format for people."""
    summary: str
    """Text after "Get " in the description of its API operation: what the format contains, and where it is used."""
    content: Callable[[PublicView], JsonObject | list[JsonObject]] | None = None
    """Returns the data that `render` writes as YAML, for the API's documentation; ``None`` for other notations."""

    @classmethod
    def in_yaml(
        cls, file: str, content: Callable[[PublicView], JsonObject | list[JsonObject]], title: str, summary: str
    ) -> Self:
        """Return an embed whose `content` is written as YAML."""
        return cls(file, "application/yaml", lambda view: yaml_text(content(view)), title, summary, content)


def _links(view: PublicView) -> str:
    """Write the link set, which lists the other embeds."""
    return linkset.render(view, [(embed.file, embed.media_type) for embed in EMBEDS if embed.render is not _links])


JSON = "application/json"

EMBEDS: tuple[Embed, ...] = (
    Embed("badge.svg", "image/svg+xml", badge.render, "Badge", "letter, date and age as an image for any page"),
    Embed("badge.json", JSON, catalogs.shields, "Badge data", "data for the endpoint badge of shields.io"),
    Embed.in_yaml("overlay.yaml", catalogs.overlay, "Overlay", "an overlay that adds `info.x-bias-rating` to OpenAPI"),
    Embed("linkset.json", linkset.MEDIA_TYPE, _links, "Links", "links from service to rating and forms (RFC 9264)"),
    Embed.in_yaml("backstage.yaml", catalogs.backstage, "Annotations", "annotations and links for a Backstage entity"),
    Embed("apis.json", JSON, catalogs.apis_json, "APIs.json entry", "an entry for a provider's index of services"),
    Embed(
        "a2a-extension.json", JSON, catalogs.a2a_extension, "Agent card extension", "an extension of A2A agent cards"
    ),
    Embed("azure-api-center.json", JSON, catalogs.azure_api_center, "Azure metadata", "metadata for Azure API Center"),
    Embed.in_yaml("huggingface.yaml", catalogs.hugging_face, "Model index", "a model index for a Hugging Face card"),
    Embed("jsonld.json", "application/ld+json", catalogs.json_ld, "Linked data", "a schema.org Review for a web page"),
    Embed(
        "cyclonedx.json",
        "application/vnd.cyclonedx+json",
        evaluation_records.cyclonedx,
        "Bill of materials",
        "the model card and claims in CycloneDX 1.6",
    ),
    Embed.in_yaml(
        "eval-results.yaml",
        evaluation_records.eval_results,
        "Evaluation results",
        "evaluation results for a model on Hugging Face",
    ),
    Embed(
        "every-eval-ever.json",
        JSON,
        evaluation_records.every_eval_ever,
        "Evaluation record",
        "the rating as an evaluation record in the schema of Every Eval Ever",
    ),
    Embed(
        "ai-verify.json", JSON, evaluation_records.ai_verify, "Test result", "the rating as a test result for AI Verify"
    ),
    Embed.in_yaml(
        "backstage-scorecard.yaml",
        evaluation_records.backstage_scorecard,
        "Scorecard",
        "the rating as a scorecard, a separate entity of Backstage",
    ),
)
"""All embeds that Assay offers."""
