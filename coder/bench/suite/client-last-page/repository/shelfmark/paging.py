"""Listings that come in pages."""


def all_items(fetch):
    """Every item of a listing; `fetch` takes a page's number, from 1, and returns its items and how many pages there are."""
    number = 1
    while True:
        items, pages = fetch(number)
        yield from items
        number += 1
        if number >= pages:
            return
