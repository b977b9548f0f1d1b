"""Tests that reach the code in question."""

from collections.abc import Sequence
from dataclasses import dataclass

from coder.index import Definition, enclosing_definitions
from coder.index.index import find_uses
from coder.index.snapshot import IndexedPlace, IndexSnapshot
from coder.workspace.workspace import path_category

MOST_CALLERS = 12
"""Definitions that use the symbol and whose own tests are searched."""
MOST_NAMESAKES = 3
"""A caller's name shared by more definitions is ignored as ambiguous."""


@dataclass(frozen=True, kw_only=True)
class ReachingTest:
    id: str
    """`path::Class::test`, shorter where the use is outside of any test."""
    path: str
    names: str
    line: int


def find_reaching_tests(snapshot: IndexSnapshot, places: Sequence[IndexedPlace]) -> list[ReachingTest]:
    """Return the tests that reach definitions of one name: direct uses first, in files named alike first."""
    bare = next(place.definition.bare_name for place in places if place.definition)
    stems = {place.path.rpartition("/")[2].partition(".")[0] for place in places}
    tests = {test.id: test for test in _tests_naming(snapshot, places, bare, stems)}
    for caller in _callers(snapshot, places):
        for test in _tests_naming(
            snapshot, (caller,), caller.definition.bare_name if caller.definition else "", stems
        ):
            tests.setdefault(test.id, test)
    return list(tests.values())


def _tests_naming(
    snapshot: IndexSnapshot, places: Sequence[IndexedPlace], bare: str, stems: set[str]
) -> list[ReachingTest]:
    """Return the tests that use a name, ordered by similarity of file names, then by number of uses."""
    tests: dict[str, list[int]] = {}
    paths: dict[str, str] = {}
    for use in find_uses(snapshot, places):
        if path_category(use.path) != 1:
            continue
        file_definitions = snapshot.definitions(use.path)
        for line in use.lines:
            identity = _test_id(use.path, enclosing_definitions(line, file_definitions))
            tests.setdefault(identity, []).append(line)
            paths[identity] = use.path
    order = sorted(
        tests,
        key=lambda test: (
            "::" not in test,
            not any(stem in paths[test] for stem in stems),
            -len(tests[test]),
            test,
        ),
    )
    return [ReachingTest(id=test, path=paths[test], names=bare, line=tests[test][0]) for test in order]


def _test_id(path: str, around: Sequence[Definition]) -> str:
    """Return pytest's id of the test function or class around a line; else the file."""
    tests = [
        definition
        for definition in around
        if definition.kind != "class" and definition.bare_name.startswith("test")
    ]
    classes = [
        definition
        for definition in around
        if definition.kind == "class" and "test" in definition.bare_name.lower()
    ]
    names = [*tests[:1], *classes[-1:]]
    return "::".join([path, *names[0].name.split(".")]) if names else path


def _callers(snapshot: IndexSnapshot, places: Sequence[IndexedPlace]) -> list[IndexedPlace]:
    """Return the definitions outside of tests that use the symbol, where their names are unique enough."""
    callers: dict[str, IndexedPlace] = {}
    for use in find_uses(snapshot, places):
        file_definitions = snapshot.definitions(use.path) if path_category(use.path) == 0 else ()
        for line in use.lines:
            around = enclosing_definitions(line, file_definitions)
            if around and len(callers) < MOST_CALLERS and not around[-1].bare_name.startswith("__"):
                callers.setdefault(around[-1].bare_name, IndexedPlace(path=use.path, definition=around[-1]))
    return [place for name, place in callers.items() if len(snapshot.files_defining(name)) <= MOST_NAMESAKES]
