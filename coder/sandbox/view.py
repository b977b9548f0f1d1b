"""Plan of a command's view of the file system, which each backend applies as far as it can."""

import ast
import json
import os
import pwd
import re
import shutil
import subprocess
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from coder.core.errors import SandboxError
from coder.files.regular_files import read_regular
from coder.permissions.secrets import is_read_denied, safe_configuration

HIDDEN_DIRECTORIES = (
    "/boot",
    "/home",
    "/lost+found",
    "/media",
    "/mnt",
    "/root",
    "/run",
    "/srv",
    "/tmp",
    "/var",
    # macOS, and what package managers' services store there
    *("/Users", "/Volumes", "/private/tmp", "/private/var", "/cores", "/System/Volumes/Data/home"),
    *("/opt/homebrew/var", "/usr/local/var", "/opt/local/var"),
)
SHOWN_DIRECTORIES = (
    "/run/current-system",
    "/run/opengl-driver",
    "/var/lib/dpkg",
    "/var/lib/alternatives",
    "/var/lib/fonts",
    "/var/cache/fontconfig",
    *("/private/var/select", "/private/var/db/dyld", "/private/var/db/timezone"),  # macOS
    "/private/var/db/xcode_select_link",
    "/private/var/run/resolv.conf",
)
RESOLVERS = ("/run/systemd/resolve", "/run/NetworkManager/resolv.conf", "/run/resolvconf")
"""Possible targets of /etc/resolv.conf."""
MASKED_PATHS = (
    *("/etc/shadow", "/etc/gshadow", "/etc/shadow-", "/etc/gshadow-", "/etc/sudoers"),
    *("/etc/sudoers.d", "/etc/ssh", "/etc/ssl/private"),
    *(
        "/etc/NetworkManager/system-connections",
        "/etc/wireguard",
        "/etc/docker",
        "/etc/krb5.keytab",
        "/etc/letsencrypt",
    ),
    *("/etc/kubernetes", "/etc/rancher", "/etc/netplan", "/etc/ppp", "/etc/ipsec.secrets"),
    *("/Library/Keychains", "/Library/Managed Preferences"),  # macOS
)
"""Files that only root can read, masked in case the user is root."""
ENVIRONMENTS = (".venv", "venv", "env")


@dataclass(frozen=True, kw_only=True)
class FileSystemView:
    """Path rules: later rules override earlier ones, and deeper paths override those above them."""

    hidden: tuple[Path, ...]
    """Directories that are empty except for the paths listed below."""
    readable: tuple[Path, ...]
    writable: tuple[Path, ...]
    protected: tuple[Path, ...]
    """Read-only paths inside writable directories."""
    masked: tuple[Path, ...]
    """Files, directories and sockets whose content is hidden."""
    shared: tuple[Path, ...] = ()
    """Readable paths that are no tools, whether or not they lie in a hidden directory."""
    replacements: Mapping[Path, bytes] = field(default_factory=dict)
    """Files that show other content."""


def find_tool_directories(program: str, environment: Mapping[str, str]) -> tuple[Path, ...]:
    """Return the hidden directories that a program needs to start and import; this search is slow."""
    homes = home_directories()
    return tuple(
        _exposable_paths(
            [*map(Path, SHOWN_DIRECTORIES), *toolchain_directories(program, environment, homes)],
            hidden_directories(homes),
        )
    )


def plan_view(
    *,
    tools: tuple[Path, ...],
    cwd: Path,
    writes: bool,
    scratch: Path,
    builds: Path,
    git: Path | None,
    exposed: Iterable[Path] = (),
    denied: Iterable[Path] = (),
    network: bool = False,
) -> FileSystemView:
    """Plan a command's view.

    Args:
        tools: the result of `tools`.
        builds: the directory that build tools write.
        git: the git directory of the checkout's repository, if any.
        exposed: paths that coder itself needs commands to read.
        denied: paths that must not be read, whatever else is allowed.
    """
    cwd = Path(os.path.realpath(cwd))
    hidden = hidden_directories(home_directories())
    requested = [*(map(Path, RESOLVERS) if network else ()), *exposed, cwd, *([git] if git else [])]
    config = git / "config" if git else None
    return FileSystemView(
        hidden=hidden,
        readable=(*tools, *_exposable_paths(requested, hidden)),
        writable=(scratch, builds, *([cwd] if writes else [])),
        protected=tuple(path for path in _protected_paths(cwd) if os.path.lexists(path)) if writes else (),
        shared=tuple(
            Path(os.path.realpath(path))
            for path in (*exposed, *([git] if git else []))
            if os.access(path, os.F_OK)
        ),
        masked=tuple(path for path in (*map(Path, MASKED_PATHS), *denied) if os.path.lexists(path)),
        replacements={config: sanitize_config(config)} if config and config.is_file() else {},
    )


def hidden_directories(homes: tuple[Path, ...]) -> tuple[Path, ...]:
    """Return the directories that commands see as empty, those of `homes` included."""
    paths = (path for path in (*map(Path, HIDDEN_DIRECTORIES), *homes) if os.access(path, os.F_OK))
    return tuple(dict.fromkeys(path for path in paths if path.is_dir() and not path.is_symlink()))


def check_directory(place: Path) -> None:
    """Check that commands may be run in a directory.

    Raises:
        SandboxError: it does not exist, or showing it would expose a hidden directory.
    """
    if not place.is_dir():
        raise SandboxError(f"there is no directory {place}")
    if any(path.is_relative_to(place) for path in (*hidden_directories(home_directories()), Path("/"))):
        raise SandboxError(f"{place} holds more than a project; work in a directory of its own")


def home_directories() -> tuple[Path, ...]:
    """Return the user's home directories by the environment and the password database."""
    candidates = [os.environ.get("HOME", "")]
    with suppress(KeyError):  # the user of a container may have no entry
        candidates.append(pwd.getpwuid(os.getuid()).pw_dir)
    homes = (Path(os.path.realpath(home)) for home in candidates if home.startswith("/"))
    return tuple(dict.fromkeys(home for home in homes if len(home.parts) > 1))


def _exposable_paths(requested: Iterable[Path], hidden: tuple[Path, ...]) -> Iterator[Path]:
    """Yield the existing paths that would be hidden otherwise and that do not expose a hidden directory."""
    existing = [
        path
        for path in dict.fromkeys(Path(os.path.normpath(path)) for path in requested)
        if os.access(path, os.F_OK)
    ]
    resolved = [
        directory
        for directory in dict.fromkeys(Path(os.path.realpath(path)) for path in existing)
        if _may_be_shown(directory, hidden)
    ]
    yield from resolved
    # The symbolic links that lead to these directories must exist as well.
    links = (path for path in existing if path not in resolved and _may_be_shown(path, hidden))
    yield from (path for path in links if not any(path.is_relative_to(directory) for directory in resolved))


def _may_be_shown(directory: Path, hidden: tuple[Path, ...]) -> bool:
    is_inside = any(directory != other and directory.is_relative_to(other) for other in hidden)
    return is_inside and not any(other.is_relative_to(directory) for other in hidden)


def _protected_paths(cwd: Path) -> Iterator[Path]:
    """Yield the pointer to the git directory, and the virtual environments.

    An environment's files may be hard links into an installer's cache.
    """
    yield cwd / ".git"
    yield from (cwd / name for name in ENVIRONMENTS if (cwd / name / "pyvenv.cfg").is_file())


SKIPPED_DIRECTORIES = frozenset({".git", ".venv", "venv", "node_modules", "__pycache__", "site-packages"})


def find_private_files(tree: Path, patterns: Sequence[str]) -> tuple[Path, ...]:
    """Return the regular files below `tree` that a pattern denies, sorted.

    `patterns` are those of `coder.permissions.secrets`.
    """
    paths: list[Path] = []
    for directory, names, files in os.walk(tree):
        names[:] = [name for name in names if name not in SKIPPED_DIRECTORIES]
        relative = os.path.relpath(directory, tree).removeprefix(".").lstrip("/")
        for name in files:
            path = Path(directory, name)
            if is_read_denied(f"{relative}/{name}".lstrip("/"), patterns) and not path.is_symlink():
                paths.append(path)
    return tuple(sorted(paths))


ALLOWED_VARIABLES = frozenset(
    {
        *("HOME", "LANG", "LANGUAGE", "LC_ALL", "LC_COLLATE", "LC_CTYPE", "LC_MESSAGES", "LC_MONETARY"),
        *("LC_NUMERIC", "LC_TIME", "LOGNAME", "PATH", "PYENV_ROOT", "SHELL", "TZ", "USER", "VIRTUAL_ENV"),
    }
)


def filter_environment(environment: Mapping[str, str], *, scratch: Path) -> dict[str, str]:
    """Return the variables that programs need to start, with temporary files directed to `scratch`."""
    allowed = {
        name: value for name, value in environment.items() if name in ALLOWED_VARIABLES | TOOL_VARIABLES
    }
    return {"PATH": "/usr/local/bin:/usr/bin:/bin", **allowed, "TERM": "dumb", "TMPDIR": str(scratch)}


def private_directories(directory: Path, environment: Mapping[str, str]) -> dict[str, str]:
    """Return HOME and TMPDIR inside `directory`, creating them where needed.

    Packages in the user's own site directory stay importable.
    """
    directories = {"HOME": directory / "home", "TMPDIR": directory / "t"}
    for path in directories.values():
        path.mkdir(exist_ok=True)
    site = {"PYTHONUSERBASE": f"{environment['HOME']}/.local"} if environment.get("HOME") else {}
    return {**{name: str(path) for name, path in directories.items()}, **site}


def git_identity(environment: Mapping[str, str]) -> str:
    """Return a git configuration with the user's name, address and first branch, as far as they are set."""
    query = (
        *("git", "config", "--global", "--null", "--get-regexp"),
        r"^(user\.(name|email)|init\.defaultbranch)$",
    )
    try:
        found = subprocess.run(
            query, env=dict(environment), cwd="/", capture_output=True, timeout=10, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    entries = dict(
        entry.split("\n", 1) for entry in found.stdout.decode(errors="replace").split("\0") if "\n" in entry
    )
    return "".join(
        f"[{section}]\n\t{key} = {json.dumps(value, ensure_ascii=False)}\n"
        for (section, _, key), value in ((name.partition("."), value) for name, value in entries.items())
    )


VISIBLE_SECTIONS = ("core", "extensions")
"""Sections that say how to read the repository; the others may contain URLs with credentials."""
CREDENTIAL_PATTERN = re.compile(rb"://[^/\s]*@|extraheader|token|password|secret", re.IGNORECASE)
LARGEST_BYTES = 1_000_000


def git_directory(tree: Path) -> Path | None:
    """Return the git directory that a checkout shares with its repository's other worktrees.

    None where there is none.
    """
    own_directory = _own_directory(tree)
    if own_directory is None or own_directory == tree / ".git":
        return own_directory
    common = own_directory / (_first_line(own_directory / "commondir") or ".")
    directory = Path(os.path.realpath(common))
    return directory if (directory / "HEAD").is_file() and (directory / "objects").is_dir() else None


def repository_contains(tree: Path, files: Iterable[Path]) -> bool:
    names = [os.fsencode(file.relative_to(tree)) for file in files]
    own_directory = _own_directory(tree)
    index = own_directory / "index" if own_directory and names else None
    if index is None or not index.is_file():
        return False
    # https://git-scm.com/docs/index-format: versions 2 and 3 store each path in full, followed by a
    # zero byte; version 4 compresses them.
    content = index.read_bytes()
    return content[4:8] == b"\0\0\0\4" or any(name + b"\0" in content for name in names)


def sanitize_config(config: Path) -> bytes:
    """Return a repository's configuration without remotes, helpers and includes."""
    return os.fsencode(
        safe_configuration(
            os.fsdecode(read_regular(config, limit_bytes=LARGEST_BYTES) or b""), VISIBLE_SECTIONS
        )
    )


def _own_directory(tree: Path) -> Path | None:
    """Return a checkout's own git directory, which contains its index."""
    pointer = tree / ".git"
    if pointer.is_dir() and not pointer.is_symlink():
        return pointer
    line = _first_line(pointer)
    return tree / line.removeprefix("gitdir: ") if line.startswith("gitdir: ") else None


def _first_line(file: Path) -> str:
    """Return the first line of a small regular file; empty where there is none."""
    return os.fsdecode(read_regular(file, limit_bytes=4096) or b"").partition("\n")[0].strip()


def may_contain_keys(config: Path) -> bool:
    """Return whether a repository's configuration may contain keys.

    A backend that cannot hide parts of a file hides such a repository as a whole.
    """
    return bool(CREDENTIAL_PATTERN.search(config.read_bytes()[:LARGEST_BYTES]))


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
