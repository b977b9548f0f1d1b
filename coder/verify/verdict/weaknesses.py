"""Weaknesses of a change whose targets are green: reasons why they prove less than they seem to."""

from collections.abc import Mapping, Sequence

from coder.core.values.paths import file_of
from coder.core.values.verdict import TestResult
from coder.verify.review.change_review import doubts, texts
from coder.verify.review.weak_tests import definitions_changed, weak_tests
from coder.verify.verdict.caps import runner_files, vacuous
from coder.verify.verdict.evidence import hash_of
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
        hashes = {path: hash_of(new / path) for path in sorted(set(map(file_of, targets)))}
        red = [result.id for result in before.reds]
        found = list(doubts(old, new, change.changed, red_before=red, targets=targets, issue=change.issue))
        results = [greens[test] for test in targets]
        found += vacuous(texts(new, hashes), results, before)
        definitions = definitions_changed(texts(old, change.sources), texts(new, change.sources))
        found += weak_tests(texts(new, hashes), results, before, changed=definitions, issue=change.issue)
    if before.indirect and (files := runner_files(before.command, change.changed)):
        found.append(f"the change touches how tests run ({', '.join(files[:3])})")
    return found, hashes
