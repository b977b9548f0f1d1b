"""Finding, reading, replacing, keeping and removing files where other programs may change the tree.

At the end: the directories of coder's own files (XDG Base Directory Specification).
"""

import errno
import fcntl
import os
import secrets
import stat
import subprocess
import tempfile
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path, PurePosixPath

from coder.python.source import decode_source, decode_text

LARGEST_BYTES = 5_000_000
SPECIAL_FILE_NAMES = frozenset(
    {".gitignore", ".gitattributes", ".gitmodules", ".mailmap", ".ignore", ".rgignore"}
)


def read_regular(path: Path, *, within: Path | None = None, limit_bytes: int = LARGEST_BYTES) -> bytes | None:
    """Return a regular file's content; None where it is missing, a pipe, a device, or larger than the limit.

    A symbolic link counts only if it ends inside `within` (by default the file's own directory).
    """
    try:
        handle = _open_regular(path, within=within or path.parent, limit_bytes=limit_bytes)
        if handle is None:
            return None
        with os.fdopen(handle, "rb") as file:
            data = file.read(limit_bytes + 1)
    except (OSError, ValueError):
        return None
    return data if len(data) <= limit_bytes else None


def read_regular_text(path: Path, *, within: Path | None = None) -> str:
    """Return a regular file's text in its own encoding (PEP 263), UTF-8 by default, invalid bytes replaced.

    Empty where `read_regular` returns None.
    """
    return decode_text(read_regular(path, within=within) or b"")


def copy_regular(source: Path, target: Path, *, within: Path, limit_bytes: int) -> bool:
    """Copy a regular file with its mode and times; return False and write nothing where it cannot be read."""
    try:
        handle = _open_regular(source, within=within, limit_bytes=limit_bytes)
        if handle is None:
            return False
        with os.fdopen(handle, "rb") as file, target.open("xb") as copy:
            status = os.fstat(file.fileno())
            remaining = limit_bytes
            while remaining > 0 and (data := file.read(min(remaining, 1 << 20))):
                copy.write(data)
                remaining -= len(data)
        target.chmod(stat.S_IMODE(status.st_mode) & 0o777)
        os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))
    except OSError:
        return False
    return True


def find_special_files(directory: Path) -> Iterator[Path]:
    """Yield special files that git and ripgrep would open by name, and those inside git directories.

    Regular files and directories are left out.
    """
    for place, _, files in os.walk(directory):
        in_git = ".git" in Path(place).parts
        for file in (Path(place, name) for name in files if in_git or name in SPECIAL_FILE_NAMES):
            if file.exists() and not stat.S_ISREG(file.stat().st_mode):
                yield file


DEEPEST_MANIFEST = 3
"""Depth of directories in which projects inside of a repository are looked for."""
INSTALLED_OR_BUILT = frozenset(
    {"_deps", "bin", "build", "node_modules", "obj", "target", "testdata", "third_party", "vendor"}
)
"""Directories with code of others, or with what is built."""


def source_files(tree: Path, suffixes: Collection[str], *, deepest: float = float("inf")) -> Iterator[str]:
    """Yield the project's files with one of these suffixes, relative to the tree.

    Directories of more levels than `deepest` are left out.
    """
    for folder, folders, names in os.walk(tree):
        has_more = len(Path(folder).relative_to(tree).parts) < deepest
        folders[:] = sorted(
            name
            for name in folders
            if has_more and name not in INSTALLED_OR_BUILT and not name.startswith(".")
        )
        for name in sorted(names):
            if PurePosixPath(name).suffix in suffixes:
                yield Path(folder, name).relative_to(tree).as_posix()


def manifest_directories(tree: Path, name: str) -> list[str]:
    """Return the directories that hold a file of this name, outermost first; the tree itself is `.`."""
    found = [
        str(PurePosixPath(path).parent)
        for path in source_files(tree, (PurePosixPath(name).suffix,), deepest=DEEPEST_MANIFEST)
        if PurePosixPath(path).name == name
    ]
    return sorted(found, key=lambda path: (path != ".", path.count("/"), path))


def nearest(directories: Collection[str], path: str) -> str:
    """Return the innermost of the directories that contains a path; `.` if none does."""
    containing = (str(parent) for parent in PurePosixPath(path, "x").parents)
    return next((parent for parent in containing if parent in directories), ".")


EXCLUDED_DIRECTORIES = frozenset({"site-packages", "node_modules", "venv", "env", "build", "dist"})
"""Directories with what is installed or built."""


def project_files(tree: Path) -> Iterator[str]:
    """Yield the files of a project, relative to the tree, without installed and hidden ones."""
    start = len(os.path.join(tree, ""))  # noqa: PTH118
    for folder, folders, files in os.walk(tree):
        folders[:] = [
            name
            for name in folders
            if not name.startswith(".") and name not in EXCLUDED_DIRECTORIES - {"build", "dist"}
        ]
        for name in files:
            if not os.path.islink(path := os.path.join(folder, name)):  # noqa: PTH114, PTH118 - ten times as fast
                yield path[start:]


LARGEST_SOURCE = 2 << 20
"""Bytes of a source; larger ones are not read."""


def read_texts(root: Path, paths: Iterable[str], suffixes: tuple[str, ...] = (".py",)) -> dict[str, str]:
    """Return the texts of those regular files at some paths that have one of the suffixes."""
    files = {path: root / path for path in paths if path.endswith(suffixes)}
    return {
        path: decode_text(file.read_bytes())
        for path, file in files.items()
        if file.is_file() and not file.is_symlink() and file.stat().st_size < LARGEST_SOURCE
    }


def is_within(path: Path | str, root: Path) -> bool:
    """Tell whether a path, its links followed, is in the real directory behind `root`."""
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(root))


def _open_regular(path: Path, *, within: Path, limit_bytes: int) -> int | None:
    """Return a descriptor of the real file behind a path.

    None where opening it could block or have an effect.
    """
    real = os.path.realpath(path)
    if not is_within(path, within) or not _is_small(os.lstat(real), limit_bytes):
        return None
    handle = os.open(real, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    if _is_small(os.fstat(handle), limit_bytes):
        return handle
    os.close(handle)
    return None


def _is_small(status: os.stat_result, limit_bytes: int) -> bool:
    return stat.S_ISREG(status.st_mode) and status.st_size <= limit_bytes


def replace_text(path: Path, text: str) -> None:
    """Write a UTF-8 file, creating its directory: at any moment it has either its old or its new content.

    Its permissions stay as they are.

    Raises:
        OSError: it cannot be written.
    """
    replace_bytes(path, text.encode("utf-8"))


def replace_bytes(path: Path, content: bytes) -> None:
    """Write a file as `replace_text` does."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.{os.getpid()}")
    with temporary.open("wb") as file:
        with suppress(FileNotFoundError):
            os.fchmod(file.fileno(), stat.S_IMODE(path.stat().st_mode))
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


NO_LOCKS = (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS)
"""Errors of file systems that know no locks, such as some network shares."""


def lock_file(file: int, *, wait: bool = True) -> bool | None:
    """Lock an open file until it is closed; False if another process holds it, None where locks are unknown.

    Raises:
        OSError: it cannot be locked for another reason.
    """
    try:
        fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in NO_LOCKS:
            raise
        return None
    return True


PREFIX = "coder."
"""Short, as are the names below it: the path of a Unix socket in a test's TMPDIR may have 103 characters."""


class ScratchDirectory:
    """A directory for temporary files, locked while its owner lives."""

    def __init__(self) -> None:
        remove_abandoned(Path(tempfile.gettempdir()))
        self._owner = tempfile.TemporaryDirectory(prefix=PREFIX, ignore_cleanup_errors=True)
        new = Path(self._owner.name, "new")
        self._lock = os.open(new, os.O_CREAT | os.O_RDWR, 0o600)
        lock_file(self._lock)
        # Renamed only when locked, so that another process never sees it unlocked while the owner lives.
        new.rename(new.with_name("lock"))
        self.path = Path(self._owner.name, "t").resolve()
        self.path.mkdir()

    def close(self) -> None:
        discard_tree(Path(self._owner.name), lock=self._lock if self._lock >= 0 else None)
        self._owner.cleanup()
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def remove_abandoned(directory: Path) -> None:
    """Remove scratch directories in `directory` that belong to this user and whose owner was killed."""
    old = (*directory.glob("coder-s-????????"), *directory.glob("coder-scratch-*"))  # of earlier versions
    for path in (*directory.glob(f"{PREFIX}????????"), *old):
        try:
            is_own = path.lstat().st_uid == os.getuid() and not path.is_symlink()
            names = {inner.name for inner in path.iterdir()}
            if not is_own or not names <= {"lock", "t", "builds", "tmp"}:  # tmp: of earlier versions
                continue
            lock = os.open(path / "lock", os.O_RDWR | os.O_NOFOLLOW)
        except OSError:  # not ours, or being made or removed by its owner
            continue
        try:
            if not os.fstat(lock).st_size and lock_file(lock, wait=False):
                discard_tree(path, lock=lock)
        finally:
            os.close(lock)


DISCARDED = ".removed-"
"""Marks the name of a tree that is being removed."""
PATIENCE_SECONDS = 0.2
"""Time that the caller spends on a removal; a larger tree is left to a process of its own."""
REMOVAL = (
    '( nice -n 19 rm -rf -- "$1" || { find "$1" -type d -exec chmod u+rwx {} \\; ; rm -rf -- "$1"; } ) &'
)
"""Shell script that removes a tree in the background; tests leave read-only directories behind."""


def discard_tree(path: Path, *, lock: int | None = None) -> None:
    """Remove a path: on return it is gone, though a large tree still exists under another name beside it.

    The process that removes the rest shares the descriptor `lock`, so that its lock is held until then.
    """
    if path.is_symlink() or path.is_file():
        path.unlink(missing_ok=True)
        return
    if not path.is_dir():
        return
    doomed = path.with_name(f"{path.name.partition(DISCARDED)[0]}{DISCARDED}{secrets.token_hex(4)}")
    with suppress(FileNotFoundError):
        path.rename(doomed)
        if not _remove_until(doomed, deadline=time.monotonic() + PATIENCE_SECONDS):
            _remove_in_background(doomed, lock)


def _remove_until(directory: Path, *, deadline: float) -> bool:
    """Remove a tree without following links; return False if time ran out or something cannot be removed."""
    try:
        for _, directories, files, descriptor in os.fwalk(directory, topdown=False, onerror=_raise):
            for name in files:
                os.unlink(name, dir_fd=descriptor)
            for name in directories:
                _remove_entry(name, descriptor)
            if time.monotonic() > deadline:
                return False
        directory.rmdir()
    except FileNotFoundError:  # another process removes it, too
        return not directory.exists()
    except OSError:
        return False
    return True


def _raise(error: OSError) -> None:
    raise error


def _remove_entry(name: str, descriptor: int) -> None:
    """Remove an empty directory, or a link to a directory."""
    try:
        os.rmdir(name, dir_fd=descriptor)
    except NotADirectoryError:
        os.unlink(name, dir_fd=descriptor)


def _remove_in_background(directory: Path, lock: int | None) -> None:
    with suppress(OSError):
        subprocess.run(
            ["/bin/sh", "-c", REMOVAL, "sh", str(directory)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env={"PATH": "/usr/bin:/bin"},
            start_new_session=True,
            pass_fds=() if lock is None else (lock,),
            check=False,
        )


TICK_NS = 2_000_000_000
"""Bytecode records the source's time in whole seconds: an edited file must not look like another one of the
same size.
"""


@contextmanager
def temporary_edits(tree: Path, edits: Mapping[str, str | None]) -> Iterator[None]:
    """Write texts to files of the tree (None deletes) in their encoding, and restore the files on exit."""
    before: dict[Path, tuple[bytes, os.stat_result] | None] = {}
    created: list[Path] = []
    try:
        for path, text in edits.items():
            file = tree / path
            before[file] = (file.read_bytes(), file.stat()) if file.exists() else None
            _apply(file, text, before[file], created)
        yield
    finally:
        for file, original in before.items():
            if original is None:
                file.unlink(missing_ok=True)
            else:
                if not file.is_file():
                    file.parent.mkdir(parents=True, exist_ok=True)
                overwrite(file, original[0])
                if file.stat().st_mode != original[1].st_mode:
                    file.chmod(original[1].st_mode)
                os.utime(file, ns=(original[1].st_atime_ns, original[1].st_mtime_ns))
        for directory in reversed(created):
            with suppress(OSError):  # not empty: the Keeper deals with other files in it
                directory.rmdir()


def _apply(
    file: Path, text: str | None, original: tuple[bytes, os.stat_result] | None, created: list[Path]
) -> None:
    if text is None:
        file.unlink(missing_ok=True)
        return
    for directory in reversed([parent for parent in file.parents if not parent.exists()]):
        directory.mkdir()
        created.append(directory)
    overwrite(file, text.encode(_detect_encoding(original[0]) if original else "utf-8"))
    if original is not None:
        mtime = max(file.stat().st_mtime_ns, original[1].st_mtime_ns + TICK_NS)
        os.utime(file, ns=(mtime, mtime))


def _detect_encoding(data: bytes) -> str:
    try:
        return decode_source(data)[1]
    except (SyntaxError, ValueError):
        return "utf-8"


def overwrite(file: Path, data: bytes) -> None:
    """Overwrite a file in place.

    Truncating it first makes some file systems wait for the disk on close.
    """
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o666)
    with os.fdopen(descriptor, "wb") as file_object:
        file_object.write(data)
        file_object.truncate()


def config_directory(environment: Mapping[str, str] = os.environ) -> Path:
    return Path(environment.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "coder"


def state_directory(environment: Mapping[str, str] = os.environ) -> Path:
    return Path(environment.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "coder"


def sessions_directory() -> Path:
    """Return the directory that holds a directory for each session."""
    return state_directory() / "sessions"


def index_database(root: Path) -> Path:
    """Return the path of the symbol index of a tree and all its worktrees."""
    return state_directory() / "index" / f"{_path_digest(root)}.sqlite"


def sandbox_notice_file(root: Path) -> Path:
    """Return the file that exists once a repository's user was told what the sandbox lacks."""
    return state_directory() / "sandbox_notices" / _path_digest(root)


def _path_digest(root: Path) -> str:
    return sha256(os.fsencode(os.path.realpath(root))).hexdigest()[:16]
