"""Checks that lower a verdict: weakened tests, special cases, swallowed exceptions."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

from coder.core.values.paths import file_of, is_test_path
from coder.verify.mutation.mutants import differs_in_code
from coder.verify.project.configuration import how_tests_run, is_injected, may_configure
from coder.verify.results.comparison import short
from coder.verify.review.doctests import as_test
from coder.verify.review.harness_access import reaching
from coder.verify.review.harness_access_js import SUFFIXES, reaching_js
from coder.verify.review.overfitting import answers_in_data, symptoms
from coder.verify.review.tampering import removed, weakened

SHOWN = 4
LARGEST = 2 << 20
DATA = (".json", ".csv", ".tsv", ".toml", ".yaml", ".yml", ".txt", ".ini", ".cfg")
ABOUT_WORDING = re.compile(r"(?i)\b(doc\w*|help|usage|comments?)\b")
"""Words of an issue that a docstring can settle."""


def doubts(
    old: Path,
    new: Path,
    changed: Sequence[str],
    *,
    red_before: Collection[str],
    targets: Iterable[str],
    issue: str = "",
) -> Iterator[str]:
    """Yield reasons, half a sentence each, why a change may only appear correct.

    It changed how tests run, weakened tests, or treats the symptom: special cases for the inputs of the
    tests, swallowed exceptions. The change leads from the tree `old` to the tree `new`; `changed` are the
    paths that differ, `red_before` ids of tests that failed on the base.
    """
    configured = [
        path
        for path in changed
        if may_configure(path) and how_tests_run(old, path) != how_tests_run(new, path)
    ]
    configured += [path for path in changed if is_injected(old, path)]
    if configured:
        yield f"the change touches how tests run ({', '.join(configured)})"
    tests = [path for path in changed if is_test_path(path)]
    sources = [path for path in changed if not is_test_path(path)]
    missing = [
        test for test in removed(texts(old, tests), texts(new, tests)) if _is_case_of(test, red_before)
    ]
    yield from _limit(f"{short(test)}, which failed before, is gone" for test in missing)
    yield from _limit(weakened(texts(old, tests), texts(new, tests)))
    test_texts = [
        as_test(text) if path in sources else text
        for path, text in texts(new, dict.fromkeys(map(file_of, targets))).items()
    ]
    before, after = texts(old, sources), texts(new, sources)
    twins = [
        path
        for path in tests
        if not (old / path).exists()
        and any(path.endswith(f"/{source.removeprefix('src/')}") for source in sources)
    ]
    yield from (
        f"{path} can be imported in the place of the file that the change is about" for path in twins[:SHOWN]
    )
    if (
        after
        and len(after) == len(sources)
        and not ABOUT_WORDING.search(issue)
        and not any(differs_in_code(before.get(path, ""), after[path]) for path in after)
    ):
        yield "nothing but comments and docstrings of the sources has changed"
    yield from _limit(symptoms(before, after, test_texts, issue=issue))
    yield from _limit(answers_in_data(texts(old, sources, DATA), texts(new, sources, DATA), test_texts))
    known = "\n".join((issue, *before.values(), *texts(old, tests).values()))
    yield from _limit(reaching(before, after, are_tests=False, known=known))
    yield from _limit(reaching(texts(old, tests), texts(new, tests), are_tests=True))
    known_js = "\n".join((issue, *texts(old, (*sources, *tests), SUFFIXES).values()))
    yield from _limit(
        reaching_js(texts(old, sources, SUFFIXES), texts(new, sources, SUFFIXES), known=known_js)
    )


def _is_case_of(test: str, ids: Collection[str]) -> bool:
    return any(known == test or known.startswith(f"{test}[") for known in ids)


def texts(root: Path, paths: Iterable[str], suffixes: tuple[str, ...] = (".py",)) -> dict[str, str]:
    """Return the texts of existing files with one of the suffixes, by path."""
    files = {path: root / path for path in paths if path.endswith(suffixes)}
    return {
        path: file.read_text(encoding="utf-8", errors="replace")
        for path, file in files.items()
        if file.is_file() and not file.is_symlink() and file.stat().st_size < LARGEST
    }


def _limit(findings: Iterable[str]) -> list[str]:
    findings = list(findings)
    return (
        findings
        if len(findings) <= SHOWN
        else [*findings[:SHOWN], f"{len(findings) - SHOWN} more of this kind"]
    )
