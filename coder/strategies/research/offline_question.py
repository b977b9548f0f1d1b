"""Reading of a question without a model: the code that it is about, and the aspects that it asks for."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from coder.core.errors import CoderError
from coder.core.values.history import CommitInfo
from coder.files.tokenize import STOP_WORDS, WORD
from coder.index.snapshot import IndexedPlace, IndexSnapshot
from coder.retrieval.locating.commit_history import MOST_COMMITS
from coder.retrieval.locating.issue_terms import extract_issue_terms, is_code_like
from coder.retrieval.locating.ranking import locate_issue
from coder.tools.find_symbol import find_definitions
from coder.workspace.files import path_category
from coder.workspace.places import FileIndex, extract_places
from coder.workspace.workspace import Workspace

Aspect = Literal["definition", "callers", "tests", "history"]
ASPECTS: dict[Aspect, re.Pattern[str]] = {
    "callers": re.compile(
        r"\b(?:call(?:s|ed|ers?)?|us(?:es?|ed|ers?|ages?)|invok\w+|depend\w*|import(?:s|ed|ers?)|refer(?:s|red|ences?))\b",
        re.IGNORECASE,
    ),
    "tests": re.compile(r"\btest(?:s|ed|ing)?\b|\bcover(?:s|ed|age)?\b", re.IGNORECASE),
    "history": re.compile(
        r"\b(?:when|who|why|how|last|which commit)\b.{0,80}?"
        r"\b(?:chang\w+|introduc\w+|add(?:ed)?|remov\w+|wrote|written|commit\w*|fix(?:ed)?|renam\w+)\b"
        r"|\bhistory\b|\bblame\b|\bauthor\b",
        re.IGNORECASE,
    ),
}
MOST_NAMESAKES = 6
"""A plain word counts as a name only if no more definitions than these have it."""
MOST_SUBJECTS = 3
MOST_LIKELY = 4
INLINE = re.compile(r"`([^`\n]+)`")
CALLED = re.compile(r"\b([A-Za-z_]\w*)\(\)")
DOTTED = re.compile(r"\b[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+\b")
QUOTED_TEXT = re.compile(
    r"\"([^\"\n]{4,120})\"|\u201c([^\u201d\n]{4,120})\u201d|(?<!\w)'([^'\n]{4,120})'(?!\w)"
)
CAPITALIZED = re.compile(r"(?<=[a-z,] )[A-Z][a-z]\w*")
ASKED_ABOUT = re.compile(
    r"\b(?:calls?|uses?|tests?|defines?|imports?|changed|function|class|method|is|was|did|does)\s+(?:the\s+)?"
    r"(\w+)(?=\s*(?:[?,.]|$)|\s+(?:defined|called|used|tested|implemented|declared|introduced|added|changed?|"
    r"and|or|work|do|last|function|class|method)\b)",
    re.IGNORECASE,
)
"""A plain word where a question names what it is about, as in `who calls echo?`"""
QUESTION_WORDS = re.compile(
    r"\b(?:shows?|decides?|handles?|handled|happens?|comes?|goes|makes?|chooses?|determines?|checks?|knows?|finds?|"
    r"found|located?|implement(?:s|ed)?|done|actually|does|calls?|called|uses?|used|defined?|tests?|tested|whether|"
    r"kinds?|ways?|parts?|places?|project|repository|library|code)\b",
    re.IGNORECASE,
)
"""Words in which a question is put, rather than what it is about; the ranking would take them for names."""
SYMBOL = re.compile(r"[A-Za-z_][\w.]*")


@dataclass(frozen=True, kw_only=True)
class QuestionSubject:
    """A symbol that a question is about, with its definitions."""

    name: str
    places: tuple[IndexedPlace, ...]
    """At least one; source before tests."""
    reasons: tuple[str, ...] = ()
    """Why it was found; empty where the question names it."""


@dataclass(frozen=True, kw_only=True)
class ReadQuestion:
    """A question as far as words tell what it asks."""

    subjects: tuple[QuestionSubject, ...]
    files: tuple[str, ...]
    """Paths that it names."""
    texts: tuple[str, ...]
    """Texts that it quotes."""
    aspects: tuple[Aspect, ...]
    """Requested aspects, named ones first; all of them follow."""
    unknown: tuple[str, ...]
    """Names in code quotes that nothing here defines."""

    @property
    def is_named(self) -> bool:
        """Whether the question names its subjects; otherwise they were ranked by words."""
        return any(not subject.reasons for subject in self.subjects)


def read_question(workspace: Workspace, question: str) -> ReadQuestion:
    """Return the subjects and aspects of a question."""
    snapshot = workspace.index.refresh()
    files = _named_files(snapshot, question)
    named, unknown = _named_subjects(workspace, snapshot, question)
    texts = tuple(next(filter(None, groups)) for groups in QUOTED_TEXT.findall(question))
    subjects = named or (() if files or texts or unknown else _ranked_subjects(workspace, snapshot, question))
    asked = [aspect for aspect, pattern in ASPECTS.items() if pattern.search(INLINE.sub(" ", question))]
    rest: tuple[Aspect, ...] = ("definition", "callers", "tests", "history")
    return ReadQuestion(
        subjects=subjects,
        files=files,
        texts=texts,
        aspects=tuple(dict.fromkeys((*asked, *rest))),
        unknown=unknown,
    )


def _named_files(snapshot: IndexSnapshot, question: str) -> tuple[str, ...]:
    known = FileIndex(snapshot.paths)
    return tuple(
        dict.fromkeys(
            path
            for written, _ in extract_places(question)
            for path in known.files_with_suffix(written)
            if path in snapshot.sources
        )
    )


def _named_subjects(
    workspace: Workspace, snapshot: IndexSnapshot, question: str
) -> tuple[tuple[QuestionSubject, ...], tuple[str, ...]]:
    """Return the symbols that a question names, and the names in code quotes that nobody defines."""
    subjects: dict[str, QuestionSubject] = {}
    unknown: list[str] = []
    covered: set[str] = set()
    asks_history = bool(ASPECTS["history"].search(question))
    for name, is_quoted in _candidate_names(question):
        # What a question about the past names may be gone.
        is_certain = is_quoted or (asks_history and is_code_like(name))
        if name in covered:
            continue
        places = _definition_places(workspace, snapshot, name)
        if places and (is_certain or _is_distinctive(places)):
            covered.update((name, *name.split(".")))
            subjects.setdefault(name, QuestionSubject(name=name, places=places))
        elif is_certain and not places:
            unknown.append(name)
    return tuple(subjects.values())[:MOST_SUBJECTS], tuple(dict.fromkeys(unknown))


def _candidate_names(question: str) -> Iterator[tuple[str, bool]]:
    """Yield the words that may be names, each with whether it is written as code."""
    for code in INLINE.findall(question):
        symbol = code.replace("::", ".").replace("#", ".").removesuffix("()").strip(".")
        if SYMBOL.fullmatch(symbol) and "/" not in code:
            yield symbol, True
    prose = INLINE.sub(" ", question)
    yield from ((name, True) for name in CALLED.findall(prose))
    yield from ((name, False) for name in DOTTED.findall(prose))
    yield from ((word, False) for word in WORD.findall(prose) if is_code_like(word))
    yield from ((word, False) for word in CAPITALIZED.findall(prose))
    yield from ((word, False) for word in ASKED_ABOUT.findall(prose) if word.lower() not in STOP_WORDS)


def _definition_places(workspace: Workspace, snapshot: IndexSnapshot, name: str) -> tuple[IndexedPlace, ...]:
    """Return the readable definitions of a name: of source where there are any, else all."""
    spellings = (name, f"_{name}") if is_code_like(name) else (name,)
    definitions = next(filter(None, (find_definitions(snapshot, spelling) for spelling in spellings)), [])
    found = [place for place in definitions if place.definition and workspace.may_read(place.path)]
    found = [place for place in found if path_category(place.path) == 0] or found
    # A variable beside a function of its name usually holds an import of it.
    return tuple(
        [place for place in found if place.definition and place.definition.kind != "variable"] or found
    )


def _is_distinctive(places: Sequence[IndexedPlace]) -> bool:
    """Tell whether a word of prose is likely to mean these: few, and more than variables."""
    kinds = {place.definition.kind for place in places if place.definition}
    return (
        len(places) <= MOST_NAMESAKES
        and kinds != {"variable"}
        and any(path_category(place.path) == 0 for place in places)
    )


def _ranked_subjects(
    workspace: Workspace, snapshot: IndexSnapshot, question: str
) -> tuple[QuestionSubject, ...]:
    text = QUESTION_WORDS.sub(" ", question)
    located = locate_issue(snapshot, extract_issue_terms(text), _recent_commits(workspace))
    likely = [
        ranked for ranked in located.symbols if ranked.item is not None and workspace.may_read(ranked.path)
    ]
    return tuple(
        QuestionSubject(
            name=ranked.item.name,
            places=(IndexedPlace(path=ranked.path, definition=ranked.item),),
            reasons=ranked.reasons or ("shares words with the question",),
        )
        for ranked in likely[:MOST_LIKELY]
        if ranked.item is not None
    )


def _recent_commits(workspace: Workspace) -> tuple[CommitInfo, ...]:
    try:
        return workspace.history.recent_commits(count=MOST_COMMITS)
    except CoderError:
        return ()
