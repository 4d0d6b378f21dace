"""The protocols of targets, one module or package each."""
