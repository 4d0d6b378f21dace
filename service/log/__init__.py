"""``/v1/log`` and ``/v1/witness``: the transparency log, and this agency as a witness of other logs."""
