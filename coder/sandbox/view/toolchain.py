"""Discovery of the interpreters, environments and tools in the user's home that a command needs.

A virtual environment may come with an untrusted repository: the directories it points to are shown only where
they are Python installations or projects.
"""

import ast
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

TOOL_DIRECTORIES = (
    *(
        ".pyenv",
        ".asdf",
        ".rye/py",
        ".volta",
        ".nvm/versions",
        ".cargo/bin",
        ".rustup",
        ".sdkman/candidates",
        ".rbenv",
    ),
    *("miniconda3", "anaconda3", "miniforge3", "mambaforge", "micromamba", ".conda/envs"),
    *(
        ".local/bin",
        ".local/lib",
        ".local/pipx/venvs",
        ".local/share/mise",
        ".local/share/rtx",
        ".local/share/pipx/venvs",
    ),
    *(
        ".local/share/uv/python",
        ".local/share/uv/tools",
        ".local/share/virtualenvs",
        ".local/share/hatch/env",
    ),
    *(".cache/pypoetry/virtualenvs", ".local/share/pypoetry/venv", ".virtualenvs"),
    *("Library/Python", "Library/Caches/pypoetry/virtualenvs"),  # macOS
    *("Library/Application Support/pypoetry/venv", "Library/Application Support/hatch/env"),
)
"""Directories in which tools keep programs and environments, but no secrets."""
PATH_FILE = re.compile(r"__editable__.*\.py|.*\.pth|.*\.egg-link")
STRING_LITERAL = re.compile(r"'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\"")
PROJECT_FILES = ("pyproject.toml", "setup.py", "setup.cfg")
LARGEST_BYTES = 1_000_000


def toolchain_directories(
    program: str, environment: Mapping[str, str], homes: tuple[Path, ...]
) -> Iterator[Path]:
    """Yield the directories that must be readable for a command to start and import."""
    for home in homes:
        yield from (home / name for name in TOOL_DIRECTORIES)
    # A PATH inherited from another user may contain directories that this user cannot enter: skip those.
    directories = [Path(name) for name in environment.get("PATH", "").split(":") if name.startswith("/")]
    search = [path for path in directories if os.access(path, os.X_OK)]
    yield from search
    if program.startswith("/"):
        search.append(Path(program).parent)
    for prefix in dict.fromkeys(directory.parent for directory in search):
        if (prefix / "pyvenv.cfg").is_file() or is_python_installation(prefix):
            yield from _environment_directories(prefix)


def is_python_installation(prefix: Path) -> bool:
    """Return whether a directory is the root of a Python installation."""
    return any(prefix.glob("bin/py*")) and any(prefix.glob("lib/py*/os.py"))


def _environment_directories(prefix: Path) -> Iterator[Path]:
    """Yield the directories of an installation or virtual environment.

    For the latter, these include its base installation and the entries of its path files.
    """
    yield prefix
    yield from (path for path in _base_installations(prefix) if is_python_installation(path))
    for site in prefix.glob("lib/python*/site-packages"):
        for entry in os.scandir(site):
            if PATH_FILE.fullmatch(entry.name):
                yield from (path for path in _import_directories(Path(entry.path)) if _is_project_code(path))


def _base_installations(prefix: Path) -> Iterator[Path]:
    """Yield the roots of a virtual environment's interpreter, by its pyvenv.cfg and by symbolic links."""
    for line in _read_text(prefix / "pyvenv.cfg").splitlines():
        name, _, value = (part.strip() for part in line.partition("="))
        if name == "home":
            yield Path(value).parent
    program = prefix / "bin" / "python"
    for _ in range(16):
        yield program.parent.parent
        if not os.access(program.parent, os.X_OK) or not program.is_symlink():
            break
        program = program.parent / program.readlink()
    yield Path(os.path.realpath(program)).parent.parent


def _import_directories(file: Path) -> Iterator[Path]:
    """Yield the directories that a path file or an editable finder adds to the import path."""
    text = _read_text(file)
    words = (
        [_literal_text(word) for word in STRING_LITERAL.findall(text)]
        if file.suffix == ".py"
        else text.splitlines()
    )
    paths = (Path(word.strip()) for word in words if word.strip().startswith("/") and "\0" not in word)
    return (path for path in paths if os.access(path, os.X_OK) and path.is_dir())


def _is_project_code(path: Path) -> bool:
    """Return whether a directory belongs to a Python environment, or to a project and is not hidden."""
    if "site-packages" in path.parts:
        return is_python_installation(path.parents[2]) or (path.parents[2] / "pyvenv.cfg").is_file()
    visible = not any(part.startswith(".") for part in path.parts)
    return visible and any(
        (directory / name).is_file() for directory in (path, *path.parents[:3]) for name in PROJECT_FILES
    )


def _literal_text(word: str) -> str:
    try:
        return str(ast.literal_eval(word))
    except (SyntaxError, ValueError):
        return ""


def _read_text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(LARGEST_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
