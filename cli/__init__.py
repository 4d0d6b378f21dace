"""The command line, and the only place where the service and its workers meet."""
