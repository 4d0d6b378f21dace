"""The REST interface: translates HTTP requests into calls of `store`."""
