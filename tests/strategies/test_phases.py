"""Opening messages of phases."""

import asyncio
from dataclasses import replace
from pathlib import Path

from coder.core.events import BaselineMeasured, ToolFinished
from coder.core.phases import PhaseName
from coder.core.values import Candidate
from coder.core.verdict import Counts, TestReport
from coder.session.context import SessionContext
from coder.session.phase import run_phase
from coder.strategies.phases import PHASE_SPECS
from tests.session.fakes import FakeVerifier, kit
from tests.strategies.test_follow import call
from tests.strategies.test_offline import ScriptedProposer, offline_context
from tests.verify.fakes import failed_result

DENIED = failed_result(
    "tests/test_server.py::test_served", "ConnectionError", frames=[("server.py", 2, "serve")]
).model_copy(update={"denied": "network"})
WRONG = failed_result("tests/test_a.py::test_value")


def test_tests_that_cannot_pass_in_the_sandbox_are_no_failing_tests(tmp_path: Path) -> None:
    report = TestReport(command="pytest", results=(DENIED, WRONG))
    context = offline_context(
        tmp_path, ScriptedProposer([]), FakeVerifier(report=report), issue="serve answers nothing"
    )
    candidate = context.repository.create_candidate("c1")
    (tmp_path / "server.py").write_text("def serve():\n    return open('address')\n")

    async def open_phase(phase: PhaseName) -> str:
        return await PHASE_SPECS[phase].opening(context, candidate)

    phases: tuple[PhaseName, ...] = ("locate", "reproduce")
    for phase in phases:
        message = asyncio.run(open_phase(phase))
        assert "test_served" not in message
        assert "test_value" in message
        if phase == "locate":
            assert (
                "0 passed, 1 failed, 0 skipped. 1 more cannot pass in this sandbox (it denies: network)"
                in (message)
            )
    (event,) = [r.event for r in context.log.records if isinstance(r.event, BaselineMeasured)]
    assert (event.counts, event.failing, event.denied) == (
        Counts(failed=1, denied=1),
        (WRONG.id,),
        ("network",),
    )


def test_files_that_a_message_names_may_be_read(tmp_path: Path) -> None:
    async def opening(_context: SessionContext, _candidate: Candidate) -> str:
        return "Tests that reach it: tests/test_b.py::test_b"

    reading = call("read", path="tests/test_b.py")
    context = kit(tmp_path, [reading, call("hand_over", kind="give_up", summary="No.")])
    candidate = context.repository.create_candidate("c1")
    spec = replace(PHASE_SPECS["locate"], opening=opening)
    asyncio.run(run_phase(context, candidate, spec, 1))
    (result,) = [
        record.event.message.text
        for record in context.log.records
        if isinstance(record.event, ToolFinished) and record.event.message.name == "read"
    ]
    assert "def test_b()" in result
