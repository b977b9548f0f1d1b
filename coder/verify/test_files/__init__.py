"""Tests and sources among the files of a project: classification, location, splitting of a change."""
