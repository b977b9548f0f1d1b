"""Find the test that is nearest to what an issue is about, and where the next one would stand."""

import math
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from coder.core.values.paths import is_test_path
from coder.files.ripgrep import grep
from coder.files.tokenize import parts, words_of
from coder.index import Definition, definitions
from coder.retrieval.excerpts import Spot, excerpt
from coder.retrieval.locating.issue_terms import Clues
from coder.retrieval.locating.sites import Site
from coder.workspace.files import text_of
from coder.workspace.workspace import Workspace

MOST_NAMES = 25
TELLING = 1.2
NAMED_LIKE = 2.0
"""What a test file gains whose name holds the name of a suspected module, beside the words in it."""
LONGEST_TEST = 25
LONGEST_END = 12
MOST_IMPORTS = 12
A_PART = 0.3
"""Of a name's weight: what a part of it is worth."""
IN_ITS_NAME = 2.0
IMPORT = re.compile(r"^(?:import [^\n]+|from [^\n(]+\([^)]{0,600}\)|from [^\n]+)", re.MULTILINE)


LAST = "the last of its class or file"


def nearest_test(workspace: Workspace, clues: Clues, likely: Sequence[Site], room: int) -> str:
    """Imports, the most similar test and the last lines of the test file that says most of the issue's names; empty where none does."""
    wanted = _wanted(clues, likely)
    ranked = test_files(workspace.root, wanted, likely)
    if not ranked:
        return ""
    path = ranked[0]
    text = text_of(workspace.root, path)
    found = definitions(path, text)
    tests = [item for item in found if item.kind in ("function", "method") and item.bare.startswith("test")]
    nearest = _nearest(text.split("\n"), tests, wanted)
    if nearest is None:
        return ""
    for other in ranked[:4]:
        workspace.name(other)
    others = f" (others: {', '.join(ranked[1:4])})" if ranked[1:4] else ""
    end = _end(workspace, path, nearest, found, most=room // 3)
    window = Spot(
        path=path,
        first=nearest.start,
        last=min(nearest.end, nearest.start + LONGEST_TEST - 1),
        remark="" if end else LAST,
    )
    parts_shown = [
        f"The nearest existing test{others}:",
        _imports(path, text),
        excerpt(workspace, window, most=room * 3 // 5),
        end,
    ]
    return "\n\n".join(filter(None, parts_shown))


def _wanted(clues: Clues, likely: Sequence[Site]) -> dict[str, float]:
    """The names that a test of the issue would hold, with their weights."""
    wanted = {name: weight for name, weight in clues.names.items() if weight >= TELLING}
    for order, site in enumerate(likely[:4]):
        for name in site.name.split("."):
            if not name.startswith("__") and len(name) > 3:
                wanted[name] = wanted.get(name, 0.0) + 2.0 / (1 + order)
    return dict(sorted(wanted.items(), key=lambda pair: -pair[1])[:MOST_NAMES])


def test_files(root: Path, wanted: dict[str, float], likely: Sequence[Site]) -> list[str]:
    """Test files by how many of the wanted names they hold, rarer ones more, and by being named like a suspected module."""
    if not wanted:
        return []
    hits = [
        hit
        for hit in grep(root, rf"\b(?:{'|'.join(wanted)})\b", options=("--glob=*.py",)).hits
        if is_test_path(hit.path)
    ]
    counts: dict[str, Counter[str]] = {}
    for hit in hits:
        counts.setdefault(hit.path, Counter()).update(hit.text[start:end] for start, end in hit.spans)
    holding = Counter(name for counted in counts.values() for name in counted)
    modules = {part for site in likely[:4] for part in parts(site.path.rpartition("/")[2].partition(".")[0])}
    scores: dict[str, float] = {}
    for path, counted in counts.items():
        name = path.rpartition("/")[2]
        said = sum(
            wanted[word] * math.log(1 + len(counts) / holding[word]) * count / (count + 1.5)
            for word, count in counted.items()
        )
        scores[path] = (
            said
            * (NAMED_LIKE if modules & set(parts(name.partition(".")[0])) else 1.0)
            * (1.0 if "test" in name else 0.5)
        )
    return sorted(scores, key=lambda path: (-scores[path], path))


def _nearest(
    lines: Sequence[str], tests: Sequence[Definition], wanted: dict[str, float]
) -> Definition | None:
    """The test with most of the wanted names for its length, those in its own name more."""
    counted = {item: words_of("\n".join(lines[item.start - 1 : item.end])) for item in tests}
    worths: dict[str, float] = {}
    for name, weight in wanted.items():
        for part in parts(name):
            worths[part] = max(
                worths.get(part, 0.0),
                weight * (1.0 if part in wanted or part == name.strip("_").lower() else A_PART),
            )
    holding = Counter(word for words in counted.values() for word in words if word in worths)
    best, most = None, 0.0
    for item, words in counted.items():
        score = 0.0
        for word in words.keys() & worths.keys():
            rarity = math.log(1 + len(counted) / holding[word])
            score += worths[word] * rarity * (1.0 + IN_ITS_NAME * (word in parts(item.bare)))
        score /= 1 + max(0, item.end - item.start - LONGEST_TEST) / LONGEST_TEST
        if score > most:
            best, most = item, score
    return best


def _imports(path: str, text: str) -> str:
    """What the file imports at its top level, one statement a line."""
    statements = [re.sub(r"\s+", " ", match[0]).strip() for match in IMPORT.finditer(text[:6000])]
    lines = [statement[:160] for statement in statements[:MOST_IMPORTS]]
    return "\n".join([f"{path} imports", *lines]) if lines else ""


def _end(
    workspace: Workspace, path: str, nearest: Definition, found: Sequence[Definition], *, most: int
) -> str:
    """The last lines of the class that the test is in, or of its file: where a new test may be appended."""
    owner = next(
        (item for item in found if item.kind == "class" and nearest.name.startswith(f"{item.name}.")), None
    )
    last = owner.end if owner else len(text_of(workspace.root, path).rstrip("\n").split("\n"))
    first = max(nearest.end + 1, last - LONGEST_END + 1)
    if first >= last:
        return ""
    remark = f"the end of {owner.name}" if owner else "the end of the file"
    return excerpt(
        workspace,
        Spot(path=path, first=first, last=last, remark=f"{remark}; a new test fits below"),
        most=most,
    )
