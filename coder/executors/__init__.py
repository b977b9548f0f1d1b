"""Calls in parallel."""
