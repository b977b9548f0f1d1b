"""Plan of a command's view of the file system, which each backend applies as far as it can."""

import json
import os
import pwd
import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from coder.core.errors import SandboxError
from coder.files.regular_files import read_regular
from coder.permissions.private_files import is_read_denied, safe_configuration
from coder.sandbox.toolchain import TOOL_VARIABLES, toolchain_directories

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

    `patterns` are those of `coder.permissions.private_files`.
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
    try:
        if file.is_symlink() or not file.is_file():
            return ""
        with file.open("rb") as opened:
            return os.fsdecode(opened.readline(4096)).strip()
    except OSError:
        return ""


def may_contain_keys(config: Path) -> bool:
    """Return whether a repository's configuration may contain keys.

    A backend that cannot hide parts of a file hides such a repository as a whole.
    """
    return bool(CREDENTIAL_PATTERN.search(config.read_bytes()[:LARGEST_BYTES]))
