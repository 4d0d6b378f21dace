"""Headers of pages: content security policy and caching."""

from __future__ import annotations

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""``Content-Security-Policy`` of every page."""


def headers_of(*, public: bool) -> dict[str, str]:
    """Return the headers of a page; a tenant's pages are not cached."""
    return {
        "Content-Security-Policy": POLICY,
        "Cross-Origin-Opener-Policy": "same-origin",
        # with no-referrer browsers send forms of the page itself with "Origin: null"
        "Referrer-Policy": "same-origin",
        "Cache-Control": "public, max-age=60" if public else "no-store",
    }
