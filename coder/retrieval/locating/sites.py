"""Selection of the likely definitions to show, and of their lines."""

from collections.abc import Sequence
from dataclasses import dataclass

from coder.index.definition import Definition
from coder.index.snapshot import IndexSnapshot
from coder.retrieval.locating.issue_terms import IssueTerms
from coder.retrieval.locating.ranking import RankedPlace

SMALL_CLASS = 40
CODE_WORD_WEIGHT = 1.2
"""The lowest weight of a word in code."""
MAX_SCORE_GAP = 3.5
"""Definitions that score so much less than the likeliest are not shown, apart from the first few."""
MIN_SITES = 4
MAX_SITES_PER_FILE = 4
MAX_METHODS_PER_CLASS = 5
MAX_SITES = 14


@dataclass(frozen=True, kw_only=True)
class DefinitionSite:
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
    def is_shortened(self) -> bool:
        """Whether it is a class too long to be shown whole."""
        return self.last < self.item.end


def select_sites(
    snapshot: IndexSnapshot, likely: Sequence[RankedPlace], clues: IssueTerms
) -> list[DefinitionSite]:
    """Select definitions not far less likely than the first, a few per file.

    Of a long class also the methods that the issue names.
    """
    selected: dict[tuple[str, str], DefinitionSite] = {}
    for entry in likely:
        if len(selected) >= (MIN_SITES if entry.score < likely[0].score - MAX_SCORE_GAP else MAX_SITES):
            break
        if entry.item is None or sum(path == entry.path for path, _ in selected) >= MAX_SITES_PER_FILE:
            continue
        site = _site(snapshot, entry.path, entry.item)
        selected.setdefault((site.path, site.name), site)
        if site.is_shortened:
            methods = [
                method
                for method in snapshot.definitions(entry.path)
                if method.name.rpartition(".")[0] == site.name
            ]
            for method in [
                method for method in methods if method.kind == "method" and is_named_by_issue(method, clues)
            ][:MAX_METHODS_PER_CLASS]:
                selected.setdefault((site.path, method.name), _site(snapshot, entry.path, method))
    return list(selected.values())


def is_named_by_issue(item: Definition, clues: IssueTerms) -> bool:
    """Tell whether the issue names this definition, or an operation that this special method implements.

    Leading underscores are ignored.
    """
    plain = item.bare_name.strip("_")
    weight = max(clues.names.get(item.bare_name, 0.0), clues.names.get(plain, 0.0))
    return item.bare_name in clues.protocol or item.bare_name in clues.called or weight >= CODE_WORD_WEIGHT


def _site(snapshot: IndexSnapshot, path: str, definition: Definition) -> DefinitionSite:
    last = definition.end
    if definition.kind == "class" and definition.end - definition.line >= SMALL_CLASS:
        file_definitions = snapshot.definitions(path)
        inner = [
            other.start
            for other in file_definitions
            if other.kind != "variable" and other.name.startswith(f"{definition.name}.")
        ]
        last = max(definition.line, min(inner, default=definition.end + 1) - 1)
    return DefinitionSite(path=path, item=definition, first=definition.start, last=last)
