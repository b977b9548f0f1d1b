"""The sandbox, and how a repository is tested: what `coder doctor` needs and every session begins with."""

import os
from collections.abc import Iterable
from pathlib import Path

from coder.core.policy import Policy
from coder.directories import index_database, state_directory
from coder.permissions.private_files import DENY_READ
from coder.sandbox.backends.backend import SandboxBackend
from coder.sandbox.process.process import ProcessSandbox
from coder.settings import Config, load_config, sandbox_caps
from coder.verify.project.project import Project, find_candidates
from coder.verify.running.launch import TARGET
from coder.verify.running.selection import accepted_candidate

OVERLAYS = "overlays"


def make_sandbox(
    walls: SandboxBackend | None, config: Config | None = None, *, exposed: Iterable[Path] = ()
) -> ProcessSandbox:
    """Return a sandbox with the private files and limits of the configuration, or of the default one.

    Commands may read what is `exposed`.
    """
    effective = config or Config()
    return ProcessSandbox(
        os.environ,
        backend=walls,
        exposed=(TARGET, state_directory() / OVERLAYS, *exposed),
        deny_read=(*DENY_READ, *effective.deny_read),
        caps=sandbox_caps(effective),
        default_policy=Policy(network=effective.test_network),
    )


def command_memory(root: Path) -> Path:
    """Return the file that stores the accepted test command of a repository."""
    return index_database(root).with_suffix(".command.json")


def inspect_project(root: Path, *, walls: SandboxBackend | None) -> Project:
    """Return how the repository at `root` is tested."""
    with make_sandbox(walls) as sandbox:
        candidates = find_candidates(
            root, sandbox=sandbox, environment=os.environ, test_command=load_config(root, {}).test
        )
        return accepted_candidate(candidates, command_memory(root)) or candidates[0]
