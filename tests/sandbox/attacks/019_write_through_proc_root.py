"""Writes into the checkout through /proc/self/root."""

Path(f"/proc/self/root{at.project}/main.py").write_text("owned")
