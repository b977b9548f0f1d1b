"""Writes into the checkout with many `..`."""

Path(os.path.relpath(at.project), "main.py").write_text("owned")
