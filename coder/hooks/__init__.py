"""Hooks by which coding agents and git have their changes judged."""
