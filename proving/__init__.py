"""Writes the generated part of `assay_client` from the OpenAPI document; not part of what is installed."""
