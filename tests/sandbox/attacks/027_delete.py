"""Deletes a file of the checkout."""

Path(at.project, "main.py").unlink()
