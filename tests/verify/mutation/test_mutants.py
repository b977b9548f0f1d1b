"""Parts of a change that no test would miss."""

import ast
from collections.abc import Mapping

from coder.core.verdict import MutationReport, UntestedPlace
from coder.verify.mutate import generate_mutants, mutate_change, mutate_sources, reverted_hunks

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


def is_noticed(texts: Mapping[str, str]) -> bool | None:
    """Return whether two tests, on the clamp alone, notice."""
    space: dict[str, object] = {}
    exec(texts["clamp.py"], space)  # the test's own text
    clamp = space["clamp"]
    assert callable(clamp)
    return [clamp(5, 1, 3), clamp(0, 1, 3)] != [3, 1]


def test_reports_untested_line() -> None:
    guard_result = mutate_change({"clamp.py": OLD}, {"clamp.py": NEW}, is_noticed, has_time=lambda: True)
    assert guard_result == MutationReport(
        survivors=(
            UntestedPlace(path="clamp.py", line=2, what="is as it was before", whole_hunk=True),
            UntestedPlace(path="clamp.py", line=11, what="is as it was before", whole_hunk=True),
            UntestedPlace(path="clamp.py", line=5, what="joins with `or`"),
        ),
        tried=guard_result.tried,
        mutants=guard_result.mutants,
        caught=guard_result.mutants - 1,
    )
    assert (guard_result.tried, guard_result.mutants) == (6, 3)


def test_separates_hunks_without_code() -> None:
    old = "def f():\n    return 1\n\n\nX = 1\n"
    new = "# why\ndef f():\n    return 2\n\n\nX = 1  # so\n"
    guard_result = mutate_change({"a.py": old}, {"a.py": new}, lambda _: True, has_time=lambda: True)
    assert guard_result.wording == (("a.py", 1), ("a.py", 6))


def test_each_mutant_parses_and_differs() -> None:
    variants = list(generate_mutants(OLD, NEW))
    assert {variant.line for variant in variants} == {3, 5, 6, 11}
    assert all(ast.dump(ast.parse(variant.text)) != ast.dump(ast.parse(NEW)) for variant in variants)
    assert len({variant.text for variant in variants}) == len(variants)


def test_handles_parenthesized_operands_and_non_ascii_text() -> None:
    new = 'def f(a, b):\n    return (("é" * a)) + ("ü" * (b))\n'
    texts = [variant.text for variant in generate_mutants("", new) if variant.what == "computes with `-`"]
    assert texts == ['def f(a, b):\n    return (("é" * a)) - ("ü" * (b))\n']


def test_skips_comments_docstrings_and_unparsable_mutants() -> None:
    old = "def f():\n    return 1\n"
    assert list(reverted_hunks(old, 'def f():\n    "A word."\n    # more\n    return 1\n')) == []
    assert list(generate_mutants(old, "def f(:\n")) == []


def test_ignores_inconclusive_mutants_and_respects_time_limit() -> None:
    assert (
        mutate_change({"a.py": OLD}, {"a.py": NEW}, lambda _: None, has_time=lambda: True) == MutationReport()
    )
    assert mutate_change(
        {"a.py": OLD}, {"a.py": NEW}, lambda _: True, has_time=lambda: False
    ) == MutationReport(ended=False)


def test_docstring_is_no_statement_to_leave_out() -> None:
    text = '"""Module."""\n\n\ndef f():\n    """Return 1."""\n    return 1\n'
    assert {mutant.line for mutant in generate_mutants("", text)} == {6}


def test_sources_take_turns() -> None:
    asked: list[str] = []
    texts = {"a.py": "A = 1\nB = 2\n", "b.py": "C = 3\nD = 4\n"}

    def kills(variant: Mapping[str, str]) -> bool:
        asked.extend(variant)
        return True

    report = mutate_sources(texts, kills, has_time=lambda: len(asked) < 4)
    assert asked == ["a.py", "b.py", "a.py", "b.py"]
    assert (report.tried, report.ended) == (4, False)
    assert report.mutants == report.caught
