"""Baseline of a session, and the packages that its tests lack."""

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from coder.core.errors import UserError
from coder.core.events import BaselineMeasured, QuestionAsked, Warned, events_of
from coder.core.paths import find_command_tests, test_function_of
from coder.core.values import Candidate, Patch
from coder.core.verdict import TestReport
from coder.session.context import SessionContext


async def measure_baseline(
    context: SessionContext,
    candidate: Candidate,
    *,
    wait_seconds: float | None = None,
    whole: bool = False,
    near: Sequence[str] = (),
) -> TestReport | None:
    """Measure the baseline and log it; return None if it takes longer than `wait_seconds`.

    It is then still measured in the background. A slow suite is cut off or not tried, and the tests `near`
    run in its place; with `whole` it has all of its time. One that was not tried is not logged.
    """
    progress = context.log.progress_listener(candidate.id)
    measure = partial(context.verifier.baseline, progress, whole=whole, near=near)
    task = asyncio.ensure_future(asyncio.to_thread(measure))
    done, _ = await asyncio.wait({task}, timeout=wait_seconds)
    if not done:
        return None
    report = task.result()
    event = BaselineMeasured(
        command=report.command,
        counts=report.outcome_counts,
        failing=tuple(result.id for result in report.project_failures),
        denied=tuple(dict.fromkeys(result.denied for result in report.failures if result.denied)),
        seconds=report.seconds,
        problem=report.problem.text if report.problem else "",
    )
    if report.problem is not None and report.problem.kind == "timeout" and not report.seconds:
        return report
    logged = events_of(context.log.records, BaselineMeasured)
    if event not in logged and not (event.problem and event.problem in {other.problem for other in logged}):
        context.log.append(event)
    return report


INSTALL, GO_ON = "install", "go on without"


async def ensure_dependencies(
    context: SessionContext, candidate: Candidate, report: TestReport | None
) -> TestReport | None:
    """Return the base's report, measured again if missing packages were installed."""
    if report is None or not await offer_missing_packages(context, report):
        return report
    return await measure_baseline(context, candidate)


async def offer_missing_packages(context: SessionContext, report: TestReport) -> bool:
    """Offer to install the packages that failing tests lack, and return whether they were installed."""
    if await _offer_system_package(context, report):
        return True
    missing = context.installer.missing_packages(report) if context.installer is not None else ()
    return await offer_packages(context, dict.fromkeys(missing, ""))


async def _offer_system_package(context: SessionContext, report: TestReport) -> bool:
    package = context.installer.missing_system_package(report) if context.installer is not None else None
    if context.installer is None or not context.approval.attended or not (package and package.command):
        return False
    question = (
        f"This machine lacks {package.what}. Run `{package.command}`? "
        "It changes the machine, for all programs."
    )
    if _was_asked(context, question) or (
        await context.approval.ask(question, options=(INSTALL, GO_ON), default=GO_ON) != INSTALL
    ):
        return False
    if problem := await asyncio.to_thread(context.installer.install_system_package, package):
        remedy = f"Run it in a terminal, then start again: {package.command}"
        context.log.warn(f"It could not be installed: {problem}. {remedy}")
        return False
    return True


def _was_asked(context: SessionContext, opening: str) -> bool:
    return any(
        isinstance(record.event, QuestionAsked | Warned) and record.event.text.startswith(opening)
        for record in context.log.records
    )


async def offer_packages(context: SessionContext, packages: Mapping[str, str]) -> bool:
    """Ask for each package whether to install it, unless that is allowed; return whether any was.

    `packages` are names of distributions, with the module that is imported where its name is known.
    A name may be invented, and somebody else may own it: each is decided by itself.
    """
    chosen = [package for package, module in packages.items() if await _is_wanted(context, package, module)]
    if context.installer is None or not chosen:
        return False
    if problem := await asyncio.to_thread(context.installer.install, chosen):
        context.log.warn(f"{', '.join(chosen)} could not be installed: {problem}")
        return False
    return True


async def _is_wanted(context: SessionContext, package: str, module: str) -> bool:
    opening = f"Tests cannot run: {package}"
    if _was_asked(context, f"{opening} "):
        return False  # it was refused before, or could not be installed
    imported = f" (imported as {module})" if module not in ("", package) else ""
    lacking = f"{opening}{imported} is not installed for the project's interpreter."
    if context.installs_packages or not context.approval.attended:
        course = (
            "It is installed into an environment of coder's own; yours stays as it is."
            if context.installs_packages
            else "To have it installed into an environment of coder's own: --install"
        )
        context.log.warn(f"{lacking} {course}")
        return context.installs_packages
    question = (
        f"{lacking} Install from the package index into an environment of coder's own? Yours stays as it is."
    )
    return await context.approval.ask(question, options=(INSTALL, GO_ON), default=GO_ON) == INSTALL


async def refuse_missing_tests(context: SessionContext, candidate: Candidate, patch: Patch) -> None:
    """Check the tests that the user's command names: those that their files do not mention, by a run.

    Raises:
        UserError: one of them does not exist.
    """
    named = find_command_tests(context.task.test_command)
    if all(_mentions_test(candidate.worktree, test) for test in named):
        return
    found = await asyncio.to_thread(context.verifier.reproduce, patch, named)
    if found.missing:
        raise UserError(f"--test: {'; '.join(found.missing)}")


def _mentions_test(tree: Path, test: str) -> bool:
    """Tell whether a test's file is there and contains the name of its function or class."""
    file, _, names = test_function_of(test).partition("::")
    try:
        return names.rpartition("::")[2] in (tree / file).read_text("utf-8", "replace")
    except OSError:
        return (tree / file).is_dir()
