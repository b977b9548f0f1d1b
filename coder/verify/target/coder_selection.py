"""Selection of tests by id, function, class, file or directory.

Runs in the project's interpreter. Standard library only, Python 3.8 or later.
"""

from __future__ import annotations


def is_selected(nodeid: str, selected: frozenset[str]) -> bool:
    """Tell whether a test is selected by its id, function without parameters, class, file or directory."""
    path, _, rest = nodeid.partition("::")
    names = rest.partition("[")[0].split("::") if rest else []
    folders = path.split("/")
    return (
        nodeid in selected
        or any("::".join([path, *names[: index + 1]]) in selected for index in range(len(names)))
        or any("/".join(folders[: index + 1]) in selected for index in range(len(folders)))
    )
