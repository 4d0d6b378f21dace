"""``/v1/methods``, ``/v1/attributes``, ``/v1/protocols``: the catalog."""
