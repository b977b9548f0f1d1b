"""What of a hidden home a command needs: interpreters, environments, the tools on PATH.

An environment may come with a repository that nobody trusts: what it points to is shown only where it is what it claims to be.
"""

import ast
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

IN_HOMES = (
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
)
"""Where tools keep programs and environments, and no secrets."""
PATH_FILE = re.compile(r"__editable__.*\.py|.*\.pth|.*\.egg-link")
QUOTED = re.compile(r"'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\"")
PROJECT_FILES = ("pyproject.toml", "setup.py", "setup.cfg")
LARGEST_BYTES = 1_000_000


def needed(program: str, environment: Mapping[str, str], homes: tuple[Path, ...]) -> Iterator[Path]:
    """Directories that must be readable for a command to start and import, wherever they lie."""
    for home in homes:
        yield from (home / name for name in IN_HOMES)
    # What a PATH that was inherited from another user names may be closed to this one, and then nothing of it can be used.
    named = [Path(name) for name in environment.get("PATH", "").split(":") if name.startswith("/")]
    search = [place for place in named if os.access(place, os.X_OK)]
    yield from search
    if program.startswith("/"):
        search.append(Path(program).parent)
    for prefix in dict.fromkeys(directory.parent for directory in search):
        if (prefix / "pyvenv.cfg").is_file() or is_python(prefix):
            yield from _of_environment(prefix)


def is_python(prefix: Path) -> bool:
    """Is this the root of a Python installation?"""
    return any(prefix.glob("bin/py*")) and any(prefix.glob("lib/py*/os.py"))


def _of_environment(prefix: Path) -> Iterator[Path]:
    """A Python installation, or a virtual environment with the installation it was made from and what its path files name."""
    yield prefix
    yield from (place for place in _bases(prefix) if is_python(place))
    for site in prefix.glob("lib/python*/site-packages"):
        for entry in os.scandir(site):
            if PATH_FILE.fullmatch(entry.name):
                yield from (place for place in _named(Path(entry.path)) if _is_of_a_project(place))


def _bases(prefix: Path) -> Iterator[Path]:
    """Where a virtual environment says that its interpreter comes from: in words, and by symbolic links."""
    for line in _text(prefix / "pyvenv.cfg").splitlines():
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


def _named(file: Path) -> Iterator[Path]:
    """The directories that a path file, or the finder of an editable install, puts on the import path."""
    text = _text(file)
    words = [_literal(word) for word in QUOTED.findall(text)] if file.suffix == ".py" else text.splitlines()
    paths = (Path(word.strip()) for word in words if word.strip().startswith("/") and "\0" not in word)
    return (path for path in paths if os.access(path, os.X_OK) and path.is_dir())


def _is_of_a_project(path: Path) -> bool:
    """Is it a directory of Python code: an environment's own, or one of a project, and nothing hidden?"""
    if "site-packages" in path.parts:
        return is_python(path.parents[2]) or (path.parents[2] / "pyvenv.cfg").is_file()
    visible = not any(part.startswith(".") for part in path.parts)
    return visible and any(
        (place / name).is_file() for place in (path, *path.parents[:3]) for name in PROJECT_FILES
    )


def _literal(word: str) -> str:
    try:
        return str(ast.literal_eval(word))
    except (SyntaxError, ValueError):
        return ""


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(LARGEST_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
