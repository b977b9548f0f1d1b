"""Clusters of survivors by behaviour, and decisions between them."""

from dataclasses import replace

import pytest

from coder.core.ports import CallComparison
from coder.python.source import PythonSource
from coder.repair.candidates import RepairCandidate
from coder.repair.clusters import BehaviorCluster, cluster_by_behavior, find_distinguishing_call, is_decisive
from tests.repair.places import candidate, marked_candidate

TEXT = "def f(a):\n    return a < 1\n"
ONE, TWO, OTHER = (
    candidate(TEXT, "a < 1", new, family=family)
    for new, family in (("a <= 1", "comparison"), ("a < 2", "boundary"), ("a", "negation"))
)
CALLS = ("f(1)", "f(0)", "f(3)", "f(4)")
BEFORE = ("False", "True", "False", "False")


def group(
    worth: dict[RepairCandidate, float], comparison: CallComparison | None = None, *, text: str = ""
) -> list[tuple[RepairCandidate, ...]]:
    """Return the members of each cluster of the edits of a text, the likeliest first."""
    sources = {"a.py": PythonSource("a.py", text)} if text else {}
    clusters = cluster_by_behavior([*worth], worth, comparison or CallComparison(), sources=sources)
    return [cluster.members for cluster in clusters]


def compared(*after: tuple[str, ...]) -> CallComparison:
    return CallComparison(calls=CALLS, before=BEFORE, after=after)


def test_agreeing_families_outweigh_single_one() -> None:
    same = ("True", "True", "False", "False")
    comparison = compared(("True", "False", "True", "True"), same, same)
    first, second = cluster_by_behavior([OTHER, ONE, TWO], {ONE: 0.5, TWO: 0.4, OTHER: 0.6}, comparison)
    assert (first.members, second.members) == ((ONE, TWO), (OTHER,))
    assert is_decisive([first, second], failing_test_count=2)
    assert find_distinguishing_call(first, [second], comparison) == "f(0) gives True, elsewhere False"


def test_nothing_decides_between_equals() -> None:
    halves = cluster_by_behavior(
        [ONE, TWO, OTHER], dict.fromkeys((ONE, TWO, OTHER), 0.5), compared(("a",) * 4, ("b",) * 4, ("c",) * 4)
    )
    assert len(halves) == 3
    assert not is_decisive(halves, failing_test_count=2)


def test_single_failing_test_requires_likely_winner() -> None:
    other = candidate(TEXT, "a < 1", "len(a) < 1", family="wrapped")

    def offered(*weights: float, tests: int, first: RepairCandidate = other) -> bool:
        return is_decisive(
            [BehaviorCluster(members=(first,), answers=(str(weight),), weight=weight) for weight in weights],
            failing_test_count=tests,
        )

    assert offered(0.9, 0.1, tests=2)
    assert offered(0.61, 0.2, tests=1)
    assert offered(0.6, 0.35, tests=2)
    assert not offered(0.6, 0.35, tests=1)
    assert offered(0.6, 0.35, tests=1, first=ONE), "a mere slip"
    assert offered(1.6, 0.9, tests=1), "likely in itself"
    assert offered(0.2, tests=1), "nobody contests it"


def test_penalizes_more_changed_answers() -> None:
    comparison = compared(("True", "False", "True", "True"), ("True", "True", "False", "False"))
    assert group({OTHER: 0.6, ONE: 0.5}, comparison) == [(ONE,), (OTHER,)]


@pytest.mark.parametrize(("raised", "first"), [("IndexError", ONE), ("ValueError", OTHER)])
def test_penalizes_accidental_exceptions_only(raised: str, first: RepairCandidate) -> None:
    answers = ("True", "True", "False")
    comparison = compared((*answers, f"raises {raised}"), (*answers, "True"))
    assert group({OTHER: 0.6, ONE: 0.5}, comparison)[0] == (first,)


def test_penalizes_contradicting_documentation() -> None:
    comparison = CallComparison(
        calls=("f(1)", ">>> a.f"),
        before=("1", "1 of 2 otherwise"),
        after=(("2", "1 of 2 otherwise"), ("3", "as documented")),
    )
    assert group({OTHER: 0.6, ONE: 0.4}, comparison) == [(ONE,), (OTHER,)]


def test_separates_edits_called_only_indirectly() -> None:
    again = candidate(TEXT, "a < 1\n", "a <= 1\n", family="similar")
    comparison = CallComparison(calls=("main(1)", "main(2)"), before=("1", "1"), after=(("1", "2"),) * 3)
    worth = {ONE: 0.5, TWO: 0.4, again: 0.3}
    assert group(worth) == [(ONE,), (TWO,), (again,)]
    assert group(worth, comparison, text=TEXT) == [(ONE, again), (TWO,)]
    direct = comparison.model_copy(update={"calls": ("main(1)", "A.f(2)")})
    assert group(worth, direct, text=TEXT) == [(ONE, TWO, again)]
    inner = [replace(edit, place="a.py::main.f") for edit in (ONE, TWO)]
    assert group(dict.fromkeys(inner, 0.5), comparison, text=TEXT) == [tuple(inner)]


@pytest.mark.parametrize(
    ("text", "old", "same", "other"),
    [
        (
            "def f(a, b):\n    if not (not a in b):\n        return 1\n",
            "not (not a in b)",
            ["not a in b", "(a not in b)", "not (a in b)"],
            "not a is b",
        ),
        (
            "def f(a, b):\n    return g(a, b=b)\n",
            "g(a, b=b)",
            ["g(a, b=b, c=1)", "g(a, c=1, b=b)"],
            "g(a, *b, **a)",
        ),
    ],
)
def test_groups_equivalent_code(text: str, old: str, same: list[str], other: str) -> None:
    edits = [candidate(text, old, new) for new in (*same, other)]
    groups = group(dict.fromkeys(edits, 0.5), text=text)
    assert [{*members} for members in groups] == [{*edits[:-1]}, {edits[-1]}]


def test_orders_simplest_equivalent_first() -> None:
    text = "def f(a, b):\n    if not (a or b == 1):\n        return 1\n"
    denied, plain, poor = (
        candidate(text, "not (a or b == 1)", new) for new in ("not (a or b != 1)", "(a or b == 1)", "a")
    )
    comparison = CallComparison(calls=("f(1, 2)",), before=("1",), after=(("2",),) * 3)
    assert group({denied: 0.9, plain: 0.8, poor: 0.5}, comparison, text=text) == [(plain, denied, poor)]


def test_separates_edits_that_change_no_answer() -> None:
    text = "def f(a):\n    return a < 1 or a\n"
    first, other = candidate(text, "a < 1", "a <= 1"), candidate(text, "or", "and")
    worth = {first: 0.5, other: 0.5}
    comparison = CallComparison(calls=("f(1)",), before=("1",), after=(("2",),) * 2)
    assert group(worth, comparison, text=text) == [(first, other)]
    unchanged = comparison.model_copy(update={"before": ("2",)})
    assert group(worth, unchanged, text=text) == [(first,), (other,)]


def test_groups_same_statement_before_or_after_line() -> None:
    text = "def f(a):\n    g(a)\n    h(a)\n    return a\n"
    edits = [
        marked_candidate(text.replace("g(a)\n    h(a)", marked), family="copied")
        for marked in (
            "«→k(a)\n    »g(a)\n    h(a)",
            "g(a)«→\n    k(a)»\n    h(a)",
            "g(a)\n    «→if a:\n        »h(a)",
            "«g(a)→k(a)»\n    h(a)",
        )
    ]
    comparison = CallComparison(calls=("f(1)",), before=("1",), after=(("1",),) * 4)
    groups = group(dict.fromkeys(edits, 0.5), comparison, text=text)
    assert [len(members) for members in groups] == [2, 1, 1]
