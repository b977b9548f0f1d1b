"""Reviewers of a change, and targeted repair of what they flag."""
