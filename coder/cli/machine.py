"""Commands about this machine: doctor, config, trust, models."""

import os
import re
import shutil
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from coder.cli.options import ModelOption, RepositoryOption, ServerOption
from coder.core.errors import CoderError, UserError
from coder.core.text import parse_toml, sanitize_text, shorten_line
from coder.files.regular_files import config_directory
from coder.repo.git import find_checkout, find_root

if TYPE_CHECKING:
    from coder.models.catalog import ModelChoice
    from coder.sandbox.backend import SandboxBackend
    from coder.sandbox.choice import BackendChoice
    from coder.settings import Config

CheckResult = tuple[bool, str, str]
"""Whether it works, its name, and a description."""


def doctor(
    repo: RepositoryOption = Path(),
    tests: Annotated[
        bool, typer.Option("--tests", help="Run one test of HEAD, or all where one cannot be selected.")
    ] = False,
    trust: Annotated[
        bool, typer.Option("--trust", help="With --tests: trust this repository this once.")
    ] = False,
) -> int:
    """Say what does not work here and what to do about it, then what works."""
    if not repo.is_dir():
        raise UserError(f"{repo} is not a directory; name the repository to look at.")
    if tests:
        return _try_tests(repo, trust=trust)
    for line in doctor_lines(repo):
        print(line)
    return 0


def _try_tests(directory: Path, *, trust: bool) -> int:
    """Print how the tests of HEAD run, and what came of it; return 1 if they cannot be run."""
    from coder.sandbox.choice import choose_backend
    from coder.settings import load_config
    from coder.wiring.session import try_tests

    project, report, count = try_tests(directory, trusted=trust)
    command = project.command
    lines = {"command": command.text, "why": f"\n{'':<13}".join(project.why)}
    if command.uses_interpreter:
        lines["interpreter"] = f"{project.interpreter} {project.python}".strip()
    if command.environment:
        lines["environment"] = " ".join(f"{name}={value}" for name, value in command.environment.items())
    if command.builds:
        lines["before"] = "; ".join(command.builds)
    ran = Counter(result.outcome for result in report.results)
    outcomes = ", ".join(f"{number:,} {outcome}" for outcome, number in sorted(ran.items()))
    lines["tests"] = f"{count:,} found" if command.is_recorded else f"{count:,} ran"
    lines["ran"] = f"{outcomes or 'none'} in {report.seconds:.1f} s"
    config = load_config(None, {})
    choice = choose_backend(config.image, config.sandbox)
    if choice.backend and choice.backend.limitations:
        lines["sandbox"] = (
            f"{choice.backend.name}: {choice.backend.limitations}; full isolation: coder doctor"
        )
    first = next((result.failure for result in report.failures if result.failure), None)
    if report.problem is not None:
        lines["no"] = report.problem.text
    elif not count:
        lines["no"] = first.message if first else "no test was found"
    for name, text in lines.items():
        print(f"{name:<12} {text}")
    return int("no" in lines)


def doctor_lines(repo: Path) -> Iterator[str]:
    """Yield a line for each check, below headings; what does not work comes first."""
    from coder.sandbox.choice import choose_backend
    from coder.settings import load_config

    config = load_config(None, {})
    choice = choose_backend(config.image, config.sandbox)
    checks: list[list[CheckResult]] = []
    for result in (
        *_check_program(),
        *_check_sandbox(choice),
        *_check_repository(repo, backend=choice.backend),
        *_check_models(config),
    ):
        if result[1]:
            checks.append([])
        checks[-1].append(result)
    faulty = [check for check in checks if not all(ok for ok, _, _ in check)]
    works = [check for check in checks if check not in faulty]
    groups = (
        {"Does not work here, or not fully:": faulty, "Works:": works}
        if faulty
        else {"Everything works here:": works}
    )
    for title, group in groups.items():
        yield title
        for ok, name, text in chain.from_iterable(group):
            mark = "no" if not ok else "ok" if group is works else ""
            yield f"{mark:<3} {name:<12} {text}"


def _check_program() -> Iterator[CheckResult]:
    from coder import __version__
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
    from coder.settings import is_trusted
    from coder.verify.select import has_test_functions
    from coder.wiring.project_runtime import inspect_project

    try:
        root = find_checkout(directory).root
        yield True, "git", f"repository {root}"
        if backend is None:
            return
        project = inspect_project(root, backend=backend)
    except CoderError as error:
        yield False, "git", str(error)
        return
    is_full = backend is not None and not backend.limitations
    without_trust = "its tests run in the sandbox alone" if is_full else "coder asks before its tests run"
    yield (
        is_trusted(root),
        "trust",
        "trusted"
        if is_trusted(root)
        else f"not trusted: {without_trust}; if it is yours: coder trust {root}",
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
    from coder.files.regular_files import read_regular_text
    from coder.settings import ignored_settings

    try:
        parse_toml(read_regular_text(root / "pyproject.toml", within=root) or "")
    except tomllib.TOMLDecodeError as error:
        yield False, "settings", f"pyproject.toml is not valid TOML, so nothing in it counts: {error}"
    for text in ignored_settings(root):
        yield False, "settings", text


def _check_models(config: "Config") -> Iterator[CheckResult]:
    from coder.models.catalog import (
        KEY_VARIABLES,
        choose_model,
        find_local_servers,
        list_key_variables,
        server_addresses,
    )

    if keys := list_key_variables(os.environ):
        yield True, "keys", ", ".join(keys)
    running = find_local_servers(os.environ)
    for server in running:
        yield True, "server", f"{server.provider} at {server.base_url}: {', '.join(server.models[:4])}"
    if not running and os.environ.get("OLLAMA_HOST"):
        yield False, "server", f"nothing answers at {server_addresses(os.environ)['ollama']} (OLLAMA_HOST)"
    try:
        choice = choose_model(
            model=None,
            configured=config.model,
            base_url=config.base_url,
            environment=os.environ,
            local=lambda _environment: running,
        )
        fault = _model_fault(choice) if choice else ""
        yield (
            choice is not None and not fault,
            "model",
            f"{choice.name} ({choice.reason}){fault}"
            if choice
            else f"none: set a key ({KEY_VARIABLES['openai'][0]}, ...) or start a model server; without one, "
            "the built-in engine repairs simple bugs that a test shows",
        )
    except UserError as error:
        yield False, "model", str(error)


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


def config(repo: RepositoryOption = Path()) -> None:
    """Show all settings, what each is for, and where those come from that are not the default."""
    from coder.settings import SETTING_GROUPS, collect_settings, describe_settings

    settings = collect_settings(find_root(repo))
    descriptions = describe_settings()
    titles = {first: title for title, first in SETTING_GROUPS.items()}
    width = max(len(setting.name) for setting in settings)
    columns = shutil.get_terminal_size().columns - 1 if sys.stdout.isatty() else None
    for setting in settings:
        if setting.name in titles:
            print(*([] if setting is settings[0] else [""]), titles[setting.name], sep="\n")
        origin = "" if setting.source == "default" else f"  [{setting.source}]"
        purpose = re.split(r"[.;](?: |$)", descriptions[setting.name])[0]
        line = f"  {setting.name:<{width}}  {setting.text or '-':<12}{origin}  {purpose}"
        print(sanitize_text(line if columns is None else shorten_line(line, columns)))
    print()
    print(
        f"Your own settings go into {config_directory() / 'config.toml'}; a repository's into [tool.coder] "
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
    """Trust a repository: its tests need no full sandbox, and its instructions (AGENTS.md), skills
    and commands count, and the MCP servers of its .mcp.json are started.
    """
    from coder.settings import forget_repository as forget_all
    from coder.settings import trust_repository as remember

    root = find_checkout(directory).root
    (forget_all if forget else remember)(root)
    print(f"{root} is {'not trusted, and nothing is allowed there for good' if forget else 'trusted'}.")


def models(repo: RepositoryOption = Path(), model: ModelOption = None, base_url: ServerOption = None) -> int:
    """List the model that a session would take, those of roles, those with a key, and those that run here.

    Each with its context window, its price, how it calls tools, whether it accepts images, and whether it
    thinks (--effort). Nothing is asked that costs.
    """
    from coder.settings import load_config

    flags: dict[str, Any] = {"model": model, "base_url": base_url}
    print(*model_lines(load_config(find_checkout(repo).root, flags), model), sep="\n")
    return 0


def model_lines(config: "Config", model: str | None) -> Sequence[str]:
    """Return a line for each model that can be asked, the chosen one first."""
    from coder.models.catalog import choose_model, describe_models

    roles = {"planner": config.planner_model, "reviewer": config.reviewer_model}
    configured = [(name, role) for role, name in roles.items() if name]
    chosen = choose_model(
        model=model, configured=config.model, base_url=config.base_url, environment=os.environ
    )
    return describe_models(chosen, configured, base_url=config.base_url, environment=os.environ)
