"""Test impact analysis: which tests a change can reach."""
