"""Links of the navigation bar."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Link:
    """A link of the navigation bar; a `public` link is shown to everybody."""

    text: str
    path: str
    public: bool = False


NAVIGATION: tuple[tuple[str, tuple[Link, ...]], ...] = (
    (
        "Rate",
        (
            Link("Overview", "/overview"),
            Link("Jobs", "/jobs"),
            Link("Ratings", "/ratings"),
            Link("Services", "/services"),
            Link("Own words", "/own-words"),
            Link("Suites", "/suites"),
            Link("Schedules", "/schedules"),
        ),
    ),
    ("Material", (Link("Specifications", "/specifications"), Link("Corpora", "/corpora"), Link("Uploads", "/uploads"))),
    ("Reason", (Link("Compare", "/compare"), Link("Compose", "/compose"))),
    (
        "Public",
        (
            Link("Registry", "/registry", public=True),
            Link("Methodology", "/methodology", public=True),
            Link("Log", "/log", public=True),
            Link("API", "/docs", public=True),
        ),
    ),
    ("Agency", (Link("Webhooks", "/webhooks"), Link("Keys", "/keys"), Link("Settings", "/settings"))),
)
"""Groups of links, in the order of the navigation bar."""
