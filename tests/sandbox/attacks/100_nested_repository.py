"""Leaves a repository inside of the worktree, with a file system monitor.

Then: git
"""

mark = Path(at.home).with_name("PWNED")

os.mkdir("inner")


def run(*words):
    subprocess.run(
        ["git", "-C", "inner", "-c", "user.name=x", "-c", "user.email=x@example.org", *words], check=True
    )


run("init", "-q")
Path("inner/file").write_text("x")
run("add", "file")
run("commit", "-qm", "x")
run("config", "core.fsmonitor", f"touch {mark}; false")
Path("inner/file").write_text("y")
