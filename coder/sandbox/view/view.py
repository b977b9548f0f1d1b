"""What a command sees of the file system: one plan, which each backend carries out as far as it can."""

import os
import pwd
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from coder.core.errors import SandboxError
from coder.sandbox.view.linked_worktree import sanitized
from coder.sandbox.view.toolchain import needed

HIDDEN = ("/boot", "/home", "/lost+found", "/media", "/mnt", "/root", "/run", "/srv", "/tmp", "/var")
SHOWN = (
    "/run/current-system",
    "/run/opengl-driver",
    "/var/lib/dpkg",
    "/var/lib/alternatives",
    "/var/lib/fonts",
    "/var/cache/fontconfig",
)
RESOLVERS = ("/run/systemd/resolve", "/run/NetworkManager/resolv.conf", "/run/resolvconf")
"""What /etc/resolv.conf may point to."""
MASKED = (
    *(
        "/etc/shadow",
        "/etc/gshadow",
        "/etc/shadow-",
        "/etc/gshadow-",
        "/etc/sudoers",
        "/etc/sudoers.d",
        "/etc/ssh",
        "/etc/ssl/private",
    ),
    *(
        "/etc/NetworkManager/system-connections",
        "/etc/wireguard",
        "/etc/docker",
        "/etc/krb5.keytab",
        "/etc/letsencrypt",
    ),
    *("/etc/kubernetes", "/etc/rancher", "/etc/netplan", "/etc/ppp", "/etc/ipsec.secrets"),
)
"""What only root can read anyway, for those who are root."""
ENVIRONMENTS = (".venv", "venv", "env")


@dataclass(frozen=True, kw_only=True)
class View:
    """Later rules win over earlier ones, deeper paths over those above them."""

    hidden: tuple[Path, ...]
    """Directories that are empty but for what is named below."""
    readable: tuple[Path, ...]
    writable: tuple[Path, ...]
    protected: tuple[Path, ...]
    """What lies in something writable and is not to be written."""
    masked: tuple[Path, ...]
    """Files, directories and sockets of which nothing is seen."""
    shared: tuple[Path, ...] = ()
    """What is no tool and has to be readable, whether or not it lies in something hidden."""
    replaced: Mapping[Path, bytes] = field(default_factory=dict)
    """Files that are seen with another content."""


def tools(program: str, environment: Mapping[str, str]) -> tuple[Path, ...]:
    """What of the hidden places a program needs to be shown to start and import; it takes a while to find out."""
    homes = home_directories()
    return tuple(
        _worth_showing([*map(Path, SHOWN), *needed(program, environment, homes)], hidden_directories(homes))
    )


def view(
    *,
    tools: tuple[Path, ...],
    cwd: Path,
    writes: bool,
    scratch: Path,
    git: Path | None,
    exposed: Iterable[Path] = (),
    denied: Iterable[Path] = (),
    network: bool = False,
) -> View:
    """Plan a command's view.

    Args:
        tools: as `tools` finds them.
        git: the directory that the checkout's repository keeps, where there is one.
        exposed: what coder itself needs to be read there.
        denied: what must not be read whatever else is allowed.
    """
    cwd = Path(os.path.realpath(cwd))
    hidden = hidden_directories(home_directories())
    wanted = [*(map(Path, RESOLVERS) if network else ()), *exposed, cwd, *([git] if git else [])]
    config = git / "config" if git else None
    return View(
        hidden=hidden,
        readable=(*tools, *_worth_showing(wanted, hidden)),
        writable=(scratch, cwd) if writes else (scratch,),
        protected=tuple(path for path in _protected(cwd) if os.path.lexists(path)) if writes else (),
        shared=tuple(
            Path(os.path.realpath(path))
            for path in (*exposed, *([git] if git else []))
            if os.access(path, os.F_OK)
        ),
        masked=tuple(path for path in (*map(Path, MASKED), *denied) if os.path.lexists(path)),
        replaced={config: sanitized(config)} if config and config.is_file() else {},
    )


def hidden_directories(homes: tuple[Path, ...]) -> tuple[Path, ...]:
    places = (path for path in (*map(Path, HIDDEN), *homes) if os.access(path, os.F_OK))
    return tuple(dict.fromkeys(path for path in places if path.is_dir() and not path.is_symlink()))


def check_place(place: Path) -> None:
    """Make sure that a directory is one that commands may be run in.

    Raises:
        SandboxError: it is not there, or to open it up would show what is to be hidden.
    """
    if not place.is_dir():
        raise SandboxError(f"there is no directory {place}")
    if any(path.is_relative_to(place) for path in (*hidden_directories(home_directories()), Path("/"))):
        raise SandboxError(f"{place} holds more than a project; work in a directory of its own")


def home_directories() -> tuple[Path, ...]:
    """The person's homes, as the environment and the system know them."""
    told = [os.environ.get("HOME", ""), pwd.getpwuid(os.getuid()).pw_dir if _is_known() else ""]
    homes = (Path(os.path.realpath(home)) for home in told if home.startswith("/"))
    return tuple(dict.fromkeys(home for home in homes if len(home.parts) > 1))


def _is_known() -> bool:
    try:
        pwd.getpwuid(os.getuid())
    except KeyError:  # a container's user without a name
        return False
    return True


def _worth_showing(wanted: Iterable[Path], hidden: tuple[Path, ...]) -> Iterator[Path]:
    """Those that would be hidden otherwise, that are there, and that do not bring a hidden place back with them."""
    named = [
        path
        for path in dict.fromkeys(Path(os.path.normpath(path)) for path in wanted)
        if os.access(path, os.F_OK)
    ]
    real = [
        place
        for place in dict.fromkeys(Path(os.path.realpath(path)) for path in named)
        if _may_be_shown(place, hidden)
    ]
    yield from real
    # A name that leads to one of them through links has to be there, too.
    others = (path for path in named if path not in real and _may_be_shown(path, hidden))
    yield from (path for path in others if not any(path.is_relative_to(place) for place in real))


def _may_be_shown(place: Path, hidden: tuple[Path, ...]) -> bool:
    is_inside = any(place != other and place.is_relative_to(other) for other in hidden)
    return is_inside and not any(other.is_relative_to(place) for other in hidden)


def _protected(cwd: Path) -> Iterator[Path]:
    """A pointer to the repository's git directory, and environments, whose files may be the same ones as in an installer's cache."""
    yield cwd / ".git"
    yield from (cwd / name for name in ENVIRONMENTS if (cwd / name / "pyvenv.cfg").is_file())
