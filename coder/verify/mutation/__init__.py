"""Mutation testing of a change: whether a test would notice it broken."""
