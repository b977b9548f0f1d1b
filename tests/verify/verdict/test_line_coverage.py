from coder.core.ports import Trace, Traces
from coder.core.verdict import LineCoverage, RunProblem, TestResult
from coder.verify.tracing import executable_lines, measure_coverage

TEXT = '''\
"""Signs."""


def sign(number):
    """Return the sign."""
    if number < 0:
        word = "minus"
        return word
    return "plus"


def unused():
    return 1
'''
RESULT = TestResult(id="tests/test_a.py::test_a", outcome="passed")


def test_lines_that_no_test_executes_are_named() -> None:
    traces = Traces(
        tests=(Trace(result=RESULT, lines={"a.py": (6, 9), "other.py": (1,)}),), imported={"a.py": (1, 4, 12)}
    )
    assert measure_coverage({"a.py": TEXT}, traces) == LineCoverage(
        lines=8, executed=5, missing=("a.py:7-8", "a.py:13")
    )


def test_coverage_is_unknown_where_nothing_could_be_traced() -> None:
    traces = Traces(problem=RunProblem(kind="no_report", text="x"))
    assert measure_coverage({"a.py": TEXT}, traces) is None


def test_no_lines_in_what_does_not_compile() -> None:
    assert executable_lines("def f(:\n", "a.py") == frozenset()
