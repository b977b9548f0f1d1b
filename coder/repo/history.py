"""History port: git log, blame and show as of the session's start commit."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone
from itertools import groupby

from coder.core.errors import GitError
from coder.permissions.private_files import DENY_READ, is_read_denied
from coder.python.source import decode_text
from coder.repo.git import Git

SEARCH_SECONDS = 20.0
"""Searching every diff of a large repository for a word can take minutes."""
LARGEST_BYTES = 5_000_000
MOST_CHANGED_LINES = 20_000
SEARCH_FACTOR = 10
"""Factor by which more commits are searched where some of them only touch private files."""
SHOW_OPTIONS = ("--no-ext-diff", "--no-textconv", "--date=short")
LOG_FORMAT = "--format=%h %ad %an: %s"


@dataclass(frozen=True, kw_only=True)
class GitHistory:
    """Read-only access to commits."""

    git: Git
    revision: str
    """The newest commit of the history."""
    deny_read: tuple[str, ...] = DENY_READ
    """Patterns of `coder.permissions.private_files`: matching files are neither searched nor shown."""
    seconds: float = SEARCH_SECONDS
    """Time limit of one query."""

    def log(
        self,
        *,
        path: str | None = None,
        lines: tuple[int, int] | None = None,
        word: str | None = None,
        count: int = 10,
    ) -> str:
        """Return the newest commits that touch a path or lines, or mention a word in message or change.

        `lines` are first and last, from 1. On time-out the commits found so far are returned, with a line
        that says so.

        Raises:
            GitError: there is no such path or line.
        """
        if path is not None and lines is not None:
            return self._log(f"-L{lines[0]},{lines[1]}:{path}", "--no-patch", count=count)
        where = ("--", path) if path is not None else ("--",)
        if word is None:
            return self._log(*where, count=count)
        mentioned = self._log(
            "--fixed-strings", "--regexp-ignore-case", f"--grep={word}", *where, count=count
        )
        changed = self._find_word_changes(word, where, count=count)
        sections = {
            f"In the message (whatever the case): {word}": mentioned,
            f"Added or removed by the change: {word}": changed,
        }
        return "\n".join(f"{title}\n{commits}" for title, commits in sections.items() if commits)

    def blame(self, path: str, first: int, last: int) -> str:
        """Return a row for each run of lines with the same commit.

        `first` and `last` count from 1 and are inclusive.

        Raises:
            GitError: there is no such path or line, or it takes too long.
        """
        lines = ("-L", f"{first},{last}")
        porcelain = self._read("blame", "--no-textconv", "--porcelain", *lines, self.revision, "--", path)
        return format_blame(parse_blame(porcelain))

    def show(self, revision: str, path: str | None = None) -> str:
        """Return the message and diff of one commit, limited to `path` if given.

        A very large diff is left out.

        Raises:
            GitError: there is no such commit.
        """
        commit = self.git.resolve_commit(revision)
        if commit is None:
            raise GitError(f"There is no commit {revision!r} in this repository.")
        where = ("--", path) if path is not None else ()
        names = self._read(
            "show", *SHOW_OPTIONS, "--format=", "--name-only", "--no-renames", "-z", commit, *where
        ).split("\0")
        hidden = [name for name in names if is_read_denied(name, self.deny_read)]
        limit = (
            (
                "--",
                f":(top,literal){path}" if path else ":(top)",
                *(f":(top,exclude,literal){name}" for name in hidden),
            )
            if hidden
            else where
        )
        counts = self._read("show", *SHOW_OPTIONS, "--format=", "--numstat", commit, *limit).split()
        size = sum(int(count) for count in counts if count.isdigit())
        patch = () if size > MOST_CHANGED_LINES else ("--patch",)
        output = self._read("show", *SHOW_OPTIONS, "--stat", *patch, commit, *limit)
        # Git shows nothing of a commit if no path is left.
        if len(hidden) == len(list(filter(None, names))):
            output = self._read("show", *SHOW_OPTIONS, "--no-patch", commit)
        return "\n".join([output, *(f"{name}: not shown, it may hold secrets" for name in hidden)])

    def read_file(self, path: str) -> str | None:
        """Return a text file as of the revision where history ends; None if missing or over 5 MB."""
        name = f"{self.revision}:{path}"
        size = self.git.call("cat-file", "-s", name, accept=None)
        if size.status != 0 or int(size.stdout) > LARGEST_BYTES:
            return None
        content = self.git.call("cat-file", "blob", name, accept=None)
        return decode_text(content.stdout) if content.status == 0 else None

    def _log(self, *arguments: str, count: int, form: str = LOG_FORMAT) -> str:
        at = arguments.index("--") if "--" in arguments else len(arguments)
        options, where = arguments[:at], arguments[at:]
        return self._read(
            "log", *SHOW_OPTIONS, form, f"--max-count={count}", *options, self.revision, *where, partly=True
        )

    def _find_word_changes(self, word: str, where: tuple[str, ...], *, count: int) -> str:
        """Return the newest commits that add or remove a word in a readable file.

        Git lists the files in which each commit does.
        """
        lines: list[str] = []
        # A second search is needed only if commits of private files displaced others.
        for limit in (count, SEARCH_FACTOR * count):
            output = self._log(
                f"-S{word}",
                "--name-status",
                *where,
                count=limit,
                form=f"--format=%x00{LOG_FORMAT.removeprefix('--format=')}",
            )
            records, _, stop_note = (
                output.partition("\n[stopped after ") if "[stopped after " in output else (output, "", "")
            )
            commits = [record.strip("\n").split("\n") for record in records.split("\0")[1:]]
            lines = [head for head, *files in commits if any(self._is_readable(file) for file in files)]
            if len(lines) == len(commits) or len(commits) < limit:
                break
        return "\n".join([*lines[:count], *([f"[stopped after {stop_note}"] if stop_note else [])])

    def _is_readable(self, status: str) -> bool:
        """Return whether all paths of a `--name-status` line (both of a renamed file) may be read.

        A path that git has to quote may not.
        """
        paths = status.split("\t")[1:]
        return bool(paths) and not any(
            path.startswith('"') or is_read_denied(path, self.deny_read) for path in paths
        )

    def _read(self, *arguments: str, partly: bool = False) -> str:
        """Return the output of git; with `partly`, the partial output on time-out."""
        variables = (
            {"GIT_LITERAL_PATHSPECS": "0"}
            if any(argument.startswith(":(top") for argument in arguments)
            else None
        )
        output = self.git.call(
            *arguments, environment=variables, timeout_seconds=self.seconds, accept_timeout=partly
        )
        text = output.stdout.decode("utf-8", "replace").rstrip("\n")
        return (
            f"{text}\n[stopped after {self.seconds:g} s; older commits were not looked at]".lstrip()
            if output.timed_out
            else text
        )


HEADER = re.compile(r"([0-9a-f]{40,64}) \d+ (\d+)")


@dataclass(frozen=True, kw_only=True)
class BlameLine:
    line: int
    commit: str
    commit_fields: dict[str, str] = field(default_factory=dict)
    """The commit's author, author-time, summary and more, by git's names."""

    @property
    def commit_summary(self) -> str:
        """A summary such as `1a2b3c4d5e 2020-01-31 Ada: adds boxes`."""
        zone = self.commit_fields.get("author-tz", "+0000")
        minutes = (int(zone[1:3]) * 60 + int(zone[3:5])) * (-1 if zone.startswith("-") else 1)
        author_zone = timezone(timedelta(minutes=minutes)) if abs(minutes) < 24 * 60 else UTC
        date = (
            datetime.fromtimestamp(int(self.commit_fields.get("author-time", "0")), tz=author_zone)
            .date()
            .isoformat()
        )
        author, summary = (self.commit_fields.get(field, "") for field in ("author", "summary"))
        return f"{self.commit[:10]} {date} {author}: {summary}"


def parse_blame(porcelain: str) -> Iterator[BlameLine]:
    """Parse the output of `git blame --porcelain`.

    Git prints a commit's fields only with its first line.
    """
    commits: dict[str, dict[str, str]] = {}
    fields: dict[str, str] = {}
    commit, number = "", 0
    for line in porcelain.split("\n"):
        if line.startswith("\t"):
            yield BlameLine(line=number, commit=commit, commit_fields=fields)
        elif match := HEADER.match(line):
            commit, number = match[1], int(match[2])
            fields = commits.setdefault(commit, {})
        else:
            key, _, value = line.partition(" ")
            fields[key] = value


def format_blame(lines: Iterator[BlameLine]) -> str:
    """Format one row for each run of lines with the same commit.

    A row is such as `40-43 1a2b3c4d5e 2020-01-31 Ada: adds boxes`.
    """
    rows = []
    for _, group in groupby(lines, key=lambda line: line.commit):
        run = list(group)
        span = f"{run[0].line}" if len(run) == 1 else f"{run[0].line}-{run[-1].line}"
        rows.append(f"{span:>11} {run[0].commit_summary}")
    return "\n".join(rows)
