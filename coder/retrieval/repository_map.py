"""Map of the most central definitions around given places: personalized PageRank over file references."""

import builtins
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from coder.files.ripgrep import escape_path
from coder.index import Definition
from coder.index.resolve import absolute_module
from coder.index.snapshot import IndexSnapshot, module_name
from coder.workspace.workspace import path_category, replace_control_characters

DAMPING = 0.7
ROUNDS = 15
MOST_SEEDS = 12
MOST_EXPANDED = 40
"""Files whose references are followed."""
MOST_DEFINERS = 6
"""A name defined by more files is ignored as ambiguous."""
SHORTEST_NAME = 3
NON_SOURCE_WEIGHT = 0.1
"""Weight of a reference to a test, an example or documentation, relative to source."""
UNIMPORTED_WEIGHT = 0.1
"""Weight of a reference to a module that the file does not import, relative to an imported one."""
DEEPEST_ROOT = 3
"""Directories that may be above the packages of a tree."""
MOST_NAMESAKES = 2
"""Definitions of the same name in one file that are shown."""
BUILT_IN = frozenset(dir(builtins))

References = Mapping[str, float]
"""Weights by path."""


def render_repository_map(snapshot: IndexSnapshot, seeds: Mapping[str, float], budget_chars: int) -> str:
    """Return the most central definitions for `seeds`, as signatures by file and line, in a character limit.

    `seeds` are weights by path or by bare name of a definition. The ranking is personalized PageRank (Page et
    al., 1999) over files; a file passes its rank to the definitions of the names it uses. Empty where there
    are none.
    """
    start = _start(snapshot, seeds)
    graph = _graph(snapshot, start)
    ranked = _definitions(snapshot, graph, _rank(graph, start), seeds)
    return _render(snapshot, ranked, budget_chars)


@dataclass(frozen=True)
class _Reference:
    """A name that a file uses, and one of the files that define it."""

    name: str
    path: str
    weight: float


def _start(snapshot: IndexSnapshot, seeds: Mapping[str, float]) -> dict[str, float]:
    """Return the weights of the files that the seeds refer to; their sum is 1."""
    start: dict[str, float] = defaultdict(float)
    for seed, weight in sorted(seeds.items(), key=lambda pair: -pair[1]):
        paths = (seed,) if seed in snapshot.sources else _definers(snapshot, seed)
        for path in paths if len(start) < MOST_SEEDS else ():
            start[path] += weight / len(paths)
    total = sum(start.values())
    return {path: weight / total for path, weight in start.items()} if total > 0 else {}


def _definers(snapshot: IndexSnapshot, name: str) -> tuple[str, ...]:
    is_distinctive = len(name) >= SHORTEST_NAME and not name.startswith("__") and name not in BUILT_IN
    definers = snapshot.files_defining(name) if is_distinctive else ()
    return definers if len(definers) <= MOST_DEFINERS else ()


def _graph(snapshot: IndexSnapshot, start: Mapping[str, float]) -> dict[str, list[_Reference]]:
    """Return the references of the seeds' files, then of the most referenced files."""
    graph: dict[str, list[_Reference]] = {}
    definers_by_name: dict[str, tuple[str, ...]] = {}
    pending: dict[str, float] = dict(start)
    while pending and len(graph) < MOST_EXPANDED:
        path = max(pending, key=lambda path: pending[path])
        share = pending.pop(path)
        graph[path] = list(_references(snapshot, path, definers_by_name))
        total = sum(reference.weight for reference in graph[path]) or 1.0
        for reference in graph[path]:
            if reference.path not in graph:
                pending[reference.path] = (
                    pending.get(reference.path, 0.0) + share * DAMPING * reference.weight / total
                )
    return graph


def _references(
    snapshot: IndexSnapshot, path: str, definers_by_name: dict[str, tuple[str, ...]]
) -> Iterable[_Reference]:
    imported = _imported_modules(snapshot, path)
    for name in snapshot.used_names(path):
        if name not in definers_by_name:
            definers_by_name[name] = _definers(snapshot, name)
        weights = {target: _nearness(path, target, imported) for target in definers_by_name[name]}
        for target, weight in weights.items():
            yield _Reference(name, target, weight * weight / sum(weights.values()))


def _imported_modules(snapshot: IndexSnapshot, path: str) -> frozenset[str]:
    """Return the dotted names of modules that a Python file imports from.

    A top-level package alone is ignored.
    """
    modules: set[str] = set()
    for imported_name in snapshot.imports(path) if path.endswith(".py") else ():
        module = absolute_module(imported_name.module, path)
        modules |= {module, f"{module}.{imported_name.name}"} if imported_name.name else {module}
    return frozenset(name for name in modules if "." in name.strip("."))


def _nearness(path: str, target: str, imported: frozenset[str]) -> float:
    """Return the likelihood that a name used by `path` is the one that `target` defines."""
    if path == target:
        return 1.0
    weight = NON_SOURCE_WEIGHT if path_category(target) else 1.0
    parts = module_name(target).split(".")
    above = (
        ".".join(parts[first:last])
        for first in range(DEEPEST_ROOT)
        for last in range(first + 1, len(parts) + 1)
    )
    return weight if not imported or any(name in imported for name in above) else weight * UNIMPORTED_WEIGHT


def _rank(graph: Mapping[str, list[_Reference]], start: References) -> dict[str, float]:
    """Compute PageRank by power iteration; rank of a file without references returns to the seeds."""
    edges = {path: _shares(references) for path, references in graph.items()}
    rank = dict(start)
    for _ in range(ROUNDS):
        next_rank: dict[str, float] = defaultdict(float)
        for path, mass in rank.items():
            shares = edges.get(path) or start
            for target, share in shares.items():
                next_rank[target] += DAMPING * mass * share
        for path, weight in start.items():
            next_rank[path] += (1 - DAMPING) * weight
        rank = next_rank
    return rank


def _shares(references: Iterable[_Reference]) -> dict[str, float]:
    shares: dict[str, float] = defaultdict(float)
    for reference in references:
        shares[reference.path] += reference.weight
    total = sum(shares.values())
    return {path: weight / total for path, weight in shares.items()}


def _definitions(
    snapshot: IndexSnapshot, graph: Mapping[str, list[_Reference]], rank: References, seeds: References
) -> list[tuple[str, Definition]]:
    """Return the definitions that the ranked files refer to, most central first.

    Definitions named by seeds lead.
    """
    scores: dict[tuple[str, str], float] = defaultdict(float)
    for path, references in graph.items():
        total = sum(reference.weight for reference in references)
        for reference in references:
            scores[reference.path, reference.name] += rank.get(path, 0.0) * reference.weight / total
    for name in seeds:
        scores |= {(path, name): 1.0 + seeds[name] for path in _definers(snapshot, name)}
    ordered = sorted(scores, key=lambda key: (-scores[key], key))
    return [(path, definition) for path, name in ordered for definition in _namesakes(snapshot, path, name)]


def _namesakes(snapshot: IndexSnapshot, path: str, name: str) -> list[Definition]:
    namesakes = [
        definition
        for definition in snapshot.definitions(path)
        if definition.bare_name == name and definition.kind != "variable"
    ]
    return namesakes[:MOST_NAMESAKES]


def _render(snapshot: IndexSnapshot, ranked: Iterable[tuple[str, Definition]], room: int) -> str:
    """Render as many definitions as fit, below the headers of their classes, by file, most central first."""
    files: dict[str, dict[int, str]] = {}
    for path, definition in ranked:
        file_lines = files.get(path, {})
        outer = [
            other
            for other in snapshot.definitions(path)
            if definition.name.startswith(f"{other.name}.") and other.kind != "variable"
        ]
        lines = {other.line: _line(other) for other in (*outer, definition) if other.line not in file_lines}
        room -= sum(len(line) + 1 for line in lines.values()) + (
            0 if file_lines else len(escape_path(path)) + 1
        )
        if room < 0:
            break
        files[path] = file_lines | lines
    return "\n".join(
        line
        for path, file_lines in files.items()
        for line in (escape_path(path), *(file_lines[number] for number in sorted(file_lines)))
    )


def _line(definition: Definition) -> str:
    return replace_control_characters(
        f"{definition.line:>5}| {'  ' * definition.name.count('.')}{definition.signature}"
    )
