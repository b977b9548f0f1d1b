"""Selection of the likely definitions to show, and of their lines."""

from collections.abc import Sequence
from dataclasses import dataclass

from coder.index.definition import Definition
from coder.index.snapshot import Snapshot
from coder.retrieval.locating.issue_terms import Clues
from coder.retrieval.locating.ranking import Likely

SMALL_CLASS = 40
IN_CODE = 1.2
"""The lowest weight of a word in code."""
FAR_LESS = 3.5
"""Definitions that score so much less than the likeliest are not shown, apart from the first few."""
LEAST = 4
MOST_OF_A_FILE = 4
MOST_OF_A_CLASS = 5
MOST = 14


@dataclass(frozen=True, kw_only=True)
class Site:
    """A definition that the issue may be about, and its lines to show.

    Of a long class these are the lines above its first method.
    """

    path: str
    item: Definition
    first: int
    last: int

    @property
    def name(self) -> str:
        """Qualified name of the definition."""
        return self.item.name

    @property
    def shortened(self) -> bool:
        """Whether it is a class too long to be shown whole."""
        return self.last < self.item.end


def sites(snapshot: Snapshot, likely: Sequence[Likely], clues: Clues) -> list[Site]:
    """Select definitions not far less likely than the first, a few per file.

    Of a long class also the methods that the issue names.
    """
    selected: dict[tuple[str, str], Site] = {}
    for entry in likely:
        if len(selected) >= (LEAST if entry.score < likely[0].score - FAR_LESS else MOST):
            break
        if entry.item is None or sum(path == entry.path for path, _ in selected) >= MOST_OF_A_FILE:
            continue
        site = _site(snapshot, entry.path, entry.item)
        selected.setdefault((site.path, site.name), site)
        if site.shortened:
            methods = [
                method
                for method in snapshot.definitions(entry.path)
                if method.name.rpartition(".")[0] == site.name
            ]
            for method in [method for method in methods if method.kind == "method" and meant(method, clues)][
                :MOST_OF_A_CLASS
            ]:
                selected.setdefault((site.path, method.name), _site(snapshot, entry.path, method))
    return list(selected.values())


def meant(item: Definition, clues: Clues) -> bool:
    """Tell whether the issue names this definition, or an operation that this special method implements.

    Leading underscores are ignored.
    """
    plain = item.bare.strip("_")
    weight = max(clues.names.get(item.bare, 0.0), clues.names.get(plain, 0.0))
    return item.bare in clues.protocol or item.bare in clues.called or weight >= IN_CODE


def _site(snapshot: Snapshot, path: str, definition: Definition) -> Site:
    last = definition.end
    if definition.kind == "class" and definition.end - definition.line >= SMALL_CLASS:
        file_definitions = snapshot.definitions(path)
        inner = [
            other.start
            for other in file_definitions
            if other.kind != "variable" and other.name.startswith(f"{definition.name}.")
        ]
        last = max(definition.line, min(inner, default=definition.end + 1) - 1)
    return Site(path=path, item=definition, first=definition.start, last=last)
