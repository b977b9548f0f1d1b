"""Isolation on macOS by Seatbelt: a profile generated from the view, applied by sandbox-exec.

The profile language is described in sandbox-exec(1), in the profiles below /System/Library/Sandbox/Profiles
and in https://reverse.put.as/wp-content/uploads/2011/09/Apple-Sandbox-Guide-v1.0.pdf. The last rule that
matches decides, but one that names an operation exactly counts more than one with a wildcard. Rules are
matched against the path that a file has at the time, so what carries a rule must not be renamed.
"""

import os
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import lru_cache
from pathlib import Path

from coder.core.errors import SandboxError
from coder.sandbox.backend import CommandSpec, WrappedCommand
from coder.sandbox.view import FileSystemView, may_contain_keys

EXECUTABLE = "/usr/bin/sandbox-exec"
"""Never searched on PATH, which may contain directories that a repository can write to."""
PROFILE_ERROR, EXEC_ERROR = 65, 71
"""Exit codes of sandbox-exec for a profile it cannot compile, and for a program it cannot start."""
PROFILE_BYTES = 65_535
"""Longest profile that macOS is relied on to take; the limit is not documented."""
READ, WRITE = "file-read*", "file-write*"
BASE_RULES = """\
(version 1)
(deny default)
(allow process-exec)
(allow process-fork)
(allow file-map-executable)
(allow process-info* (target same-sandbox))
(allow signal (target same-sandbox))
(allow sysctl-read)
(deny sysctl-read (sysctl-name-prefix "kern.procargs"))
(allow sysctl-write (sysctl-name "kern.grade_cputype") (sysctl-name "kern.tcsm_enable"))
(allow user-preference-read)
(allow pseudo-tty)
(allow iokit-open (iokit-registry-entry-class "RootDomainUserClient"))
(allow mach-lookup
  (global-name "com.apple.SystemConfiguration.configd")
  (global-name "com.apple.bsd.dirhelper")
  (global-name "com.apple.logd")
  (global-name "com.apple.system.logger")
  (global-name "com.apple.system.notification_center")
  (global-name "com.apple.system.opendirectoryd.libinfo")
  (global-name "com.apple.system.opendirectoryd.membership"))
(allow ipc-posix-sem (ipc-posix-name-prefix "/mp-"))
(allow ipc-posix-shm* (ipc-posix-name-prefix "/psm_"))
(allow ipc-posix-shm-read* (ipc-posix-name "apple.shm.notification_center")
  (ipc-posix-name-prefix "apple.cfprefs."))
(allow ipc-posix-shm-read-data ipc-posix-shm-write-create ipc-posix-shm-write-unlink
  (ipc-posix-name-regex #"^/__KMP_REGISTERED_LIB_[0-9]+$"))
(allow system-socket (socket-domain AF_UNIX))"""
"""Needs of interpreters and build tools.

`/mp-` and `/psm_` are semaphores and memory of Python's multiprocessing, `__KMP` those of OpenMP. configd
tells proxies, without which some programs abort.
"""
DEVICE_RULES = """\
(deny file-read-data (subpath "/dev"))
(allow file-read-data (literal "/dev") (literal "/dev/autofs_nowait") (literal "/dev/dtracehelper")
  (literal "/dev/null") (literal "/dev/random") (literal "/dev/urandom") (literal "/dev/zero")
  (literal "/dev/stdin") (literal "/dev/stdout") (literal "/dev/stderr") (subpath "/dev/fd"))
(allow file-write-data file-ioctl (literal "/dev/dtracehelper") (literal "/dev/null")
  (literal "/dev/random") (literal "/dev/urandom") (literal "/dev/zero"))
(allow file-write-data (literal "/dev/stdout") (literal "/dev/stderr") (subpath "/dev/fd"))
(allow file-read* file-read-data file-write* file-write-data (literal "/dev/ptmx")
  (require-all (regex #"^/dev/ttys[0-9]+$") (extension "com.apple.sandbox.pty")))
(allow file-ioctl (literal "/dev/ptmx") (regex #"^/dev/ttys[0-9]+$"))"""
"""No terminal can be opened but those that the command makes itself: it could type into the user's."""
NETWORK_RULES = """\
(allow system-socket (socket-domain AF_INET) (socket-domain AF_INET6)
  (require-all (socket-domain AF_SYSTEM) (socket-protocol 2)))
(allow network-outbound (remote ip "*:*") (literal "/private/var/run/mDNSResponder"))
(allow network-inbound (local ip "*:*"))
(allow network-bind (local ip "*:*"))
(allow mach-lookup
  (global-name "com.apple.SystemConfiguration.DNSConfiguration")
  (global-name "com.apple.trustd")
  (global-name "com.apple.trustd.agent"))"""
"""Access to the internet, but to no socket of a program on this machine in the file system."""


class Seatbelt:
    """A backend that confines the command's process tree by a Seatbelt profile."""

    name = "Seatbelt"
    limitations = (
        "reduced isolation: commands have no internet sockets, not even on loopback, so tests with servers "
        "fail; the arguments and environments of your other programs may be readable, and a process that "
        "detaches itself may outlive its command"
    )

    def __init__(self, executable: str = EXECUTABLE) -> None:
        """Prepare the backend.

        Raises:
            SandboxError: this system has no sandbox-exec.
        """
        if not os.access(executable, os.X_OK):
            raise SandboxError(f"there is no {executable}: it comes with macOS alone")
        self._executable = executable

    def wrap(self, command: CommandSpec) -> WrappedCommand:
        """Return the sandbox-exec command line that runs the command."""
        profile = build_profile(command.view, network=command.policy.network)
        return WrappedCommand(
            argv=(self._executable, "-p", profile, "--", *command.argv),
            directory=str(command.cwd),
            environment={**command.environment, "HOME": str(command.scratch / "home")},
        )

    def exit_code(self, code: int, output: str) -> int:
        """Return the command's own exit code, which sandbox-exec passes on by becoming the command."""
        if code in (PROFILE_ERROR, EXEC_ERROR) and output.startswith("sandbox-exec: "):
            raise SandboxError(output.removeprefix("sandbox-exec: ").strip().partition("\n")[0])
        return code


def build_profile(view: FileSystemView, *, network: bool) -> str:
    """Return the profile that applies a view.

    Files cannot show other content: a git directory whose configuration may contain keys is denied as a
    whole.

    Raises:
        SandboxError: a path cannot be written in a profile, or there are too many of them.
    """
    git_directories = [path.parent for path in view.replacements if may_contain_keys(path)]
    profile = "\n".join(
        (
            BASE_RULES,
            *_path_rules(view, git_directories),
            *_socket_rules(view.writable),
            DEVICE_RULES,
            *((NETWORK_RULES,) if network else ()),
        )
    )
    if (size := len(profile.encode("utf-8", "surrogateescape"))) > PROFILE_BYTES:
        raise SandboxError(
            f"the sandbox profile has {size:,} bytes, and macOS may take no more than {PROFILE_BYTES:,}. It "
            f"names {len(view.masked):,} private files: move them out of the repository, or allow those that "
            'hold no secret (deny_read = ["!PATTERN"])'
        )
    return profile


def _path_rules(view: FileSystemView, denied: Iterable[Path]) -> Iterator[str]:
    """Yield rules from the root downwards, so that deeper ones override those above, then the denials."""
    yield f'(allow {READ} (subpath "/"))'
    access = dict.fromkeys(map(_resolve, view.hidden), (False, False))
    access |= dict.fromkeys(map(_resolve, view.readable), (True, False))
    access |= dict.fromkeys(map(_resolve, view.writable), (True, True))
    access |= dict.fromkeys(map(_resolve, view.protected), (True, False))
    for path in sorted(access, key=lambda path: (len(path.parts), path)):
        reads, writes = access[path]
        yield f"({'allow' if reads else 'deny'} {READ} {_subpath(path)})"
        yield f"({'allow' if writes else 'deny'} {WRITE} {_subpath(path)})"
    links = {path.parent.resolve() / path.name for path in view.readable if path.is_symlink()}
    yield from _literal_rule("allow file-read-metadata file-read-data", links)
    # Resolving a path reads the metadata of each directory above it.
    shown = [path for path, (reads, _) in access.items() if reads]
    yield from _literal_rule(
        "allow file-read-metadata", {parent for path in (*shown, *links) for parent in path.parents}
    )
    masked = {_resolve(path) for path in (*view.masked, *denied)}
    for path in sorted(masked):
        yield f"(deny {READ} {WRITE} {_subpath(path)})"
    # A directory that is renamed takes what lies in it out of the reach of its rules.
    writable = [path for path, (_, writes) in access.items() if writes]
    guarded = {path for path, (_, writes) in access.items() if not writes} | masked
    pinned = {
        parent
        for directory in writable
        for path in (directory, *guarded)
        for parent in (path, *path.parents)
        if path.is_relative_to(directory) and parent.is_relative_to(directory)
    }
    yield from _literal_rule("deny file-write-unlink", pinned)


def _literal_rule(rule: str, paths: Iterable[Path]) -> Iterator[str]:
    """Yield one rule for these paths alone; none for no paths, which would be one for all."""
    if literals := " ".join(f"(literal {_quote(path)})" for path in sorted(paths)):
        yield f"({rule} {literals})"


def _socket_rules(writable: Iterable[Path]) -> Iterator[str]:
    """Yield rules for the sockets that a command makes in its own directories."""
    for path in map(_resolve, writable):
        yield f"(allow network-bind network-inbound (local unix-socket {_subpath(path)}))"
        yield f"(allow network-outbound (remote unix-socket {_subpath(path)}))"


def _resolve(path: Path) -> Path:
    return find_stored_spelling(Path(os.path.realpath(path)), list_names)


def find_stored_spelling(path: Path, list_names: Callable[[Path], Collection[str]]) -> Path:
    """Return a path as its directories spell it, which is what rules are matched against.

    On macOS a file may also be reached by other letter cases and Unicode forms. What does not exist, or lies
    in a directory that cannot be listed, stays as it is.
    """
    spelling = Path(path.anchor)
    for name in path.parts[1:]:
        names = list_names(spelling)
        if name not in names:
            name = next((other for other in names if _are_same(spelling / other, spelling / name)), name)
        spelling /= name
    return spelling


def list_names(directory: Path) -> Collection[str]:
    """Return the names in a directory; none if it cannot be listed."""
    try:
        return _names_at(directory, directory.stat().st_mtime_ns)
    except OSError:
        return ()


@lru_cache(maxsize=1000)
def _names_at(directory: Path, _changed_ns: int) -> frozenset[str]:
    return frozenset(path.name for path in directory.iterdir())


def _are_same(first: Path, second: Path) -> bool:
    """Return whether two names that differ in case or Unicode form only lead to one file."""
    first_key, second_key = (unicodedata.normalize("NFC", path.name).casefold() for path in (first, second))
    try:
        return first_key == second_key and os.path.samestat(first.lstat(), second.lstat())
    except OSError:
        return False


def _subpath(path: Path) -> str:
    return f"(subpath {_quote(path)})"


def _quote(path: Path) -> str:
    text = str(path)
    if any(unicodedata.category(character) == "Cc" for character in text):
        raise SandboxError(f"a sandbox profile cannot contain the path {text!r}")
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
