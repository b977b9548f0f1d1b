"""Commit message of a fix, in the style of the repository's own messages."""

import re
from collections.abc import Callable, Sequence

from coder.core.values.text import sanitize_text

SUBJECT_CHARACTERS = 72
BODY_LINES = 12
BRANCH_CHARACTERS = 40
_IDENTIFIER = re.compile(r"\w*(?:_|\(|\.\w|[a-z][A-Z]|\d)")
"""Matches a line whose first word is an identifier, which keeps its case."""
_FUNCTION_WORDS = frozenset(
    {
        *(
            "a",
            "an",
            "the",
            "of",
            "in",
            "on",
            "to",
            "and",
            "or",
            "as",
            "at",
            "by",
            "for",
            "from",
            "with",
            "without",
            "is",
            "are",
        ),
        *("be", "not", "it", "its", "that", "this", "when", "where", "if", "than"),
    }
)
"""Words that cannot end a phrase."""
_CONVENTIONAL = re.compile(r"(?:feat|fix|docs|chore|refactor|test|ci|build|perf|style)(?:\([^)]*\))?!?: ")
_PREFIXED = re.compile(r"[\w./-]+: ")
_FIRST_SENTENCE = re.compile(r"(.+?[.!?])(?:\s|$)")


def compose_message(summary: str, issue: str, *, recent: Sequence[str], trailers: Sequence[str]) -> str:
    """Return a subject in the repository's style, the explanation that came with the change, and trailers.

    Without an explanation the body is the beginning of the issue, as whole paragraphs of prose.
    """
    explanation = summary.strip().partition("\n")[2].strip()
    body = sanitize_text(
        "\n".join(line.rstrip() for line in (explanation or _leading_prose(issue)).splitlines())
    )
    return f"{format_subject(summary or issue, recent)}\n\n{body}\n\n" + "\n".join(trailers) + "\n"


def _leading_prose(text: str) -> str:
    """Return the first paragraphs of prose, at most about twelve lines, without fenced code."""
    prose = re.sub(r"(?ms)^\s*(```|~~~).*?(?:^\s*\1\s*$|\Z)", "", text.strip())
    paragraphs: list[str] = []
    for paragraph in re.split(r"\n\s*\n", prose):
        if (
            paragraphs
            and sum(part.count("\n") + 2 for part in paragraphs) + paragraph.count("\n") + 1 > BODY_LINES
        ):
            break
        paragraphs.append("\n".join(paragraph.strip().splitlines()[:BODY_LINES]))
    return "\n\n".join(part for part in paragraphs if part)


def format_subject(summary: str, recent: Sequence[str]) -> str:
    """Return one line in the shape of most `recent` subjects: `fix: ` prefix, capital letter, full stop."""
    line = next(
        (line.strip() for line in sanitize_text(summary).splitlines() if line.strip()), "Fix the issue"
    )
    line = re.sub(r"^#+\s*|^[-*]\s+|`", "", line)
    if (sentence := _FIRST_SENTENCE.match(line)) and len(sentence[1]) > 15:
        line = sentence[1]
    line = line.rstrip(".")
    has_prefixes = _is_common(recent, lambda text: _CONVENTIONAL.match(text) is not None)
    has_capitals = _is_common(recent, lambda text: text[:1].isupper()) or not recent
    if has_prefixes and not _CONVENTIONAL.match(line):
        line = f"fix: {_lower_first_letter(line)}"
    elif not has_prefixes and has_capitals and not _PREFIXED.match(line):
        line = line if _IDENTIFIER.match(line) else line[:1].upper() + line[1:]
    full_stop = "." if _is_common(recent, lambda text: text.endswith(".")) else ""
    return _shorten(line, SUBJECT_CHARACTERS - len(full_stop)) + full_stop


def branch_slug(subject_line: str) -> str:
    """Return the readable part of a branch name: a few lower-case words with hyphens."""
    words = re.findall(r"[a-z0-9]+", _CONVENTIONAL.sub("", subject_line).lower())[:6]
    while words and (len("-".join(words)) > BRANCH_CHARACTERS or words[-1] in _FUNCTION_WORDS):
        words.pop()
    return "-".join(words) or "fix"


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
