"""Authentication of calls to targets: where a secret goes in a request, signatures, access tokens."""
