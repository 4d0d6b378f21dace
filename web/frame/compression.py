"""Compression of what browsers load: Brotli where the browser reads it (an eighth smaller), else gzip."""

import gzip

import brotli

WORTH_COMPRESSING = 2_000
"""Content of at most this many bytes is not compressed."""


def compressed_content(content: bytes, encodings: str) -> tuple[bytes, str]:
    """Return the content in an encoding that the client accepts, and its ``Content-Encoding`` (empty: unchanged)."""
    if len(content) <= WORTH_COMPRESSING:
        return content, ""
    if "br" in encodings:
        return brotli.compress(content, quality=5), "br"
    if "gzip" in encodings:
        return gzip.compress(content, compresslevel=8, mtime=0), "gzip"
    return content, ""
