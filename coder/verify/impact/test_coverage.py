"""Per-test coverage of a tree, cached between sessions by file content."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from coder.core.ports import Limits, Sandbox
from coder.core.values import Value
from coder.files.regular_files import read_regular_text, replace_text
from coder.verify.impact.import_graph import imported_names, project_files
from coder.verify.project.project import Project
from coder.verify.warm.test_server import ServerGone, WarmServer

TEST_SECONDS = 60.0
COLLECTING_SECONDS = 300.0


class CoverageEntry(Value):
    """Code executed and files opened by one test, or shared by several tests of one file."""

    calls: Mapping[str, tuple[int, ...]]
    """First lines of the executed code objects, by path relative to the tree."""
    read: tuple[str, ...] = ()
    """Files of the tree that the test opens."""
    blind: bool = False
    """Whether it starts other processes or traces itself, so that its coverage may be incomplete."""
    files: Mapping[str, str] = {}
    """Hash of the content of each of these files at the time of the run."""


class CoverageMap(Value):
    """Coverage of all tests of one tree."""

    format: Literal[2] = 2
    content: str = ""
    """A hash of all files of the tree."""
    tests: tuple[str, ...] = ()
    """Node ids, in the order in which they are collected."""
    entries: tuple[CoverageEntry, ...] = ()
    """Coverage entries, each different one once."""
    entry_of: Mapping[str, int] = {}
    """Test -> index of its entry; tests without known coverage are absent."""
    seconds: Mapping[str, float] = {}
    """Processor time of each test under observation."""
    executed: Mapping[str, tuple[int, ...]] = {}
    """First lines of the code executed during collection, by path."""
    read: frozenset[str] = frozenset()
    """Files read during collection."""
    imports: Mapping[str, tuple[str, tuple[str, ...]]] = {}
    """Hash of each Python file, and the names that it imports."""


def trace_coverage(
    tree: Path,
    previous: CoverageMap,
    *,
    project: Project,
    sandbox: Sandbox,
    scratch: Path,
    limits: Limits,
    seconds: float,
) -> CoverageMap:
    """Trace the tests whose coverage is not known, within `seconds`, and return the completed coverage.

    Valid entries of `previous` are kept. Tests run in forks of one process, those of each file in their own
    fork.
    """
    tree = tree.resolve()
    hashes = {path: content_hash(tree / path) for path in project_files(tree)}
    imports = {
        path: _imports_of(tree / path, hashes[path], previous.imports.get(path))
        for path in hashes
        if path.endswith(".py")
    }
    content = hashlib.sha256(json.dumps(sorted(hashes.items())).encode()).hexdigest()
    if content == previous.content and len(previous.entry_of) == len(previous.tests):
        return previous
    entries = [*previous.entries]
    valid = [_is_valid(entry, hashes) for entry in entries]
    entry_of = {test: number for test, number in previous.entry_of.items() if valid[number]}
    seconds_of = dict(previous.seconds)
    served = WarmServer(project, tree, sandbox=sandbox, scratch=scratch, limits=limits)
    try:
        state = served.wait_until_collected(seconds=COLLECTING_SECONDS)
        unknown = [test for test in state.tests if test not in entry_of]
        lines = (
            served.trace_coverage(unknown, seconds=seconds, test_seconds=TEST_SECONDS)
            if unknown and not state.cold
            else []
        )
    except ServerGone:
        return CoverageMap(imports=imports, **_coverage_of(entries, entry_of, seconds_of, [*entry_of]))
    finally:
        served.close()
    for line in lines:
        test: str = line["id"]
        seconds_of[test] = line["seconds"]
        if "like" in line:
            entry_of[test] = entry_of[line["like"]]
            continue
        files = {
            path: hashes.get(path, "") for path in (*line["calls"], *line["read"], test.partition("::")[0])
        }
        entry_of[test] = len(entries)
        entries.append(
            CoverageEntry(calls=line["calls"], read=line["read"], blind=line["blind"], files=files)
        )
    return CoverageMap(
        content=content,
        tests=state.tests,
        **_coverage_of(entries, entry_of, seconds_of, state.tests),
        executed=state.executed,
        read=state.read | state.opened,
        imports=imports,
    )


def _coverage_of(
    entries: Sequence[CoverageEntry],
    entry_of: Mapping[str, int],
    seconds: Mapping[str, float],
    tests: Sequence[str],
) -> dict[str, Any]:
    """Return the fields of `Reached` for these tests, without entries that none of them uses."""
    entry_of_test = {test: entry_of[test] for test in tests if test in entry_of}
    index_of = {number: index for index, number in enumerate(dict.fromkeys(entry_of_test.values()))}
    return {
        "entries": tuple(entries[number] for number in index_of),
        "entry_of": {test: index_of[number] for test, number in entry_of_test.items()},
        "seconds": {test: seconds[test] for test in entry_of_test},
    }


def load_coverage(file: Path) -> CoverageMap:
    """Return saved coverage; empty if there is none or it has another format."""
    try:
        return CoverageMap.model_validate_json(file.read_bytes())
    except (OSError, ValueError):
        return CoverageMap()


def save_coverage(reached: CoverageMap, file: Path) -> None:
    """Write coverage to a file, replacing it atomically."""
    replace_text(file, reached.model_dump_json())


def content_hash(file: Path) -> str:
    """Return a short hash of a file's content, empty if it does not exist."""
    return hashlib.sha256(file.read_bytes()).hexdigest()[:16] if file.is_file() else ""


def _imports_of(
    file: Path, digest: str, cached: tuple[str, Sequence[str]] | None
) -> tuple[str, tuple[str, ...]]:
    if cached is not None and cached[0] == digest:
        return digest, tuple(cached[1])
    return digest, tuple(sorted(imported_names(read_regular_text(file))))


def _is_valid(entry: CoverageEntry, hashes: Mapping[str, str]) -> bool:
    return all(hashes.get(path, "") == digest for path, digest in entry.files.items())
