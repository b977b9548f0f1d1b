"""The definitions that matter most around given places: PageRank over who refers to whom, started from those places."""

import builtins
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from coder.files.ripgrep import shown
from coder.index import Definition
from coder.index.resolve import absolute
from coder.index.snapshot import Snapshot, module_of
from coder.workspace.files import standing, visible

DAMPING = 0.7
ROUNDS = 15
MOST_SEEDS = 12
MOST_EXPANDED = 40
"""Files whose references are followed."""
MOST_DEFINERS = 6
"""A name that more files define says nothing about which of them is meant."""
SHORTEST_NAME = 3
ASIDE = 0.1
"""What a reference to a test, an example or documentation weighs, to one to source."""
UNRELATED = 0.1
"""The same for one to a module below nothing that the file imports."""
DEEPEST_ROOT = 3
"""Directories that may stand above the packages of a tree."""
MOST_NAMESAKES = 2
"""Definitions of the same name in one file that are shown."""
BUILT_IN = frozenset(dir(builtins))

References = Mapping[str, float]
"""Weights by path."""


def repository_map(snapshot: Snapshot, seeds: Mapping[str, float], budget_chars: int) -> str:
    """The most central definitions for `seeds`, as signatures by file and line within so many characters; empty where there are none.

    `seeds` are weights by path or by bare name of a definition. The ranking is PageRank (Page et al., 1999) over files, personalised;
    a file hands its rank to the definitions of the names it uses.
    """
    start = _start(snapshot, seeds)
    graph = _graph(snapshot, start)
    ranked = _definitions(snapshot, graph, _rank(graph, start), seeds)
    return _shown(snapshot, ranked, budget_chars)


@dataclass(frozen=True)
class _Reference:
    """A name that a file uses, and one of the files that define it."""

    name: str
    path: str
    weight: float


def _start(snapshot: Snapshot, seeds: Mapping[str, float]) -> dict[str, float]:
    """The weights of the files that the seeds mean; together 1."""
    start: dict[str, float] = defaultdict(float)
    for seed, weight in sorted(seeds.items(), key=lambda pair: -pair[1]):
        paths = (seed,) if seed in snapshot.sources else _definers(snapshot, seed)
        for path in paths if len(start) < MOST_SEEDS else ():
            start[path] += weight / len(paths)
    total = sum(start.values())
    return {path: weight / total for path, weight in start.items()} if total > 0 else {}


def _definers(snapshot: Snapshot, name: str) -> tuple[str, ...]:
    telling = len(name) >= SHORTEST_NAME and not name.startswith("__") and name not in BUILT_IN
    found = snapshot.definers(name) if telling else ()
    return found if len(found) <= MOST_DEFINERS else ()


def _graph(snapshot: Snapshot, start: Mapping[str, float]) -> dict[str, list[_Reference]]:
    """The references of the seeds' files, then of those that are referred to most."""
    graph: dict[str, list[_Reference]] = {}
    known: dict[str, tuple[str, ...]] = {}
    waiting: dict[str, float] = dict(start)
    while waiting and len(graph) < MOST_EXPANDED:
        path = max(waiting, key=lambda path: waiting[path])
        share = waiting.pop(path)
        graph[path] = list(_references(snapshot, path, known))
        total = sum(reference.weight for reference in graph[path]) or 1.0
        for reference in graph[path]:
            if reference.path not in graph:
                waiting[reference.path] = (
                    waiting.get(reference.path, 0.0) + share * DAMPING * reference.weight / total
                )
    return graph


def _references(snapshot: Snapshot, path: str, known: dict[str, tuple[str, ...]]) -> Iterable[_Reference]:
    imported = _imported(snapshot, path)
    for name in snapshot.names(path):
        if name not in known:
            known[name] = _definers(snapshot, name)
        weights = {target: _nearness(path, target, imported) for target in known[name]}
        for target, weight in weights.items():
            yield _Reference(name, target, weight * weight / sum(weights.values()))


def _imported(snapshot: Snapshot, path: str) -> frozenset[str]:
    """The dotted names of modules that a Python file imports, or imports from; a package alone that holds all says nothing."""
    found: set[str] = set()
    for item in snapshot.imports(path) if path.endswith(".py") else ():
        module = absolute(item.module, path)
        found |= {module, f"{module}.{item.name}"} if item.name else {module}
    return frozenset(name for name in found if "." in name.strip("."))


def _nearness(path: str, target: str, imported: frozenset[str]) -> float:
    """How likely a name that `path` uses is the one that `target` defines."""
    if path == target:
        return 1.0
    weight = ASIDE if standing(target) else 1.0
    parts = module_of(target).split(".")
    above = (
        ".".join(parts[first:last])
        for first in range(DEEPEST_ROOT)
        for last in range(first + 1, len(parts) + 1)
    )
    return weight if not imported or any(name in imported for name in above) else weight * UNRELATED


def _rank(graph: Mapping[str, list[_Reference]], start: References) -> dict[str, float]:
    """PageRank by power iteration; what a file without references has goes back to the seeds."""
    edges = {path: _shares(references) for path, references in graph.items()}
    rank = dict(start)
    for _ in range(ROUNDS):
        following: dict[str, float] = defaultdict(float)
        for path, mass in rank.items():
            shares = edges.get(path) or start
            for target, share in shares.items():
                following[target] += DAMPING * mass * share
        for path, weight in start.items():
            following[path] += (1 - DAMPING) * weight
        rank = following
    return rank


def _shares(references: Iterable[_Reference]) -> dict[str, float]:
    shares: dict[str, float] = defaultdict(float)
    for reference in references:
        shares[reference.path] += reference.weight
    total = sum(shares.values())
    return {path: weight / total for path, weight in shares.items()}


def _definitions(
    snapshot: Snapshot, graph: Mapping[str, list[_Reference]], rank: References, seeds: References
) -> list[tuple[str, Definition]]:
    """Those that the ranked files refer to, most central first; where a seed is a name, its definitions lead."""
    scores: dict[tuple[str, str], float] = defaultdict(float)
    for path, references in graph.items():
        total = sum(reference.weight for reference in references)
        for reference in references:
            scores[reference.path, reference.name] += rank.get(path, 0.0) * reference.weight / total
    for name in seeds:
        scores |= {(path, name): 1.0 + seeds[name] for path in _definers(snapshot, name)}
    ordered = sorted(scores, key=lambda key: (-scores[key], key))
    return [(path, item) for path, name in ordered for item in _named(snapshot, path, name)]


def _named(snapshot: Snapshot, path: str, name: str) -> list[Definition]:
    found = [item for item in snapshot.definitions(path) if item.bare == name and item.kind != "variable"]
    return found[:MOST_NAMESAKES]


def _shown(snapshot: Snapshot, ranked: Iterable[tuple[str, Definition]], room: int) -> str:
    """As many as there is room for, below the headers of their classes, by file, the file of the most central one first."""
    files: dict[str, dict[int, str]] = {}
    for path, item in ranked:
        own = files.get(path, {})
        outer = [
            other
            for other in snapshot.definitions(path)
            if item.name.startswith(f"{other.name}.") and other.kind != "variable"
        ]
        lines = {other.line: _line(other) for other in (*outer, item) if other.line not in own}
        room -= sum(len(line) + 1 for line in lines.values()) + (0 if own else len(shown(path)) + 1)
        if room < 0:
            break
        files[path] = own | lines
    return "\n".join(
        line
        for path, own in files.items()
        for line in (shown(path), *(own[number] for number in sorted(own)))
    )


def _line(item: Definition) -> str:
    return visible(f"{item.line:>5}| {'  ' * item.name.count('.')}{item.signature}")
