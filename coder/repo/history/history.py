"""The History port: what git knows of a place, from the commit that the session started from."""

from dataclasses import dataclass

from coder.core.errors import GitError
from coder.core.values.history import Change
from coder.permissions.private_files import DENY_READ, denied
from coder.repo.git import Git
from coder.repo.history.blame import blamed, in_runs

SEARCH_SECONDS = 20.0
"""Looking through every diff of a large repository for a word can take minutes."""
LARGEST_BYTES = 5_000_000
MOST_CHANGED_LINES = 20_000
SEARCHED = 10
"""So many times the commits asked for are looked at, where some of them only touch private files."""
PLAIN = ("--no-ext-diff", "--no-textconv", "--date=short")
LINE = "--format=%h %ad %an: %s"


@dataclass(frozen=True, kw_only=True)
class GitHistory:
    """Reads commits; writes nothing."""

    git: Git
    revision: str
    """Where history ends."""
    deny_read: tuple[str, ...] = DENY_READ
    """Patterns of files that nothing is searched in or shown of, as in `coder.permissions.private_files`."""
    seconds: float = SEARCH_SECONDS
    """For one question."""

    def log(
        self,
        *,
        path: str | None = None,
        lines: tuple[int, int] | None = None,
        word: str | None = None,
        count: int = 10,
    ) -> str:
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
        changed = self._holding(word, where, count=count)
        titled = {
            f"In the message (whatever the case): {word}": told,
            f"Added or removed by the change: {word}": changed,
        }
        return "\n".join(f"{title}\n{found}" for title, found in titled.items() if found)

    def blame(self, path: str, first: int, last: int) -> str:
        """Which commit made each line of a range, from 1, both ends included: a row for each run of lines.

        Raises:
            GitError: there is no such path or line, or it takes too long.
        """
        return in_runs(
            blamed(
                self._read(
                    "blame",
                    "--no-textconv",
                    "--porcelain",
                    "-L",
                    f"{first},{last}",
                    self.revision,
                    "--",
                    path,
                )
            )
        )

    def show(self, revision: str, path: str | None = None) -> str:
        """One commit: message and diff, of one path if given; of a very large one the diff is left out.

        Raises:
            GitError: there is no such commit.
        """
        commit = self.git.commit(revision)
        if commit is None:
            raise GitError(f"There is no commit {revision!r} in this repository.")
        where = ("--", path) if path is not None else ()
        names = self._read(
            "show", *PLAIN, "--format=", "--name-only", "--no-renames", "-z", commit, *where
        ).split("\0")
        hidden = [name for name in names if denied(name, self.deny_read)]
        limit = (
            (
                "--",
                f":(top,literal){path}" if path else ":(top)",
                *(f":(top,exclude,literal){name}" for name in hidden),
            )
            if hidden
            else where
        )
        counts = self._read("show", *PLAIN, "--format=", "--numstat", commit, *limit).split()
        size = sum(int(count) for count in counts if count.isdigit())
        patch = () if size > MOST_CHANGED_LINES else ("--patch",)
        told = self._read("show", *PLAIN, "--stat", *patch, commit, *limit)
        if len(hidden) == len(
            list(filter(None, names))
        ):  # git shows no commit at all of which no path is left
            told = self._read("show", *PLAIN, "--no-patch", commit)
        return "\n".join([told, *(f"{name}: not shown, it may hold secrets" for name in hidden)])

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
        told = self._log(
            "--no-merges", "--name-only", "--no-renames", *where, count=count, form="--format=%x00%H %ad %s"
        )
        records = (record.split("\n") for record in told.split("\0")[1:])
        changes = []
        for head, *names in records:
            commit, date, *subject = head.split(" ", 2)
            paths = tuple(
                name for name in names if name and name[0] != '"' and not denied(name, self.deny_read)
            )
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
        return self._read(
            "log", *PLAIN, form, f"--max-count={count}", *options, self.revision, *where, partly=True
        )

    def _holding(self, word: str, where: tuple[str, ...], *, count: int) -> str:
        """The newest commits that add or remove a word in a file that may be read; git names the files in which each does."""
        lines: list[str] = []
        for asked in (
            count,
            SEARCHED * count,
        ):  # a second look only where commits of private files took the place of others
            told = self._log(
                f"-S{word}",
                "--name-status",
                *where,
                count=asked,
                form=f"--format=%x00{LINE.removeprefix('--format=')}",
            )
            records, _, stopped = (
                told.partition("\n[stopped after ") if "[stopped after " in told else (told, "", "")
            )
            found = [record.strip("\n").split("\n") for record in records.split("\0")[1:]]
            lines = [head for head, *files in found if any(self._readable(file) for file in files)]
            if len(lines) == len(found) or len(found) < asked:
                break
        return "\n".join([*lines[:count], *([f"[stopped after {stopped}"] if stopped else [])])

    def _readable(self, status: str) -> bool:
        """May all paths (both of a renamed file) of a line of `--name-status` be read? One that git has to quote may not."""
        paths = status.split("\t")[1:]
        return bool(paths) and not any(path.startswith('"') or denied(path, self.deny_read) for path in paths)

    def _read(self, *arguments: str, partly: bool = False) -> str:
        """What git prints; where it may be given partly, as much as there was in time."""
        magic = (
            {"GIT_LITERAL_PATHSPECS": "0"}
            if any(argument.startswith(":(top") for argument in arguments)
            else None
        )
        output = self.git.call(
            *arguments, environment=magic, timeout_seconds=self.seconds, accept_timeout=partly
        )
        text = output.stdout.decode("utf-8", "replace").rstrip("\n")
        return (
            f"{text}\n[stopped after {self.seconds:g} s; older commits were not looked at]".lstrip()
            if output.timed_out
            else text
        )
