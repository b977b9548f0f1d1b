import pytest

from coder.core.events import Event, FilesChanged, NoteMade, Verified
from coder.core.notes import Diagnosis
from coder.core.verdict import Cause, Failure, Frame, TestResult, Verdict, VerdictKind
from coder.session.judging import diagnose_failures, unaddressed_places
from tests.records import make_records


def failed_result(test: str, cause: Cause, *, function: str = "work", path: str = "a.py") -> TestResult:
    failure = Failure(type="ValueError", message="no", frames=(Frame(path=path, line=3, function=function),))
    return TestResult(id=test, outcome="failed", failure=failure, cause=cause)


def files_changed(path: str, text: str, *others: str) -> FilesChanged:
    diff = "".join(
        (
            f"diff --git a/{other} b/{other}\n--- a/{other}\n+++ b/{other}\n@@ -1 +1 @@\n-x\n"
            f"+{text if other == path else 'as it was'}\n"
        )
        for other in (path, *others)
    )
    return FilesChanged(candidate="c1", paths=(path, *others), diff=diff)


def verified_event(*results: TestResult) -> Verified:
    verdict = Verdict(kind=VerdictKind.PASSING, reason="It is still red.", still_red=results)
    return Verified(candidate="c1", attempt=1, verdict=verdict)


LOGIC, FAULTY = failed_result("test_a.py::test_a", "logic"), failed_result("test_a.py::test_a", "test error")


def attempts(result: TestResult, *changed: tuple[str, ...]) -> list[Event]:
    """Return the events of attempts that change files, the first named anew each time, and fail alike."""
    return [
        event
        for number, (path, *others) in enumerate(changed)
        for event in (files_changed(path, str(number), *others), verified_event(result))
    ]


BOTH, TEST_AND_CODE = ("a.py", "test_a.py"), ("test_a.py", "a.py")


@pytest.mark.parametrize(
    ("events", "was", "cause", "count"),
    [
        (attempts(FAULTY, ("a.py",)), None, "test error", 1),
        (attempts(FAULTY, ("test_a.py",), ("test_a.py",)), "test error", "logic", 2),
        (attempts(LOGIC, BOTH, BOTH), "logic", "test error", 2),
        (attempts(LOGIC, ("a.py",), ("a.py",), ("a.py",)), None, "logic", 3),
        (attempts(LOGIC, BOTH, BOTH, TEST_AND_CODE, TEST_AND_CODE), "test error", "logic", 4),
    ],
    ids=[
        "starts from the triage",
        "repeated test error becomes logic",
        "repeated logic failure blames its own test",
        "an untouched test is not blamed",
        "back again when the other side is no better",
    ],
)
def test_cause_follows_attempts(events: list[Event], was: Cause | None, cause: Cause, count: int) -> None:
    (diagnosis,) = diagnose_failures(make_records(*events), "c1")
    assert (diagnosis.was, diagnosis.cause, diagnosis.attempts) == (was, cause, count)
    assert diagnosis.signature == "ValueError in a.py, work"


def test_caller_sets_limit_per_side() -> None:
    (diagnosis,) = diagnose_failures(make_records(*attempts(FAULTY, ("test_a.py",))), "c1", per_side=1)
    assert (diagnosis.was, diagnosis.cause) == ("test error", "logic")


def test_counts_signatures_separately_newest_first() -> None:
    other = failed_result("test_b.py::test_b", "logic", function="other")
    records = make_records(
        *attempts(LOGIC, ("a.py",)), files_changed("a.py", "2"), verified_event(LOGIC, other)
    )
    assert [(diagnosis.signature, diagnosis.attempts) for diagnosis in diagnose_failures(records, "c1")] == [
        ("ValueError in a.py, other", 1),
        ("ValueError in a.py, work", 2),
    ]


def test_counts_suggestion_until_it_is_followed() -> None:
    suggestion = NoteMade(
        candidate="c1", phase="diagnose", note=Diagnosis(summary="b is wrong", places=("b.py:3",))
    )
    events: list[Event] = [
        files_changed("a.py", "1"),
        verified_event(LOGIC),
        suggestion,
        files_changed("a.py", "2"),
        verified_event(LOGIC),
    ]
    assert unaddressed_places(make_records(*events)) == (("b.py:3",), 1)
    events += [files_changed("a.py", "3"), verified_event(LOGIC)]
    assert unaddressed_places(make_records(*events)) == (("b.py:3",), 2)
    events += [files_changed("b.py", "4", "a.py"), verified_event(LOGIC)]
    assert unaddressed_places(make_records(*events))[0] == ()
