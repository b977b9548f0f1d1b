"""Uses of a definition, without those of namesakes."""

from collections.abc import Sequence

from coder.index.resolve import resolve_name
from coder.index.snapshot import IndexedPlace, IndexSnapshot, NameUse


def find_uses(snapshot: IndexSnapshot, places: Sequence[IndexedPlace]) -> list[NameUse]:
    """Return the uses of definitions of one name.

    Their own lines are excluded, and files that certainly use a namesake.
    """
    bare = next(place.definition.bare_name for place in places if place.definition)
    own = {(place.path, place.definition.line) for place in places if place.definition}
    uses = (
        NameUse(path=use.path, lines=tuple(line for line in use.lines if (use.path, line) not in own))
        for use in snapshot.uses_of_name(bare)
    )
    is_top_level = all(place.definition and "." not in place.definition.name for place in places)
    paths = {place.path for place in places}
    return [
        use
        for use in uses
        if use.lines and (not is_top_level or not _means_another(snapshot, use.path, bare, paths))
    ]


def _means_another(snapshot: IndexSnapshot, path: str, bare: str, paths: set[str]) -> bool:
    """Tell whether a file defines the name itself, or imports it from elsewhere.

    A variable that holds an import, such as `const parse = require('./text').parse`, defines nothing.
    """
    if path in paths:
        return False
    import_lines = {imported.line for imported in snapshot.imports(path)}
    if any(
        definition.name == bare and not (definition.kind == "variable" and definition.line in import_lines)
        for definition in snapshot.definitions(path)
    ):
        return True
    if not any(definition.local_name == bare for definition in snapshot.imports(path)):
        return False
    target_paths = {
        place.path
        for place in resolve_name(snapshot, bare, importer=path)
        if place.definition and place.definition.bare_name == bare
    }
    return path.endswith(".py") and not target_paths & paths
