"""`assay demo`: services of known bias, rated and shown."""
