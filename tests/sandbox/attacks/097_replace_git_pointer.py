"""Puts a repository of its own in the place of the worktree's, with a file system monitor.

Then: git
"""

mark = Path(at.home).with_name("PWNED")

os.unlink(".git")
subprocess.run(["git", "init", "-q"], check=True)
subprocess.run(["git", "config", "core.fsmonitor", f"touch {mark}; false"], check=True)
