"""Weaknesses of a change, read from its sources and tests."""

import io
import re
import tokenize
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from coder.core.paths import is_test_path
from coder.core.verdict import Effect, Finding
from coder.files.regular_files import read_regular_text
from coder.python.source import differs_in_code
from coder.verify.build import SOURCE_SUFFIXES, compiled_sources, find_build
from coder.verify.change import JudgedChange
from coder.verify.checks.how_tests_run import changed_runner_files, runs_alike
from coder.verify.checks.process_words import PYTHON, find_process_words
from coder.verify.issue import SUFFIXES
from coder.verify.layout import configuration_of_tests, is_injected, may_configure
from coder.verify.results import limit_notes, shorten_test_id
from coder.verify.select import project_files
from coder.verify.test_files import (
    CODE,
    adds_only_fixtures,
    find_fixture_names,
)
from coder.verify.trees import LARGEST, read_texts
from coder.verify.verdict import findings, sha256_of

PROSE = (".md", ".rst", ".adoc")
SHOWN = 3


class Weaknesses(NamedTuple):
    """Reasons why a change proves less than it seems to, half a sentence each."""

    findings: list[Finding]
    hashes: dict[str, str]
    """SHA-256 of the targets' files that are the same on both sides, by path."""


def find_weaknesses(change: JudgedChange, targets: Sequence[str]) -> Weaknesses:
    """Return what weakens the proof that the targets, which are green on the change, give."""
    files = sorted({path for target in targets for path in change.files_of(target)})
    with change.split.read("base") as old, change.split.read("change") as new:
        hashes = {
            path: digest for path in files if path not in change.sources and (digest := sha256_of(new / path))
        }
        data = [path for path in change.sources if not _is_code(path, old, new)]
        has_code = len(data) < len(change.sources)
        rules: list[tuple[str, Effect, Iterable[str]]] = [
            ("wording", "cap", _find_wording(change)),
            ("harness-access", "cap", _find_process_words(change, old, new)),
            ("test-data", "open" if has_code else "cap", _unclear_data(change, targets, data, new)),
            ("unread", "cap", _unread_sources(new, change.sources)),
        ]
        found = [finding for rule, effect, texts in rules for finding in findings(rule, texts, effect=effect)]
    return Weaknesses(found, hashes)


def find_harness(change: JudgedChange, command: str, *, is_indirect: bool) -> tuple[str, ...]:
    """Return the changed files that decide how tests run, or what is imported in the place of a source.

    `is_indirect` tells that the command's runner is not watched in its own process.
    """
    with change.split.read("base") as old, change.split.read("change") as new:
        configured = [
            path
            for path in change.changed
            if may_configure(path)
            and configuration_of_tests(old, path) != configuration_of_tests(new, path)
            and not (path.endswith("conftest.py") and _adds_only_fixtures(old, new, path, change.tests))
        ]
        sources = tuple(f"/{source.removeprefix('src/')}" for source in change.sources)
        twins = [path for path in change.tests if not (old / path).exists() and path.endswith(sources)]
        injected = [path for path in change.changed if is_injected(old, path)]
        manifests = [path for path in change.changed if PurePosixPath(path).name == "package.json"]
        texts = [read_texts(tree, manifests, (".json",)) for tree in (old, new)]
        alike = [path for path in manifests if runs_alike(*(each.get(path, "") for each in texts))]
    decisive = [path for path in change.changed if path not in (*change.split.registrations, *alike)]
    runner_files = changed_runner_files(command, decisive, is_indirect=is_indirect)
    return tuple(dict.fromkeys((*configured, *injected, *(twins if sources else ()), *runner_files)))


def _find_wording(change: JudgedChange) -> Iterator[str]:
    """Yield that no code differs, unless the issue is about words."""
    before, after = change.texts_in((".py",))
    is_read = len(after) == len(change.sources) > 0 and not ABOUT_WORDING.search(change.issue)
    is_read = is_read and before != after  # else permissions alone differ
    if is_read and not any(differs_in_code(before.get(path, ""), text) for path, text in after.items()):
        yield "apart from tests, only comments and docstrings have changed"


def _find_process_words(change: JudgedChange, old: Path, new: Path) -> list[str]:
    """Return where a change looks for the process that tests it, the first few."""
    suffixes = (*SUFFIXES, *PYTHON, *SOURCE_SUFFIXES)
    before, after = change.texts_in(suffixes)
    loaded = [path for path in compiled_sources(after) if find_build(path, new)]
    tests = (read_texts(tree, change.tests) for tree in (old, new))
    known = "\n".join((change.issue, *before.values()))
    found = find_process_words(before, after, known=known, loaded=loaded)
    return limit_notes([*found, *find_process_words(*tests, are_tests=True)])


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


def _is_code(path: str, *trees: Path) -> bool:
    """Tell whether a path has a suffix of code, or is a program without one in one of the trees."""
    return path.endswith(CODE) or any(map(_is_program, (tree / path for tree in trees)))


def _is_program(file: Path) -> bool:
    """Tell whether two of three marks of a program are there: no suffix, a `#!` line, the mode."""
    if not file.is_file():
        return False
    marks = (not file.suffix, read_regular_text(file).startswith("#!"), bool(file.stat().st_mode & 0o111))
    return sum(marks) > 1


def _unclear_data(
    change: JudgedChange, targets: Sequence[str], data: Sequence[str], new: Path
) -> Iterator[str]:
    """Yield why changed files that are no code may be expectations of the targets, half a sentence each."""
    data = [path for path in data if not path.endswith(PROSE)]
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


ABOUT_WORDING = re.compile(r"(?i)\b(doc\w*|help|usage|comments?)\b")
"""Words of an issue that a docstring can settle."""


def _adds_only_fixtures(old: Path, new: Path, path: str, tests: Collection[str]) -> bool:
    """Tell whether a `conftest.py` gets nothing but fixtures that no test of the base can ask for."""
    existing = (file for file in project_files(old) if is_test_path(file) and file.endswith(".py"))
    taken = {name for text in read_texts(old, existing).values() for name in find_fixture_names(text)}
    helpers = {part for test in tests for part in PurePosixPath(test).with_suffix("").parts}
    texts = (read_regular_text(tree / path) for tree in (old, new))
    return (new / path).is_file() and adds_only_fixtures(*texts, taken=taken, changed=helpers)
