"""Answers to questions about the code without a model."""

import ast
import asyncio
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from coder.core.errors import CoderError
from coder.core.events import NoteMade, PhaseEntered
from coder.core.notes import WrittenAnswer
from coder.core.values import Candidate
from coder.files.ripgrep import escape_path, grep
from coder.files.tokenize import STOP_WORDS, WORD
from coder.index import Definition, enclosing_definitions
from coder.index.index import find_uses
from coder.index.resolve import find_importers
from coder.index.snapshot import IndexedPlace, IndexSnapshot
from coder.python.source import parse_module
from coder.retrieval.issue_terms import extract_issue_terms, is_code_like
from coder.retrieval.ranking import locate_issue
from coder.retrieval.test_examples import ReachingTest, find_reaching_tests
from coder.session.context import SessionContext
from coder.strategies.research import write_sources
from coder.tools.support.symbols import find_definitions
from coder.workspace.workspace import (
    FileIndex,
    Workspace,
    clip_line,
    extract_places,
    format_count,
    path_category,
    read_text_or_empty,
    replace_control_characters,
)

MOST_ASKED, MOST_BESIDE = 25, 6
"""Entries of what the question asks for, and of what it does not."""
EXCERPT_LINES = 24
SHORT_EXCERPT_LINES = 8
SHOWN_COMMITS = 6
MOST_HITS = 20
COMMIT_LINE = re.compile(r"[0-9a-f]{7,40} \d{4}-")
Aspect = Literal["definition", "callers", "tests", "history"]
TITLES: dict[Aspect, str] = {
    "definition": "Where it is defined",
    "callers": "What uses it",
    "tests": "What tests it",
    "history": "How and when it changed",
}


async def answer_offline(context: SessionContext, candidate: Candidate) -> Candidate:
    """Answer the question of the task from the index and the history, as the candidate's note."""
    context.log.append(PhaseEntered(candidate=candidate.id, phase="locate", attempt=1))
    write_sources(candidate.worktree, context.task.sources)
    workspace = context.workspace(candidate)
    page = await asyncio.to_thread(write_page, workspace, context.task.issue)
    dirty = " with your uncommitted work" if context.repository.dirty else ""
    found_at = f"Places are those of {context.repository.head[:12]}{dirty}."
    read_beside = "".join(f"\n- `{source.path}`: {source.origin}" for source in context.task.sources)
    note = WrittenAnswer(summary=f"{page}\n\n{METHOD} {found_at}{read_beside}")
    context.log.append(NoteMade(candidate=candidate.id, phase="locate", note=note, implied=True))
    return candidate


METHOD = (
    "Found by names, words and history, without a model: calls made by strings or other tricks are not seen."
)


def write_page(workspace: Workspace, question: str) -> str:
    """Return the answer as Markdown."""
    page = _Page(workspace=workspace, read=read_question(workspace, question))
    return "\n\n".join([f"# {' '.join(question.split())[:200]}", *page.sections()])


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
    words: tuple[str, ...] = ()
    """Telling words that are looked up in parameters, attributes, keys and texts: no subject has them."""

    @property
    def is_named(self) -> bool:
        """Whether the question names its subjects; otherwise they were ranked by words."""
        return any(not subject.reasons for subject in self.subjects)


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


@dataclass(frozen=True)
class _Page:
    workspace: Workspace
    read: ReadQuestion

    @cached_property
    def snapshot(self) -> IndexSnapshot:
        return self.workspace.index.refresh()

    def sections(self) -> Iterator[str]:
        for name in self.read.unknown:
            similar = ", ".join(f"`{near}`" for near in self.snapshot.similar_names(name.rpartition(".")[2]))
            yield f"Nothing here defines `{name}`.{f' Near: {similar}.' if similar else ''}"
        for text in (*self.read.texts, *self.read.unknown):
            yield from self._text_section(text)
        for name in self.read.unknown:
            yield from self._mentions_section(name)
        for path in self.read.files:
            yield from self._file_sections(path)
        subjects = self.read.subjects
        if subjects and not self.read.is_named:
            yield (
                "By its words, the question is likeliest about "
                f"{', '.join(f'`{subject.name}`' for subject in subjects)}."
            )
        for order, subject in enumerate(subjects):
            yield from self._subject_sections(subject, is_first=order == 0)
        sections = [section for word in self.read.words for section in self._word_section(word)]
        yield from sections
        if not (subjects or sections or self.read.files or self.read.texts or self.read.unknown):
            yield "Nothing in this repository shares a name or a rare word with the question."

    def _subject_sections(self, subject: QuestionSubject, *, is_first: bool) -> Iterator[str]:
        reasons = f"\nFound because: {'; '.join(subject.reasons[:3])}." if subject.reasons else ""
        if not is_first and subject.reasons:
            yield f"## Also likely: `{subject.name}`{reasons}\n" + "\n".join(
                self._definition_lines(subject, EXCERPT_LINES // 3)
            )
            return
        entries: dict[Aspect, Callable[[QuestionSubject, int], list[str]]] = {
            "definition": self._definitions,
            "callers": self._callers,
            "tests": self._tests,
            "history": self._history,
        }
        parts = {
            aspect: entries[aspect](subject, MOST_ASKED if order == 0 else MOST_BESIDE)
            for order, aspect in enumerate(self.read.aspects)
        }
        yield f"## `{subject.name}`\n{self._summary(subject)}{reasons}"
        for aspect, lines in parts.items():
            yield "\n".join([f"### {TITLES[aspect]}", *lines])

    def _summary(self, subject: QuestionSubject) -> str:
        """Answer in a sentence or two."""
        place = subject.places[0]
        definition = definition_of(place)
        others = f", and {format_count(len(subject.places) - 1, 'more definition')}" * (
            len(subject.places) > 1
        )
        uses = find_source_uses(self.workspace, self.snapshot, subject.places)
        is_callable = definition.kind in ("function", "method")
        counted = [
            use
            for use in uses
            if path_category(use.path) == 0 and not use.is_import and (use.is_call or not is_callable)
        ]
        callers = {(use.path, use.owner) for use in counted if not use.is_uncertain}
        uncertain = len({(use.path, use.owner) for use in counted if use.is_uncertain})
        perhaps = f" (perhaps {uncertain} more: its name has others)" if uncertain else ""
        tests = find_tests(self.workspace, self.snapshot, subject.places)
        last = next(iter(find_commits(self.workspace, place)), "")
        changed = f" It last changed in {last.rstrip('.')}." if last else ""
        return (
            f"A {definition.kind} at `{escape_path(place.path)}:{definition.line}`{others}; "
            f"{'called' if is_callable else 'used'} from {format_count(len(callers), 'place')} in the "
            f"source{perhaps}; "
            f"{format_count(len(tests), 'test')} may reach it.{changed}"
        )

    def _definitions(self, subject: QuestionSubject, most: int) -> list[str]:
        return list(
            self._definition_lines(
                subject, EXCERPT_LINES if most == MOST_ASKED or subject.reasons else SHORT_EXCERPT_LINES
            )
        )

    def _definition_lines(self, subject: QuestionSubject, excerpt_lines: int) -> Iterator[str]:
        for order, place in enumerate(subject.places[:MOST_BESIDE]):
            definition = definition_of(place)
            owner = definition.name.rpartition(".")[0]
            yield (
                f"- `{escape_path(place.path)}:{definition.line}` to {definition.end}: {definition.kind} "
                f"`{quote_code(definition.signature or definition.name)}`{f' in `{owner}`' if owner else ''}"
                f"{f'. {replace_control_characters(definition.summary)}' if definition.summary else ''}"
            )
            if order == 0:
                yield self._excerpt(place, excerpt_lines)
        if len(subject.places) > MOST_BESIDE:
            yield f"- and {len(subject.places) - MOST_BESIDE} more; a dotted name narrows them"

    def _excerpt(self, place: IndexedPlace, most: int) -> str:
        definition = definition_of(place)
        lines = source_lines(self.workspace, place.path)
        last = min(definition.end, definition.start + most - 1, len(lines))
        shown = [
            f"{number:>5}| {clip_line(lines[number - 1].expandtabs(4))}"
            for number in range(definition.start, last + 1)
        ]
        more = definition.end - last
        fence = "`" * max([3, *(len(run) + 1 for line in shown for run in re.findall("`{3,}", line))])
        return "\n".join([fence, *shown, *([f"      ... {more} more"] if more > 0 else []), fence])

    def _callers(self, subject: QuestionSubject, most: int) -> list[str]:
        uses = find_source_uses(self.workspace, self.snapshot, subject.places)
        if not uses:
            return ["Nothing here uses it by name."]
        likely = [use for use in uses if not use.is_uncertain]
        imports = [use for use in likely if use.is_import]
        others = [use for use in likely if not use.is_import]
        lines = [use.list_item for use in others[:most]]
        if len(others) > most:
            lines.append(f"- and {_count_by_file(others[most:], 'more use')}")
        if imports:
            cited = ", ".join(f"`{escape_path(use.path)}:{use.line}`" for use in imports[:most])
            more = f" and {len(imports) - most} more" if len(imports) > most else ""
            lines.append(f"- imported at {cited}{more}")
        return lines + self._uncertain_uses(subject, [use for use in uses if use.is_uncertain])

    def _uncertain_uses(self, subject: QuestionSubject, uncertain: list[SourceUse]) -> list[str]:
        definition = definition_of(subject.places[0])
        namesakes = [
            place
            for place in self.snapshot.definitions_named(definition.bare_name)
            if place not in subject.places
        ]
        if not namesakes:
            return []
        count = format_count(len(namesakes), "other definition")
        remark = f"- {count} of the name `{definition.bare_name}`: some uses may mean those"
        if not uncertain:
            return [remark]
        owner = definition.name.rpartition(".")[0]
        return [f"- {_count_by_file(uncertain, 'use')}, in files that do not name `{owner}`", remark]

    def _tests(self, subject: QuestionSubject, most: int) -> list[str]:
        tests = find_tests(self.workspace, self.snapshot, subject.places)
        if not tests:
            return ["No test names it or what uses it; it may be reached from further away."]
        lines = []
        for test in tests[:most]:
            owners = enclosing_definitions(test.line, self.snapshot.definitions(test.path))
            name = test.id.partition("::")[2] or (owners[-1].name if owners else "")
            where = f" in `{escape_path(name)}`" if name else ""
            lines.append(f"- `{escape_path(test.path)}:{test.line}`{where}, which names `{test.names}`")
        return lines + ([f"- and {len(tests) - most} more"] if len(tests) > most else [])

    def _history(self, subject: QuestionSubject, most: int) -> list[str]:
        place = subject.places[0]
        commits = find_commits(self.workspace, place)
        if not commits:
            return ["git has no history of these lines."]
        shown = SHOWN_COMMITS * 2 if most == MOST_ASKED else SHOWN_COMMITS // 2
        lines = [f"- {commit}" for commit in commits[:shown]]
        if len(commits) > shown:
            between = len(commits) - shown - 1
            lines += [f"- and {between} between"] if between else []
            lines.append(f"- {commits[-1]} (the first of these lines that git can follow)")
        if most == MOST_ASKED:
            lines += render_newest_patch(self.workspace, place)
        return lines

    def _text_section(self, text: str) -> Iterator[str]:
        found = grep(
            self.workspace.root,
            text,
            options=("--fixed-strings",),
            most=MOST_HITS * 10,
            deny_read=self.workspace.deny_read,
        )
        hits = sorted(found.hits, key=lambda hit: (path_category(hit.path), hit.path, hit.line))
        if not hits:
            yield f"The text `{quote_code(text)}` occurs nowhere here as it is written."
            return
        lines = []
        for hit in hits[:MOST_HITS]:
            owners = enclosing_definitions(hit.line, self.snapshot.definitions(hit.path))
            where = f" in `{owners[-1].name}`" if owners else ""
            lines.append(f"- `{escape_path(hit.path)}:{hit.line}`{where}: `{quote_code(hit.text)}`")
        more = [f"- and {format_count(len(hits) - MOST_HITS, 'more line')}"] if len(hits) > MOST_HITS else []
        yield "\n".join([f"## Where the text `{quote_code(text)}` occurs", *lines, *more])

    def _word_section(self, word: str) -> Iterator[str]:
        """List where a word is part of a name or a text of the source, its definitions first."""
        found = grep(
            self.workspace.root,
            word,
            options=("--fixed-strings", "--ignore-case"),
            most=MOST_HITS * 10,
            deny_read=self.workspace.deny_read,
        )
        hits = [
            hit for hit in found.hits if path_category(hit.path) == 0 and hit.path in self.snapshot.sources
        ]
        roles = {
            path: find_word_roles("\n".join(source_lines(self.workspace, path)), word)
            for path in {hit.path for hit in hits if hit.path.endswith(".py")}
        }
        entries = []
        for hit in hits:
            role = roles.get(hit.path, {}).get(hit.line, "line")
            owners = enclosing_definitions(hit.line, self.snapshot.definitions(hit.path))
            where = f" in `{owners[-1].name}`" if owners else ""
            place = f"`{escape_path(hit.path)}:{hit.line}`"
            entries.append((ROLES.index(role), f"- {place}, {role}{where}: `{quote_code(hit.text)}`"))
        entries.sort(key=lambda entry: entry[0])
        if entries:
            more = [f"- and {format_count(len(entries) - MOST_HITS, 'more line')}"] * (
                len(entries) > MOST_HITS
            )
            lines = [line for _, line in entries[:MOST_HITS]]
            yield "\n".join([f"## Where `{word}` occurs in names and texts", *lines, *more])

    def _mentions_section(self, name: str) -> Iterator[str]:
        """List the commits that mention, add or remove a name that nothing defines any more."""
        try:
            found = self.workspace.history.log(word=name.rpartition(".")[2]).splitlines()
        except CoderError:
            return
        lines = [f"- {format_commit(line)}" if COMMIT_LINE.match(line) else f"\n{line}" for line in found]
        if lines:
            yield "\n".join([f"## Commits with `{name}`", *lines])

    def _file_sections(self, path: str) -> Iterator[str]:
        outline = [
            definition
            for definition in self.snapshot.definitions(path)
            if "." not in definition.name and definition.kind != "variable"
        ]
        lines = [
            f"- `{escape_path(path)}:{definition.line}` {definition.kind} "
            f"`{quote_code(definition.signature or definition.name)}`"
            f"{f'. {replace_control_characters(definition.summary)}' if definition.summary else ''}"
            for definition in outline[:MOST_ASKED]
        ]
        yield "\n".join([f"## `{escape_path(path)}`", *(lines or ["It defines no class or function."])])
        importers = find_importers(self.snapshot, path)
        imported = [f"- `{escape_path(other)}:{line}`" for other, line in importers[:MOST_ASKED]]
        if imported:
            yield "\n".join(["### What imports it", *imported])
        else:
            yield "\n".join(["### What uses it", *self._file_users(path, outline)])
        try:
            commits = self.workspace.history.log(path=path, count=SHOWN_COMMITS).splitlines()
        except CoderError:
            commits = []
        changed = [f"- {format_commit(line)}" for line in commits]
        yield "\n".join([f"### {TITLES['history']}", *(changed or ["git has no history of it."])])

    def _file_users(self, path: str, outline: list[Definition]) -> list[str]:
        """Return the uses of a file's definitions in other files, where imports do not name the file."""
        uses = [
            use
            for definition in outline
            for use in find_source_uses(
                self.workspace, self.snapshot, (IndexedPlace(path=path, definition=definition),)
            )
            if use.path != path
        ]
        lines = [use.list_item for use in uses[:MOST_ASKED]]
        more = [f"- and {format_count(len(uses) - MOST_ASKED, 'more use')}"] if len(uses) > MOST_ASKED else []
        return [*lines, *more] or ["Nothing here uses it by name."]


ROLES = ("parameter", "variable", "attribute", "key", "argument", "text", "line")
"""Uses of a word in a line, the likeliest to answer where something is first."""


def find_word_roles(source: str, word: str) -> dict[int, str]:
    """Return as what the names and texts of Python source hold a word, by line; the first of `ROLES` wins."""
    try:
        nodes = ast.walk(parse_module(source))
    except (SyntaxError, ValueError):
        return {}
    roles: dict[int, str] = {}
    for role, name, line in (part for node in nodes for part in _named_parts(node)):
        if word in name.lower():
            roles[line] = min(roles.get(line, "line"), role, key=ROLES.index)
    return roles


def _named_parts(node: ast.AST) -> Iterator[tuple[str, str, int]]:
    """Yield role, name and line of the names and texts that a node of the syntax tree holds itself."""
    match node:
        case ast.arg(arg=name):
            yield "parameter", name, node.lineno
        case ast.Name(id=name, ctx=ast.Store()):
            yield "variable", name, node.lineno
        case ast.Attribute(attr=name):
            yield "attribute", name, node.end_lineno or node.lineno
        case ast.Subscript(slice=ast.Constant(value=str(name))):
            yield "key", name, node.slice.lineno
        case ast.Dict(keys=keys):
            yield from (
                ("key", key.value, key.lineno)
                for key in keys
                if isinstance(key, ast.Constant) and isinstance(key.value, str)
            )
        case ast.keyword(arg=str(name)):
            yield "argument", name, node.lineno
        case ast.Constant(value=str(text)):
            yield from (("text", line, node.lineno + index) for index, line in enumerate(text.split("\n")))


def _count_by_file(uses: Sequence[SourceUse], noun: str) -> str:
    counts = Counter(use.path for use in uses)
    files = ", ".join(f"{escape_path(path)} ({count})" for path, count in counts.most_common(5))
    return f"{format_count(len(uses), noun)}, such as in {files}"


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


def read_question(workspace: Workspace, question: str) -> ReadQuestion:
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
        words=() if named or files or texts or unknown else _telling_words(question, subjects),
    )


MOST_WORDS = 2


def _telling_words(question: str, subjects: Sequence[QuestionSubject]) -> tuple[str, ...]:
    """Return the words of a question that no subject has in its name, without those that any question has."""
    names = " ".join(subject.name.lower() for subject in subjects)
    words = [word.lower().removesuffix("s") for word in WORD.findall(QUESTION_WORDS.sub(" ", question))]
    telling = [word for word in words if len(word) > 3 and word not in STOP_WORDS and word not in names]
    return tuple(dict.fromkeys(telling))[:MOST_WORDS]


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
    located = locate_issue(snapshot, extract_issue_terms(text))
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


MOST_LINE_COMMITS = 100
PATCH_LINES = 48
LINE_CHARACTERS = 120
IMPORT = re.compile(r"(?:import|from|use|#include|require|export \{)\b|.*\brequire\(")


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
            path=place.path, lines=(definition.start, definition.end), count=MOST_LINE_COMMITS
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
