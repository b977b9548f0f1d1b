"""In-toto statements, read by the library of the specification."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from google.protobuf import json_format
from in_toto_attestation.predicates.test_result.v0 import test_result_pb2
from in_toto_attestation.v1 import statement_pb2
from in_toto_attestation.v1.statement import Statement

from coder.core.attestation import Attestation, build_statement, extract_evidence
from coder.core.values import UsageTotals
from coder.core.verdict import TestResult, Verdict, VerdictKind


def attest(kind: VerdictKind, **fields: Any) -> Attestation:
    return Attestation(
        session="s",
        version="1",
        at=datetime(2026, 1, 1, tzinfo=UTC),
        issue="wrong",
        base="b" * 40,
        repeatable=True,
        diff="the change",
        test_command=None,
        verdict=Verdict(kind=kind, reason="It is.", tree="t" * 40, commands=("pytest", "pytest"), **fields),
        spent=UsageTotals(),
        seconds=1.0,
    )


def test_statement_has_form_of_specification() -> None:
    attestation = attest(VerdictKind.PROVEN, targets=("t.py::test_a",))
    value = build_statement(attestation)
    parsed = json_format.ParseDict(value, statement_pb2.Statement())
    Statement.copy_from_pb(parsed).validate()
    assert parsed.subject[0].digest == {"gitTree": "t" * 40}
    predicate = json_format.ParseDict(
        value["predicate"], test_result_pb2.TestResult(), ignore_unknown_fields=True
    )
    assert (predicate.result, list(predicate.passed_tests)) == ("PASSED", ["t.py::test_a"])
    assert [entry.name for entry in predicate.configuration] == ["pytest", "evidence.json"]
    evidence = predicate.configuration[1].content.decode()
    assert Attestation.model_validate_json(evidence) == attestation


@pytest.mark.parametrize(
    ("kind", "fields", "result"),
    [
        (VerdictKind.PASSING, {}, "WARNED"),
        (VerdictKind.PASSING, {"still_red": (TestResult(id="t.py::test_a", outcome="failed"),)}, "FAILED"),
        (VerdictKind.BROKEN, {"broken": (TestResult(id="t.py::test_b", outcome="failed"),)}, "FAILED"),
        (VerdictKind.NOT_TESTED, {}, "WARNED"),
    ],
)
def test_only_proof_has_passed(kind: VerdictKind, fields: dict[str, Any], result: str) -> None:
    predicate = build_statement(attest(kind, **fields))["predicate"]
    assert predicate["result"] == result
    assert predicate["failedTests"] == [test.id for tests in fields.values() for test in tests]


def test_evidence_is_found_in_statement() -> None:
    attestation = attest(VerdictKind.PROVEN)
    text = json.dumps(build_statement(attestation))
    assert Attestation.model_validate_json(extract_evidence(text)) == attestation
    assert extract_evidence("no JSON") == "no JSON"
    assert extract_evidence('{"format": 1}') == '{"format": 1}'
    empty = json.dumps({"_type": "https://in-toto.io/Statement/v1", "predicate": {"configuration": []}})
    with pytest.raises(ValueError, match="holds no evidence"):
        extract_evidence(empty)
