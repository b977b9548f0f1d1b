"""Retrieval of the code that an issue is about, without a model."""
