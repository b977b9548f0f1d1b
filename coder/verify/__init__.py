"""Verification of changes by the project's own tests."""
