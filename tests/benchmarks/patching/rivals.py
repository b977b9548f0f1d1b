"""Appliers of diffs, each as `(text, root) -> did it say that it had applied it?`."""

import importlib
import importlib.util
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from coder.patching import PatchError, apply

Applier = Callable[[str, Path], bool]
COMMANDS = {
    "git apply": ("git", "apply", "--whitespace=nowarn", "-"),
    "git apply -C1": ("git", "apply", "--whitespace=nowarn", "--recount", "--ignore-whitespace", "-C1", "-"),
    "patch -F3": ("patch", "-p1", "-F3", "-f", "-s", "-r", "-", "--no-backup-if-mismatch"),
}
OURS = "coder"
GIT = "git apply"


def appliers() -> dict[str, Applier]:
    """Those that this machine has."""
    found = {name: _process(command) for name, command in COMMANDS.items() if shutil.which(command[0])}
    if importlib.util.find_spec("whatthepatch"):
        found["whatthepatch"] = _whatthepatch
    return {OURS: _ours, **found}


def _ours(text: str, root: Path) -> bool:
    try:
        apply(text, root)
    except PatchError:
        return False
    return True


def _process(command: tuple[str, ...]) -> Applier:
    def applied(text: str, root: Path) -> bool:
        environment = {
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "GIT_CEILING_DIRECTORIES": str(root.parent),
            "HOME": "/nonexistent",
        }
        done = subprocess.run(
            command, cwd=root, input=text.encode(), capture_output=True, env=environment, check=False
        )
        return done.returncode == 0

    return applied


def _whatthepatch(text: str, root: Path) -> bool:
    """The library leaves names and files to its user: all of them are written, or none."""
    library = importlib.import_module("whatthepatch")
    written: dict[Path, bytes] = {}
    try:
        for diff in library.parse_patch(text):
            name = re.sub(r"^[ab]/", "", diff.header.new_path)
            before = root / re.sub(r"^[ab]/", "", diff.header.old_path)
            lines = library.apply_diff(diff, before.read_bytes().decode() if before.is_file() else "")
            written[root / name] = "".join(f"{line}\n" for line in lines).encode()
    except (
        library.exceptions.WhatThePatchException,
        AssertionError,
        AttributeError,
        LookupError,
        TypeError,
        ValueError,
    ):
        return False
    for path, data in written.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return bool(written)
