"""Consent of callback hosts: a host must answer a challenge before its first webhook notice.

Anyone may name any address as a job's ``callback_url``. So the first notice to a host waits for a challenge, one per
tenant and host. The delivery of the challenge is the record of the answer; its id follows from tenant and host, so
that two processes never challenge a host twice. An answer counts until the delivery is deleted, after
`store.webhooks.deliveries.KEPT_S`.
"""

import json
from collections import Counter
from collections.abc import Iterable
from hashlib import sha256

from sqlalchemy import Connection, delete, func, select

from store.targets.domains import host_of
from store.webhooks import fan_out
from store.webhooks.deliveries import ClaimedDelivery, Next, Outcome, postpone, record
from store.webhooks.tables import deliveries
from store.webhooks.webhooks import CHALLENGE

AGAIN_MS = 3_600_000
"""Milliseconds after which a host that did not answer is challenged again, for a new notice."""

MOST_UNANSWERED = 20
"""Maximum number of hosts that a tenant may challenge within `AGAIN_MS` without an answer."""

LONGEST_WAIT_S = 60.0
"""Maximum number of seconds between two checks whether a challenge was answered."""

UNCONFIRMED = "unconfirmed: the host did not answer the challenge that comes before its first notice"
TOO_MANY = (
    f"unconfirmed: {MOST_UNANSWERED} hosts of callbacks did not answer their challenges within an hour, so no further "
    "host is challenged now"
)


def confirmed_deliveries(c: Connection, claims: Iterable[ClaimedDelivery], base_url: str = "") -> list[ClaimedDelivery]:
    """Return the deliveries that may be sent; postpone, or give up, callbacks to hosts that have not agreed to them."""
    return [delivery for delivery in claims if _may_be_sent(c, delivery, base_url)]


def challenge_id(tenant: str, url: str) -> str:
    """Return the id of the delivery that asks the host of `url` whether it wants a tenant's callbacks (challenge)."""
    return f"dlv_{sha256(json.dumps([tenant, host_of(url) or url]).encode()).hexdigest()[:26]}"


def _may_be_sent(c: Connection, delivery: ClaimedDelivery, base_url: str) -> bool:
    """Return whether a delivery may be sent; if its address has not answered a challenge, postpone it or give it up."""
    if delivery.webhook is not None or delivery.type == CHALLENGE:  # only callbacks of jobs need an answer
        return True
    id_of_challenge = challenge_id(delivery.tenant, delivery.url)
    challenge_row = c.execute(select(deliveries).where(deliveries.c.id == id_of_challenge)).mappings().one_or_none()
    if challenge_row is not None and challenge_row["state"] == "delivered":
        return True
    if challenge_row is not None and challenge_row["state"] == "given-up":
        if delivery.claimed_at - challenge_row["created_at"] < AGAIN_MS:
            record(c, delivery, Outcome(elapsed_ms=0, failure=UNCONFIRMED), Next(delay_s=None))  # gives it up
            return False
        c.execute(delete(deliveries).where(deliveries.c.id == id_of_challenge))  # the host is challenged again
        challenge_row = None
    if challenge_row is None:
        unanswered_counts = _count_unanswered(c, delivery)
        if unanswered_counts["given-up"] >= MOST_UNANSWERED:
            record(c, delivery, Outcome(elapsed_ms=0, failure=TOO_MANY), Next(delay_s=None))  # gives it up
            return False
        if unanswered_counts.total() < MOST_UNANSWERED:  # otherwise it waits for the challenges that are under way
            fan_out.challenge_callback(c, id_of_challenge, delivery, base_url)
    created_at = c.execute(select(deliveries.c.created_at).where(deliveries.c.id == delivery.id)).scalar_one()
    waited_s = (delivery.claimed_at - created_at) / 1000
    postpone(c, delivery, min(max(waited_s, 0.5), LONGEST_WAIT_S))  # each wait doubles the total
    return False


def _count_unanswered(c: Connection, delivery: ClaimedDelivery) -> Counter[str]:
    """Count, by state, the challenges that callback hosts have not answered, sent for the tenant in `AGAIN_MS`."""
    to_callbacks = (deliveries.c.tenant == delivery.tenant, deliveries.c.webhook_id.is_(None))
    is_recent_challenge = (deliveries.c.type == CHALLENGE, deliveries.c.created_at > delivery.claimed_at - AGAIN_MS)
    query = select(deliveries.c.state, func.count().label("challenges")).where(*to_callbacks, *is_recent_challenge)
    rows = c.execute(query.where(deliveries.c.state != "delivered").group_by(deliveries.c.state))
    return Counter({row.state: row.challenges for row in rows})
