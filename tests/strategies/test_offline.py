"""Repair without a model, from the failing tests to a verdict."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from coder.core.events import FilesChanged, NoteMade, PhaseEntered, Verified
from coder.core.notes import Done, GiveUp, Note, Sites
from coder.core.ports import Progress, RunListener
from coder.core.task import Budget
from coder.core.values import Patch, Proposal, Proposals, Suspect
from coder.core.verdict import ReproductionResult, TestReport, Verdict, VerdictKind
from coder.session.context import SessionContext
from coder.strategies.offline import NEEDS_A_TEST, search_repair
from tests.session.fakes import PROVEN, RED, STILL_RED, FakeVerifier, kit, run_strategy

SUSPECTS = (Suspect(place="a.py::value", line=1, score=0.9), Suspect(place="b.py::other", line=7, score=0.4))
REDS = TestReport(
    command="pytest", results=(RED, RED.model_copy(update={"id": "tests/test_a.py::test_other"}))
)
PLACES = ("a.py::value", "b.py::other")
LIKELY = "The fault is most likely in value, other."
NONE_PROVEN = GiveUp(summary=f"No proposal was proven (tried 40 candidates). {LIKELY}", places=PLACES)
DOUBTFUL = Verdict(kind=VerdictKind.NOT_TESTED, reason="The wrong code was loaded.")


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
    proposed: Proposals | ScriptedProposer,
    *verdicts: Verdict,
    verifier: FakeVerifier | None = None,
    issue: str = "a.py says 1",
    **options: Any,
) -> SessionContext:
    """Return a context in which this is proposed and judged so, on a base with two red tests."""
    proposer = proposed if isinstance(proposed, ScriptedProposer) else ScriptedProposer([proposed])
    judging = verifier or FakeVerifier(verdicts=[*(verdicts or (PROVEN,))], report=REDS)
    return replace(kit(root, verifier=judging, issue=issue, **options), make_proposer=lambda: proposer)


def run_offline(
    root: Path, proposed: Proposals | ScriptedProposer, *verdicts: Verdict, **options: Any
) -> list[object]:
    """Return the log's entries after the strategy has ended: phases, notes, changed paths, kinds of
    verdicts.
    """
    context = offline_context(root, proposed, *verdicts, **options)
    run_strategy(search_repair(), context)
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
    assert run_offline(tmp_path, proposals(5, 2, 3), verifier=verifier) == [
        "locate",
        Sites(summary="tried 40 candidates", places=PLACES, tests=(RED.id,)),
        *("edit", ("a.py",), Done(summary="value: use 5 instead of 1")),
        *("verify", VerdictKind.NOT_FIXED, ()),
        *("edit", ("a.py",), Done(summary="value: use 2 instead of 1")),
        *("verify", VerdictKind.PROVEN),
    ]
    assert (tmp_path / "a.py").read_text() == "VALUE = 2\n"
    judged = ("verify", (RED.id,))
    assert verifier.calls == [("reproduces", (RED.id, "tests/test_a.py::test_other")), judged, judged]


UNTIED = Verdict(
    kind=VerdictKind.PASSING, reason="Nothing ties it to this issue.", targets=(RED.id,), untied=(RED.id,)
)


@pytest.mark.parametrize(
    ("verdict", "attempts", "tries", "last", "value"),
    [
        (UNTIED, 3, 1, [VerdictKind.PASSING], 2),
        (
            STILL_RED,
            3,
            3,
            [GiveUp(summary=f"No proposal was proven (tried 40 candidates). {LIKELY}", places=PLACES)],
            1,
        ),
        (STILL_RED, 1, 1, None, 1),
        (DOUBTFUL, 3, 1, [VerdictKind.NOT_TESTED, ()], 1),
    ],
    ids=["lacks only the tie to the issue", "three tries", "attempts of the budget", "inconclusive"],
)
def test_tries_until_one_holds(
    tmp_path: Path, verdict: Verdict, attempts: int, tries: int, last: list[object] | None, value: int
) -> None:
    entries = run_offline(tmp_path, proposals(2, 6, 7, 8), verdict, budget=Budget(attempts=attempts))
    assert entries.count("verify") == tries
    assert last is None or entries[-len(last) :] == last
    assert (tmp_path / "a.py").read_text() == f"VALUE = {value}\n"


def test_tests_broken_by_proposal_guard_next_search(tmp_path: Path) -> None:
    other = RED.model_copy(update={"id": "tests/test_b.py::test_other"})
    broke = Verdict(kind=VerdictKind.BROKEN, reason="A test broke.", broken=(other,))
    proposing = ScriptedProposer([proposals(5), proposals(5, 2)])
    entries = run_offline(tmp_path, proposing, broke, PROVEN)
    assert proposing.guards == [(), (other.id,)]
    assert [entry for entry in entries if isinstance(entry, Done | VerdictKind)] == [
        Done(summary="value: use 5 instead of 1"),
        VerdictKind.BROKEN,
        Done(summary="value: use 2 instead of 1"),
        VerdictKind.PROVEN,
    ]


def test_without_failing_test_names_suspect_places(tmp_path: Path) -> None:
    proposer = ScriptedProposer([Proposals(suspects=SUSPECTS)])
    entries = run_offline(tmp_path, proposer, verifier=FakeVerifier())
    assert entries == ["locate", GiveUp(summary=NEEDS_A_TEST, places=PLACES)]
    assert proposer.calls == [()]


def test_ignores_tests_failing_for_other_reason(tmp_path: Path) -> None:
    verifier = FakeVerifier(reproduced=[ReproductionResult()], report=REDS)
    entries = run_offline(tmp_path, proposals(), verifier=verifier)
    assert notes(entries)[0] == GiveUp(summary=NEEDS_A_TEST, places=PLACES)


def test_uses_test_named_in_issue(tmp_path: Path) -> None:
    verifier = FakeVerifier(report=REDS)
    run_offline(tmp_path, proposals(2), verifier=verifier, issue="tests/test_a.py::test_a fails")
    assert verifier.calls[0] == ("reproduces", (RED.id,))


def test_falls_back_to_tests_named_in_issue(tmp_path: Path) -> None:
    both = ("tests/test_a.py::test_prices", "tests/test_a.py::test_colours")
    verifier = FakeVerifier(reproduced=[ReproductionResult(tests=both)], report=REDS)
    proposer = ScriptedProposer([proposals(), proposals(2)])
    entries = run_offline(tmp_path, proposer, verifier=verifier, issue="Colours look odd")
    assert proposer.calls == [both, both[1:]]
    assert entries[-1] == VerdictKind.PROVEN


def test_passes_on_only_paths_and_remaining_time(tmp_path: Path) -> None:
    proposer = ScriptedProposer([proposals()])
    run_offline(tmp_path, proposer, budget=Budget(seconds=50.0), only=("lib",))
    assert proposer.may_write is not None
    may_write = [proposer.may_write(path) for path in ("lib/a.py", "a.py")]
    assert (may_write, proposer.seconds) == ([True, False], 30.0)


def test_shows_ambiguous_edits_with_differing_inputs(tmp_path: Path) -> None:
    ambiguous = Proposals(
        alternatives=(proposal(2).model_copy(update={"apart": "f(5) gives 2, elsewhere 3"}), proposal(3)),
        suspects=SUSPECTS,
        note="tried 40 candidates; they disagree",
    )
    entries = run_offline(tmp_path, ambiguous)
    (gave_up,) = [note for note in entries if isinstance(note, GiveUp)]
    assert (f"none can be told to be right (tried 40 candidates; they disagree). {LIKELY}") in gave_up.summary
    assert "- value: use 2 instead of 1 (f(5) gives 2, elsewhere 3)\n--- a/a.py" in gave_up.summary
    assert "- value: use 3 instead of 1\n--- a/a.py" in gave_up.summary
    assert "verify" not in entries


async def test_skips_slow_suite_when_failing_test_is_named(tmp_path: Path) -> None:
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

    context = offline_context(tmp_path, proposals(2), verifier=Slow(), issue=f"{RED.id} fails")
    await search_repair()(context, context.repository.create_candidate("c1"))
    assert has_searched.is_set()
