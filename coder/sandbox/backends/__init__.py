"""Sandbox backends: bubblewrap, Landlock, containers."""
