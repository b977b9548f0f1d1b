"""Backends of the Sandbox port, through which every command is executed."""
