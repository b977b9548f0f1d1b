"""Review and repair of built components, and their merge into one file."""

import ast
import asyncio
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from coder.core.events import CandidateForked
from coder.core.notes import Component, Findings, Note, Plan, ReviewFinding
from coder.core.phases import REVIEW
from coder.core.plan import format_plan, order_components
from coder.core.text import cut_after_line
from coder.core.values import Candidate
from coder.files.regular_files import read_regular_text
from coder.prompting import render_prompt
from coder.python.imports import ImportedName, defined_names, list_imports, module_of_path
from coder.python.source import parse_module, split_lines
from coder.session.context import SessionContext
from coder.session.phase import PhaseSpec, PhaseState, run_phase
from coder.tools.registry import REVIEWING_TOOLS

MOST_CHARACTERS = 80_000
"""Source that a reviewer is shown at once; the rest can be read with tools."""
API_NAME = re.compile(r"(?:async\s+)?(?:(?:def|class)\s+)?(?P<name>[A-Za-z_]\w*)\s*(?:[(:.=\[]|->|$)")


async def review_components(
    context: SessionContext, candidate: Candidate, plan: Plan, number: int
) -> tuple[ReviewFinding, ...]:
    """Return what must change before the components fit together; empty if they are approved.

    The reviewer is not asked while the harness finds something itself.
    """
    faults = await asyncio.to_thread(find_component_faults, plan.components, candidate.worktree)
    if not faults and context.task.single_file:
        texts = await asyncio.to_thread(read_components, plan.components, candidate.worktree)
        faults = merge_components(plan, texts).faults
    if faults:
        return faults
    reviewer = candidate.model_copy(update={"id": f"{candidate.id}/review-{number}/components"})
    context.log.append(CandidateForked(candidate=reviewer.id, role="reviewer", approach="components"))
    reviewing = replace(
        context, role="reviewer", system="system_review", tools=REVIEWING_TOOLS, continued=None
    )
    note = await run_phase(reviewing, reviewer, _review_phase(plan), number)
    if not isinstance(note, Findings) or note.approve:
        return ()
    return tuple(finding for finding in note.findings if finding.severity != "minor")


def group_findings(
    components: Sequence[Component], findings: Sequence[ReviewFinding]
) -> Mapping[str, tuple[ReviewFinding, ...]]:
    return {
        component.name: own
        for component in components
        if (own := tuple(finding for finding in findings if finding.path in component.files))
    }


def find_component_faults(components: Sequence[Component], tree: Path) -> tuple[ReviewFinding, ...]:
    """Return files that are missing, names of interfaces that are not defined, imports that lead nowhere."""
    texts = read_components(components, tree)
    names = {
        module_of_path(path): defined_names(texts[path]) if path in texts else None
        for component in components
        for path in component.files
    }
    return tuple(
        finding for component in components for finding in _component_faults(component, texts, names, tree)
    )


def read_components(components: Sequence[Component], tree: Path) -> Mapping[str, str]:
    return {
        path: read_regular_text(tree / path, within=tree)
        for component in components
        for path in component.files
        if (tree / path).is_file()
    }


def _component_faults(
    component: Component,
    texts: Mapping[str, str],
    names: Mapping[str, frozenset[str] | None],
    tree: Path,
) -> Iterator[ReviewFinding]:
    for path in component.files:
        if path not in texts:
            yield _fault(path, f"{path} does not exist.")
            continue
        for imported in list_imports(texts[path], path):
            if fault := _import_fault(imported, names, tree):
                yield _fault(path, fault, imported.line)
    own_names = names.get(module_of_path(component.path))
    for signature in component.api:
        match = API_NAME.match(signature.strip())
        if match and own_names is not None and match["name"] not in own_names:
            yield _fault(component.path, f"The plan's `{signature}` is not defined.")


def _fault(path: str, text: str, line: int = 0) -> ReviewFinding:
    return ReviewFinding(severity="blocker", path=path, line=line, text=text)


def _import_fault(imported: ImportedName, names: Mapping[str, frozenset[str] | None], tree: Path) -> str:
    """Return why an import of a component fails; empty if it does not, or is not of one."""
    module, name = imported.module, imported.name
    if module in names:
        known = names[module]
        is_known = not name or name == "*" or known is None or name in known
        is_module = f"{module}.{name}" in names or _exists(f"{module}.{name}", tree)
        return "" if is_known or is_module else f"{module} defines no {name}."
    tops = {known_module.partition(".")[0] for known_module in names}
    if module.partition(".")[0] not in tops or _exists(module, tree):
        return ""
    return f"There is no module {module}."


def _exists(module: str, tree: Path) -> bool:
    """Tell whether a module, or a package even without `__init__.py`, lies in the tree."""
    relative = module.replace(".", "/")
    return any(
        (tree / root / relative).is_dir() or (tree / root / f"{relative}.py").is_file()
        for root in ("", "src", "lib")
    )


def _review_phase(plan: Plan) -> PhaseSpec:
    async def opening(context: SessionContext, reviewer: Candidate) -> str:
        return render_prompt(
            "review_components",
            task=context.task,
            plan=format_plan(plan),
            sources=await asyncio.to_thread(_render_sources, plan.components, reviewer.worktree),
        )

    async def settle(_context: SessionContext, _reviewer: Candidate, state: PhaseState) -> Note | str | None:
        note = state.note
        if isinstance(note, Findings) and not note.approve and not _flags_component(plan, note):
            return (
                "Name what must change: findings of severity blocker or major, each with the path of a "
                "component or of its tests. If there is none, approve."
            )
        return note

    return PhaseSpec(phase=REVIEW, opening=opening, settle=settle)


def _flags_component(plan: Plan, findings: Findings) -> bool:
    return bool(
        group_findings(
            plan.components, [finding for finding in findings.findings if finding.severity != "minor"]
        )
    )


def _render_sources(components: Sequence[Component], tree: Path) -> str:
    """Return the components' files with line numbers."""
    parts = []
    for path in dict.fromkeys(path for component in components for path in component.files):
        lines = split_lines(read_regular_text(tree / path, within=tree))
        numbered = "\n".join(f"{number:>5}| {line}" for number, line in enumerate(lines, start=1))
        parts.append(f"{path}\n{numbered}")
    text = "\n\n".join(parts)
    return cut_after_line(text, MOST_CHARACTERS)


MAIN_GUARD = re.compile(r"if\s+__name__\s*==")


class MergedFiles(NamedTuple):
    texts: Mapping[str, str]
    """New texts of files by path: the merged file, and the tests that import from it."""
    faults: tuple[ReviewFinding, ...]
    """Changes that the components need before they can be merged."""


@dataclass
class _Merger:
    """Collects the parts of the merged file, component by component."""

    modules: Mapping[str, Component]
    owners: dict[str, str] = field(default_factory=dict)
    """Paths of the components that define a name."""
    imports: dict[str, str] = field(default_factory=dict)
    """Import statements by the name that they bind."""
    sections: list[str] = field(default_factory=list)
    faults: list[ReviewFinding] = field(default_factory=list)

    def add(self, component: Component, text: str) -> None:
        tree = parse_module(text)
        removed: list[ast.stmt] = []
        for node in tree.body:
            if _is_docstring(node, tree) or _is_main_guard(node, text):
                removed.append(node)
            elif isinstance(node, ast.Import | ast.ImportFrom):
                removed.append(node)
                self._hoist(component, node)
            else:
                self._refuse_inner_imports(component, node)
        for name in sorted(_definitions(tree)):
            if name in self.owners:
                self._object(component, f"{name} is defined in {self.owners[name]} too: rename it here.")
            self.owners.setdefault(name, component.path)
        self.sections.append(f"# --- {component.name} ---\n\n{_without(text, removed)}")

    def check_names(self, components: Sequence[Component]) -> None:
        """Object to names that one component imports and another one defines."""
        for name, statement in self.imports.items():
            owner = next((part for part in components if part.path == self.owners.get(name)), None)
            if owner is not None:
                self._object(owner, f"{name} is what others get by `{statement}`: rename it here.")

    def _hoist(self, component: Component, node: ast.Import | ast.ImportFrom) -> None:
        """Move an import to the top of the file; those of other components are not needed any more."""
        for alias in node.names:
            statement = _statement(node, alias)
            if (own := _own_import(node, alias, component, self.modules)) is not None:
                if own:
                    self._object(component, own, node.lineno)
                continue
            bound = alias.asname or alias.name.partition(".")[0]
            if self.imports.setdefault(bound, statement) != statement:
                other = self.imports[bound]
                self._object(component, f"`{statement}` is `{other}` elsewhere: rename one.", node.lineno)

    def _refuse_inner_imports(self, component: Component, node: ast.stmt) -> None:
        for inner in ast.walk(node):
            if isinstance(inner, ast.Import | ast.ImportFrom) and any(
                _own_import(inner, alias, component, self.modules) is not None for alias in inner.names
            ):
                self._object(component, "Import from components at the top of the module.", inner.lineno)

    def _object(self, component: Component, text: str, line: int = 0) -> None:
        self.faults.append(ReviewFinding(severity="major", path=component.path, line=line, text=text))


def merge_components(plan: Plan, texts: Mapping[str, str]) -> MergedFiles:
    """Merge components whose modules and tests have these texts, by path; all of them parse."""
    components = order_components(plan.components)
    modules = {module_of_path(component.path): component for component in components}
    merger = _Merger(modules)
    for component in components:
        merger.add(component, texts[component.path])
    merger.check_names(components)
    if "main" not in merger.owners:
        text = "No component defines `main`, with which the merged file starts."
        merger.faults.append(ReviewFinding(severity="major", path=components[-1].path, text=text))
    target = merged_path(plan)
    tests = {path: texts[path] for component in components for path in component.tests}
    new_texts = {target: _render(plan, merger)}
    for path, text in tests.items():
        new_texts[path], faults = _redirect_imports(path, text, modules, module_of_path(target))
        merger.faults += faults
    return MergedFiles(new_texts, tuple(merger.faults))


def merged_path(plan: Plan) -> str:
    """Return the path of the merged file: the name of the package, in the root."""
    return f"{module_of_path(plan.components[0].path).partition('.')[0]}.py"


def _render(plan: Plan, merger: _Merger) -> str:
    parts = "\n".join(f"- {component.name}: {component.purpose}" for component in merger.modules.values())
    docstring = f"{plan.summary}\n\n{parts}\n".replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    imports = sorted(
        set(merger.imports.values()), key=lambda line: ("__future__" not in line, line[:4] == "from", line)
    )
    head = f'"""{docstring}"""' + ("\n\n" + "\n".join(imports) if imports else "")
    tail = 'if __name__ == "__main__":\n    raise SystemExit(main())'
    return "\n\n\n".join([head, *merger.sections, tail]) + "\n"


def _definitions(tree: ast.Module) -> frozenset[str]:
    """Return the names that a module defines itself."""
    imported = {
        alias.asname or alias.name.partition(".")[0]
        for node in tree.body
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    return (defined_names(ast.unparse(tree)) or frozenset()) - imported - {"__all__"}


def _own_import(
    node: ast.Import | ast.ImportFrom,
    alias: ast.alias,
    component: Component,
    modules: Mapping[str, Component],
) -> str | None:
    """Return why an import of a component cannot be dropped, empty if it can; None if it is of none."""
    match node:
        case ast.ImportFrom(level=0, module=str(module)) if module in modules:
            return "" if alias.asname in (None, alias.name) else f"Import {alias.name} by its own name."
        case ast.ImportFrom(level=level) if level:
            package = module_of_path(component.path).rpartition(".")[0]
            name = f"{package}.{node.module}" if node.module else package
            if level == 1 and name in modules and alias.asname in (None, alias.name):
                return ""
        case ast.ImportFrom(module=str(module)) if f"{module}.{alias.name}" not in modules:
            return None
        case ast.Import() if alias.name not in modules:
            return None
    return "Import the names of components one by one: `from package.module import name`."


def _statement(node: ast.Import | ast.ImportFrom, alias: ast.alias) -> str:
    single = ast.ImportFrom(node.module, [alias], node.level) if isinstance(node, ast.ImportFrom) else None
    return ast.unparse(single or ast.Import([alias]))


def _is_docstring(node: ast.stmt, tree: ast.Module) -> bool:
    return node is tree.body[0] and ast.get_docstring(tree) is not None


def _is_main_guard(node: ast.stmt, text: str) -> bool:
    return isinstance(node, ast.If) and MAIN_GUARD.match(split_lines(text)[node.lineno - 1]) is not None


def _without(text: str, nodes: Sequence[ast.stmt]) -> str:
    gone = {line for node in nodes for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)}
    lines = [line for number, line in enumerate(split_lines(text), start=1) if number not in gone]
    return re.sub(r"\n{4,}", "\n\n\n", "\n".join(lines).strip("\n"))


def _redirect_imports(
    path: str, text: str, modules: Mapping[str, Component], target: str
) -> tuple[str, list[ReviewFinding]]:
    """Return a test's text with imports from the merged file, and where it uses a module otherwise."""
    alternatives = "|".join(map(re.escape, sorted(modules, key=len, reverse=True)))
    redirected = re.sub(
        rf"^(\s*from\s+)(?:{alternatives})(\s+import\b)", rf"\g<1>{target}\g<2>", text, flags=re.MULTILINE
    )
    faults = [*_other_uses(path, redirected, {*modules} - {target})]
    return redirected, faults


def _other_uses(path: str, text: str, modules: set[str]) -> Iterator[ReviewFinding]:
    for number, line in enumerate(split_lines(text), start=1):
        for module in sorted(modules):
            package, _, name = module.rpartition(".")
            is_used = re.search(rf"\b{re.escape(module)}\b", line) or (
                package and re.search(rf"^\s*from\s+{re.escape(package)}\s+import\b.*\b{name}\b", line)
            )
            if is_used:
                text = f"{module} is merged with the others: use `from {module} import name` only."
                yield ReviewFinding(severity="major", path=path, line=number, text=text)
