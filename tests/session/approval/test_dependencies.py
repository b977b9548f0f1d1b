import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from coder.core.events import QuestionAnswered, QuestionAsked, Warned
from coder.core.ports import Distribution, SystemPackage
from coder.core.verdict import TestReport
from coder.session.judging import ensure_dependencies, offer_packages
from tests.session.fakes import FakeVerifier, kit, texts

LACKING = TestReport(command="pytest", exit_code=1)
WHOLE = TestReport(command="pytest", exit_code=0)


@dataclass
class FakeEquipment:
    verifier: FakeVerifier
    problem: str = ""
    installed: list[str] = field(default_factory=list)
    system_package: SystemPackage | None = None

    def missing_packages(self, report: TestReport) -> tuple[str, ...]:
        return ("answers",) if report == LACKING and self.system_package is None else ()

    def missing_system_package(self, report: TestReport) -> SystemPackage | None:
        return self.system_package if report == LACKING else None

    def install_system_package(self, package: SystemPackage) -> str:
        return self.install([package.command])

    def find_distributions(self, modules: Sequence[str]) -> Mapping[str, Distribution]:
        return {module: Distribution(name=module, is_installed=False) for module in modules}

    def install(self, packages: Sequence[str]) -> str:
        self.installed += packages
        if not self.problem:
            self.verifier.report = WHOLE
        return self.problem


COMPILER = SystemPackage(what="a C compiler", command="sudo apt install build-essential")


@pytest.mark.parametrize("system_package", [None, COMPILER])
@pytest.mark.parametrize(
    ("option", "problem", "installed_packages", "report"),
    [
        ("install", "", ["answers"], WHOLE),
        ("go on without", "", [], LACKING),
        ("install", "no such package", ["answers"], LACKING),
    ],
)
async def test_installs_nothing_without_approval(
    tmp_path: Path,
    system_package: SystemPackage | None,
    option: str,
    problem: str,
    installed_packages: list[str],
    report: TestReport,
) -> None:
    verifier = FakeVerifier(report=LACKING)
    installer = FakeEquipment(verifier, problem, system_package=system_package)
    context = replace(kit(tmp_path, verifier=verifier, attended=True), installer=installer)
    candidate = context.repository.create_candidate("c1")
    asking = asyncio.ensure_future(ensure_dependencies(context.on(candidate), LACKING))
    async for record in context.log.follow():
        if isinstance(record.event, QuestionAsked):
            await asyncio.sleep(0)
            context.approval.deliver_answer(QuestionAnswered(question=record.event.question, option=option))
        if isinstance(record.event, QuestionAnswered):
            break
    assert (await asking) == report
    if system_package:
        installed_packages = [system_package.command] * len(installed_packages)
    assert installer.installed == installed_packages
    warning_texts = texts(context.log, Warned)
    assert len(warning_texts) == bool(problem)
    assert all("could not be installed: no such package" in text for text in warning_texts)


@pytest.mark.parametrize(("attended", "is_allowed"), [(True, True), (False, True), (False, False)])
async def test_setting_installs_without_asking(tmp_path: Path, *, attended: bool, is_allowed: bool) -> None:
    verifier = FakeVerifier(report=LACKING)
    installer = FakeEquipment(verifier)
    context = replace(
        kit(tmp_path, verifier=verifier, attended=attended), installer=installer, installs_packages=is_allowed
    )
    candidate = context.repository.create_candidate("c1")
    report = await ensure_dependencies(context.on(candidate), LACKING)
    (warning,) = texts(context.log, Warned)
    assert (report, installer.installed) == ((WHOLE, ["answers"]) if is_allowed else (LACKING, []))
    assert ("It is installed" if is_allowed else "--install") in warning


def test_asks_for_each_package_by_itself(tmp_path: Path) -> None:
    verifier = FakeVerifier()
    installer = FakeEquipment(verifier)
    context = replace(kit(tmp_path, verifier=verifier, attended=True), installer=installer)

    async def scenario() -> tuple[bool, list[str]]:
        asking = asyncio.ensure_future(offer_packages(context, {"PyYAML": "yaml", "invented": "invented"}))
        questions = []
        async for record in context.log.follow():
            if isinstance(record.event, QuestionAsked):
                questions.append(record.event.text)
                await asyncio.sleep(0)
                option = "install" if "PyYAML" in record.event.text else "go on without"
                context.approval.deliver_answer(
                    QuestionAnswered(question=record.event.question, option=option)
                )
            if len(questions) == 2 and isinstance(record.event, QuestionAnswered):
                break
        return await asking, questions

    was_installed, questions = asyncio.run(scenario())
    assert was_installed and installer.installed == ["PyYAML"]
    assert "need `PyYAML` (imported as yaml), which is not installed" in questions[0]
    assert "need `invented`, which is not installed" in questions[1]
    assert not asyncio.run(offer_packages(context, {"invented": ""}))  # and does not ask again
