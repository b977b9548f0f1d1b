"""Batches: many issues, each fixed in a session of its own by an executor, with one folder of results."""
