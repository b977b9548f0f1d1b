"""Runs of tests that are no evidence: pytest collects once and forks for each edit, or traces lines."""
