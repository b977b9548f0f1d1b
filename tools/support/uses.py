"""Display of matches and uses: each line below its enclosing definition."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from coder.files.ripgrep import Hit, escape_path
from coder.index import Definition, enclosing_definitions
from coder.index.snapshot import IndexSnapshot, NameUse
from coder.workspace.workspace import Workspace, clip_line, path_category, read_text_or_empty

WIDEST = 220


def order_uses(uses: Iterable[NameUse]) -> list[NameUse]:
    """Sort uses: source, then tests, then the rest."""
    return sorted(uses, key=lambda use: (path_category(use.path), use.path))


def render_uses(
    workspace: Workspace, snapshot: IndexSnapshot, uses: Sequence[NameUse], *, name: str, most: int
) -> str:
    """Show the first `most` lines of uses by file and enclosing definition."""
    blocks: list[str] = []
    for path, group in groupby(uses, key=lambda use: use.path):
        if most <= 0:
            break
        hits = [hit for use in group for hit in _hits(workspace, use, name)][:most]
        if not hits:
            continue
        most -= len(hits)
        blocks.append(
            f"{escape_path(path)}\n" + "\n".join(group_by_definition(hits, snapshot.definitions(path)))
        )
    return "\n".join(blocks)


def _hits(workspace: Workspace, use: NameUse, name: str) -> list[Hit]:
    lines = read_text_or_empty(workspace.root, use.path).split("\n")
    matching_lines = [line for line in use.lines if line <= len(lines) and name in lines[line - 1]]
    return [
        Hit(
            path=use.path,
            line=line,
            text=lines[line - 1],
            spans=((at := lines[line - 1].find(name), at + len(name)),),
        )
        for line in matching_lines
    ]


def group_by_definition(hits: Sequence[Hit], file_definitions: Sequence[Definition]) -> Iterator[str]:
    """Yield each run of hits below its enclosing definition; context lines belong to their match.

    A definition of which only the first line is a hit needs no heading: the line has the number of its last.
    """
    matches = [hit.line for hit in hits if hit.spans]
    scopes = {line: enclosing_definitions(line, file_definitions) for line in matches}
    counts = Counter(definition for around in scopes.values() for definition in around)
    is_plain = len(matches) == len(hits)
    ends = {
        line: around[-1].end
        for line, around in scopes.items()
        if is_plain and around and around[-1].line == line and counts[around[-1]] == 1
    }
    owners = {
        line: next(reversed(around[:-1] if line in ends else around), None) for line, around in scopes.items()
    }
    has_output = False
    for definition, group in groupby(
        hits, key=lambda hit: owners[min(matches, key=lambda line: abs(line - hit.line))]
    ):
        if definition is not None:
            yield f"  in {definition.name} (lines {definition.start}-{definition.end})"
        elif has_output:
            yield "  in no definition"
        has_output = True
        yield _lines(list(group), ends)


def _lines(hits: Sequence[Hit], ends: Mapping[int, int]) -> str:
    lines: list[str] = []
    previous = 0
    for hit in hits:
        if previous and hit.line > previous + 1 and not hit.spans:
            lines.append("      ...")
        around = hit.spans[0][0] if hit.spans else 0
        number = f"{hit.line}-{ends[hit.line]}" if ends.get(hit.line, hit.line) > hit.line else str(hit.line)
        lines.append(f"{number:>6}| {clip_line(hit.text, WIDEST, around=around)}")
        previous = hit.line
    return "\n".join(lines)


def sample_places(hits: Sequence[Hit]) -> str:
    """Return the first hits of three files as `path:line`."""
    first_hits = list({hit.path: hit for hit in reversed(hits)}.values())[::-1][:3]
    return ", ".join(f"{escape_path(hit.path)}:{hit.line}" for hit in first_hits)
