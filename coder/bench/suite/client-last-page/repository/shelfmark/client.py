"""The catalogue as Python sees it."""

from dataclasses import dataclass

from shelfmark import transport
from shelfmark.paging import all_items


@dataclass(frozen=True)
class Book:
    id: int
    title: str
    author: str


class Client:
    """The catalogue behind an address."""

    def __init__(self, base):
        self._base = base

    def book(self, number):
        """One book by its number."""
        return Book(**transport.get(self._base, f"books/{number}"))

    def books(self, author=None):
        """All books, or those of an author, page by page."""
        wanted = {"author": author} if author else {}

        def fetch(page):
            answer = transport.get(self._base, "books", page=page, **wanted)
            return [Book(**entry) for entry in answer["items"]], answer["pages"]

        return all_items(fetch)
