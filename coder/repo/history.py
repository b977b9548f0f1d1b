"""The History port: what git knows of a place, from the commit that the session started from."""

from dataclasses import dataclass

from coder.core.errors import GitError
from coder.repo.git import Git

SEARCH_SECONDS = 20.0
"""Looking through every diff of a large repository for a word can take minutes."""
PLAIN = ("--no-ext-diff", "--no-textconv")
LINE = "--format=%h %ad %an: %s"


@dataclass(frozen=True, kw_only=True)
class GitHistory:
    """Reads commits; writes nothing."""

    git: Git
    revision: str
    """Where history ends."""

    def log(self, *, path: str | None = None, lines: tuple[int, int] | None = None, word: str | None = None, count: int = 10) -> str:
        """Newest commits that touch the path, its lines (first, last; from 1), or mention the word in message or change.

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
        return "\n".join(dict.fromkeys([*told.splitlines(), *changed.splitlines()][: 2 * count]))

    def blame(self, path: str, first: int, last: int) -> str:
        """Who last changed each line of a range, from 1, both ends included.

        Raises:
            GitError: there is no such path or line.
        """
        return self._read("blame", "--no-textconv", "--date=short", "-L", f"{first},{last}", self.revision, "--", path)

    def show(self, revision: str, path: str | None = None) -> str:
        """One commit: message and diff, of one path if given.

        Raises:
            GitError: there is no such commit.
        """
        commit = self.git.commit(revision)
        if commit is None:
            raise GitError(f"There is no commit {revision!r} in this repository.")
        limit = ("--", path) if path is not None else ()
        return self._read("show", *PLAIN, "--date=short", "--stat", "--patch", commit, *limit)

    def _log(self, *arguments: str, count: int) -> str:
        at = arguments.index("--") if "--" in arguments else len(arguments)
        options, where = arguments[:at], arguments[at:]
        return self._read("log", *PLAIN, LINE, "--date=short", f"--max-count={count}", *options, self.revision, *where)

    def _read(self, *arguments: str) -> str:
        output = self.git.call(*arguments, timeout_seconds=SEARCH_SECONDS)
        return output.stdout.decode("utf-8", "replace").rstrip("\n")
