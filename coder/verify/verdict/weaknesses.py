"""Weaknesses of a change whose targets are green: reasons why they prove less than they seem to."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from coder.core.paths import is_test_path
from coder.core.verdict import TestResult
from coder.files.regular_files import read_regular_text
from coder.verify.change.judged_change import JudgedChange
from coder.verify.impact.import_graph import project_files
from coder.verify.project.configuration import may_configure
from coder.verify.results.comparison import shorten_test_id
from coder.verify.review.change_review import change_doubts, find_weakened_tests, read_texts
from coder.verify.review.weak_tests import changed_definitions, weak_test_findings
from coder.verify.test_files.locating import CODE
from coder.verify.verdict.caps import changed_runner_files, vacuous_tests
from coder.verify.verdict.evidence import sha256_of

PROSE = (".md", ".rst", ".adoc")
SHOWN = 3


class Weaknesses(NamedTuple):
    """Reasons why a change proves less than it seems to, half a sentence each."""

    doubts: list[str]
    weakened_tests: list[str]
    hashes: dict[str, str]
    """SHA-256 of the targets' files that are the same on both sides, by path."""


def find_weaknesses(
    change: JudgedChange, targets: Sequence[str], greens: Mapping[str, TestResult]
) -> Weaknesses:
    """Return what weakens the proof that the targets, which are green on the change, give."""
    before = change.before
    files = sorted({path for target in targets for path in change.files_of(target)})
    with change.split.checkout("base") as old, change.split.checkout("change") as new:
        hashes = {
            path: digest for path in files if path not in change.sources and (digest := sha256_of(new / path))
        }
        weakened = find_weakened_tests(old, new, tests=change.tests, sources=change.sources)
        red = [result.id for result in before.failures]
        found = list(
            change_doubts(
                old,
                new,
                tests=change.tests,
                sources=change.sources,
                red_before=red,
                test_files=files,
                issue=change.issue,
            )
        )
        results = [greens[test] for test in targets]
        found += vacuous_tests(read_texts(new, hashes), results, before)
        definitions = changed_definitions(read_texts(old, change.sources), read_texts(new, change.sources))
        found += weak_test_findings(
            read_texts(new, hashes), results, before, changed=definitions, issue=change.issue
        )
        found += _unclear_data(change, targets, new)
    found += change.find_issue_gaps(targets)
    decisive = [path for path in change.changed if path not in change.split.registrations]
    runner_files = changed_runner_files(before.command, decisive, is_indirect=before.indirect)
    if runner_files:
        found.append(f"the change touches how tests run ({', '.join(runner_files[:SHOWN])})")
    return Weaknesses(found, weakened, hashes)


def _unclear_data(change: JudgedChange, targets: Sequence[str], new: Path) -> Iterator[str]:
    """Yield why changed files that are no code may be expectations of the targets, half a sentence each."""
    data = [path for path in change.sources if not path.endswith((*CODE, *PROSE))]
    if not data or not targets:
        return
    if lost := [target for target in targets if not change.files_of(target)]:
        yield (
            f"the file that defines {shorten_test_id(lost[0])} cannot be found, and the change edits "
            f"{', '.join(data[:SHOWN])}, which may say what it expects"
        )
    names = {path.rpartition("/")[2]: path for path in data if not may_configure(path)}
    texts = {file: read_regular_text(new / file) for file in project_files(new) if file.endswith(CODE)}
    for name, path in names.items():
        users = [file for file, text in texts.items() if name in text]
        if users and all(is_test_path(file) or file in change.tests for file in users):
            yield f"the change edits {path}, which only tests read ({', '.join(users[:SHOWN])})"
