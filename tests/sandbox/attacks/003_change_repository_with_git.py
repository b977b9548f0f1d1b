"""Sets a hooks directory, commits and makes a branch with git itself, through the worktree's pointer."""

person = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
for words in (
    ["config", "core.hooksPath", "hooks"],
    [*person, "commit", "--allow-empty", "-qm", "x"],
    ["update-ref", "refs/heads/owned", "HEAD"],
):
    subprocess.run(["git", *words])
