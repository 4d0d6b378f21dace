"""Outgoing HTTP calls: checked addresses, a deadline per call, limited response size, failures with codes.

`Egress.send` makes one call, and raises only `CallFailed` with a code of `CODES`. Nothing else in Assay connects to
a service, except the library behind `workers.targets.protocols.deep_translator`.
"""

from workers.egress.calls import AGENT, Egress, Exchange, Response, ShownExchange, show_exchange
from workers.egress.connection import HEADER_CAP
from workers.egress.failures import (
    CODES,
    RETRIABLE_STATUSES,
    RETRY_AFTER_CAP_S,
    AddressRefused,
    CallFailed,
    Quoter,
    parse_retry_after,
    should_retry,
    spellings,
)
from workers.egress.guard import SPECIAL, Guard, Network, read_origin, refuse_url, why_denied
from workers.egress.transport import GuardedTransport
