"""Traces of requests and jobs for operators, sent to an OpenTelemetry collector."""

from __future__ import annotations

from typing import TYPE_CHECKING

import assay
from store.core.settings import Settings

if TYPE_CHECKING:
    from opentelemetry.trace import TracerProvider


def start_tracing(settings: Settings, role: str) -> TracerProvider | None:
    """Send the spans of this process, named by its `role`, to the operator's collector; ``None`` without a collector.

    Spans are sent from a thread, so a forked child must call this function again.
    """
    if settings.otel_endpoint is None:
        return None
    from opentelemetry import trace
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider as Provider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    resource_attributes = {"service.name": "assay", "service.version": assay.__version__, "assay.role": role}
    provider = Provider(resource=Resource.create(resource_attributes))
    exporter = OTLPSpanExporter(endpoint=f"{settings.otel_endpoint.rstrip('/')}/v1/traces")
    provider.add_span_processor(BatchSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    return provider
