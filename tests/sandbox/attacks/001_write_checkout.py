"""Changes a source file in the person's checkout."""

Path(at.project, "main.py").write_text("owned")
