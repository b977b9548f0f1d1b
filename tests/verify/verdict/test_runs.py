"""How long a run of tests is waited for."""

from coder.core.values.verdict import Problem, TestReport
from coder.verify.verdict.runs import patience


def test_a_run_may_take_five_times_as_long_as_the_suite_took_and_a_minute_in_any_case() -> None:
    assert [patience(TestReport(command="pytest", seconds=seconds)) for seconds in (0.1, 12.0, 30.0)] == [
        60.0,
        60.0,
        150.0,
    ]


def test_nothing_is_known_before_the_suite_has_ended_by_itself() -> None:
    assert patience(None) is None
    assert patience(TestReport(command="pytest", problem=Problem(kind="timeout", text="Too slow."))) is None
