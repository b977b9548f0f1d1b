"""ripgrep behind one safe door: a pattern is never an option, no configuration is read, and every run ends."""

import base64
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib import metadata
from pathlib import Path
from typing import Any

from ripgrepy import RipGrepOut, Ripgrepy  # type: ignore[import-untyped]  # it has no types

from coder.core.errors import UserError
from coder.core.private import DENY_READ, denied
from coder.tools.tool import ToolError

SECONDS = 20.0
MOST_BYTES = 256 << 20
KEPT_BYTES = 24 << 20
KEPT_ANYWAY = 4
"""Matches of each file, whatever the others hold."""
LARGEST_FILE = "4M"
LONGEST_RECORD = 1 << 20
TOO_LONG = "(a line too long to show)"
LINE_NUMBER = re.compile(rb'"\},"line_number":(\d+),')


@dataclass(frozen=True, kw_only=True)
class Hit:
    """One line of a file that matched, or stands beside one that did."""

    path: str
    """Relative to the root; bytes that are not UTF-8 are surrogate escapes."""
    line: int
    text: str
    spans: tuple[tuple[int, int], ...] = ()
    """Where in the text; empty for a context line."""


@dataclass(frozen=True, kw_only=True)
class FileFound:
    """What one file holds of what was searched for."""

    path: str
    count: int
    """Lines that match."""
    records: tuple[bytes, ...]
    """Of the first of them, and those around them, as ripgrep wrote them: most are only counted, so they are read when asked for."""

    @cached_property
    def hits(self) -> tuple[Hit, ...]:
        """Sorted by line."""
        return tuple(sorted(filter(None, (_hit(self.path, record) for record in self.records)), key=lambda hit: hit.line))


@dataclass(frozen=True, kw_only=True)
class Found:
    """What a search found, sorted by path."""

    files: tuple[FileFound, ...]
    cut: str = ""
    """Why it ended early; empty when it is complete."""

    @property
    def count(self) -> int:
        """Lines that match, those included that are not among the hits."""
        return sum(file.count for file in self.files)

    @cached_property
    def hits(self) -> tuple[Hit, ...]:
        """Sorted by path and line."""
        return tuple(hit for file in self.files for hit in file.hits)


class SafeRipgrep(Ripgrepy):  # type: ignore[misc]  # the same
    """Ripgrepy's options, with a command line that cannot be talked into anything else, run with limits."""

    def __init__(self, root: Path, path: str = ".") -> None:
        super().__init__("", "./" if path == "." else f"./{path}", rg_path=binary())
        self._root = root
        self.cut = ""
        self.exit_code = 0
        self.error = ""
        self.command += ["--no-config", "--no-messages", "--hidden", "--max-filesize", LARGEST_FILE]

    def run(self, universal_newlines: bool = True) -> RipGrepOut:  # noqa: ARG002  # the parent's signature
        return RipGrepOut(b"".join(self.lines()).decode("utf-8", "replace"), self.command)

    def lines(self, pattern: str | None = None) -> Iterator[bytes]:
        """Yield what ripgrep writes for a pattern, or for none when files are listed, until it ends or a limit is reached.

        A line over LONGEST_RECORD bytes comes in pieces.
        """
        asked = ["-e", pattern] if pattern is not None else ["--files"]
        command = [*self.command, "--glob", "!.git", *asked, "--", self.path]
        with self._started(command) as process:
            assert process.stdout is not None and process.stderr is not None
            timer = threading.Timer(SECONDS, self._time_out, args=[process])
            timer.start()
            size = 0
            try:
                while line := process.stdout.readline(LONGEST_RECORD):
                    size += len(line)
                    if size > MOST_BYTES:
                        self.cut = "there was too much"
                        break
                    yield line
                self.error = process.stderr.read(4000).decode("utf-8", "replace") if not self.cut else ""
            finally:
                timer.cancel()
                process.kill()
            self.exit_code = process.wait()

    def _started(self, command: list[str]) -> "subprocess.Popen[bytes]":
        environment = {"PATH": os.defpath, "LC_ALL": "C.UTF-8"}
        pipe = subprocess.PIPE
        try:
            return subprocess.Popen(command, cwd=self._root, env=environment, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe)
        except OSError as error:
            raise ToolError(f"Nothing can be searched: {error.strerror}, when ripgrep was started in {self._root.name}.") from None

    def _time_out(self, process: "subprocess.Popen[bytes]") -> None:
        self.cut = f"it took more than {SECONDS:g} s"
        process.kill()


@cache
def binary() -> str:
    """The path of rg: CODER_RG, else the one that came with the `ripgrep` package, beside the interpreter, or on PATH.

    Raises:
        ToolError: there is none.
    """
    if given := os.environ.get("CODER_RG"):
        return given
    places = [*_packaged(), Path(sys.executable).parent / "rg", Path(shutil.which("rg") or "")]
    for place in places:
        if place.is_file() and os.access(place, os.X_OK):
            return str(place)
    raise ToolError("ripgrep (rg) is not installed here, so nothing can be searched. Install it, or set CODER_RG to its path.")


def ripgrep_version() -> str:
    """What rg says of itself, and where it stands.

    Raises:
        UserError: there is none, or it does not run.
    """
    try:
        path = binary()
        ran = subprocess.run([path, "--no-config", "--version"], capture_output=True, text=True, timeout=SECONDS, check=True)
    except ToolError as error:
        raise UserError(str(error)) from None
    except (OSError, subprocess.SubprocessError) as error:
        raise UserError(f"{path} does not run: {error}. Install ripgrep, or set CODER_RG to its path.") from None
    return f"{ran.stdout.splitlines()[0]} ({path})"


def _packaged() -> list[Path]:
    try:
        files = metadata.files("ripgrep") or []
    except metadata.PackageNotFoundError:
        return []
    return [Path(str(file.locate())).resolve() for file in files if file.name in ("rg", "rg.exe")]


def grep(
    root: Path, pattern: str, *, path: str = ".", options: tuple[str, ...] = (), a_file: int = 20_000, deny_read: Sequence[str] = DENY_READ
) -> Found:
    """Search the files below `path` that git does not ignore, or the one file `path`, for a regular expression.

    `options` are more of ripgrep's own, such as `--word-regexp`; never pass text of a model there but as `--glob=TEXT`. Of each file at
    most the first `a_file` matches are kept; the others are only counted. Of files that `deny_read` names nothing is found.

    Raises:
        ToolError: the pattern is not valid.
    """
    ripgrep = SafeRipgrep(root, path)
    ripgrep.command += ["--json", *options]
    gathered: list[_Gathered] = []
    kept = 0
    for record in _records(ripgrep.lines(pattern)):
        if record.startswith(b'{"type":"begin"'):
            gathered.append(_Gathered(path=_path(record)))
        elif gathered and record.startswith((b'{"type":"match"', b'{"type":"context"')):
            kept += gathered[-1].add(record, most=a_file if kept < KEPT_BYTES else KEPT_ANYWAY)
    if not gathered and not ripgrep.cut and ripgrep.error:
        raise ToolError(f"ripgrep cannot search for this: {_reason(ripgrep.error)} For plain text instead of a pattern set literal=true.")
    readable = [file for file in gathered if file.count and not denied(file.path, deny_read)]
    files = (FileFound(path=file.path, count=file.count, records=tuple(file.records)) for file in readable)
    return Found(files=tuple(sorted(files, key=lambda file: file.path)), cut=ripgrep.cut)


@dataclass(kw_only=True)
class _Gathered:
    """A file's records while they come."""

    path: str
    count: int = 0
    records: list[bytes] = field(default_factory=list)

    def add(self, record: bytes, *, most: int) -> int:
        """Count a match, keep the record unless there are `most` already, and return how many bytes were kept."""
        self.count += record.startswith(b'{"type":"match"')
        if self.count > most:
            return 0
        self.records.append(record)
        return len(record)


def _records(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Whole lines; of one that comes in pieces just the line number remains."""
    for piece in pieces:
        if piece.endswith(b"\n") or len(piece) < LONGEST_RECORD:
            yield piece
            continue
        number = LINE_NUMBER.search(piece)
        tail = piece[-100:]
        while not piece.endswith(b"\n") and (piece := next(pieces, b"")):
            number = number or LINE_NUMBER.search(tail + piece[:100]) or LINE_NUMBER.search(piece)
            tail = piece[-100:]
        if number:
            yield b'{"type":"match","data":{"lines":{"text":"%s"},"line_number":%s,"submatches":[{"start":0,"end":0}]}}' % (
                TOO_LONG.encode(),
                number[1],
            )


def _path(begin: bytes) -> str:
    return os.fsdecode(_bytes(json.loads(begin)["data"]["path"])).removeprefix("./")


@dataclass(frozen=True, kw_only=True)
class Listing:
    """The files below a directory."""

    paths: tuple[str, ...]
    """Sorted, relative to the root."""
    cut: str = ""
    """Why it is not all of them."""


def list_paths(root: Path, path: str = ".") -> tuple[str, ...]:
    """The files below a directory that git does not ignore, sorted, relative to the root."""
    return listing(root, path).paths


def listing(root: Path, path: str = ".", *, glob: str = "") -> Listing:
    """The files below a directory that git does not ignore, and whether those are all.

    Raises:
        ToolError: the glob is not valid.
    """
    ripgrep = SafeRipgrep(root, path)
    ripgrep.command += ["--null", *((f"--glob={glob}",) if glob else ())]
    output = b"".join(ripgrep.lines())
    if not output and ripgrep.error:
        raise ToolError(f"Files cannot be listed: {_reason(ripgrep.error)}")
    names = output[: output.rfind(b"\0") + 1].split(b"\0")[:-1]
    return Listing(paths=tuple(sorted(os.fsdecode(name).removeprefix("./") for name in names)), cut=ripgrep.cut)


def shown(path: str) -> str:
    """A path fit for a model: bytes that are no text, and control characters, are written as escapes."""
    plain = path.encode("utf-8", "backslashreplace").decode("utf-8")
    return plain if plain.isprintable() else plain.encode("unicode_escape").decode("ascii")


def _reason(error: str) -> str:
    lines = [line.strip() for line in error.strip().splitlines() if line.strip()]
    return (lines[-1] if lines else "it failed").removeprefix("error: ").rstrip(".") + "."


def _hit(path: str, record: bytes) -> Hit | None:
    """Read one line of `rg --json`; a line that a kill has torn counts as nothing."""
    try:
        data = json.loads(record)["data"]
    except json.JSONDecodeError:
        return None
    if data["line_number"] is None:
        return None
    raw = _bytes(data["lines"]).partition(b"\n")[0].removesuffix(b"\r")
    spans = tuple((len(_text(raw[: item["start"]])), len(_text(raw[: item["end"]]))) for item in data["submatches"])
    return Hit(path=path, line=data["line_number"], text=_text(raw), spans=spans)


def _bytes(field: dict[str, Any]) -> bytes:
    return field["text"].encode("utf-8") if "text" in field else base64.b64decode(field["bytes"])


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")
