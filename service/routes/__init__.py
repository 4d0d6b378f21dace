"""One module for each resource: parse, call one thing, shape the answer."""
