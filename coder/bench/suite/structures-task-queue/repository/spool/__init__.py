"""A queue of print jobs."""
