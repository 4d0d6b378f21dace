"""Workers: they run jobs, and are the only package that makes outgoing calls."""
