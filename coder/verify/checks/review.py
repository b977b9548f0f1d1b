"""Weaknesses of a change, read from its sources and tests."""

import io
import re
import tokenize
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from coder.core.paths import is_test_path
from coder.core.verdict import Finding, TestResult
from coder.files.regular_files import read_regular_text
from coder.verify.change import JudgedChange
from coder.verify.checks.harness import SUFFIXES as SCRIPT_SUFFIXES
from coder.verify.checks.harness import harness_accesses, harness_accesses_js
from coder.verify.checks.special_cases import overfitting_signs, symptom_signs
from coder.verify.checks.test_quality import (
    changed_runner_files,
    vacuous_tests,
    weak_test_findings,
)
from coder.verify.extensions import SUFFIXES as NATIVE_SUFFIXES
from coder.verify.extensions import compiled_sources, find_native_accesses, find_projects
from coder.verify.languages import SUFFIXES, find_edited_definitions
from coder.verify.layout import configuration_of_tests, is_injected, may_configure
from coder.verify.mutate import differs_in_code
from coder.verify.report import shorten_test_id
from coder.verify.select import project_files
from coder.verify.test_edits import (
    find_removed_functions,
    find_renamed_in,
    find_successions,
    removed_names,
    removed_tests,
    weakened_successors,
    weakened_tests,
    weakened_tests_in,
)
from coder.verify.test_files import (
    CODE,
    adds_only_fixtures,
    find_fixture_names,
    inline_tests,
    names_of,
    without_inline_tests,
)
from coder.verify.test_files import SUFFIX as INLINE_SUFFIX
from coder.verify.trees import LARGEST, read_texts
from coder.verify.verdict import findings, sha256_of

PROSE = (".md", ".rst", ".adoc")
SHOWN = 3


class Weaknesses(NamedTuple):
    """Reasons why a change proves less than it seems to, half a sentence each."""

    doubts: list[Finding]
    weakened_tests: list[str]
    """Descriptions of tests that became weaker."""
    hashes: dict[str, str]
    """SHA-256 of the targets' files that are the same on both sides, by path."""


def find_weaknesses(
    change: JudgedChange, targets: Sequence[str], greens: Mapping[str, TestResult]
) -> Weaknesses:
    """Return what weakens the proof that the targets, which are green on the change, give."""
    before = change.before
    files = sorted({path for target in targets for path in change.files_of(target)})
    with change.split.read("base") as old, change.split.read("change") as new:
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
        found += findings("vacuous-test", vacuous_tests(read_texts(new, hashes), results, before))
        definitions = find_edited_definitions(
            read_texts(old, change.sources), read_texts(new, change.sources)
        )
        weak = weak_test_findings(
            read_texts(new, hashes), results, before, changed=definitions, issue=change.issue
        )
        found += findings("weak-test", weak)
        found += findings("test-data", _unclear_data(change, targets, new))
        found += findings("unread", _unread_sources(new, change.sources))
    found += findings("issue-gap", change.find_issue_gaps(targets))
    decisive = [path for path in change.changed if path not in change.split.registrations]
    runner_files = changed_runner_files(before.command, decisive, is_indirect=before.indirect)
    if runner_files:
        text = f"the change touches how tests run ({', '.join(runner_files[:SHOWN])})"
        found += findings("runner-files", [text])
    return Weaknesses(found, weakened, hashes)


def _unread_sources(new: Path, sources: Sequence[str]) -> Iterator[str]:
    """Yield which changed Python sources run and cannot be read as what they are, half a sentence each."""
    for path in sources:
        file = new / path
        if not path.endswith((".py", ".pyw")):
            continue
        if file.is_symlink():
            yield f"{path} is a link, and what it leads to was not read"
        elif not file.is_file():
            continue
        elif file.stat().st_size >= LARGEST:
            yield f"{path} is too large to be read"
        elif (encoding := _declared_encoding(file.read_bytes())) and not _keeps_ascii(encoding):
            yield f"{path} is written in {encoding}, which hides what it says"


def _declared_encoding(data: bytes) -> str:
    try:
        return tokenize.detect_encoding(io.BytesIO(data).readline)[0]
    except SyntaxError:
        return ""  # no Python can run it


def _keeps_ascii(encoding: str) -> bool:
    """Tell whether ASCII means itself in an encoding, without escapes for other characters."""
    try:
        return ESCAPES.encode("ascii").decode(encoding) == ESCAPES
    except (LookupError, ValueError):
        return False


ESCAPES = r"print(+AGE-, '\u0041\x41')"
"""ASCII that is read otherwise where escapes have a meaning, as in UTF-7 and `unicode_escape`."""


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


FINDINGS_SHOWN = 4
ABOUT_WORDING = re.compile(r"(?i)\b(doc\w*|help|usage|comments?)\b")
"""Words of an issue that a docstring can settle."""


def change_doubts(
    old: Path,
    new: Path,
    *,
    tests: Sequence[str],
    sources: Sequence[str],
    red_before: Collection[str],
    test_files: Collection[str],
    issue: str = "",
) -> Iterator[Finding]:
    """Yield reasons why a change may only appear correct.

    It changed how tests run, removed red tests, or treats the symptom: special cases for the inputs of the
    tests, swallowed exceptions. The change leads from the tree `old` to the tree `new`; `tests` and
    `sources` are the paths that differ, `red_before` ids of tests that failed on the base, `test_files` the
    files of its targets.
    """
    configured = [
        path
        for path in (*tests, *sources)
        if may_configure(path)
        and configuration_of_tests(old, path) != configuration_of_tests(new, path)
        and not (path.endswith("conftest.py") and _adds_only_fixtures(old, new, path, tests))
    ]
    configured += [path for path in (*tests, *sources) if is_injected(old, path)]
    if configured:
        yield from findings("runner-files", [f"the change touches how tests run ({', '.join(configured)})"])
    old_tests, new_tests = read_texts(old, tests), read_texts(new, tests)
    replaced = [
        test
        for succession in find_successions(old_tests, new_tests, find_removed_functions(old_tests, new_tests))
        for test in succession.removed
    ]
    missing = [
        test
        for test in removed_tests(old_tests, new_tests)
        if test not in replaced and _is_case_of(test, red_before)
    ]
    gone = (f"{shorten_test_id(test)}, which failed before, is gone" for test in missing)
    yield from findings("removed-test", _limit(gone))
    before, after = read_texts(old, sources), read_texts(new, sources)
    twins = [
        path
        for path in tests
        if not (old / path).exists()
        and any(path.endswith(f"/{source.removeprefix('src/')}") for source in sources)
    ]
    shadows = (f"{path} can be imported in the place of the file that the change is about" for path in twins)
    yield from findings("shadowed-source", [*shadows][:FINDINGS_SHOWN])
    if (
        after
        and len(after) == len(sources)
        and not ABOUT_WORDING.search(issue)
        and not any(differs_in_code(before.get(path, ""), after[path]) for path in after)
    ):
        yield from findings("wording", ["nothing but comments and docstrings of the sources has changed"])
    signs = overfitting_signs(before, after, read_texts(new, test_files).values(), issue=issue)
    yield from findings("special-case", _limit(signs))
    yield from _doubts_in_other_languages(
        old, new, tests=tests, sources=sources, red_before=red_before, test_files=test_files, issue=issue
    )
    by_sources = harness_accesses(before, after, are_tests=False)
    by_tests = harness_accesses(read_texts(old, tests), read_texts(new, tests), are_tests=True)
    yield from findings("harness-access", [*_limit(by_sources), *_limit(by_tests)])
    known_js = "\n".join((issue, *read_texts(old, (*sources, *tests), SCRIPT_SUFFIXES).values()))
    by_scripts = harness_accesses_js(
        read_texts(old, sources, SCRIPT_SUFFIXES), read_texts(new, sources, SCRIPT_SUFFIXES), known=known_js
    )
    native = compiled_sources(sources)
    by_extensions = find_native_accesses(
        read_texts(old, native, NATIVE_SUFFIXES),
        read_texts(new, native, NATIVE_SUFFIXES),
        extensions=[path for path in native if find_projects([path], new)],
    )
    yield from findings("harness-access", [*_limit(by_scripts), *_limit(by_extensions)])


def _adds_only_fixtures(old: Path, new: Path, path: str, tests: Collection[str]) -> bool:
    """Tell whether a `conftest.py` gets nothing but fixtures that no test of the base can ask for."""
    existing = (file for file in project_files(old) if is_test_path(file) and file.endswith(".py"))
    taken = {name for text in read_texts(old, existing).values() for name in find_fixture_names(text)}
    helpers = {part for test in tests for part in PurePosixPath(test).with_suffix("").parts}
    texts = (read_regular_text(tree / path) for tree in (old, new))
    return (new / path).is_file() and adds_only_fixtures(*texts, taken=taken, changed=helpers)


def find_weakened_tests(old: Path, new: Path, *, tests: Sequence[str], sources: Sequence[str]) -> list[str]:
    """Describe how existing tests, also inside of sources, or their successors are weaker than before."""
    before, after = read_texts(old, tests), read_texts(new, tests)
    places = (*tests, *(path for path in sources if path.endswith(INLINE_SUFFIX)))
    old_others, new_others = read_texts(old, places, SUFFIXES), read_texts(new, places, SUFFIXES)
    others = weakened_tests_in(old_others, new_others)
    others += [
        f"{renamed.path}: {renamed.successors[0]}, in the place of {renamed.removed[0]}, {finding}"
        for renamed in find_renamed_in(old_others, new_others)
        for finding in renamed.findings
    ]
    return [
        *_limit((*weakened_tests(before, after), *weakened_successors(before, after))),
        *_limit(others),
    ]


def _doubts_in_other_languages(
    old: Path,
    new: Path,
    *,
    tests: Sequence[str],
    sources: Sequence[str],
    red_before: Collection[str],
    test_files: Collection[str],
    issue: str,
) -> Iterator[Finding]:
    """Yield the same kinds of reasons for the languages with a syntax table."""
    inline = [path for path in sources if path.endswith(INLINE_SUFFIX)]
    old_tests, new_tests = (read_texts(tree, (*tests, *inline), SUFFIXES) for tree in (old, new))
    red_names = {name for test in red_before for name in names_of(test)}
    missing = [name for name in removed_names(old_tests, new_tests) if name in red_names]
    yield from findings("removed-test", _limit(f"{name}, which failed before, is gone" for name in missing))
    before, after = (
        {
            path: without_inline_tests(text) if path in inline else text
            for path, text in read_texts(tree, sources, SUFFIXES).items()
        }
        for tree in (old, new)
    )
    test_texts = {
        path: inline_tests(text) if path in inline else text
        for path, text in read_texts(new, test_files, SUFFIXES).items()
    }
    signs = symptom_signs(before, after, test_texts, issue=issue)
    yield from findings("special-case", _limit(signs))


def describe_unchecked_languages(changed: Iterable[str]) -> str:
    """Return a sentence on changed code that no check of this module reads; empty if there is none."""
    suffixes = {PurePosixPath(path).suffix for path in changed if path.endswith(CODE)}
    unchecked = sorted(suffixes - {*SUFFIXES, ".py", ".pyi"})
    files = " and ".join(unchecked)
    return f"changes in {files} files were not checked for weakened tests or special cases" if files else ""


def _is_case_of(test: str, ids: Collection[str]) -> bool:
    return any(known == test or known.startswith(f"{test}[") for known in ids)


def _limit(findings: Iterable[str]) -> list[str]:
    findings = list(findings)
    return (
        findings
        if len(findings) <= FINDINGS_SHOWN
        else [*findings[:FINDINGS_SHOWN], f"{len(findings) - FINDINGS_SHOWN} more of this kind"]
    )
