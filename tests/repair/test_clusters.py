"""Clusters of survivors by behaviour, and decisions between them."""

from dataclasses import replace

from coder.core.ports import CallComparison
from coder.python.source import PythonSource
from coder.repair.candidates import RepairCandidate
from coder.repair.clusters import (
    BehaviorCluster,
    cluster_by_behavior,
    find_distinguishing_call,
    is_decisive,
)
from tests.repair.places import candidate

TEXT = "def f(a):\n    return a < 1\n"
ONE, TWO, OTHER = (
    candidate(TEXT, "a < 1", new, family=family)
    for new, family in (("a <= 1", "comparison"), ("a < 2", "boundary"), ("a", "negation"))
)
CALLS = ("f(1)", "f(0)", "f(3)", "f(4)")
BEFORE = ("False", "True", "False", "False")


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
    assert [
        opinion.representative
        for opinion in cluster_by_behavior([OTHER, ONE], {OTHER: 0.6, ONE: 0.5}, comparison)
    ] == [
        ONE,
        OTHER,
    ]


def test_penalizes_accidental_exceptions() -> None:
    accidental = compared(("True", "True", "False", "raises IndexError"), ("True", "True", "False", "True"))
    assert [
        opinion.representative
        for opinion in cluster_by_behavior([OTHER, ONE], {OTHER: 0.6, ONE: 0.5}, accidental)
    ] == [
        ONE,
        OTHER,
    ]
    deliberate = compared(("True", "True", "False", "raises ValueError"), ("True", "True", "False", "True"))
    assert [
        opinion.representative
        for opinion in cluster_by_behavior([OTHER, ONE], {OTHER: 0.6, ONE: 0.5}, deliberate)
    ] == [
        OTHER,
        ONE,
    ]


def test_penalizes_contradicting_documentation() -> None:
    comparison = CallComparison(
        calls=("f(1)", ">>> a.f"),
        before=("1", "1 of 2 otherwise"),
        after=(("2", "1 of 2 otherwise"), ("3", "as documented")),
    )
    assert [
        opinion.representative
        for opinion in cluster_by_behavior([OTHER, ONE], {OTHER: 0.6, ONE: 0.4}, comparison)
    ] == [
        ONE,
        OTHER,
    ]


def test_separates_edits_without_answers() -> None:
    assert [
        opinion.members for opinion in cluster_by_behavior([ONE, TWO], {ONE: 1.0, TWO: 0.5}, CallComparison())
    ] == [
        (ONE,),
        (TWO,),
    ]


def test_separates_edits_called_only_indirectly() -> None:
    sources = {"a.py": PythonSource("a.py", TEXT)}
    again = candidate(TEXT, "a < 1\n", "a <= 1\n", family="similar")
    comparison = CallComparison(calls=("main(1)", "main(2)"), before=("1", "1"), after=(("1", "2"),) * 3)
    worth = {ONE: 0.5, TWO: 0.4, again: 0.3}
    assert [
        opinion.members
        for opinion in cluster_by_behavior([ONE, TWO, again], worth, comparison, sources=sources)
    ] == [
        (ONE, again),
        (TWO,),
    ]
    direct = comparison.model_copy(update={"calls": ("main(1)", "A.f(2)")})
    assert [
        opinion.members for opinion in cluster_by_behavior([ONE, TWO, again], worth, direct, sources=sources)
    ] == [(ONE, TWO, again)]
    inner = [replace(edit, place="a.py::main.f") for edit in (ONE, TWO)]
    grouped = cluster_by_behavior(inner, dict.fromkeys(inner, 0.5), comparison, sources=sources)
    assert [opinion.members for opinion in grouped] == [tuple(inner)]


def test_groups_equivalent_conditions() -> None:
    text = "def f(a, b):\n    if not (not a in b):\n        return 1\n"
    same = [
        candidate(text, "not (not a in b)", new)
        for new in ("not a in b", "(a not in b)", "not (a in b)", "not a is b")
    ]
    groups = cluster_by_behavior(
        same, dict.fromkeys(same, 0.5), CallComparison(), sources={"a.py": PythonSource("a.py", text)}
    )
    assert [{*opinion.members} for opinion in groups] == [{*same[:3]}, {same[3]}]


def test_groups_reordered_keyword_arguments() -> None:
    text = "def f(a, b):\n    return g(a, b=b)\n"
    same = [
        candidate(text, "g(a, b=b)", new) for new in ("g(a, b=b, c=1)", "g(a, c=1, b=b)", "g(a, *b, **a)")
    ]
    groups = cluster_by_behavior(
        same, dict.fromkeys(same, 0.5), CallComparison(), sources={"a.py": PythonSource("a.py", text)}
    )
    assert [{*opinion.members} for opinion in groups] == [{*same[:2]}, {same[2]}]


def test_orders_simplest_equivalent_first() -> None:
    text = "def f(a, b):\n    if not (a or b == 1):\n        return 1\n"
    denied, plain, poor = (
        candidate(text, "not (a or b == 1)", new) for new in ("not (a or b != 1)", "(a or b == 1)", "a")
    )
    sources, comparison = (
        {"a.py": PythonSource("a.py", text)},
        CallComparison(calls=("f(1, 2)",), before=("1",), after=(("2",),) * 3),
    )
    (opinion,) = cluster_by_behavior(
        [denied, plain, poor], {denied: 0.9, plain: 0.8, poor: 0.5}, comparison, sources=sources
    )
    assert opinion.members == (plain, denied, poor)


def test_separates_edits_that_change_no_answer() -> None:
    text = "def f(a):\n    return a < 1 or a\n"
    first, other = candidate(text, "a < 1", "a <= 1"), candidate(text, "or", "and")
    worth, sources = {first: 0.5, other: 0.5}, {"a.py": PythonSource("a.py", text)}
    comparison = CallComparison(calls=("f(1)",), before=("1",), after=(("2",),) * 2)
    assert [
        opinion.members for opinion in cluster_by_behavior([first, other], worth, comparison, sources=sources)
    ] == [(first, other)]
    unchanged = comparison.model_copy(update={"before": ("2",)})
    assert [
        opinion.members for opinion in cluster_by_behavior([first, other], worth, unchanged, sources=sources)
    ] == [
        (first,),
        (other,),
    ]


def test_groups_same_statement_before_or_after_line() -> None:
    text = "def f(a):\n    g(a)\n    h(a)\n    return a\n"
    first, second, third, other = (
        candidate(text, old, new, family="copied")
        for old, new in (("", "k(a)\n    "), ("", "\n    k(a)"), ("", "if a:\n        "), ("g(a)", "k(a)"))
    )
    places = {first: text.index("g(a)"), second: text.index("\n    h(a)"), third: text.index("h(a)")}
    moved = {place: placed(place, places[place]) for place in places}
    ranked = [*moved.values(), other]
    comparison = CallComparison(calls=("f(1)",), before=("1",), after=(("1",),) * 4)
    sources = {other.edit.path: PythonSource(other.edit.path, text)}
    assert [
        len(opinion.members)
        for opinion in cluster_by_behavior(ranked, dict.fromkeys(ranked, 0.5), comparison, sources=sources)
    ] == [2, 1, 1]


def placed(edit: RepairCandidate, start: int) -> RepairCandidate:
    change = edit.edit.changes[0].model_copy(update={"start": start, "end": start})
    return replace(edit, edit=edit.edit.model_copy(update={"changes": (change,)}))
