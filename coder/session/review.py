"""Review of a fix by the user before delivery: accepted whole, in part, or not at all; files of high risk."""

import asyncio
from collections.abc import Collection, Iterable, Mapping
from fnmatch import fnmatchcase

from coder.core.events import FilesChanged, ReviewAnswered, ReviewAsked, Verified
from coder.core.notes import ReviewFinding
from coder.core.paths import is_test_path
from coder.core.state import named_tests
from coder.core.values import Patch, Value
from coder.core.verdict import MutationReport, Verdict, VerdictKind
from coder.core.verdict_summary import describe_open
from coder.patching import PatchError, apply
from coder.patching.git_hunks import changed_line_starts, rebuild_diff, split_git_diff
from coder.session.context import CandidateRun, SessionContext
from coder.session.judging import BESIDE, attempt_number, judge_change, prior_findings

MAX_QUESTION_CHARACTERS = 3_000
DELIVER, DROP = "deliver", "drop"
ACCEPT, LEAVE = "accept the edited tests", "leave them open"
DELIVER_ALL, KEEP_EDITING = "deliver all of it", "keep reviewing"
DELIVER_PART, DELIVER_NOTHING = "deliver what is accepted", "deliver nothing (coder apply still brings it)"
NEW_PROJECT = "diff --git a/pyproject.toml b/pyproject.toml\nnew file mode "


class RevisionRequest(Value):
    """Comments of the user, to be worked on before the change is reviewed again."""

    findings: tuple[ReviewFinding, ...]
    patch: Patch
    """The change that they are about."""


async def confirm_risky_files(context: SessionContext, patch: Patch, verdict: Verdict) -> Verdict | None:
    """Return the verdict with a note on files that need a user's review; None if the user rejects the change.

    If nobody can be asked, the change is delivered to a branch but never merged, and report and evidence say
    so.
    """
    risky_files = _describe_risky_files(context, patch)
    if not risky_files:
        return verdict
    note = f"reviewed by a person: {risky_files}"
    if not context.needs_review and context.approval.attended and not context.task.dry_run:
        question = _review_question(context, patch, risky_files)
        if await context.approval.ask(question, options=(DELIVER, DROP), default=DROP) != DELIVER:
            return None
    elif not context.needs_review:
        note = f"no person has reviewed {risky_files}"
        warn_of_risky_files(context, patch)
    return verdict.model_copy(update={"notes": (*verdict.notes, note)})


async def confirm_open_lines(run: CandidateRun, patch: Patch, verdict: Verdict) -> Verdict | None:
    """Return the verdict to deliver with, once the user has seen what is open; None if they drop the change.

    It is judged anew where the user accepts the tests that were edited to agree with it.
    """
    if run.needs_review or run.task.dry_run or not run.approval.attended:
        return verdict
    is_contradicted = _has_contradicted_tests(verdict)
    if not describe_open(verdict) or not (verdict.kind is VerdictKind.FIXED or is_contradicted):
        return verdict
    options = (DELIVER, ACCEPT, DROP) if is_contradicted else (DELIVER, DROP)
    choice = await run.approval.ask(f"{_list_open(verdict)}\nDeliver it?", options=options, default=DELIVER)
    if choice != ACCEPT:
        return None if choice == DROP else verdict
    return await _judge_accepted(run, patch, verdict)


async def offer_acceptance(run: CandidateRun, verdict: Verdict) -> Verdict:
    """Return the verdict on a given change, judged anew where the user accepts its edits of tests."""
    if not _has_contradicted_tests(verdict) or not run.approval.attended:
        return verdict
    text = f"{_list_open(verdict)}\nAre these edits of tests meant?"
    if await run.approval.ask(text, options=(ACCEPT, LEAVE), default=LEAVE) != ACCEPT:
        return verdict
    patch = await run.read_patch()
    return await _judge_accepted(run, patch, verdict)


def _has_contradicted_tests(verdict: Verdict) -> bool:
    return any(finding.rule == "contradicted-test" for finding in verdict.with_effect("cap", "open"))


def _list_open(verdict: Verdict) -> str:
    """Return what is open; the lines above the question show the edits of tests that an answer accepts."""
    lines = describe_open(verdict, offered=("contradicted-test",))
    return "\n".join([f"{verdict.label}, and open:", *(f"  {line}" for line in lines)])


async def _judge_accepted(run: CandidateRun, patch: Patch, verdict: Verdict) -> Verdict:
    """Return the verdict with edits of tests taken as meant; the former one where that is no good."""
    run.whole_verifier.accept_test_edits()
    again = await judge_change(
        run,
        patch,
        named_tests(*run.own),
        findings=prior_findings(verdict),
        notes=tuple(note for note in verdict.notes if note.startswith(BESIDE)),
        anew=True,
    )
    return again if again.is_deliverable else verdict


def warn_of_risky_files(context: SessionContext, patch: Patch) -> None:
    """Warn of changed files that the user should review; nothing if there are none."""
    if risky_files := _describe_risky_files(context, patch):
        context.log.warn(f"Look twice at {risky_files}.")


def unreviewed_files(context: SessionContext, patch: Patch) -> str:
    """Return the files that need a review if nobody could be asked for it; otherwise an empty text."""
    return "" if context.needs_review or context.approval.attended else _describe_risky_files(context, patch)


def _describe_risky_files(context: SessionContext, patch: Patch) -> str:
    return ", ".join(f"{path} ({kind})" for path, kind in _find_risky_files(context, patch).items())


def _find_risky_files(context: SessionContext, patch: Patch) -> Mapping[str, str]:
    """Return the kinds of risk by path, without the pyproject.toml of a new project that was asked for."""
    risky = high_risk_paths(patch.paths)
    if context.task.mode == "build" and NEW_PROJECT in patch.diff:
        risky.pop("pyproject.toml", None)
    return risky


def _review_question(context: SessionContext, patch: Patch, risky_files: str) -> str:
    risky = _find_risky_files(context, patch)
    hunks = (hunk for hunk in split_git_diff(patch.diff) if hunk.path in risky)
    text = "\n".join(f"{hunk.path}\n{hunk.body.rstrip()}" for hunk in hunks)
    excerpt = f"{text[:MAX_QUESTION_CHARACTERS]}\n[...]" if len(text) > MAX_QUESTION_CHARACTERS else text
    return f"{excerpt}\nThe fix changes {risky_files}. Deliver it?"


async def review_change(
    run: CandidateRun, patch: Patch, verdict: Verdict
) -> tuple[Patch, Verdict] | RevisionRequest | None:
    """Return the accepted part of a change with its own verdict; None if the user wants nothing of it.

    If the user comments on hunks, return the comments.

    A part of a change is another change: it is made in the candidate's worktree and verified again. If its
    verdict is worse, or it does not apply without the rest, the user decides how to go on.
    """
    removable = removable_hunk_numbers(patch.diff, verdict.mutation)
    review = ReviewAsked(question="", diff=patch.diff, droppable=removable, verdict=verdict)
    while True:
        answer = await run.approval.review_diff(review)
        review = review.model_copy(update={"accepted": answer.accepted, "comments": answer.comments})
        if answer.comments and run.revise is None and not answer.refused:
            run.log.warn("There is no model that could work on your comments.")
            review = review.model_copy(update={"comments": ()})
            continue
        outcome = await _judge_answer(run, patch, verdict, answer)
        if outcome != KEEP_EDITING:
            return None if isinstance(outcome, str) else outcome


async def _judge_answer(
    run: CandidateRun, patch: Patch, verdict: Verdict, answer: ReviewAnswered
) -> tuple[Patch, Verdict] | RevisionRequest | str:
    """Return the change that the user wants with its verdict; KEEP_EDITING or DELIVER_NOTHING otherwise.

    Comments are about the whole change, since it is reviewed once more.
    """
    if not answer.refused and (findings := _comment_findings(patch, answer)):
        return RevisionRequest(findings=findings, patch=patch)
    accepted = () if answer.refused else answer.accepted
    if accepted == tuple(range(len(split_git_diff(patch.diff)))):
        return patch, verdict
    part = await _judge_reviewed(run, patch, verdict, accepted)
    if isinstance(part, tuple) and part[1].kind.is_as_good_as(verdict.kind):
        return part
    decision = await _ask_how_to_go_on(run, verdict, part)
    if isinstance(part, str):
        await asyncio.to_thread(run.repository.rollback, run.candidate, patch.tree)
    elif decision in (DELIVER_PART, DELIVER_NOTHING):
        return part if decision == DELIVER_PART else DELIVER_NOTHING
    else:
        await restore_change(run, patch, verdict)
    return (patch, verdict) if decision == DELIVER_ALL else decision


def _comment_findings(patch: Patch, answer: ReviewAnswered) -> tuple[ReviewFinding, ...]:
    """Return the user's comments as findings at the first changed line of their hunks."""
    hunks = dict(enumerate(split_git_diff(patch.diff)))
    return tuple(
        ReviewFinding(
            severity="major", path=hunk.path, line=next(changed_line_starts(hunk), 0), text=comment.text
        )
        for comment in answer.comments
        if (hunk := hunks.get(comment.hunk))
    )


async def _judge_reviewed(
    run: CandidateRun, patch: Patch, verdict: Verdict, accepted: Collection[int]
) -> tuple[Patch, Verdict] | str:
    """Return what the user has accepted with its verdict, or why there is none."""
    if not accepted:
        return "Nothing would be delivered."
    try:
        return await judge_hunks(run, patch, verdict, accepted)
    except PatchError as error:
        return f"What you have accepted does not fit without the rest. {error}"


async def _ask_how_to_go_on(
    context: SessionContext, verdict: Verdict, part: tuple[Patch, Verdict] | str
) -> str:
    """Ask the user what to do with a part that is worse than the whole."""
    if isinstance(part, str):
        reason, options = part, (DELIVER_ALL, KEEP_EDITING, DELIVER_NOTHING)
    else:
        reason = f"With your changes it is {part[1].label}: {part[1].reason}"
        deliver_part = (DELIVER_PART,) if part[1].is_deliverable else ()
        options = (DELIVER_ALL, KEEP_EDITING, *deliver_part, DELIVER_NOTHING)
    text = f"{reason}\nThe whole change is {verdict.label}. How shall it go on?"
    return await context.approval.ask(text, options=options, default=KEEP_EDITING)


async def judge_hunks(
    run: CandidateRun, patch: Patch, verdict: Verdict, accepted: Collection[int]
) -> tuple[Patch, Verdict]:
    """Apply some hunks of a change alone in the candidate's worktree, and judge the result.

    `verdict` is the one on the whole change.

    Raises:
        PatchError: they do not apply without the rest; the worktree is as it was before any change.
    """
    await asyncio.to_thread(run.repository.rollback, run.candidate, run.candidate.base)
    await asyncio.to_thread(apply, rebuild_diff(patch.diff, accepted), run.candidate.worktree)
    part = await run.read_patch()
    run.log.append(FilesChanged(candidate=run.candidate.id, paths=part.paths, diff=part.diff))
    test_ids = named_tests(*run.own)
    return part, await judge_change(run, part, test_ids, findings=prior_findings(verdict))


async def restore_change(run: CandidateRun, patch: Patch, verdict: Verdict) -> None:
    """Bring back a whole change, whose verdict is the newest one again, after a part of it was tried."""
    await asyncio.to_thread(run.repository.rollback, run.candidate, patch.tree)
    run.log.append(FilesChanged(candidate=run.candidate.id, paths=patch.paths, diff=patch.diff))
    run.log.append(Verified(candidate=run.candidate.id, attempt=attempt_number(run), verdict=verdict))


DOCUMENTATION_SUFFIXES = (".adoc", ".md", ".rst", ".txt")


def removable_hunk_numbers(diff: str, guarded: MutationReport | None) -> tuple[int, ...]:
    """Return the numbers of hunks whose removal no test notices; those of tests are never among them."""
    survivors = guarded.survivors if guarded else ()
    unguarded = {(place.path, place.line) for place in survivors if place.whole_hunk}
    return tuple(
        number
        for number, hunk in enumerate(split_git_diff(diff))
        if (places := {(hunk.path, line) for line in changed_line_starts(hunk)})
        and places <= unguarded
        and not is_test_path(hunk.path)
        and not hunk.path.endswith(DOCUMENTATION_SUFFIXES)
    )


RISKY_GLOBS = {
    "CI": """.github/workflows/* .github/actions/* .gitlab-ci.yml .circleci/* .travis.yml Jenkinsfile .ci/*
        azure-pipelines.yml .woodpecker* .drone.yml .buildkite/* .cirrus.yml appveyor.yml
        .pre-commit-config.yaml""",
    "deployment": """Dockerfile* *.dockerfile docker-compose* compose.y*ml Procfile fly.toml vercel.json
        netlify.toml *.tf k8s/* kubernetes/* helm/* charts/* ansible/* deploy/* deployment/* serverless.yml
        Vagrantfile""",
    "lock file": """*.lock package-lock.json npm-shrinkwrap.json pnpm-lock.yaml go.sum gradle.lockfile
        requirements*.txt requirements/*.txt constraints*.txt""",
    "configuration": """pyproject.toml setup.py setup.cfg tox.ini pytest.ini noxfile.py conftest.py *.pth
        sitecustomize.py package.json Cargo.toml go.mod Makefile justfile build.rs .gitattributes .gitmodules
        .envrc .npmrc .vscode/* .idea/* .husky/* .devcontainer/* AGENTS.md CLAUDE.md GEMINI.md
        .agents/* .claude/* .coder/* .cursorrules .mcp.json""",
    "authentication": """*auth[./_-]* *Auth[A-Z]* *oauth* *authenti* *authori[sz]* authz* *login*
        *password* *permission* *credential* *saml* *jwt* *rbac* sso[./_-]* acl[./_-]*""",
    "payments": "*payment* *billing* *checkout* *invoic* *paypal* *payout* stripe*",
}
"""Globs by kind, of the path as it is or in lower case; they begin at any directory, `*` crosses them."""
SOURCE_KINDS = ("authentication", "payments")
"""Kinds that are about source code: tests of it are not high-risk."""


def high_risk_paths(paths: Iterable[str]) -> dict[str, str]:
    """Return the paths that need a user's review, in order, each with its kind."""
    return {path: kind for path in paths if (kind := risk_kind(path))}


def risk_kind(path: str) -> str:
    """Return why a change of this path (relative to the root) needs review; empty where it does not."""
    forms = (f"/{path}", f"/{path.lower()}")
    for kind, globs in RISKY_GLOBS.items():
        if kind in SOURCE_KINDS and is_test_path(path):
            return ""
        if any(fnmatchcase(text, f"*/{glob}") for glob in globs.split() for text in forms):
            return kind
    return ""
