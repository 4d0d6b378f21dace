"""All pages, added to the application."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import FastAPI

from web.frame.assets import ROUTE as ASSETS
from web.frame.routing import Nowhere, Pages
from web.overview.pages import pages as overview
from web.public.log import pages as log
from web.public.methodology import pages as methodology
from web.public.pages import pages as public
from web.public.problems import pages as problems
from web.services.acts import pages as service_acts
from web.services.pages import pages as services
from web.sign_in.pages import pages as sign_in
from web.sign_in.pages import private as sign_out

AREAS: Sequence[Pages] = (
    public,
    methodology,
    log,
    problems,
    overview,
    services,
    service_acts,
    sign_in,
    sign_out,
)
"""One entry an area of the site; an area is a folder with its pages and their templates."""


def add_pages(app: FastAPI) -> None:
    """Add all pages to an application of `service.app.create_app`: behind the API, or before it if negotiated."""
    app.router.routes[:0] = [route for area in AREAS if area.negotiated for route in area.routes]
    app.router.routes.extend([route for area in AREAS if not area.negotiated for route in area.routes])
    app.router.routes.extend([ASSETS, Nowhere()])
