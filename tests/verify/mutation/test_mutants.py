"""Parts of a change that no test would miss."""

import ast

import pytest

from coder.core.verdict import MutationReport, UntestedPlace
from coder.verify.examine import (
    Mutant,
    generate_mutants,
    reverted_hunks,
    summarize_mutants,
)

OLD = """def clamp(value, low, high):
    if value < low:
        return low
    return value


def name():
    return "a"
"""
NEW = """def clamp(value, low, high):
    # both ends belong to it
    if value <= low:
        return low
    if value > high and high is not None:
        return high
    return value


def name():
    return "b"
"""


def apply(mutant: Mutant, text: str) -> str:
    return mutant.as_edit(()).apply(text)


def outcome_of(text: str) -> str:
    """Return how two tests, of the clamp alone, fare."""
    space: dict[str, object] = {}
    exec(text, space)  # the test's own text
    clamp = space["clamp"]
    assert callable(clamp)
    return "passed" if [clamp(5, 1, 3), clamp(0, 1, 3)] == [3, 1] else "broke"


def test_reports_untested_line() -> None:
    mutants = [*reverted_hunks("clamp.py", OLD, NEW), *generate_mutants("clamp.py", OLD, NEW)]
    report = summarize_mutants(mutants, [outcome_of(apply(mutant, NEW)) for mutant in mutants])
    assert report == MutationReport(
        survivors=(
            UntestedPlace(path="clamp.py", line=2, what="is as it was before", whole_hunk=True),
            UntestedPlace(path="clamp.py", line=11, what="is as it was before", whole_hunk=True),
            UntestedPlace(path="clamp.py", line=5, what="says `value > high or high is not None`"),
        ),
        tried=6,
    )


def test_each_mutant_parses_and_differs() -> None:
    mutants = list(generate_mutants("clamp.py", OLD, NEW))
    texts = [apply(mutant, NEW) for mutant in mutants]
    assert {mutant.line for mutant in mutants} == {3, 5, 6, 11}
    assert all(ast.dump(ast.parse(text)) != ast.dump(ast.parse(NEW)) for text in texts)
    assert len(set(texts)) == len(texts)


def test_a_form_feed_ends_no_line() -> None:
    before = "\x0c\n" * 3
    mutants = [*reverted_hunks("clamp.py", before + OLD, before + NEW)]
    mutants += generate_mutants("clamp.py", before + OLD, before + NEW)
    plain = [*reverted_hunks("clamp.py", OLD, NEW), *generate_mutants("clamp.py", OLD, NEW)]
    assert [mutant.line - 3 for mutant in mutants] == [mutant.line for mutant in plain]


def test_skips_comments_docstrings_and_unparsable_mutants() -> None:
    old = "def f():\n    return 1\n"
    new = 'def f():\n    "A word."\n    # more\n    return 1\n'
    assert list(reverted_hunks("a.py", old, new)) == []
    assert list(generate_mutants("a.py", old, "def f(:\n")) == []


@pytest.mark.parametrize(
    ("outcomes", "report"),
    [
        (["cold"] * 7, MutationReport()),
        ([], MutationReport(ended=False)),
        (["broke", "timeout"], MutationReport(tried=2, ended=False)),
    ],
)
def test_ignores_inconclusive_mutants_and_respects_time_limit(
    outcomes: list[str], report: MutationReport
) -> None:
    mutants = [*reverted_hunks("clamp.py", OLD, NEW), *generate_mutants("clamp.py", OLD, NEW)]
    assert summarize_mutants(mutants[:7], outcomes) == report


@pytest.mark.parametrize(
    ("old", "new", "reverted"),
    [
        ("", "def clamp(x):\n    return x\n", 0),
        ("import os\n\n\nx = 1\n", "import os\nfrom re import (\n    sub,\n)\n\n\nx = 1\n", 0),
        ("import os\nx = 1\n", "import re\nx = 2\n", 1),
    ],
)
def test_what_is_imported_already_is_not_reverted(old: str, new: str, reverted: int) -> None:
    assert len([*reverted_hunks("a.py", old, new)]) == reverted
