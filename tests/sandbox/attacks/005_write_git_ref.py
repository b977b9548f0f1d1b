"""Moves the person's branch."""

Path(at.project, ".git/refs/heads/main").write_text("owned")
