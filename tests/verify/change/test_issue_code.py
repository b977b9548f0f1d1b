"""Answers to an issue's own code on both sides of a change."""

from pathlib import Path

import pytest

from coder.sandbox.process import ProcessSandbox
from coder.verify.issue import IssueCodeAnswers, IssueScripts, answer_issue_code, quoted_code
from coder.verify.project import find_project
from tests.builders import write

SOURCE = """def first(items):
    if not items:
        raise ValueError("there is no item in it")
    return items[0]
"""
FIXED = SOURCE.replace('raise ValueError("there is no item in it")', "return None")
OTHER = SOURCE.replace("there is no item in it", "expected at least one item")
TEST = "from box import first\n\n\ndef test_first():\n    assert first([1]) == 1\n"
TARGETS = ("tests/test_box.py::test_first",)
FINDING = "of the issue raises ValueError as before: there is no item in it"


def run_code(tmp_path: Path, sandbox: ProcessSandbox, new: str, issue: str) -> IssueCodeAnswers:
    for name, text in (("old", SOURCE), ("new", new)):
        write(tmp_path / name, {"box.py": text, "tests/test_box.py": TEST})
    project = find_project(tmp_path / "new", sandbox=sandbox, environment={})
    scripts = IssueScripts(project, sandbox, sandbox.scratch)
    return answer_issue_code(scripts, tmp_path / "old", tmp_path / "new", issue, TARGETS, ["box.py"])


@pytest.mark.parametrize(
    ("issue", "code"),
    [
        ("`first([])` raises 'there is no item in it'; it should give None", "first([])"),
        ("`first([])` raises ValueError instead of giving None", "first([])"),
        (
            ">>> first([])\nTraceback (most recent call last):\nValueError: there is no item in it",
            "first([])",
        ),
    ],
)
def test_finds_error_that_the_change_leaves(
    tmp_path: Path, sandbox: ProcessSandbox, issue: str, code: str
) -> None:
    unrelated = f"{SOURCE}\n\nLIMIT = 3\n"
    assert run_code(tmp_path, sandbox, unrelated, issue).persisting == (f"`{code}` {FINDING}",)
    answers = run_code(tmp_path, sandbox, FIXED, issue)
    assert answers.persisting == ()
    (example,) = answers.examples
    before = "raises ValueError: there is no item in it"
    assert (example.call, example.before, example.after) == (code, before, "None")


@pytest.mark.parametrize(
    ("issue", "new"),
    [
        ("`first([])` raises 'there is no item in it', which is no help", OTHER),
        ("`first([])` raises ValueError, and `first(0)` should raise ValueError too", SOURCE),
        ("`first([])` is slow", SOURCE),
        ("`unknown([])` raises NameError", SOURCE),
        ("`first` raises ValueError", SOURCE),
    ],
)
def test_other_issues_have_no_persisting_error(
    tmp_path: Path, sandbox: ProcessSandbox, issue: str, new: str
) -> None:
    assert run_code(tmp_path, sandbox, new, issue).persisting == ()


def test_takes_expressions_and_sessions_from_issue() -> None:
    issue = "`a - b(1)`, `name`, `x = f()`\n\n>>> import a\n>>> a.b()\n3\n"
    assert quoted_code(issue) == ("a - b(1)", "import a\na.b()\n")
    prose = "Since 2.0 (beta) box.last(')', [1]).name gives x; see f() and g(h(1)) (not i( ) or 3(4))."
    assert quoted_code(prose) == ("box.last(')', [1]).name", "f()", "g(h(1))", "i( )")


LAST = "def last(items):\n    return items[0]\n\n\ndef count(items):\n    return len(items)\n"
LAST_FIXED = LAST.replace("items[0]", "items[-1]")


@pytest.mark.parametrize(
    ("issue", "new", "is_persisting"),
    [
        ("last([1, 2]) gives 1, it should be 2.", LAST, True),
        ("last([1, 2]) gives 1, it should be 2.", LAST_FIXED, False),
        ("count([1]) is 1, but last([1, 2]) gives 1, too.", LAST_FIXED, False),
        ("last(['a', 'b']).upper() is A", LAST, True),
        ("last([1, 2]) is wrong", LAST, False),
        ("count([1]) is 1, and `items` is not a name of ours", LAST_FIXED, True),
        ("sum([1, 2]) is 3 and unknown(4) is 4", LAST, False),
    ],
)
def test_finds_result_that_the_change_leaves(
    tmp_path: Path, sandbox: ProcessSandbox, issue: str, new: str, is_persisting: bool
) -> None:
    test = "import box\n\n\ndef test_last():\n    assert box.last([1]) == 1\n"
    for name, text in (("old", LAST), ("new", f"{new}\n\nLIMIT = 3\n")):
        write(tmp_path / name, {"box.py": text, "tests/test_box.py": test})
    project = find_project(tmp_path / "new", sandbox=sandbox, environment={})
    scripts = IssueScripts(project, sandbox, sandbox.scratch)
    answers = answer_issue_code(scripts, tmp_path / "old", tmp_path / "new", issue, TARGETS, ["box.py"])
    assert bool(answers.persisting) is is_persisting, answers


def test_reads_issues_with_carriage_returns_and_careless_sessions() -> None:
    assert quoted_code("Text\r\n\r\n```python\r\nimport a\r\na.b()\r\n```\r\n") == ("import a\na.b()\n",)
    assert quoted_code(">>> for a in b():\n...print(a)\n") == ()
