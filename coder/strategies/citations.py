"""Citations of places in a repository, checked against the lines that they name."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from coder.core.errors import CoderError, ToolError
from coder.core.notes import CheckedClaim
from coder.core.paths import SOURCE_SUFFIXES
from coder.files.tokenize import WORD, count_terms
from coder.index import Definition, definitions, enclosing_definitions
from coder.retrieval.issue_terms import is_code_like
from coder.workspace.workspace import Workspace, load_source

Result = Literal["confirmed", "unconfirmed", "missing"]
MARGIN = 2
"""Lines above and below a cited place that count as near it."""
WIDEST = 120
"""Lines of the longest range that cites a place rather than a file."""
MOST_WORDS_OF_LABEL = 4
"""Words of the longest line that states nothing, such as a caption of a list."""
ENOUGH_IDENTIFIERS = 2
"""Identifiers of a statement that must occur near or name the definition around; one must be near."""
ENOUGH_TERMS = 2
"""Words that a statement without identifiers must share with the cited lines."""
FEW_TERMS = 4
"""In a statement with no more words than these, and in a definition that it names, one is enough."""
ENOUGH_INSTEAD = 3
"""Words that it must share where it has identifiers, but none of them occurs there."""
LINES = r"\d{1,7}(?:\s?[-\u2013]\s?L?\d{1,7})?"
PLACE = re.compile(
    rf'(?P<path>[\w.@+~-][^\s:`()#*"<>]*)(?::L?|#L|`?,? \(?lines? )(?P<lines>{LINES}(?:,\s?{LINES})*)'
)
"""`path:3`, `path:3-9`, `path:3,7-9`, the forms of GitHub (`path:L3-L9`, `path#L3-L9`), and `path line 3`."""
COMMIT = re.compile(r"commit[ :]`?(?P<commit>[0-9a-f]{7,40})`?", re.IGNORECASE)
IN_TEXT = re.compile(rf"`?(?:{PLACE.pattern})`?|{COMMIT.pattern}", re.IGNORECASE)
SENTENCES = re.compile(r"((?<=[.!?])\s+(?=[A-Z`*]))")
"""Splits a line into sentences and the gaps between them."""
FENCE = re.compile(r"^\s*(?:```|~~~)")
QUOTED_CODE = re.compile(r"`([^`\n]+)`")
TEXT_SUFFIXES = (".md", ".rst", ".txt", ".toml", ".cfg", ".ini", ".json", ".yml", ".yaml", ".html", ".css")


@dataclass(frozen=True)
class _SourceText:
    lines: tuple[str, ...]
    definitions: tuple[Definition, ...]


@dataclass
class CitationChecker:
    """Opens cited places in one worktree; remembers the files that it has read, and counts the results."""

    workspace: Workspace
    counts: Counter[Result] = field(default_factory=Counter)
    _texts: dict[str, _SourceText | None] = field(default_factory=dict)
    _commits: dict[str, str] = field(default_factory=dict)

    def check(self, place: str, statement: str) -> Result:
        """Return whether a citation exists and whether its lines share names or words with the statement."""
        result = self._open(place, statement)
        self.counts[result] += 1
        return result

    def _open(self, place: str, statement: str) -> Result:
        if commit := COMMIT.fullmatch(place.strip()):
            return _compare(statement, self._commit_text(commit["commit"]), ())
        match = PLACE.fullmatch(place.strip().strip("`"))
        source = self._source(match["path"]) if match else None
        if match is None or source is None:
            return "missing"
        results = [
            self._check_range(source, first, last, statement) for first, last in _ranges(match["lines"])
        ]
        return next((result for result in ("confirmed", "unconfirmed") if result in results), "missing")

    def has_file(self, path: str) -> bool:
        """Tell whether there is a readable text file at a path."""
        return self._source(path) is not None

    def _check_range(self, source: _SourceText, first: int, last: int, statement: str) -> Result:
        if not 1 <= first <= last <= len(source.lines):
            return "missing"
        if last - first >= WIDEST:
            return "unconfirmed"
        near = "\n".join(source.lines[max(0, first - 1 - MARGIN) : last + MARGIN])
        owners = enclosing_definitions(first, source.definitions)
        return _compare(statement, near, [part for owner in owners for part in owner.name.split(".")])

    def _source(self, path: str) -> _SourceText | None:
        if path not in self._texts:
            try:
                relative, file = load_source(self.workspace, path)
            except ToolError:
                self._texts[path] = None
            else:
                self._texts[path] = _SourceText(file.lines, definitions(relative, "\n".join(file.lines)))
        return self._texts[path]

    def _commit_text(self, commit: str) -> str:
        if commit not in self._commits:
            try:
                self._commits[commit] = self.workspace.history.show(commit)
            except CoderError:
                self._commits[commit] = ""
        return self._commits[commit]


def check_claims(
    checker: CitationChecker, claims: Sequence[CheckedClaim]
) -> tuple[tuple[CheckedClaim, ...], tuple[CheckedClaim, ...]]:
    """Return the claims with an existing citation, and those without one, each with its problem.

    A claim is confirmed where one of its citations is; citations that do not exist are left out.
    """
    kept: list[CheckedClaim] = []
    dropped: list[CheckedClaim] = []
    for claim in claims:
        results = {place: checker.check(place, claim.text) for place in dict.fromkeys(claim.places)}
        existing = tuple(place for place, result in results.items() if result != "missing")
        if not existing:
            problem = "no such place" if claim.places else "it cites no place"
            dropped.append(claim.model_copy(update={"problem": problem}))
            continue
        is_confirmed = "confirmed" in results.values()
        problem = "" if is_confirmed else "the cited lines share neither names nor words with it"
        kept.append(claim.model_copy(update={"places": existing, "problem": problem}))
    return tuple(kept), tuple(dropped)


def check_text(checker: CitationChecker, text: str) -> str:
    """Return Markdown whose unsupported citations are marked; code blocks stay as they are."""
    lines: list[str] = []
    is_code = False
    for line in text.splitlines():
        is_code ^= bool(FENCE.match(line))
        marked = (_mark_sentence(checker, part) for part in SENTENCES.split(line))
        lines.append(line if is_code else "".join(marked))
    return "\n".join(lines)


def count_uncited_paragraphs(text: str) -> int:
    """Count the paragraphs and list items of Markdown that cite nothing; headings and code are none."""
    count, is_code = 0, False
    for line in text.splitlines():
        is_code ^= bool(FENCE.match(line))
        is_prose = not is_code and len(WORD.findall(line)) > MOST_WORDS_OF_LABEL
        count += (
            is_prose and not line.lstrip().startswith(("#", "|", "```", "~~~")) and not IN_TEXT.search(line)
        )
    return count


def _mark_sentence(checker: CitationChecker, sentence: str) -> str:
    """Mark each citation of a sentence; its statement is the text since the citation before.

    Citations side by side share their statement.
    """
    pieces: list[str] = []
    end, statement = 0, ""
    for citation in IN_TEXT.finditer(sentence):
        before = sentence[end : citation.start()]
        statement = before if len(WORD.findall(before)) > 1 else statement or sentence
        pieces += [before, _mark(checker, citation, statement)]
        end = citation.end()
    return "".join([*pieces, sentence[end:]])


def _mark(checker: CitationChecker, citation: re.Match[str], statement: str) -> str:
    if not (citation["commit"] or _names_file(citation["path"]) or checker.has_file(citation["path"])):
        return citation[0]
    match checker.check(citation[0].strip("`"), statement):
        case "missing":
            return "[citation dropped: no such place]"
        case "unconfirmed":
            return f"{citation[0]} [unconfirmed]"
        case "confirmed":
            return citation[0]


def _names_file(path: str) -> bool:
    """Tell whether the text before a line number is meant as a path, and not as a host or a label."""
    return "//" not in path and ("/" in path or path.endswith((*SOURCE_SUFFIXES, *TEXT_SUFFIXES)))


def _ranges(text: str) -> Iterator[tuple[int, int]]:
    for part in text.replace("\u2013", "-").replace("L", "").split(","):
        first, _, last = part.partition("-")
        yield int(first), int(last or first)


def _compare(statement: str, near: str, owners: Sequence[str]) -> Result:
    """Compare a statement with the text at a citation; an empty text is missing.

    Identifiers of the statement must occur near; where they do not, or it has none, words must agree.
    """
    if not near:
        return "missing"
    plain = IN_TEXT.sub(" ", statement)
    identifiers = _identifiers(plain)
    here = identifiers & set(WORD.findall(near))
    if here and len(here | identifiers & set(owners)) >= min(ENOUGH_IDENTIFIERS, len(identifiers)):
        return "confirmed"
    terms = set(count_terms(plain))
    if identifiers & set(owners) or (not identifiers and len(terms) <= FEW_TERMS):
        enough = 1
    else:
        enough = ENOUGH_INSTEAD if identifiers else ENOUGH_TERMS
    return "confirmed" if len(terms & set(count_terms(near))) >= enough else "unconfirmed"


def _identifiers(statement: str) -> set[str]:
    """Return the names in code quotes, and code-like words elsewhere."""
    quoted = {word for code in QUOTED_CODE.findall(statement) for word in WORD.findall(code)}
    return quoted | {word for word in WORD.findall(statement) if is_code_like(word)}
