"""What a dotted Python name means: through packages, imports, re-exports and base classes to where it is defined."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from coder.index.definition import Definition
from coder.index.parsers.facts import Import
from coder.index.snapshot import Place, Snapshot, module_of

DEEPEST = 12
MOST_MODULES = 3
"""Files that a module's name may mean: more, and it says nothing."""
PACKAGE = ("__init__.py", "__init__.pyi")


@dataclass(frozen=True)
class _Search:
    """One question, with what has been found on the way: packages import each other in circles, by many ways."""

    snapshot: Snapshot
    known: dict[tuple[str, tuple[str, ...]], list[Place]] = field(default_factory=dict)
    """By file and name; empty while it is looked for."""


def resolve(snapshot: Snapshot, dotted: str, *, importer: str = "") -> tuple[Place, ...]:
    """Find what a name means: `pkg.module`, `pkg.Name`, `pkg.module.Class.method`, or with `importer`, a path, what it means there.

    A part that is not found is left out, from the end: an attribute that is made at run time gives its class. Nothing is found of
    what is not in the tree.
    """
    return tuple(dict.fromkeys(_resolved(_Search(snapshot), dotted.removesuffix("()"), importer, DEEPEST)))


def module_paths(snapshot: Snapshot, dotted: str, *, importer: str = "") -> tuple[str, ...]:
    """The files that a module's name means, leading dots relative to `importer`."""
    name = absolute(dotted, importer)
    found = [
        path
        for path in snapshot.modules.get(name.rpartition(".")[2], ())
        if f".{module_of(path)}".endswith(f".{name}")
    ]
    nearest = min((path.count("/") - path.endswith(PACKAGE) for path in found), default=0)
    best = tuple(path for path in found if path.count("/") - path.endswith(PACKAGE) == nearest)
    return best if name and len(best) <= MOST_MODULES else ()


def re_exports(snapshot: Snapshot, name: str) -> tuple[tuple[str, Import], ...]:
    """The packages that import a bare name to pass it on, each with the import."""
    inside = [use.path for use in snapshot.used(name) if use.path.endswith(PACKAGE)]
    return tuple(
        (path, item) for path in inside for item in snapshot.imports(path) if name in (item.name, item.alias)
    )


def imported(snapshot: Snapshot, path: str) -> frozenset[str]:
    """The other files that a file imports."""
    names = (item.dotted for item in snapshot.imports(path))
    places = (
        place
        for name in names
        for place in resolve(snapshot, name, importer=path if name.startswith(".") else "")
    )
    return frozenset(place.path for place in places) - {path}


def absolute(dotted: str, importer: str) -> str:
    """A relative module's name as seen from the root of the tree."""
    name = dotted.lstrip(".")
    up = len(dotted) - len(name)
    if not up:
        return name
    folders = importer.split("/")[: -up or None]
    return ".".join([*folders, *([name] if name else [])])


def _resolved(search: _Search, dotted: str, importer: str, depth: int) -> Iterator[Place]:
    if depth == 0:
        return
    parts = dotted.split(".")
    if importer and not dotted.startswith(".") and (here := _inside(search, importer, parts, depth)):
        yield from here
        return
    leading = len(dotted) - len(dotted.lstrip("."))
    names = dotted.lstrip(".").split(".")
    for size in range(len(names), -1 if leading else 0, -1):
        modules = module_paths(search.snapshot, "." * leading + ".".join(names[:size]), importer=importer)
        for path in modules:
            rest = names[size:]
            found = _inside(search, path, rest, depth) if any(rest) else [Place(path=path)]
            yield from found or [Place(path=path)]
        if modules:
            return


def _inside(search: _Search, path: str, parts: Sequence[str], depth: int) -> list[Place]:
    key = path, tuple(parts)
    if key not in search.known:
        search.known[key] = []
        search.known[key] = list(_meant(search, path, parts, depth))
    return search.known[key]


def _meant(search: _Search, path: str, parts: Sequence[str], depth: int) -> Iterator[Place]:
    """What names mean in a file: its own definitions first, then what it imports."""
    own = {item.name: item for item in search.snapshot.definitions(path)}
    if parts[0] in own:
        yield from _attribute(search, path, own, parts, depth)
        return
    for item in search.snapshot.imports(path):
        if item.name == "*":
            yield from _taken(search, item.module, parts, path, depth)
        elif item.local == parts[0]:
            whole = item.alias or item.name
            rest = list(parts[1:]) if whole else list(parts[item.dotted.count(".") + 1 :])
            yield from _resolved(search, ".".join([item.dotted, *rest]), path, depth - 1)


def _taken(search: _Search, module: str, parts: Sequence[str], importer: str, depth: int) -> Iterator[Place]:
    for path in module_paths(search.snapshot, module, importer=importer):
        if path != importer and depth > 1:
            yield from _inside(search, path, parts, depth - 1)


def _attribute(
    search: _Search, path: str, own: dict[str, Definition], parts: Sequence[str], depth: int
) -> Iterator[Place]:
    """The definition that most of the parts name; what a class does not have is looked for in its bases."""
    size = max(size for size in range(1, len(parts) + 1) if ".".join(parts[:size]) in own)
    name = ".".join(parts[:size])
    if size < len(parts) and own[name].kind == "class" and depth > 1:
        for base in search.snapshot.bases(path).get(name, ()):
            found = [
                place
                for place in _resolved(search, f"{base}.{'.'.join(parts[size:])}", path, depth - 1)
                if place.definition and place.definition.bare == parts[-1]
            ]
            if found:
                yield from found
                return
    yield Place(path=path, definition=own[name])


def importers(snapshot: Snapshot, path: str) -> tuple[tuple[str, int], ...]:
    """The files that import a file, each with the line; in other languages than Python by the last part of what is imported."""
    stem = module_of(path).rpartition(".")[2]
    found: dict[str, int] = {}
    for other in snapshot.sources:
        for item in snapshot.imports(other) if other != path else ():
            if stem in (
                item.name,
                absolute(item.module, other).rpartition(".")[2],
                _stem(item.module),
            ) and _imports(snapshot, other, item, path):
                found.setdefault(other, item.line)
    return tuple(sorted(found.items()))


def _stem(written: str) -> str:
    """The bare name of `./lib/box.js`, `lib/box.h` or `lib.box`."""
    return (
        written.rpartition("/")[2].partition(".")[0]
        if "/" in written or written.endswith(".h")
        else written.rpartition(".")[2]
    )


def _imports(snapshot: Snapshot, importer: str, item: Import, path: str) -> bool:
    if not importer.endswith((".py", ".pyi")):
        return True
    return any(
        path in module_paths(snapshot, module, importer=importer)
        for module in dict.fromkeys((item.module, item.dotted))
    )
