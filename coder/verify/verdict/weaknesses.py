"""Weaknesses of a change whose targets are green: reasons why they prove less than they seem to."""

from collections.abc import Mapping, Sequence

from coder.core.values.paths import test_file_of
from coder.core.values.verdict import TestResult
from coder.verify.review.change_review import change_doubts, read_texts
from coder.verify.review.weak_tests import changed_definitions, weak_test_findings
from coder.verify.verdict.caps import changed_runner_files, vacuous_tests
from coder.verify.verdict.evidence import sha256_of
from coder.verify.verdict.judged_change import JudgedChange


def find_weaknesses(
    change: JudgedChange, targets: Sequence[str], greens: Mapping[str, TestResult]
) -> tuple[list[str], dict[str, str]]:
    """Return sentences on what weakens the proof, and the SHA-256 of the targets' files by path."""
    before = change.before
    with (
        change.trees.checkout(change.trees.base, ()) as old,
        change.trees.checkout(change.tree) as new,
    ):
        hashes = {path: sha256_of(new / path) for path in sorted(set(map(test_file_of, targets)))}
        red = [result.id for result in before.failures]
        found = list(
            change_doubts(old, new, change.changed, red_before=red, targets=targets, issue=change.issue)
        )
        results = [greens[test] for test in targets]
        found += vacuous_tests(read_texts(new, hashes), results, before)
        definitions = changed_definitions(read_texts(old, change.sources), read_texts(new, change.sources))
        found += weak_test_findings(
            read_texts(new, hashes), results, before, changed=definitions, issue=change.issue
        )
    runner_files = changed_runner_files(before.command, change.changed, is_indirect=before.indirect)
    if runner_files:
        found.append(f"the change touches how tests run ({', '.join(runner_files[:3])})")
    return found, hashes
