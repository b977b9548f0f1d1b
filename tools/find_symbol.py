"""The tool `find_symbol`."""

import re
from collections.abc import Iterator, Sequence

from coder.core.errors import ToolError
from coder.files.ripgrep import grep, shown
from coder.index import named
from coder.index.resolve import re_exports, resolve
from coder.index.snapshot import Place, Snapshot, Use, module_of
from coder.tools.search import checked_path, places_of
from coder.tools.support.uses import inside, ordered, used_lines
from coder.tools.tool import tool
from coder.workspace.files import counted, standing, visible
from coder.workspace.workspace import Workspace

MOST_DEFINITIONS = 30
MOST_USES = 60
MOST_RE_EXPORTS = 5
MOST_OVERRIDES = 12
MOST_LOOKED_BELOW = 4
"""Definitions whose overrides are looked for."""
MOST_COMPARED = 300
"""Methods of the same name."""
MOST_ANCESTORS = 40


@tool
def find_symbol(workspace: Workspace, name: str, path: str = "") -> str:
    """Find where a class, function, method or variable is defined, what overrides or re-exports it, and the lines of code that use it.

    Shows 30 definitions and 60 uses, by enclosing definition, source before tests. Uses are found by the bare name: other things of
    that name are among them. Python, JavaScript, TypeScript, Go, Rust, Java, C, C++, Ruby; a name nobody has gives those like it.

    Args:
        name: Bare or dotted: `parse`, `Parser.parse`, `package.module.Parser`.
        path: A file or directory; empty is all.
    """
    where = checked_path(workspace, path)
    wanted = name.strip().removesuffix("()").replace("::", ".").replace("#", ".").strip(".")
    bare = wanted.rpartition(".")[2]
    if not re.fullmatch(r"[^\W\d][\w$]*", bare):
        raise ToolError(
            f"{name!r} is not a name. Give one such as 'parse' or 'Parser.parse'; for any other text use search."
        )
    snapshot = workspace.index.current()
    places = [
        place
        for place in meant(snapshot, wanted)
        if inside(place.path, where) and workspace.may_read(place.path)
    ]
    uses = [use for use in snapshot.used(bare) if inside(use.path, where) and workspace.may_read(use.path)]
    if not places and not uses:
        return _unknown(workspace, snapshot, bare, where)
    overriding = [
        place
        for place in _overriding(snapshot, places)
        if place not in places and workspace.may_read(place.path)
    ]
    return "\n".join(
        [
            *_defined(workspace, snapshot, wanted, places),
            *_overridden_in(workspace, overriding),
            *_re_exported(workspace, snapshot, bare),
            *_used(workspace, snapshot, bare, _without(uses, [*places, *overriding])),
        ]
    )


def meant(snapshot: Snapshot, wanted: str) -> list[Place]:
    """The definitions that a bare or dotted name means, source before tests; where no dotted one fits, all of its last part."""
    bare = wanted.rpartition(".")[2]
    every = sorted(snapshot.defined(bare), key=lambda place: (standing(place.path), place.path))
    if "." not in wanted:
        return every
    exact = [
        place
        for place in every
        if place.definition and named(wanted, (place.definition,)) and _module_fits(wanted, place)
    ]
    resolved = [
        place for place in resolve(snapshot, wanted) if place.definition and place.definition.bare == bare
    ]
    return list(dict.fromkeys([*exact, *resolved])) or every


def _module_fits(wanted: str, place: Place) -> bool:
    """Do the parts of a dotted name before the definition's own agree with the file's path?"""
    before = wanted.removesuffix(place.definition.name if place.definition else "").strip(".")
    module = module_of(place.path)
    return not before or f".{module}".endswith(f".{before}") or f".{before}." in f".{module}."


def _defined(workspace: Workspace, snapshot: Snapshot, wanted: str, places: Sequence[Place]) -> Iterator[str]:
    if not places:
        yield f"{wanted}: no definition found in this repository (imported from elsewhere, or made at run time)."
        return
    yield f"{wanted}: {counted(len(places), 'definition')}"
    overridden = _overridden(snapshot, places)
    for place in places[:MOST_DEFINITIONS]:
        yield from _line(workspace, place, overridden.get(place, ""))
    if len(places) > MOST_DEFINITIONS:
        yield f"  and {len(places) - MOST_DEFINITIONS} more; narrow it with a dotted name or path="


def _overridden_in(workspace: Workspace, overriding: Sequence[Place]) -> Iterator[str]:
    if overriding:
        yield f"overridden {counted(len(overriding), 'time')}" + (
            ":" if len(overriding) <= MOST_OVERRIDES else ", such as:"
        )
    for place in overriding[:MOST_OVERRIDES]:
        yield from _line(workspace, place, "")


def _line(workspace: Workspace, place: Place, remark: str) -> Iterator[str]:
    item = place.definition
    if item is None:
        return
    workspace.name(place.path, item.line)
    owner = item.name.rpartition(".")[0]
    yield (
        f"  {shown(place.path)}:{item.line}-{item.end}  {item.kind}  {visible(item.signature)}"
        f"{f'  in {owner}' if owner else ''}{f', overrides {remark}' if remark else ''}"
    )
    if item.summary:
        yield f"      {visible(item.summary)}"


def _overridden(snapshot: Snapshot, places: Sequence[Place]) -> dict[Place, str]:
    """Those methods whose class names another of their classes among its bases, each with the method it overrides."""
    owners = {owner.rpartition(".")[2]: owner for place in places if (owner := _owner(place))}
    found: dict[Place, str] = {}
    for place in places[:MOST_DEFINITIONS]:
        for base in snapshot.bases(place.path).get(_owner(place), ()) if place.definition else ():
            if (above := owners.get(base.rpartition(".")[2])) and place.definition:
                found.setdefault(place, f"{above}.{place.definition.bare}")
    return found


def _overriding(snapshot: Snapshot, places: Sequence[Place]) -> list[Place]:
    """The methods of the same name whose classes come from one of theirs."""
    owners = {(place.path, owner) for place in places if (owner := _owner(place))}
    bare = next((place.definition.bare for place in places if place.definition), "")
    if not owners or len(owners) > MOST_LOOKED_BELOW:
        return []
    others = [place for place in snapshot.defined(bare) if _owner(place) and place not in places]
    return [
        place for place in others[:MOST_COMPARED] if owners & _ancestors(snapshot, place.path, _owner(place))
    ]


def _ancestors(snapshot: Snapshot, path: str, owner: str) -> set[tuple[str, str]]:
    """The classes that a class comes from, as path and qualified name."""
    found: set[tuple[str, str]] = set()
    waiting = [(path, owner)]
    while waiting and len(found) < MOST_ANCESTORS:
        path, owner = waiting.pop()
        for base in snapshot.bases(path).get(owner, ()):
            places = resolve(snapshot, base, importer=path) or snapshot.defined(base.rpartition(".")[2])[:1]
            above = [(place.path, place.definition.name) for place in places if place.definition]
            waiting += [item for item in above if item not in found]
            found.update(above)
    return found


def _owner(place: Place) -> str:
    """The qualified name of a method's class; empty for what is none."""
    return (
        place.definition.name.rpartition(".")[0]
        if place.definition and place.definition.kind == "method"
        else ""
    )


def _re_exported(workspace: Workspace, snapshot: Snapshot, bare: str) -> Iterator[str]:
    for path, item in re_exports(snapshot, bare)[:MOST_RE_EXPORTS]:
        workspace.name(path, item.line)
        alias = f" as {item.alias}" if item.alias else ""
        yield f"re-exported by {shown(path)}:{item.line}  from {item.module} import {item.name}{alias}"


def _without(uses: Sequence[Use], places: Sequence[Place]) -> list[Use]:
    """The uses that are not the definitions themselves."""
    defining = {(place.path, place.definition.line) for place in places if place.definition}
    kept = (
        Use(path=use.path, lines=tuple(line for line in use.lines if (use.path, line) not in defining))
        for use in uses
    )
    return ordered(use for use in kept if use.lines)


def _used(workspace: Workspace, snapshot: Snapshot, bare: str, uses: Sequence[Use]) -> Iterator[str]:
    if not uses:
        yield f"{bare} is used nowhere else."
        return
    count = sum(len(use.lines) for use in uses)
    more = f", the first {MOST_USES} shown; narrow it with path=" if count > MOST_USES else ""
    yield f"{counted(count, 'use')} in {counted(len(uses), 'file')}{more}"
    yield used_lines(workspace, snapshot, uses, name=bare, most=MOST_USES)


def _unknown(workspace: Workspace, snapshot: Snapshot, bare: str, where: str) -> str:
    place = f" in {shown(where)}" if where != "." else ""
    found = grep(workspace.root, rf"\b{re.escape(bare)}\b", path=where, deny_read=workspace.deny_read)
    if found.hits:
        count = counted(len(found.hits), "line")
        return f"{bare!r} is no name in code{place}; {count} of text, strings or comments hold it: {places_of(workspace, found.hits)}."
    near = snapshot.similar(bare)
    return f"{bare!r} occurs nowhere{place}." + (f" Near: {', '.join(near)}." if near else "")
