"""Adapters of test runners that write their results as XML files."""
