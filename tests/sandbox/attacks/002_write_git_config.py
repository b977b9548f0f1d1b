"""Writes a command into the repository's configuration."""

from pathlib import Path

from stage import at

with Path(at.project, ".git/config").open("a") as config:
    config.write("[core]\n\tfsmonitor = touch /tmp/x\n")
