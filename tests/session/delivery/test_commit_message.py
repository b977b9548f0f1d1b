from pathlib import Path

import pytest

from coder.core.events import NoteMade
from coder.core.notes import Diagnosis, Done
from coder.core.text import format_subject
from coder.core.values import Candidate, PhaseName
from coder.session.session import branch_slug, summarize_change
from tests.session.fakes import kit

CAPITALS = ("Add a thing", "Mend another thing", "Release 2.0")
CONVENTIONAL = ("feat: add a thing", "fix(core): mend it", "chore: release")
STOPPED = ("Add a thing.", "Mend another.")
PREFIXED = ("core: add a thing", "docs: say so")


@pytest.mark.parametrize(
    ("summary", "recent", "expected"),
    [
        ("the window no longer crashes.", CAPITALS, "The window no longer crashes"),
        ("The window no longer crashes.", CONVENTIONAL, "fix: the window no longer crashes"),
        ("fix: keep it", CONVENTIONAL, "fix: keep it"),
        ("The window no longer crashes", STOPPED, "The window no longer crashes."),
        ("HTTPError is raised", CONVENTIONAL, "fix: HTTPError is raised"),
        ("keep what is there", PREFIXED, "keep what is there"),
        ("## A heading\nand more", (), "A heading"),
        ("", (), "Fix the issue"),
        ("Fix: Dates in March are lost", CONVENTIONAL, "fix: dates in March are lost"),
        ("bulk_create() keeps the order", CAPITALS, "bulk_create() keeps the order"),
        ("parseQuery keeps all values", CAPITALS, "parseQuery keeps all values"),
        ("merge: use <= instead of <", CAPITALS, "merge: use <= instead of <"),
    ],
)
def test_subject_follows_the_repository(summary: str, recent: tuple[str, ...], expected: str) -> None:
    assert format_subject(summary, recent) == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("Take the discount as a percentage of the sum", "take-the-discount-as-a-percentage"),
        ("Use <= instead of < in merge", "use-instead-of-in-merge"),
        ("fix(core): Don't crash on ünïcode, please, ever again!", "don-t-crash-on-n-code"),
        ("!!!", "fix"),
        ("", "fix"),
    ],
)
def test_slug_ends_with_a_whole_phrase(line: str, expected: str) -> None:
    assert branch_slug(line) == expected


FIRST = "Keep the sign of minutes\n\nIt was lost in f()."


@pytest.mark.parametrize(
    ("notes", "message"),
    [
        ([("edit", FIRST), ("repair", "Correct the test."), ("repair", "Name the\nconstant.")], FIRST),
        ([("edit", "Keep the sign"), ("repair", "Correct the test.")], "Keep the sign"),
        ([("edit", "Fix it"), ("repair", FIRST), ("repair", "Correct the test.")], FIRST),
        ([("edit", "value: use 5"), ("edit", "value: use 2")], "value: use 2"),
        ([("edit", FIRST), ("diagnose", ""), ("repair", "Parse seconds, too")], "Parse seconds, too"),
        ([("repair", "Correct the test.")], "Correct the test."),
    ],
)
def test_message_is_written_once_and_amended(
    tmp_path: Path, notes: list[tuple[PhaseName, str]], message: str
) -> None:
    context = kit(tmp_path)
    for phase, text in notes:
        note = Done(summary=text) if text else Diagnosis(summary="All wrong.", start_over=True)
        context.log.append(NoteMade(candidate="c1", phase=phase, note=note))
    candidate = Candidate(id="c1", worktree=tmp_path, base="")
    assert summarize_change(context.on(candidate)) == message
