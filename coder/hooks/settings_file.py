"""Entries of coder's in the hook settings of a coding agent."""

import json
from collections.abc import Iterator
from pathlib import Path

from coder.core.errors import UserError
from coder.files.replacing import replace_text
from coder.hooks.agents import Agent
from coder.hooks.json_text import JsonSpan, append_child, parse_spans, remove_child

BYTE_ORDER_MARK = "\ufeff"


def install_entries(path: Path, agent: Agent, command: str) -> bool:
    """Write an entry for each of the agent's events, in place of earlier ones.

    Return whether that changed the file.

    Raises:
        UserError: the file cannot be understood; it is as it was.
    """
    text = _read(path) if path.exists() else "{}\n"
    updated = _remove_entries(text, agent, path)
    for event in agent.events:
        updated = _append_entry(updated, agent, event, command, path)
    return _write(path, updated)


def remove_entries(path: Path, agent: Agent) -> bool:
    """Remove the entries, and a file that holds nothing else; return whether there were any.

    Raises:
        UserError: the file cannot be understood; it is as it was.
    """
    if not path.exists():
        return False
    text = _read(path)
    updated = _remove_entries(text, agent, path)
    if updated == text:
        return False
    if updated.strip() == "{}":
        path.unlink()
        return True
    return _write(path, updated)


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8")
    except UnicodeDecodeError:
        raise _unreadable(path) from None


def _write(path: Path, text: str) -> bool:
    if path.exists() and path.read_bytes() == text.encode("utf-8"):
        return False
    replace_text(path, text)
    return True


def _parse(text: str, path: Path) -> JsonSpan:
    try:
        root = parse_spans(text)
    except ValueError:
        raise _unreadable(path) from None
    if root.kind != "object":
        raise _unreadable(path)
    return root


def _unreadable(path: Path) -> UserError:
    return UserError(f"{path} is not plain JSON with an object of hooks, so it was not changed.")


def _append_entry(text: str, agent: Agent, event: str, command: str, path: Path) -> str:
    mark = BYTE_ORDER_MARK if text.startswith(BYTE_ORDER_MARK) else ""
    body = text.removeprefix(mark)
    entry = agent.build_entry(command)
    root = _parse(body, path)
    hooks = root.member("hooks")
    if hooks is None:
        return mark + append_child(body, root, {event: [entry]}, key="hooks")
    if hooks.kind != "object":
        raise _unreadable(path)
    groups = hooks.member(event)
    if groups is None:
        return mark + append_child(body, hooks, [entry], key=event)
    if groups.kind != "array":
        raise _unreadable(path)
    return mark + append_child(body, groups, entry)


def _remove_entries(text: str, agent: Agent, path: Path) -> str:
    mark = BYTE_ORDER_MARK if text.startswith(BYTE_ORDER_MARK) else ""
    body = text.removeprefix(mark)
    while (chain := next(_find_entries(body, agent, path), None)) is not None:
        # Containers that hold nothing but the entry are removed with it.
        depth = len(chain) - 1
        while depth > 1 and len(chain[depth - 1].children) == 1:
            depth -= 1
        body = remove_child(body, chain[depth - 1], chain[depth])
    return mark + body


def _find_entries(text: str, agent: Agent, path: Path) -> Iterator[tuple[JsonSpan, ...]]:
    """Yield the way from the root to each hook whose command is coder's."""
    root = _parse(text, path)
    hooks = root.member("hooks")
    for event in hooks.children if hooks is not None else ():
        for group in event.children:
            inner = group.member("hooks")
            for hook in inner.children if inner is not None else ():
                command = hook.member("command")
                written = json.loads(text[command.value_start : command.end]) if command else None
                if hooks is not None and inner is not None and agent.is_own_command(written):
                    # A group is as good as empty without its hooks, whatever its matcher.
                    yield (
                        (root, hooks, event, group)
                        if len(inner.children) == 1
                        else (root, hooks, event, group, inner, hook)
                    )
