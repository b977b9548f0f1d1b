"""Tests that reach the code in question, and what they call it with."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from coder.core.paths import is_test_path
from coder.files.ripgrep import escape_path, grep
from coder.files.tokenize import count_terms, identifier_terms
from coder.index import Definition, definitions, enclosing_definitions
from coder.index.index import find_uses
from coder.index.snapshot import IndexedPlace, IndexSnapshot
from coder.retrieval.excerpts import load_excerpt
from coder.retrieval.issue_terms import IssueTerms
from coder.retrieval.ranking import RankedPlace
from coder.workspace.workspace import Workspace, path_category, read_text_or_empty

MOST_NAMES = 25
MIN_NAME_WEIGHT = 1.2
NAMESAKE_FACTOR = 2.0
"""Factor for a test file named after a suspected module."""
LONGEST_TEST = 25
LONGEST_IMPORTS = 300
PART_WEIGHT = 0.3
TEST_NAME_WEIGHT = 2.0


def find_similar_test(
    workspace: Workspace, snapshot: IndexSnapshot, clues: IssueTerms, likely: Sequence[RankedPlace]
) -> str:
    """Return the test most similar to the issue, of the test file with most of its names; empty if none."""
    name_weights = _name_weights(clues, likely)
    ranked = rank_test_files(workspace.root, name_weights, likely)
    if not ranked:
        return ""
    path = ranked[0]
    text = read_text_or_empty(workspace.root, path)
    tests = [
        definition
        for definition in definitions(path, text)
        if definition.kind in ("function", "method") and definition.bare_name.startswith("test")
    ]
    nearest = _nearest(text.split("\n"), tests, name_weights)
    excerpt = load_excerpt(workspace, path, nearest) if nearest else None
    if excerpt is None:
        return ""
    names = ", ".join(dict.fromkeys(name.local_name for name in snapshot.imports(path)))
    others = f" (others in {', '.join(map(escape_path, ranked[1:3]))})" if ranked[1:3] else ""
    imports = f"\nThe file imports {names[:LONGEST_IMPORTS]}" if names else ""
    return f"The most similar test{others}:\n\n{excerpt.render_start(LONGEST_TEST)}{imports}"


def _name_weights(clues: IssueTerms, likely: Sequence[RankedPlace]) -> dict[str, float]:
    """Return the names that a test of the issue would contain, with their weights."""
    weights = {name: weight for name, weight in clues.names.items() if weight >= MIN_NAME_WEIGHT}
    for order, site in enumerate(likely[:4]):
        for name in site.item.name.split(".") if site.item else ():
            if not name.startswith("__") and len(name) > 3:
                weights[name] = weights.get(name, 0.0) + 2.0 / (1 + order)
    return dict(sorted(weights.items(), key=lambda pair: -pair[1])[:MOST_NAMES])


def rank_test_files(root: Path, name_weights: dict[str, float], likely: Sequence[RankedPlace]) -> list[str]:
    """Rank test files by the names they contain, rarer ones more, and by a suspected module's name."""
    if not name_weights:
        return []
    hits = [
        hit
        for hit in grep(root, rf"\b(?:{'|'.join(name_weights)})\b", options=("--glob=*.py",)).hits
        if is_test_path(hit.path)
    ]
    counts: dict[str, Counter[str]] = {}
    for hit in hits:
        counts.setdefault(hit.path, Counter()).update(hit.text[start:end] for start, end in hit.spans)
    file_counts = Counter(name for name_counts in counts.values() for name in name_counts)
    modules = {
        part
        for site in likely[:4]
        for part in identifier_terms(site.path.rpartition("/")[2].partition(".")[0])
    }
    scores: dict[str, float] = {}
    for path, name_counts in counts.items():
        name = path.rpartition("/")[2]
        score = sum(
            name_weights[word] * math.log(1 + len(counts) / file_counts[word]) * count / (count + 1.5)
            for word, count in name_counts.items()
        )
        scores[path] = (
            score
            * (NAMESAKE_FACTOR if modules & set(identifier_terms(name.partition(".")[0])) else 1.0)
            * (1.0 if "test" in name else 0.5)
        )
    return sorted(scores, key=lambda path: (-scores[path], path))


def _nearest(
    lines: Sequence[str], tests: Sequence[Definition], name_weights: dict[str, float]
) -> Definition | None:
    """Return the test with most of the names for its length; names in its own name count more."""
    word_counts = {test: count_terms("\n".join(lines[test.start - 1 : test.end])) for test in tests}
    part_weights: dict[str, float] = {}
    for name, weight in name_weights.items():
        for part in identifier_terms(name):
            part_weights[part] = max(
                part_weights.get(part, 0.0),
                weight * (1.0 if part in name_weights or part == name.strip("_").lower() else PART_WEIGHT),
            )
    test_counts = Counter(word for words in word_counts.values() for word in words if word in part_weights)
    best, most = None, 0.0
    for test, words in word_counts.items():
        score = 0.0
        for word in words.keys() & part_weights.keys():
            rarity = math.log(1 + len(word_counts) / test_counts[word])
            score += (
                part_weights[word]
                * rarity
                * (1.0 + TEST_NAME_WEIGHT * (word in identifier_terms(test.bare_name)))
            )
        score /= 1 + max(0, test.end - test.start - LONGEST_TEST) / LONGEST_TEST
        if score > most:
            best, most = test, score
    return best


MOST_CALLERS = 12
"""Definitions that use the symbol and whose own tests are searched."""
MOST_NAMESAKES = 3
"""A caller's name shared by more definitions is ignored as ambiguous."""


@dataclass(frozen=True, kw_only=True)
class ReachingTest:
    id: str
    """`path::Class::test`, shorter where the use is outside of any test."""
    path: str
    names: str
    line: int


def find_reaching_tests(snapshot: IndexSnapshot, places: Sequence[IndexedPlace]) -> list[ReachingTest]:
    """Return the tests that reach definitions of one name: direct uses first, in files named alike first."""
    bare = next(place.definition.bare_name for place in places if place.definition)
    stems = {place.path.rpartition("/")[2].partition(".")[0] for place in places}
    tests = {test.id: test for test in _tests_naming(snapshot, places, bare, stems)}
    for caller in _callers(snapshot, places):
        for test in _tests_naming(
            snapshot, (caller,), caller.definition.bare_name if caller.definition else "", stems
        ):
            tests.setdefault(test.id, test)
    return list(tests.values())


def _tests_naming(
    snapshot: IndexSnapshot, places: Sequence[IndexedPlace], bare: str, stems: set[str]
) -> list[ReachingTest]:
    """Return the tests that use a name, ordered by similarity of file names, then by number of uses."""
    tests: dict[str, list[int]] = {}
    paths: dict[str, str] = {}
    for use in find_uses(snapshot, places):
        if path_category(use.path) != 1:
            continue
        file_definitions = snapshot.definitions(use.path)
        for line in use.lines:
            identity = _test_id(use.path, enclosing_definitions(line, file_definitions))
            tests.setdefault(identity, []).append(line)
            paths[identity] = use.path
    order = sorted(
        tests,
        key=lambda test: (
            "::" not in test,
            not any(stem in paths[test] for stem in stems),
            -len(tests[test]),
            test,
        ),
    )
    return [ReachingTest(id=test, path=paths[test], names=bare, line=tests[test][0]) for test in order]


def _test_id(path: str, around: Sequence[Definition]) -> str:
    """Return pytest's id of the test function or class around a line; else the file."""
    tests = [
        definition
        for definition in around
        if definition.kind != "class" and definition.bare_name.startswith("test")
    ]
    classes = [
        definition
        for definition in around
        if definition.kind == "class" and "test" in definition.bare_name.lower()
    ]
    names = [*tests[:1], *classes[-1:]]
    return "::".join([path, *names[0].name.split(".")]) if names else path


def _callers(snapshot: IndexSnapshot, places: Sequence[IndexedPlace]) -> list[IndexedPlace]:
    """Return the definitions outside of tests that use the symbol, where their names are unique enough."""
    callers: dict[str, IndexedPlace] = {}
    for use in find_uses(snapshot, places):
        file_definitions = snapshot.definitions(use.path) if path_category(use.path) == 0 else ()
        for line in use.lines:
            around = enclosing_definitions(line, file_definitions)
            if around and len(callers) < MOST_CALLERS and not around[-1].bare_name.startswith("__"):
                callers.setdefault(around[-1].bare_name, IndexedPlace(path=use.path, definition=around[-1]))
    return [place for name, place in callers.items() if len(snapshot.files_defining(name)) <= MOST_NAMESAKES]
