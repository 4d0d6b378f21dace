"""Shared parts of all pages: the API as a function, the caller, and the frame around the content."""

from web.frame.api import Api, Refused, segment
from web.frame.routing import Pages
from web.frame.visit import Visit

__all__ = ["Api", "Pages", "Refused", "Visit", "segment"]
