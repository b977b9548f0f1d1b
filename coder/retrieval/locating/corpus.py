"""Snapshot as a corpus of ranked documents, with the file of each."""

from array import array
from functools import cached_property

from coder.index.snapshot import IndexedPlace, IndexSnapshot
from coder.workspace.files import path_category


class Corpus:
    """The documents of a tree's source; those of its tests only on request."""

    def __init__(self, snapshot: IndexSnapshot, *, tests: bool = False) -> None:
        self.snapshot = snapshot
        self.lengths = snapshot.lengths
        self.paths: list[str] = []
        """The included files, by number."""
        self.sizes: list[int] = []
        """Number of words of each."""
        self.owners = array("i", bytes(4 * len(self.lengths)))
        """For each document the number of its file plus one; 0 for excluded ones."""
        for first, count, paths in snapshot.document_ranges:
            included = [path for path in paths if path_category(path) != 1 or tests]
            if included:
                self.paths.append(min(included, key=path_category))
                self.sizes.append(sum(self.lengths[first : first + count]))
                self.owners[first : first + count] = array("i", [len(self.paths)]) * count

    @cached_property
    def count(self) -> int:
        """Number of included documents that have words."""
        return max(
            1, sum(1 for owner, length in zip(self.owners, self.lengths, strict=True) if owner and length)
        )

    @cached_property
    def average_length(self) -> float:
        """Average number of words of a document."""
        return max(1.0, sum(self.sizes) / self.count)

    @cached_property
    def average_size(self) -> float:
        """Average number of words of a file."""
        return max(1.0, sum(self.sizes) / max(1, len(self.sizes)))

    def postings(self, token: str) -> list[int]:
        """Return the snapshot's postings, restricted to included documents."""
        owners, document_count = self.owners, len(self.owners)
        return [
            entry
            for entry in self.snapshot.postings(token)
            if entry >> 8 < document_count and owners[entry >> 8]
        ]

    def definition_place(self, document: int) -> IndexedPlace | None:
        """Return the place of a document; None for one that is not a definition."""
        owner = self.paths[self.owners[document] - 1]
        place = next(
            (place for place in self.snapshot.document_places(document) if place.path == owner), None
        )
        return place if place and place.definition else None
