"""Changes another candidate's files."""

Path(at.other, "main.py").write_text("owned")
