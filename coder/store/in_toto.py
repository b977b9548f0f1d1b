"""In-toto statements of verdicts, with the predicate test-result.

https://github.com/in-toto/attestation/blob/main/spec/predicates/test-result.md
"""

import base64
import hashlib
from typing import Any, assert_never

from coder.core.attestation import Attestation
from coder.core.documents import parse_json
from coder.core.verdict import Verdict, VerdictKind

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
