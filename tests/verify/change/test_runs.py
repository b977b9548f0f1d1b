"""Time limits of test runs."""

from coder.core.verdict import RunProblem, TestReport
from coder.verify.base import patience


def test_time_limit_is_five_suite_durations_at_least_minute() -> None:
    assert [patience(TestReport(command="pytest", seconds=seconds)) for seconds in (0.1, 12.0, 30.0)] == [
        60.0,
        60.0,
        150.0,
    ]


def test_duration_is_unknown_before_suite_has_finished() -> None:
    assert patience(None) is None
    assert (
        patience(TestReport(command="pytest", problem=RunProblem(kind="timeout", text="Too slow."))) is None
    )
