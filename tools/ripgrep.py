"""ripgrep behind one safe door: a pattern is never an option, no configuration is read, and every run ends."""

import base64
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from ripgrepy import RipGrepOut, Ripgrepy  # type: ignore[import-untyped]  # it has no types

from coder.core.errors import UserError
from coder.tools.tool import ToolError

SECONDS = 20.0
MOST_BYTES = 24 << 20
MOST_HITS = 20_000
LARGEST_FILE = "4M"


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
class Found:
    """What a search found, sorted by path and line."""

    hits: tuple[Hit, ...]
    cut: str = ""
    """Why it ended early; empty when it is complete."""


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
        """Yield what ripgrep writes for a pattern, or for none when files are listed, until it ends or a limit is reached."""
        asked = ["-e", pattern] if pattern is not None else ["--files"]
        command = [*self.command, "--glob", "!.git", *asked, "--", self.path]
        environment = {"PATH": os.defpath, "LC_ALL": "C.UTF-8"}
        with subprocess.Popen(
            command, cwd=self._root, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as process:
            assert process.stdout is not None and process.stderr is not None
            timer = threading.Timer(SECONDS, self._time_out, args=[process])
            timer.start()
            size = 0
            try:
                for line in process.stdout:
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

    def _time_out(self, process: "subprocess.Popen[bytes]") -> None:
        self.cut = f"it took more than {SECONDS:.0f} s"
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


def grep(root: Path, pattern: str, *, path: str = ".", options: tuple[str, ...] = ()) -> Found:
    """Search the files below `path` that git does not ignore, or the one file `path`, for a regular expression.

    `options` are more of ripgrep's own, such as `--word-regexp`; never pass text of a model there but as `--glob=TEXT`.

    Raises:
        ToolError: the pattern is not valid.
    """
    ripgrep = SafeRipgrep(root, path)
    ripgrep.command += ["--json", *options]
    hits: list[Hit] = []
    for line in ripgrep.lines(pattern):
        if hit := _hit(line):
            hits.append(hit)
        if len(hits) >= MOST_HITS:
            ripgrep.cut = f"there are more than {MOST_HITS} hits"
            break
    if not hits and not ripgrep.cut and ripgrep.error:
        raise ToolError(f"ripgrep cannot search for this: {_reason(ripgrep.error)} For plain text instead of a pattern set literal=true.")
    return Found(hits=tuple(sorted(hits, key=lambda hit: (hit.path, hit.line))), cut=ripgrep.cut)


def list_paths(root: Path, path: str = ".", *, glob: str = "") -> tuple[str, ...]:
    """The files below a directory that git does not ignore, sorted, relative to the root.

    Raises:
        ToolError: the glob is not valid.
    """
    ripgrep = SafeRipgrep(root, path)
    ripgrep.command += ["--null", *((f"--glob={glob}",) if glob else ())]
    output = b"".join(ripgrep.lines())
    if not output and ripgrep.error:
        raise ToolError(f"Files cannot be listed: {_reason(ripgrep.error)}")
    return tuple(sorted(os.fsdecode(name).removeprefix("./") for name in output.split(b"\0") if name))


def shown(path: str) -> str:
    """A path fit for a model: bytes that are no text, and control characters, are written as escapes."""
    plain = path.encode("utf-8", "backslashreplace").decode("utf-8")
    return plain if plain.isprintable() else plain.encode("unicode_escape").decode("ascii")


def _reason(error: str) -> str:
    lines = [line.strip() for line in error.strip().splitlines() if line.strip()]
    return (lines[-1] if lines else "it failed").removeprefix("error: ").rstrip(".") + "."


def _hit(line: bytes) -> Hit | None:
    """Read one line of `rg --json`; a line that a kill has torn counts as nothing."""
    try:
        message = json.loads(line)
    except json.JSONDecodeError:
        return None
    if message["type"] not in ("match", "context") or message["data"]["line_number"] is None:
        return None
    data = message["data"]
    text = _text(data["lines"]).split("\n")[0].removesuffix("\r")
    raw = text.encode("utf-8", "surrogateescape")
    spans = tuple(
        (len(raw[: item["start"]].decode("utf-8", "replace")), len(raw[: item["end"]].decode("utf-8", "replace")))
        for item in data["submatches"]
    )
    return Hit(path=os.fsdecode(_bytes(data["path"])).removeprefix("./"), line=data["line_number"], text=text, spans=spans)


def _bytes(field: dict[str, Any]) -> bytes:
    return field["text"].encode("utf-8") if "text" in field else base64.b64decode(field["bytes"])


def _text(field: dict[str, Any]) -> str:
    return _bytes(field).decode("utf-8", "replace")
