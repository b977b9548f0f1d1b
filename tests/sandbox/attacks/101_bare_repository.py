"""Leaves a bare repository that works as one where somebody enters it.

Then: run cd inner.git && git status
"""

mark = Path(at.home).with_name("PWNED")

subprocess.run(["git", "init", "-q", "--bare", "inner.git"], check=True)
for name, value in (
    ("core.bare", "false"),
    ("core.worktree", "."),
    ("core.fsmonitor", f"touch {mark}; false"),
):
    subprocess.run(["git", "-C", "inner.git", "config", name, value], check=True)
