"""Packages from a directory of wheels, overlaid on a real environment."""

import base64
import hashlib
import os
import sys
import zipfile
from pathlib import Path

import pytest

from coder.core.ports import Distribution, Limits
from coder.core.verdict import TestReport
from coder.sandbox.choice import choose_backend
from coder.sandbox.process import ProcessSandbox
from coder.verify.dependencies import OverlayInstaller
from coder.verify.launch import TARGET
from coder.verify.project import Overlay, Project
from coder.verify.run import PytestRunner
from tests.builders import find_project, write
from tests.verify.fakes import failed_result

TESTS = "import answers\n\n\ndef test_answer():\n    assert answers.ANSWER == 42\n"


def write_wheel(place: Path, name: str, code: str) -> None:
    """Write a package of one module, as an index would serve it."""
    facts = f"{name}-1.0.dist-info"
    files = {
        f"{name}.py": code,
        f"{facts}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
        f"{facts}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    hashes = {
        path: base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
        for path, text in files.items()
    }
    record = "".join(f"{path},sha256={hashes[path]},{len(text)}\n" for path, text in files.items())
    place.mkdir(exist_ok=True)
    with zipfile.ZipFile(place / f"{name}-1.0-py3-none-any.whl", "w") as archive:
        for path, text in {**files, f"{facts}/RECORD": f"{record}{facts}/RECORD,,\n"}.items():
            archive.writestr(path, text)


def prepare_project(
    tmp_path: Path, sandbox: ProcessSandbox, lines: list[str]
) -> tuple[Project, OverlayInstaller]:
    write(
        tmp_path / "project",
        {"test_answers.py": TESTS, "test_own.py": "import own_module\n", "own_module/x.py": ""},
    )
    write_wheel(tmp_path / "wheels", "answers", "ANSWER = 42\n")
    discovered = find_project(tmp_path / "project", sandbox=sandbox, environment={})
    overlay = Overlay(
        interpreter=Path(sys.executable), root=tmp_path / "overlays", chosen_file=tmp_path / "chosen.json"
    )
    project = discovered.model_copy(update={"overlay": overlay})
    settings = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tmp_path / "wheels"), "PIP_TARGET": "elsewhere"}
    tree = tmp_path / "project"
    return project, OverlayInstaller(
        project, tree, sandbox=sandbox, environment=settings, installed=lines.append
    )


def report_of(project: Project, sandbox: ProcessSandbox, tree: Path) -> TestReport:
    limits = Limits(memory_bytes=None)
    return PytestRunner(project=project, sandbox=sandbox, scratch=sandbox.scratch, limits=limits).run(
        tree, ["test_answers.py"]
    )


def test_installs_missing_packages_in_overlay_and_keeps_them(tmp_path: Path) -> None:
    exposed = (TARGET, tmp_path / "overlays", tmp_path / "wheels")
    with ProcessSandbox(os.environ, backend=choose_backend().backend, exposed=exposed) as sandbox:
        install_answers(tmp_path, sandbox)


def install_answers(tmp_path: Path, sandbox: ProcessSandbox) -> None:
    lines: list[str] = []
    project, installer = prepare_project(tmp_path, sandbox, lines)
    assert project.overlay is not None
    missing = failed_result(
        "test_answers.py", "ModuleNotFoundError", "No module named 'answers'", when="collect"
    )
    assert installer.missing_packages(TestReport(command="pytest", results=(missing,))) == ("answers",)
    assert installer.install(["answers"]) == ""
    assert report_of(project, sandbox, tmp_path / "project").outcome_counts.passed == 1
    assert (lines, project.overlay.packages) == (
        ["Packages of coder's own, which the project's environment lacks: answers."],
        ("answers",),
    )
    assert [place.name for place in (tmp_path / "overlays").iterdir()] == [
        project.overlay.directory_of(["answers"]).name
    ]
    (tmp_path / "wheels" / "answers-1.0-py3-none-any.whl").unlink()
    assert installer.install(["answers"]) == ""  # it is there already


@pytest.mark.thorough
def test_failed_installation_is_reported_without_trace(tmp_path: Path, sandbox: ProcessSandbox) -> None:
    lines: list[str] = []
    project, installer = prepare_project(tmp_path, sandbox, lines)
    assert "nowhere" in installer.install(["nowhere-to-be-found"])
    assert (lines, project.overlay and project.overlay.packages) == ([], ())
    assert [*(tmp_path / "overlays").iterdir()] == []
    assert installer.install(["--index-url=x"]) != ""


def test_finds_distributions_of_modules(tmp_path: Path) -> None:
    with ProcessSandbox(os.environ, backend=choose_backend().backend, exposed=(TARGET,)) as sandbox:
        _, installer = prepare_project(tmp_path, sandbox, [])
        found = installer.find_distributions(["_pytest", "yaml_of_nobody", "bs4_of_nobody", "cv2"])
    assert found == {
        "_pytest": Distribution(name="pytest", is_installed=True),
        "yaml_of_nobody": Distribution(name="yaml-of-nobody", is_installed=False),
        "bs4_of_nobody": Distribution(name="bs4-of-nobody", is_installed=False),
        "cv2": Distribution(name="opencv-python-headless", is_installed=False),
    }
