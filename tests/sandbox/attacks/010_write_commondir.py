"""Redirects the worktree's repository from inside of git's own files."""

Path(Path(".git").read_text().split(": ")[1].strip(), "commondir").write_text("/tmp\n")
