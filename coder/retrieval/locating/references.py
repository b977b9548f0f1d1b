"""What an issue points at by more than words: paths, traceback frames, imports, messages, base classes."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from coder.core.values.history import Change
from coder.files.tokenize import WORD, parts
from coder.index.definition import Definition
from coder.index.resolve import imported, resolve
from coder.retrieval.locating.commit_history import related
from coder.retrieval.locating.corpus import Terrain
from coder.retrieval.locating.issue_terms import Clues
from coder.workspace.files import standing, text_of
from coder.workspace.places import Known, places_in

MOST_SAYING = 60
"""Documents that say all the words of a message: of more none is looked at."""
MOST_NAMESAKES = 3
DEEPEST_BASE = 3
FARTHER = 0.3
ADJACENT = re.compile(r"[\"']\s*\n\s*[rfubRFUB]?[\"']")
"""Two string literals in a row."""


@dataclass(kw_only=True)
class Pointed:
    """Evidence by place: how strongly each kind of pointer points at a file, or at a definition of one."""

    files: dict[str, dict[str, float]] = field(default_factory=lambda: defaultdict(dict))
    definitions: dict[tuple[str, str], dict[str, float]] = field(default_factory=lambda: defaultdict(dict))
    """By path and qualified name."""
    reasons: dict[tuple[str, str], list[str]] = field(default_factory=lambda: defaultdict(list))
    """By path and qualified name; of a file as a whole the name is empty."""

    def at(self, path: str, kind: str, value: float, *, name: str = "", reason: str = "") -> None:
        known = self.definitions[(path, name)] if name else self.files[path]
        known[kind] = max(known.get(kind, 0.0), value)
        if reason and reason not in self.reasons[(path, name)]:
            self.reasons[(path, name)].append(reason)


def pointed(terrain: Terrain, clues: Clues, recent: Sequence[Change] = ()) -> Pointed:
    """Follow every pointer."""
    found = Pointed()
    known = Known(terrain.snapshot.paths)
    _paths(terrain, clues, known, found)
    _frames(terrain, clues, known, found)
    _imports(terrain, clues, found)
    _messages(terrain, clues, found)
    _bases(terrain, clues, found)
    _changes(terrain, clues, recent, found)
    return found


def _paths(terrain: Terrain, clues: Clues, known: Known, found: Pointed) -> None:
    for written, line in places_in(clues.text):
        files = known.files(written)
        for path in files:
            found.at(path, "path", 1 / len(files), reason="named in the issue")
            if standing(path) == 1:
                _tested(terrain, path, 1 / len(files), found)
            if line and not clues.frames:
                for item in _around(terrain, path, line)[-1:]:
                    found.at(path, "line", 1.0, name=item.name, reason=f"line {line} is named")


def _tested(terrain: Terrain, test: str, share: float, found: Pointed) -> None:
    """What a test file imports is what it may test: the module that it is named after before the others."""
    sources = [path for path in sorted(imported(terrain.snapshot, test)) if standing(path) == 0]
    *folders, name = test.split("/")
    subjects = [{*parts(piece.partition(".")[0])} - {"test"} for piece in (name, *folders[-1:])]
    subject = next(filter(None, subjects), set())
    for path in sources:
        named = {piece for part in path.partition(".")[0].split("/") for piece in parts(part)}
        alike = bool(subject) and {word for word in subject if "_" not in word} <= named
        found.at(
            path,
            "tested",
            share if alike else share / (1 + len(sources)),
            reason=f"tested by {test}" if alike else "",
        )


def _changes(terrain: Terrain, clues: Clues, recent: Sequence[Change], found: Pointed) -> None:
    counting = set(terrain.paths)
    for item in related(clues, recent):
        if item.path in counting:
            found.at(item.path, "changed", item.value, reason=item.reason)


def _around(terrain: Terrain, path: str, line: int) -> list[Definition]:
    return [
        item
        for item in terrain.snapshot.definitions(path)
        if item.kind != "variable" and item.start <= line <= item.end
    ]


def _frames(terrain: Terrain, clues: Clues, known: Known, found: Pointed) -> None:
    """Frames inside the tree, the innermost first."""
    innermost = True
    distance = 0
    for frame in reversed(clues.frames):
        for path in known.files(frame.path)[:2]:
            bare = [
                item
                for item in terrain.snapshot.definitions(path)
                if item.bare == frame.function and item.kind != "variable"
            ]
            items = (
                bare
                if len(bare) == 1
                else [item for item in _around(terrain, path, frame.line) if item.kind != "class"][-1:]
                or bare
            )
            source = standing(path) == 0
            found.at(path, "frame", 1 / (1 + FARTHER * distance), reason="in the traceback")
            if innermost and source:
                found.at(path, "innermost frame", 1.0)
            for item in items:
                found.at(
                    path, "frame", 1 / (1 + FARTHER * distance), name=item.name, reason="in the traceback"
                )
                if innermost and source:
                    found.at(path, "innermost frame", 1.0, name=item.name)
            innermost = innermost and not source
            distance += 1


def _imports(terrain: Terrain, clues: Clues, found: Pointed) -> None:
    """Names that the issue's code imports, or writes with dots, followed to where they are defined."""
    for dotted in dict.fromkeys((*clues.imported, *clues.meanings.values())):
        for place in resolve(terrain.snapshot, dotted)[:MOST_NAMESAKES]:
            if place.definition:
                found.at(place.path, "resolved", 1.0, name=place.definition.name, reason=f"is {dotted}")
                found.at(place.path, "resolved", 1.0)
            elif "." in dotted:
                found.at(
                    place.path,
                    "module",
                    1.0,
                    reason=f"is module {dotted}" if dotted.endswith(_stem(place.path)) else "",
                )


def _stem(path: str) -> str:
    return path.removesuffix("/__init__.py").rpartition("/")[2].partition(".")[0]


def _messages(terrain: Terrain, clues: Clues, found: Pointed) -> None:
    """Definitions that say a quoted message, apart from what is filled in."""
    for phrase in clues.phrases:
        saying = list(_saying(terrain, phrase))
        for path, item in saying:
            found.at(
                path,
                "message",
                len(saying) ** -0.5,
                name=item.name if item else "",
                reason=f"says {phrase[:50]!r}",
            )
            found.at(path, "message", len(saying) ** -0.5, reason=f"says {phrase[:50]!r}")


def _saying(terrain: Terrain, phrase: str) -> Iterator[tuple[str, Definition | None]]:
    words = dict.fromkeys(part for word in WORD.findall(phrase) for part in parts(word))
    sets = sorted(({entry >> 8 for entry in terrain.postings(word)} for word in words), key=len)
    documents = set.intersection(*sets) if sets else set()
    if len(documents) > MOST_SAYING:
        return
    texts: dict[str, str] = {}
    for document in sorted(documents):
        path = terrain.paths[terrain.owners[document] - 1]
        text = texts.setdefault(path, text_of(terrain.snapshot.root, path))
        place = terrain.place(document)
        item = place.definition if place else None
        lines = text.split("\n")[item.start - 1 : item.end] if item else text.split("\n")
        if phrase.lower() in ADJACENT.sub("", "\n".join(lines)).lower():
            yield path, item


def _bases(terrain: Terrain, clues: Clues, found: Pointed) -> None:
    """Base classes of the classes that the issue names: what they lack, they inherit."""
    names = {
        name
        for zone in ("title", "inline", "block", "name")
        for name in clues.zones[zone]
        if name[:1].isupper() or "_" in name
    }
    for name in sorted(names):
        for path in terrain.snapshot.definers(name)[:MOST_NAMESAKES]:
            own = next(
                (
                    item
                    for item in terrain.snapshot.definitions(path)
                    if item.kind == "class" and item.name == name
                ),
                None,
            )
            if own is not None:
                _above(terrain, path, own.name, found)


def _above(terrain: Terrain, path: str, name: str, found: Pointed) -> None:
    waiting = [(path, name, 1)]
    seen = {(path, name)}
    while waiting:
        inside, heir, depth = waiting.pop()
        for base in terrain.snapshot.bases(inside).get(heir, ()):
            for place in resolve(terrain.snapshot, base, importer=inside)[:1]:
                item = place.definition
                if item is None or item.kind != "class" or (place.path, item.name) in seen:
                    continue
                seen.add((place.path, item.name))
                found.at(place.path, "base", 1 / depth, name=item.name, reason=f"base class of {name}")
                if depth < DEEPEST_BASE:
                    waiting.append((place.path, item.name, depth + 1))
