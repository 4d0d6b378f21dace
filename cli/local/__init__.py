"""Models on this machine without HTTP: a Python function, or a program that reads and writes JSON lines."""
