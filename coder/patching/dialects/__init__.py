"""Parsing of diffs: unified diffs, search/replace blocks and patch envelopes, well-formed or not."""
