"""List of all pages, and the function that adds them to the application."""

from collections.abc import Sequence

from fastapi import FastAPI

from web.agency.pages import pages as agency
from web.audits.pages import pages as audits
from web.compare.pages import pages as compare
from web.compose.pages import pages as compose
from web.corpora.items import pages as corpus_items
from web.corpora.pages import pages as corpora
from web.frame.assets import ROUTE as ASSETS
from web.frame.routing import NotFoundPage, Pages
from web.guide.pages import pages as guide
from web.jobs.pages import pages as jobs
from web.overview.pages import pages as overview
from web.own_words.pages import pages as own_words
from web.own_words.testing import pages as own_words_testing
from web.public.methodology import pages as methodology
from web.public.pages import negotiated
from web.public.pages import pages as public
from web.ratings.acts import pages as rating_acts
from web.ratings.pages import pages as ratings
from web.ratings.pages import public as public_rating
from web.schedules.pages import pages as schedules
from web.services.pages import pages as services
from web.sign_in.pages import pages as sign_in
from web.sign_in.pages import private as sign_out
from web.sign_in.provider import Provider
from web.specifications.pages import pages as specifications
from web.suites.pages import pages as suites
from web.uploads.pages import pages as uploads
from web.wizard.pages import pages as wizard

AREAS: Sequence[Pages] = (
    overview,
    sign_in,
    sign_out,
    corpora,
    corpus_items,
    specifications,
    uploads,
    audits,
    own_words,
    own_words_testing,
    public,
    methodology,
    guide,
    negotiated,
    services,
    compare,
    compose,
    suites,
    schedules,
    agency,
    ratings,
    rating_acts,
    public_rating,
    jobs,
    wizard,
)
"""Areas of the site, or parts of them; an area is a folder with pages and their templates."""


def add_pages(app: FastAPI, provider: Provider | None = None) -> None:
    """Add all pages to an application: before the API if they share its addresses (`Pages.negotiated`), others after.

    People sign in with accounts of `provider`, if there is one.
    """
    app.state.provider = provider
    app.state.sign_in_rules = {} if provider is None else provider.rules
    app.router.routes[:0] = [route for area in AREAS if area.negotiated for route in area.routes]
    app.router.routes.extend([route for area in AREAS if not area.negotiated for route in area.routes])
    app.router.routes.extend([ASSETS, NotFoundPage()])
