"""Embeds: formats in which other sites show a rating, such as a badge or a catalog entry, each a line in `EMBEDS`.

The content of an embed depends on the document, the current time and whether the rating was withdrawn.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

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
    """Purpose of the format, in a sentence."""
    content: Callable[[PublicView], JsonObject | list[JsonObject]] | None = None
    """Data that `render` writes as YAML; the API's documentation shows them as an example."""

    @classmethod
    def in_yaml(
        cls, file: str, content: Callable[[PublicView], JsonObject | list[JsonObject]], title: str, summary: str
    ) -> Embed:
        """Return an embed whose `content` is written as YAML."""
        return cls(file, "application/yaml", lambda view: yaml_text(content(view)), title, summary, content)


def _links(view: PublicView) -> str:
    """Write the link set, which lists the other embeds."""
    return linkset.render(view, [(embed.file, embed.media_type) for embed in EMBEDS if embed.render is not _links])


EMBEDS: tuple[Embed, ...] = (
    Embed("badge.svg", "image/svg+xml", badge.render, "Badge", "Letter, date and age, as an image for any page."),
    Embed("badge.json", "application/json", catalogs.shields, "Badge data", "For the endpoint badge of shields.io."),
    Embed.in_yaml("overlay.yaml", catalogs.overlay, "Overlay", "Adds `info.x-bias-rating` to OpenAPI files."),
    Embed("linkset.json", linkset.MEDIA_TYPE, _links, "Links", "From service to rating to forms (RFC 9264)."),
    Embed.in_yaml("backstage.yaml", catalogs.backstage, "Annotations", "And links, for a Backstage entity."),
    Embed(
        "apis.json", "application/json", catalogs.apis_json, "APIs.json entry", "For a provider's index of services."
    ),
    Embed(
        "a2a-extension.json",
        "application/json",
        catalogs.a2a_extension,
        "Agent card extension",
        "For an A2A agent card.",
    ),
    Embed(
        "azure-api-center.json",
        "application/json",
        catalogs.azure_api_center,
        "Azure metadata",
        "For Azure API Center.",
    ),
    Embed.in_yaml("huggingface.yaml", catalogs.hugging_face, "Model index", "For a Hugging Face model card."),
    Embed(
        "jsonld.json", "application/ld+json", catalogs.json_ld, "Linked data", "A schema.org Review, for a web page."
    ),
    Embed(
        "cyclonedx.json",
        "application/vnd.cyclonedx+json",
        evaluation_records.cyclonedx,
        "Bill of materials",
        "Model card and claims, in CycloneDX 1.6.",
    ),
    Embed.in_yaml(
        "eval-results.yaml", evaluation_records.eval_results, "Evaluation results", "For a model on Hugging Face."
    ),
    Embed(
        "every-eval-ever.json",
        "application/json",
        evaluation_records.every_eval_ever,
        "Evaluation record",
        "In the schema Every Eval Ever.",
    ),
    Embed("ai-verify.json", "application/json", evaluation_records.ai_verify, "Test result", "For AI Verify."),
    Embed.in_yaml(
        "backstage-scorecard.yaml",
        evaluation_records.backstage_scorecard,
        "Scorecard",
        "An entity of its own, for Backstage.",
    ),
)
"""All embeds that Assay offers."""
