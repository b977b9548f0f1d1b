"""Changes that callers of a module may notice."""

import pytest

from coder.verify.linters import api_changes

CHANGED = "in m.py has changed"
OLD = (
    "def add(a, b=1, *, c):\n    pass\n\n\nclass Calc:\n    def run(self, x):\n        pass\n\n\n"
    "LIMIT = 3\n_PRIVATE = 4\n"
)


@pytest.mark.parametrize(
    ("new", "messages"),
    [
        (OLD.replace("pass", "return 1"), []),
        (OLD.replace("b=1, *", "b=1, d=2, *"), []),
        (OLD.replace("_PRIVATE = 4\n", ""), []),
        (OLD.replace("LIMIT", "LIMITS"), ["the public name `LIMIT` of m.py is gone"]),
        (
            OLD.replace("def run(self, x)", "def run(self, x, y)"),
            [f"the signature of `Calc.run` {CHANGED}: `(self, x)` → `(self, x, y)`"],
        ),
        (
            OLD.replace("a, b=1", "b=1, a=2"),
            [f"the signature of `add` {CHANGED}: `(a, b=, c, named)` → `(b=, a=, c, named)`"],
        ),
        ("def (", []),
    ],
)
def test_reports_only_changes_that_break_calls(new: str, messages: list[str]) -> None:
    assert api_changes({"m.py": OLD}, {"m.py": new}) == messages
