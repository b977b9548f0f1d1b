import difflib

import pytest

from coder.core.verdict import MutationReport, UntestedPlace
from coder.patching.git_hunks import changed_line_starts, split_git_diff
from coder.session.review import hunk_location, removable_hunk_numbers

OLD = [f"line {number}" for number in range(1, 31)]
NEW = ["new", *OLD[:3], "4", *OLD[4:19], *OLD[20:], "last"]
"""Three hunks as git writes them; the first has two blocks."""


def diff_of(path: str, old: list[str], new: list[str]) -> str:
    lines = difflib.unified_diff(old, new, f"a/{path}", f"b/{path}", lineterm="")
    return "\n".join([f"diff --git a/{path} b/{path}", *lines, ""])


def guarded_result(*places: tuple[str, int], wording: tuple[tuple[str, int], ...] = ()) -> MutationReport:
    unguarded = tuple(
        UntestedPlace(path=path, line=line, what="is as it was before", whole_hunk=True)
        for path, line in places
    )
    return MutationReport(survivors=unguarded, wording=wording)


def test_hunk_records_start_of_its_blocks() -> None:
    all_hunks = split_git_diff(diff_of("a.py", OLD, NEW))
    assert [[*changed_line_starts(hunk)] for hunk in all_hunks] == [[1, 5], [21], [31]]
    assert [*changed_line_starts(split_git_diff(diff_of("a.py", ["x"], []))[0])] == [1]
    assert hunk_location(all_hunks[1]) == "a.py:21"


@pytest.mark.parametrize(
    ("guard_result", "wording", "numbers"),
    [
        (None, False, ()),
        (guarded_result(("a.py", 21)), False, (1,)),
        (guarded_result(("a.py", 1)), False, ()),
        (guarded_result(("a.py", 1), ("a.py", 5), ("a.py", 31)), False, (0, 2)),
        (guarded_result(("a.py", 1), wording=(("a.py", 5), ("a.py", 31))), False, ()),
        (guarded_result(("a.py", 1), wording=(("a.py", 5), ("a.py", 31))), True, (0, 2)),
        (guarded_result(("b.py", 21)), False, ()),
    ],
)
def test_hunk_is_removable_when_no_test_needs_it(
    guard_result: MutationReport | None, wording: bool, numbers: tuple[int, ...]
) -> None:
    assert removable_hunk_numbers(diff_of("a.py", OLD, NEW), guard_result, wording=wording) == numbers


def test_removes_documentation_only_on_request_and_tests_never() -> None:
    diff = diff_of("README.md", ["a"], ["b"]) + diff_of("tests/test_a.py", ["a"], ["b"])
    guard_result = guarded_result(("README.md", 1), ("tests/test_a.py", 1))
    assert (
        removable_hunk_numbers(diff, guard_result),
        removable_hunk_numbers(diff, guard_result, wording=True),
    ) == ((), (0,))
