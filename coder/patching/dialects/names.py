"""File names in a diff's headers."""

import re

TIMESTAMP = re.compile(r"(?:\t.*|\s+\d{4}-\d\d-\d\d[ T]\d\d:\d\d.*|\s+\(revision \d+\)|\s+\(working copy\))$")
ESCAPED = re.compile(r'\\([0-7]{3}|[abfnrtv"\\])')
ESCAPES = {"a": 7, "b": 8, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11, '"': 34, "\\": 92}
LONGEST_HEADER = 2_000
DEV_NULL = "/dev/null"
SURROUNDING_CHARACTERS = "`*'\"()[]<>,;:#"
PATH = re.compile(r"[\w.@+-]+(?:/[\w.@+-]+)*\.\w+|[\w.@+-]+(?:/[\w.@+-]+)+|[A-Z]\w+file")


def parse_header_name(line: str) -> str:
    """Return the name after `--- ` or `+++ `, without a timestamp and quotes."""
    name = unquote_name(TIMESTAMP.sub("", line[4:LONGEST_HEADER].rstrip("\r")).strip())
    return DEV_NULL if name in ("a/dev/null", "b/dev/null", "dev/null") else name.strip("`")


def unquote_name(name: str) -> str:
    """Undo git's C-style quoting of unusual names."""
    name = name.strip()
    if not (len(name) > 1 and name.startswith('"') and name.endswith('"')):
        return name
    data = re.sub(
        ESCAPED,
        lambda match: chr(int(match[1], 8) if match[1].isdigit() else ESCAPES[match[1]]),
        name[1:-1].encode("utf-8").decode("latin-1"),
    )
    return data.encode("latin-1").decode("utf-8", "surrogateescape")


def path_line(line: str) -> str:
    """Return the path that is all of a line, apart from Markdown and a colon.

    Empty where there is more or less.
    """
    text = line.lstrip("\0").strip().strip(SURROUNDING_CHARACTERS + " ")
    return text if text and len(text) < LONGEST_HEADER and not re.search(r"\s", text) else ""


def extract_path_words(line: str) -> list[str]:
    """Return the words of a line of prose that could be paths."""
    words = [word.strip(SURROUNDING_CHARACTERS) for word in line.lstrip("\0")[:LONGEST_HEADER].split()]
    return [word for word in (word.rstrip(".") for word in words) if PATH.fullmatch(word)]
