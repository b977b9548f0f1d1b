"""Resolution of dotted Python names through packages, imports, re-exports and base classes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from coder.index.parsers import Definition
from coder.index.snapshot import IndexedPlace, IndexSnapshot, module_name

MAX_DEPTH = 12
MAX_MODULES = 3
"""Files that a module's name may match; with more it is ignored as ambiguous."""
PACKAGE = ("__init__.py", "__init__.pyi")


@dataclass(frozen=True)
class _Search:
    """One query with its memo: packages import each other in cycles, along many paths."""

    snapshot: IndexSnapshot
    known: dict[tuple[str, tuple[str, ...]], list[IndexedPlace]] = field(default_factory=dict)
    """By file and name; empty while it is being resolved."""


def resolve_name(snapshot: IndexSnapshot, dotted: str, *, importer: str = "") -> tuple[IndexedPlace, ...]:
    """Resolve a dotted name to definitions or modules.

    Such names are `pkg.module`, `pkg.Name` or `pkg.module.Class.method`; with `importer`, a path, names are
    resolved as in that file.

    Unknown parts are dropped from the end: an attribute created at run time yields its class. Names outside
    of the tree yield nothing.
    """
    return tuple(
        dict.fromkeys(_resolve_dotted(_Search(snapshot), dotted.removesuffix("()"), importer, MAX_DEPTH))
    )


def find_module_paths(snapshot: IndexSnapshot, dotted: str, *, importer: str = "") -> tuple[str, ...]:
    """Return the files that a module's name refers to, leading dots relative to `importer`."""
    name = absolute_module(dotted, importer)
    paths = [
        path
        for path in snapshot.modules_by_name.get(name.rpartition(".")[2], ())
        if f".{module_name(path)}".endswith(f".{name}")
    ]
    nearest = min((path.count("/") - path.endswith(PACKAGE) for path in paths), default=0)
    best = tuple(path for path in paths if path.count("/") - path.endswith(PACKAGE) == nearest)
    return best if name and len(best) <= MAX_MODULES else ()


def imported_files(snapshot: IndexSnapshot, path: str) -> frozenset[str]:
    names = (imported_name.dotted_name for imported_name in snapshot.imports(path))
    places = (
        place
        for name in names
        for place in resolve_name(snapshot, name, importer=path if name.startswith(".") else "")
    )
    return frozenset(place.path for place in places) - {path}


def absolute_module(dotted: str, importer: str) -> str:
    """Convert a relative module name to one from the root of the tree."""
    name = dotted.lstrip(".")
    up = len(dotted) - len(name)
    if not up:
        return name
    folders = importer.split("/")[: -up or None]
    return ".".join([*folders, *([name] if name else [])])


def _resolve_dotted(search: _Search, dotted: str, importer: str, depth: int) -> Iterator[IndexedPlace]:
    if depth == 0:
        return
    parts = dotted.split(".")
    if importer and not dotted.startswith(".") and (local := _resolve_cached(search, importer, parts, depth)):
        yield from local
        return
    leading = len(dotted) - len(dotted.lstrip("."))
    names = dotted.lstrip(".").split(".")
    for size in range(len(names), -1 if leading else 0, -1):
        modules = find_module_paths(
            search.snapshot, "." * leading + ".".join(names[:size]), importer=importer
        )
        for path in modules:
            rest = names[size:]
            places = _resolve_cached(search, path, rest, depth) if any(rest) else [IndexedPlace(path=path)]
            yield from places or [IndexedPlace(path=path)]
        if modules:
            return


def _resolve_cached(search: _Search, path: str, parts: Sequence[str], depth: int) -> list[IndexedPlace]:
    key = path, tuple(parts)
    if key not in search.known:
        search.known[key] = []
        search.known[key] = list(_resolve_in_file(search, path, parts, depth))
    return search.known[key]


def _resolve_in_file(search: _Search, path: str, parts: Sequence[str], depth: int) -> Iterator[IndexedPlace]:
    """Yield the places that names refer to in a file: its own definitions first, then its imports."""
    own = {imported_name.name: imported_name for imported_name in search.snapshot.definitions(path)}
    if parts[0] in own:
        yield from _resolve_attribute(search, path, own, parts, depth)
        return
    for imported_name in search.snapshot.imports(path):
        if imported_name.name == "*":
            yield from _resolve_star(search, imported_name.module, parts, path, depth)
        elif imported_name.local_name == parts[0]:
            whole = imported_name.alias or imported_name.name
            rest = list(parts[1:]) if whole else list(parts[imported_name.dotted_name.count(".") + 1 :])
            yield from _resolve_dotted(search, ".".join([imported_name.dotted_name, *rest]), path, depth - 1)


def _resolve_star(
    search: _Search, module: str, parts: Sequence[str], importer: str, depth: int
) -> Iterator[IndexedPlace]:
    for path in find_module_paths(search.snapshot, module, importer=importer):
        if path != importer and depth > 1:
            yield from _resolve_cached(search, path, parts, depth - 1)


def _resolve_attribute(
    search: _Search, path: str, own: dict[str, Definition], parts: Sequence[str], depth: int
) -> Iterator[IndexedPlace]:
    """Yield the definition that most of the parts name.

    Attributes missing from a class are looked up in its bases.
    """
    size = max(size for size in range(1, len(parts) + 1) if ".".join(parts[:size]) in own)
    name = ".".join(parts[:size])
    if size < len(parts) and own[name].kind == "class" and depth > 1:
        for base in search.snapshot.bases(path).get(name, ()):
            places = [
                place
                for place in _resolve_dotted(search, f"{base}.{'.'.join(parts[size:])}", path, depth - 1)
                if place.definition and place.definition.bare_name == parts[-1]
            ]
            if places:
                yield from places
                return
    yield IndexedPlace(path=path, definition=own[name])
