"""Suspicion of lines and functions, and passing tests that guard an edit."""

import pytest

from coder.core.ports import Trace
from coder.core.values import Suspect
from coder.core.verdict import Failure, Frame, Outcome, TestResult
from coder.python.source import PythonSource
from coder.repair.localization import (
    GuardSelector,
    lower_comparison_methods,
    ochiai_scores,
    raise_failure_frames,
    raise_import_time_code,
    raise_miscalled_functions,
    rank_suspects,
)
from tests.repair.fakes import candidate

TEXT = """\
LIMIT = 3
OTHER = 4

def inner(x):
    if x > LIMIT:
        return 1
    return 0

def outer(x):
    return inner(x)
"""


def trace(name: str, outcome: Outcome, *lines: int) -> Trace:
    return Trace(result=TestResult(id=name, outcome=outcome), lines={"a.py": lines})


def sources(text: str) -> dict[str, PythonSource]:
    return {"a.py": PythonSource("a.py", text)}


TRACES = [
    trace("red", "failed", 5, 6, 10),
    trace("green", "passed", 5, 7, 10),
    trace("other", "passed", 10),
    trace("out", "skipped", 6),
]


def test_ochiai_matches_formula() -> None:
    scores = ochiai_scores(TRACES)["a.py"]
    assert scores == {5: pytest.approx(1 / 2**0.5), 6: 1.0, 10: pytest.approx(1 / 3**0.5)}


def test_ranks_functions_by_worst_line() -> None:
    ranked = rank_suspects(ochiai_scores(TRACES), sources(TEXT))
    assert [(suspect.place, suspect.line) for suspect in ranked] == [("a.py::inner", 6), ("a.py::outer", 10)]
    assert ranked[0] == Suspect(place="a.py::inner", line=6, score=1.0)


def test_raises_innermost_frames() -> None:
    frames = (
        Frame(path="tests/test_a.py", line=3, function="test"),
        Frame(path="a.py", line=10, function="outer"),
    )
    scores = ochiai_scores(TRACES)
    raised = raise_failure_frames(scores, [Failure(type="ValueError", message="", frames=frames)])
    assert raised["a.py"][10] == pytest.approx(scores["a.py"][10] * 1.3)
    assert raised["a.py"][6] == scores["a.py"][6]
    assert raise_failure_frames(scores, [Failure(type="TooLong", message="", frames=frames)]) == scores


def test_lowers_comparison_methods() -> None:
    text = (
        "class A:\n    def __eq__(self, other):\n        return True\n\n    def total(self):\n"
        "        return 1\n"
    )
    scores = lower_comparison_methods({"a.py": {3: 1.0, 6: 0.9}}, sources(text))
    assert scores == {"a.py": {3: pytest.approx(0.6), 6: 0.9}}


def test_raises_import_time_code_with_its_readers() -> None:
    scores = raise_import_time_code(ochiai_scores(TRACES), sources(TEXT), {})["a.py"]
    assert scores[1] == pytest.approx(0.4)
    assert scores[4] == pytest.approx(0.4)
    assert 2 not in scores


def test_raises_function_called_at_import_by_shared_names() -> None:
    text = "TABLE = []\n\ndef add(x):\n    TABLE.append(x)\n\nadd(1)\n\ndef read():\n    return TABLE[0]\n"
    sources = {"a.py": PythonSource("a.py", text), "b.py": PythonSource("b.py", "TABLE = 1\nOTHER = 2\n")}
    scores = raise_import_time_code({"a.py": {9: 1.0}}, sources, {"a.py": (1, 3, 4, 6, 8), "b.py": (1, 2)})
    assert scores["a.py"] == {9: 1.0, 8: pytest.approx(0.4), 1: pytest.approx(0.4), 4: pytest.approx(0.4)}
    assert scores["b.py"] == {1: pytest.approx(0.28)}


def test_raises_function_that_builds_suspicious_data() -> None:
    makers = "def made():\n    return [1]\n\ndef other():\n    return [2]\n\n"
    text = f"{makers}TABLE = made()\nREST = other()\n\ndef read():\n    return TABLE[0]\n"
    scores = raise_import_time_code({"a.py": {11: 1.0}}, sources(text), {"a.py": (1, 2, 4, 5, 7, 8, 10)})[
        "a.py"
    ]
    assert scores == {11: 1.0, 10: pytest.approx(0.4), 7: pytest.approx(0.4), 2: pytest.approx(0.4)}


def test_raises_names_read_by_test_and_their_decorators() -> None:
    text = (
        "SIZE = 1\nOTHER = 2\n\ndef noted(call):\n    call.noted = True\n    return call\n\n"
        "@noted\ndef double(x):\n    return x\n"
    )
    scores = raise_import_time_code({}, sources(text), {"a.py": (1, 2, 4, 5, 6, 9)}, {"SIZE", "double"})[
        "a.py"
    ]
    assert scores.keys() == {1, 5, 6, 9}
    assert scores[1] == scores[5] == pytest.approx(0.28)


def test_raises_header_of_miscalled_function() -> None:
    text = "class A:\n def size(unit):\n  return 1\n\n def other(self):\n  return self.size(1)\n"
    message = "A.size() takes 1 positional argument but 2 were given"
    failure = Failure(type="TypeError", message=message, text="")
    scores = raise_miscalled_functions({"a.py": {6: 0.5}}, sources(text), [failure])
    assert scores == {"a.py": {6: 0.5, 2: pytest.approx(0.45)}}


GUARDED = "LIMIT = 1\n\n\ndef f(a):\n    return a < 1\n\n\ndef g(a):\n    return a > 1\n"


def guard(name: str, seconds: float, *lines: int) -> Trace:
    return Trace(result=TestResult(id=name, outcome="passed", seconds=seconds), lines={"a.py": lines})


GUARDS = [guard("slow", 0.3, 5), guard("quick", 0.1, 5), guard("other", 0.0, 9), guard("endless", 60.0, 5)]


def select(traces: list[Trace], old: str = "a < 1", new: str = "a <= 1") -> tuple[str, ...]:
    return GuardSelector(traces).select_guards(candidate(GUARDED, old, new), PythonSource("a.py", GUARDED))


def test_selects_quickest_tests_of_changed_function() -> None:
    assert select(GUARDS) == ("quick", "slow")


def test_interleaves_test_functions() -> None:
    seconds = {"t::told[1]": 0.1, "t::told[2]": 0.2, "t::other": 0.3, "t::told[0]": 0.0}
    traces = [guard(name, duration, 5) for name, duration in seconds.items()]
    assert select(traces) == ("t::told[0]", "t::other", "t::told[1]", "t::told[2]")
