from pathlib import Path

from coder.core.events import Verified
from coder.core.values.verdict import TestResult, Verdict, VerdictKind
from coder.strategies.verify_phase import attempt_number
from tests.session.fakes import STILL_RED, kit


def test_missing_system_package_spends_no_attempt(tmp_path: Path) -> None:
    context = kit(tmp_path)
    red = TestResult(id="t.py::test_a", outcome="failed", cause="environment")
    verdict = Verdict(kind=VerdictKind.INCONCLUSIVE, reason="It cannot run.", still_red=(red,))
    context.log.append(Verified(candidate="c1", attempt=1, verdict=verdict))
    assert attempt_number(context) == 1
    context.log.append(Verified(candidate="c1", attempt=1, verdict=STILL_RED))
    assert attempt_number(context) == 2
