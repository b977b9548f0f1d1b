"""Which files and functions most of the newest commits changed."""

from collections import Counter
from collections.abc import Sequence

from coder.core.errors import CoderError
from coder.core.values.history import Change
from coder.files.ripgrep import shown
from coder.index import Definition, definitions, enclosing
from coder.workspace.files import counted, standing
from coder.workspace.workspace import Workspace

SOURCES = 15
OTHERS = 5
LOOKED_INTO = 8
"""Of so many files the functions are told: each costs a blame."""
FUNCTIONS = 4


def hottest(workspace: Workspace, path: str | None) -> str:
    """The files below a path (None: all) by how many of the newest commits changed them, and the functions with most of their lines."""
    recent = workspace.history.recent(path=path)
    counts = Counter(
        name
        for change in recent
        for name in change.paths
        if path in (None, ".") or f"{name}/".startswith(f"{path}/")
    )
    if not counts:
        return ""
    ranked = sorted(counts, key=lambda name: (standing(name) > 0, -counts[name], name))
    sources = [name for name in ranked if standing(name) == 0][:SOURCES]
    others = [name for name in ranked if standing(name) > 0][:OTHERS]
    lines = [f"Changed by most of the newest {counted(len(recent), 'commit')} (since {recent[-1].date}):"]
    for index, name in enumerate(sources):
        inside = _functions(workspace, name, recent) if index < LOOKED_INTO else ""
        lines.append(f"{counts[name]:>6} {shown(name)}{f': {inside}' if inside else ''}")
    if others:
        lines += [
            "Tests, documentation and the rest:",
            *(f"{counts[name]:>6} {shown(name)}" for name in others),
        ]
    return "\n".join(lines)


def _functions(workspace: Workspace, path: str, recent: Sequence[Change]) -> str:
    """The functions of a file that hold lines of the most of these commits, with how many."""
    text = workspace.history.file(path)
    if text is None:
        return "now gone"
    try:
        made = workspace.history.touched(path, recent[-1].commit)
    except CoderError:
        return ""
    known = {change.commit for change in recent}
    found = definitions(path, text.replace("\r\n", "\n"))
    commits: dict[str, set[str]] = {}
    for line, commit in enumerate(made, 1):
        if commit in known and (item := _innermost(line, found)):
            commits.setdefault(item.name, set()).add(commit)
    ranked = sorted(commits, key=lambda name: (-len(commits[name]), name))
    return ", ".join(f"{name} {len(commits[name])}" for name in ranked[:FUNCTIONS])


def _innermost(line: int, found: Sequence[Definition]) -> Definition | None:
    return next((item for item in enclosing(line, found)[::-1] if item.kind != "class"), None)
