"""Answers about deliveries to one receiver: a webhook, or the `callback_url` of a job."""

from dataclasses import dataclass
from functools import partial

from fastapi import Response

from service.container import Service
from service.http.json import Answer, json_response, write_json
from service.http.problems import existing
from service.http.rows import ListReader
from service.webhooks.schemas import DeliveryLine, DeliveryQuery, DeliveryView
from store.core.database import Connection
from store.webhooks import delivery_log
from store.webhooks.delivery_log import Receiver


@dataclass(frozen=True)
class Deliveries:
    """Deliveries to one receiver; `parent_address` is the address of its webhook or job."""

    receiver: Receiver
    parent_address: str

    async def page_response(self, lists: ListReader, query: DeliveryQuery) -> Response:
        """Return one page of deliveries, newest first."""
        list_name = f"deliveries of {self.parent_address}"
        view = partial(DeliveryLine.of, parent_address=self.parent_address)
        return await lists.page(query, list_name, view, delivery_log.page, self.receiver)

    async def delivery_response(self, service: Service, delivery_id: str) -> Response:
        """Return one delivery with its attempts."""
        view = await service.database.read(self._read_view, delivery_id)
        return json_response(view, headers={"Cache-Control": "private, no-cache"})

    def accepted_answer(self, c: Connection, delivery_id: str) -> Answer:
        """Return an answer with status 202 that shows a delivery, which the transaction of `c` has just queued."""
        view = self._read_view(c, delivery_id)
        return Answer(202, write_json(view), {"Location": view.href})

    def send_again(self, c: Connection, delivery_id: str, url: str | None = None) -> Answer:
        """Queue a delivery again, to `url` if given, and return the same answer as `accepted_answer`."""
        delivery_log.redeliver(c, delivery_id, self.receiver, url)
        return self.accepted_answer(c, delivery_id)

    def _read_view(self, c: Connection, delivery_id: str) -> DeliveryView:
        row = existing(delivery_log.find(c, delivery_id, self.receiver), "delivery", delivery_id)
        return DeliveryView.of(row, self.parent_address, tries=delivery_log.attempts(c, row.id))
