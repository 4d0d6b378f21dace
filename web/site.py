"""All pages, added to the application behind the API's own routes."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import FastAPI

from web.frame.assets import ROUTE as ASSETS
from web.frame.routing import Nowhere, Pages
from web.jobs.pages import pages as jobs
from web.overview.pages import pages as overview
from web.sign_in.pages import pages as sign_in
from web.sign_in.pages import private as sign_out
from web.wizard.pages import pages as wizard

AREAS: Sequence[Pages] = (overview, jobs, wizard, sign_in, sign_out)
"""One entry an area of the site; an area is a folder with its pages and their templates."""


def add_pages(app: FastAPI) -> None:
    """Add every page to an application that `service.app.create_app` made."""
    app.router.routes.extend([route for area in AREAS for route in area.routes])
    app.router.routes.extend([ASSETS, Nowhere()])
