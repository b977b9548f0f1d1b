"""Attestation of a session: its verdict with everything needed to check it again (`evidence.json`).

As an in-toto statement it has the predicate test-result:
https://github.com/in-toto/attestation/blob/main/spec/predicates/test-result.md
"""

import base64
import hashlib
from collections.abc import Sequence
from datetime import datetime
from typing import Any, assert_never

from coder.core import events
from coder.core.text import parse_json
from coder.core.values import Environment, UsageTotals, Value
from coder.core.verdict import Verdict, VerdictKind

FORMAT = 3


class Attestation(Value):
    """A verdict with everything it rests on."""

    format: int = FORMAT
    session: str
    version: str
    at: datetime
    """Time of the verdict, UTC."""
    issue: str
    base: str
    """Commit that the change applies to."""
    repeatable: bool
    """False where the base held uncommitted work, which is not kept."""
    diff: str
    test_command: str | None
    """As the user passed it; None where it was detected. The commands that ran are in the verdict."""
    unrelated_tests: tuple[str, ...] = ()
    """Tests that the user or the model said are not about the issue."""
    environment: Environment | None = None
    """The environment of its tests; None in sessions before it was recorded."""
    verdict: Verdict
    spent: UsageTotals
    seconds: float
    """Duration of the whole session."""


def build_attestation(records: Sequence[events.Record]) -> Attestation | None:
    """Return the attestation of a session: the verdict of what it delivered, else its last one.

    None where nothing was verified.
    """
    started = events.newest_event(records, events.SessionStarted)
    verified = [
        (record.at, record.event.verdict) for record in records if isinstance(record.event, events.Verified)
    ]
    if started is None or not verified:
        return None
    at, verdict = verified[-1]
    finished, changed = (
        events.newest_event(records, events.SessionFinished),
        events.newest_event(records, events.FilesChanged),
    )
    recorded = events.newest_event(records, events.EnvironmentRecorded)
    delivery = finished.delivery if finished else None
    on_head = delivery is not None and not delivery.needs_uncommitted_work
    return Attestation(
        session=started.session,
        version=started.version,
        at=at,
        issue=started.task.issue,
        base=started.judged_since or (started.head if on_head else started.base),
        repeatable=on_head or not started.dirty,
        diff=delivery.diff if delivery else changed.diff if changed else "",
        test_command=started.task.test_command,
        unrelated_tests=_excluded_tests(records, started),
        environment=recorded.environment if recorded else None,
        verdict=finished.verdict if finished and finished.verdict else verdict,
        spent=finished.spent if finished else UsageTotals(),
        seconds=finished.seconds if finished else 0.0,
    )


def _excluded_tests(records: Sequence[events.Record], started: events.SessionStarted) -> tuple[str, ...]:
    notes = events.events_of(records, events.NoteMade)
    by_model = (test for made in notes for test in getattr(made.note, "unrelated_tests", ()))
    return tuple(dict.fromkeys((*started.task.unrelated_tests, *by_model)))


def describe_regression(attested_verdict: Verdict, current_verdict: Verdict) -> str:
    """Describe how a verdict falls short of the attested one; empty where it still holds."""
    kinds = [*VerdictKind]  # the one that says most comes first
    if kinds.index(current_verdict.kind) > kinds.index(attested_verdict.kind):
        return f"it was {attested_verdict.label} and is {current_verdict.label} now: {current_verdict.reason}"
    if missing := [target for target in attested_verdict.targets if target not in current_verdict.targets]:
        verb = "does" if len(missing) == 1 else "do"
        return f"{', '.join(missing[:3])} went from red to green then and {verb} not now"
    return ""


STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "https://in-toto.io/attestation/test-result/v0.1"


def build_statement(attestation: Attestation) -> dict[str, Any]:
    """Return the statement about the git tree that was verified.

    Its configuration names the test commands and holds evidence.json, by which the verdict can be checked.
    """
    verdict = attestation.verdict
    evidence = attestation.model_dump_json(indent=2).encode()
    failed = [result.id for result in (*verdict.broken, *verdict.still_red)]
    commands = dict.fromkeys(verdict.commands)
    return {
        "_type": STATEMENT_TYPE,
        "subject": [
            {
                "name": f"change on {attestation.base}",
                "digest": {"gitTree": verdict.tree} if verdict.tree else {"gitCommit": attestation.base},
            }
        ],
        "predicateType": PREDICATE_TYPE,
        "predicate": {
            "result": _result(verdict),
            "configuration": [
                *({"name": command} for command in commands),
                {
                    "name": "evidence.json",
                    "digest": {"sha256": hashlib.sha256(evidence).hexdigest()},
                    "content": base64.b64encode(evidence).decode("ascii"),
                    "mediaType": "application/json",
                },
            ],
            "passedTests": list(verdict.targets),
            "warnedTests": [],
            "failedTests": failed,
            "verdict": verdict.label,
            "reason": verdict.reason,
        },
    }


def extract_evidence(text: str) -> str:
    """Return the evidence.json inside a statement; any other text as it is.

    Neither a signature nor a digest is checked: who checks evidence judges the change again.

    Raises:
        ValueError: a statement holds no evidence.
    """
    try:
        value = parse_json(text)
    except ValueError:
        return text
    if not isinstance(value, dict) or value.get("_type") != STATEMENT_TYPE:
        return text
    try:
        entries = {entry["name"]: entry for entry in value["predicate"]["configuration"]}
        return base64.b64decode(entries["evidence.json"]["content"]).decode("utf-8")
    except (KeyError, TypeError) as error:
        raise ValueError("this in-toto statement holds no evidence.json") from error


def _result(verdict: Verdict) -> str:
    """Return the predicate's word: WARNED where something is left to look at."""
    match verdict.kind:
        case VerdictKind.PROVEN:
            return "PASSED"
        case VerdictKind.FIXED | VerdictKind.PASSING | VerdictKind.NOT_TESTED:
            return "WARNED"
        case VerdictKind.NOT_FIXED | VerdictKind.BROKEN | VerdictKind.GAVE_UP | VerdictKind.LIMIT:
            return "FAILED"
        case _ as unreachable:
            assert_never(unreachable)
