"""Writes to the checkout, the repository's files, another candidate and the person's home."""

git = Path(at.project, ".git")
own = Path(Path(".git").read_text().split(": ")[1].strip())
for place in (
    Path(at.project, "main.py"),
    *(git / name for name in ("config", "hooks/post-commit", "refs/heads/main", "info/attributes")),
    own / "config.worktree",
    own / "commondir",
    Path(at.other, "main.py"),
    *(Path(at.home, name) for name in (".bashrc", ".ssh/authorized_keys", ".config/coder/trusted.json")),
    Path(at.home, ".local/state/coder/sessions/s1/events.jsonl"),
):
    attempt(lambda: place.parent.mkdir(exist_ok=True), lambda: place.write_text("owned"))
