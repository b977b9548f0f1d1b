"""Adapters of test runners of other languages than Python."""
