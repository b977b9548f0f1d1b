"""The house rules that a machine can check: imports point down, one home for each library, no module over 400 lines."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LAYERS = {"core": 0, "tools": 1, "loop": 2, "wiring": 4, "bench": 5, "ui": 5, "cli": 6, "__main__": 7}
THIRD = {"demo", "strategies", "models", "verify", "repair", "sandbox", "repo", "store", "prompting", "settings"}
LAYERS |= dict.fromkeys(THIRD, 3)
HOMES = {
    "textual": {"ui"},
    "rich": {"ui", "cli"},
    "typer": {"cli", "__main__"},
    "git": {"repo"},
    "pydantic_ai": {"models"},
    "jinja2": {"prompting"},
    "ripgrepy": {"tools"},
    "unidiff": {"tools"},  # a front end reads diffs through `coder.tools.patching.hunks`
    "tree_sitter": {"tools"},
    "coverage": {"verify"},
}
FOUND = [*ROOT.glob("coder/*.py"), *ROOT.glob("coder/[!tp]*/**/*.py"), *ROOT.glob("tools/**/*.py")]
UI_READS = ("coder.tools.patching.hunks.", "coder.loop.log.")
DATA = ("demo/project", "bench/suite")
MODULES = sorted(path for path in FOUND if not any(part in path.as_posix() for part in DATA))


def part_of(path: Path) -> str:
    """The unit of the house that a file belongs to, such as `core` or `wiring`."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return parts[0] if parts[0] == "tools" else parts[1]


def imported(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def faults(path: Path) -> list[str]:
    """Each broken rule of one module, as a sentence."""
    own = part_of(path)
    if own == "__init__":
        return []
    found = []
    for name in imported(path):
        top, _, rest = name.partition(".")
        if top == "coder" and (other := rest.split(".")[0]) in LAYERS:
            if own == "ui" and name.startswith(UI_READS):
                continue
            if other != own and (LAYERS[other] >= LAYERS[own] or (own == "ui" and other != "core")):
                found.append(f"{path.relative_to(ROOT)} imports {name}: imports point down; a front end knows core and the log")
        elif top in HOMES and own not in HOMES[top]:
            found.append(f"{path.relative_to(ROOT)} imports {name}: its one home is {sorted(HOMES[top])}")
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_module_keeps_the_house_rules(path: Path) -> None:
    assert faults(path) == []
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 400


def test_the_rules_can_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    bad = tmp_path / "coder" / "core" / "bad.py"
    bad.parent.mkdir(parents=True)
    bad.write_text("import textual\nfrom coder.loop.log import EventLog\n", encoding="utf-8")
    assert len(faults(bad)) == 2
