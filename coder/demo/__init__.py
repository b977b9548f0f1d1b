"""A small repository with a bug in it, for `coder demo`."""
