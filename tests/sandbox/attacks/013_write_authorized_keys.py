"""Lets itself in by ssh."""

Path(at.home, ".ssh/authorized_keys").write_text("owned")
