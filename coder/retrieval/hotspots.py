"""Ranking of files and functions by the newest commits that changed them."""

from collections import Counter
from collections.abc import Sequence

from coder.core.errors import CoderError
from coder.core.values import CommitInfo
from coder.files.ripgrep import escape_path
from coder.index import Definition, definitions, enclosing_definitions
from coder.workspace.workspace import Workspace, format_count, path_category

SOURCES = 15
OTHERS = 5
FILES_WITH_FUNCTIONS = 8
"""Number of files whose functions are listed: each costs a blame."""
FUNCTIONS = 4


def rank_hotspots(workspace: Workspace, path: str | None) -> str:
    """Rank files by the newest commits that changed them, with their most changed functions.

    `path` restricts them to a directory; None is all.
    """
    recent = workspace.history.recent_commits(path=path)
    counts = Counter(
        name
        for change in recent
        for name in change.paths
        if path in (None, ".") or f"{name}/".startswith(f"{path}/")
    )
    if not counts:
        return ""
    ranked = sorted(counts, key=lambda name: (path_category(name) > 0, -counts[name], name))
    sources = [name for name in ranked if path_category(name) == 0][:SOURCES]
    others = [name for name in ranked if path_category(name) > 0][:OTHERS]
    lines = [
        f"Changed by most of the newest {format_count(len(recent), 'commit')} (since {recent[-1].date}):"
    ]
    for index, name in enumerate(sources):
        functions = _functions(workspace, name, recent) if index < FILES_WITH_FUNCTIONS else ""
        lines.append(f"{counts[name]:>6} {escape_path(name)}{f': {functions}' if functions else ''}")
    if others:
        lines += [
            "Tests, documentation and the rest:",
            *(f"{counts[name]:>6} {escape_path(name)}" for name in others),
        ]
    return "\n".join(lines)


def _functions(workspace: Workspace, path: str, recent: Sequence[CommitInfo]) -> str:
    """Return the functions of a file with lines from most of these commits, with the number of commits."""
    text = workspace.history.read_file(path)
    if text is None:
        return "now gone"
    try:
        line_commits = workspace.history.line_commits(path, recent[-1].commit)
    except CoderError:
        return ""
    recent_commits = {change.commit for change in recent}
    file_definitions = definitions(path, text.replace("\r\n", "\n"))
    commits: dict[str, set[str]] = {}
    for line, commit in enumerate(line_commits, 1):
        if commit in recent_commits and (definition := _innermost(line, file_definitions)):
            commits.setdefault(definition.name, set()).add(commit)
    ranked = sorted(commits, key=lambda name: (-len(commits[name]), name))
    return ", ".join(f"{name} {len(commits[name])}" for name in ranked[:FUNCTIONS])


def _innermost(line: int, file_definitions: Sequence[Definition]) -> Definition | None:
    return next(
        (
            definition
            for definition in enclosing_definitions(line, file_definitions)[::-1]
            if definition.kind != "class"
        ),
        None,
    )
