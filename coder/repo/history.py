"""The History port: what git knows of a place, from the commit that the session started from."""

from dataclasses import dataclass

from coder.core.change import Change
from coder.core.errors import GitError
from coder.repo.blame import blamed, in_runs
from coder.repo.git import Git

SEARCH_SECONDS = 20.0
"""Looking through every diff of a large repository for a word can take minutes."""
LARGEST_BYTES = 5_000_000
MOST_CHANGED_LINES = 20_000
PLAIN = ("--no-ext-diff", "--no-textconv", "--date=short")
LINE = "--format=%h %ad %an: %s"


@dataclass(frozen=True, kw_only=True)
class GitHistory:
    """Reads commits; writes nothing."""

    git: Git
    revision: str
    """Where history ends."""
    seconds: float = SEARCH_SECONDS
    """For one question."""

    def log(self, *, path: str | None = None, lines: tuple[int, int] | None = None, word: str | None = None, count: int = 10) -> str:
        """Newest commits that touch the path, its lines (first, last; from 1), or mention the word: in the message, and in the change.

        What takes too long is answered with the commits found by then, and a line that says so.

        Raises:
            GitError: there is no such path or line.
        """
        if path is not None and lines is not None:
            return self._log(f"-L{lines[0]},{lines[1]}:{path}", "--no-patch", count=count)
        where = ("--", path) if path is not None else ("--",)
        if word is None:
            return self._log(*where, count=count)
        told = self._log("--fixed-strings", "--regexp-ignore-case", f"--grep={word}", *where, count=count)
        changed = self._log(f"-S{word}", *where, count=count)
        titled = {f"In the message (whatever the case): {word}": told, f"Added or removed by the change: {word}": changed}
        return "\n".join(f"{title}\n{found}" for title, found in titled.items() if found)

    def blame(self, path: str, first: int, last: int) -> str:
        """Which commit made each line of a range, from 1, both ends included: a row for each run of lines.

        Raises:
            GitError: there is no such path or line, or it takes too long.
        """
        return in_runs(blamed(self._read("blame", "--no-textconv", "--porcelain", "-L", f"{first},{last}", self.revision, "--", path)))

    def show(self, revision: str, path: str | None = None) -> str:
        """One commit: message and diff, of one path if given; of a very large one the diff is left out.

        Raises:
            GitError: there is no such commit.
        """
        commit = self.git.commit(revision)
        if commit is None:
            raise GitError(f"There is no commit {revision!r} in this repository.")
        limit = ("--", path) if path is not None else ()
        counts = self._read("show", *PLAIN, "--format=", "--numstat", commit, *limit).split()
        size = sum(int(count) for count in counts if count.isdigit())
        patch = () if size > MOST_CHANGED_LINES else ("--patch",)
        return self._read("show", *PLAIN, "--stat", *patch, commit, *limit)

    def file(self, path: str) -> str | None:
        """A text file as it stands where history ends; None where there is none, or one over 5 MB."""
        name = f"{self.revision}:{path}"
        size = self.git.call("cat-file", "-s", name, accept=None)
        if size.status != 0 or int(size.stdout) > LARGEST_BYTES:
            return None
        content = self.git.call("cat-file", "blob", name, accept=None)
        return content.stdout.decode("utf-8", "replace") if content.status == 0 else None

    def recent(self, *, path: str | None = None, count: int = 200) -> tuple[Change, ...]:
        """The newest commits without merges, newest first; paths that git would have to quote are left out.

        Raises:
            GitError: the clone holds only a part of its history.
        """
        where = ("--", path) if path is not None else ("--",)
        told = self._log("--no-merges", "--name-only", "--no-renames", *where, count=count, form="--format=%x00%H %ad %s")
        records = (record.split("\n") for record in told.split("\0")[1:])
        changes = []
        for head, *names in records:
            commit, date, *subject = head.split(" ", 2)
            paths = tuple(name for name in names if name and name[0] != '"')
            changes.append(Change(commit=commit, date=date, subject="".join(subject), paths=paths))
        return tuple(changes)

    def touched(self, path: str, since: str) -> tuple[str, ...]:
        """Of each line of a file the commit that made it; those that `since` has already may stand for older ones.

        Raises:
            GitError: there is no such path, or it takes too long.
        """
        told = self._read("blame", "--no-textconv", "--porcelain", f"{since}..{self.revision}", "--", path)
        return tuple("" if "boundary" in line.told else line.commit for line in blamed(told))

    def _log(self, *arguments: str, count: int, form: str = LINE) -> str:
        at = arguments.index("--") if "--" in arguments else len(arguments)
        options, where = arguments[:at], arguments[at:]
        return self._read("log", *PLAIN, form, f"--max-count={count}", *options, self.revision, *where, partly=True)

    def _read(self, *arguments: str, partly: bool = False) -> str:
        """What git prints; where it may be given partly, as much as there was in time."""
        output = self.git.call(*arguments, timeout_seconds=self.seconds, accept_timeout=partly)
        text = output.stdout.decode("utf-8", "replace").rstrip("\n")
        return f"{text}\n[stopped after {self.seconds:g} s; older commits were not looked at]".lstrip() if output.timed_out else text
