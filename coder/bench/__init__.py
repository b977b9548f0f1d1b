"""Runs suites of tasks under strategies and models, and says what came of it."""
