"""`coder doctor`: what works here."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

from coder.cli.options import RepositoryOption


def doctor(repo: RepositoryOption = Path()) -> None:
    """Say what works here, and what to do about what does not."""
    for ok, name, text in _findings(repo):
        print(f"{'ok ' if ok else 'no '} {name:<12} {text}")


def _findings(directory: Path) -> Iterator[tuple[bool, str, str]]:
    """(does it work, what, in words)"""
    yield sys.version_info >= (3, 11), "coder", f"{_version()} on Python {sys.version.split()[0]} ({sys.executable})"
    yield from _repository(directory)
    yield from _models()
    size = os.get_terminal_size() if sys.stdout.isatty() else None
    colours = "no colours (NO_COLOR is set)" if os.environ.get("NO_COLOR") else os.environ.get("TERM", "unknown kind")
    yield size is not None, "terminal", f"{size.columns} x {size.lines}, {colours}" if size else "output goes to a pipe: plain lines, no questions"


def _version() -> str:
    from coder import __version__

    return __version__


def _repository(directory: Path) -> Iterator[tuple[bool, str, str]]:
    from coder.core.errors import CoderError
    from coder.settings import trusted
    from coder.tools.search import ripgrep_version
    from coder.wiring import git_version, project_of, repository_root, sandbox_in_words

    try:
        yield True, "git", git_version()
        root = repository_root(directory)
    except CoderError as error:
        yield False, "git", str(error)
        return
    yield True, "repository", str(root)
    yield trusted(root), "trust", "its tests may run" if trusted(root) else f"not trusted: coder trust {root}"
    try:
        yield True, "rg", ripgrep_version()
    except CoderError as error:
        yield False, "rg", str(error)
    project = project_of(root)
    yield project.problem is None, "interpreter", str(project.interpreter)
    yield project.problem is None, "tests", project.problem or project.command
    for reason in project.why:
        yield True, "", reason
    yield True, "sandbox", sandbox_in_words()


def _models() -> Iterator[tuple[bool, str, str]]:
    from coder.models.catalog import choose, keys_set, servers
    from coder.core.errors import UserError

    keys = keys_set(os.environ)
    yield bool(keys), "keys", ", ".join(keys) or "none set"
    running = servers(os.environ)
    yield bool(running), "servers", "; ".join(f"{server.provider} at {server.base_url}: {', '.join(server.models[:4])}" for server in running) or (
        "no Ollama, llama.cpp, LM Studio or vLLM answers on this machine"
    )
    try:
        choice = choose(model=None, configured=None, base_url=None, environment=os.environ, local=lambda _: running)
        yield choice is not None, "model", f"{choice.name} ({choice.reason})" if choice else "none: set a key or start a model server"
    except UserError as error:
        yield False, "model", str(error)
