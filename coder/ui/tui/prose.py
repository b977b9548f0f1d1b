"""What a model writes, shown as written: the marks of Markdown stay, and colour what they mark."""

import re

from textual.content import Content

from coder.core.values.text import printable

_MARKS = [
    (re.compile(r"^#{1,6} .*$", re.MULTILINE), "bold $text-primary"),
    (re.compile(r"^ *(?:[-*+]|\d+[.)]) ", re.MULTILINE), "bold $text-primary"),
    (re.compile(r"\*\*[^*\n]+\*\*"), "bold"),
    (re.compile(r"`[^`\n]+`"), "$text-warning"),
    (re.compile(r"^```.*?(?:^```|\Z)", re.MULTILINE | re.DOTALL), "$text-warning"),
]


def prose(text: str) -> Content:
    """Colour headings, list marks, strong words and code; a text that is not finished yet is coloured as far as it goes."""
    content = Content(printable(text))
    for mark, style in _MARKS:
        content = content.highlight_regex(mark, style=style)
    return content
