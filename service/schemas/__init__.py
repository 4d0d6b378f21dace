"""The shapes of requests and answers, one module for each resource."""
