"""Appliers of diffs, each as `(text, root) -> whether it reported success`."""

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
    """Return the appliers that this machine has."""
    result = {
        name: _process_applier(command) for name, command in COMMANDS.items() if shutil.which(command[0])
    }
    if importlib.util.find_spec("whatthepatch"):
        result["whatthepatch"] = _apply_whatthepatch
    return {OURS: _apply_ours, **result}


def _apply_ours(text: str, root: Path) -> bool:
    try:
        apply(text, root)
    except PatchError:
        return False
    return True


def _process_applier(command: tuple[str, ...]) -> Applier:
    def run_process(text: str, root: Path) -> bool:
        environment = {
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "GIT_CEILING_DIRECTORIES": str(root.parent),
            "HOME": "/nonexistent",
        }
        result = subprocess.run(
            command, cwd=root, input=text.encode(), capture_output=True, env=environment, check=False
        )
        return result.returncode == 0

    return run_process


def _apply_whatthepatch(text: str, root: Path) -> bool:
    """Apply with the library, which leaves names and files to its user: all of them are written, or none."""
    library = importlib.import_module("whatthepatch")
    new_files: dict[Path, bytes] = {}
    try:
        for diff in library.parse_patch(text):
            name = re.sub(r"^[ab]/", "", diff.header.new_path)
            before = root / re.sub(r"^[ab]/", "", diff.header.old_path)
            lines = library.apply_diff(diff, before.read_bytes().decode() if before.is_file() else "")
            new_files[root / name] = "".join(f"{line}\n" for line in lines).encode()
    except (
        library.exceptions.WhatThePatchException,
        AssertionError,
        AttributeError,
        LookupError,
        TypeError,
        ValueError,
    ):
        return False
    for path, data in new_files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return bool(new_files)
