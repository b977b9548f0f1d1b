"""The tool `find_symbol`."""

import re
from collections.abc import Sequence

from coder.tools.files import counted, standing, text_of, visible
from coder.tools.ripgrep import Hit, grep, shown
from coder.tools.search import checked_path, grouped, near_spellings
from coder.tools.symbols import Definition, definitions, named
from coder.tools.tool import ToolError, tool
from coder.tools.workspace import Workspace

MOST_DEFINITIONS = 30
MOST_USES = 60
MOST_FILES_READ = 200
WORDS = "class|def|function|func|fn|struct|interface|trait|enum|type|impl|module|namespace|const|let|var"
DEFINING = rf"\b(?:{WORDS})\s+(?:\([^)]*\)\s*)?NAME\b|^\s*NAME\s*(?::[^=]+)?=[^=]"


@tool
def find_symbol(workspace: Workspace, name: str, path: str = "") -> str:
    """Find where a class, function, method or variable is defined, and up to 60 lines that use its name.

    Uses are found by name alone: other things of the same name are among them.

    Args:
        name: Bare or dotted: `parse`, `Parser.parse`.
        path: A file or directory; empty is all.
    """
    where = checked_path(workspace, path)
    wanted = name.strip().removesuffix("()").replace("::", ".").strip(".")
    bare = wanted.rpartition(".")[2]
    if not re.fullmatch(r"[^\W\d][\w$]*", bare):
        raise ToolError(f"{name!r} is not a name. Give one such as 'parse' or 'Parser.parse'; for any other text use search.")
    found = grep(workspace.root, rf"\b{re.escape(bare)}\b", path=where)
    if not found.hits:
        near = near_spellings(workspace, bare)
        return f"{bare!r} occurs nowhere{f' in {where}' if where != '.' else ''}." + (f" Near: {', '.join(near)}." if near else "")
    for hit in found.hits:
        workspace.name(hit.path, hit.line)
    defined = _definitions(workspace, wanted, found.hits)
    places = {(path, item.line) for path, item in defined}
    uses = [hit for hit in found.hits if (hit.path, hit.line) not in places]
    return f"{_defined(wanted, defined)}\n{_used(bare, uses)}"


def _definitions(workspace: Workspace, wanted: str, hits: Sequence[Hit]) -> list[tuple[str, Definition]]:
    """Read the files where a line looks like its definition, and keep what a dotted name means."""
    bare = wanted.rpartition(".")[2]
    looks = re.compile(DEFINING.replace("NAME", re.escape(bare)))
    paths = list(dict.fromkeys(hit.path for hit in hits if len(hit.text) < 1000 and looks.search(hit.text)))
    paths.sort(key=lambda path: (standing(path), path))
    found = [(path, item) for path in paths[:MOST_FILES_READ] for item in _of_file(workspace, path) if item.bare == bare]
    if "." not in wanted:
        return found
    exact = [(path, item) for path, item in found if named(wanted, (item,)) and _module_fits(wanted, path, item)]
    return exact or found


def _of_file(workspace: Workspace, path: str) -> tuple[Definition, ...]:
    return definitions(path, text_of(workspace.root, path))


def _module_fits(wanted: str, path: str, item: Definition) -> bool:
    """Do the parts of a dotted name before the definition's own agree with the file's path?"""
    before = wanted.removesuffix(item.name).strip(".")
    module = path.rpartition(".")[0].removesuffix("/__init__").replace("/", ".")
    return not before or f".{module}".endswith(f".{before}") or f".{module}.".find(f".{before}.") >= 0


def _defined(wanted: str, defined: Sequence[tuple[str, Definition]]) -> str:
    if not defined:
        return f"{wanted}: no definition found in this repository (imported from elsewhere, or made at run time)."
    lines = [f"{wanted}: {counted(len(defined), 'definition')}"]
    for path, item in defined[:MOST_DEFINITIONS]:
        owner = item.name.rpartition(".")[0]
        lines.append(f"  {shown(path)}:{item.line}-{item.end}  {visible(item.signature)}{f'  in {owner}' if owner else ''}")
        lines += [f"      {visible(item.summary)}"] if item.summary else []
    if len(defined) > MOST_DEFINITIONS:
        lines.append(f"  and {len(defined) - MOST_DEFINITIONS} more; narrow it with a dotted name or path=")
    return "\n".join(lines)


def _used(bare: str, uses: Sequence[Hit]) -> str:
    if not uses:
        return f"{bare} is used nowhere else."
    files = len({hit.path for hit in uses})
    ordered = sorted(uses, key=lambda hit: (standing(hit.path), hit.path, hit.line))
    head = f"{counted(len(uses), 'use')} in {counted(files, 'file')}"
    if len(uses) > MOST_USES:
        head += f", the first {MOST_USES} shown; narrow it with path="
    return f"{head}\n{grouped(ordered[:MOST_USES])}"
