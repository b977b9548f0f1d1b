"""Tests that reach a definition, determined from names and imports without running them."""

from collections.abc import Sequence
from dataclasses import dataclass

from coder.index import Definition, enclosing
from coder.index.snapshot import Place, Snapshot
from coder.index.users import users
from coder.workspace.files import standing

MOST_CALLERS = 12
"""Definitions that use the symbol and whose own tests are searched."""
MOST_NAMESAKES = 3
"""A caller's name shared by more definitions is ignored as ambiguous."""


@dataclass(frozen=True, kw_only=True)
class ReachingTest:
    """A test that names a symbol, or a user of the symbol."""

    id: str
    """`path::Class::test`, shorter where the use is outside of any test."""
    path: str
    names: str
    """Name that it uses."""
    line: int
    """Line of the use."""


def reaching(snapshot: Snapshot, places: Sequence[Place]) -> list[ReachingTest]:
    """Return the tests that reach definitions of one name: direct uses first, in files named alike first."""
    bare = next(place.definition.bare for place in places if place.definition)
    stems = {place.path.rpartition("/")[2].partition(".")[0] for place in places}
    tests = {test.id: test for test in _tests_naming(snapshot, places, bare, stems)}
    for caller in _callers(snapshot, places):
        for test in _tests_naming(
            snapshot, (caller,), caller.definition.bare if caller.definition else "", stems
        ):
            tests.setdefault(test.id, test)
    return list(tests.values())


def _tests_naming(
    snapshot: Snapshot, places: Sequence[Place], bare: str, stems: set[str]
) -> list[ReachingTest]:
    """Return the tests that use a name, ordered by similarity of file names, then by number of uses."""
    tests: dict[str, list[int]] = {}
    paths: dict[str, str] = {}
    for use in users(snapshot, places):
        if standing(use.path) != 1:
            continue
        file_definitions = snapshot.definitions(use.path)
        for line in use.lines:
            identity = _test_id(use.path, enclosing(line, file_definitions))
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
        if definition.kind != "class" and definition.bare.startswith("test")
    ]
    classes = [
        definition
        for definition in around
        if definition.kind == "class" and "test" in definition.bare.lower()
    ]
    names = [*tests[:1], *classes[-1:]]
    return "::".join([path, *names[0].name.split(".")]) if names else path


def _callers(snapshot: Snapshot, places: Sequence[Place]) -> list[Place]:
    """Return the definitions outside of tests that use the symbol, where their names are unique enough."""
    callers: dict[str, Place] = {}
    for use in users(snapshot, places):
        file_definitions = snapshot.definitions(use.path) if standing(use.path) == 0 else ()
        for line in use.lines:
            around = enclosing(line, file_definitions)
            if around and len(callers) < MOST_CALLERS and not around[-1].bare.startswith("__"):
                callers.setdefault(around[-1].bare, Place(path=use.path, definition=around[-1]))
    return [place for name, place in callers.items() if len(snapshot.definers(name)) <= MOST_NAMESAKES]
