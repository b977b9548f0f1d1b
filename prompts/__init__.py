"""Texts for models: one file a phase and a role, read through importlib.resources."""
