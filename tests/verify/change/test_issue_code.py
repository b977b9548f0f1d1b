"""Code of an issue, run on both sides of a change, and ties between red tests and an issue."""

from contextlib import nullcontext
from pathlib import Path

import pytest

from coder.core.verdict import BehaviorExample, Failure, IssueTie, TestResult
from coder.retrieval.issue_examples import code_in_issue, quoted_code
from coder.sandbox.process import ProcessSandbox
from coder.verify.change import tie_tests_to_issue
from coder.verify.example import IssueCode
from tests.builders import by_hand, find_project, write

SOURCE = """import math


def first(items):
    if not items:
        raise ValueError("there is no item in it")
    return items[0]


def last(items):
    return items[0]


def count(items):
    return len(items)
"""
FIRST_FIXED = SOURCE.replace('raise ValueError("there is no item in it")', "return None")
OTHER_MESSAGE = SOURCE.replace("there is no item in it", "expected at least one item")
LAST_FIXED = "items[-1]".join(SOURCE.rsplit("items[0]", 1))
TEST = "import box\nfrom box import first\n\n\ndef test_first():\n    assert first([1]) == 1\n"
TARGETS = ("tests/test_box.py::test_first",)
RAISES = "`first([])` of the issue raises ValueError as before: there is no item in it"
NO_ITEM = "there is no item in it"


def run_code(
    tmp_path: Path, sandbox: ProcessSandbox, new: str, issue: str
) -> tuple[list[str], list[BehaviorExample]]:
    for name, text in (("old", SOURCE), ("new", f"{new}\n\nLIMIT = 3\n")):
        write(tmp_path / name, {"box.py": text, "tests/test_box.py": TEST})
    project = find_project(tmp_path / "new", sandbox=sandbox, environment={})
    code = IssueCode(project, sandbox, sandbox.scratch)
    return code.answer_quoted(tmp_path / "old", tmp_path / "new", issue, TARGETS, ["box.py"])


@pytest.mark.parametrize(
    ("issue", "new", "persisting"),
    [
        (f">>> first([])\nTraceback (most recent call last):\nValueError: {NO_ITEM}", SOURCE, RAISES),
        (f"`first([])` raises '{NO_ITEM}', which is no help", OTHER_MESSAGE, ""),
        *by_hand(
            (f"`first([])` raises '{NO_ITEM}'; it should give None", SOURCE, RAISES),
            ("`first([])` raises ValueError, and `first(0)` should raise ValueError too", SOURCE, ""),
            ("`first([])` is slow", SOURCE, ""),
            ("`unknown([])` raises NameError, `first` raises ValueError", SOURCE, ""),
            ("last([1, 2]) gives 1, it should be 2.", LAST_FIXED, ""),
        ),
        ("count([1]) is 1, and `items` is no name of ours", LAST_FIXED, ""),
        ("`first([])` raises ValueError instead of giving None", FIRST_FIXED, ""),
    ],
)
def test_finds_what_the_change_leaves(
    tmp_path: Path, sandbox: ProcessSandbox, issue: str, new: str, persisting: str
) -> None:
    assert run_code(tmp_path, sandbox, new, issue)[0] == ([persisting] if persisting else [])


@pytest.mark.parametrize(
    ("added", "expected"),
    [
        ("(len(items) < 3)", ("count('')", "0", "1", False)),
        ("(1 if items else sum(iter(int, 1)))", ("count('abab')", "4", "5", False)),
    ],
    ids=["other results", "one without an end"],
)
def test_shows_what_the_code_of_the_issue_gives_for_other_values(
    tmp_path: Path, sandbox: ProcessSandbox, added: str, expected: tuple[str, str, str, bool]
) -> None:
    new = SOURCE.replace("len(items)", f"len(items) + {added}")
    _, examples = run_code(tmp_path, sandbox, new, "count('ab') gives 2, and first('ab') gives 'a'.")
    assert [(row.call, row.before, row.after, row.tested) for row in examples] == [
        ("count('ab')", "2", "3", True),
        expected,
    ]


@pytest.mark.parametrize(
    ("issue", "code"),
    [
        ("`a - b(1)`, `name`, `x = f()`\n\n>>> import a\n>>> a.b()\n3\n", ("a - b(1)", "import a\na.b()\n")),
        (
            "Since 2.0 (beta) box.last(')', [1]).name gives x; see f() and g(h(1)) (not i( ) or 3(4)).",
            ("box.last(')', [1]).name", "f()", "g(h(1))", "i( )"),
        ),
        ("With `name` and `other`, f(1) gives 3", ("f(1)",)),
        ("Text\r\n\r\n```python\r\nimport a\r\na.b()\r\n```\r\n", ("import a\na.b()\n",)),
        (">>> for a in b():\n...print(a)\n", ()),
    ],
    ids=["expressions and session", "prose", "behind backticks", "carriage returns", "careless session"],
)
def test_takes_code_from_an_issue(issue: str, code: tuple[str, ...]) -> None:
    assert quoted_code(issue) == code


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


CART = """\
from shop import apply_voucher, total


def test_percentage():
    assert total([200], 10) == 180


def test_voucher():
    assert apply_voucher(300) == 290


def test_opening_hours():
    assert minutes("09:30") == 570


def test_negative():
    total([-1])
"""


def cart_failure(
    name: str, *, kind: str = "AssertionError", message: str = "assert 190 == 180"
) -> TestResult:
    return TestResult(
        id=f"tests/test_cart.py::{name}", outcome="failed", failure=Failure(type=kind, message=message)
    )


@pytest.mark.parametrize(
    ("issue", "result", "expected"),
    [
        ("total([200], 10) gives 190 instead of 180", cart_failure("test_percentage"), "example"),
        ("`shop.total( [200],10 )` is wrong", cart_failure("test_percentage"), "example"),
        ("At 09:30 the shop counts as closed", cart_failure("test_opening_hours"), "example"),
        (
            "It crashes: ValueError: negative price in the cart",
            cart_failure("test_negative", kind="ValueError", message="negative price in the cart"),
            "message",
        ),
        ("at 10 % it is 190 instead of 180", cart_failure("test_percentage"), "example"),
        ("at 10 % it is 90 instead of 180", cart_failure("test_percentage"), None),
        ("apply_voucher takes too much off", cart_failure("test_voucher"), "identifier"),
        ("The percentage is taken as an amount", cart_failure("test_percentage"), "identifier"),
        ("The colours of the page are wrong", cart_failure("test_voucher"), None),
        ("The total is wrong, print it", cart_failure("test_opening_hours"), None),
        ("total gives an amount", cart_failure("test_percentage"), "identifier"),
    ],
)
def test_ties_by_example_message_or_name(
    issue: str, result: TestResult, expected: IssueTie | None, tmp_path: Path
) -> None:
    write(tmp_path, {"tests/test_cart.py": CART})
    every = [
        f"tests/test_cart.py::{name}"
        for name in ("test_percentage", "test_voucher", "test_opening_hours", "test_negative")
    ]
    assert tie_tests_to_issue(issue, (result,), tmp_path, every).get(result.id) == expected


@pytest.mark.parametrize(
    ("error", "is_tied"),
    [("No module named 'shop._version'", False), ("cannot import name 'apply_voucher' from 'shop'", True)],
)
def test_test_that_cannot_run_is_tied_by_its_error(error: str, is_tied: bool, tmp_path: Path) -> None:
    write(tmp_path, {"tests/test_cart.py": CART})
    failure = Failure(type="ImportError", message=error)
    name = "tests/test_cart.py::test_voucher"
    result = TestResult(id=name, outcome="error", when="collect", failure=failure)
    ties = tie_tests_to_issue("apply_voucher(300) takes too much off", (result,), tmp_path, [name])
    assert (name in ties) == is_tied


def test_common_identifier_is_no_tie(tmp_path: Path) -> None:
    write(tmp_path, {f"tests/test_cart{number}.py": CART for number in range(5)})
    result = TestResult(id="tests/test_cart0.py::test_voucher", outcome="failed")
    every = [f"tests/test_cart{number}.py::test_voucher" for number in range(5)]
    assert tie_tests_to_issue("`apply_voucher` takes too much off", (result,), tmp_path, every) == {}


def test_issue_about_failing_tests_is_tied_to_all(tmp_path: Path) -> None:
    reds = (cart_failure("test_percentage"), cart_failure("test_voucher"))
    assert tie_tests_to_issue("The tests fail", reds, tmp_path, [result.id for result in reds]) == {
        result.id: "identifier" for result in reds
    }
    assert tie_tests_to_issue("The page is slow", reds, tmp_path, [result.id for result in reds]) == {}
