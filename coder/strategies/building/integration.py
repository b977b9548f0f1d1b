"""Integration of components into a project: package files, or one file; packages that it needs."""

import asyncio
import json
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

from coder.core.events import Warned
from coder.core.notes import Component, Plan
from coder.core.values.candidate import Candidate
from coder.files.regular_files import read_regular_text
from coder.patching.applying.tree import ConfinedTree
from coder.python.imports import SOURCE_DIRECTORIES, defined_names, module_of_path
from coder.session.context import SessionContext
from coder.session.phase import record_change
from coder.strategies.building.dependencies import provide_packages
from coder.strategies.building.review import find_component_faults, read_components
from coder.strategies.building.single_file import merge_components

BUILD_FILES = ("pyproject.toml", "setup.py", "setup.cfg")
MODE = 0o644


async def integrate(context: SessionContext, candidate: Candidate, plan: Plan) -> None:
    """Make a project of the components: what their imports need, and the files that a project lacks."""
    distributions = await provide_packages(context, candidate, plan)
    tree = ConfinedTree(candidate.worktree)
    merged = await asyncio.to_thread(_merge, context, candidate, plan) if context.task.single_file else {}
    files = merged or await asyncio.to_thread(project_files, plan, candidate.worktree, distributions)
    for path in [part.path for part in plan.components if merged]:
        await asyncio.to_thread(tree.remove, path)
    for path, text in files.items():
        await asyncio.to_thread(tree.write, path, text.encode(), MODE)
    if files:
        await record_change(
            context, candidate, await asyncio.to_thread(context.repository.candidate_patch, candidate)
        )


def _merge(context: SessionContext, candidate: Candidate, plan: Plan) -> Mapping[str, str]:
    """Return the merged file and its tests; empty if the components cannot be merged."""
    texts = read_components(plan.components, candidate.worktree)
    is_complete = all(path in texts for component in plan.components for path in component.files)
    faults = (
        merge_components(plan, texts).faults
        if is_complete
        else find_component_faults(plan.components, candidate.worktree)
    )
    if faults:
        remark = f"The components stay apart, {faults[0].place} cannot be merged: {faults[0].text}"
        context.log.append(Warned(text=remark))
        return {}
    return merge_components(plan, texts).texts


def project_files(plan: Plan, tree: Path, distributions: Sequence[str]) -> Mapping[str, str]:
    """Return the files that the project lacks: `__init__.py` of packages, pyproject.toml, README.md."""
    packages = _packages(plan.components)
    top = min(packages, key=len, default="")
    files = {
        f"{package}/__init__.py": _docstring(plan) if package == top else f'"""Part of {top}."""\n'
        for package in packages
        if not (tree / package / "__init__.py").exists()
    }
    if not any((tree / name).exists() for name in BUILD_FILES):
        files["pyproject.toml"] = _pyproject(plan, packages, distributions, tree)
    if not any(tree.glob("README*")):
        files["README.md"] = _readme(plan, tree)
    return files


def _packages(components: Sequence[Component]) -> tuple[str, ...]:
    """Return the directories of the components' packages, outer ones first."""
    directories = {
        str(parent)
        for component in components
        for parent in PurePosixPath(component.path).parents
        if str(parent) not in (".", *SOURCE_DIRECTORIES)
    }
    return tuple(sorted(directories, key=lambda path: (path.count("/"), path)))


def _project_name(plan: Plan) -> str:
    return module_of_path(plan.components[0].path).partition(".")[0]


def _docstring(plan: Plan) -> str:
    parts = "\n".join(
        f"- {module_of_path(component.path)}: {component.purpose}" for component in plan.components
    )
    text = f"{plan.summary}\n\n{parts}\n".replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    return f'"""{text}"""\n'


def _pyproject(plan: Plan, packages: Sequence[str], distributions: Sequence[str], tree: Path) -> str:
    name = _project_name(plan)
    is_src = any(component.path.startswith("src/") for component in plan.components)
    modules = [
        module_of_path(component.path)
        for component in plan.components
        if "." not in module_of_path(component.path)
    ]
    script = find_entry_point(plan, tree)
    lines = [
        "[build-system]",
        'requires = ["setuptools>=77"]',
        'build-backend = "setuptools.build_meta"',
        "",
        "[project]",
        f"name = {json.dumps(name)}",
        'version = "0.1.0"',
        f"description = {json.dumps(_first_sentence(plan.summary), ensure_ascii=False)}",
        'readme = "README.md"',
        f'requires-python = ">={sys.version_info.major}.{sys.version_info.minor}"',
        f"dependencies = {json.dumps(sorted(distributions))}",
        "",
        "[project.optional-dependencies]",
        'test = ["pytest"]',
        *(["", "[project.scripts]", f'{json.dumps(name)} = "{script}:main"'] if script else []),
        "",
        "[tool.setuptools]",
        *(['package-dir = { "" = "src" }'] if is_src else []),
        f"packages = {json.dumps([module_of_path(f'{package}/__init__.py') for package in packages])}",
        *([f"py-modules = {json.dumps(modules)}"] if modules else []),
    ]
    return "\n".join(lines) + "\n"


def find_entry_point(plan: Plan, tree: Path) -> str:
    """Return the module that defines `main`, the last one if there are several; empty if none does."""
    modules = [
        module_of_path(component.path)
        for component in plan.components
        if "main" in (defined_names(read_regular_text(tree / component.path, within=tree)) or ())
    ]
    return modules[-1] if modules else ""


def _readme(plan: Plan, tree: Path) -> str:
    entry = find_entry_point(plan, tree)
    name = _project_name(plan)
    install = "    python -m pip install -e '.[test]'"
    parts = [f"- `{module_of_path(component.path)}`: {component.purpose}" for component in plan.components]
    use = ["", "## Use", "", f"    {name} --help"] if entry else []
    return (
        "\n".join(
            [
                f"# {name}",
                "",
                plan.summary,
                "",
                "## Install",
                "",
                install,
                *use,
                "",
                "## Components",
                "",
                *parts,
                "",
                "## Tests",
                "",
                "    python -m pytest",
            ]
        )
        + "\n"
    )


def _first_sentence(text: str) -> str:
    return re.split(r"(?<=[.!?])\s", " ".join(text.split()), maxsplit=1)[0]
