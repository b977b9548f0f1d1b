from collections.abc import Sequence
from datetime import UTC, datetime

from coder.core.events import Event, FilesChanged, NoteMade, Record, Verified
from coder.core.notes import Diagnosis
from coder.core.verdict import Cause, Failure, Frame, TestResult, Verdict, VerdictKind
from coder.strategies.diagnosis import diagnose_failures, unaddressed_places


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


def records_of(*events: Event) -> Sequence[Record]:
    return [
        Record(number=number, at=datetime(2026, 1, 1, tzinfo=UTC), event=event)
        for number, event in enumerate(events, 1)
    ]


LOGIC, FAULTY = failed_result("test_a.py::test_a", "logic"), failed_result("test_a.py::test_a", "test error")


def test_starts_from_triage_of_failure() -> None:
    (diagnosis,) = diagnose_failures(records_of(files_changed("a.py", "1"), verified_event(FAULTY)), "c1")
    assert (diagnosis.signature, diagnosis.cause, diagnosis.attempts, diagnosis.was) == (
        "ValueError in a.py, work",
        "test error",
        1,
        None,
    )


def test_repeated_test_error_becomes_logic() -> None:
    records = records_of(
        files_changed("test_a.py", "1"),
        verified_event(FAULTY),
        files_changed("test_a.py", "2"),
        verified_event(FAULTY),
    )
    (diagnosis,) = diagnose_failures(records, "c1")
    assert (diagnosis.was, diagnosis.cause, diagnosis.attempts) == ("test error", "logic", 2)


def test_repeated_logic_failure_blames_own_test() -> None:
    records = records_of(
        files_changed("a.py", "1", "test_a.py"),
        verified_event(LOGIC),
        files_changed("a.py", "2", "test_a.py"),
        verified_event(LOGIC),
    )
    (diagnosis,) = diagnose_failures(records, "c1")
    assert (diagnosis.was, diagnosis.cause) == ("logic", "test error")


def test_does_not_blame_untouched_test() -> None:
    records = records_of(
        *[event for text in "123" for event in (files_changed("a.py", text), verified_event(LOGIC))]
    )
    (diagnosis,) = diagnose_failures(records, "c1")
    assert (diagnosis.was, diagnosis.cause, diagnosis.attempts) == (None, "logic", 3)


def test_caller_sets_limit_per_side() -> None:
    records = records_of(files_changed("test_a.py", "1"), verified_event(FAULTY))
    (diagnosis,) = diagnose_failures(records, "c1", per_side=1)
    assert (diagnosis.was, diagnosis.cause) == ("test error", "logic")


def test_switches_back_when_other_side_is_no_better() -> None:
    own = ("a.py", "test_a.py")
    first: list[Event] = [
        files_changed(own[0], "1", own[1]),
        verified_event(LOGIC),
        files_changed(own[0], "2", own[1]),
        verified_event(LOGIC),
    ]
    later_events: list[Event] = [
        files_changed(own[1], "3", own[0]),
        verified_event(LOGIC),
        files_changed(own[1], "4", own[0]),
        verified_event(LOGIC),
    ]
    (diagnosis,) = diagnose_failures(records_of(*first, *later_events), "c1")
    assert (diagnosis.was, diagnosis.cause) == ("test error", "logic")


def test_counts_signatures_separately_newest_first() -> None:
    other = failed_result("test_b.py::test_b", "logic", function="other")
    records = records_of(
        files_changed("a.py", "1"),
        verified_event(LOGIC),
        files_changed("a.py", "2"),
        verified_event(LOGIC, other),
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
    assert unaddressed_places(records_of(*events)) == (("b.py:3",), 1)
    events += [files_changed("a.py", "3"), verified_event(LOGIC)]
    assert unaddressed_places(records_of(*events)) == (("b.py:3",), 2)
    events += [files_changed("b.py", "4", "a.py"), verified_event(LOGIC)]
    assert unaddressed_places(records_of(*events))[0] == ()
