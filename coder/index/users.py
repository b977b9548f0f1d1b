"""Uses of a definition, without those of another definition of the same name."""

from collections.abc import Sequence

from coder.index.resolve import resolve
from coder.index.snapshot import Place, Snapshot, Use


def users(snapshot: Snapshot, places: Sequence[Place]) -> list[Use]:
    """Where definitions of one name are used; left out are their own lines and files that certainly mean another of that name."""
    bare = next(place.definition.bare for place in places if place.definition)
    own = {(place.path, place.definition.line) for place in places if place.definition}
    kept = (
        Use(path=use.path, lines=tuple(line for line in use.lines if (use.path, line) not in own))
        for use in snapshot.used(bare)
    )
    top = all(place.definition and "." not in place.definition.name for place in places)
    paths = {place.path for place in places}
    return [
        use for use in kept if use.lines and (not top or not _means_another(snapshot, use.path, bare, paths))
    ]


def _means_another(snapshot: Snapshot, path: str, bare: str, paths: set[str]) -> bool:
    """Does a file define the name itself, or import it from elsewhere?"""
    if path in paths:
        return False
    if any(item.name == bare for item in snapshot.definitions(path)):
        return True
    if not any(item.local == bare for item in snapshot.imports(path)):
        return False
    found = {
        place.path
        for place in resolve(snapshot, bare, importer=path)
        if place.definition and place.definition.bare == bare
    }
    return path.endswith(".py") and not found & paths
