"""Adapters of the test runners of Node.js."""
