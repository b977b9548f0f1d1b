"""Repairs of review findings; forks are directories, and a fake model answers by finding."""

import asyncio
import hashlib
import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path

from coder.core.errors import ModelError
from coder.core.events import CandidateDropped, CandidateForked, Verified
from coder.core.messages import AssistantMessage, Delta, Reply, Request, ToolCall, Usage
from coder.core.notes import Findings, ReviewFinding
from coder.core.values import Candidate, Patch
from coder.session.context import SessionContext
from coder.strategies.review import repair_flagged
from coder.workspace.workspace import Workspace
from tests.session.fakes import FakeRepository, FakeVerifier, events, kit, with_models

PLAIN = "def f():\n    return 1\n\n\ndef g():\n    return 2\n"
DOUBLE = Usage(cost_usd=Decimal(0))


@dataclass
class DirectoryRepository(FakeRepository):
    """Repository that gives each candidate a directory of its own; a tree is a copy of one."""

    def create_candidate(self, name: str) -> Candidate:
        place = self.root.parent / name
        shutil.copytree(self.root, place)
        return Candidate(id=name, worktree=place, base=self.base)

    def candidate_patch(self, candidate: Candidate) -> Patch:
        files = {path.name: path.read_text() for path in sorted(candidate.worktree.glob("*.py"))}
        tree = hashlib.sha1(repr(files).encode()).hexdigest()
        shutil.copytree(candidate.worktree, self.root.parent / tree, dirs_exist_ok=True)
        return Patch(
            diff="\n".join(f"diff --git a/{name} b/{name}\n{text}" for name, text in files.items()),
            paths=(*files,),
            tree=tree,
        )

    def rollback(self, candidate: Candidate, tree: str) -> None:
        shutil.copytree(self.root.parent / tree, candidate.worktree, dirs_exist_ok=True)

    @contextmanager
    def checkout(self, tree: str, paths: object = None) -> Iterator[Path]:
        yield self.root.parent / tree


@dataclass
class RepairModel:
    """Model that answers with the diff for the last of the places that the conversation names, once all
    have asked.
    """

    diffs: Mapping[str, str | Exception]
    together: int
    """Number of requests that must have arrived before the first is answered."""
    calls: list[str] = field(default_factory=list)
    gathered: asyncio.Event = field(default_factory=asyncio.Event)
    name: str = "fake:repairer"
    context_tokens: int | None = None
    accepts_images: bool = False

    def maximum_cost_usd(self, input_tokens: int, output_tokens: int) -> Decimal | None:
        return Decimal(0)

    async def complete(self, request: Request, on_delta: Callable[[Delta], None]) -> Reply:
        text = request.messages[-1].text
        place = next(place for place in self.diffs if f"{place}:" in text)
        self.calls.append(place)
        if len(self.calls) >= self.together:
            self.gathered.set()
        await self.gathered.wait()
        diff = self.diffs[place]
        if isinstance(diff, Exception):
            raise diff
        call = ToolCall(id=place, name="apply_patch", arguments=json.dumps({"diff": diff}))
        return Reply(message=AssistantMessage(text="Mended.", calls=(call,)), usage=DOUBLE, finish="calls")


def make_findings(*places: str) -> tuple[Findings, ...]:
    findings = [
        ReviewFinding(
            severity="major", path=place.partition(":")[0], line=int(place.partition(":")[2]), text="wrong"
        )
        for place in places
    ]
    return (Findings(summary="Not yet.", approve=False, findings=tuple(findings)),)


def one_line_diff(path: str, at: int, old: str, new: str) -> str:
    return f"--- a/{path}\n+++ b/{path}\n@@ -{at} +{at} @@\n-{old}\n+{new}\n"


def run_repairs(tmp_path: Path, repairer: RepairModel, *places: str) -> SessionContext:
    """Return the context after the findings at these places of two files have been repaired."""
    root = tmp_path / "root"
    context = kit(root, repository=DirectoryRepository(root=root), verifier=FakeVerifier())
    (root / "a.py").write_text(PLAIN)
    (root / "b.py").write_text(PLAIN)
    workspaces: dict[str, Workspace] = {}

    def workspace(candidate: Candidate) -> Workspace:
        return workspaces.setdefault(
            candidate.id, replace(context.workspace(candidate), root=candidate.worktree)
        )

    whole = replace(with_models(context, model=repairer), workspace=workspace)

    async def scenario() -> None:
        candidate = whole.repository.create_candidate("c1")
        whole.log.append(CandidateForked(candidate="c1"))
        patch = whole.repository.candidate_patch(candidate)
        async with asyncio.timeout(10):
            await repair_flagged(make_findings(*places), patch)(whole, candidate)

    asyncio.run(scenario())
    return whole


def drop_reasons(context: SessionContext) -> dict[str, str]:
    return {
        record.event.candidate: record.event.reason
        for record in context.log.records
        if isinstance(record.event, CandidateDropped)
    }


def verifications(context: SessionContext) -> list[str]:
    return [event.candidate for event in events(context.log, Verified)]


def test_repairs_separate_places_concurrently(tmp_path: Path) -> None:
    first, other = (
        one_line_diff("a.py", 2, "    return 1", "    return 0"),
        one_line_diff("a.py", 6, "    return 2", "    return 3"),
    )
    repairer = RepairModel(
        {"a.py:2": first, "a.py:6": other, "b.py:2": first.replace("a.py", "b.py")}, together=3
    )
    context = run_repairs(tmp_path, repairer, "a.py:2", "b.py:2", "a.py:6")
    assert (tmp_path / "c1" / "a.py").read_text() == PLAIN.replace("1", "0").replace("2", "3")
    assert (tmp_path / "c1" / "b.py").read_text() == PLAIN.replace("1", "0")
    assert (len(repairer.calls), verifications(context), drop_reasons(context)) == (3, ["c1"], {})


def test_repairs_conflicting_places_in_one_conversation(tmp_path: Path) -> None:
    imports = {"a.py:2": "import re", "a.py:6": "import os"}
    diffs = {
        place: f"--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,3 @@\n+{new}\n def f():\n     return 1\n"
        for place, new in imports.items()
    }
    repairer = RepairModel(diffs, together=2)
    context = run_repairs(tmp_path, repairer, "a.py:2", "a.py:6")
    assert (tmp_path / "c1" / "a.py").read_text() == f"import re\n{PLAIN}"
    assert (sorted(repairer.calls[:2]), repairer.calls[2:], verifications(context)) == (
        ["a.py:2", "a.py:6"],
        ["a.py:2"],
        ["c1"],
    )
    assert drop_reasons(context) == dict.fromkeys(
        ("c1-mend-1", "c1-mend-2"), "What was mended at once clashes in a.py."
    )


def test_failed_repair_keeps_other_repairs(tmp_path: Path) -> None:
    repairer = RepairModel(
        {"a.py:2": ModelError("down"), "b.py:2": one_line_diff("b.py", 2, "    return 1", "    return 0")},
        together=2,
    )
    context = run_repairs(tmp_path, repairer, "a.py:2", "b.py:2")
    assert ((tmp_path / "c1" / "a.py").read_text(), (tmp_path / "c1" / "b.py").read_text()) == (
        PLAIN,
        PLAIN.replace("1", "0"),
    )
    assert (drop_reasons(context), verifications(context)) == ({"c1-mend-1": "down"}, ["c1"])


def test_verifies_nothing_without_repair(tmp_path: Path) -> None:
    context = run_repairs(
        tmp_path,
        RepairModel({"a.py:2": ModelError("down"), "b.py:2": ModelError("down")}, together=2),
        "a.py:2",
        "b.py:2",
    )
    assert verifications(context) == []


def test_repairs_adjacent_definitions_together(tmp_path: Path) -> None:
    both = (
        "--- a/a.py\n+++ b/a.py\n@@ -1,6 +1,6 @@\n def f():\n-    return 1\n+    return 0\n \n \n"
        " def g():\n     return 2\n"
    )
    repairer = RepairModel({"a.py:2": both}, together=1)
    context = run_repairs(tmp_path, repairer, "a.py:2", "a.py:1")
    assert (repairer.calls, verifications(context)) == (["a.py:2"], ["c1"])
    assert not [
        record
        for record in context.log.records
        if isinstance(record.event, CandidateForked) and record.event.role == "repairer"
    ]
