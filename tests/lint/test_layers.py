"""Rules that a machine can check: imports point down, in packages too, and each library has one home."""

import ast
from collections.abc import Sequence
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
LAYERS = {
    "core": 0,
    "executors": 1,
    "permissions": 1,
    "python": 1,
    "patching": 2,
    "files": 2,
    "linux_distribution": 3,
    "index": 3,
    "workspace": 4,
    "retrieval": 5,
    "tools": 6,
    "session": 7,
    "demo": 8,
    "strategies": 8,
    "models": 8,
    "verify": 8,
    "repair": 8,
    "sandbox": 8,
    "repo": 8,
    "behavior": 9,
    "settings": 9,
    "warm": 9,
    "wiring": 10,
    "api": 11,
    "batch": 11,
    "bench": 11,
    "ui": 11,
    "hooks": 12,
    "cli": 13,
    "__main__": 14,
}
"""The rank of each package: imports point to lower ranks only."""
HOMES = {
    "textual": {"ui"},
    "textual_autocomplete": {"ui"},
    "textual_vim_textarea": {"ui"},
    "rich": {"ui", "cli"},
    "typer": {"cli", "__main__"},
    "git": {"repo"},
    "pydantic_ai": {"models"},
    "jinja2": {"session"},
    "ripgrepy": {"files"},
    "unidiff": {"patching"},  # a front end reads diffs through `coder.patching.git_hunks`
    "tree_sitter": {"index"},
    "mcp": {"api", "wiring"},
    "acp": {"ui", "cli"},
    "coverage": {"verify"},
    "yaml": {"wiring"},
    "ray": {"executors"},
}
FOUND = [*ROOT.glob("coder/**/*.py"), *ROOT.glob("tools/**/*.py")]
UI_READS = ("coder.patching.git_hunks.", "coder.session.log.")
OTHERS = ("demo/project", "bench/suite", "bench/challenges", "coder/tools/", "coder/prompts/")
"""Data, and links to directories at the top of the repository."""
MODULES = sorted(path for path in FOUND if not any(part in path.as_posix() for part in OTHERS))


def part_of(path: Path) -> str:
    """Return the unit of the architecture that a file belongs to, such as `core` or `wiring`."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return parts[0] if parts[0] == "tools" else parts[1]


@cache
def imported_modules(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def broken_rules(path: Path) -> list[str]:
    """Return each broken rule of one module, as a sentence."""
    own_part = part_of(path)
    if own_part == "__init__":
        return []
    if own_part not in LAYERS:
        return [f"{path.relative_to(ROOT)}: {own_part} is in no layer; give it a rank in LAYERS"]
    faults = []
    for name in imported_modules(path):
        top, _, rest = name.partition(".")
        if top == "coder" and (other := rest.split(".")[0]) != "__version__":
            if own_part == "ui" and name.startswith(UI_READS):
                continue
            if other != own_part and (
                LAYERS.get(other, 99) >= LAYERS[own_part] or (own_part == "ui" and other != "core")
            ):
                faults.append(
                    f"{path.relative_to(ROOT)} imports {name}: imports point down; a front end "
                    "knows core and the log"
                )
        elif top in HOMES and own_part not in HOMES[top]:
            faults.append(f"{path.relative_to(ROOT)} imports {name}: its one home is {sorted(HOMES[top])}")
    return faults


FOLDERS = {
    "verify": ("target", "runners", ""),
}
"""Folders of a package, the lowest first; the empty name is its own modules and those of other folders."""


def upward_imports(package: str) -> set[tuple[str, str]]:
    """Return the pairs of folders of a package of which the lower imports the higher."""
    rank = {folder: number for number, folder in enumerate(FOLDERS[package])}
    pairs = set()
    for path in MODULES:
        parts = path.relative_to(ROOT).parts
        if parts[:2] != ("coder", package):
            continue
        own = parts[2] if parts[2] in rank else ""
        for name in imported_modules(path):
            top, other, *rest = [*name.split("."), ""]
            if (top, other) == ("coder", package):
                folder = rest[0] if rest[0] in rank else ""
                pairs |= {(own, folder)} if rank[own] < rank[folder] else set()
    return pairs


def import_cycle(paths: Sequence[Path]) -> list[str]:
    """Return modules that import each other in a circle, on use as well; empty if there is none."""
    names = {path: ".".join(path.relative_to(ROOT).with_suffix("").parts) for path in paths}
    modules = {
        f"{'coder.' * name.startswith('tools')}{name.removesuffix('.__init__')}": path
        for path, name in names.items()
    }
    graph = {
        name: {imported.rpartition(".")[0] for imported in imported_modules(path)} | imported_modules(path)
        for name, path in modules.items()
    }
    sorter = TopologicalSorter({name: (graph[name] & modules.keys()) - {name} for name in modules})
    try:
        sorter.prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_imports_point_down() -> None:
    assert [fault for path in MODULES for fault in broken_rules(path)] == []


def test_modules_import_each_other_in_no_circle() -> None:
    assert import_cycle(MODULES) == []


@pytest.mark.parametrize("package", FOLDERS)
def test_folders_of_a_package_import_lower_ones(package: str) -> None:
    assert upward_imports(package) == set()


def test_the_rules_can_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    bad = tmp_path / "coder" / "core" / "bad.py"
    bad.parent.mkdir(parents=True)
    bad.write_text("import textual\nfrom coder.session.log import EventLog\n", encoding="utf-8")
    assert len(broken_rules(bad)) == 2
    unknown = tmp_path / "coder" / "elsewhere" / "module.py"
    unknown.parent.mkdir()
    unknown.write_text("", encoding="utf-8")
    assert len(broken_rules(unknown)) == 1
    for own, other in (("a", "b"), ("b", "a")):
        (unknown.parent / f"{own}.py").write_text(
            f"from coder.elsewhere.{other} import f\n", encoding="utf-8"
        )
    assert len(import_cycle(sorted(unknown.parent.glob("*.py")))) == 3
