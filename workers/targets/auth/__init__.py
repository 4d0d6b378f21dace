"""Authentication of calls to targets: secrets in requests, signatures, and access tokens."""
