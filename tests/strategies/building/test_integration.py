import tomllib
from pathlib import Path

from coder.core.notes import Component, Plan, ReviewFinding
from coder.strategies.build import group_findings, missing_component_files, project_files
from tests.builders import write


def plan_of(*paths: str) -> Plan:
    components = tuple(
        Component(name=f"part{number}", purpose="Does it.", path=path, tests=(f"tests/test_{number}.py",))
        for number, path in enumerate(paths)
    )
    return Plan(summary="Does one thing. And another.", components=components)


def test_package_gets_its_project_files(tmp_path: Path) -> None:
    write(tmp_path, {"tool/cli.py": "def main(): ...\n", "tool/inner/data.py": ""})
    files = project_files(plan_of("tool/inner/data.py", "tool/cli.py"), tmp_path, ["httpx"])
    assert list(files) == ["tool/__init__.py", "tool/inner/__init__.py", "pyproject.toml"]
    project = tomllib.loads(files["pyproject.toml"])
    assert project["project"]["name"] == "tool"
    assert project["project"]["description"] == "Does one thing."
    assert project["project"]["dependencies"] == ["httpx"]
    assert project["project"]["scripts"] == {"tool": "tool.cli:main"}
    assert project["tool"]["setuptools"]["packages"] == ["tool", "tool.inner"]
    assert "- tool.inner.data: Does it." in files["tool/__init__.py"]


def test_source_directory_and_single_module(tmp_path: Path) -> None:
    src = tomllib.loads(project_files(plan_of("src/tool/a.py"), tmp_path, [])["pyproject.toml"])
    assert src["tool"]["setuptools"] == {"package-dir": {"": "src"}, "packages": ["tool"]}
    flat = tomllib.loads(project_files(plan_of("tool.py"), tmp_path, [])["pyproject.toml"])
    assert flat["tool"]["setuptools"] == {"packages": [], "py-modules": ["tool"]}
    assert "scripts" not in flat["project"]


def test_names_missing_files_and_groups_findings_by_owner(tmp_path: Path) -> None:
    plan = plan_of("tool/a.py", "tool/b.py")
    write(tmp_path, {"tool/a.py": "", "tests/test_0.py": "", "tests/test_1.py": ""})
    (missing,) = missing_component_files(plan.components, tmp_path)
    assert missing.text == "tool/b.py does not exist."
    other = ReviewFinding(severity="major", path="README.md", text="x")
    assert group_findings(plan.components, [missing, other]) == {"part1": (missing,)}
