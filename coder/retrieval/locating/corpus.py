"""A snapshot seen as documents to rank: which of them count, and which file each is of."""

from array import array
from functools import cached_property

from coder.index.snapshot import Place, Snapshot
from coder.workspace.files import standing


class Terrain:
    """The documents of a tree's source; those of its tests only where they are asked for."""

    def __init__(self, snapshot: Snapshot, *, tests: bool = False) -> None:
        self.snapshot = snapshot
        self.lengths = snapshot.lengths
        self.paths: list[str] = []
        """The files that count, by their number."""
        self.sizes: list[int] = []
        """Words of each."""
        self.owners = array("i", bytes(4 * len(self.lengths)))
        """For each document the number of its file plus one; 0 for those that do not count."""
        for first, count, paths in snapshot.contents:
            fitting = [path for path in paths if standing(path) != 1 or tests]
            if fitting:
                self.paths.append(min(fitting, key=standing))
                self.sizes.append(sum(self.lengths[first : first + count]))
                self.owners[first : first + count] = array("i", [len(self.paths)]) * count

    @cached_property
    def count(self) -> int:
        """Documents that have words and count."""
        return max(
            1, sum(1 for owner, length in zip(self.owners, self.lengths, strict=True) if owner and length)
        )

    @cached_property
    def average_length(self) -> float:
        return max(1.0, sum(self.sizes) / self.count)

    @cached_property
    def average_size(self) -> float:
        return max(1.0, sum(self.sizes) / max(1, len(self.sizes)))

    def postings(self, token: str) -> list[int]:
        """As the snapshot's, those of documents that count."""
        owners, known = self.owners, len(self.owners)
        return [entry for entry in self.snapshot.postings(token) if entry >> 8 < known and owners[entry >> 8]]

    def place(self, document: int) -> Place | None:
        """Where a document stands; None for what is no definition."""
        owner = self.paths[self.owners[document] - 1]
        found = next((place for place in self.snapshot.document(document) if place.path == owner), None)
        return found if found and found.definition else None
