"""Ties between red tests and an issue."""

from pathlib import Path

import pytest

from coder.core.verdict import Failure, IssueTie, TestResult
from coder.verify.issue import tie_tests_to_issue
from tests.builders import write

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


def failed_result(
    name: str, *, kind: str = "AssertionError", message: str = "assert 190 == 180"
) -> TestResult:
    return TestResult(
        id=f"tests/test_cart.py::{name}", outcome="failed", failure=Failure(type=kind, message=message)
    )


@pytest.mark.parametrize(
    ("issue", "result", "expected"),
    [
        ("total([200], 10) gives 190 instead of 180", failed_result("test_percentage"), "example"),
        ("`shop.total( [200],10 )` is wrong", failed_result("test_percentage"), "example"),
        ("At 09:30 the shop counts as closed", failed_result("test_opening_hours"), "example"),
        (
            "It crashes: ValueError: negative price in the cart",
            failed_result("test_negative", kind="ValueError", message="negative price in the cart"),
            "message",
        ),
        ("at 10 % it is 190 instead of 180", failed_result("test_percentage"), "example"),
        ("at 10 % it is 90 instead of 180", failed_result("test_percentage"), None),
        ("apply_voucher takes too much off", failed_result("test_voucher"), "identifier"),
        ("The percentage is taken as an amount", failed_result("test_percentage"), "identifier"),
        ("The colours of the page are wrong", failed_result("test_voucher"), None),
        ("The total is wrong, print it", failed_result("test_opening_hours"), None),
        ("total gives an amount", failed_result("test_percentage"), "identifier"),
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
    reds = (failed_result("test_percentage"), failed_result("test_voucher"))
    assert tie_tests_to_issue("The tests fail", reds, tmp_path, [result.id for result in reds]) == {
        result.id: "identifier" for result in reds
    }
    assert tie_tests_to_issue("The page is slow", reds, tmp_path, [result.id for result in reds]) == {}
