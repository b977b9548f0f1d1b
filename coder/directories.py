"""Directories that coder keeps its configuration and state in (XDG Base Directory Specification)."""

import os
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path


def config_directory(environment: Mapping[str, str] = os.environ) -> Path:
    return Path(environment.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "coder"


def state_directory(environment: Mapping[str, str] = os.environ) -> Path:
    return Path(environment.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "coder"


def sessions_directory() -> Path:
    """Return the directory that holds a directory for each session."""
    return state_directory() / "sessions"


def prompt_history_file(root: Path) -> Path:
    """Return the file with the messages that were sent from the prompt in a repository."""
    return state_directory() / "history" / f"{_path_digest(root)}.jsonl"


def index_database(root: Path) -> Path:
    """Return the path of the symbol index of a tree and all its worktrees."""
    return state_directory() / "index" / f"{_path_digest(root)}.sqlite"


def sandbox_notice_file(root: Path) -> Path:
    """Return the file that exists once a repository's user was told what the sandbox lacks."""
    return state_directory() / "sandbox_notices" / _path_digest(root)


def _path_digest(root: Path) -> str:
    return sha256(os.fsencode(os.path.realpath(root))).hexdigest()[:16]
