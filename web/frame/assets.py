"""Files that pages load: styles, scripts, fonts. Their digest is in the address, so browsers cache them for a year."""

import hashlib
import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from fastapi import Request
from starlette.responses import Response
from starlette.routing import Route

from reports.figures import stylesheet
from service.http.problems import Problem, respond
from web.frame.compression import compressed_content

MEDIA_TYPES = {"css": "text/css", "js": "text/javascript", "woff2": "font/woff2", "svg": "image/svg+xml"}


@dataclass(frozen=True)
class Asset:
    """A file that pages load: its bytes as they are sent, and its media type."""

    content: bytes
    media_type: str

    @property
    def digest(self) -> str:
        """First 12 characters of the file's SHA-256."""
        return hashlib.sha256(self.content).hexdigest()[:12]


@cache
def asset_named(name: str) -> Asset | None:
    """Return a file of ``web/static``; ``None`` if there is no such file."""
    ending = name.rpartition(".")[2]
    if ending not in MEDIA_TYPES or "/" in name:
        return None
    file = files("web").joinpath("static", name)
    if not file.is_file():
        return None
    content = file.read_bytes()
    if ending == "css":
        content = stylesheet(content.decode()).encode()
        # files that the style sheet names, such as fonts, get the digest into their addresses
        content = re.sub(rb"url\(([\w.-]+)\)", lambda match: f"url({address_of(match[1].decode())})".encode(), content)
    return Asset(content, MEDIA_TYPES[ending])


def address_of(name: str) -> str:
    """Return the address of a file of ``web/static``."""
    asset = asset_named(name)
    assert asset is not None, f"web/static has no {name}"  # noqa: S101  templates name files that exist
    return f"/static/{asset.digest}/{name}"


async def _asset(request: Request) -> Response:
    asset = asset_named(request.path_params["name"])
    if asset is None or asset.digest != request.path_params["digest"]:
        return respond(request, Problem("not-found", "there is no such file"))
    headers = {"Cache-Control": "public, max-age=31536000, immutable", "Vary": "Accept-Encoding"}
    is_compressed = asset.media_type == MEDIA_TYPES["woff2"]  # a font file contains compressed data
    encodings = "" if is_compressed else request.headers.get("accept-encoding", "")
    content, coding = compressed_content(asset.content, encodings)
    encoding_header = {"Content-Encoding": coding} if coding else {}
    return Response(content, headers=headers | encoding_header, media_type=asset.media_type)


ROUTE = Route("/static/{digest}/{name}", _asset, include_in_schema=False)
