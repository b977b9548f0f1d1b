"""Opening messages of phases."""

from pathlib import Path

from coder.core.events import BaselineMeasured
from coder.core.values import PhaseName, Proposals
from coder.core.verdict import Counts, RunProblem, TestReport
from coder.session.judging import measure_baseline
from coder.strategies.follow import PHASE_SPECS
from tests.session.fakes import FakeVerifier
from tests.strategies.test_offline import offline_context
from tests.verify.fakes import failed_result

DENIED = failed_result(
    "tests/test_server.py::test_served", "ConnectionError", frames=[("server.py", 2, "serve")]
).model_copy(update={"denied": "network"})
WRONG = failed_result("tests/test_a.py::test_value")


async def test_tests_that_cannot_pass_in_the_sandbox_are_no_failing_tests(tmp_path: Path) -> None:
    report = TestReport(command="pytest", results=(DENIED, WRONG))
    context = offline_context(
        tmp_path,
        Proposals(),
        verifier=FakeVerifier(report=report),
        issue="serve answers nothing, as test_value shows",
    )
    candidate = context.repository.create_candidate("c1")
    (tmp_path / "server.py").write_text("def serve():\n    return open('address')\n")

    async def open_phase(phase: PhaseName) -> str:
        return await PHASE_SPECS[phase].opening(context.on(candidate))

    phases: tuple[PhaseName, ...] = ("locate", "reproduce")
    for phase in phases:
        message = await open_phase(phase)
        assert "test_served" not in message
        assert "test_value" in message
        if phase == "locate":
            assert "0 passed, 1 failed, 0 skipped. 1 test cannot run here: no network." in message
    (event,) = [r.event for r in context.log.records if isinstance(r.event, BaselineMeasured)]
    assert (event.counts, event.failing, event.denied) == (
        Counts(failed=1, denied=1),
        (WRONG.id,),
        ("network",),
    )


async def test_slow_suite_is_told_once(tmp_path: Path) -> None:
    slow = RunProblem(kind="timeout", text="The tests did not end within 60 s.")
    report = TestReport(command="pytest", problem=slow)
    cut = report.model_copy(update={"seconds": 60.0})
    near = report.model_copy(update={"results": (WRONG,), "seconds": 70.0})
    verifier = FakeVerifier(report=report)
    context = offline_context(tmp_path, Proposals(), verifier=verifier)
    for verifier.report in (report, near, cut):
        await measure_baseline(context.on(context.repository.create_candidate("c1")))
    measured = [r.event for r in context.log.records if isinstance(r.event, BaselineMeasured)]
    assert [event.problem for event in measured] == [slow.text]
