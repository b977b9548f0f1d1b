"""Adapters of test runners of other languages than Python, one module each."""
