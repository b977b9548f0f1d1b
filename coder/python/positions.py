"""Positions in Python source: from the lines and byte columns of `ast` to characters."""

import ast
import re

LINE_END = re.compile(r"\r\n|\r|\n")
"""Line ends as Python's tokenizer counts them; `str.splitlines` knows more."""


class Positions:
    """Character offsets in one text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.line_starts = [0, *(match.end() for match in LINE_END.finditer(text))]

    def offset(self, line: int, column: int) -> int:
        """Return the character offset of a line (from 1) and a column in bytes of UTF-8."""
        start = self.line_starts[line - 1]
        end = self.line_starts[line] if line < len(self.line_starts) else len(self._text)
        text = self._text[start:end]
        return start + (column if text.isascii() else len(text.encode()[:column].decode(errors="replace")))

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Return where an expression, statement, keyword or argument begins and ends."""
        line, column, end_line, end_column = (
            getattr(node, name) for name in ("lineno", "col_offset", "end_lineno", "end_col_offset")
        )
        return self.offset(line, column), self.offset(end_line or line, end_column or 0)
