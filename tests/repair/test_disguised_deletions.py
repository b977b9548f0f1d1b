"""Edits equivalent to deletions."""

from coder.core.ports import CallComparison
from coder.python.source import PythonSource
from coder.repair.credibility import find_equivalent_deletions, penalize_disguised_deletions
from tests.repair.places import candidate

TEXT = "def f(a):\n    a = a.strip()\n    return a\n"
SOURCES = {"a.py": PythonSource("a.py", TEXT)}
REMOVAL = candidate(TEXT, "a = a.strip()", "pass", family="deletion")
ODD = candidate(TEXT, "a.strip()", "a", family="unwrapped")
GOOD = candidate(TEXT, "strip", "lstrip", family="neighbour")
ELSEWHERE = candidate(TEXT, "return a", "return -a", family="unwrapped")


def test_penalizes_edit_equivalent_to_deletion() -> None:
    removed = find_equivalent_deletions([ODD, GOOD, ELSEWHERE], [GOOD, ODD, REMOVAL, ELSEWHERE], SOURCES)
    assert removed == {ODD: REMOVAL, GOOD: REMOVAL}
    edits = [ODD, GOOD, ELSEWHERE, REMOVAL]
    comparison = CallComparison(
        calls=("f(' a')",), before=("'a'",), after=(("' a'",), ("'a '",), ("' a'",), ("' a'",))
    )
    worth = penalize_disguised_deletions({ODD: 1.0, GOOD: 1.0, ELSEWHERE: 1.0}, removed, edits, comparison)
    assert worth == {ODD: 0.4, GOOD: 1.0, ELSEWHERE: 1.0}


def test_exempts_return_statements() -> None:
    text = "def f(a):\n    if not a:\n        return 1\n    return len(a)\n"
    removal, changed = (
        candidate(text, "return 1", "pass", family="deletion"),
        candidate(text, "1", "0", family="constant"),
    )
    assert find_equivalent_deletions([changed], [removal], {"a.py": PythonSource("a.py", text)}) == {}


def test_penalizes_equivalent_of_dropped_guard_less() -> None:
    text = "def f(a):\n    if a > 1:\n        a = 1\n    return a\n"
    dropped, turned = (
        candidate(text, "    if a > 1:\n        a", "    a", family="dropped_guard"),
        candidate(text, ">", "<"),
    )
    removed = find_equivalent_deletions([turned], [dropped], {"a.py": PythonSource("a.py", text)})
    assert penalize_disguised_deletions(
        {turned: 1.0},
        removed,
        [turned, dropped],
        CallComparison(calls=("f(0)",), before=("0",), after=(("1",), ("1",))),
    ) == {turned: 0.6}


def test_penalizes_condition_that_is_never_met() -> None:
    text = "def f(a):\n    if True:\n        a = -a\n    return a\n"
    never = candidate(text, "True", "False", family="constant")
    small, odd = (candidate(text, "True", new, family="unconditional") for new in ("a < 0", "a is None"))
    removed = find_equivalent_deletions(
        [never, small, odd], [never, small, odd], {"a.py": PythonSource("a.py", text)}
    )
    assert removed == {small: never, odd: never}
    comparison = CallComparison(calls=("f(-1)",), before=("1",), after=(("-1",), ("1",), ("-1",)))
    assert penalize_disguised_deletions(
        {never: 1.0, small: 1.0, odd: 1.0}, removed, [never, small, odd], comparison
    ) == {never: 1.0, small: 1.0, odd: 0.2}


def test_keeps_worth_if_calls_miss_statement() -> None:
    comparison = CallComparison(calls=("f('a')",), before=("'a'",), after=(("'a'",), ("'a'",)))
    assert penalize_disguised_deletions({ODD: 1.0}, {ODD: REMOVAL}, [ODD, REMOVAL], comparison) == {ODD: 1.0}


def test_keeps_worth_without_answers() -> None:
    assert penalize_disguised_deletions(
        {ODD: 1.0}, {ODD: REMOVAL}, [ODD, REMOVAL], CallComparison(calls=("f(1)",), after=((), ()))
    ) == {ODD: 1.0}
