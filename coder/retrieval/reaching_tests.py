"""Tests that reach a definition, found by names and imports rather than by running them."""

from collections.abc import Sequence
from dataclasses import dataclass

from coder.index import Definition, enclosing
from coder.index.snapshot import Place, Snapshot
from coder.index.users import users
from coder.workspace.files import standing

MOST_CALLERS = 12
"""Definitions that use the symbol and whose own tests are looked for."""
MOST_NAMESAKES = 3
"""A caller's name that more definitions share says nothing."""


@dataclass(frozen=True, kw_only=True)
class ReachingTest:
    """A test that names a symbol, or what uses the symbol."""

    id: str
    """`path::Class::test`, shorter where the name stands outside of any test."""
    path: str
    names: str
    """What it names."""
    line: int
    """Where."""


def reaching(snapshot: Snapshot, places: Sequence[Place]) -> list[ReachingTest]:
    """The tests that reach definitions of one name, those that name it first, in files named like theirs first."""
    bare = next(place.definition.bare for place in places if place.definition)
    stems = {place.path.rpartition("/")[2].partition(".")[0] for place in places}
    found = {test.id: test for test in _naming(snapshot, places, bare, stems)}
    for caller in _callers(snapshot, places):
        for test in _naming(snapshot, (caller,), caller.definition.bare if caller.definition else "", stems):
            found.setdefault(test.id, test)
    return list(found.values())


def _naming(snapshot: Snapshot, places: Sequence[Place], bare: str, stems: set[str]) -> list[ReachingTest]:
    """The tests that use a name: the more often, and the more like its file's their file is called, the sooner."""
    tests: dict[str, list[int]] = {}
    paths: dict[str, str] = {}
    for use in users(snapshot, places):
        if standing(use.path) != 1:
            continue
        found = snapshot.definitions(use.path)
        for line in use.lines:
            identity = _id(use.path, enclosing(line, found))
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


def _id(path: str, around: Sequence[Definition]) -> str:
    """pytest's id of the test function, or else the test class, that a line is in; else the file."""
    tests = [item for item in around if item.kind != "class" and item.bare.startswith("test")]
    classes = [item for item in around if item.kind == "class" and "test" in item.bare.lower()]
    names = [*tests[:1], *classes[-1:]]
    return "::".join([path, *names[0].name.split(".")]) if names else path


def _callers(snapshot: Snapshot, places: Sequence[Place]) -> list[Place]:
    """The definitions outside of tests that use the symbol, those whose names are theirs alone."""
    found: dict[str, Place] = {}
    for use in users(snapshot, places):
        own = snapshot.definitions(use.path) if standing(use.path) == 0 else ()
        for line in use.lines:
            around = enclosing(line, own)
            if around and len(found) < MOST_CALLERS and not around[-1].bare.startswith("__"):
                found.setdefault(around[-1].bare, Place(path=use.path, definition=around[-1]))
    return [place for name, place in found.items() if len(snapshot.definers(name)) <= MOST_NAMESAKES]
