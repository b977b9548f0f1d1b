"""Answers to questions without a model: definition, uses, tests and commits of what is named."""

import asyncio
import re
from collections.abc import Iterator, Sequence

from coder.core.errors import CoderError
from coder.core.events import NoteMade, PhaseEntered
from coder.core.notes import WrittenAnswer
from coder.core.values import Candidate
from coder.files.ripgrep import escape_path, grep
from coder.files.tokenize import WORD
from coder.index import Definition, enclosing_definitions
from coder.index.index import find_uses
from coder.index.snapshot import IndexedPlace, IndexSnapshot
from coder.retrieval.issue_terms import extract_issue_terms, is_code_like
from coder.retrieval.orientation import find_reaching_tests
from coder.retrieval.ranking import locate_issue
from coder.session.context import CandidateRun
from coder.strategies.research import write_sources
from coder.tools.support.symbols import find_definitions
from coder.workspace.workspace import (
    Workspace,
    clip_line,
    format_count,
    path_category,
    read_text_or_empty,
    replace_control_characters,
)

MOST_SUBJECTS, MOST_PLACES, MOST_ROWS, MOST_COMMITS = 3, 5, 20, 6
EXCERPT_LINES, LINE_CHARACTERS = 24, 120
METHOD = "Found by names, words and history, without a model: calls made by strings are not seen."
INLINE = re.compile(r"`([^`\n]+)`")
CALLED = re.compile(r"\b([A-Za-z_]\w*)\(\)")
DOTTED = re.compile(r"\b[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+\b")
QUOTED_TEXT = re.compile(r"(?<!@)\"([^\"\n]{4,120})\"|(?<!\w)'([^'\n]{4,120})'(?!\w)")
ASKED_ABOUT = re.compile(
    r"\b(?:calls?|uses?|tests?|defines?|imports?|changed|function|class|method|is|was|did|does)\s+(?:the\s+)?"
    r"(\w+)(?=\s*(?:[?,.]|$)|\s+(?:defined|called|used|tested|implemented|introduced|added|changed?|and|or|work)\b)",
    re.IGNORECASE,
)
"""A plain word where a question names what it is about, as in `who calls echo?`"""


async def answer_offline(run: CandidateRun) -> Candidate:
    """Answer the question of the task from the index and the history, as the candidate's note."""
    run.log.append(PhaseEntered(candidate=run.candidate.id, phase="locate", attempt=1))
    write_sources(run.candidate.worktree, run.task.sources)
    page = await asyncio.to_thread(write_page, run.workspace(run.candidate), run.task.issue)
    dirty = " with your uncommitted work" if run.repository.dirty else ""
    places = f"Places are those of {run.repository.head[:12]}{dirty}."
    sources = (f"\n- `{source.path}`: {source.origin}" for source in run.task.sources)
    note = WrittenAnswer(summary=f"{page}\n\n{METHOD} {places}{''.join(sources)}")
    run.log.append(NoteMade(candidate=run.candidate.id, phase="locate", note=note, implied=True))
    return run.candidate


def write_page(workspace: Workspace, question: str) -> str:
    """Return the answer as Markdown."""
    snapshot = workspace.index.refresh()
    sections = [f"# {' '.join(question.split())[:200]}"]
    subjects, unknown = _named_subjects(workspace, snapshot, question)
    for name in unknown:
        similar = ", ".join(f"`{near}`" for near in snapshot.similar_names(name.rpartition(".")[2]))
        sections.append(f"Nothing here defines `{name}`.{f' Near: {similar}.' if similar else ''}")
    quoted = [text for pair in QUOTED_TEXT.findall(question) for text in pair if text]
    sections += [_text_section(workspace, snapshot, text) for text in (*quoted, *unknown)]
    for name, places in subjects.items():
        sections += _subject_sections(workspace, snapshot, name, places)
    if not subjects:
        sections.append(_likely_places(workspace, snapshot, question))
    return "\n\n".join(sections)


def _named_subjects(
    workspace: Workspace, snapshot: IndexSnapshot, question: str
) -> tuple[dict[str, list[IndexedPlace]], list[str]]:
    """Return the definitions of the names in a question, and names in code quotes that nobody defines."""
    subjects: dict[str, list[IndexedPlace]] = {}
    unknown: list[str] = []
    for name, is_certain in _candidate_names(question):
        if any(name in known.split(".") or name == known for known in subjects):
            continue
        defined = (place for place in find_definitions(snapshot, name) if place.definition)
        found = [place for place in defined if workspace.may_read(place.path)]
        in_source = [place for place in found if path_category(place.path) == 0]
        kinds = {place.definition.kind for place in in_source if place.definition}
        if found and (is_certain or (in_source and kinds != {"variable"} and len(in_source) <= MOST_PLACES)):
            subjects[name] = in_source or found
        elif is_certain and not found:
            unknown.append(name)
    return dict([*subjects.items()][:MOST_SUBJECTS]), [*dict.fromkeys(unknown)]


def _candidate_names(question: str) -> Iterator[tuple[str, bool]]:
    """Yield the words that may be names, each with whether it is written as code."""
    for code in INLINE.findall(question):
        symbol = code.replace("::", ".").replace("#", ".").removesuffix("()").strip(".")
        if re.fullmatch(r"[A-Za-z_][\w.]*", symbol):
            yield symbol, True
    prose = INLINE.sub(" ", question)
    yield from ((name, True) for name in CALLED.findall(prose))
    yield from ((name, False) for name in DOTTED.findall(prose))
    yield from ((word, False) for word in WORD.findall(prose) if is_code_like(word))
    yield from ((word, False) for word in ASKED_ABOUT.findall(prose))


def _subject_sections(
    workspace: Workspace, snapshot: IndexSnapshot, name: str, places: Sequence[IndexedPlace]
) -> Iterator[str]:
    definitions = [*map(_definition_line, places[:MOST_PLACES])]
    definitions += [f"- and {len(places) - MOST_PLACES} more"] if len(places) > MOST_PLACES else []
    yield "\n".join([f"## `{name}`", *definitions, _excerpt(workspace, places[0])])
    sources, tests = _uses(workspace, snapshot, places)
    none = f"{'Only tests use' if tests else 'Nothing here uses'} it by name."
    yield "\n".join(["### What uses it", *(_limit(sources) or [none])])
    reaching = [test for test in find_reaching_tests(snapshot, places) if workspace.may_read(test.path)]
    rows = [f"- `{escape_path(test.id)}`, line {test.line}, names `{test.names}`" for test in reaching]
    yield "\n".join(["### What tests it", *(_limit(rows or tests) or ["No test names it or what uses it."])])
    commits = _commits(workspace, places[0])
    yield "\n".join(["### Its last commits", *(commits or ["git has no history of these lines."])])


def _definition_line(place: IndexedPlace) -> str:
    definition = _definition_of(place)
    summary = f". {replace_control_characters(definition.summary)}" if definition.summary else ""
    code = f"{definition.kind} `{_quote(definition.signature or definition.name)}`"
    return f"- `{escape_path(place.path)}:{definition.line}` to {definition.end}: {code}{summary}"


def _definition_of(place: IndexedPlace) -> Definition:
    assert place.definition is not None  # subjects have no modules
    return place.definition


def _excerpt(workspace: Workspace, place: IndexedPlace) -> str:
    definition = _definition_of(place)
    lines = read_text_or_empty(workspace.root, place.path).split("\n")
    last = min(definition.end, definition.start + EXCERPT_LINES - 1, len(lines))
    numbered = [*enumerate(lines, 1)][definition.start - 1 : last]
    shown = [f"{number:>5}| {clip_line(line.expandtabs(4))}" for number, line in numbered]
    more = [f"      ... {definition.end - last} more"] if definition.end > last else []
    fence = "`" * max([3, *(len(run) + 1 for line in shown for run in re.findall("`{3,}", line))])
    return "\n".join([fence, *shown, *more, fence])


def _uses(
    workspace: Workspace, snapshot: IndexSnapshot, places: Sequence[IndexedPlace]
) -> tuple[list[str], list[str]]:
    """Return the lines that use a name, in sources and in tests, calls first."""
    bare = _definition_of(places[0]).bare_name
    own = {
        (place.path, line)
        for place in [*places, *snapshot.definitions_named(bare)]
        if place.definition
        for line in range(place.definition.start, place.definition.end + 1)
    }
    rows = []
    for use in (use for use in find_uses(snapshot, places) if workspace.may_read(use.path)):
        lines = read_text_or_empty(workspace.root, use.path).split("\n")
        for line in (line for line in use.lines if (use.path, line) not in own and line <= len(lines)):
            text = lines[line - 1].strip()
            is_call = re.search(rf"\b{re.escape(bare)}\s*\(", text) is not None
            row = _line_row(snapshot, use.path, line, text)
            rows.append((path_category(use.path) == 1, not is_call, row))
    rows.sort(key=lambda row: row[:2])
    return [row for is_test, *_, row in rows if not is_test], [row for is_test, *_, row in rows if is_test]


def _commits(workspace: Workspace, place: IndexedPlace) -> list[str]:
    """Return the newest commits that changed a definition, as lines."""
    lines = _definition_of(place).start, _definition_of(place).end
    try:
        text = workspace.history.log(path=place.path, lines=lines, count=MOST_COMMITS)
    except CoderError:
        return []
    found = [line for line in text.splitlines() if line.strip() and not line.startswith("[")]
    return [f"- {_quote(line)}" for line in found[:MOST_COMMITS]]


def _text_section(workspace: Workspace, snapshot: IndexSnapshot, text: str) -> str:
    literal, denied = ("--fixed-strings",), workspace.deny_read
    found = grep(workspace.root, text, options=literal, most=MOST_ROWS * 10, deny_read=denied)
    hits = sorted(found.hits, key=lambda hit: (path_category(hit.path), hit.path, hit.line))
    rows = [_line_row(snapshot, hit.path, hit.line, hit.text) for hit in hits]
    nowhere = f"The text `{_quote(text)}` occurs nowhere here as it is written."
    return "\n".join([f"## Where the text `{_quote(text)}` occurs", *_limit(rows)]) if rows else nowhere


def _likely_places(workspace: Workspace, snapshot: IndexSnapshot, question: str) -> str:
    located = locate_issue(snapshot, extract_issue_terms(question))
    rows = [
        f"- `{escape_path(ranked.path)}:{ranked.item.line}` `{ranked.item.name}`: "
        f"{'; '.join(ranked.reasons[:2]) or 'shares words with the question'}"
        for ranked in located.symbols
        if ranked.item is not None and workspace.may_read(ranked.path)
    ]
    files = [ranked.path for ranked in located.files if workspace.may_read(ranked.path)]
    for path in () if rows else files:
        names = [f"`{known.name}` (line {known.line})" for known in snapshot.definitions(path)]
        rows.append(f"- `{escape_path(path)}`: defines {', '.join(names[:MOST_ROWS]) or 'nothing'}")
    found = ["By its words, the question is likeliest about:", *rows[:MOST_PLACES]]
    return "\n".join(found) if rows else "Nothing here shares a name or a rare word with the question."


def _line_row(snapshot: IndexSnapshot, path: str, line: int, text: str) -> str:
    owners = enclosing_definitions(line, snapshot.definitions(path))
    where = f" in `{owners[-1].name}`" if owners else ""
    return f"- `{escape_path(path)}:{line}`{where}: `{_quote(text)}`"


def _limit(rows: Sequence[str]) -> list[str]:
    more = [f"- and {format_count(len(rows) - MOST_ROWS, 'more line')}"] if len(rows) > MOST_ROWS else []
    return [*rows[:MOST_ROWS], *more]


def _quote(text: str) -> str:
    """Return a text for one line of inline code."""
    return replace_control_characters(clip_line(" ".join(text.split()), LINE_CHARACTERS)).replace("`", "'")
