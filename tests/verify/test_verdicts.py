"""Changes that look finished, each judged by real runs (tests/cases/verdicts).

`verdict.txt` has the verdict's kind, then lines that its reason, notes or tests hold; `command.txt` the test
command, if it is not pytest; `shared.txt` names files of `shared/` that the case has, too. What a fake runner
can show is in `verdict/`; these need the real one.
"""

import shutil
from pathlib import Path

import pytest

from coder.core.paths import extract_node_ids
from coder.core.verdict import Verdict
from coder.core.verdict_summary import describe_proof
from coder.sandbox.process import ProcessSandbox
from coder.verify.change import Purpose
from coder.verify.example import IssueCode
from coder.verify.verifier import WorktreeVerifier
from tests.builders import find_project, read_case, write
from tests.verify.conftest import Run
from tests.verify.fakes import FakeTrees

CASES = sorted((Path(__file__).parent.parent / "cases" / "verdicts").glob("[0-9]*"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_verdict_and_messages_match_case(
    case: Path, tmp_path: Path, make_runner: Run, sandbox: ProcessSandbox
) -> None:
    base, change = read_case(case, "before"), read_case(case, "change")
    issue = (case / "issue.md").read_text("utf-8")
    command = _read_command(case)
    write(tmp_path / "checkout", base)
    (tmp_path / "trees").mkdir()
    trees = FakeTrees(tmp_path / "trees", base, change)
    runner = make_runner(tmp_path / "checkout", command=command)
    project = find_project(tmp_path / "checkout", sandbox=sandbox, environment={})
    verifier = WorktreeVerifier(
        trees=trees,
        runner=runner,
        purpose=Purpose(issue=issue, needs_ties=bool(issue.strip())),
        examples=IssueCode(project, sandbox, sandbox.scratch),
    )
    verdict = verifier.examine(verifier.judge(trees.patch, extract_node_ids(issue)))
    kind, *lines = (case / "verdict.txt").read_text("utf-8").splitlines()
    text = _verdict_text(verdict)
    assert (verdict.kind.value, [line for line in lines if line not in text]) == (kind, []), text


def _read_command(case: Path) -> str | None:
    """Return the test command of a case; skip it where a tool that the command needs is not installed."""
    if not (case / "command.txt").is_file():
        return None
    command = (case / "command.txt").read_text("utf-8").strip()
    if (tool := command.split()[0]) in ("npm",) and shutil.which(tool) is None:
        pytest.skip(f"{tool} is not installed")
    return command


def _verdict_text(verdict: Verdict) -> str:
    tests = [result.id for result in (*verdict.broken, *verdict.still_red)]
    proof = describe_proof(verdict)
    replaced = [assertion.line for assertion in verdict.replaced_assertions]
    found = [f"{finding.effect}: {finding.text}" for finding in verdict.findings]
    return "\n".join([verdict.label, verdict.reason, *found, *tests, *replaced, proof])
