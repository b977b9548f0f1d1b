"""Short texts for a screen, and JSON and TOML that others wrote; loads no library, for a quick start."""

import json
import re
import tomllib
from collections.abc import Callable, Iterable, Sequence
from typing import Any

_SEQUENCE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])")
_BIDI = (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
"""Marks, embeddings, overrides and isolates of Unicode's bidirectional algorithm (UAX 9), which reorder
displayed text."""
_SURROGATES = range(0xD800, 0xE000)
"""Surrogate code points, which no encoding can write."""
_UNSAFE = (
    *(code for code in range(32) if chr(code) not in "\t\n"),
    *range(127, 160),
    0x2028,
    0x2029,
    *_BIDI,
    *_SURROGATES,
)
_REPLACEMENTS = dict.fromkeys(_UNSAFE, "�") | {ord("\r"): None}


def sanitize_text(text: str) -> str:
    """Remove escape sequences, and replace control and bidirectional characters by a visible mark.

    Tab and newline are kept.

    Everything shown on a screen or written into a commit message, a trailer or a note goes through here.
    """
    return _SEQUENCE.sub("", text).translate(_REPLACEMENTS)


def shorten_line(text: str, limit: int) -> str:
    """Return a text as one line of at most `limit` characters; an ellipsis stands for the rest."""
    line = " ".join(text.split()) if "\n" in text else text
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def first_line(text: str) -> str:
    """Return the first line that is not blank, stripped; empty if there is none."""
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


def join_first(names: Sequence[str], limit: int) -> str:
    """Return the first few names as a list, with the number of the others.

    It is separated by commas, or by semicolons if a name holds a comma.
    """
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return ("; " if any(", " in name for name in names[:limit]) else ", ").join(names[:limit]) + more


def suggest_name(name: str, known: Iterable[str], *, closeness: float = 0.6) -> str:
    """Return `Did you mean NAME? `, with the closest of the known names; empty if none is close."""
    from difflib import get_close_matches

    matches = get_close_matches(name, list(known), n=1, cutoff=closeness)
    return f"Did you mean {matches[0]}? " if matches else ""


def explain_invalid_value(message: str) -> str:
    """Return a message of pydantic as half a sentence in the user's words: `it should be a whole number`."""
    message = _INPUT_FOUND.sub("", message).removeprefix("Value error, ")
    for kind, words in _KINDS.items():
        message = message.replace(f"a valid {kind}", words)
    return message.replace("Input should be", "it should be")


_INPUT_FOUND = re.compile(r", (?:unable to|got a|not) .*")
_KINDS = {
    "string": "text",
    "integer": "a whole number",
    "decimal": "a number",
    "number": "a number",
    "boolean": "true or false",
    "tuple": "a list",
    "list": "a list",
    "dictionary": "an object",
}
"""Words for the types that pydantic names."""


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


def cut_after_line(text: str, most: int) -> str:
    """Return a text of at most so many characters, cut after a line, which a last line says."""
    return text if len(text) <= most else f"{text[:most].rpartition(chr(10))[0]}\n[... cut here]"


SUBJECT_CHARACTERS = 60
_IDENTIFIER = re.compile(r"\w*(?:_|\(|\.\w|[a-z][A-Z]|\d)")
"""Matches a line whose first word is an identifier, which keeps its case."""
CONVENTIONAL = re.compile(r"(?:feat|fix|docs|chore|refactor|test|ci|build|perf|style)(?:\([^)]*\))?!?: ")
_PREFIXED = re.compile(r"[\w./-]+: ")


def format_subject(summary: str, recent: Sequence[str]) -> str:
    """Return one line in the shape of most `recent` subjects: `fix: ` prefix, capital letter, full stop."""
    line = first_line(sanitize_text(summary)) or "Fix the issue"
    line = re.sub(r"^#+\s*|^[-*]\s+|`", "", line).rstrip(".")
    has_prefixes = _is_common(recent, lambda text: CONVENTIONAL.match(text) is not None)
    has_capitals = _is_common(recent, lambda text: text[:1].isupper()) or not recent
    if has_prefixes and not CONVENTIONAL.match(line):
        line = f"fix: {_lower_first_letter(re.sub(r'^Fix:? ', '', line))}"
    elif not has_prefixes and has_capitals and not _PREFIXED.match(line):
        line = line if _IDENTIFIER.match(line) else line[:1].upper() + line[1:]
    full_stop = "." if _is_common(recent, lambda text: text.endswith(".")) else ""
    return _shorten(line, SUBJECT_CHARACTERS - len(full_stop)) + full_stop


def _lower_first_letter(line: str) -> str:
    first_word = line.split(" ", 1)[0]
    return (
        line
        if first_word.isupper() or any(letter.isupper() for letter in first_word[1:])
        else line[:1].lower() + line[1:]
    )


def _shorten(line: str, limit: int) -> str:
    return line if len(line) <= limit else line[: limit - 3].rsplit(" ", 1)[0].rstrip(",;:") + "..."


def _is_common(texts: Sequence[str], predicate: Callable[[str], bool]) -> bool:
    return bool(texts) and sum(map(predicate, texts)) > len(texts) / 2
