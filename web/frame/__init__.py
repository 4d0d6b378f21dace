"""What every page needs: the API as a function, who asks, the frame around its content."""

from __future__ import annotations

from web.frame.api import Api, Refused
from web.frame.routing import Pages
from web.frame.visit import Visit

__all__ = ["Api", "Pages", "Refused", "Visit"]
