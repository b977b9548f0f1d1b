"""Fingerprints of changed files that ignore layout and, in Python, comments."""

import ast
import hashlib
import warnings
from collections.abc import Mapping

from coder.python.parsing import parse_module


def fingerprint_files(files: Mapping[str, str | None]) -> str:
    """Return 16 hexadecimal digits that identify the contents of changed files.

    `files` maps paths to contents, None for a deleted file. Empty if there are none. Two versions of a Python
    file with the same syntax tree have the same fingerprint.
    """
    if not files:
        return ""
    content = "\0".join(
        f"{path}\0{'' if text is None else _normalize(path, text)}" for path, text in sorted(files.items())
    )
    return hashlib.sha256(content.encode("utf-8", "replace")).hexdigest()[:16]


def _normalize(path: str, text: str) -> str:
    if path.endswith((".py", ".pyi")):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return ast.dump(parse_module(text))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            pass  # what does not parse is compared as text
    return "\n".join(line.rstrip() for line in text.strip().splitlines())
