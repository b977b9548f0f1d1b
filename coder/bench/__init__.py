"""Benchmarks: suites of tasks, run under strategies and models, and reports of the results."""
