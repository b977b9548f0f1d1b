"""The message of the one commit that a fix becomes, in the style of the repository's own."""

import re
from collections.abc import Callable, Sequence

from coder.core.text import printable

SUBJECT_CHARACTERS = 72
_CONVENTIONAL = re.compile(r"(?:feat|fix|docs|chore|refactor|test|ci|build|perf|style)(?:\([^)]*\))?!?: ")
_PREFIXED = re.compile(r"[\w./-]+: ")
_FIRST_SENTENCE = re.compile(r"(.+?[.!?])(?:\s|$)")


def message(summary: str, issue: str, *, recent: Sequence[str], trailers: Sequence[str]) -> str:
    """Subject in the repository's style, the issue's first lines as body, trailers."""
    body = "\n".join(line.rstrip() for line in issue.strip().splitlines()[:12])
    return f"{subject(summary or issue, recent)}\n\n{body}\n\n" + "\n".join(trailers) + "\n"


def subject(summary: str, recent: Sequence[str]) -> str:
    """One line, shaped as most of the `recent` subjects are: `fix: ` prefix, capital letter, full stop."""
    line = next((line.strip() for line in printable(summary).splitlines() if line.strip()), "Fix the issue")
    line = re.sub(r"^#+\s*|^[-*]\s+|`", "", line)
    if (first := _FIRST_SENTENCE.match(line)) and len(first[1]) > 15:
        line = first[1]
    line = line.rstrip(".")
    conventional = _mostly(recent, lambda text: _CONVENTIONAL.match(text) is not None)
    capitals = _mostly(recent, lambda text: text[:1].isupper()) or not recent
    if conventional and not _CONVENTIONAL.match(line):
        line = f"fix: {_lowered(line)}"
    elif not conventional and capitals and not _PREFIXED.match(line):
        line = line[:1].upper() + line[1:]
    full_stop = "." if _mostly(recent, lambda text: text.endswith(".")) else ""
    return _shortened(line, SUBJECT_CHARACTERS - len(full_stop)) + full_stop


def slug(subject_line: str) -> str:
    """A branch name's readable part: a few words, lower case, hyphens."""
    words = re.findall(r"[a-z0-9]+", _CONVENTIONAL.sub("", subject_line).lower())
    return "-".join(words[:6])[:40].strip("-") or "fix"


def _lowered(line: str) -> str:
    first = line.split(" ", 1)[0]
    return line if first.isupper() or any(letter.isupper() for letter in first[1:]) else line[:1].lower() + line[1:]


def _shortened(line: str, limit: int) -> str:
    return line if len(line) <= limit else line[: limit - 3].rsplit(" ", 1)[0].rstrip(",;:") + "..."


def _mostly(texts: Sequence[str], claim: Callable[[str], bool]) -> bool:
    return bool(texts) and sum(map(claim, texts)) > len(texts) / 2
