"""Quicksort with new lists."""


def quick_sort(items):
    if not items:
        return []
    pivot, *rest = items
    smaller = [item for item in rest if item < pivot]
    others = [item for item in rest if item > pivot]
    return [*quick_sort(smaller), pivot, *quick_sort(others)]
