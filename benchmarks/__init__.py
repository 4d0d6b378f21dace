"""Benchmarks of speed against references, such as ``python -m benchmarks.bench_pipe``."""
