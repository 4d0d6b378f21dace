"""``/.well-known/api-catalog``: the API catalog for programs (RFC 9727)."""

from __future__ import annotations

import hashlib

from fastapi import APIRouter, Request, Response

from reports.embeds.linkset import MEDIA_TYPE, link, linkset
from service.http.conditional import not_modified
from service.http.json import StrictRoute
from service.http.problems import base_url
from service.ratings.freshness import caching

router = APIRouter(tags=["service"], route_class=StrictRoute)

PATH = "/.well-known/api-catalog"
PROFILE = "https://www.rfc-editor.org/info/rfc9727"
OPENAPI_TYPE = "application/vnd.oai.openapi+json;version=3.1"
CATALOG_TYPE = f'{MEDIA_TYPE}; profile="{PROFILE}"'


@router.get(
    PATH,
    operation_id="getApiCatalog",
    response_class=Response,
    responses={
        200: {
            "description": "Links to the API and to its descriptions (RFC 9264).",
            "content": {MEDIA_TYPE: {"schema": {"type": "object"}, "example": {"linkset": [{"anchor": "/v1"}]}}},
            "headers": {
                "ETag": {"required": True, "schema": {"type": "string"}, "description": "Identifies this version."},
                "Link": {
                    "required": True,
                    "schema": {"type": "string"},
                    "description": "The catalog and the API in it, also for HEAD (RFC 9727, section 3).",
                },
            },
        },
        304: {"description": "Not changed since the version in If-None-Match."},
    },
)
async def get_api_catalog(request: Request) -> Response:
    """Read the API catalog, for programs that look for APIs. HEAD answers with the same `Link`."""
    base = base_url(request)
    item = {"href": f"{base}/v1", "title": "Assay: bias ratings of AI services"}
    body = linkset([{"anchor": f"{base}{PATH}", "item": [item]}, _api(base)]).encode()
    headers = {
        "Content-Type": CATALOG_TYPE,
        "Link": f'<{base}{PATH}>; rel="api-catalog"; type="{MEDIA_TYPE}", <{base}/v1>; rel="item"',
        "ETag": f'"{hashlib.sha256(body).hexdigest()[:32]}"',
        "Cache-Control": caching(private=False),
    }
    return not_modified(request, headers) or Response(body, headers=headers)


def _api(base: str) -> dict[str, object]:
    """Return the links of the API, with the relations of RFC 8631."""
    return {
        "anchor": f"{base}/v1",
        "service-desc": [link(f"{base}/openapi.json", OPENAPI_TYPE)],
        "service-doc": [link(f"{base}/docs", "text/html")],
        "service-meta": [link(f"{base}/v1/info", "application/json")],
        "status": [link(f"{base}/readyz", "application/json")],
    }
