"""Frozen values that cross packages: tasks, candidates, changes, hunks, plans, verdicts."""
