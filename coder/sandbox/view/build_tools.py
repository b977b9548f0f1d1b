"""Package caches and settings of build tools, so that they start and build without the network.

Commands read what the user has downloaded, never settings or credentials beside it. What they build goes into
a private directory, in which links lead to the caches.
"""

import os
import shutil
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

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
