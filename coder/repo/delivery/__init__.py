"""Delivery into the user's repository: commits, branches, notes, apply, merge and undo."""
