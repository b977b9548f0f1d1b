"""Installs packages that tests lack into an overlay; the project's own environment stays as it is."""

import os
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from coder.core.errors import SandboxError
from coder.core.policy import READ_ONLY, Policy
from coder.core.ports.sandbox import Execution, Limits, Sandbox
from coder.core.values.verdict import TestReport
from coder.verify.project.configuration import DISTRIBUTION_OF_MODULE
from coder.verify.project.project import Project
from coder.verify.project.roots import source_roots
from coder.verify.project.system_packages import system_package
from coder.verify.running.problems import telling_line

INSTALL_SECONDS = 300.0
MISSING = re.compile(r"No module named '(?P<name>\w+)'$")
"""A name with a dot in it is missing in a package that is there."""
PIP = ("-m", "pip", "--disable-pip-version-check", "--no-input")
WHEELS = ("--only-binary=:all:", "--no-warn-script-location")
"""Nothing of a package is executed while it is installed."""


class OverlayEquipment:
    """The Equipment of one project."""

    def __init__(
        self,
        project: Project,
        tree: Path,
        *,
        sandbox: Sandbox,
        environment: Mapping[str, str],
        installed: Callable[[str], None],
    ) -> None:
        """`environment` is the person's, whose settings for pip hold; `installed` hears a sentence on what tests find from then on."""
        self._project = project
        self._tree = tree
        self._sandbox = sandbox
        self._settings = {
            name: value
            for name, value in environment.items()
            if name.startswith("PIP_") and name != "PIP_TARGET"
        }
        self._installed = installed

    def lacks(self, report: TestReport) -> tuple[str, ...]:
        said = [
            result.failure.message
            for result in report.reds
            if result.failure and result.failure.type == "ModuleNotFoundError"
        ]
        names = dict.fromkeys(
            match["name"] for text in said if (match := MISSING.search(text.strip().partition("\n")[0]))
        )
        return tuple(
            DISTRIBUTION_OF_MODULE.get(name, name.replace("_", "-"))
            for name in names
            if not self._is_ours(name)
        )

    def install(self, packages: Sequence[str]) -> str:
        overlay = self._project.overlay
        if overlay is None:
            return "there is no place for it"
        wanted = sorted({*overlay.packages, *packages})
        place = overlay.place_of(wanted)
        if not place.is_dir() and (problem := self._make(place, wanted)):
            return problem
        overlay.choose(wanted)
        self._installed(overlay.told)
        return ""

    def _make(self, place: Path, packages: Sequence[str]) -> str:
        new = place.with_suffix(f".{os.getpid()}")
        new.mkdir(parents=True)
        try:
            (new / "constraints").write_text(self._versions(), encoding="utf-8")
            options = (*WHEELS, "--target", str(new / "packages"), "--constraint", str(new / "constraints"))
            done = self._pip(("install", *options, "--", *packages), new, Policy(network=True))
            if done.exit_code != 0:
                return f"{telling_line(done.output)} {system_package(done.output)}".strip()
            (new / "packages").rename(place)
        except SandboxError as error:
            return str(error)
        finally:
            shutil.rmtree(new, ignore_errors=True)
        return ""

    def _versions(self) -> str:
        """What is installed already: packages in the overlay hide it, so they have to be the same."""
        listed = self._pip(("list", "--format=freeze"), self._project.interpreter.parent, READ_ONLY)
        return "".join(
            f"{line}\n" for line in listed.output.splitlines() if re.fullmatch(r"[\w.-]+==[\w.+!-]+", line)
        )

    def _pip(self, words: Sequence[str], cwd: Path, policy: Policy) -> Execution:
        argv = (str(self._project.interpreter), *PIP, *words)
        environment = {**self._project.environment, **self._settings}
        return self._sandbox.run(
            argv, cwd=cwd, environment=environment, policy=policy, limits=Limits(wall_seconds=INSTALL_SECONDS)
        )

    def _is_ours(self, name: str) -> bool:
        """Is it of the project itself, and only not found?"""
        places = {
            self._tree,
            *source_roots(self._tree),
            *(path.parent for path in self._tree.glob("*/conftest.py")),
        }
        return any((place / name).exists() or (place / f"{name}.py").exists() for place in places)
