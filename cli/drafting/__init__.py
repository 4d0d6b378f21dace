"""`assay init`: a request file from a curl command, an OpenAPI operation, or answers at a terminal."""
