"""Excerpts of source for an overview: definitions whole, or by the lines that an issue points at."""

import builtins
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from coder.core.errors import ToolError
from coder.files.ripgrep import escape_path
from coder.files.tokenize import WORD, identifier_terms
from coder.index import Definition, definitions, enclosing_definitions
from coder.patching.plan import TextFile
from coder.retrieval.issue_terms import IssueTerms
from coder.workspace.workspace import Workspace, clip_line, load_source

LONGEST_WHOLE = 120
"""Lines, without docstrings, of a definition that is shown whole."""
LONGEST_SECOND = 60
"""The same of a definition beside a likelier one."""
SHORT_CLASS = 60
"""Lines, without docstrings, of a class that is shown whole around one of its methods."""
LONGEST_DOCSTRING = 3
WINDOW_LINES = 6
"""Lines above and below each line of a long definition that the issue points at."""
MAX_WINDOW_LINES = 70
"""Lines of a long definition that are shown."""
CALL = re.compile(r"(?P<of>\w+\.)?(?P<name>[A-Za-z_]\w{2,})\(")
MOST_CALLEES = 8
COMMON_METHODS = frozenset(
    {
        *(name for kind in (str, bytes, int, list, dict, set, object) for name in dir(kind)),
        *("charAt", "concat", "filter", "forEach", "get", "has", "includes", "indexOf", "map", "push", "set"),
        *("slice", "splice", "test", "then", "toString", "trim", "valueOf", "write", "read", "close"),
    }
)
"""Methods that values of a language have, too: their name alone says nothing of the project's."""
OWN_RECEIVERS = ("self.", "cls.", "this.")
COMMON_LINES = 8
"""A word in more lines of a definition than this points at none of them.

In 68 fixes of functions of more than 120 lines a changed line was shown in 33 with 3 lines (10 around each),
in 42 with 8 (6 around each); 57 others, used for choosing: 25 and 42.
"""


@dataclass(frozen=True, kw_only=True)
class Excerpt:
    path: str
    source: TextFile
    file_definitions: Sequence[Definition]
    item: Definition
    longest: int = LONGEST_WHOLE
    """Lines, without docstrings, up to which it is shown whole."""

    @cached_property
    def shown_item(self) -> Definition:
        """The definition, or the class around it, where that is short enough to be shown whole."""
        name = self.item.name.rpartition(".")[0]
        owners = (other for other in self.file_definitions if other.kind == "class" and other.name == name)
        owner = next(owners, None)
        is_short = owner is not None and len(self.lines(owner.start, owner.end)) <= SHORT_CLASS
        return owner if owner and is_short else self.item

    def code(self, item: Definition) -> str:
        """Return the lines without indentation, empty lines and docstrings."""
        numbered = self.lines(item.start, item.end)
        return "\n".join(text.strip() for number, text in numbered if number and text.strip())

    def lines(self, first: int, last: int) -> list[tuple[int, str]]:
        """Return numbered lines without the inside of long docstrings.

        An omission has number 0 and a note.
        """
        return list(_without_docstrings(self.source, first, last, self.file_definitions))

    def contains(self, path: str, inner: Definition | None) -> bool:
        """Tell whether it shows all of a definition; never all of a file, which is None."""
        item = self.shown_item
        if inner is None or path != self.path or inner.start < item.start or inner.end > item.end:
            return False
        return item == inner or len(self.lines(item.start, item.end)) <= self.longest

    def callees(self) -> list[Definition]:
        """Return what it calls of its own class and file, in the order of the calls."""
        owner = self.item.name.rpartition(".")[0]
        by_name: dict[str, list[Definition]] = {}
        for definition in self.file_definitions:
            if definition.kind != "variable" and definition.name != self.item.name:
                by_name.setdefault(definition.bare_name, []).append(definition)
        callees: list[Definition] = []
        for match in CALL.finditer(self.code(self.item)) if self.item.kind != "class" else ():
            namesakes = by_name.get(match["name"], [])
            if match["of"] in OWN_RECEIVERS:
                exact = [other for other in namesakes if other.name == f"{owner}.{match['name']}"]
                found = exact or [other for other in namesakes if other.kind == "class"][:1]
            elif match["of"]:
                is_sole = len(namesakes) == 1 and match["name"] not in COMMON_METHODS
                found = [other for other in namesakes if is_sole and other.kind == "method"]
            else:
                found = [other for other in namesakes if "." not in other.name]
            callees += [other for other in found if other not in callees]
        return callees[:MOST_CALLEES]

    def find_outside_calls(self) -> list[str]:
        """Return the names that it calls and its file does not define, in their order; methods are none."""
        known = {definition.bare_name for definition in self.file_definitions}
        calls = CALL.finditer(self.code(self.item)) if self.item.kind != "class" else ()
        names = dict.fromkeys(match["name"] for match in calls if not match["of"])
        return [name for name in names if name not in known and not hasattr(builtins, name)]

    def render(self, clues: IssueTerms) -> str:
        """Return it whole, or by the lines that the issue points at, below the headers around it."""
        item = self.shown_item
        whole = self.lines(item.start, item.end)
        if len(whole) <= self.longest:
            return self._render(item.start, item.end, whole)
        if item.kind == "class":
            inner = [other for other in self.file_definitions if other.name.startswith(f"{item.name}.")]
            methods = [other for other in inner if other.kind not in ("variable", "class")]
            last = min((other.start for other in inner if other.kind != "variable"), default=item.end + 1) - 1
            head = self._render(item.start, last, self.lines(item.start, last)[:LONGEST_WHOLE])
            return f"{head}\n      its methods: {', '.join(map(name_lines, methods))}"
        return self._render(item.start, item.end, self._windows(whole, clues))

    def render_start(self, most: int) -> str:
        """Return its first lines, with a note if there are more."""
        lines = self.lines(self.item.start, self.item.end)
        more = [(0, f"      ... {len(lines) - most} more")] if len(lines) > most else []
        return self._render(self.item.start, self.item.end, [*lines[:most], *more])

    def _windows(self, whole: Sequence[tuple[int, str]], clues: IssueTerms) -> list[tuple[int, str]]:
        """Return the signature and the lines around those that the issue points at."""
        rank = _pointed_lines(self.item, whole, clues)
        body = self.item.docstring[0] or self.item.line + 1
        shown = {index for index, (number, _) in enumerate(whole) if 0 < number <= body}
        for index in rank:
            around = range(max(0, index - WINDOW_LINES), min(len(whole), index + WINDOW_LINES + 1))
            if len(shown | set(around)) <= min(MAX_WINDOW_LINES, self.longest):
                shown |= set(around)
        kept = sorted(shown)
        lines = [whole[index] for index in kept[:1]]
        for before, index in pairwise([*kept, len(whole)]):
            if index > before + 1:
                hidden = [number for number, _ in whole[before + 1 : index] if number]
                lines.append(
                    (0, f"      ... lines {hidden[0]}-{hidden[-1]} not shown" if hidden else "      ...")
                )
            lines += whole[index : index + 1]
        return lines

    def _render(self, first: int, last: int, lines: Sequence[tuple[int, str]]) -> str:
        outer = [
            _line(definition.line, self.source.lines[definition.line - 1])
            for definition in enclosing_definitions(first, self.file_definitions)
            if definition.line < first
        ]
        title = f"{escape_path(self.path)}, lines {first}-{last} of {len(self.source.lines)}"
        shown = [_line(number, text) for number, text in lines]
        return "\n".join([title, *outer, *(["      ..."] if outer else []), *shown])


def load_excerpt(workspace: Workspace, path: str, item: Definition) -> Excerpt | None:
    """Return a definition's excerpt; None if the file cannot be read."""
    try:
        relative, source = load_source(workspace, path)
    except ToolError:
        return None
    return Excerpt(
        path=relative, source=source, file_definitions=definitions(relative, source.text), item=item
    )


def name_lines(definition: Definition) -> str:
    """Return a definition's name and lines, such as `Box.size 4-7`."""
    return f"{definition.name} {definition.start}-{definition.end}"


def _pointed_lines(item: Definition, whole: Sequence[tuple[int, str]], clues: IssueTerms) -> list[int]:
    """Rank lines by traceback frames of the issue, its literals, then its words that few lines have."""
    frames = {frame.line for frame in clues.frames if frame.function == item.bare_name}
    words = [
        {part for word in WORD.findall(text) for part in identifier_terms(word) if part in clues.words}
        for _, text in whole
    ]
    counts = Counter(word for line in words for word in line)
    literals = [f'"{literal}"' for literal in clues.literals]
    quoting = [any(part in text.replace("'", '"').lower() for part in literals) for _, text in whole]
    is_telling = sum(quoting) <= COMMON_LINES
    scores = [
        100.0 * (number in frames)
        + 50.0 * (is_telling and quotes)
        + sum(clues.words[word] / counts[word] for word in sorted(line) if counts[word] <= COMMON_LINES)
        for (number, _), line, quotes in zip(whole, words, quoting, strict=True)
    ]
    return sorted(
        (index for index, score in enumerate(scores) if score), key=lambda index: (-scores[index], index)
    )


def _without_docstrings(
    source: TextFile, first: int, last: int, file_definitions: Sequence[Definition]
) -> Iterator[tuple[int, str]]:
    omitted: dict[int, int] = {}
    for definition in file_definitions:
        start, end = definition.docstring
        if first <= start <= last and end - start >= LONGEST_DOCSTRING:
            opening = source.lines[start - 1].strip().lstrip("rRuUbB").strip("\"'")
            omitted[start + (1 if opening else 2)] = end
    number = first
    while number <= min(last, len(source.lines)):
        if number in omitted:
            yield 0, f"      ... docstring, to line {omitted[number]}"
            number = omitted[number] + 1
            continue
        yield number, source.lines[number - 1]
        number += 1


def _line(number: int, text: str) -> str:
    return f"{number:>5}| {clip_line(text)}" if number else text
