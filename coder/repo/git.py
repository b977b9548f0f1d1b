"""Git commands with explicit directories and without hooks, helpers, prompts or inherited GIT_ variables."""

import os
import platform
import re
import shutil
import subprocess
import tempfile
import time
import weakref
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from coder.core.errors import GitError, RepositoryFault, UserError
from coder.files.regular_files import ScratchDirectory, find_special_files, lock_file, read_regular
from coder.permissions.secrets import parse_configuration, safe_configuration

MINIMUM_VERSION = (2, 30)
TRUE = ("true", "yes", "on", "1")
"""Spellings of a setting that is on."""
PRESERVED_VARIABLES = re.compile(
    r"GIT_((AUTHOR|COMMITTER)_(NAME|EMAIL)|CONFIG_(GLOBAL|SYSTEM|NOSYSTEM)|CEILING_DIRECTORIES)"
)
"""Variables set by the user for every git command; others belong to our parent process, such as a hook."""
ENVIRONMENT = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_LFS_SKIP_SMUDGE": "1",
    "GIT_ALLOW_PROTOCOL": "none",  # outranks protocol.*.allow, which outranks protocol.allow
}
CODER_IDENTITY = {
    f"GIT_{role}_{field}": value
    for role in ("AUTHOR", "COMMITTER")
    for field, value in (("NAME", "coder"), ("EMAIL", "coder@localhost"))
}
"""Author of what coder commits for itself, and of deliveries where the configuration names nobody."""
SETTINGS = {
    # No program of the user's own configuration is started, and nothing uses the network.
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "core.sshCommand": "false",
    "core.askPass": "false",
    "credential.helper": "",
    "protocol.allow": "never",
    "diff.external": "",
    "log.showSignature": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "submodule.recurse": "false",
    # The user's preferences must not change the meaning of our commands.
    "core.quotePath": "false",
    "core.safecrlf": "false",
    "core.splitIndex": "false",
    "core.untrackedCache": "false",
    # A change that keeps size and modification time is seen.
    "core.trustctime": "true",
    "core.checkStat": "default",
    "blame.ignoreRevsFile": "",
    "diff.orderFile": os.devnull,
    "color.ui": "false",
    "advice.detachedHead": "false",
}
LOCK_ERROR = re.compile(r"Unable to create '.*\.lock': File exists")
SHALLOW_CLONE = (
    "this is a shallow clone, which holds only the newest commits. Fetch the rest: git fetch --unshallow (in "
    "CI: fetch-depth: 0)."
)
PARTIAL_CLONE = (
    "this is a partial clone, which lacks objects that coder does not fetch by itself. Fetch them: git fetch "
    "--refetch --no-filter."
)
PARTIAL_CLONE_SETTING = re.compile(r"extensions\.partialclone|remote\..*\.(promisor|partialclonefilter)")
LARGEST_SHALLOW_FILE = 10_000_000
MISSING_OBJECT = re.compile(
    r"unable to (?:read|find|parse)|missing (?:blob|tree|commit|object)|bad (?:object|tree|revision)"
    r"|invalid object|not a valid object|not a tree|could not (?:read|parse|get object)"
    r"|failed to (?:read|traverse|unpack)|promisor|lazy fetch"
    r"|transport '.*' not allowed|cannot read (?:blob|object)|unknown revision|needed a single revision",
    re.I,
)
FAULTS = (
    (
        re.compile(r"No space left on device|Disk quota exceeded|Out of disk ?space", re.I),
        "the disk is full. Free some space and try again.",
    ),
    (LOCK_ERROR, "another git process is at work here, or crashed: wait for it, or remove its lock file."),
    (
        re.compile(r"index file (?:corrupt|smaller)|bad (?:index|signature)|index uses .* extension", re.I),
        "the index of this checkout is damaged or of a newer git. Make it anew: rm .git/index, git reset.",
    ),
    (
        re.compile(
            r"is corrupt|is empty|data stream error|unable to unpack|object .* cannot be read"
            r"|alternate object|packfile .* cannot|pack .* (?:missing|bad)|hash mismatch|unable to read"
            r"|missing blob|bad object",
            re.I,
        ),
        "objects of this repository are missing or damaged. git fsck names them; fetch them or clone anew.",
    ),
    (
        re.compile(r"Permission denied|Read-only file system|insufficient permission", re.I),
        "git may not write to this repository. Check the owner and the rights of its .git.",
    ),
    (
        re.compile(r"unable to write|write error", re.I),
        "a file cannot be written; most likely the disk is full. Free some space and try again.",
    ),
)
"""Faults of the repository or the machine, with advice; exit code 2, as for all wrong uses."""
LOCK_SECONDS = 3.0
DISCOVERY_SECONDS = 10.0
POINTER_BYTES = 10_000
PIPE_CHECK_SECONDS = 2.0
"""The wait before the tree is searched for pipes, which takes about a second for 100,000 files."""


@dataclass(frozen=True, kw_only=True)
class GitOutput:
    status: int
    stdout: bytes
    stderr: str
    timed_out: bool = False
    """Whether it was stopped; stdout then holds the partial output."""

    @property
    def fault(self) -> str:
        """Git's own error message, in one line."""
        lines = [line.strip() for line in self.stderr.splitlines() if line.strip()]
        messages = [line.partition(": ")[2] for line in lines if line.startswith(("fatal: ", "error: "))]
        return "; ".join(messages or lines) or f"exit code {self.status}"


class InertDirectory:
    """Temporary directory for GIT_COMMON_DIR, removed with the last reference to this object."""

    def __init__(self, common: Path, git_dir: Path) -> None:
        """Create the directory.

        `git_dir` is the checkout's own; its config.worktree is read if the repository enables it.
        """
        self.common = common
        scratch = ScratchDirectory()
        weakref.finalize(self, scratch.close)
        self._place = scratch.path
        self.text = _read_config(common / "config")
        settings = dict(parse_configuration(self.text))
        if settings.get("extensions.worktreeconfig", "").lower() in TRUE:
            self.text += "\n" + _read_config(git_dir / "config.worktree")
        self.is_bare = common == git_dir and settings.get("core.bare", "").lower() in TRUE
        self.path = self._make_directory("plain", NO_FILTERS)

    @cached_property
    def path_with_filters(self) -> Path:
        """The same directory with `filter` attributes visible.

        It serves to query attributes; nothing may be checked out or staged with it.
        """
        return self._make_directory("filters", b"")

    def _make_directory(self, name: str, attributes: bytes) -> Path:
        directory = self._place / name
        (directory / "info").mkdir(parents=True)
        for shared in (
            *LINKED_ENTRIES,
            *(optional for optional in OPTIONAL_ENTRIES if (self.common / optional).is_dir()),
        ):
            (directory / shared).symlink_to(self.common / shared)
        (directory / "config").write_bytes(os.fsencode(safe_configuration(self.text)))
        for file, addition in (("attributes", attributes), ("exclude", b"")):
            content = read_regular(self.common / "info" / file, within=self.common) or b""
            (directory / "info" / file).write_bytes(content + addition)
        return directory


@dataclass(frozen=True, kw_only=True)
class Git:
    """Git at explicit locations; no location is ever searched for in the tree."""

    directory: Path
    """The working directory of commands: the top of the work tree, if there is one."""
    git_dir: Path | None = None
    """The git directory; None only while the repository is being searched for."""
    work_tree: Path | None = None
    index: Path | None = None
    """None for the work tree's own."""
    inert: InertDirectory | None = None
    """Replaces the shared git directory, so that the repository's configuration has no effects."""

    @property
    def common_directory(self) -> Path:
        """The git directory that all linked worktrees share."""
        if self.inert is not None:
            return self.inert.common
        assert self.git_dir is not None
        return self.git_dir

    def with_index(self, index: Path) -> "Git":
        return replace(self, index=index)

    @contextmanager
    def scratch_index(self, tree: str) -> Iterator["Git"]:
        """Provide git with an index of its own, which holds a tree."""
        with tempfile.TemporaryDirectory(prefix="coder-") as scratch:
            git = self.with_index(Path(scratch) / "index")
            git.call("read-tree", tree)
            yield git

    def call(
        self,
        *arguments: str,
        stdin: bytes = b"",
        accept: Collection[int] | None = (0,),
        environment: Mapping[str, str] | None = None,
        timeout_seconds: float = 300.0,
        accept_timeout: bool = False,
        has_terminal: bool = True,
    ) -> GitOutput:
        """Run one git command, retrying briefly while another process holds the lock it needs.

        Without a terminal, no program that it starts can ask there, over what an interface shows.

        Raises:
            GitError: the exit code is not in `accept` (None accepts all), or time ran out and that is not
                accepted either.
            UserError: there is no git.
        """
        deadline = time.monotonic() + LOCK_SECONDS
        while True:
            output = self._run_once(
                arguments,
                stdin=stdin,
                environment=environment or {},
                timeout_seconds=timeout_seconds,
                has_terminal=has_terminal,
            )
            if output.status == 0 or not LOCK_ERROR.search(output.stderr) or time.monotonic() > deadline:
                break
            time.sleep(0.05)
        if output.timed_out and not accept_timeout:
            raise GitError(
                f"git {arguments[0]} did not end within {timeout_seconds:g} seconds and was stopped."
            )
        if output.timed_out:
            return output
        if accept is not None and output.status not in accept:
            if advice := self._explain_fault(output.stderr):
                raise RepositoryFault(f"git {arguments[0]} failed: {advice} ({output.fault})")
            raise GitError(f"git {arguments[0]} failed: {output.fault}")
        return output

    def explain_missing_history(self) -> str:
        """Return what a clone without all of its objects lacks, and the command that fetches it.

        Empty for a whole clone.
        """
        shallow = read_regular(self.common_directory / "shallow", limit_bytes=LARGEST_SHALLOW_FILE)
        if shallow and shallow.strip():
            return SHALLOW_CLONE
        settings = parse_configuration(self.inert.text) if self.inert else ()
        if any(PARTIAL_CLONE_SETTING.fullmatch(name.lower()) for name, _ in settings):
            return PARTIAL_CLONE
        return ""

    def _explain_fault(self, stderr: str) -> str:
        """Return why git failed and what to do, for faults that are not ours; else nothing."""
        is_missing = MISSING_OBJECT.search(stderr) and self.git_dir is not None
        if is_missing and (missing := self.explain_missing_history()):
            return missing
        return next((advice for pattern, advice in FAULTS if pattern.search(stderr)), "")

    def text(self, *arguments: str, stdin: bytes = b"", environment: Mapping[str, str] | None = None) -> str:
        """Return the command's output without its last newline; bytes that are no UTF-8 become surrogates."""
        return os.fsdecode(self.call(*arguments, stdin=stdin, environment=environment).stdout).removesuffix(
            "\n"
        )

    def items(self, *arguments: str) -> list[str]:
        """Return the NUL-separated items that a command with `-z` prints."""
        return os.fsdecode(self.call(*arguments).stdout).split("\0")[:-1]

    def feed(
        self, items: Iterable[str], *arguments: str, environment: Mapping[str, str] | None = None
    ) -> GitOutput:
        """Run a command that reads items, each ended by a NUL."""
        stdin = b"".join(os.fsencode(f"{item}\0") for item in items)
        return self.call(*arguments, stdin=stdin, environment=environment)

    def succeeds(self, *arguments: str) -> bool:
        """Return whether a query such as `merge-base --is-ancestor` succeeds."""
        return self.call(*arguments, accept=(0, 1)).status == 0

    def resolve_commit(self, revision: str) -> str | None:
        """Return the full hash of the commit that a revision names, or None."""
        output = self.call(
            "rev-parse", "--quiet", "--verify", "--end-of-options", f"{revision}^{{commit}}", accept=None
        )
        return output.stdout.decode().strip() if output.status == 0 else None

    def resolve_tree(self, revision: str) -> str:
        """Return the hash of the tree that a revision names.

        Raises:
            GitError: there is none.
        """
        return self.text("rev-parse", "--verify", "--end-of-options", f"{revision}^{{tree}}")

    def _run_once(
        self,
        arguments: tuple[str, ...],
        *,
        stdin: bytes,
        environment: Mapping[str, str],
        timeout_seconds: float,
        has_terminal: bool,
    ) -> GitOutput:
        executable = shutil.which("git")
        if executable is None or not Path(executable).is_absolute():  # else a repository's own program
            raise UserError(
                "git was not found on PATH; coder keeps its work in git: install it and try again."
            )
        try:
            import git  # late, since GitPython searches for the executable on import
        except ImportError as error:
            raise UserError(f"git does not run here: {str(error).strip().splitlines()[0]}") from None
        variables = {**ENVIRONMENT, **self._location_variables(), **environment}
        with tempfile.TemporaryFile() as file:
            file.write(stdin)
            file.seek(0)
            settings = (argument for key, value in SETTINGS.items() for argument in ("-c", f"{key}={value}"))
            command = [*_unset_prefix(variables), executable, *settings, *arguments]
            # As a process: the thread of GitPython's own time limit survives an interrupt and delays exit.
            try:
                process = git.Git(str(self.directory)).execute(
                    command,
                    istream=file,
                    env=variables,
                    as_process=True,
                    start_new_session=not has_terminal,
                )
            except git.GitCommandNotFound:  # Popen says so of a missing working directory, too
                raise GitError(f"git {arguments[0]} cannot start: {self.directory} is gone.") from None
            try:
                stdout, stderr = self._communicate(process, timeout_seconds)
            except subprocess.TimeoutExpired as late:
                process.kill()
                return GitOutput(status=-1, stdout=late.stdout or b"", stderr="", timed_out=True)
        return GitOutput(status=process.returncode, stdout=stdout, stderr=stderr.decode("utf-8", "replace"))

    def _communicate(self, process: Any, timeout_seconds: float) -> tuple[bytes, bytes]:
        """Wait for git to end; `process` is GitPython's wrapper of it.

        If that takes long, check that git does not wait for a named pipe in the place of a file.
        """
        output: tuple[bytes, bytes]
        try:
            output = process.communicate(timeout=min(timeout_seconds, PIPE_CHECK_SECONDS))
        except subprocess.TimeoutExpired:
            roots = filter(None, (self.work_tree, self.git_dir))
            if pipe := next((path for root in roots for path in find_special_files(root)), None):
                process.kill()
                process.communicate(timeout=PIPE_CHECK_SECONDS)
                raise UserError(
                    f"{pipe} is not a regular file, and git would wait for it for ever. Remove it and "
                    "try again."
                ) from None
            output = process.communicate(timeout=max(0.0, timeout_seconds - PIPE_CHECK_SECONDS))
        return output

    def _location_variables(self) -> dict[str, str]:
        inert = self.inert.path if self.inert else None
        locations = {
            "GIT_DIR": self.git_dir,
            "GIT_COMMON_DIR": inert,
            "GIT_WORK_TREE": self.work_tree,
            "GIT_INDEX_FILE": self.index,
        }
        return {name: str(path) for name, path in locations.items() if path is not None}


def _unset_prefix(variables: Mapping[str, str]) -> list[str]:
    """Return an `env -u` prefix that removes inherited GIT_ variables.

    GitPython can add to the environment but not remove from it.
    """
    names = [
        name
        for name in os.environ
        if name.startswith("GIT_") and name not in variables and not PRESERVED_VARIABLES.fullmatch(name)
    ]
    return ["/usr/bin/env", *(argument for name in names for argument in ("-u", name))] if names else []


@dataclass(frozen=True, kw_only=True)
class Checkout:
    git: Git
    root: Path
    common_directory: Path
    """The git directory that all linked worktrees share."""
    head: str


def find_checkout(directory: Path) -> Checkout:
    """Find the checkout that contains a directory.

    Raises:
        UserError: there is none, or none that can be worked with.
    """
    git = find_git(directory)
    head = git.resolve_commit("HEAD")
    if head is None:
        raise UserError(
            f"The repository in {git.directory} has no commits yet; make a first one (git add, git "
            "commit) and try again."
        )
    return Checkout(git=git, root=git.directory, common_directory=git.common_directory, head=head)


def find_git(directory: Path) -> Git:
    """Find the checkout that contains a directory, with or without commits.

    `core.worktree` is ignored: the directory of the `.git` counts.

    Raises:
        UserError: there is none, or none that can be worked with.
    """
    if not directory.is_dir():
        raise UserError(f"{directory} is not a directory; name the repository to work in.")
    directory = directory.resolve()
    _check_version(Git(directory=directory))
    nearest = _find_nearest(directory)
    if nearest is None:
        output = Git(directory=directory).call(
            "rev-parse", "--git-dir", accept=None, timeout_seconds=DISCOVERY_SECONDS
        )
        raise UserError(_explain_failure(directory, output.stderr or "must be run in a work tree"))
    root, git_dir = nearest
    common = git_dir / (_read_pointer(git_dir / "commondir") or ".")
    inert = InertDirectory(common.resolve(), git_dir)
    # By discovery and not by GIT_DIR, since only then git refuses a repository of another user.
    output = Git(directory=root, inert=inert).call("rev-parse", "--absolute-git-dir", accept=None)
    if output.status != 0 or Path(os.fsdecode(output.stdout).removesuffix("\n")).resolve() != git_dir:
        raise UserError(_explain_failure(directory, output.stderr))
    if inert.is_bare:
        raise UserError(_explain_failure(directory, "must be run in a work tree"))
    return Git(directory=root, git_dir=git_dir, work_tree=root, inert=inert)


def find_root(directory: Path) -> Path | None:
    """Return the top of the checkout that contains a directory, without asking git whether it accepts it."""
    nearest = _find_nearest(directory.resolve())
    return nearest[0] if nearest else None


def find_main_root(root: Path) -> Path:
    """Return what stands for the repository of a checkout: its root, of a linked worktree the main one's.

    The common git directory stands for a bare repository. A `.git` file is believed only where the
    repository that it names lists the worktree, too.
    """
    nearest = _find_nearest(root)
    if nearest is None or nearest[0] != root:
        return root
    common = (nearest[1] / (_read_pointer(nearest[1] / "commondir") or ".")).resolve()
    listed = _read_pointer(nearest[1] / "gitdir")
    if nearest[1].parent != common / "worktrees" or Path(listed).resolve() != (root / ".git").resolve():
        return root
    return common.parent if common.name == ".git" else common


def _find_nearest(directory: Path) -> tuple[Path, Path] | None:
    """Find the closest ancestor with a `.git` that git may accept; return it and its git directory."""
    for parent in (directory, *directory.parents):
        pointer = parent / ".git"
        if pointer.is_dir():
            if _is_git_directory(pointer):
                return parent, pointer.resolve()
        elif line := _read_pointer(pointer):
            target = (parent / line.removeprefix("gitdir: ")).resolve()
            return (parent, target) if line.startswith("gitdir: ") and target.is_dir() else None
        if _is_git_directory(parent):
            return None
    return None


def _is_git_directory(directory: Path) -> bool:
    has_store = all((directory / name).is_dir() for name in ("objects", "refs"))
    return os.path.lexists(directory / "HEAD") and (has_store or (directory / "commondir").exists())


def _read_pointer(file: Path) -> str:
    return os.fsdecode(read_regular(file, limit_bytes=POINTER_BYTES) or b"").strip("\r\n")


def _check_version(git: Git) -> None:
    version = git.text("version")
    match = re.search(r"(\d+)\.(\d+)", version)
    if match and (int(match[1]), int(match[2])) < MINIMUM_VERSION:
        raise UserError(
            f"This is {version}, and coder needs at least {MINIMUM_VERSION[0]}.{MINIMUM_VERSION[1]}: "
            "install a newer git."
        )


def _explain_failure(directory: Path, stderr: str) -> str:
    if remedy := re.search(r"git config --global --add safe\.directory .+", stderr):
        return f"{directory} belongs to another user, so git refuses it. If you trust it: {remedy[0]}"
    if "must be run in a work tree" in stderr:
        return (
            f"{directory} is a bare repository or a .git directory: there are no files to work on. "
            "Start coder in a checkout of it."
        )
    if "not a git repository" in stderr:
        return (
            f"{directory} is not inside a git repository. Start coder in one, or make one: git init, "
            "git add, git commit."
        )
    return (
        f"git cannot read the repository in {directory}: "
        f"{stderr.strip().splitlines()[-1] if stderr.strip() else 'it does not say why'}"
    )


OWNER_BYTES = 200


@contextmanager
def repository_lock(common: Path) -> Iterator[None]:
    """Hold the lock on what sessions share in this repository: the notes, the list of worktrees."""
    directory = os.open(common, os.O_RDONLY | os.O_DIRECTORY)
    try:
        # Some file systems cannot lock directories; the worst result is a lost note.
        with suppress(OSError):
            lock_file(directory)
        yield
    finally:
        os.close(directory)


@contextmanager
def state_lock(path: Path) -> Iterator[None]:
    """Wait for a lock on a file of coder's own, creating it where needed, and hold it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        lock_file(file)
        yield
    finally:
        os.close(file)


@contextmanager
def session_lock(session: Path) -> Iterator[None]:
    """Mark a session's directory as in use by this process, creating it where needed.

    Raises:
        UserError: another process uses it.
    """
    session.mkdir(parents=True, exist_ok=True)
    file = os.open(session / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        if lock_file(file, wait=False) is False:
            owner = os.pread(file, OWNER_BYTES, 0).decode("utf-8", "replace") or "another process"
            raise UserError(
                f"The session {session.name} is in use by {owner}; wait for it to end or stop it."
            )
        os.ftruncate(file, 0)
        os.pwrite(file, current_owner().encode(), 0)
        yield
    finally:
        os.close(file)


def is_in_use(session: Path) -> bool:
    """Tell whether a process has a session open; False where locks are unknown."""
    try:
        file = os.open(session / "lock", os.O_RDONLY)
    except OSError:
        return False
    try:
        return lock_file(file, wait=False) is False
    finally:
        os.close(file)


def current_owner() -> str:
    """Return the name of this process in the locks that it holds."""
    return f"process {os.getpid()} on {platform.node()}"


def read_owner(session: Path) -> str:
    """Return the name of the last process that used a session's directory; empty if there is none."""
    try:
        return (session / "lock").read_bytes()[:OWNER_BYTES].decode("utf-8", "replace")
    except OSError:
        return ""


LINKED_ENTRIES = ("HEAD", "objects", "refs", "packed-refs", "shallow", "worktrees")
"""Linked, even before they exist; no hooks, no includes, no info/attributes with filters."""
OPTIONAL_ENTRIES = ("logs", "reftable")
"""Linked only if they exist: a dangling link would make git fail."""
NO_FILTERS = b"\n* !filter\n"
"""Content of info/attributes, which overrides every .gitattributes: no path has a filter."""


def _read_config(config: Path) -> str:
    return os.fsdecode(read_regular(config) or b"")
