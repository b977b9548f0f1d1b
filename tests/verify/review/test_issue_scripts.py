"""Code of an issue, run on both sides of a change."""

from contextlib import nullcontext
from pathlib import Path

from coder.retrieval.issue_examples import code_in_issue
from coder.sandbox.process import ProcessSandbox
from coder.verify.example import IssueCode
from tests.builders import find_project, write

ISSUE = """Adding fails:

```python
from calc import add
assert add(1, 2) == 3
```

and so does

>>> from calc import add
>>> add(2, 2)
4

```
$ make it fail
```
"""


def make_scripts(tmp_path: Path, sandbox: ProcessSandbox, old: str, new: str) -> IssueCode:
    write(tmp_path / "old", {"calc.py": old})
    write(tmp_path / "new", {"calc.py": new})
    project = find_project(tmp_path / "new", sandbox=sandbox, environment={})
    return IssueCode(project, sandbox, sandbox.scratch)


def test_finds_code_in_fences_and_interactive_sessions() -> None:
    assert code_in_issue(ISSUE) == (
        "from calc import add\nassert add(1, 2) == 3\n",
        ">>> from calc import add\n>>> add(2, 2)\n4",
    )
    assert code_in_issue("```\nx = 1\n```\n`add(1)`") == ()


def test_reports_module_no_longer_importable(tmp_path: Path, sandbox: ProcessSandbox) -> None:
    def old() -> nullcontext[Path]:
        return nullcontext(tmp_path / "old")

    for new, lost in (
        ("import nowhere\n", ["calc (ModuleNotFoundError: No module named 'nowhere')"]),
        ("a = 1 / 0\n", ["calc (ZeroDivisionError: division by zero)"]),
        ("a = 2\n", []),
    ):
        scripts = make_scripts(tmp_path, sandbox, "a = 1\n", new)
        assert [*scripts.find_lost_imports(old, tmp_path / "new", ["calc.py"])] == lost
    broken_before = make_scripts(tmp_path, sandbox, "a = 1 / 0\n", "a = 1 / 0\n")
    assert not [*broken_before.find_lost_imports(old, tmp_path / "new", ["calc.py"])]
