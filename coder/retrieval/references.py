"""References from an issue other than words: paths, traceback frames, imports, literals."""

import re
from collections import defaultdict
from collections.abc import Container, Iterator
from dataclasses import dataclass, field

from coder.files.tokenize import WORD, identifier_terms
from coder.index.parsers import Definition
from coder.index.resolve import imported_files
from coder.retrieval.corpus import Corpus
from coder.retrieval.issue_terms import COLUMN_SEPARATOR, IssueTerms
from coder.workspace.workspace import FileIndex, extract_places, path_category, read_text_or_empty

MAX_MESSAGE_DOCUMENTS = 60
"""Limit of documents that contain all words of a message: with more, none is read."""
MOST_NAMESAKES = 3
FRAME_DECAY = 0.3
SPECIFIER = re.compile(
    r"""(?:\bfrom|\brequire\(|\bimport\(?)\s*["'](?:\.{1,2}/|(?:@[\w-]+/)?[\w-]+/){1,9}?"""
    r"""((?:[\w-]+/){0,9}[\w-]+)(?:\.\w+)?["']"""
)
"""A module below a package or a folder, as JavaScript imports it."""
ADJACENT_LITERALS = re.compile(r"[\"']\s*\n\s*[rfubRFUB]?[\"']")


@dataclass(kw_only=True)
class ReferenceEvidence:
    """Evidence by place: strength of each kind of reference to a file, or to a definition in it."""

    files: dict[str, dict[str, float]] = field(default_factory=lambda: defaultdict(dict))
    definitions: dict[tuple[str, str], dict[str, float]] = field(default_factory=lambda: defaultdict(dict))
    """By path and qualified name."""
    reasons: dict[tuple[str, str], list[str]] = field(default_factory=lambda: defaultdict(list))
    """By path and qualified name; the name is empty for a file as a whole."""

    def add(self, path: str, kind: str, value: float, *, name: str = "", reason: str = "") -> None:
        """Add evidence of one kind for a place; the highest value of a kind counts."""
        kinds = self.definitions[(path, name)] if name else self.files[path]
        kinds[kind] = max(kinds.get(kind, 0.0), value)
        if reason and reason not in self.reasons[(path, name)]:
            self.reasons[(path, name)].append(reason)

    def drop(self, paths: Container[str]) -> None:
        """Remove the evidence for files that cannot be places."""
        for path in [path for path in self.files if path in paths]:
            del self.files[path]
        for place in [place for place in self.definitions if place[0] in paths]:
            del self.definitions[place]


def collect_references(terrain: Corpus, clues: IssueTerms) -> ReferenceEvidence:
    evidence = ReferenceEvidence()
    worktree_files = FileIndex(terrain.snapshot.paths)
    _add_paths(terrain, clues, worktree_files, evidence)
    _add_specifiers(terrain, clues, evidence)
    _add_frames(terrain, clues, worktree_files, evidence)
    _add_messages(terrain, clues, evidence)
    _add_sole_literals(terrain, clues, evidence)
    evidence.drop({path for path in terrain.snapshot.paths if terrain.is_left_out(path)})
    return evidence


def _add_paths(
    terrain: Corpus, clues: IssueTerms, worktree_files: FileIndex, evidence: ReferenceEvidence
) -> None:
    for path_text, line in extract_places(clues.text):
        files = worktree_files.files_with_suffix(path_text)
        for path in files:
            evidence.add(path, "path", 1 / len(files), reason="named in the issue")
            if path_category(path) == 1:
                _add_tested_files(terrain, path, 1 / len(files), evidence)
            if line and not clues.frames:
                for definition in _definitions_around(terrain, path, line)[-1:]:
                    evidence.add(path, "line", 1.0, name=definition.name, reason=f"line {line} is named")


def _add_specifiers(terrain: Corpus, clues: IssueTerms, evidence: ReferenceEvidence) -> None:
    """Add the modules that the issue's JavaScript imports below a package, such as `shop/plugin/tax`."""
    for specifier in dict.fromkeys(SPECIFIER.findall(clues.text)):
        paths = [path for path in terrain.paths if f"/{_module(path)}".endswith(f"/{specifier}")]
        for path in paths:
            evidence.add(path, "path", 1 / len(paths), reason="imported in the issue")


def _module(path: str) -> str:
    return path.rpartition(".")[0].removesuffix("/index")


def _add_tested_files(terrain: Corpus, test: str, share: float, evidence: ReferenceEvidence) -> None:
    """Add the imports of a test file as its likely subjects; the module it is named after counts more."""
    sources = [path for path in sorted(imported_files(terrain.snapshot, test)) if path_category(path) == 0]
    *folders, name = test.split("/")
    subjects = [{*identifier_terms(piece.partition(".")[0])} - {"test"} for piece in (name, *folders[-1:])]
    subject = next(filter(None, subjects), set())
    for path in sources:
        path_words = {piece for part in path.partition(".")[0].split("/") for piece in identifier_terms(part)}
        is_namesake = bool(subject) and {word for word in subject if "_" not in word} <= path_words
        evidence.add(
            path,
            "tested",
            share if is_namesake else share / (1 + len(sources)),
            reason=f"tested by {test}" if is_namesake else "",
        )


def _definitions_around(terrain: Corpus, path: str, line: int) -> list[Definition]:
    return [
        definition
        for definition in terrain.snapshot.definitions(path)
        if definition.kind != "variable" and definition.start <= line <= definition.end
    ]


def _add_frames(
    terrain: Corpus, clues: IssueTerms, worktree_files: FileIndex, evidence: ReferenceEvidence
) -> None:
    """Add the frames inside the tree, innermost first."""
    innermost = True
    distance = 0
    for frame in reversed(clues.frames):
        for path in worktree_files.files_with_suffix(frame.path)[:2]:
            by_name = [
                definition
                for definition in terrain.snapshot.definitions(path)
                if definition.bare_name == frame.function and definition.kind != "variable"
            ]
            definitions = (
                by_name
                if len(by_name) == 1
                else [
                    definition
                    for definition in _definitions_around(terrain, path, frame.line)
                    if definition.kind != "class"
                ][-1:]
                or by_name
            )
            is_source = path_category(path) == 0
            evidence.add(path, "frame", 1 / (1 + FRAME_DECAY * distance), reason="in the traceback")
            if innermost and is_source:
                evidence.add(path, "innermost frame", 1.0)
            for definition in definitions:
                evidence.add(
                    path,
                    "frame",
                    1 / (1 + FRAME_DECAY * distance),
                    name=definition.name,
                    reason="in the traceback",
                )
                if innermost and is_source:
                    evidence.add(path, "innermost frame", 1.0, name=definition.name)
            innermost = innermost and not is_source
            distance += 1


def _add_messages(terrain: Corpus, clues: IssueTerms, evidence: ReferenceEvidence) -> None:
    """Add definitions that contain a quoted message, apart from filled-in parts."""
    for phrase in clues.phrases:
        matches = list(_definitions_containing(terrain, phrase))
        said = phrase.replace(COLUMN_SEPARATOR, " ").replace('"', "")[:50]
        for path, definition in matches:
            evidence.add(
                path,
                "message",
                len(matches) ** -0.5,
                name=definition.name if definition else "",
                reason=f"says {said!r}",
            )
            evidence.add(path, "message", len(matches) ** -0.5, reason=f"says {said!r}")
            if definition is None:
                _add_users_of_message(terrain, path, phrase, evidence)


def _add_users_of_message(terrain: Corpus, path: str, phrase: str, evidence: ReferenceEvidence) -> None:
    """Add the functions that use a variable which holds a message."""
    lines = _lines_without_docstrings(terrain, path)
    for variable in terrain.snapshot.definitions(path):
        code = "\n".join(lines[variable.start - 1 : variable.end])
        if variable.kind != "variable" or not _says(code, phrase):
            continue
        users = {
            (use.path, around[-1].name)
            for use in terrain.snapshot.uses_of_name(variable.bare_name)
            if path_category(use.path) == 0
            for line in use.lines
            if (around := _definitions_around(terrain, use.path, line))
        }
        for user_path, name in users if len(users) <= MOST_NAMESAKES else ():
            reason = f"uses {variable.bare_name}, the issue's message"
            evidence.add(user_path, "message", len(users) ** -0.5, name=name, reason=reason)
            evidence.add(user_path, "message", len(users) ** -0.5, reason=reason)


def _add_sole_literals(terrain: Corpus, clues: IssueTerms, evidence: ReferenceEvidence) -> None:
    """Add the place of a string that the issue writes, where a single source file holds it."""
    for literal in clues.literals:
        matches = [
            (path, definition)
            for path, definition in _definitions_containing(terrain, f'"{literal}"')
            if path_category(path) == 0
        ]
        if len({path for path, _ in matches}) != 1:
            continue
        for path, definition in matches:
            reason = f"the only file with {literal!r}"
            value = len(matches) ** -0.5
            evidence.add(path, "message", value, name=definition.name if definition else "", reason=reason)
            evidence.add(path, "message", value, reason=reason)


def _definitions_containing(terrain: Corpus, phrase: str) -> Iterator[tuple[str, Definition | None]]:
    words = dict.fromkeys(part for word in WORD.findall(phrase) for part in identifier_terms(word))
    sets = sorted(({entry >> 8 for entry in terrain.postings(word)} for word in words), key=len)
    documents = set.intersection(*sets) if sets else set()
    if len(documents) > MAX_MESSAGE_DOCUMENTS:
        return
    files: dict[str, list[str]] = {}
    for document in sorted(documents):
        path = terrain.paths[terrain.owners[document] - 1]
        if path not in files:
            files[path] = _lines_without_docstrings(terrain, path)
        place = terrain.definition_place(document)
        definition = place.definition if place else None
        lines = files[path][definition.start - 1 : definition.end] if definition else files[path]
        if _says("\n".join(lines), phrase):
            yield path, definition


def _says(code: str, phrase: str) -> bool:
    """Tell whether code holds all parts of a phrase, also in literals that follow each other."""
    joined = ADJACENT_LITERALS.sub("", code).replace("'", '"').lower()
    return all(part in joined for part in phrase.replace("'", '"').lower().split(COLUMN_SEPARATOR))


def _lines_without_docstrings(terrain: Corpus, path: str) -> list[str]:
    """Return a file's lines, those of docstrings empty: an example that quotes a message does not make it."""
    lines = read_text_or_empty(terrain.snapshot.root, path).split("\n")
    for definition in terrain.snapshot.definitions(path):
        start, end = definition.docstring
        if start:
            lines[start - 1 : end] = [""] * (end - start + 1)
    return lines
