"""Commit messages and branch names: what a change does, in the form of the repository's subjects."""

import re
from collections.abc import Callable, Sequence

from coder.core.events import NoteMade
from coder.core.notes import Diagnosis, Done, Sites
from coder.core.paths import test_name_of
from coder.core.state import candidate_notes, candidate_records, component_plan
from coder.core.text import first_line, sanitize_text
from coder.core.value_text import shorten_value
from coder.core.values import Candidate
from coder.core.verdict import Verdict
from coder.python.imports import module_of_path
from coder.session.context import SessionContext

SUBJECT_CHARACTERS = 60
BRANCH_CHARACTERS = 40
_IDENTIFIER = re.compile(r"\w*(?:_|\(|\.\w|[a-z][A-Z]|\d)")
"""Matches a line whose first word is an identifier, which keeps its case."""
_FUNCTION_WORD = re.compile(
    r"an?|the|of|in|on|to|and|or|as|at|by|for|from|with(?:out)?|is|are|be|not|its?|that|this|when|where|if|than"
)
"""Matches a word that cannot end a phrase."""
SUBJECT_CALL = 55
"""Characters of a call in a commit subject."""
MOST_TEST_WORDS = 9
_TEMPLATE = re.compile(r"([\w.]+): (?:use|replace) .+ (?:instead of|by) .+")
"""Matches the summary of an edit by the built-in engine that only says which operand it replaces."""
_CONVENTIONAL = re.compile(r"(?:feat|fix|docs|chore|refactor|test|ci|build|perf|style)(?:\([^)]*\))?!?: ")
_PREFIXED = re.compile(r"[\w./-]+: ")


def summarize_change(context: SessionContext, candidate: Candidate) -> str:
    """Return what the change does in the model's words, from the newest note that says so.

    That of a repair counts where it has an explanation below its subject: without, it is about the correction
    alone. A build is described by its plan.
    """
    if plan := component_plan(context.log.records):
        modules = ", ".join(module_of_path(component.path) for component in plan.components)
        return f"Add {modules}\n\n{plan.summary}"
    message = ""
    for record in candidate_records(context.log.records, candidate.id):
        match record.event:
            case NoteMade(note=Diagnosis(start_over=True)):
                message = ""
            case NoteMade(phase=phase, note=Done(summary=text)) if first_line(text):
                is_amended = not message or phase != "repair" or "\n\n" in text.strip()
                message = text if is_amended else message
    notes = reversed(candidate_notes(context.log.records, candidate.id))
    findings = (note.summary for note in notes if isinstance(note, Diagnosis | Sites))
    return message or next(filter(first_line, findings), "")


def describe_by_test(summary: str, verdict: Verdict) -> str:
    """Return a summary that says what works now, where it only names an operand.

    It is the name of a test, or a call that a test makes and that is answered otherwise now.
    """
    edit = _TEMPLATE.fullmatch(first_line(summary))
    if edit is None:
        return summary
    function = edit[1].rpartition(".")[2]
    name = test_name_of(verdict.targets[0]) if verdict.targets else ""
    words = name.removeprefix("test").strip("_").split("_")
    if 2 < len(words) <= MOST_TEST_WORDS:
        return f"Fix {function}: {' '.join(words)}\n\n{summary}"
    examples = verdict.behavior.examples if verdict.behavior else ()
    calls = (shorten_value(example.call, limit=SUBJECT_CALL) for example in examples if example.tested)
    call = next((call for call in calls if f"{function}(" in call and len(call) <= SUBJECT_CALL), "")
    return f"Fix {call}\n\n{summary}" if call else summary


def compose_message(summary: str, *, recent: Sequence[str], trailers: Sequence[str]) -> str:
    """Return a subject in the repository's style, the explanation that came with the change, and trailers."""
    explanation = summary.strip().partition("\n")[2].strip()
    body = sanitize_text("\n".join(line.rstrip() for line in explanation.splitlines()))
    return "\n\n".join(filter(None, (format_subject(summary, recent), body, "\n".join(trailers)))) + "\n"


def format_subject(summary: str, recent: Sequence[str]) -> str:
    """Return one line in the shape of most `recent` subjects: `fix: ` prefix, capital letter, full stop."""
    line = first_line(sanitize_text(summary)) or "Fix the issue"
    line = re.sub(r"^#+\s*|^[-*]\s+|`", "", line).rstrip(".")
    has_prefixes = _is_common(recent, lambda text: _CONVENTIONAL.match(text) is not None)
    has_capitals = _is_common(recent, lambda text: text[:1].isupper()) or not recent
    if has_prefixes and not _CONVENTIONAL.match(line):
        line = f"fix: {_lower_first_letter(re.sub(r'^Fix:? ', '', line))}"
    elif not has_prefixes and has_capitals and not _PREFIXED.match(line):
        line = line if _IDENTIFIER.match(line) else line[:1].upper() + line[1:]
    full_stop = "." if _is_common(recent, lambda text: text.endswith(".")) else ""
    return _shorten(line, SUBJECT_CHARACTERS - len(full_stop)) + full_stop


def branch_slug(subject_line: str) -> str:
    """Return the readable part of a branch name: a few lower-case words with hyphens."""
    words = re.findall(r"[a-z0-9]+", _CONVENTIONAL.sub("", subject_line).lower())[:6]
    while words and (len("-".join(words)) > BRANCH_CHARACTERS or _FUNCTION_WORD.fullmatch(words[-1])):
        words.pop()
    return "-".join(words) or "fix"


def _lower_first_letter(line: str) -> str:
    first_word = line.split(" ", 1)[0]
    return (
        line
        if first_word.isupper() or any(letter.isupper() for letter in first_word[1:])
        else line[:1].lower() + line[1:]
    )


def _shorten(line: str, limit: int) -> str:
    return line if len(line) <= limit else line[: limit - 3].rsplit(" ", 1)[0].rstrip(",;:") + "..."


def _is_common(texts: Sequence[str], predicate: Callable[[str], bool]) -> bool:
    return bool(texts) and sum(map(predicate, texts)) > len(texts) / 2
