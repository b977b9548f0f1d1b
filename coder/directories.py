"""Directories that coder keeps its configuration and state in (XDG Base Directory Specification)."""

import os
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path


def config_directory(environment: Mapping[str, str] = os.environ) -> Path:
    return Path(environment.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "coder"


def state_directory(environment: Mapping[str, str] = os.environ) -> Path:
    return Path(environment.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "coder"


def sessions_directory(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the directory that holds a directory for each session."""
    return state_directory(environment) / "sessions"


def index_database(root: Path, environment: Mapping[str, str] = os.environ) -> Path:
    """Return the path of the symbol index of a tree and all its worktrees."""
    digest = sha256(os.fsencode(os.path.realpath(root))).hexdigest()[:16]
    return state_directory(environment) / "index" / f"{digest}.sqlite"
