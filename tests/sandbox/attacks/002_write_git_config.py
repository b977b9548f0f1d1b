"""Writes a command into the repository's configuration."""

with Path(at.project, ".git/config").open("a") as config:
    config.write("[core]\n\tfsmonitor = touch /tmp/x\n")
