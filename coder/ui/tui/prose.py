"""Highlighting of a model's Markdown, without rendering it."""

import re

from textual.content import Content

from coder.core.values.text import sanitize_text

_MARKS = [
    (re.compile(r"^#{1,6} .*$", re.MULTILINE), "bold $text-primary"),
    (re.compile(r"^ *(?:[-*+]|\d+[.)]) ", re.MULTILINE), "bold $text-primary"),
    (re.compile(r"\*\*[^*\n]+\*\*"), "bold"),
    (re.compile(r"`[^`\n]+`"), "$text-warning"),
    (re.compile(r"^```.*?(?:^```|\Z)", re.MULTILINE | re.DOTALL), "$text-warning"),
]
_CODE_OR_NAME = re.compile(
    r"(?P<code>^```.*?(?:^```|\Z)|`[^`\n]+`)|(?P<name>[\w./-]*(?<!\w)__\w+__(?:[\w./:-]*\w)?)",
    re.MULTILINE | re.DOTALL,
)


def quote_names(text: str) -> str:
    """Return Markdown with names such as `a/__init__.py:3` as code, which Markdown takes for bold text."""
    return _CODE_OR_NAME.sub(lambda match: match["code"] or f"`{match['name']}`", text)


def highlight_markdown(text: str) -> Content:
    """Highlight headings, list marks, strong words and code, in unfinished text as well."""
    content = Content(sanitize_text(text))
    for mark, style in _MARKS:
        content = content.highlight_regex(mark, style=style)
    return content
