"""What a red verdict is taken for: one signature at a time, counted over the attempts, and changed where mending one side fails."""

from collections import Counter
from collections.abc import Sequence

from coder.core.events import Diagnosed, FilesChanged, NoteMade, Record, Verified
from coder.core.notes import Diagnosis
from coder.core.state import lineage
from coder.core.values.candidate import Candidate
from coder.core.values.hunk import Hunk
from coder.core.values.paths import is_test_path
from coder.core.values.signature import alike
from coder.core.values.verdict import Cause, TestResult, Verdict
from coder.patching.git_hunks import hunks
from coder.session.context import Kit


def diagnose(kit: Kit, candidate: Candidate) -> None:
    """Log what each way of failing in the newest verdict is taken for."""
    for diagnosed in newest_diagnoses(kit, candidate):
        kit.log.append(diagnosed)


def newest_diagnoses(kit: Kit, candidate: Candidate) -> tuple[Diagnosed, ...]:
    """`diagnoses` of a candidate, under the task's limit of attempts per side."""
    records = lineage(kit.log.records, candidate.id)
    return diagnoses(records, candidate.id, per_side=kit.task.budget.attempts_per_side)


def diagnoses(records: Sequence[Record], candidate: str, *, per_side: int = 2) -> tuple[Diagnosed, ...]:
    """Each signature of the newest verdict, those tried least first: what was not looked at yet may be the cause of the rest.

    After `per_side` attempts at one side, the code or the test, the same failure is taken for the other side's.
    """
    seen: Counter[str] = Counter()
    sides: Counter[tuple[str, bool]] = Counter()
    taken: dict[str, Cause] = {}
    found: list[Diagnosed] = []
    last: tuple[Hunk, ...] = ()
    diff, paths = "", tuple[str, ...]()
    for record in records:
        match record.event:
            case FilesChanged(diff=changed, paths=changed_paths):
                diff, paths = changed, changed_paths
            case Verified(verdict=verdict) if not verdict.good:
                now = hunks(diff)
                touched = {is_test_path(hunk.path) for hunk in set(now) ^ set(last)}
                last, found = now, []
                for told, results in alike(reds(verdict)).items():
                    seen[told] += 1
                    sides.update((told, side) for side in touched)
                    cause, was = _cause(
                        told, results, sides, taken, per_side=per_side, own_test=_file(results[0]) in paths
                    )
                    taken[told] = cause
                    tests = tuple(result.id for result in results)
                    found.append(
                        Diagnosed(
                            candidate=candidate,
                            signature=told,
                            tests=tests,
                            cause=cause,
                            attempts=seen[told],
                            was=was,
                        )
                    )
            case _:
                pass
    return tuple(sorted(found, key=lambda item: item.attempts))


def reds(verdict: Verdict) -> tuple[TestResult, ...]:
    """What stands against a change; what broke first."""
    return verdict.broken + verdict.still_red


def _cause(
    told: str,
    results: Sequence[TestResult],
    sides: Counter[tuple[str, bool]],
    taken: dict[str, Cause],
    *,
    per_side: int,
    own_test: bool,
) -> tuple[Cause, Cause | None]:
    """What a failure is taken for now, and what it was taken for before where that has changed.

    A test that the change did not touch is never at fault: it was right before.
    """
    cause: Cause = taken.get(told) or results[0].cause or "logic"
    tests_blamed = cause in ("test error", "collection")
    if sides[told, tests_blamed] < per_side or not (tests_blamed or (cause == "logic" and own_test)):
        return cause, None
    for side in (True, False):
        sides[told, side] = 0
    return ("logic" if tests_blamed else "test error"), cause


def _file(result: TestResult) -> str:
    return result.id.partition("::")[0]


def left_out(records: Sequence[Record]) -> tuple[tuple[str, ...], int]:
    """Places that the newest diagnosis named and no change since has touched, and how many red verdicts have seen it so."""
    places: tuple[str, ...] = ()
    before: tuple[Hunk, ...] = ()
    newest: tuple[Hunk, ...] = ()
    asked = 0
    for record in records:
        match record.event:
            case NoteMade(note=Diagnosis(places=named)) if named:
                places, before, asked = named, newest, 0
            case FilesChanged(diff=diff):
                newest = hunks(diff)
            case Verified(verdict=verdict) if not verdict.good and places:
                changed = set(newest) ^ set(before)
                places = tuple(
                    place for place in places if not any(_touches(hunk, place) for hunk in changed)
                )
                asked += bool(places)
            case _:
                pass
    return places, asked


def _touches(hunk: Hunk, place: str) -> bool:
    """Does a hunk change this `path`, `path:line` or `path::Name`? A name must stand in or above its changed lines."""
    path, _, name = place.partition("::")
    if hunk.path != path.partition(":")[0]:
        return False
    lines = hunk.body.splitlines()
    last = max((number for number, line in enumerate(lines) if line[:1] in ("+", "-")), default=0)
    return not name or name.rpartition(".")[2] in "\n".join(lines[: last + 1])
