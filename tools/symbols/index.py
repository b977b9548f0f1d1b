"""The symbol index of one tree, kept up to date by what its files look like."""

from pathlib import Path

from coder.tools.ripgrep import list_paths
from coder.tools.symbols.snapshot import Snapshot


class SymbolIndex:
    """Knows what a tree defines and uses."""

    def __init__(self, root: Path, database: Path | None = None) -> None:
        """Nothing is opened before it is asked; without `database` it lives in memory."""
        self._root = root
        self._database = database

    def current(self) -> Snapshot:
        """Bring up to date, and say what stands now."""
        return Snapshot(root=self._root, paths=list_paths(self._root))
