"""Changes compared by what they mean to the parser: layout and comments make no difference."""

import ast
import hashlib
import warnings
from collections.abc import Mapping

from coder.python.parsing import parsed


def fingerprint(files: Mapping[str, str | None]) -> str:
    """Of the changed files' contents by path, None for one that is gone; empty where nothing changed."""
    if not files:
        return ""
    told = "\0".join(
        f"{path}\0{'' if text is None else _meaning(path, text)}" for path, text in sorted(files.items())
    )
    return hashlib.sha256(told.encode("utf-8", "replace")).hexdigest()[:16]


def _meaning(path: str, text: str) -> str:
    if path.endswith((".py", ".pyi")):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return ast.dump(parsed(text))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            pass  # what does not parse is compared as text
    return "\n".join(line.rstrip() for line in text.strip().splitlines())
