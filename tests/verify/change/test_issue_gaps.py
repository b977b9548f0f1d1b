"""Additions that only the tests of a change use, as opposed to those that an issue asks for."""

import pytest

from coder.verify.issue import find_issue_gaps, split_arguments

PYTHON = "def median(numbers):\n    return sorted(numbers)[0]\n"
SCRIPT = "export function median(numbers) {\n  return numbers[0];\n}\n"
GO = "package s\n\nfunc Median(n []int) int {\n\treturn n[0]\n}\n"
ISSUE = "median of an even count is not the mean of the middle two"
NEW_ARGUMENT = "the tests call median only with the new argument exact, for which the issue does not ask"
ONLY_ADDS = "the change only adds {}, which the issue does not name, and edits nothing that it does"
CASES = [
    (
        "a.py",
        PYTHON,
        PYTHON.replace("numbers):", "numbers, exact=False):"),
        "assert median([1, 2], True) == 1.5",
        NEW_ARGUMENT,
    ),
    (
        "a.py",
        PYTHON,
        PYTHON.replace("numbers):", "numbers, *, exact=False):"),
        "assert median([1, 2], exact=True) == 1.5",
        NEW_ARGUMENT,
    ),
    (
        "a.ts",
        SCRIPT,
        SCRIPT.replace("numbers)", "numbers, exact = false)"),
        "assert.equal(median([1, 2], true), 1.5)",
        NEW_ARGUMENT,
    ),
    (
        "a.ts",
        SCRIPT,
        SCRIPT.replace("numbers)", "numbers, exact = false)"),
        "assert.equal(median([1, 2]), 1.5)",
        "",
    ),
    (
        "a.ts",
        SCRIPT,
        "export const settings = { exact: false };\n" + SCRIPT.replace("numbers[0]", "f(settings)"),
        "stats.settings.exact = true; assert.equal(median([1, 2]), 1.5)",
        "the tests set settings, which the change adds and the issue does not name",
    ),
    (
        "a.py",
        PYTHON,
        "EXACT = False\n" + PYTHON.replace("[0]", "[EXACT]"),
        "stats.EXACT = True\nassert median([1, 2]) == 1.5",
        "the tests set EXACT, which the change adds and the issue does not name",
    ),
    (
        "a.py",
        PYTHON,
        PYTHON + "\n\ndef mean_of_two(a, b):\n    return (a + b) / 2\n",
        "assert mean_of_two(1, 2) == 1.5",
        ONLY_ADDS.format("mean_of_two"),
    ),
    (
        "a.go",
        GO.replace("Median", "median"),
        GO.replace("Median", "median") + "\nfunc MeanOfTwo() int {\n\treturn 1\n}\n",
        "if MeanOfTwo() != 1 {}",
        ONLY_ADDS.format("MeanOfTwo"),
    ),
    (
        "a.py",
        PYTHON,
        PYTHON.replace("[0]", "[helper()]") + "\n\ndef helper():\n    return 1\n",
        "assert helper() == 1",
        "",
    ),
]


@pytest.mark.parametrize(("path", "old", "new", "test", "finding"), CASES)
def test_names_what_only_the_tests_use(path: str, old: str, new: str, test: str, finding: str) -> None:
    found = [*find_issue_gaps({path: old}, {path: new}, [test], issue=ISSUE, find_defined=lambda: ["median"])]
    assert found == ([finding] if finding else [])


@pytest.mark.parametrize(
    "issue",
    [
        "Add an exact median",
        "There should be a way to get the mean from median",
        "median needs the argument exact",
        "the parameter exact of median",
        "No exact median",
    ],
)
def test_accepts_what_the_issue_asks_for(issue: str) -> None:
    new = PYTHON.replace("numbers):", "numbers, exact=False):")
    test = "assert median([1, 2], exact=True) == 1.5"
    assert not [
        *find_issue_gaps(
            {"a.py": PYTHON}, {"a.py": new}, [test], issue=issue, find_defined=lambda: ["median"]
        )
    ]


def test_one_target_without_the_addition_is_enough() -> None:
    new = PYTHON.replace("numbers):", "numbers, exact=False):")
    tests = ["assert median([1, 2], True) == 1.5", "assert median([1, 2]) == 1.5"]
    assert not [
        *find_issue_gaps({"a.py": PYTHON}, {"a.py": new}, tests, issue=ISSUE, find_defined=lambda: ["median"])
    ]


def test_splits_arguments_at_outer_commas() -> None:
    assert split_arguments("[1, 2], f(a, b), 'x, (y') + g(1)") == ["[1, 2]", "f(a, b)", "'x, (y'"]
    assert split_arguments("") == []


RANGE = "parse of an unknown unit returns NaN instead of throwing a RangeError"


@pytest.mark.parametrize(
    ("issue", "line", "test", "is_gap"),
    [
        (RANGE, "return x ?? 0;", "same(parse('5x'), 0)", True),
        (RANGE, "throw new RangeError(x);", "same(parse('5x'), 0)", False),
        (RANGE, "return check(x);", "refuses(() => parse('5x'), RangeError)", False),
        ("parse('5x') should not throw", "return x ?? 0;", "same(parse('5x'), 0)", False),
        ("parse('5x') throws a TypeError instead of returning 0", "return 0;", "same(parse('5x'), 0)", False),
        ("parse must reject empty texts", "return x ?? 0;", "same(parse(''), 0)", True),
    ],
)
def test_error_that_issue_asks_for(issue: str, line: str, test: str, is_gap: bool) -> None:
    old = "export function parse(x) {\n  %s\n}\n"
    found = find_issue_gaps(
        {"a.js": old % "return x;"}, {"a.js": old % line}, [test], issue=issue, find_defined=lambda: ["parse"]
    )
    expected = "the issue asks for an error, which neither the change raises nor a test expects"
    assert [*found] == ([expected] if is_gap else [])
