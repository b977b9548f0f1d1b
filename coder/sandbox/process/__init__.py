"""Sandboxed processes: launcher, output capture, resource usage, scratch directories."""
