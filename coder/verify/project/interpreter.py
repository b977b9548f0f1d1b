"""Discovery of the interpreter that has the project and its test dependencies installed."""

import re
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from coder.core.errors import SandboxError
from coder.core.phases import READ_ONLY
from coder.core.ports import Limits, Sandbox
from coder.verify.project.roots import read_text, read_toml

ASK_SECONDS = 8.0
EDITABLE_HOOK = re.compile(r"(?:__editable__|_editable_impl_).*\.py")
"""Names of the import hooks of setuptools and hatchling."""
QUOTED_PATH = re.compile(r"'(/[^'\n]+)'")


def interpreter_candidates(
    root: Path, *, environment: Mapping[str, str], sandbox: Sandbox, nested: Path | None = None
) -> Iterator[tuple[Path, str]]:
    """Yield existing interpreters, each with the reason for it, likeliest first; the last is coder's own.

    `nested` is the directory of the project, if that is below the root.
    """
    active = environment.get("VIRTUAL_ENV", "")
    if active and Path(active).resolve() != Path(sys.prefix).resolve():
        yield from _in_prefix(Path(active), "the active virtual environment ($VIRTUAL_ENV)")
    for directory in filter(None, (root, nested)):
        for name in (".venv", "venv", "env"):
            prefix = directory / name
            yield from _in_prefix(prefix, f"{prefix.relative_to(root)} in the repository")
    if chosen := read_text(root / ".pdm-python").strip():
        yield from _in_prefix(Path(chosen).parent.parent, "pdm's choice (.pdm-python)")
    for query, why in _environment_queries(root):
        if answer := _run_query(query, root, sandbox):
            yield from _in_prefix(Path(answer), why)
    if environment.get("CONDA_PREFIX") and environment.get("CONDA_DEFAULT_ENV") != "base":
        yield from _in_prefix(
            Path(environment["CONDA_PREFIX"]), "the active conda environment ($CONDA_PREFIX)"
        )
    for directory in (
        *sorted(root.glob(".tox/py*"), reverse=True),
        *sorted(root.glob(".nox/*"), reverse=True),
    ):
        if any(directory.glob("lib/python*/site-packages/pytest")):
            yield from _in_prefix(directory, f"{directory.relative_to(root)} in the repository")
    yield (
        Path(sys.executable),
        "the interpreter that coder runs on, since no environment of the project was found",
    )


def virtual_environment_of(interpreter: Path) -> Path | None:
    """Return the virtual environment that an interpreter belongs to, None outside of one."""
    prefix = interpreter.parent.parent
    return prefix if (prefix / "pyvenv.cfg").is_file() else None


def editable_roots(prefix: Path, root: Path) -> tuple[str, ...]:
    """Return the directories of a checkout that an environment's editable installations import from.

    They are relative to the checkout. Path files name them; import hooks name the packages in them.
    """
    packages = prefix.glob("lib/python*/site-packages")
    named: list[Path] = []
    for file in sorted(file for directory in packages for file in directory.iterdir()):
        if file.suffix == ".pth":
            named += (Path(line) for line in read_text(file).splitlines() if line.startswith("/"))
        elif EDITABLE_HOOK.fullmatch(file.name):
            modules = map(Path, QUOTED_PATH.findall(read_text(file)))
            named += (
                module.parent.parent if module.name == "__init__.py" else module.parent for module in modules
            )
    directories = (_linked_root(path) for path in named if path.is_relative_to(root) and path.is_dir())
    inside = (path.relative_to(root) for path in directories if path.is_relative_to(root))
    return tuple(dict.fromkeys(map(str, inside)))


def _linked_root(directory: Path) -> Path:
    """Return the source root of a directory of links, as setuptools makes it in strict mode; else itself."""
    links = directory.rglob("*.py") if directory.name.startswith("__editable__") else ()
    for link in links:
        depth = len(link.relative_to(directory).parts)
        return link.resolve().parents[depth - 1]
    return directory


def meson_build_directories(prefix: Path) -> list[str]:
    """Return the build directories of the editable installations that meson-python made in an environment.

    Its import hook comes before the import path, and leads to the installed checkout; it leaves out the build
    directories that MESONPY_EDITABLE_SKIP names.
    """
    return [
        path
        for loader in sorted(prefix.glob("lib/python*/site-packages/_*_editable_loader.py"))
        for path in QUOTED_PATH.findall(read_text(loader))
        if Path(path, "meson-info").is_dir()
    ]


def _in_prefix(prefix: Path, why: str) -> Iterator[tuple[Path, str]]:
    interpreter = prefix / "bin" / "python"
    if interpreter.exists():
        yield interpreter, why


def _environment_queries(root: Path) -> Iterator[tuple[Sequence[str], str]]:
    """Yield commands that print a tool's environment, for installed tools that the repository uses."""
    tool = read_toml(root / "pyproject.toml").get("tool", {})
    for used, query in (
        ((root / "poetry.lock").exists() or "poetry" in tool, ("poetry", "env", "info", "-p")),
        ((root / "Pipfile").exists(), ("pipenv", "--venv")),
        ("hatch" in tool and "envs" in tool["hatch"], ("hatch", "env", "find")),
    ):
        if used and shutil.which(query[0]):
            yield query, f"the answer of `{' '.join(query)}`"


def _run_query(query: Sequence[str], root: Path, sandbox: Sandbox) -> str:
    try:
        execution = sandbox.run(query, cwd=root, policy=READ_ONLY, limits=Limits(wall_seconds=ASK_SECONDS))
    except SandboxError:
        return ""
    lines = execution.output.strip().splitlines()
    return lines[-1].strip() if execution.exit_code == 0 and lines else ""
