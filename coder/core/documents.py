"""Parsers of JSON and TOML that others wrote, which report too deep a document like any other wrong one."""

import json
import tomllib
from typing import Any

TOO_DEEP = "the document nests too deep to be parsed"


def parse_json(text: str | bytes, *, strict: bool = True) -> Any:
    """Return the value of a JSON document.

    Raises:
        json.JSONDecodeError: it is none, or it nests too deep.
        UnicodeDecodeError: its bytes are no text.
    """
    try:
        return json.loads(text, strict=strict)
    except RecursionError:
        raise json.JSONDecodeError(TOO_DEEP, "", 0) from None


def parse_toml(text: str) -> dict[str, Any]:
    """Return the tables of a TOML document.

    Raises:
        tomllib.TOMLDecodeError: it is none, or it nests too deep.
    """
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise tomllib.TOMLDecodeError(TOO_DEEP) from None
