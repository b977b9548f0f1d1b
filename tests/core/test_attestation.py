"""Attestation in a session's log, and its validity."""

from datetime import UTC, datetime
from pathlib import Path

from coder.core.attestation import Attestation, build_attestation, describe_regression
from coder.core.events import (
    EnvironmentRecorded,
    Event,
    FilesChanged,
    Record,
    SessionFinished,
    SessionStarted,
    Task,
    Verified,
)
from coder.core.values import Delivery, Environment
from coder.core.verdict import Verdict, VerdictKind

AT = datetime(2026, 1, 1, tzinfo=UTC)
PROVEN = Verdict(kind=VerdictKind.PROVEN, reason="It is.", targets=("t.py::test_a",), tree="abc")
STARTED = SessionStarted(
    session="s",
    task=Task(issue="wrong", directory=Path("/r")),
    repository="/r",
    head="h",
    base="b",
    dirty=True,
    model="m",
    version="1",
)
CHANGED = FilesChanged(candidate="c1", paths=("a.py",), diff="the change")
JUDGED = Verified(candidate="c1", attempt=1, verdict=PROVEN)


def log(*events: Event) -> list[Record]:
    return [Record(number=number, at=AT, event=event) for number, event in enumerate(events, 1)]


def finished(delivery: Delivery | None) -> SessionFinished:
    return SessionFinished(
        kind=VerdictKind.PROVEN, summary="", verdict=PROVEN, delivery=delivery, seconds=3.0, exit_code=0
    )


def test_verified_change_is_attested_on_its_base() -> None:
    environment = Environment(python="3.12.1", packages=("attrs-25.1",), sandbox="bubblewrap").with_hash()
    statement = build_attestation(log(STARTED, CHANGED, JUDGED, EnvironmentRecorded(environment=environment)))
    assert statement is not None
    assert statement.environment == environment
    assert environment.sentence.startswith("Environment: 1 packages of Python, bubblewrap; SHA-256 ")
    assert (statement.base, statement.diff, statement.repeatable, statement.verdict, statement.at) == (
        "b",
        "the change",
        False,
        PROVEN,
        AT,
    )
    assert Attestation.model_validate_json(statement.model_dump_json()) == statement


def test_a_delivered_fix_is_attested_on_head() -> None:
    statement = build_attestation(
        log(STARTED, CHANGED, JUDGED, finished(Delivery(diff="on head", branch="coder/x", commit="c")))
    )
    assert statement is not None
    assert (statement.base, statement.diff, statement.repeatable, statement.seconds) == (
        "h",
        "on head",
        True,
        3.0,
    )
    needing = build_attestation(
        log(STARTED, CHANGED, JUDGED, finished(Delivery(diff="on base", needs_uncommitted_work=True)))
    )
    assert needing is not None
    assert (needing.base, needing.diff, needing.repeatable) == ("b", "on base", False)


def test_attests_nothing_without_verdict() -> None:
    assert build_attestation(log(STARTED, CHANGED)) is None


def test_a_verdict_holds_where_kind_and_targets_are_the_same() -> None:
    assert (
        describe_regression(
            PROVEN, PROVEN.model_copy(update={"seconds": 9.0, "targets": ("t.py::test_a", "t.py::test_b")})
        )
        == ""
    )
    broken = Verdict(kind=VerdictKind.BROKEN, reason="It breaks t.py::test_c.")
    assert describe_regression(PROVEN, broken) == "it was PROVEN and is BROKEN now: It breaks t.py::test_c."
    assert describe_regression(broken, PROVEN.model_copy(update={"targets": ()})) == ""
    other = PROVEN.model_copy(update={"targets": ("t.py::test_b",)})
    assert describe_regression(PROVEN, other) == "t.py::test_a went from red to green then and does not now"


def test_only_a_worse_verdict_no_longer_holds() -> None:
    order = ("PROVEN", "FIXED", "PASSING", "NOT TESTED", "NOT FIXED", "BROKEN")
    verdicts = [Verdict(kind=VerdictKind(word), reason="So it is.") for word in order]
    holds = [[not describe_regression(then, now) for now in verdicts] for then in verdicts]
    assert holds == [[now <= then for now in range(6)] for then in range(6)]
