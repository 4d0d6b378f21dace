"""Speed against references, side by side: ``python -m benchmarks.bench_pipe``."""
