"""Selection of tests by id, function, class, file or directory, and of a share of the files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator


def is_selected(nodeid: str, selected: frozenset[str]) -> bool:
    """Tell whether a test is selected by its id, function without parameters, class, file or directory."""
    return not selected.isdisjoint(selecting_names(nodeid))


def selecting_names(nodeid: str) -> Iterator[str]:
    """Yield all names that select a test.

    They are its own id, and those of its function without parameters, its class, its file and its
    directories; and its file with a file of data that the id names, as in `test_all.py::a.test::case`.
    """
    path, _, rest = nodeid.partition("::")
    folders = path.split("/")
    names = ["/".join(folders[: index + 1]) for index in range(len(folders))]
    parts = rest.partition("[")[0].split("::") if rest else []
    names += ["::".join([path, *parts[: index + 1]]) for index in range(len(parts))]
    data = [index for index, part in enumerate(parts) if index and "." in part]
    names += [
        "::".join([path, *parts[index:end]]) for index in data for end in range(index + 1, len(parts) + 1)
    ]
    yield from dict.fromkeys([*names, nodeid])


def files_of_shard(files: Iterable[str], weights: dict[str, float], index: int, number: int) -> set[str]:
    """Return the files that the process with this index of `number` processes runs.

    `files` are those of all tests, `weights` the seconds of some of them. The longest is assigned
    first, each to the process with the least to do; all processes come to the same result.
    """
    counts = Counter(files)
    known = [file for file in counts if file in weights]
    seconds = sum(weights[file] for file in known)
    per_test = seconds / max(1, sum(counts[file] for file in known)) or 1.0
    expected = {file: weights.get(file, per_test * counts[file]) for file in counts}
    loads = [0.0] * number
    mine = set()
    for file in sorted(counts, key=lambda name: (-expected[name], name)):
        least = loads.index(min(loads))
        loads[least] += expected[file]
        if least == index:
            mine.add(file)
    return mine
