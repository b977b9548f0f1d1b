"""Description of an exception relative to the tested tree."""

# ruff: noqa: PTH118 - a test may have replaced pathlib
from __future__ import annotations

import errno
import linecache
import os
import re
from collections.abc import Iterator
from typing import Any

MESSAGE_LENGTH = 2000
"""Characters kept of an exception's message."""
FRAMES = 30
LONGEST_CHAIN = 10
"""Exceptions of a chain of causes that are looked at."""
SECTION_LENGTH = 1200
"""Characters kept of each captured stream, from its end."""
RESOLVED_PATHS: dict[str, str] = {}
"""Cache of resolved paths of source files."""


def report_failure(report: Any) -> dict[str, Any]:
    """Return the failure in a report.

    It comes from pytest's text if no exception was seen (crashed worker, strict xfail).
    """
    described: dict[str, Any] = getattr(report, "coder_failure", None) or {}
    words = str(report.longrepr or "")
    if not described:
        name = (
            "Crash"
            if report.when not in ("collect", "setup", "call", "teardown")
            else re.sub(r"\W*([\w()]*).*", r"\1", words, flags=re.DOTALL)
        )
        text = words[:MESSAGE_LENGTH]
        described = {"type": name, "message": text, "frames": [], "text": text}
    captured = [
        f"--- {title} ---\n{tail(text)}" for title, text in getattr(report, "sections", []) if text.strip()
    ]
    return dict(described, text="\n".join([described["text"], *captured]))


def unwrap_doctest(value: BaseException) -> BaseException:
    if type(value).__name__ != "UnexpectedException":
        return value
    _, raised, _ = getattr(value, "exc_info", (None, None, None))
    return raised if isinstance(raised, BaseException) else value


def describe_exception(value: BaseException, tree: str, rendered: Any) -> dict[str, Any]:
    """Describe an exception: type, message, frames, and a text with source lines."""
    message = message_of(value).replace(tree + os.sep, "")
    frames = list(frames_of(value, tree))
    shown = [source_at(frame, tree) for frame in informative_frames(frames)]
    cause = value.__cause__
    caused = [f"caused by {type(cause).__name__}: {message_of(cause)[:300]}"] if cause is not None else []
    headline = f"{type(value).__name__}: {message}" if message else type(value).__name__
    text = (
        "\n".join([headline, *caused, *shown])
        if shown or not rendered
        else str(rendered)[-MESSAGE_LENGTH:].replace(tree + os.sep, "")
    )
    return {
        "type": type(value).__name__,
        "message": message,
        "frames": frames,
        "text": text,
        "os_error": find_os_error(value, tree),
    }


def find_os_error(value: BaseException | None, tree: str) -> dict[str, str] | None:
    """Return symbol and path of the deepest error of the operating system in a chain of exceptions."""
    found = None
    for _ in range(LONGEST_CHAIN):
        if isinstance(value, OSError):
            found = describe_os_error(value, tree) or found
        if value is None or (value.__cause__ is None and value.__suppress_context__):
            break
        value = value.__cause__ or value.__context__
    return found


def describe_os_error(error: OSError, tree: str) -> dict[str, str] | None:
    """Return symbol and path of an error; None for one that the operating system did not report."""
    try:
        number, path = error.errno, error.filename
    except Exception:  # noqa: BLE001 - an exception's own attributes may do anything
        return None
    is_address = type(error).__name__ == "gaierror"
    name = "gaierror" if is_address else errno.errorcode.get(number) if isinstance(number, int) else None
    return {"name": name, "path": abbreviate(path if isinstance(path, str) else "", tree)} if name else None


def abbreviate(path: str, tree: str) -> str:
    """Return a path relative to the tree, or to the run's own TMPDIR or HOME, if it lies inside."""
    for name, sign in (("TMPDIR", "$TMPDIR"), ("HOME", "~")):
        directory = os.environ.get(name)
        if directory and path.startswith(directory + os.sep):
            return sign + path[len(directory) :]
    return relative(path, tree) if path else ""


def message_of(value: BaseException) -> str:
    try:
        return str(value)[:MESSAGE_LENGTH]
    except Exception as error:  # noqa: BLE001 - an exception's own __str__ may do anything
        return f"<its text could not be made: {type(error).__name__}>"


def frames_of(value: BaseException, tree: str) -> Iterator[tuple[str, int, str]]:
    """Yield the frames from the first one inside the tree on, without the middle of a deep recursion."""
    frames = []
    traceback = value.__traceback__
    while traceback is not None:
        code = traceback.tb_frame.f_code
        frames.append((relative(code.co_filename, tree), traceback.tb_lineno, code.co_name))
        traceback = traceback.tb_next
    if isinstance(value, SyntaxError) and value.filename:
        frames.append((relative(value.filename, tree), value.lineno or 0, ""))
    inside_indices = [index for index, frame in enumerate(frames) if is_inside(frame)]
    frames = frames[inside_indices[0] :] if inside_indices else frames[-3:]
    yield from frames if len(frames) <= FRAMES else frames[:5] + frames[5 - FRAMES :]


def relative(path: str, tree: str) -> str:
    if path not in RESOLVED_PATHS:
        RESOLVED_PATHS[path] = os.path.realpath(path)
    for form in (path, RESOLVED_PATHS[path]):
        if form.startswith(tree + os.sep):
            return form[len(tree) + 1 :]
    return path


def is_inside(frame: tuple[str, int, str]) -> bool:
    return not frame[0].startswith(("/", "<"))


def informative_frames(frames: list[tuple[str, int, str]]) -> list[tuple[str, int, str]]:
    """Return the frame of the test and the two innermost ones inside the tree, outermost first."""
    inside = [frame for frame in frames if is_inside(frame)]
    return inside if len(inside) <= 3 else [inside[0], *inside[-2:]]


def source_at(frame: tuple[str, int, str], tree: str) -> str:
    path, line, function = frame
    lines = [f"{path}:{line} in {function}" if function else f"{path}:{line}"]
    for number in range(max(line - 2, 1), line + 2):
        text = linecache.getline(os.path.join(tree, path), number).rstrip()
        if text:
            lines.append(f"{'>' if number == line else ' '} {number:4} {text[:200]}")
    return "\n".join(lines)


def tail(text: str) -> str:
    """Return the end of a text, at most SECTION characters."""
    return text if len(text) <= SECTION_LENGTH else "..." + text[-SECTION_LENGTH:]
