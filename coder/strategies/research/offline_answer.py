"""Answer to a question without a model: a cited page of definitions, callers, tests and history."""

import asyncio
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from coder.core.errors import CoderError, UserError
from coder.core.events import NoteMade, PhaseEntered
from coder.core.notes import WrittenAnswer
from coder.core.values.candidate import Candidate
from coder.files.ripgrep import escape_path, grep
from coder.index import Definition, enclosing_definitions
from coder.index.resolve import find_importers
from coder.index.snapshot import IndexedPlace, IndexSnapshot
from coder.session.context import SessionContext
from coder.strategies.research.offline_evidence import (
    SourceUse,
    definition_of,
    find_commits,
    find_source_uses,
    find_tests,
    format_commit,
    quote_code,
    render_newest_patch,
    source_lines,
)
from coder.strategies.research.offline_question import (
    Aspect,
    QuestionSubject,
    ReadQuestion,
    read_question,
)
from coder.strategies.research.sources import write_sources
from coder.workspace.files import (
    clip_line,
    format_count,
    path_category,
    replace_control_characters,
)
from coder.workspace.workspace import Workspace

MOST_ASKED, MOST_BESIDE = 25, 6
"""Entries of what the question asks for, and of what it does not."""
EXCERPT_LINES = 24
SHORT_EXCERPT_LINES = 8
SHOWN_COMMITS = 6
MOST_HITS = 20
COMMIT_LINE = re.compile(r"[0-9a-f]{7,40} \d{4}-")
TITLES: dict[Aspect, str] = {
    "definition": "Where it is defined",
    "callers": "What uses it",
    "tests": "What tests it",
    "history": "How and when it changed",
}


async def answer_offline(context: SessionContext, candidate: Candidate) -> Candidate:
    """Answer the question of the task from the index and the history, as the candidate's note."""
    if context.task.deep:
        raise UserError("--deep needs a model, and your settings choose the strategy offline: add --model.")
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


@dataclass(frozen=True)
class _Page:
    """Sections of one answer."""

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
                "The question names nothing that is defined here. By its words, it is likeliest about "
                f"{', '.join(f'`{subject.name}`' for subject in subjects)}."
            )
        for order, subject in enumerate(subjects):
            yield from self._subject_sections(subject, is_first=order == 0)
        if not (subjects or self.read.files or self.read.texts or self.read.unknown):
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


def _count_by_file(uses: Sequence[SourceUse], noun: str) -> str:
    counts = Counter(use.path for use in uses)
    files = ", ".join(f"{escape_path(path)} ({count})" for path, count in counts.most_common(5))
    return f"{format_count(len(uses), noun)}, such as in {files}"
