"""Repair without a model, from the failing tests to a verdict."""

import asyncio
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from coder.core.events import FilesChanged, NoteMade, PhaseEntered, Verified
from coder.core.notes import Done, GiveUp, Note, Sites
from coder.core.ports import Progress, RunListener
from coder.core.task import Budget
from coder.core.values import Candidate, Patch, Proposal, Proposals, Suspect
from coder.core.verdict import ReproductionResult, TestReport, Verdict, VerdictKind
from coder.session.context import SessionContext
from coder.strategies.offline import NEEDS_A_TEST, search_repair
from tests.session.fakes import PROVEN, RED, STILL_RED, FakeVerifier, kit

SUSPECTS = (Suspect(place="a.py::value", line=1, score=0.9), Suspect(place="b.py::other", line=7, score=0.4))
REDS = TestReport(
    command="pytest", results=(RED, RED.model_copy(update={"id": "tests/test_a.py::test_other"}))
)
DOUBTFUL = Verdict(kind=VerdictKind.INCONCLUSIVE, reason="The wrong code was loaded.")


def proposal(value: int) -> Proposal:
    diff = f"--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-VALUE = 1\n+VALUE = {value}\n"
    return Proposal(diff=diff, summary=f"value: use {value} instead of 1", place="a.py::value")


@dataclass
class ScriptedProposer:
    """Proposer that gives each answer in turn, and the last one repeatedly."""

    answers: list[Proposals]
    calls: list[tuple[str, ...]] = field(default_factory=list)
    guards: list[tuple[str, ...]] = field(default_factory=list)
    seconds: float = 0.0
    may_write: Callable[[str], bool] | None = None

    def propose(
        self,
        tree: Path,
        tests: Sequence[str],
        issue: str,
        *,
        seconds: float,
        progress: Progress | None = None,
        may_write: Callable[[str], bool] | None = None,
        guards: Sequence[str] = (),
    ) -> Proposals:
        self.calls.append(tuple(tests))
        self.guards.append(tuple(guards))
        self.seconds, self.may_write = seconds, may_write
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


def proposals(*values: int) -> Proposals:
    return Proposals(
        proposals=tuple(map(proposal, values)), suspects=SUSPECTS, tried=40, note="tried 40 candidates"
    )


def offline_context(
    root: Path,
    proposer: ScriptedProposer,
    verifier: FakeVerifier,
    issue: str = "a.py says 1",
    **options: object,
) -> SessionContext:
    return replace(kit(root, verifier=verifier, issue=issue, **options), make_proposer=lambda: proposer)  # type: ignore[arg-type]  # what kit takes, by name


def run_offline(context: SessionContext) -> list[object]:
    """Return the log's entries after the strategy has ended: phases, notes, changed paths, kinds of
    verdicts.
    """

    async def run_strategy() -> Candidate:
        return await search_repair()(context, context.repository.create_candidate("c1"))

    asyncio.run(run_strategy())
    entries: list[object] = []
    for record in context.log.records:
        match record.event:
            case PhaseEntered(phase=phase):
                entries.append(phase)
            case NoteMade(note=note):
                entries.append(note)
            case FilesChanged(paths=paths):
                entries.append(paths)
            case Verified(verdict=verdict):
                entries.append(verdict.kind)
            case _:
                pass
    return entries


def notes(entries: list[object]) -> list[Note]:
    return [entry for entry in entries if isinstance(entry, Sites | Done | GiveUp)]


def test_keeps_first_proven_proposal(tmp_path: Path) -> None:
    verifier = FakeVerifier(verdicts=[STILL_RED, PROVEN], report=REDS)
    entries = run_offline(offline_context(tmp_path, ScriptedProposer([proposals(5, 2, 3)]), verifier))
    assert entries == [
        "locate",
        Sites(summary="tried 40 candidates", places=("a.py::value", "b.py::other"), tests=(RED.id,)),
        "edit",
        ("a.py",),
        Done(summary="value: use 5 instead of 1"),
        "verify",
        VerdictKind.PASSING,
        (),
        "edit",
        ("a.py",),
        Done(summary="value: use 2 instead of 1"),
        "verify",
        VerdictKind.PROVEN,
    ]
    assert (tmp_path / "a.py").read_text() == "VALUE = 2\n"
    assert verifier.calls == [
        ("reproduces", (RED.id, "tests/test_a.py::test_other")),
        ("verify", (RED.id,)),
        ("verify", (RED.id,)),
    ]


def test_keeps_proposal_lacking_only_issue_tie(tmp_path: Path) -> None:
    verdict = Verdict(
        kind=VerdictKind.PASSING, reason="Nothing ties it to this issue.", targets=(RED.id,), untied=(RED.id,)
    )
    entries = run_offline(
        offline_context(
            tmp_path, ScriptedProposer([proposals(2, 3)]), FakeVerifier(verdicts=[verdict], report=REDS)
        )
    )
    assert (entries[-1], entries.count("verify")) == (VerdictKind.PASSING, 1)
    assert (tmp_path / "a.py").read_text() == "VALUE = 2\n"


def test_rolls_back_unproven_proposals_after_three_tries(tmp_path: Path) -> None:
    verifier = FakeVerifier(verdicts=[STILL_RED], report=REDS)
    entries = run_offline(offline_context(tmp_path, ScriptedProposer([proposals(5, 6, 7, 8)]), verifier))
    assert entries.count("verify") == 3
    (last,) = notes(entries)[-1:]
    assert last == GiveUp(
        summary="No proposal was proven (tried 40 candidates). The fault is most likely in value, other.",
        places=("a.py::value", "b.py::other"),
    )
    assert (tmp_path / "a.py").read_text() == "VALUE = 1\n"


def test_respects_attempt_budget(tmp_path: Path) -> None:
    verifier = FakeVerifier(verdicts=[STILL_RED], report=REDS)
    entries = run_offline(
        offline_context(tmp_path, ScriptedProposer([proposals(5, 6, 7)]), verifier, budget=Budget(attempts=1))
    )
    assert entries.count("verify") == 1


def test_tests_broken_by_proposal_guard_next_search(tmp_path: Path) -> None:
    other = RED.model_copy(update={"id": "tests/test_b.py::test_other"})
    broke = Verdict(kind=VerdictKind.BROKEN, reason="A test broke.", broken=(other,))
    proposing = ScriptedProposer([proposals(5), proposals(5, 2)])
    entries = run_offline(
        offline_context(tmp_path, proposing, FakeVerifier(verdicts=[broke, PROVEN], report=REDS))
    )
    assert proposing.guards == [(), (other.id,)]
    assert [entry for entry in entries if isinstance(entry, Done | VerdictKind)] == [
        Done(summary="value: use 5 instead of 1"),
        VerdictKind.BROKEN,
        Done(summary="value: use 2 instead of 1"),
        VerdictKind.PROVEN,
    ]


def test_stops_when_result_is_inconclusive(tmp_path: Path) -> None:
    verifier = FakeVerifier(verdicts=[DOUBTFUL], report=REDS)
    entries = run_offline(offline_context(tmp_path, ScriptedProposer([proposals(5, 6, 7)]), verifier))
    assert entries[-2:] == [VerdictKind.INCONCLUSIVE, ()]
    assert (tmp_path / "a.py").read_text() == "VALUE = 1\n"


def test_without_failing_test_names_suspect_places(tmp_path: Path) -> None:
    proposer = ScriptedProposer([Proposals(suspects=SUSPECTS)])
    entries = run_offline(offline_context(tmp_path, proposer, FakeVerifier()))
    assert entries == ["locate", GiveUp(summary=NEEDS_A_TEST, places=("a.py::value", "b.py::other"))]
    assert proposer.calls == [()]


def test_ignores_tests_failing_for_other_reason(tmp_path: Path) -> None:
    entries = run_offline(
        offline_context(
            tmp_path,
            ScriptedProposer([proposals()]),
            FakeVerifier(reproduced=[ReproductionResult()], report=REDS),
        )
    )
    assert notes(entries)[0] == GiveUp(summary=NEEDS_A_TEST, places=("a.py::value", "b.py::other"))


def test_uses_test_named_in_issue(tmp_path: Path) -> None:
    verifier = FakeVerifier(report=REDS)
    run_offline(
        offline_context(
            tmp_path, ScriptedProposer([proposals(2)]), verifier, issue="tests/test_a.py::test_a fails"
        )
    )
    assert verifier.calls[0] == ("reproduces", (RED.id,))


def test_falls_back_to_tests_named_in_issue(tmp_path: Path) -> None:
    both = ("tests/test_a.py::test_prices", "tests/test_a.py::test_colours")
    verifier = FakeVerifier(reproduced=[ReproductionResult(tests=both)], report=REDS)
    proposer = ScriptedProposer([proposals(), proposals(2)])
    entries = run_offline(offline_context(tmp_path, proposer, verifier, issue="Colours look odd"))
    assert proposer.calls == [both, both[1:]]
    assert entries[-1] == VerdictKind.PROVEN


def test_passes_on_only_paths_and_remaining_time(tmp_path: Path) -> None:
    proposer = ScriptedProposer([proposals()])
    run_offline(
        offline_context(
            tmp_path, proposer, FakeVerifier(report=REDS), budget=Budget(seconds=50.0), only=("lib",)
        )
    )
    assert proposer.may_write is not None
    assert (proposer.may_write("lib/a.py"), proposer.may_write("a.py"), proposer.seconds) == (
        True,
        False,
        30.0,
    )


def test_shows_ambiguous_edits_with_differing_inputs(tmp_path: Path) -> None:
    ambiguous = Proposals(
        alternatives=(proposal(2).model_copy(update={"apart": "f(5) gives 2, elsewhere 3"}), proposal(3)),
        suspects=SUSPECTS,
        note="tried 40 candidates; they disagree",
    )
    entries = run_offline(offline_context(tmp_path, ScriptedProposer([ambiguous]), FakeVerifier(report=REDS)))
    (gave_up,) = [note for note in entries if isinstance(note, GiveUp)]
    assert (
        "none can be told to be right (tried 40 candidates; they disagree). The fault is most "
        "likely in value, other."
    ) in gave_up.summary
    assert "- value: use 2 instead of 1 (f(5) gives 2, elsewhere 3)\n--- a/a.py" in gave_up.summary
    assert "- value: use 3 instead of 1\n--- a/a.py" in gave_up.summary
    assert "verify" not in entries


def test_skips_slow_suite_when_failing_test_is_named(tmp_path: Path) -> None:
    has_searched = threading.Event()

    class Slow(FakeVerifier):
        def baseline(
            self, progress: Progress | None = None, *, whole: bool = False, brief: bool = False
        ) -> TestReport:
            assert has_searched.wait(10)
            return REDS

        def verify(
            self,
            patch: Patch,
            named: Sequence[str],
            progress: Progress | None = None,
            *,
            excluded: Sequence[str] = (),
            tell: RunListener | None = None,
        ) -> Verdict:
            has_searched.set()
            return super().verify(patch, named, progress, excluded=excluded, tell=tell)

    context = offline_context(tmp_path, ScriptedProposer([proposals(2)]), Slow(), issue=f"{RED.id} fails")

    async def run_strategy() -> Candidate:
        return await search_repair()(context, context.repository.create_candidate("c1"))

    asyncio.run(run_strategy())
    assert has_searched.is_set()
