"""Adds a line to what the person's shell runs at its start."""

Path(at.home, ".bashrc").write_text("owned")
