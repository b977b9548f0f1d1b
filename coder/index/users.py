"""Uses of a definition, without those of namesakes."""

from collections.abc import Sequence

from coder.index.resolve import resolve
from coder.index.snapshot import Place, Snapshot, Use


def users(snapshot: Snapshot, places: Sequence[Place]) -> list[Use]:
    """Return the uses of definitions of one name.

    Their own lines are excluded, and files that certainly use a namesake.
    """
    bare = next(place.definition.bare for place in places if place.definition)
    own = {(place.path, place.definition.line) for place in places if place.definition}
    uses = (
        Use(path=use.path, lines=tuple(line for line in use.lines if (use.path, line) not in own))
        for use in snapshot.used(bare)
    )
    is_top_level = all(place.definition and "." not in place.definition.name for place in places)
    paths = {place.path for place in places}
    return [
        use
        for use in uses
        if use.lines and (not is_top_level or not _means_another(snapshot, use.path, bare, paths))
    ]


def _means_another(snapshot: Snapshot, path: str, bare: str, paths: set[str]) -> bool:
    """Tell whether a file defines the name itself, or imports it from elsewhere."""
    if path in paths:
        return False
    if any(definition.name == bare for definition in snapshot.definitions(path)):
        return True
    if not any(definition.local == bare for definition in snapshot.imports(path)):
        return False
    target_paths = {
        place.path
        for place in resolve(snapshot, bare, importer=path)
        if place.definition and place.definition.bare == bare
    }
    return path.endswith(".py") and not target_paths & paths
