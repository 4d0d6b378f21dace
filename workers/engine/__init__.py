"""The job engine: worker processes, heartbeats, the reconciler, the watchdog, and the handling of failures."""
