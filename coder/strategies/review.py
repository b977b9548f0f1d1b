"""Review of a change by several readers, and targeted repair of what they flag."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from coder.core.errors import LimitReached, ModelError
from coder.core.events import CandidateForked
from coder.core.notes import Done, Findings, Note, ReviewFinding
from coder.core.paths import is_test_path
from coder.core.state import FAILURE_REVIEWER, candidate_verdicts
from coder.core.text import cut_after_line
from coder.core.values import REPAIR, REVIEW, Candidate, Hunk, Patch, PhaseName
from coder.core.verdict import BehaviorExample, Verdict
from coder.core.verdict_summary import describe_example, summarize_failures
from coder.patching.git_hunks import parse_hunks, split_git_diff
from coder.python.source import decode_text, split_lines
from coder.session.context import CandidateRun, Strategy
from coder.session.judging import has_deliverable_change, is_judged_good
from coder.session.phase import PhaseSpec, PhaseState, render_prompt, run_phase
from coder.session.review import high_risk_paths, restore_change
from coder.strategies.follow import PHASE_SPECS, follow_route
from coder.tools.hand_over import hand_over_findings
from coder.tools.registry import REVIEWING_TOOLS

MakeRepair = Callable[[tuple[Findings, ...], Patch], Strategy]
ChooseReviewers = Callable[[Patch, Verdict], Sequence[str]]
REVIEW_ROUNDS = 2
"""Number of times that flagged places are repaired and reviewed again."""


def review_and_repair(
    strategy: Strategy, make_repair: MakeRepair, *, choose_reviewers: ChooseReviewers
) -> Strategy:
    """Return a strategy that has its good change reviewed, and flagged places repaired, twice at most.

    After a repair, reviewers who objected review it again, with those that `choose_reviewers` chooses for
    the new change. A repair that leaves no good change is rolled back; the findings then go into evidence as
    advice.
    """

    async def run_and_review(run: CandidateRun) -> Candidate:
        run = run.on(await strategy(run))
        reviewed_tree, objectors = "", tuple[str, ...]()
        for number in range(1, REVIEW_ROUNDS + 2):
            patch = await run.read_patch()
            if patch.tree == reviewed_tree or not has_deliverable_change(run):
                return run.candidate
            verdict = candidate_verdicts(*run.own)[-1]
            reviewers = dict.fromkeys((*choose_reviewers(patch, verdict), *objectors))
            if not reviewers:
                return run.candidate
            reviews = await asyncio.gather(*(try_review(run, reviewer) for reviewer in reviewers))
            repairable = tuple(
                review
                for review in reviews
                if review is not None and not review.approve and repairable_findings(review, patch)
            )
            reviewed_tree = patch.tree
            objectors = tuple(
                reviewer
                for reviewer, findings in zip(reviewers, reviews, strict=True)
                if findings is not None and not findings.approve and reviewer != BEHAVIOR_REVIEWER
            )
            if not repairable or number > REVIEW_ROUNDS:
                return run.candidate
            try:
                await make_repair(repairable, patch)(run)
            except (ModelError, LimitReached) as error:
                run.log.warn(f"What was found is not fixed: {error}")
            if not await is_judged_good(run):
                await restore_change(run, patch, verdict)
                return run.candidate
        return run.candidate

    return run_and_review


def revise_flagged(findings: Sequence[ReviewFinding], patch: Patch) -> Strategy:
    """Return a strategy that works on what the user flagged, and takes back what leaves no good change."""

    async def strategy(run: CandidateRun) -> Candidate:
        verdict = candidate_verdicts(*run.own)[-1]
        try:
            await repair_findings(findings)(run)
        except (ModelError, LimitReached) as error:
            run.log.warn(f"Your comments were not worked on: {error}")
        if not await is_judged_good(run):
            run.log.warn("What was made of your comments is no good: it is taken back.")
            await restore_change(run, patch, verdict)
        return run.candidate

    return strategy


BEHAVIOR_REVIEWER = "behavior"
"""The reviewer who is shown nothing but issue, change and calls that are answered otherwise."""


def risk_reviewers(patch: Patch, verdict: Verdict) -> tuple[str, ...]:
    """Return reviewers of what tests do not show: answers to calls beyond theirs, high-risk files."""
    return (
        *((BEHAVIOR_REVIEWER,) if untested_examples(verdict) else ()),
        *(("security",) if high_risk_paths(patch.paths) else ()),
    )


def untested_examples(verdict: Verdict) -> tuple[BehaviorExample, ...]:
    """Return the calls beyond those of the tests that a reviewer can say something about.

    One that raises another error than before is none: it is given what the code never has to take.
    """
    examples = verdict.behavior.examples if verdict.behavior else ()
    return tuple(example for example in examples if not (example.tested or _changes_error_alone(example)))


def _changes_error_alone(example: BehaviorExample) -> bool:
    answers = {example.before, example.after}
    return len(answers) > 1 and all(answer.startswith("raises ") for answer in answers)


def committee_reviewers(patch: Patch, verdict: Verdict) -> tuple[str, ...]:
    """Return two reviewers of every change, and those of its risks."""
    return ("correctness", "tests", *risk_reviewers(patch, verdict))


DIFF_CHARACTERS = 20_000
CONTEXT_LINES = 25
"""Lines shown before and after each changed place."""
MAX_CONTEXT_CHARACTERS = 10_000
ISSUE_CHARACTERS, BEHAVIOR_DIFF_CHARACTERS, ROW_CHARACTERS = 1_200, 2_000, 120
"""Shown beside changed answers, in a request of at most 1,500 tokens."""


async def review_candidate(run: CandidateRun, reader: str) -> Findings | None:
    """Run one review in a fresh conversation; return its findings, None if it handed over none."""
    forks = [record.event for record in run.log.records if isinstance(record.event, CandidateForked)]
    own = [fork for fork in forks if fork.candidate.startswith(f"{run.candidate.id}/review-")]
    number = 1 + sum(fork.approach == reader for fork in own)
    reviewer = run.candidate.model_copy(update={"id": f"{run.candidate.id}/review-{number}/{reader}"})
    run.log.append(CandidateForked(candidate=reviewer.id, role="reviewer", approach=reader))
    is_behavior = reader == BEHAVIOR_REVIEWER
    review_context = replace(
        run,
        role="reviewer",
        system="system_review",
        tools=(hand_over_findings,) if is_behavior else REVIEWING_TOOLS,
    )
    spec = PhaseSpec(
        phase=REVIEW.model_copy(update={"max_turns": 2}) if is_behavior else REVIEW,
        opening=lambda _reviewing: _opening_message(run, reader),
    )
    note = await run_phase(review_context.on(reviewer), spec, number)
    return note if isinstance(note, Findings) else None


async def try_review(run: CandidateRun, reader: str) -> Findings | None:
    """Return a reviewer's findings; a failed review is logged and does not stop the session."""
    try:
        return await review_candidate(run, reader)
    except (ModelError, LimitReached) as error:
        run.log.warn(f"The review by {reader} failed: {error}")
        return None


async def _opening_message(run: CandidateRun, reader: str) -> str:
    patch = await run.read_patch()
    verdict = candidate_verdicts(*run.own)[-1]
    if reader == BEHAVIOR_REVIEWER:
        hunks = (hunk for hunk in split_git_diff(patch.diff) if not is_test_path(hunk.path))
        diff = "\n".join(f"{hunk.path}\n{hunk.body}" for hunk in hunks)
        return render_prompt(
            "review_behavior",
            issue=run.task.issue[:ISSUE_CHARACTERS],
            diff=cut_after_line(diff, BEHAVIOR_DIFF_CHARACTERS),
            rows="\n".join(
                describe_example(example, limit=ROW_CHARACTERS) for example in untested_examples(verdict)
            ),
        )
    excerpts = await asyncio.to_thread(change_excerpts, run.candidate, patch)
    return render_prompt(
        "review",
        brief=render_prompt(f"review_{reader}"),
        task=run.task,
        diff=cut_after_line(patch.diff, DIFF_CHARACTERS),
        verdict=verdict,
        failure="" if verdict.is_deliverable else summarize_failures(verdict),
        around=excerpts,
        paths=patch.paths,
    )


def change_excerpts(candidate: Candidate, patch: Patch) -> str:
    """Return the changed files around their changes, with line numbers."""
    excerpts = "\n\n".join(_excerpt(candidate, hunk) for hunk in split_git_diff(patch.diff))
    return excerpts[:MAX_CONTEXT_CHARACTERS]


def _excerpt(candidate: Candidate, hunk: Hunk) -> str:
    file = candidate.worktree / hunk.path
    new = [
        number
        for parsed in parse_hunks(hunk.body)
        for number in range(parsed.target_start, parsed.target_start + parsed.target_length)
    ]
    if not new or file.is_symlink() or not file.is_file():
        return f"{hunk.path}: gone, or not to be shown"
    lines = split_lines(decode_text(file.read_bytes()))
    first, last = max(1, new[0] - CONTEXT_LINES), min(len(lines), new[-1] + CONTEXT_LINES)
    return "\n".join(
        [hunk.path, *(f"{number:>5}| {lines[number - 1][:200]}" for number in range(first, last + 1))]
    )


def repairable_findings(findings: Findings, patch: Patch) -> tuple[ReviewFinding, ...]:
    """Return findings that can be repaired: not minor, and in files of the change."""
    return tuple(
        finding
        for finding in findings.findings
        if finding.severity != "minor" and finding.path in patch.paths
    )


def repair_flagged(reviews: tuple[Findings, ...], patch: Patch) -> Strategy:
    """Return a strategy that repairs what reviewers flag, and verifies the whole change again."""
    return repair_findings([finding for review in reviews for finding in repairable_findings(review, patch)])


def repair_findings(findings: Sequence[ReviewFinding]) -> Strategy:
    """Return a strategy that repairs flagged places in one conversation, and changes no other files."""

    async def opening(_run: CandidateRun) -> str:
        return render_prompt("repair_flagged", findings=findings)

    async def settle(_run: CandidateRun, state: PhaseState) -> Note | str | None:
        if state.changed and not state.entry:
            return state.note or Done(summary="")  # what the whole change does was said before
        if state.entry or state.note is None:
            return None
        return "Nothing was changed. Correct what was found, or hand_over(kind='give_up')."

    async def strategy(run: CandidateRun) -> Candidate:
        only = tuple(dict.fromkeys(finding.path for finding in findings))
        restricted_context = replace(run, workspace=lambda other: replace(run.workspace(other), only=only))
        specs = {**PHASE_SPECS, "repair": PhaseSpec(phase=REPAIR, opening=opening, settle=settle)}
        return await follow_route({("repair", True): "verify"}, "repair", specs)(restricted_context)

    return strategy


async def _open_diagnose(run: CandidateRun) -> str:
    text = await PHASE_SPECS["diagnose"].opening(run)
    advice = await try_review(run, FAILURE_REVIEWER)
    return f"{text}\n\n{render_prompt('advice', advice=advice)}" if advice else text


ADVISED_PHASE_SPECS: Mapping[PhaseName, PhaseSpec] = {
    **PHASE_SPECS,
    "diagnose": replace(PHASE_SPECS["diagnose"], opening=_open_diagnose),
}
"""Phases of a fix with advice from another reader before each diagnosis."""


def judge_and_review(judge: Strategy, *, choose_reviewers: ChooseReviewers) -> Strategy:
    """Return a strategy that judges an existing change and has it read; nothing is repaired."""

    async def strategy(run: CandidateRun) -> Candidate:
        run = run.on(await judge(run))
        patch = await run.read_patch()
        verdict = candidate_verdicts(*run.own)[-1]
        await asyncio.gather(*(try_review(run, reviewer) for reviewer in choose_reviewers(patch, verdict)))
        return run.candidate

    return strategy
