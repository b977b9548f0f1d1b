import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from coder.core.commands import Answer
from coder.core.events import QuestionAnswered, QuestionAsked, Warned
from coder.core.values.verdict import TestReport
from coder.session.approval.dependencies import ensure_dependencies
from tests.session.fakes import FakeVerifier, kit

LACKING = TestReport(command="pytest", exit_code=1)
WHOLE = TestReport(command="pytest", exit_code=0)


@dataclass
class FakeEquipment:
    verifier: FakeVerifier
    problem: str = ""
    installed: list[str] = field(default_factory=list)

    def missing_packages(self, report: TestReport) -> tuple[str, ...]:
        return ("answers",) if report == LACKING else ()

    def install(self, packages: Sequence[str]) -> str:
        self.installed += packages
        if not self.problem:
            self.verifier.report = WHOLE
        return self.problem


@pytest.mark.parametrize(
    ("attended", "option", "problem", "installed_packages", "report"),
    [
        (True, "install", "", ["answers"], WHOLE),
        (True, "go on without", "", [], LACKING),
        (False, "", "", [], LACKING),
        (True, "install", "no such package", ["answers"], LACKING),
    ],
)
def test_installs_nothing_without_approval(
    tmp_path: Path,
    attended: bool,
    option: str,
    problem: str,
    installed_packages: list[str],
    report: TestReport,
) -> None:
    verifier = FakeVerifier(report=LACKING)
    equipment = FakeEquipment(verifier, problem)
    context = replace(kit(tmp_path, verifier=verifier, attended=attended), equipment=equipment)

    async def scenario() -> TestReport | None:
        candidate = context.repository.create_candidate("c1")
        asking = asyncio.ensure_future(ensure_dependencies(context, candidate, LACKING, wait_seconds=60))
        async for record in context.log.follow():
            if isinstance(record.event, QuestionAsked) and attended:
                await asyncio.sleep(0)
                context.approval.deliver_answer(Answer(question=record.event.question, option=option))
            if isinstance(record.event, QuestionAnswered):
                break
        return await asking

    assert asyncio.run(scenario()) == report
    assert equipment.installed == installed_packages
    warning_texts = [record.event.text for record in context.log.records if isinstance(record.event, Warned)]
    assert warning_texts == (["answers could not be installed: no such package"] if problem else [])
