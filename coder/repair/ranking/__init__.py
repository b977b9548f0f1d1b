"""Ranking of candidate edits that pass the tests: behavioural clusters, credibility, code smells."""
