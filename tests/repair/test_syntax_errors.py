"""Repair of files with syntax errors."""

import pytest

from coder.core.verdict import Failure, Frame
from coder.repair.syntax_errors import correct_syntax_errors, find_unparsable_files

CASES = [
    ("def f(x)\n    return x\n", 1, "def f(x):\n    return x\n"),
    ("def f(x):\n    return g(x, (1)\n", 2, "def f(x):\n    return g(x, (1))\n"),
    ("def f(x):\n    iff x:\n        return 1\n", 2, "def f(x):\n    if x:\n        return 1\n"),
    ("def f(x):\n    retrun x\n", 2, "def f(x):\n    return x\n"),
    ("x = 1\nprint x, 2\n", 2, "x = 1\nprint(x, 2)\n"),
    (
        "try:\n    x = 1\nexcept KeyError, error:\n    pass\n",
        3,
        "try:\n    x = 1\nexcept KeyError as error:\n    pass\n",
    ),
    ("raise ValueError, 'no'\n", 1, "raise ValueError('no')\n"),
    ("if x = 1:\n    pass\n", 1, "if x == 1:\n    pass\n"),
    ("x = [1, 2\ny = 3\n", 1, "x = [1, 2]\ny = 3\n"),
    ("x = {'a': 1 'b': 2}\n", 1, "x = {'a': 1, 'b': 2}\n"),
    ("x = f(1))\n", 1, "x = f(1)\n"),
    ("x = 'a\ny = 1\n", 1, "x = 'a'\ny = 1\n"),
    ("x = a && !b || c\n", 1, ""),
    ("if x:\n    y = 1\nelse if z:\n    y = 2\n", 3, "if x:\n    y = 1\nelif z:\n    y = 2\n"),
    ("print\nprint 'a'\nprint\n\nprint\n", 2, "print\nprint('a')\nprint\n\nprint\n"),
    ("for i in x:\n    i++\ny++\nz = 1\n", 2, "for i in x:\n    i += 1\ny += 1\nz = 1\n"),
    ("print 'a'\nx = 1\nprint 'b', x\n", 1, "print('a')\nx = 1\nprint('b', x)\n"),
    (
        "if a:\n    iff b:\n        x = 1\n\nwhile c\n    d()\n",
        2,
        "if a:\n    if b:\n        x = 1\n\nwhile c:\n    d()\n",
    ),
    ("i = 0\ni++\n", 2, "i = 0\ni += 1\n"),
    ("mode = 0755\n", 1, "mode = 0o755\n"),
    ("def f():\nreturn 1\n", 2, "def f():\n    return 1\n"),
    ("def f():\n    x = 1\n      y = 2\n    return y\n", 3, "def f():\n    x = 1\n    y = 2\n    return y\n"),
    (
        "def f(x):\n    if x:\n        y = 1\n      return y\n",
        4,
        "def f(x):\n    if x:\n        y = 1\n        return y\n",
    ),
    ("def f():\n    # later\n\nx = 1\n", 4, "def f():\n    # later\n\n    pass\nx = 1\n"),
    ("def f():\r\nx = 1\r\n", 2, "def f():\r\n    pass\r\nx = 1\r\n"),
    ("'\x0c'\ndef f(x)\n    return x\n", 2, "'\x0c'\ndef f(x):\n    return x\n"),
    (
        "def f():\n    if x:\n\treturn 1\n    return 2\n",
        3,
        "def f():\n    if x:\n        return 1\n    return 2\n",
    ),
    ("<<<<<<< ours\nx = 1\n=======\nx = 2\n>>>>>>> theirs\n", 1, "x = 2\n"),
    (
        "a = 1\n<<<<<<< ours\nx = 1\n||||||| base\nx = 0\n=======\nx = 2\n>>>>>>> theirs\n",
        2,
        "a = 1\nx = 1\n",
    ),
]


@pytest.mark.parametrize(("before", "line", "after"), CASES)
def test_corrects_slip_where_parser_stopped(before: str, line: int, after: str) -> None:
    texts = [candidate.edit.apply(before) for candidate in correct_syntax_errors("a.py", before, line)]
    assert (after in texts) == bool(after)


def test_orders_likeliest_correction_first() -> None:
    first = correct_syntax_errors("a.py", "def f(x)\n    return x\n", 1)[0]
    assert (first.edit.summary, first.place, first.edit.family) == (
        "a.py: add the missing `:`",
        "a.py:1",
        "syntax",
    )


def test_leaves_parsable_file_alone() -> None:
    assert correct_syntax_errors("a.py", "x = 1\n", 1) == []


def test_finds_file_that_parser_stopped_at() -> None:
    frames = (
        Frame(path="tests/test_a.py", line=1, function="<module>"),
        Frame(path="a.py", line=7, function=""),
    )
    failures = [
        Failure(type="SyntaxError", message="x", frames=frames),
        Failure(type="NameError", message="y", frames=frames[:1]),
    ]
    assert find_unparsable_files(failures) == {"a.py": 7}
