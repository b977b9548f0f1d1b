"""Compiled extension modules of Python projects, built from the sources under test."""
