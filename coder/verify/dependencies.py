"""Installation of missing packages into an overlay, outside of the project's own environment."""

import os
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from coder.core.errors import SandboxError
from coder.core.ports import Distribution, Execution, Limits, Sandbox, SystemPackage
from coder.core.text import parse_json
from coder.core.values import READ_ONLY, Policy
from coder.core.verdict import TestReport
from coder.linux_distribution import find_missing_package, install_hint, run_install_command
from coder.verify.launch import find_error_line
from coder.verify.layout import DISTRIBUTION_OF_MODULE, source_roots
from coder.verify.project import Project
from coder.verify.results import missing_module

INSTALL_SECONDS = 300.0
FIND_SECONDS = 30.0
FIND_DISTRIBUTIONS = """
import importlib.metadata, importlib.util, json, sys
known = importlib.metadata.packages_distributions()
found = [name for name in sys.argv[1:] if importlib.util.find_spec(name) is not None]
print(json.dumps({name: (known.get(name) or [""])[0] for name in found}))
"""
"""Prints the distributions of those modules among the arguments that are installed, as JSON."""
PIP = ("-m", "pip", "--disable-pip-version-check", "--no-input")
WHEELS = ("--only-binary=:all:", "--no-warn-script-location")
"""Wheels only, so that installing a package executes none of its code."""


class OverlayInstaller:
    def __init__(
        self,
        project: Project,
        tree: Path,
        *,
        sandbox: Sandbox,
        environment: Mapping[str, str],
        installed: Callable[[str], None],
    ) -> None:
        """Remember the user's pip settings from `environment`.

        `installed` receives a sentence about the packages that tests find after an installation.
        """
        self._project = project
        self._tree = tree
        self._sandbox = sandbox
        self._pip_settings = {
            name: value
            for name, value in environment.items()
            if name.startswith("PIP_") and name != "PIP_TARGET"
        }
        self._installed = installed

    def missing_packages(self, report: TestReport) -> tuple[str, ...]:
        """Return the distributions of modules that red tests could not import, except the project's own."""
        names = dict.fromkeys(
            missing_module(result)
            for result in report.failures
            if result.failure and result.failure.type == "ModuleNotFoundError"
        )
        return tuple(
            DISTRIBUTION_OF_MODULE.get(name, name.replace("_", "-"))
            for name in names
            if name and not self._is_project_module(name)
        )

    def missing_system_package(self, report: TestReport) -> SystemPackage | None:
        texts = [
            f"{result.failure.message}\n{result.failure.text}" for result in report.failures if result.failure
        ]
        problem = report.problem.text if report.problem else ""
        return find_missing_package("\n".join((problem, report.output, *texts)))

    def install_system_package(self, package: SystemPackage) -> str:
        if output := run_install_command(package.command):
            return find_error_line(output)
        self._installed(f"Installed on this machine: {package.what} ({package.command}).")
        return ""

    def find_distributions(self, modules: Sequence[str]) -> Mapping[str, Distribution]:
        """Return the distribution of each module: the installed one, else the one that a name suggests."""
        overlay = self._project.overlay
        path = str(overlay.directory) if overlay is not None and overlay.directory else ""
        argv = (str(self._project.interpreter), "-c", FIND_DISTRIBUTIONS, *modules)
        try:
            execution = self._sandbox.run(
                argv,
                cwd=self._project.interpreter.parent,
                environment={**self._project.environment, "PYTHONPATH": path},
                policy=READ_ONLY,
                limits=Limits(wall_seconds=FIND_SECONDS),
            )
            installed = parse_json(execution.output.strip().rpartition("\n")[2])
        except (SandboxError, ValueError):
            installed = {}
        return {
            module: Distribution(
                name=installed.get(module) or DISTRIBUTION_OF_MODULE.get(module, module.replace("_", "-")),
                is_installed=module in installed,
            )
            for module in modules
        }

    def install(self, packages: Sequence[str]) -> str:
        overlay = self._project.overlay
        if overlay is None:
            return "there is no place for it"
        selected = sorted({*overlay.packages, *packages})
        place = overlay.directory_of(selected)
        if not place.is_dir() and (problem := self._build(place, selected)):
            return problem
        overlay.choose(selected)
        self._installed(overlay.evidence_sentence)
        return ""

    def _build(self, place: Path, packages: Sequence[str]) -> str:
        temporary = place.with_suffix(f".{os.getpid()}")
        temporary.mkdir(parents=True)
        try:
            constraints, target = temporary / "constraints", temporary / "packages"
            constraints.write_text(self._installed_versions(), encoding="utf-8")
            options = (*WHEELS, "--target", str(target), "--constraint", str(constraints))
            execution = self._run_pip(("install", *options, "--", *packages), temporary, Policy(network=True))
            if execution.exit_code != 0:
                return f"{find_error_line(execution.output)} {install_hint(execution.output)}".strip()
            target.rename(place)
        except SandboxError as error:
            return str(error)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
        return ""

    def _installed_versions(self) -> str:
        """Return constraints for the installed packages, which the overlay hides: versions must be equal."""
        listed = self._run_pip(("list", "--format=freeze"), self._project.interpreter.parent, READ_ONLY)
        return "".join(
            f"{line}\n" for line in listed.output.splitlines() if re.fullmatch(r"[\w.-]+==[\w.+!-]+", line)
        )

    def _run_pip(self, words: Sequence[str], cwd: Path, policy: Policy) -> Execution:
        argv = (str(self._project.interpreter), *PIP, *words)
        environment = {**self._project.environment, **self._pip_settings}
        return self._sandbox.run(
            argv, cwd=cwd, environment=environment, policy=policy, limits=Limits(wall_seconds=INSTALL_SECONDS)
        )

    def _is_project_module(self, name: str) -> bool:
        """Tell whether a module belongs to the project itself and only could not be found."""
        places = {
            self._tree,
            *source_roots(self._tree),
            *(path.parent for path in self._tree.glob("*/conftest.py")),
        }
        return any((place / name).exists() or (place / f"{name}.py").exists() for place in places)
