"""Commands about this machine: doctor, config, trust, models."""

import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from coder.cli.options import ModelOption, RepositoryOption, ServerOption
from coder.core.documents import parse_toml

if TYPE_CHECKING:
    from coder.models.catalog import ModelChoice
    from coder.sandbox.backend import SandboxBackend
    from coder.sandbox.choice import BackendChoice
    from coder.settings import Config

CheckResult = tuple[bool, str, str]
"""Whether it works, its name, and a description."""


def doctor(repo: RepositoryOption = Path()) -> None:
    """Say what works here, and what to do about what does not."""
    from coder.core.errors import UserError

    if not repo.is_dir():
        raise UserError(f"{repo} is not a directory; name the repository to look at.")
    for line in doctor_lines(repo):
        print(line)


def doctor_lines(repo: Path) -> Iterator[str]:
    """Yield a line for each check."""
    from coder.sandbox.choice import choose_backend
    from coder.settings import load_config

    choice = choose_backend(load_config(None, {}).image)
    for ok, name, text in (
        *_check_program(),
        *_check_sandbox(choice),
        *_check_repository(repo, backend=choice.backend),
        *_check_models(),
        *_check_terminal(),
    ):
        yield f"{'ok ' if ok else 'no '} {name:<12} {text}"


def _check_program() -> Iterator[CheckResult]:
    from coder import __version__
    from coder.core.errors import CoderError
    from coder.files.ripgrep import ripgrep_path

    yield True, "coder", f"{__version__} on Python {sys.version.split()[0]} ({sys.executable})"
    try:
        yield True, "rg", ripgrep_path()
    except CoderError as error:
        yield False, "rg", str(error)


def _check_sandbox(choice: "BackendChoice") -> Iterator[CheckResult]:
    from coder.sandbox.choice import UNSAFE_FLAG

    if choice.backend is None:
        yield False, "sandbox", f"none works here, so nothing is run without {UNSAFE_FLAG}"
    else:
        limits = choice.backend.limitations or "all that is run has files, processes and a network of its own"
        yield True, "sandbox", f"{choice.backend.name}: {limits}"
    for fault in choice.faults:
        yield False, "", fault
    if choice.remedy:
        yield True, "", choice.remedy


def _check_repository(directory: Path, *, backend: "SandboxBackend | None") -> Iterator[CheckResult]:
    from coder.core.errors import CoderError
    from coder.repo.git import find_checkout
    from coder.trust import is_trusted
    from coder.verify.select import has_test_functions
    from coder.wiring.preparation import inspect_project

    try:
        root = find_checkout(directory).root
        yield True, "git", f"repository {root}"
        if backend is None:
            return
        project = inspect_project(root, backend=backend)
    except CoderError as error:
        yield False, "git", str(error)
        return
    yield (
        is_trusted(root),
        "trust",
        "as you have said"
        if is_trusted(root)
        else f"not trusted: its tests run in the sandbox alone; if it is yours: coder trust {root}",
    )
    if project.problem is not None:
        yield False, "tests", project.problem.text
    elif project.command.is_recorded and not has_test_functions(root):
        command = project.command.text
        yield (
            False,
            "tests",
            f"`{command}` runs, but no Python file here defines a test: name the command with --test",
        )
    else:
        yield True, "tests", project.command.text
        if not project.command.is_selective:
            yield (
                True,
                "",
                "judged by its exit code, which never proves a fix, unless it writes a report",
            )
    for reason in project.why:
        yield True, "", reason
    yield from _check_settings(root)


def _check_settings(root: Path) -> Iterator[CheckResult]:
    """Yield what is wrong with a repository's own settings."""
    import tomllib

    from coder.files.regular_files import read_regular_text
    from coder.settings import ignored_settings

    try:
        parse_toml(read_regular_text(root / "pyproject.toml", within=root) or "")
    except tomllib.TOMLDecodeError as error:
        yield False, "settings", f"pyproject.toml is not valid TOML, so nothing in it counts: {error}"
    for text in ignored_settings(root):
        yield False, "settings", text


def _check_models() -> Iterator[CheckResult]:
    from coder.core.errors import UserError
    from coder.models.catalog import choose_model, find_local_servers, list_key_variables, server_addresses
    from coder.settings import collect_settings, config_from_settings

    keys = list_key_variables(os.environ)
    yield bool(keys), "keys", ", ".join(keys) or "none set"
    running = find_local_servers(os.environ)
    for server in running:
        yield True, "server", f"{server.provider} at {server.base_url}: {', '.join(server.models[:4])}"
    if not running:
        host = os.environ.get("OLLAMA_HOST")
        place = f", nor anything at {server_addresses(os.environ)['ollama']} (OLLAMA_HOST)" if host else ""
        yield False, "server", f"no Ollama, llama.cpp, LM Studio or vLLM answers on this machine{place}"
    effective = config_from_settings(collect_settings())
    try:
        choice = choose_model(
            model=None,
            configured=effective.model,
            base_url=effective.base_url,
            environment=os.environ,
            local=lambda _environment: running,
        )
        fault = _model_fault(choice) if choice else ""
        yield (
            choice is not None and not fault,
            "model",
            f"{choice.name} ({choice.reason}){fault}"
            if choice
            else "none: set a key, or start a model server",
        )
    except UserError as error:
        yield False, "model", str(error)
    yield (
        True,
        "offline",
        (
            "without a model, simple bugs that a test shows are repaired by the built-in engine: coder fix "
            "--offline"
        ),
    )


def _model_fault(choice: "ModelChoice") -> str:
    """Return what keeps a chosen model from being asked; empty if nothing is known to."""
    from coder.models.catalog import COMPATIBLE_PROVIDER, KEY_VARIABLES, accepts_connections, find_key

    variables = KEY_VARIABLES.get(choice.provider, ())
    if choice.base_url and not accepts_connections(choice.base_url):
        return f": nothing answers at {choice.base_url}"
    needs_key = choice.provider != COMPATIBLE_PROVIDER and variables
    if choice.base_url and needs_key and not find_key(choice.provider, os.environ):
        return f": no key is set ({' or '.join(variables)})"
    return ""


def _check_terminal() -> Iterator[CheckResult]:
    if not sys.stdout.isatty():
        yield True, "terminal", "output goes to a pipe: plain lines, not interactive"
        return
    size = os.get_terminal_size()
    colours = (
        "no colours: NO_COLOR is set"
        if os.environ.get("NO_COLOR")
        else os.environ.get("TERM", "of unknown kind")
    )
    yield True, "terminal", f"{size.columns} x {size.lines}, {colours}"


def config(repo: RepositoryOption = Path()) -> None:
    """Show the effective configuration and where each value came from."""
    from coder.core.errors import UserError
    from coder.directories import config_directory
    from coder.repo.git import find_checkout
    from coder.settings import collect_settings

    try:
        root = find_checkout(repo).root
    except UserError:
        root = None
    for setting in collect_settings(root):
        value = (
            ", ".join(setting.value)
            if isinstance(setting.value, tuple)
            else ""
            if setting.value is None
            else str(setting.value)
        )
        print(f"{setting.name:<14} {value:<28} {setting.source}")
    print(
        f"\nYour own settings go into {config_directory() / 'config.toml'}; a repository's into [tool.coder] "
        "of its pyproject.toml, or into coder.toml."
    )


def trust(
    directory: Annotated[
        Path, typer.Argument(metavar="DIR", help="The repository, or a directory inside it.")
    ] = Path(),
    forget: Annotated[
        bool, typer.Option("--forget", help="Trust it no longer, and forget what was allowed always.")
    ] = False,
) -> None:
    """Trust a repository: its tests need no full sandbox, and its AGENTS.md is sent to the
    model.
    """
    from coder.repo.git import find_checkout
    from coder.trust import forget_repository as forget_all
    from coder.trust import trust_repository as remember

    root = find_checkout(directory).root
    (forget_all if forget else remember)(root)
    print(f"{root} is {'not trusted, and nothing is allowed there for good' if forget else 'trusted'}.")


def models(repo: RepositoryOption = Path(), model: ModelOption = None, base_url: ServerOption = None) -> int:
    """List the model that a session would take, those of roles, those with a key, and those that run here.

    Each with its context window, its price, how it calls tools, and whether it accepts images. Nothing is
    asked that costs.
    """
    from coder.repo.git import find_checkout
    from coder.settings import load_config

    flags: dict[str, Any] = {"model": model, "base_url": base_url}
    print(*model_lines(load_config(find_checkout(repo).root, flags), model), sep="\n")
    return 0


def model_lines(config: "Config", model: str | None) -> Sequence[str]:
    """Return a line for each model that can be asked, the chosen one first."""
    from coder.models.catalog import choose_model, describe_models

    roles = {
        "planner": config.planner_model,
        "reviewer": config.reviewer_model,
        "summariser": config.summariser_model,
    }
    configured = [
        *((name, "fallback") for name in config.fallback_models),
        *((name, "branches") for name in config.branch_models),
        *((name, role) for role, name in roles.items() if name),
    ]
    chosen = choose_model(
        model=model, configured=config.model, base_url=config.base_url, environment=os.environ
    )
    return describe_models(chosen, configured, base_url=config.base_url, environment=os.environ)
