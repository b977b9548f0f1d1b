"""Discovery of the interpreters, environments and tools in the user's home that a command needs.

A virtual environment may come with an untrusted repository: the directories it points to are shown only where
they are Python installations or projects.
"""

import ast
import os
import re
import shutil
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

TOOL_DIRECTORIES = (
    *(".pyenv", ".asdf", ".rye/py", ".volta", ".nvm/versions", ".cargo/bin", ".rustup"),
    *(".sdkman/candidates", ".rbenv"),
    *("miniconda3", "anaconda3", "miniforge3", "mambaforge", "micromamba", ".conda/envs"),
    *(".local/bin", ".local/lib", ".local/pipx/venvs", ".local/share/mise", ".local/share/rtx"),
    ".local/share/pipx/venvs",
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


TOOL_VARIABLES = frozenset(
    {"CGO_ENABLED", "GOFLAGS", "GOROOT", "GOTOOLCHAIN", "JAVA_HOME", "RUSTFLAGS", "RUSTUP_TOOLCHAIN"}
)
"""Variables that choose a tool's version or options and contain no secrets."""
LINKS = {
    "cargo/registry": ("CARGO_HOME", ".cargo", "registry"),
    "cargo/git": ("CARGO_HOME", ".cargo", "git"),
    "npm/_cacache": ("npm_config_cache", ".npm", "_cacache"),
    "gradle/wrapper/dists": ("GRADLE_USER_HOME", ".gradle", "wrapper/dists"),
}
"""Links in a build directory: variable that names a tool's directory, its default, and the cache there."""
OFFLINE = {
    "CARGO_NET_OFFLINE": "true",
    "COREPACK_ENABLE_NETWORK": "0",
    "GOPROXY": "off",
    "MAVEN_ARGS": "-o",
    "YARN_ENABLE_NETWORK": "0",
    "npm_config_offline": "true",
}
GRADLE_OFFLINE = "gradle.startParameter.offline = true\n"
CARGO_TARGET = "cargo-target"
COMMANDS, SHARED, STORED = "commands", "shared", "stored"
"""Names of the build directory of commands without a private one, of that which others are copies of, and of
the directory of those that are set aside.
"""
MOST = 8
"""Number of contents of trees whose build directories are set aside; the oldest goes first."""


def package_caches(environment: Mapping[str, str], home: Path) -> Iterator[Path]:
    """Yield the directories of downloaded packages that commands may read, whether or not they exist."""
    yield from (_tool_directory(environment, home, *names) for names in LINKS.values())
    yield _tool_directory(environment, home, "RUSTUP_HOME", ".rustup", "toolchains")
    yield _gradle_caches(environment, home) / "modules-2"
    yield from (home / ".m2" / name for name in ("repository", "wrapper/dists"))
    modules = _go_modules(environment, home)
    yield modules / "cache" / "download"
    # Not `cache/vcs`: its repositories may have URLs with credentials.
    with suppress(OSError):
        yield from (Path(entry.path) for entry in os.scandir(modules) if entry.name != "cache")


class BuildDirectories:
    """The directories of one sandbox that build tools write, each used by one command at a time."""

    def __init__(self, directory: Path, environment: Mapping[str, str], home: Path) -> None:
        """Make build directories below `directory`, with links to the caches of this user."""
        self._directory = directory
        self._environment = environment
        self._home = home
        self._content: dict[str, str] = {}
        self._lock = threading.Lock()

    def prepare(self, name: str | None, cwd: Path) -> Path:
        """Return the build directory of this name for a command in `cwd`; all without a name share one."""
        directory = self._directory / (name or COMMANDS)
        prepare_build_directory(directory, self._environment, self._home)
        if name is not None:
            expire_cargo_builds(directory, cwd)
        return directory

    def select(self, name: str, content: str) -> None:
        """Let the build directory of this name hold what was built there from a tree of this content.

        What it held before is set aside. A new one starts as a copy of the shared one, if there is one.
        """
        with self._lock:
            self._select(name, content)

    def _select(self, name: str, content: str) -> None:
        before = self._content.get(name)
        if content == before:
            return
        directory, stored = self._directory / name, self._directory / STORED / content / name
        if before is None:
            shutil.rmtree(directory, ignore_errors=True)
        elif directory.exists():
            target = self._directory / STORED / before / name
            target.parent.mkdir(parents=True, exist_ok=True)
            directory.rename(target)
            os.utime(target.parent)
            self._remove_oldest()
        self._content[name] = content
        if stored.exists():
            stored.rename(directory)
        elif (shared := self._directory / SHARED).exists():
            _copy(shared, directory)

    def share(self, name: str) -> None:
        """Let new build directories start as copies of this one, which no command may be using."""
        source, target = self._directory / name, self._directory / SHARED
        if source.is_dir() and not target.exists():
            _copy(source, target)

    def _remove_oldest(self) -> None:
        stored = [*(self._directory / STORED).iterdir()]
        for path in sorted(stored, key=lambda path: path.stat().st_mtime)[: max(0, len(stored) - MOST)]:
            shutil.rmtree(path, ignore_errors=True)


def prepare_build_directory(directory: Path, environment: Mapping[str, str], home: Path) -> None:
    """Create a build directory with links to the user's caches, once: later ones may be a command's own."""
    try:
        directory.mkdir(parents=True)
    except FileExistsError:
        return
    for name, names in LINKS.items():
        link, cache = directory / name, _tool_directory(environment, home, *names)
        link.parent.mkdir(parents=True, exist_ok=True)
        if cache.is_dir():
            link.symlink_to(cache)
    script = directory / "gradle" / "init.d" / "offline.gradle"
    script.parent.mkdir()
    script.write_text(GRADLE_OFFLINE, encoding="utf-8")


def build_environment(
    directory: Path, environment: Mapping[str, str], home: Path, *, network: bool, shares_target: bool
) -> dict[str, str]:
    """Return the variables that make build tools use a build directory and the user's caches.

    With `shares_target` cargo builds there as well, instead of in the worktree. Go's test results are not
    cached: a test that is run again must run.
    """
    go_flags = environment.get("GOFLAGS", "")
    return {
        **({} if network else OFFLINE),
        "CARGO_HOME": str(directory / "cargo"),
        **({"CARGO_TARGET_DIR": str(directory / CARGO_TARGET)} if shares_target else {}),
        "GOCACHE": str(directory / "go-build"),
        "GOFLAGS": f"{go_flags} -count=1".strip(),
        "GOMODCACHE": str(_go_modules(environment, home)),
        "GRADLE_RO_DEP_CACHE": str(_gradle_caches(environment, home)),
        "GRADLE_USER_HOME": str(directory / "gradle"),
        "RUSTUP_HOME": str(_tool_directory(environment, home, "RUSTUP_HOME", ".rustup", "")),
        "npm_config_cache": str(directory / "npm"),
        "npm_config_audit": "false",
        "npm_config_fund": "false",
        "npm_config_update_notifier": "false",
    }


def expire_cargo_builds(directory: Path, tree: Path) -> None:
    """Make cargo rebuild the packages of `tree`, whichever tree was built in a build directory before.

    Cargo names the artefacts of a workspace by relative paths and compares times of files, so that those
    of one tree would stand for another. All of them are made older than the files of `tree`, and as old as
    each other. No command may be using the build directory.
    """
    artifacts = [*_files(directory / CARGO_TARGET)]
    oldest = min((file.lstat().st_mtime for file in _files(tree)), default=1.0) - 0.001 if artifacts else 0.0
    for file in artifacts:
        os.utime(file, (oldest, oldest), follow_symlinks=False)


def _copy(source: Path, target: Path) -> None:
    """Copy a directory, as far as that is possible: what is missing is built again."""
    with suppress(OSError):
        shutil.copytree(source, target, symlinks=True)


def _files(tree: Path) -> Iterator[Path]:
    """Yield the files of a tree that a command may have written: no link is followed."""
    for directory, names, files in os.walk(tree) if not tree.is_symlink() else ():
        names[:] = [name for name in names if name not in (".git", "node_modules")]
        yield from (Path(directory, name) for name in files)


def _tool_directory(
    environment: Mapping[str, str], home: Path, variable: str, default: str, name: str
) -> Path:
    return Path(environment.get(variable) or home / default) / name


def _go_modules(environment: Mapping[str, str], home: Path) -> Path:
    path = environment.get("GOPATH", "").split(os.pathsep)[0]
    return Path(environment.get("GOMODCACHE") or Path(path or home / "go", "pkg", "mod"))


def _gradle_caches(environment: Mapping[str, str], home: Path) -> Path:
    return _tool_directory(environment, home, "GRADLE_USER_HOME", ".gradle", "caches")
