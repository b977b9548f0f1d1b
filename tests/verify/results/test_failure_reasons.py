"""Right and wrong reasons for a red test."""

from typing import Any, Literal

import pytest

from coder.core.verdict import Failure, TestResult
from coder.verify.results import find_missing_name, is_quoted_in_issue, rejection_reason
from coder.verify.select import find_added_names
from tests.verify.fakes import failed_result, passed_result

ID = "tests/test_calc.py::test_it"
SOURCE = (("tests/test_calc.py", 3, "test_it"), ("src/calc.py", 7, "add"))
STDLIB = (*SOURCE, ("/usr/lib/python3.11/json/decoder.py", 355, "raw_decode"))

OUTSIDE = (("<node:net>", 2344, "emitCloseNT"),)


def failed_with(error: str, **place: Any) -> TestResult:
    """Return the result of a test that fails with `Type: message`."""
    type_, _, message = error.partition(": ")
    return failed_result(ID, type_, message, **place)


def with_text(result: TestResult, text: str) -> TestResult:
    assert result.failure is not None
    return result.model_copy(update={"failure": result.failure.model_copy(update={"text": text})})


NO_FILE = "FileNotFoundError: [Errno 2] No such file or directory: 'x.cfg'"
COUNTING = [
    (failed_with("AssertionError: assert 1 == 2"), "", False),
    (failed_with("Failed: DID NOT RAISE <class 'ValueError'>"), "", False),
    (failed_with("TypeError: unsupported operand"), "add() raises TypeError", False),
    (failed_with("CalcError: cannot add\nmore"), "It says: cannot\n add", False),
    (failed_with("RuntimeError: the stack has no  room"), "fails with 'the stack has no room'", False),
    (failed_with("Error: Parse Error: Invalid header", frames=OUTSIDE), "", False),
    (failed_with("IndexError", frames=SOURCE), "", True),
    (failed_with("JSONDecodeError", frames=STDLIB), "", True),
    (failed_with("TypeError: 'NoneType' object is not subscriptable"), "", True),
    (failed_with(NO_FILE, frames=SOURCE), "", True),
    (failed_with("NameError: name 'x' is not defined", when="collect", frames=SOURCE), "", True),
    (failed_with("ImportError: cannot import name 'x' from 'calc' (calc.py)", when="collect"), "", True),
    (failed_with("ModuleNotFoundError: No module named 'calc.parts'"), "", True),
    (failed_with("ZeroDivisionError", when="setup", frames=SOURCE), "", True),
]


@pytest.mark.parametrize(("result", "issue", "unchanged"), COUNTING)
def test_counts(result: TestResult, issue: str, unchanged: bool) -> None:
    if result.failure and result.failure.type == "CalcError":
        assert "CalcError" in rejection_reason(
            result, issue=issue, is_existing_test=unchanged
        )  # too short to be a quotation
        issue += ": CalcError"
    assert rejection_reason(result, issue=issue, is_existing_test=unchanged) == ""


FAR, ASSERTED = (
    "ImportError: cannot import name 'x' from 'far' (/usr/lib/far.py)",
    "AssertionError: assert 1 == 2",
)
REFUSED = "ConnectionRefusedError: [Errno 111] Connection refused"
NO_MODULE = "ModuleNotFoundError: No module named 'far'"
IN_FIXTURE, UNCOLLECTED = "fails in a fixture: ", "its file cannot be collected: "
NOT_COUNTING = [
    (passed_result(ID), "passes already on the base"),
    (passed_result(ID, "skipped"), "is skipped on the base"),
    (passed_result(ID, "xfailed"), "is marked as an expected failure"),
    *(
        (failed_with(error), f"does not get as far as the issue: {error}")
        for error in (FAR, "SyntaxError: bad", "Crash: the worker died", "Failed: Timeout >1.0s")
    ),
    (failed_with(REFUSED, frames=OUTSIDE), f"fails in the test itself and not in an assertion: {REFUSED}"),
    (failed_with(NO_FILE, when="setup", frames=SOURCE), f"{IN_FIXTURE}{NO_FILE}"),
    (failed_with(NO_MODULE, when="collect", frames=SOURCE), f"{UNCOLLECTED}{NO_MODULE}"),
    (failed_with(ASSERTED, when="setup"), f"{IN_FIXTURE}{ASSERTED}"),
    (failed_with(ASSERTED, when="teardown"), f"{IN_FIXTURE}{ASSERTED}"),
    (failed_with(ASSERTED, when="collect"), f"{UNCOLLECTED}{ASSERTED}"),
    (failed_with(ASSERTED, frames=[("tests/test_calc.py", 2, "setUp")]), f"{IN_FIXTURE}{ASSERTED}"),
    (
        failed_with("NameError: x"),
        "fails in the test itself at tests/test_calc.py:3 and not in an assertion: NameError: x",
    ),
]


@pytest.mark.parametrize(("result", "message"), NOT_COUNTING)
def test_does_not_count(result: TestResult, message: str) -> None:
    assert rejection_reason(result, issue="something about ImportError", is_existing_test=True) == message


@pytest.mark.parametrize(
    ("text", "frames", "counts"),
    [
        (
            "    53         if many:\n>   54             raise RuntimeError('read too often'",
            (*SOURCE, ("tests/test_calc.py", 9, "read")),
            True,
        ),
        (">   54             return 1 / 0", (*SOURCE, ("tests/test_calc.py", 9, "read")), False),
        (">   54             raise RuntimeError('not ready')", SOURCE[:1], False),
        (">   54             raise Exception('read too often')", SOURCE[:1], True),
        (">   54             connect()", SOURCE[:1], False),
    ],
)
def test_exception_raised_by_test_double_is_assertion(
    text: str, frames: tuple[tuple[str, int, str], ...], counts: bool
) -> None:
    type = "Exception" if "Exception" in text else "RuntimeError"
    result = with_text(failed_result(ID, type, "read too often", frames=frames), text)
    assert (rejection_reason(result, issue="", is_existing_test=False) == "") is counts


@pytest.mark.parametrize(
    ("error", "text", "counts"),
    [
        ("KeyError", ">    9     assert ask().statistics['attempts'] == 1", True),
        ("IndexError", ">       assert pages()[2] == 'c'", True),
        ("KeyError", ">    9     first = ask()['attempts']", True),
        ("TypeError", ">    9     assert len(pages()) == 1", True),
        ("NameError", ">    9     assert undefined == 1", False),
    ],
)
def test_use_of_answer_with_other_shape_counts(error: str, text: str, counts: bool) -> None:
    result = with_text(failed_result(ID, error, "'attempts'", frames=SOURCE[:1]), text)
    assert (rejection_reason(result, issue="", is_existing_test=False) == "") is counts


@pytest.mark.parametrize(
    ("result", "edited", "counts"),
    [
        (failed_with("IndexError", frames=SOURCE), "src/calc.py", True),
        (failed_with("IndexError", frames=SOURCE), "src/other.py", True),
        (failed_with("SystemExit: 2", frames=SOURCE), "src/calc.py", True),
        (failed_with("AssertionError", frames=SOURCE), "src/other.py", True),
        (failed_with("AssertionError", frames=SOURCE), "src/calc.py", False),
        (failed_with("TypeError: add() got an unexpected keyword argument 'x'"), "tests/test_calc.py", False),
    ],
)
def test_error_of_project_counts(result: TestResult, edited: str, counts: bool) -> None:
    reason = rejection_reason(result, issue="wrong sum", is_existing_test=False, edited_sources=[edited])
    assert (reason == "") is counts


def test_endless_loop_counts_when_change_ends_it() -> None:
    stuck = failed_result(ID, "TooLong", "the test did not end", frames=SOURCE).model_copy(
        update={"seconds": 60.0}
    )
    itself = failed_result(ID, "TooLong", "the test did not end", frames=SOURCE[:1])
    cut = stuck.model_copy(update={"failure": Failure(type="TooLong", message="it did not end")})
    after = {seconds: passed_result(ID).model_copy(update={"seconds": seconds}) for seconds in (0.1, 50.0)}
    assert rejection_reason(cut, issue="", is_existing_test=False, after=after[0.1]) == ""
    assert "slow only" in rejection_reason(cut, issue="", is_existing_test=False, after=after[50.0])
    assert rejection_reason(stuck, issue="", is_existing_test=False) == ""
    assert rejection_reason(itself, issue="", is_existing_test=True) == ""
    assert rejection_reason(itself, issue="", is_existing_test=False).startswith("fails in the test itself")
    assert rejection_reason(stuck, issue="", is_existing_test=True, after=after[0.1]) == ""
    slow = "had not ended after 60 s, and may have been slow only: now it takes 50 s"
    assert rejection_reason(stuck, issue="", is_existing_test=True, after=after[50.0]) == slow


def test_matches_message_containing_names() -> None:
    issue = (
        "creating an autospec gives warnings such as \"No '__dict__' attribute on 'NoneType' instance "
        'to cache ... property"'
    )
    failure = Failure(
        type="DeprecationWarning",
        message="No '__dict__' attribute on 'NoneType' instance to cache 'get' property.",
    )
    other = Failure(type="DeprecationWarning", message="Use of 'x' is deprecated since 3")
    assert is_quoted_in_issue(failure, issue)
    assert not is_quoted_in_issue(other, issue)


MISSING = {
    "parameter": ("TypeError", "split() got an unexpected keyword argument 'keep'", "keep"),
    "more arguments": ("TypeError", "split() takes 1 positional argument but 2 were given", "split()"),
    "attribute": ("AttributeError", "module 'items' has no attribute 'join'", "join"),
    "import": ("ImportError", "cannot import name 'join' from 'items' (items.py)", "join"),
    "module": ("ModuleNotFoundError", "No module named 'shop.joining'", "joining"),
    "JavaScript": ("TypeError", "(0 , items.join) is not a function", "join"),
    "required in a test": ("Error", "Cannot find module './shop/joining'", "joining"),
    **{
        f"file of {runner}": ("CollectionError", message, name)
        for runner, message, name in (
            ("jest", "Cannot find module '../shop/joining' from 'test/it.test.js'", "joining"),
            ("mocha", "Error: Cannot find module '../shop/joining'", "joining"),
            (
                "node --test",
                "Error [ERR_MODULE_NOT_FOUND]: Cannot find module 'shop/joining.js' imported from it.js",
                "joining",
            ),
            (
                "vitest",
                "Error: Failed to load url ./shop/joining.ts (resolved id: ./shop/joining.ts)",
                "joining",
            ),
            ("vitest 3", 'Error: Failed to resolve import "./shop/joining" from "it.test.ts".', "joining"),
            ("tsc", "error TS2307: Cannot find module './shop/joining' or its type declarations.", "joining"),
            ("tsc, a name", "error TS2305: Module './items' has no exported member 'join'.", "join"),
            ("RSpec", "LoadError: cannot load such file -- shop/joining", "joining"),
            (
                "modules",
                "SyntaxError: The requested module './items.js' does not provide an export named 'join'",
                "join",
            ),
            ("mocha, outside of tests", "TypeError: items.join is not a function", "join"),
        )
    },
}
OLD = {"items.py": "def split(text):\n    return text.split(',')\n"}
NEW = {
    "items.py": "def split(text, keep=False):\n    parts = 2\n\n\ndef join(items): ...\n",
    "shop/joining.py": "class Joiner:\n    glue = ','\n\n    def __init__(self): self.last = 1\n",
    "items.js": "export function join(items) {}",
}


@pytest.mark.parametrize(("type_", "message", "name"), MISSING.values(), ids=MISSING)
def test_missing_name_that_change_adds_is_right_reason(type_: str, message: str, name: str) -> None:
    result = failed_result(ID, type_, message)
    assert result.failure is not None
    assert find_missing_name(result.failure) == name
    added = find_added_names(OLD, NEW)
    assert rejection_reason(result, issue="", is_existing_test=False, added_names=added) == ""
    assert rejection_reason(result, issue=f"a {type_}", is_existing_test=False, added_names=()) != ""


def test_added_names_are_new_words_modules_and_signatures() -> None:
    words = {"keep", "split()", "False", "parts", "def", "join", "join()", "items"}
    assert find_added_names(OLD, {"items.py": NEW["items.py"]}) == words
    assert {"joining", "shop", "Joiner", "__init__()"} <= find_added_names(OLD, NEW)


@pytest.mark.parametrize(
    ("old", "new", "name"),
    [
        ("class B: pass", "class B:\n    def close(self): pass", "close"),
        ("def post(url): pass", "def post(url, timeout=1): pass", "timeout"),
        ("def post(url=()): pass", "def post(url=(), timeout=1) -> None: pass", "post()"),
        ("class B: pass", "class B:\n    def __init__(self): self.limit = 1", "limit"),
    ],
)
def test_a_name_that_stands_elsewhere_is_added_where_it_was_not(old: str, new: str, name: str) -> None:
    rest = "class A:\n    limit = 1\n    def close(self, timeout=1): return timeout\n"
    added = find_added_names({"m.py": f"{rest}{old}\n"}, {"m.py": f"{rest}{new}\n"})
    assert name in added
    assert "close" not in find_added_names({"m.py": rest}, {"m.py": f"{rest}A().close()\n"})


@pytest.mark.parametrize(
    ("type_", "message", "when"),
    [
        ("AssertionError", "assertion `left == right` failed", "call"),
        ("CollectionError", "error[E0425]: cannot find function `join` in module `super`", "collect"),
    ],
)
def test_a_test_within_a_source_is_red_for_the_right_reason(
    type_: str, message: str, when: Literal["call", "collect"]
) -> None:
    test = "src/items.rs::tests::joins"
    result = failed_result(test, type_, message, when=when, frames=(("src/items.rs", 9, "joins"),))
    reason = rejection_reason(
        result, issue="", is_existing_test=False, edited_sources=["src/items.rs"], added_names={"join"}
    )
    assert reason == ""
