"""Makes itself trusted."""

Path(at.home, ".config/coder/trusted.json").write_text("owned")
