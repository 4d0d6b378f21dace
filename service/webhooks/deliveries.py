"""Deliveries as they are shown: those to an endpoint of a tenant, and those to a job's own `callback_url`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fastapi import Request, Response

from service.dependencies import Service
from service.http.json import Answer, json_response, write_json
from service.http.pagination import Page, link_next
from service.http.problems import not_found
from service.webhooks.schemas import DeliveryLine, DeliveryList, DeliveryQuery, DeliveryView
from store.webhooks import delivery_log
from store.webhooks.delivery_log import Delivery, Receiver


@dataclass(frozen=True)
class Sent:
    """What was sent to one receiver.

    Attributes
    ----------
    receiver : Receiver
        To whom.
    under : str
        Address of what it belongs to: ``/v1/webhooks/…`` or ``/v1/jobs/…``.
    """

    receiver: Receiver
    under: str

    async def listed(self, request: Request, response: Response, here: Service, query: DeliveryQuery) -> Response:
        """Show one page, newest first."""
        name = f"deliveries of {self.under}"
        before = query.before(name)
        rows = await here.database.read(
            delivery_log.page, self.receiver, state=query.state, before=before, limit=query.limit + 1
        )
        page = Page.of(rows, query.limit, lambda one: (one.created_at, one.id))
        items = [DeliveryLine.of(one, self.under) for one in page.rows]
        listed = DeliveryList(items=items, next_cursor=link_next(request, response, query, name, page.next_key))
        return json_response(listed, headers=response.headers)

    async def shown(self, here: Service, delivery_id: str) -> Response:
        """Show one with its attempts."""
        view = await here.database.read(self._view, delivery_id)
        return json_response(view, headers={"Cache-Control": "private, no-cache"})

    def on_its_way(self, c: Any, delivery_id: str) -> Answer:
        """Answer, within a transaction, that a delivery was accepted."""
        view = self._view(c, delivery_id)
        return Answer(202, write_json(view), {"Location": view.href})

    def again(self, c: Any, delivery_id: str, url: str | None = None) -> Answer:
        """Send a delivery again, to `url` where there is a newer one, and answer so."""
        delivery_log.redeliver(c, delivery_id, self.receiver, url)
        return self.on_its_way(c, delivery_id)

    def _view(self, c: Any, delivery_id: str) -> DeliveryView:
        row: Delivery | None = delivery_log.find(c, delivery_id, self.receiver)
        if row is None:
            raise not_found("delivery", delivery_id)
        return DeliveryView.whole(row, self.under, delivery_log.attempts(c, row.id))
