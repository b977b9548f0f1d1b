"""Writes a configuration for this worktree alone."""

Path(Path(".git").read_text().split(": ")[1].strip(), "config.worktree").write_text(
    "[core]\n\tfsmonitor = x\n"
)
