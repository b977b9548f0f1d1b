"""Merge sort."""


def merge(left: list, right: list) -> list:
    """One sorted list of two; equal items keep their order."""
    merged = []
    i = j = 0
    while i < len(left) and j < len(right):
        if left[i] <= right[j]:
            merged.append(left[i])
            i += 1
        else:
            merged.append(right[j])
            j += 1
    merged.extend(left[i:])
    merged.extend(right[i:])
    return merged


def merge_sort(items: list) -> list:
    if len(items) < 2:
        return list(items)
    middle = len(items) // 2
    return merge(merge_sort(items[:middle]), merge_sort(items[middle:]))
