"""The command line, the only package that imports both the service and the workers."""
