"""Moves a file of its own over one of the checkout."""

Path("mine").write_text("owned")
Path("mine").rename(Path(at.project, "main.py"))
