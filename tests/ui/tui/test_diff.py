import pytest

from coder.ui.tui.diff import _highlight_lines, _open_docstring

INSIDE = """\
 Return the sum for all.
-    Old.
+    New: import this.
     \"\"\"
     return 1
"""
OUTSIDE = """\
 def add():
     \"\"\"
     Return the sum for all.
     \"\"\"
-    return 1
+    return 2
"""


def keyword_lines(diff: str, path: str = "a.py") -> list[str]:
    """Return the lines with a word that is highlighted as a keyword."""
    kinds = {"+": "added", "-": "removed", " ": "kept"}
    lines = [(kinds[line[0]], line) for line in diff.splitlines()]
    return [
        content.plain
        for content in _highlight_lines(lines, path)
        if any(
            content.plain[span.start : span.end].strip() in ("for", "import", "return", "def")
            for span in content.spans
        )
    ]


def test_docstring_that_began_before_the_hunk_is_no_code() -> None:
    assert keyword_lines(INSIDE) == ["     return 1"]


def test_code_around_whole_docstring_is_highlighted() -> None:
    assert keyword_lines(OUTSIDE) == [" def add():", "-    return 1", "+    return 2"]


@pytest.mark.parametrize(
    ("lines", "opening"),
    [
        (["text", '"""', "x = 1"], '"""'),
        (["ends here.'''"], "'''"),
        (["def f():", '    """Return."""'], ""),
        (["class A:", '    """', "    Text"], ""),
        (['TEXT = """', "a"], ""),
        (["x = 1"], ""),
    ],
)
def test_finds_quotes_of_open_docstring(lines: list[str], opening: str) -> None:
    assert _open_docstring(lines) == opening
