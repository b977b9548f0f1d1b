"""Backends of the Sandbox port: everything that executes anything goes through one of them."""
