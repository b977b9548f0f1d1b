"""Additions that only the tests of a change use, as opposed to those that an issue asks for."""

import pytest

from coder.verify.issue import find_issue_gaps

PYTHON = "def median(numbers):\n    return sorted(numbers)[0]\n"
GO = "package s\n\nfunc median(n []int) int {\n\treturn n[0]\n}\n"
MEAN = "\n\ndef mean_of_two(a, b):\n    return (a + b) / 2\n"
ISSUE = "median of an even count is not the mean of the middle two"
ONLY_ADDS = "the change only adds {}, which the issue does not name, and edits nothing that it does"


@pytest.mark.parametrize(
    ("path", "old", "new", "test", "issue", "finding"),
    [
        ("a.py", PYTHON, PYTHON + MEAN, "mean_of_two(1, 2)", ISSUE, ONLY_ADDS.format("mean_of_two")),
        (
            "a.go",
            GO,
            GO + "\nfunc MeanOfTwo() int {\n\treturn 1\n}\n",
            "if MeanOfTwo() != 1 {}",
            ISSUE,
            ONLY_ADDS.format("MeanOfTwo"),
        ),
        ("a.py", PYTHON, PYTHON + MEAN, "mean_of_two(1, 2)", f"{ISSUE}; add one", ""),
        ("a.py", PYTHON, PYTHON + MEAN, "mean_of_two(1, 2)", f"{ISSUE}: mean_of_two", ""),
        ("a.py", PYTHON, PYTHON.replace("[0]", "[1]") + MEAN, "mean_of_two(1, 2)", ISSUE, ""),
    ],
)
def test_names_what_only_the_tests_use(
    path: str, old: str, new: str, test: str, issue: str, finding: str
) -> None:
    found = find_issue_gaps({path: old}, {path: new}, [test], issue=issue, find_defined=lambda: ["median"])
    assert [*found] == ([finding] if finding else [])
