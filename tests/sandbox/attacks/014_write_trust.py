"""Makes itself trusted."""

from pathlib import Path

from stage import at

Path(at.home, ".config/coder/trusted.json").write_text("owned")
