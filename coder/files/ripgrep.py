"""Safe invocation of ripgrep: patterns are never options, no configuration is read, every run is bounded."""

import base64
import contextlib
import fcntl
import json
import os
import selectors
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import metadata
from itertools import islice
from pathlib import Path
from typing import Any

from ripgrepy import Ripgrepy  # type: ignore[import-untyped]  # the package has no types

from coder.core.errors import ToolError
from coder.files.regular_files import find_special_files
from coder.permissions.secrets import DENY_READ, readable_paths

SEARCH_SECONDS = 20.0
CHUNK_BYTES = 1 << 20
PATIENCE_SECONDS = 2.0
"""Silence after which special files are looked for that may block the search."""
PAUSE_SECONDS = 0.0006
"""Seconds to wait for more output: waking up for each file's piece would take processor time from ripgrep."""
MAX_OUTPUT_BYTES = 256 << 20
MAX_HITS = 20_000
MAX_FILE_SIZE = "4M"
EXCLUDED_GLOBS = ("--glob", "!.git", "--glob", "!.venv")
"""Directories that are never searched, ignored or not: `python -m venv` writes no .gitignore before 3.13."""


@dataclass(frozen=True, kw_only=True)
class Hit:
    """One line of a file that matched, or context of a match."""

    path: str
    """Relative to the root; bytes that are not UTF-8 are surrogate escapes."""
    line: int
    text: str
    spans: tuple[tuple[int, int], ...] = ()
    """Range of the text that matched first; empty for a context line."""


@dataclass(frozen=True, kw_only=True)
class FileMatches:
    path: str
    hits: tuple[Hit, ...]
    """The matching lines and their context, sorted by line."""

    @property
    def count(self) -> int:
        """Number of matching lines."""
        return sum(bool(hit.spans) for hit in self.hits)

    def first_hits(self, count: int) -> tuple[Hit, ...]:
        return tuple(islice((hit for hit in self.hits if hit.spans), count))


@dataclass(frozen=True, kw_only=True)
class SearchResult:
    files: tuple[FileMatches, ...]
    cut: str = ""
    """Why it ended early; empty when it is complete."""

    @property
    def count(self) -> int:
        """Number of matching lines."""
        return sum(file.count for file in self.files)

    @cached_property
    def hits(self) -> tuple[Hit, ...]:
        """Matching and context lines, sorted by path and line."""
        return tuple(hit for file in self.files for hit in file.hits)


class SafeRipgrep(Ripgrepy):  # type: ignore[misc]  # the package has no types
    """Ripgrepy's options, with a fixed, injection-safe command line and limits."""

    def __init__(self, root: Path, path: str) -> None:
        super().__init__("", "./", rg_path=ripgrep_path())
        self._root = root
        self._path = "./" if path == "." else f"./{path}"
        self.cut = ""
        self.exit_code = 0
        self.error = ""
        self.no_config().no_messages().hidden().max_filesize(MAX_FILE_SIZE)

    def output(self, pattern: str | None = None) -> Iterator[bytes]:
        """Yield ripgrep's output until it ends or a limit is reached.

        Without a pattern, files are listed.
        """
        query = ["-e", pattern] if pattern is not None else ["--files"]
        command = [*self.command, *EXCLUDED_GLOBS, *query, "--", self._path]
        with self._start(command) as process, selectors.DefaultSelector() as selector:
            assert process.stdout is not None and process.stderr is not None
            selector.register(process.stdout, selectors.EVENT_READ)
            with contextlib.suppress(
                AttributeError, OSError
            ):  # only on Linux, and not beyond the user's limit
                fcntl.fcntl(process.stdout, fcntl.F_SETPIPE_SZ, CHUNK_BYTES)
            size = 0
            try:
                for chunk in self._read(process.stdout.fileno(), selector):
                    size += len(chunk)
                    if size > MAX_OUTPUT_BYTES:
                        self.cut = "there was too much"
                        break
                    yield chunk
                self.error = process.stderr.read(4000).decode("utf-8", "replace") if not self.cut else ""
            finally:
                process.kill()
            self.exit_code = process.wait()

    def _read(self, descriptor: int, selector: selectors.BaseSelector) -> Iterator[bytes]:
        end = time.monotonic() + SEARCH_SECONDS
        if not selector.select(PATIENCE_SECONDS) and (pipe := next(find_special_files(self._root), None)):
            raise ToolError(
                f"{pipe} is not a regular file, and a search would wait for it for ever. Remove "
                "it and try again."
            )
        while selector.select(max(0, end - time.monotonic())):
            time.sleep(PAUSE_SECONDS)
            if not (chunk := os.read(descriptor, CHUNK_BYTES)):
                return
            yield chunk
        self.cut = f"it took more than {SEARCH_SECONDS:g} s"

    def _start(self, command: list[str]) -> "subprocess.Popen[bytes]":
        environment = {"PATH": os.defpath, "LC_ALL": "C.UTF-8"}
        pipe = subprocess.PIPE
        try:
            return subprocess.Popen(
                command, cwd=self._root, env=environment, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe
            )
        except OSError as error:
            raise ToolError(
                f"Nothing can be searched: {error.strerror}, when ripgrep was started in {self._root.name}."
            ) from None


@cache
def ripgrep_path() -> str:
    """Return the path of rg: CODER_RG, the `ripgrep` package's, beside the interpreter, or on PATH.

    Raises:
        ToolError: there is none.
    """
    if configured := os.environ.get("CODER_RG"):
        return configured
    candidates = [*_packaged_binaries(), Path(sys.executable).parent / "rg", Path(shutil.which("rg") or "")]
    for candidate in candidates:
        if candidate.is_file() and os.access(candidate, os.X_OK):
            return str(candidate)
    raise ToolError(
        "ripgrep (rg) is not installed here, so nothing can be searched. Install it, or "
        "set CODER_RG to its path."
    )


def _packaged_binaries() -> list[Path]:
    try:
        files = metadata.files("ripgrep") or []
    except metadata.PackageNotFoundError:
        return []
    return [Path(str(file.locate())).resolve() for file in files if file.name in ("rg", "rg.exe")]


def grep(
    root: Path,
    pattern: str,
    *,
    path: str = ".",
    options: tuple[str, ...] = (),
    most: int = MAX_HITS,
    deny_read: Sequence[str] = DENY_READ,
) -> SearchResult:
    """Search files below `path` that git does not ignore for a regular expression.

    `options` are further options of ripgrep, such as `--word-regexp`; pass a model's text only as
    `--glob=TEXT`. The search ends after `most` matches. Files matched by `deny_read` are excluded.

    Raises:
        ToolError: the pattern is not valid.
    """
    ripgrep = SafeRipgrep(root, path)
    ripgrep.json().command.extend(options)
    hits = _gather(ripgrep, pattern, most)
    if not hits and not ripgrep.cut:
        _check(ripgrep)
    readable = sorted(readable_paths([*hits], deny_read))
    files = tuple(FileMatches(path=path, hits=tuple(hits[path])) for path in readable)
    return SearchResult(files=files, cut=ripgrep.cut)


def _gather(ripgrep: SafeRipgrep, pattern: str, most: int) -> dict[str, list[Hit]]:
    """Collect the hits of each file, until the requested number of matches is reached."""
    hits: dict[str, list[Hit]] = {}
    count, rest = 0, b""
    for chunk in ripgrep.output(pattern):
        *records, rest = (rest + chunk).split(b"\n")
        for hit in filter(None, map(parse_hit, records)):
            hits.setdefault(hit.path, []).append(hit)
            count += bool(hit.spans)
        if count >= most:
            ripgrep.cut = f"there are more than {most:,} matches"
            break
    return hits


def _check(ripgrep: SafeRipgrep) -> None:
    if ripgrep.error:
        raise ToolError(
            f"ripgrep cannot search for this: {_reason(ripgrep.error)} For plain text instead "
            "of a pattern set literal=true."
        )


@dataclass(frozen=True, kw_only=True)
class FileListing:
    paths: tuple[str, ...]
    """Sorted, relative to the root."""
    cut: str = ""
    """Why it is incomplete."""


def list_paths(root: Path) -> tuple[str, ...]:
    """Return the files below a directory that git does not ignore, sorted, relative to it."""
    return list_files_below(root).paths


def list_files_below(root: Path, path: str = ".", *, glob: str = "") -> FileListing:
    """List the files below a directory that git does not ignore, and whether the list is complete.

    Raises:
        ToolError: the glob is not valid.
    """
    ripgrep = SafeRipgrep(root, path)
    ripgrep.null()
    if glob:
        ripgrep.glob(glob)
    output = b"".join(ripgrep.output())
    if not output and ripgrep.error:
        raise ToolError(f"Files cannot be listed: {_reason(ripgrep.error)}")
    names = output[: output.rfind(b"\0") + 1].split(b"\0")[:-1]
    return FileListing(
        paths=tuple(sorted(os.fsdecode(name).removeprefix("./") for name in names)), cut=ripgrep.cut
    )


def escape_path(path: str) -> str:
    """Escape a path for a model: undecodable bytes and control characters are written as escapes."""
    plain = path.encode("utf-8", "backslashreplace").decode("utf-8")
    return plain if plain.isprintable() else plain.encode("unicode_escape").decode("ascii")


def _reason(error: str) -> str:
    lines = [line.strip() for line in error.strip().splitlines() if line.strip()]
    return (lines[-1] if lines else "it failed").removeprefix("error: ").rstrip(".") + "."


HIT_RECORDS = (b'{"type":"match"', b'{"type":"context"')


def parse_hit(record: bytes) -> Hit | None:
    """Return the hit of a record of ripgrep; None for a record of another kind."""
    if not record.startswith(HIT_RECORDS) or (data := json.loads(record)["data"])["line_number"] is None:
        return None
    raw = _bytes(data["lines"]).partition(b"\n")[0].removesuffix(b"\r")
    spans = tuple(
        (len(_text(raw[: match["start"]])), len(_text(raw[: match["end"]])))
        for match in data["submatches"][:1]  # a line of minified code has thousands
    )
    path = os.fsdecode(_bytes(data["path"])).removeprefix("./")
    return Hit(path=path, line=data["line_number"], text=_text(raw), spans=spans)


def _bytes(field: dict[str, Any]) -> bytes:
    return field["text"].encode("utf-8") if "text" in field else base64.b64decode(field["bytes"])


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")
