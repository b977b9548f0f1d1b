"""Trees of git and changes between them, snapshots, and worktrees of a session.

Worktrees are created from snapshots, pooled, and made without the repository's own filters.
"""

import os
import re
import shutil
import stat
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory

from coder.core.errors import GitError, UserError
from coder.core.paths import SOURCE_SUFFIXES, UNTRACKED
from coder.core.text import join_first
from coder.core.values import Patch
from coder.files.regular_files import copy_regular, discard_tree
from coder.patching import PatchError
from coder.patching.git_hunks import split_git_diff
from coder.patching.plan import ConfinedTree, decode_source
from coder.permissions.secrets import parse_configuration
from coder.repo.git import CODER_IDENTITY, Checkout, Git, find_git, repository_lock


@dataclass(frozen=True, kw_only=True)
class Worktree:
    """A linked worktree, and its git directory as of its creation."""

    path: Path
    git: Git
    artifacts: frozenset[str]
    """Copied artefacts, which are part of no change."""


def add_worktree(checkout: Checkout, path: Path, *, commit: str, tree: str) -> Git:
    """Create a worktree with the content of `tree` and a detached HEAD at `commit`; return its git."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with repository_lock(checkout.common_directory):
        (checkout.common_directory / "worktrees").mkdir(exist_ok=True)
        checkout.git.call("worktree", "add", "--quiet", "--no-checkout", "--detach", str(path), commit)
    # Git made the pointer lead into the stand-in of the shared directory, which this process removes.
    git_dir = (
        checkout.common_directory
        / "worktrees"
        / Path(os.fsdecode((path / ".git").read_bytes()).rstrip("\n")).name
    )
    (path / ".git").write_bytes(os.fsencode(f"gitdir: {git_dir}\n"))
    git = Git(directory=path, git_dir=git_dir, work_tree=path, inert=checkout.git.inert)
    git.call("read-tree", "--reset", "-u", tree)
    return git


def remove_worktrees(common: Path, directory: Path, *, prefix: str) -> None:
    """Remove a directory of worktrees whose names start with `prefix`.

    This includes worktrees whose location a killed git did not record.
    """
    for entry in [*(common / "worktrees").glob(f"{prefix}*")]:
        pointer_file = entry / "gitdir"
        pointer = os.fsdecode(pointer_file.read_bytes()).strip() if pointer_file.is_file() else ""
        if not pointer or Path(pointer).parent.parent == directory:
            remove_tree(entry)
    with repository_lock(common), suppress(OSError):  # used by others, or missing
        (common / "worktrees").rmdir()
    discard_tree(directory)


def remove_tree(path: Path) -> None:
    """Remove a path as far as possible; the rest is left to the next recovery."""
    if path.is_symlink() or path.is_file():
        path.unlink(missing_ok=True)
    elif path.is_dir():
        try:
            shutil.rmtree(path)
        except OSError:
            with suppress(OSError):
                _unlock_directories(path)
            shutil.rmtree(path, ignore_errors=True)


MOST_READ = 3
"""Worktrees that are kept for reading alone, whoever reads them next: base, change, and an earlier one."""


class WorktreePool:
    """Clean worktrees of one repository, each used by one thread at a time; safe to call from several."""

    def __init__(
        self,
        free_path: Callable[[], Path],
        add: Callable[[Path, str], Worktree],
        *,
        copy_artifacts: Callable[[Path], object],
    ) -> None:
        """`add` makes a worktree with the content of a tree, and copies the artefacts that tests need."""
        self._free_path = free_path
        self._add = add
        self._copy_artifacts = copy_artifacts
        self._lock = threading.Lock()
        self._idle: list[Worktree] = []
        self._reading_lock = threading.Lock()
        self._read: dict[str, Worktree] = {}
        """Worktrees for reading alone, by their tree, the least recently used first."""
        self._readers: Counter[str] = Counter()

    @contextmanager
    def checkout(self, tree: str) -> Iterator[Path]:
        """Provide a worktree with the content of `tree` and of nothing else, until exit.

        Its path is new each time, since much is remembered by path.
        """
        taken = self._reset_idle(self._free_path(), tree) or self._add(self._free_path(), tree)
        try:
            yield taken.path
        finally:
            with self._lock:
                self._idle.append(taken)

    @contextmanager
    def read(self, tree: str) -> Iterator[Path]:
        """Provide a worktree with the content of `tree` for reading alone, which others may read as well."""
        with self._reading_lock:
            taken = self._read.pop(tree, None)
            if taken is None:
                taken = self._reset_idle(self._free_path(), tree) or self._add(self._free_path(), tree)
            self._read[tree] = taken
            self._readers[tree] += 1
        try:
            yield taken.path
        finally:
            with self._reading_lock:
                self._readers[tree] -= 1
                for unused in [name for name in self._read if not self._readers[name]][:-MOST_READ]:
                    with self._lock:
                        self._idle.append(self._read.pop(unused))

    def _reset_idle(self, path: Path, tree: str) -> Worktree | None:
        """Return an idle worktree, moved and reset to `tree`; None if there is none that can be."""
        with self._lock:
            taken = self._idle.pop() if self._idle else None
        if taken is None:
            return None
        with suppress(GitError, OSError):
            moved = move_worktree(taken, path)
            reset_clean(moved, tree)
            self._copy_artifacts(path)
            return moved
        discard_tree(taken.path)  # its entry in the repository goes when the session ends
        remove_tree(path)
        return None


def move_worktree(used: Worktree, path: Path) -> Worktree:
    """Move a worktree to a free path.

    Raises:
        OSError: it cannot be moved.
    """
    assert used.git.git_dir is not None
    used.path.rename(path)
    (used.git.git_dir / "gitdir").write_bytes(os.fsencode(f"{path / '.git'}\n"))
    return replace(used, path=path, git=replace(used.git, directory=path, work_tree=path))


def reset_clean(used: Worktree, tree: str) -> None:
    """Reset a worktree to `tree` and remove everything else in it, ignored files included.

    Raises:
        GitError: git could not reset it.
        OSError: something in it cannot be removed.
    """
    pointer = used.path / ".git"
    remove_tree(pointer)
    pointer.write_bytes(os.fsencode(f"gitdir: {used.git.git_dir}\n"))
    _unlock_directories(used.path)
    others = used.git.items("ls-files", "--others", "--directory", "-z")
    for path in (*used.artifacts, *others):  # git lists no file inside of a submodule
        remove_tree(used.path / path.rstrip("/"))
    used.git.call("read-tree", "--reset", "-u", tree)
    if left := used.git.items("ls-files", "--others", "--directory", "-z"):
        raise OSError(f"{left[0]} could not be removed")


def _unlock_directories(directory: Path) -> None:
    """Make directories writable that tests left read-only, and remove pipes and the like, which git omits."""
    mode = directory.stat().st_mode
    if ~mode & stat.S_IRWXU:
        directory.chmod(stat.S_IMODE(mode) | stat.S_IRWXU)
    with os.scandir(directory) as entries:
        for entry in list(entries):
            if entry.is_dir(follow_symlinks=False):
                _unlock_directories(Path(entry))
            elif not (entry.is_symlink() or entry.is_file(follow_symlinks=False)):
                Path(entry).unlink()


LARGEST_UNTRACKED_BYTES = 50 << 20
LARGEST_INDEX_BYTES = 2 << 30
MOST_UNTRACKED = 50_000
UNCOMMITTED_SUBJECT = "The uncommitted work that a coder session started from"
GENERATED_PATTERNS = (
    "__pycache__/",
    "*.py[co]",
    ".hypothesis/",
    ".nox/",
    ".tox/",
    ".venv/",
    "/venv/",
    "node_modules",
)
"""Generated files that not every repository ignores; they are left out silently."""


@dataclass(frozen=True, kw_only=True)
class WorkTreeSnapshot:
    """A commit of the uncommitted work, or HEAD itself where there is none."""

    commit: str
    left_out: Mapping[str, str] = field(default_factory=dict)
    """Paths, or other parts of the work, that the snapshot lacks, with the reasons."""

    @property
    def exclusions(self) -> tuple[str, ...]:
        """The left-out parts, as texts for the user."""
        return format_exclusions(self.left_out)


def format_exclusions(left_out: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(f"{path} ({reason})" for path, reason in left_out.items())


SUBMODULE_MODE = "160000"


def take_snapshot(git: Git, *, head: str, index: Path | None = None) -> WorkTreeSnapshot:
    """Commit the work tree on top of `head`, unmerged files with their conflict markers.

    Only `index` is written, by default a temporary one.
    """
    if index is None:
        with TemporaryDirectory(prefix="coder-") as scratch:
            return take_snapshot(git, head=head, index=Path(scratch, "index"))
    assert git.git_dir is not None
    # Its timestamps are kept, since git uses them to detect files that may have changed.
    copy_regular(git.git_dir / "index", index, within=git.git_dir, limit_bytes=LARGEST_INDEX_BYTES)
    snapshot_git = git.with_index(index)
    submodules = _read_hidden_entries(snapshot_git)
    left_out = {
        **stage_work_tree(snapshot_git, is_smudged=True),
        **dict(_changed_submodules(git, submodules)),
    }
    tree = write_tree(snapshot_git)
    if tree == git.resolve_tree(head):
        return WorkTreeSnapshot(commit=head, left_out=left_out)
    return WorkTreeSnapshot(
        commit=commit_tree(git, tree=tree, parent=head, subject=UNCOMMITTED_SUBJECT),
        left_out=left_out,
    )


def _read_hidden_entries(git: Git) -> Mapping[str, str]:
    """Clear the flags by which git takes a file for unchanged without a look at it.

    Returns the commit of each submodule. Files that a sparse checkout leaves out stay as they are.
    """
    submodules: dict[str, str] = {}
    flagged: dict[str, list[str]] = {"--no-assume-unchanged": [], "--no-skip-worktree": []}
    for item in git.items("ls-files", "-v", "--stage", "-z"):
        head, _, path = item.partition("\t")
        tag, mode, name, _stage = head.split(" ")
        if mode == SUBMODULE_MODE:
            submodules[path] = name
        if tag.islower():
            flagged["--no-assume-unchanged"].append(path)
        if tag in "Ss" and _is_file(git.directory, path):
            flagged["--no-skip-worktree"].append(path)
    for option, paths in flagged.items():
        if paths:
            git.feed(paths, "update-index", option, "-z", "--stdin")
    return submodules


def _changed_submodules(git: Git, submodules: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the submodules whose checkout differs from their commit, each with the reason."""
    for path, commit in submodules.items():
        directory = git.directory / path
        if not (directory / ".git").exists():
            continue
        try:
            inner = find_git(directory)
            head = inner.resolve_commit("HEAD")
            if head is None or head != commit:
                yield path, "another commit of this submodule is checked out"
                continue
            snapshot = take_snapshot(inner, head=head)
            is_changed = inner.resolve_tree(snapshot.commit) != inner.resolve_tree(head)
        except (GitError, UserError, OSError) as error:
            yield path, f"this submodule cannot be read: {error}"
            continue
        if is_changed or snapshot.left_out:
            yield path, "edits inside a submodule are judged only from there"


def find_ignored_sources(git: Git) -> list[str]:
    """Return ignored source files outside of directories that are ignored as a whole."""
    paths = git.items("ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "-z")
    return [path for path in paths if Path(path).suffix in SOURCE_SUFFIXES]


def find_conflicts(git: Git) -> tuple[str, ...]:
    """Return the files of the work tree that hold the conflict markers of an unfinished merge."""
    paths = dict.fromkeys(item.partition("\t")[2] for item in git.items("ls-files", "--unmerged", "-z"))
    return tuple(path for path in paths if _has_markers(git.directory / path))


def _has_markers(file: Path) -> bool:
    try:
        return re.search(rb"^<{7} ", file.read_bytes(), re.MULTILINE) is not None
    except OSError:  # deleted, or not readable
        return False


def list_briefly(items: Sequence[str]) -> str:
    """Return the first items in one line, with the number of the others."""
    return join_first(items, MOST_LISTED_FILES)


def stage_work_tree(
    git: Git, ignored: frozenset[str] = frozenset(), *, is_smudged: bool = False
) -> Mapping[str, str]:
    """Update the index to the work tree, including new files; return what was left out, and why.

    Plumbing commands instead of `git add -A`, which starts git inside nested repositories with their
    configuration.

    Args:
        ignored: new files to leave out.
        smudged: the user's git checked the files out, so that files under filters are not in the stored form;
            they are left alone.
    """
    tracked = sorted(
        set(git.items("diff-files", "--name-only", "--no-renames", "--ignore-submodules=all", "-z"))
    )
    untracked = [path for path in find_untracked_files(git) if path not in ignored]
    reasons = {path: reason for path in untracked if (reason := _exclusion_reason(git.directory, path))}
    drivers = find_filter_drivers(git, [*tracked, *untracked]) if is_smudged else {}
    reasons |= {
        path: f"the git filter {driver} is not run"
        for path, driver in drivers.items()
        if _is_file(git.directory, path)
    }
    deleted = [path for path in tracked if path not in reasons and not _is_file(git.directory, path)]
    present = [path for path in (*tracked, *untracked) if path not in reasons and path not in set(deleted)]
    if deleted:
        null_id = "0" * len(git.text("rev-parse", "HEAD"))
        git.feed([f"0 {null_id}\t{path}" for path in deleted], "update-index", "-z", "--index-info")
    if present:
        git.feed(present, "update-index", "--add", "--replace", "-z", "--stdin")
    return reasons


def find_untracked_files(git: Git) -> list[str]:
    """Return the paths that are neither tracked nor ignored, nor files into which this process prints.

    A nested repository is one path that ends with a slash.

    Raises:
        UserError: there are so many that the repository must be a home directory or the like.
    """
    paths = git.items(
        "ls-files",
        "--others",
        "--exclude-standard",
        *(f"--exclude={pattern}" for pattern in GENERATED_PATTERNS),
        "-z",
    )
    if len(paths) > MOST_UNTRACKED:
        raise UserError(
            f"{git.directory} holds {len(paths)} untracked files: ignore them in .gitignore, or start "
            "from a commit: --base HEAD."
        )
    outputs = [*_own_outputs()]
    return [path for path in paths if not (outputs and _file_of(git.directory / path) in outputs)]


def _own_outputs() -> Iterator[tuple[int, int]]:
    """Yield the files into which this process prints, as in `coder watch > log.txt`, by device and number."""
    for descriptor in (1, 2):
        with suppress(OSError):
            status = os.fstat(descriptor)
            if stat.S_ISREG(status.st_mode):
                yield status.st_dev, status.st_ino


def _file_of(path: Path) -> tuple[int, int] | None:
    """Return device and number of the file at a path; None if there is none."""
    with suppress(OSError):
        status = path.stat()
        return status.st_dev, status.st_ino
    return None


def write_tree(git: Git) -> str:
    # In a partial clone an object may be missing; it already exists elsewhere and must not be fetched.
    return git.text("write-tree", "--missing-ok")


def commit_tree(git: Git, *, tree: str, parent: str, subject: str) -> str:
    """Create a commit in coder's name that no branch will contain; return its hash."""
    return git.text(
        "commit-tree",
        tree,
        "-p",
        parent,
        "-F",
        "-",
        stdin=f"{subject}\n".encode(),
        environment=CODER_IDENTITY,
    )


def _exclusion_reason(root: Path, path: str) -> str:
    if path.endswith("/"):
        return f"{UNTRACKED}, a git repository of its own"
    file = root / path
    if file.is_symlink():
        return ""
    if not os.access(file, os.R_OK):
        return f"{UNTRACKED}, not readable"
    size = file.stat().st_size
    return f"{UNTRACKED}, {size >> 20} MB" if size > LARGEST_UNTRACKED_BYTES else ""


def _is_file(root: Path, path: str) -> bool:
    """Return whether the path itself is a file, not one behind a link that replaced a directory."""
    full_path = root / path
    return os.path.realpath(full_path.parent) == str(full_path.parent) and (
        full_path.is_symlink() or (full_path.exists() and not full_path.is_dir())
    )


MOST_LISTED_FILES = 5


def find_filter_drivers(git: Git, paths: Sequence[str]) -> Mapping[str, str]:
    """Return the filter driver of each path that has a configured one.

    A driver counts whether the user, the repository or an included file configures it.
    """
    if not paths or git.inert is None:
        return {}
    environment = {"GIT_COMMON_DIR": str(git.inert.path_with_filters)}
    output = git.feed(paths, "check-attr", "-z", "--stdin", "filter", environment=environment)
    fields = os.fsdecode(output.stdout).split("\0")
    drivers = {
        path: driver
        for path, driver in zip(fields[::3], fields[2::3], strict=False)
        if driver not in ("unspecified", "unset", "set")
    }
    return _select_configured(git, drivers) if drivers else {}


def find_tracked_filter_drivers(git: Git) -> Mapping[str, str]:
    """Return the drivers of all tracked files, using one git process if there are none."""
    assert git.inert is not None
    environment = {"GIT_COMMON_DIR": str(git.inert.path_with_filters), "GIT_LITERAL_PATHSPECS": "0"}
    output = git.call("ls-files", "-z", "--", ".", ":(exclude,attr:!filter)", environment=environment).stdout
    return find_filter_drivers(git, output.decode("utf-8", "surrogateescape").split("\0")[:-1])


def filter_notices(drivers: Mapping[str, str]) -> tuple[str, ...]:
    """Return a line for each driver that names its files."""
    paths = {driver: sorted(p for p in drivers if drivers[p] == driver) for driver in set(drivers.values())}
    return tuple(
        f"The git filter {driver} is not run: {list_briefly(paths[driver])} are worked on as they are "
        "committed, and uncommitted changes to them are left out."
        for driver in sorted(paths)
    )


def _select_configured(git: Git, by_path: Mapping[str, str]) -> Mapping[str, str]:
    assert git.inert is not None
    repository_keys = [key for key, _ in parse_configuration(git.inert.text)]
    # An included file is not read, so it may define any driver.
    if any(key.startswith(("include.", "includeif.")) for key in repository_keys):
        return by_path
    user_keys = git.call(
        "config", "-z", "--name-only", "--get-regexp", r"^filter\.", accept=(0, 1)
    ).stdout.decode("utf-8", "surrogateescape")
    drivers = {
        key.partition(".")[2].rpartition(".")[0]
        for key in (*repository_keys, *user_keys.split("\0"))
        if key.startswith("filter.")
    }
    return {path: driver for path, driver in by_path.items() if driver in drivers}


REGULAR = ("100644", "100755")


@dataclass(frozen=True, kw_only=True)
class TreeEntry:
    """Content of a tree at one path; mode GONE means none."""

    mode: str
    blob: str

    def index_line(self, path: str) -> str:
        """Return the entry as input of `update-index --index-info`."""
        return f"{self.mode} {self.blob}\t{path}"


def changed_entries(git: Git, *, old: str, new: str) -> dict[str, TreeEntry]:
    """Return the new entry of every path that differs, sorted by path; a rename counts as two paths."""
    fields = git.items("diff-tree", "-r", "-z", "--no-renames", old, new)
    return {
        path: TreeEntry(mode=words.split()[1], blob=words.split()[3])
        for words, path in zip(fields[::2], fields[1::2], strict=True)
    }


def diff_trees(git: Git, *, old: str, new: str) -> str:
    """Return a unified diff complete for `git apply`, binary files included."""
    output = git.call("diff-tree", "-r", "-p", "-M", "--binary", old, new).stdout
    sections = re.split(rb"^(?=diff --git )", output, flags=re.MULTILINE)
    return "".join(
        section.decode() if section.isascii() else _decode_section(git, section, trees=(new, old))
        for section in sections
    )


def encode_diff(text: str, root: Path) -> bytes:
    """Return a diff made by `diff` as bytes.

    Each file's lines are in the encoding of that file below `root`.
    """
    parts: list[bytes] = []
    for header, file_hunks in groupby(split_git_diff(text), key=lambda hunk: hunk.header):
        body_hunks = list(file_hunks)
        parts.append(header.encode("utf-8", "surrogateescape"))
        parts += [_encode(hunk.body, _encoding_below(root, hunk.path)) for hunk in body_hunks]
    return b"".join(parts)


def changed_paths(git: Git, *, old: str, new: str) -> tuple[str, ...]:
    """Return the paths that differ, sorted; bytes of names that are no UTF-8 are replaced."""
    return tuple(
        os.fsencode(path).decode("utf-8", "replace") for path in changed_entries(git, old=old, new=new)
    )


def make_patch(git: Git, *, old: str, new: str) -> Patch:
    """Return the change between two trees."""
    paths = changed_paths(git, old=old, new=new)
    return Patch(diff=diff_trees(git, old=old, new=new) if paths else "", paths=paths, tree=new)


def compose_tree(git: Git, *, old: str, new: str, paths: Collection[str]) -> str:
    """Return the tree `old` with the content of `new` at `paths`, deletions included.

    `paths` are files or directories.
    """
    selected = {path.rstrip("/") for path in paths}
    lines = [
        entry.index_line(path)
        for path, entry in changed_entries(git, old=old, new=new).items()
        if _is_within(path, selected)
    ]
    with git.scratch_index(old) as index:
        index.feed(lines, "update-index", "-z", "--index-info")
        return index.text("write-tree", "--missing-ok")


def merge_change(git: Git, *, old: str, new: str, onto: str) -> str | None:
    """Apply the change from `old` to `new` to the tree `onto` by a three-way merge; None if it conflicts."""
    with git.scratch_index(onto) as index:
        if index.call("read-tree", "-i", "-m", "--aggressive", old, onto, new, accept=None).status != 0:
            return None
        merged: list[str] = []
        for path, entries in _unmerged_entries(index):
            entry = _merge_file(git, entries)
            if entry is None:
                return None
            merged.append(entry.index_line(path))
        if merged:
            index.feed(merged, "update-index", "-z", "--index-info")
        return index.text("write-tree", "--missing-ok")


def apply_to_tree(git: Git, diff: str, *, onto: str, root: Path, reverse: bool = False) -> str | None:
    """Return the tree `onto` with a diff applied, or taken back; None if it does not apply there.

    The diff is as `diff_trees` makes it; lines are encoded like the files below `root`.
    """
    if not diff:
        return git.resolve_tree(onto)
    with git.scratch_index(onto) as index:
        options = ("--cached", "--whitespace=nowarn", *(["--reverse"] if reverse else []))
        if index.call("apply", *options, "-", stdin=encode_diff(diff, root), accept=None).status != 0:
            return None
        return index.text("write-tree", "--missing-ok")


def _decode_section(git: Git, section: bytes, *, trees: Sequence[str]) -> str:
    """Return one file's part of a diff, decoded by the file's encoding."""
    header, mark, body = section.partition(b"\n@@ ")
    path = next(
        (line[6:] for line in reversed(header.split(b"\n")) if line.startswith((b"--- a/", b"+++ b/"))), b""
    ).rstrip(b"\t")
    blobs = [git.call("cat-file", "blob", f"{tree}:{os.fsdecode(path)}", accept=None) for tree in trees]
    data = next((blob.stdout for blob in blobs if blob.status == 0), b"")
    lines = mark + body
    try:
        text = lines.decode(_detect_encoding(data, os.fsdecode(path)))
    except UnicodeDecodeError:  # the change also changes the encoding
        text = lines.decode("latin-1")
    return header.decode("utf-8", "replace") + text


def _detect_encoding(data: bytes, path: str) -> str:
    try:
        return decode_source(data, path).encoding
    except PatchError:  # binary: its part of a diff is ASCII
        return "utf-8"


def _encoding_below(root: Path, path: str) -> str:
    try:
        content = ConfinedTree(root).read(path)
    except PatchError:  # git will report why it cannot be changed
        return "utf-8"
    return _detect_encoding(content[0], path) if content else "utf-8"


def _encode(text: str, encoding: str) -> bytes:
    try:
        return text.encode(encoding)
    except UnicodeEncodeError:  # the file has changed since: git will refuse
        return text.encode("utf-8", "replace")


def _is_within(path: str, selected: Collection[str]) -> bool:
    parts = path.split("/")
    return any("/".join(parts[:count]) in selected for count in range(1, len(parts) + 1))


def _unmerged_entries(index: Git) -> list[tuple[str, Sequence[TreeEntry | None]]]:
    """Return each path changed on both sides, with its entries in the old, the current and the new tree."""
    records = [
        (line.partition("\t")[2], line.partition("\t")[0].split())
        for line in index.items("ls-files", "--unmerged", "-z")
    ]
    stages = [
        (path, {stage: TreeEntry(mode=mode, blob=blob) for _, (mode, blob, stage) in group})
        for path, group in groupby(records, key=lambda pair: pair[0])
    ]
    return [(path, [entries.get(stage) for stage in "123"]) for path, entries in stages]


def _merge_file(git: Git, entries: Sequence[TreeEntry | None]) -> TreeEntry | None:
    old, ours, theirs = entries
    if old is None or ours is None or theirs is None or {old.mode, ours.mode, theirs.mode} - {*REGULAR}:
        return None
    with TemporaryDirectory(prefix="coder-") as scratch:
        files = [Path(scratch, name) for name in ("ours", "old", "theirs")]
        for file, entry in zip(files, (ours, old, theirs), strict=True):
            file.write_bytes(git.call("cat-file", "blob", entry.blob).stdout)
        merged = git.call("merge-file", "-p", "-q", *map(str, files), accept=None)
    if merged.status != 0:
        return None
    blob = git.text("hash-object", "-w", "--stdin", stdin=merged.stdout)
    return TreeEntry(mode=theirs.mode if ours.mode == old.mode else ours.mode, blob=blob)
