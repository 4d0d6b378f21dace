"""What the world asks: the REST interface, a thin translation of HTTP into calls of `store`."""
