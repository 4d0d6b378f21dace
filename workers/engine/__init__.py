"""The job engine: worker processes, heartbeats, the reconciler, the watchdog, and what follows a failure."""
