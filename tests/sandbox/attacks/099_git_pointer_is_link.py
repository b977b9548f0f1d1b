"""Makes the worktree's pointer a symbolic link to a repository of its own, with hooks.

Then: git
"""

mark = Path(at.home).with_name("PWNED")

subprocess.run(["git", "init", "-q", "own"], check=True)
hook = Path("own/.git/hooks/pre-commit")
hook.parent.mkdir(exist_ok=True)
hook.write_text(f"#!/bin/sh\ntouch {mark}\n")
hook.chmod(0o755)
for words in (["user.name", "x"], ["user.email", "x@example.org"], ["core.worktree", os.getcwd()]):
    subprocess.run(["git", "-C", "own", "config", *words], check=True)
os.unlink(".git")
os.symlink("own/.git", ".git")
