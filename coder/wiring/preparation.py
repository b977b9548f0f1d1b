"""Preparation of a session: trust, test command, sandbox and attachments."""

import os
from collections.abc import Callable, Iterable
from pathlib import Path

from coder.behavior.runs import TARGET as BEHAVIOR_TARGET
from coder.core.errors import ToolError, UserError
from coder.core.phases import Policy
from coder.core.task import Attachment
from coder.directories import index_database, state_directory
from coder.index.index import SymbolIndex
from coder.permissions.secrets import DENY_READ
from coder.retrieval.attachments import attach_mentions
from coder.retrieval.issue_terms import extract_issue_terms
from coder.retrieval.ranking import Localization, locate_issue
from coder.sandbox.backend import SandboxBackend
from coder.sandbox.process import ProcessSandbox
from coder.settings import Config, confirmed_commands, load_config, sandbox_caps
from coder.trust import is_trusted, remember_commands, trust_repository
from coder.verify.launch import TARGET
from coder.verify.project import Project, find_candidates
from coder.verify.run import accepted_candidate
from coder.warm.trials import TARGET as WARM_TARGET

UNKNOWN_PURPOSE = "(a change without a description)"
"""Issue of a change that is judged without one."""


def read_attachments(text: str, root: Path, config: Config) -> tuple[Attachment, ...]:
    """Return the files and symbols of a repository that a text mentions.

    Raises:
        UserError: one of the files cannot be attached.
    """
    index = SymbolIndex(root, index_database(root))
    return attach_mentions(text, root, index, deny_read=(*DENY_READ, *config.deny_read))


def ensure_trust(
    root: Path, *, backend: SandboxBackend | None, confirm: Callable[[str], bool] | None = None
) -> bool:
    """Return whether the repository is trusted; ask the user if its tests would run without a full sandbox.

    Refused in a reduced sandbox, the work goes on there, without trust.

    Raises:
        UserError: it is not trusted, there is no full sandbox, and the user cannot be asked, or refuses where
            there is none at all.
    """
    if is_trusted(root):
        return True
    if backend is not None and not backend.limitations:
        return False
    if confirm is None:
        raise UserError(
            f"{root} is not trusted, and its tests would run on this machine. Run `coder trust {root}` once, "
            "or add --trust."
        )
    refusal = (
        "" if backend is None else " No: go on in the sandbox, without its instructions, skills and hooks."
    )
    if confirm(f"{trust_question(root, backend)}{refusal}"):
        trust_repository(root)
        return True
    if backend is None:
        raise UserError(f"{root} is not trusted: nothing was run.")
    return False


def confirm_commands(
    root: Path, config: Config, *, backend: SandboxBackend | None, ask: Callable[[str, str], str]
) -> Config:
    """Ask the user once for the command that tests a repository, with what was detected.

    `ask` takes a question and the answer that Enter gives. Nothing is asked where the user, the repository
    or an earlier answer names the test command, and nothing is remembered where none was detected.
    """
    if config.test is not None or confirmed_commands(root):
        return config
    project = inspect_project(root, backend=backend)
    if project.problem is not None:
        return config
    answers = {"test": ask(f"Test command of {root.name}", project.command.text)}
    remember_commands(root, answers)
    return config.model_copy(update=answers)


def trust_question(root: Path, backend: SandboxBackend | None) -> str:
    """Return the question on a repository whose tests would run without a full sandbox."""
    consequence = (
        "its tests run without a sandbox, as you"
        if backend is None
        else "its tests run in a reduced sandbox, and its instructions, skills and hooks count"
    )
    servers = (
        f", and the servers of its {SERVERS_FILE} are started" if (root / SERVERS_FILE).is_file() else ""
    )
    return f"Trust {root.name}? If so, {consequence}{servers}."


SERVERS_FILE = ".mcp.json"


def trust_details(root: Path, backend: SandboxBackend | None) -> str:
    """Return what the user may want to know before they trust a repository."""
    sandbox = (
        "There is no sandbox: commands can do what you can do" if backend is None else backend.limitations
    )
    return (
        f'{root}\n{sandbox[:1].upper()}{sandbox[1:]}.\n"once" holds until you leave, "always" until '
        "coder trust --forget."
    )


OVERLAYS = "overlays"


def make_sandbox(
    backend: SandboxBackend | None,
    config: Config | None = None,
    *,
    exposed: Iterable[Path] = (),
) -> ProcessSandbox:
    """Return a sandbox with the private files and limits of the configuration, or of the default one.

    Commands may read what is `exposed`.
    """
    effective = config or Config()
    return ProcessSandbox(
        os.environ,
        backend=backend,
        exposed=(TARGET, BEHAVIOR_TARGET, WARM_TARGET, state_directory() / OVERLAYS, *exposed),
        deny_read=(*DENY_READ, *effective.deny_read),
        caps=sandbox_caps(effective),
        default_policy=Policy(network=effective.test_network),
    )


def command_memory(root: Path) -> Path:
    """Return the file that stores the accepted test command of a repository."""
    return index_database(root).with_suffix(".command.json")


def inspect_project(root: Path, *, backend: SandboxBackend | None) -> Project:
    """Return how the repository at `root` is tested."""
    with make_sandbox(backend) as sandbox:
        candidates = find_candidates(
            root, sandbox=sandbox, environment=os.environ, test_command=load_config(root, {}).test
        )
        return accepted_candidate(candidates, command_memory(root)) or candidates[0]


def rank_tree(root: Path, text: str) -> Localization:
    """Rank with the stored index of a tree.

    Raises:
        UserError: its files cannot be listed.
    """
    database = index_database(root)
    database.parent.mkdir(parents=True, exist_ok=True)
    try:
        snapshot = SymbolIndex(root.resolve(), database).refresh()
    except ToolError as error:
        raise UserError(str(error)) from None
    return locate_issue(snapshot, extract_issue_terms(text))
