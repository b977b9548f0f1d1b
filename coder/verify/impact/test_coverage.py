"""What each test of a tree calls and opens, kept from session to session by the content of the files."""

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from coder.core.ports.sandbox import Limits, Sandbox
from coder.core.values.base import Value
from coder.files.regular_files import read_regular_text
from coder.verify.impact.import_graph import files_of, imported_names
from coder.verify.project.project import Project
from coder.verify.warm.test_server import Gone, Served

TEST_SECONDS = 60.0
COLLECTING_SECONDS = 300.0


class Entry(Value):
    """What one test does, or many of one file."""

    calls: Mapping[str, tuple[int, ...]]
    """First lines of the code that it executes, by path relative to the tree."""
    read: tuple[str, ...] = ()
    """Files of the tree that it opens."""
    blind: bool = False
    """It starts other processes, or traces itself: it may reach more."""
    files: Mapping[str, str] = {}
    """The content of all these files when it ran, as a hash each."""


class Reached(Value):
    """All tests of one tree."""

    format: Literal[2] = 2
    content: str = ""
    """A hash of all files of the tree."""
    tests: tuple[str, ...] = ()
    """Node ids, in the order in which they are collected."""
    entries: tuple[Entry, ...] = ()
    """All that any of them does, once."""
    entry_of: Mapping[str, int] = {}
    """Test -> the position of what it does: what is known of them, which may be less than all."""
    seconds: Mapping[str, float] = {}
    """Processor time of each, in which it was watched."""
    executed: Mapping[str, tuple[int, ...]] = {}
    """First lines of the code that is executed while tests are collected."""
    read: frozenset[str] = frozenset()
    """Files that are read until then."""
    imports: Mapping[str, tuple[str, tuple[str, ...]]] = {}
    """The hash of each Python file, and the names that it imports."""


def learn(
    tree: Path,
    known: Reached,
    *,
    project: Project,
    sandbox: Sandbox,
    scratch: Path,
    limits: Limits,
    seconds: float,
) -> Reached:
    """See again the tests of which not all is known, as far as the time reaches; what is known of the others is kept.

    Tests run in forks of one process, those of each file in its own.
    """
    tree = tree.resolve()
    hashes = {path: hash_of(tree / path) for path in files_of(tree)}
    imports = {
        path: _imports(tree / path, hashes[path], known.imports.get(path))
        for path in hashes
        if path.endswith(".py")
    }
    content = hashlib.sha256(json.dumps(sorted(hashes.items())).encode()).hexdigest()
    if content == known.content and len(known.entry_of) == len(known.tests):
        return known
    entries = [*known.entries]
    holding = [_holds(entry, hashes) for entry in entries]
    entry_of = {test: number for test, number in known.entry_of.items() if holding[number]}
    seconds_of = dict(known.seconds)
    served = Served(project, tree, sandbox=sandbox, scratch=scratch, limits=limits)
    try:
        state = served.opened(seconds=COLLECTING_SECONDS)
        missing = [test for test in state.tests if test not in entry_of]
        lines = (
            served.reach(missing, seconds=seconds, test_seconds=TEST_SECONDS)
            if missing and not state.cold
            else []
        )
    except Gone:
        return Reached(imports=imports, **_kept(entries, entry_of, seconds_of, [*entry_of]))
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
        entries.append(Entry(calls=line["calls"], read=line["read"], blind=line["blind"], files=files))
    return Reached(
        content=content,
        tests=state.tests,
        **_kept(entries, entry_of, seconds_of, state.tests),
        executed=state.executed,
        read=state.read | state.opened,
        imports=imports,
    )


def _kept(
    entries: Sequence[Entry], entry_of: Mapping[str, int], seconds: Mapping[str, float], tests: Sequence[str]
) -> dict[str, Any]:
    """What is known of these tests, and no more."""
    known = {test: entry_of[test] for test in tests if test in entry_of}
    places = {number: place for place, number in enumerate(dict.fromkeys(known.values()))}
    return {
        "entries": tuple(entries[number] for number in places),
        "entry_of": {test: places[number] for test, number in known.items()},
        "seconds": {test: seconds[test] for test in known},
    }


def load(file: Path) -> Reached:
    """What was saved; nothing where there is none, or of another version."""
    try:
        return Reached.model_validate_json(file.read_bytes())
    except (OSError, ValueError):
        return Reached()


def save(reached: Reached, file: Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    new = file.with_suffix(f".{os.getpid()}")
    new.write_text(reached.model_dump_json(), encoding="utf-8")
    new.replace(file)


def hash_of(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()[:16] if file.is_file() else ""


def _imports(file: Path, digest: str, known: tuple[str, Sequence[str]] | None) -> tuple[str, tuple[str, ...]]:
    if known is not None and known[0] == digest:
        return digest, tuple(known[1])
    return digest, tuple(sorted(imported_names(read_regular_text(file))))


def _holds(entry: Entry, hashes: Mapping[str, str]) -> bool:
    return all(hashes.get(path, "") == digest for path, digest in entry.files.items())
