"""Evidence of the index and the history about one symbol: uses, tests, commits."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from coder.core.errors import CoderError
from coder.files.ripgrep import escape_path
from coder.index import Definition, enclosing_definitions
from coder.index.snapshot import IndexedPlace, IndexSnapshot
from coder.index.users import find_uses
from coder.retrieval.reaching_tests import ReachingTest, find_reaching_tests
from coder.workspace.files import (
    clip_line,
    path_category,
    read_text_or_empty,
    replace_control_characters,
)
from coder.workspace.workspace import Workspace

MOST_COMMITS = 100
PATCH_LINES = 48
LINE_CHARACTERS = 120
IMPORT = re.compile(r"(?:import|from|use|#include|require|export \{)\b|.*\brequire\(")


@dataclass(frozen=True, kw_only=True)
class SourceUse:
    """A line that uses a name, outside of tests."""

    path: str
    line: int
    owner: str
    text: str
    is_call: bool
    is_uncertain: bool
    """Whether it may mean a namesake: a method of a class that this file does not name."""

    @property
    def list_item(self) -> str:
        where = f"in `{self.owner}`" if self.owner else "at the top level"
        return f"- `{escape_path(self.path)}:{self.line}` {where}: `{quote_code(self.text)}`"

    @property
    def is_import(self) -> bool:
        return bool(IMPORT.match(self.text))


def definition_of(place: IndexedPlace) -> Definition:
    assert place.definition is not None  # subjects have no modules
    return place.definition


def format_commit(line: str) -> str:
    return replace_control_characters(line).replace("`", "'")


def quote_code(text: str) -> str:
    """Return a text for one line of inline code."""
    return replace_control_characters(clip_line(" ".join(text.split()), LINE_CHARACTERS)).replace("`", "'")


def find_source_uses(
    workspace: Workspace, snapshot: IndexSnapshot, places: Sequence[IndexedPlace]
) -> list[SourceUse]:
    """Return the uses outside of tests and of the definitions themselves: calls first, imports last."""
    bare = definition_of(places[0]).bare_name
    own = {
        (place.path, line)
        for place in places
        for line in range(definition_of(place).start, definition_of(place).end + 1)
    }
    own |= {
        (place.path, place.definition.line) for place in snapshot.definitions_named(bare) if place.definition
    }
    likely_files = _files_that_mean(snapshot, places)
    uses: list[SourceUse] = []
    for use in find_uses(snapshot, places):
        if path_category(use.path) == 1 or not workspace.may_read(use.path):
            continue
        lines = source_lines(workspace, use.path)
        file_definitions = snapshot.definitions(use.path)
        for line in use.lines:
            if (use.path, line) in own or line > len(lines):
                continue
            owners = enclosing_definitions(line, file_definitions)
            uses.append(
                SourceUse(
                    path=use.path,
                    line=line,
                    owner=owners[-1].name if owners else "",
                    text=lines[line - 1].strip(),
                    is_call=bool(re.search(rf"\b{re.escape(bare)}\s*\(", lines[line - 1])),
                    is_uncertain=likely_files is not None and use.path not in likely_files,
                )
            )
    return sorted(
        uses, key=lambda use: (use.is_uncertain, path_category(use.path), not use.is_call, use.is_import)
    )


def _files_that_mean(snapshot: IndexSnapshot, places: Sequence[IndexedPlace]) -> set[str] | None:
    """Return the files that define or name the class of a method; None where no namesake exists."""
    definition = definition_of(places[0])
    owner = definition.name.rpartition(".")[0].rpartition(".")[2]
    namesakes = [place for place in snapshot.definitions_named(definition.bare_name) if place not in places]
    if not owner or not namesakes:
        return None
    return {place.path for place in places} | {use.path for use in snapshot.uses_of_name(owner)}


def find_tests(
    workspace: Workspace, snapshot: IndexSnapshot, places: Sequence[IndexedPlace]
) -> list[ReachingTest]:
    """Return the readable tests that may reach it, without the imports above them, the likeliest first."""
    tests = [test for test in find_reaching_tests(snapshot, places) if workspace.may_read(test.path)]
    files_with_tests = {test.path for test in tests if test.id != test.path}
    own = [test for test in tests if test.id != test.path or test.path not in files_with_tests]
    likely_files = _files_that_mean(snapshot, places)
    return sorted(own, key=lambda test: likely_files is not None and test.path not in likely_files)


def find_commits(workspace: Workspace, place: IndexedPlace) -> list[str]:
    """Return the commits that changed a definition, newest first, as lines."""
    definition = definition_of(place)
    try:
        text = workspace.history.log(
            path=place.path, lines=(definition.start, definition.end), count=MOST_COMMITS
        )
    except CoderError:
        return []
    return [format_commit(line) for line in text.splitlines() if line.strip() and not line.startswith("[")]


def render_newest_patch(workspace: Workspace, place: IndexedPlace) -> list[str]:
    """Return how the newest commit changed the definition, as git log -L shows it."""
    definition = definition_of(place)
    try:
        text = workspace.history.log(
            path=place.path, lines=(definition.start, definition.end), count=1, patch=True
        )
    except CoderError:
        return []
    body = text[text.find("@@") :] if "@@" in text else ""
    hunk = [replace_control_characters(line) for line in body.splitlines()]
    kept = hunk[:PATCH_LINES]
    more = [f"... {len(hunk) - len(kept)} more"] if len(hunk) > len(kept) else []
    return ["", "The newest of them:", "````diff", *kept, *more, "````"] if kept else []


def source_lines(workspace: Workspace, path: str) -> list[str]:
    return read_text_or_empty(workspace.root, path).split("\n")
