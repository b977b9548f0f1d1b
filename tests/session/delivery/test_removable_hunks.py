import difflib

import pytest

from coder.core.verdict import MutationReport, UntestedPlace
from coder.patching.git_hunks import changed_line_starts, split_git_diff
from coder.session.review import removable_hunk_numbers

OLD = [f"line {number}" for number in range(1, 31)]
NEW = ["new", *OLD[:3], "4", *OLD[4:19], *OLD[20:], "last"]
"""Three hunks as git writes them; the first has two blocks."""


def diff_of(path: str, old: list[str], new: list[str]) -> str:
    lines = difflib.unified_diff(old, new, f"a/{path}", f"b/{path}", lineterm="")
    return "\n".join([f"diff --git a/{path} b/{path}", *lines, ""])


def guarded_result(*places: tuple[str, int]) -> MutationReport:
    unguarded = tuple(
        UntestedPlace(path=path, line=line, what="is as it was before", whole_hunk=True)
        for path, line in places
    )
    return MutationReport(survivors=unguarded)


def test_hunk_records_start_of_its_blocks() -> None:
    all_hunks = split_git_diff(diff_of("a.py", OLD, NEW))
    assert [[*changed_line_starts(hunk)] for hunk in all_hunks] == [[1, 5], [21], [31]]
    assert [*changed_line_starts(split_git_diff(diff_of("a.py", ["x"], []))[0])] == [1]


@pytest.mark.parametrize(
    ("guard_result", "numbers"),
    [
        (None, ()),
        (guarded_result(("a.py", 21)), (1,)),
        (guarded_result(("a.py", 1)), ()),
        (guarded_result(("a.py", 1), ("a.py", 5), ("a.py", 31)), (0, 2)),
        (guarded_result(("b.py", 21)), ()),
    ],
)
def test_hunk_is_removable_when_no_test_needs_it(
    guard_result: MutationReport | None, numbers: tuple[int, ...]
) -> None:
    assert removable_hunk_numbers(diff_of("a.py", OLD, NEW), guard_result) == numbers


def test_documentation_and_tests_are_never_removable() -> None:
    diff = diff_of("README.md", ["a"], ["b"]) + diff_of("tests/test_a.py", ["a"], ["b"])
    guard_result = guarded_result(("README.md", 1), ("tests/test_a.py", 1))
    assert removable_hunk_numbers(diff, guard_result) == ()
