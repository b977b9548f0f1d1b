"""Discovery of a project's test setup in its files and environments."""

import os
import sys
from pathlib import Path

import pytest

from coder.core.errors import UserError
from coder.sandbox.process import ProcessSandbox
from coder.verify.project import DEFAULT_COMMAND, Project, install_advice
from tests.builders import by_hand, find_project, projects, write

OWN = {"PATH": os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))}


def discover(
    root: Path,
    sandbox: ProcessSandbox,
    *,
    environment: dict[str, str] | None = None,
    command: str | None = None,
) -> Project:
    return find_project(
        root, sandbox=sandbox, environment={**OWN, **(environment or {})}, test_command=command
    )


def fake_venv(place: Path) -> Path:
    """Create an environment with an interpreter that has no packages at all."""
    (place / "bin").mkdir(parents=True)
    (place / "pyvenv.cfg").touch()
    python = place / "bin" / "python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S "$@"\n')
    python.chmod(0o755)
    return python


def test_falls_back_to_pytest_of_own_interpreter(tmp_path: Path, sandbox: ProcessSandbox) -> None:
    project = discover(tmp_path, sandbox)
    assert (project.interpreter, project.command.text, project.problem) == (
        Path(sys.executable),
        DEFAULT_COMMAND,
        None,
    )
    assert project.why[:2] == (
        (
            f"Interpreter: {sys.executable}, the interpreter that coder runs on, since no environment "
            "of the project was found."
        ),
        "Test command: python -m pytest, the default.",
    )


@pytest.mark.parametrize(
    ("files", "options"),
    [
        (("tests.py",), " -o python_files=test*.py"),
        (("test.py", "shop/tests.py"), " -o python_files=test*.py"),
        (("tests.py", "test_shop.py"), ""),
        (("tests.py", "pytest.ini"), ""),
        (("shop.py",), ""),
    ],
)
def test_collects_modules_called_tests(
    tmp_path: Path, sandbox: ProcessSandbox, files: tuple[str, ...], options: str
) -> None:
    write(tmp_path, dict.fromkeys(files, ""))
    assert discover(tmp_path, sandbox).command.text == f"{DEFAULT_COMMAND}{options}"


def test_only_project_below_the_root_has_its_configuration(tmp_path: Path, sandbox: ProcessSandbox) -> None:
    write(tmp_path, {"api/pyproject.toml": "[tool.pytest.ini_options]\naddopts = '-q'\n", "README.md": ""})
    python = fake_venv(tmp_path / "api" / ".venv")
    project = discover(tmp_path, sandbox)
    assert project.interpreter == python
    assert project.command.text == "python -m pytest -c api/pyproject.toml --rootdir=. api"
    write(tmp_path, {"web/pyproject.toml": "[project]\nname = 'web'\n"})
    several = discover(tmp_path, sandbox)
    assert several.command.text == DEFAULT_COMMAND
    assert not any("one by one" in sentence for sentence in several.why)
    tests = {"web/test_web.py": "", "api/test_api.py": ""}
    write(tmp_path, {"web/pyproject.toml": "[tool.pytest.ini_options]\n", **tests})
    sentence = "Tested one by one, each in its own directory: api, web."
    assert sentence in discover(tmp_path, sandbox).why


@pytest.mark.parametrize("place", [".venv", ".tox/py311", *by_hand("venv", "env", ".nox/tests")])
def test_uses_environment_in_repository(tmp_path: Path, sandbox: ProcessSandbox, place: str) -> None:
    python = fake_venv(tmp_path / place)
    (tmp_path / place / "lib/python3.11/site-packages/pytest").mkdir(parents=True)
    project = discover(tmp_path, sandbox)
    assert project.interpreter == python
    assert project.environment["VIRTUAL_ENV"] == str(tmp_path / place)
    assert project.environment["PATH"].startswith(f"{tmp_path / place / 'bin'}:")


def test_prefers_active_environment_unless_it_is_own(tmp_path: Path, sandbox: ProcessSandbox) -> None:
    active = fake_venv(tmp_path / "active")
    inside = fake_venv(tmp_path / "repo" / ".venv")
    assert (
        discover(
            tmp_path / "repo", sandbox, environment={"VIRTUAL_ENV": str(tmp_path / "active")}
        ).interpreter
        == active
    )
    assert discover(tmp_path / "repo", sandbox, environment={"VIRTUAL_ENV": sys.prefix}).interpreter == inside


def test_finds_environments_of_other_tools(tmp_path: Path, sandbox: ProcessSandbox) -> None:
    pdm = fake_venv(tmp_path / "pdm")
    write(tmp_path / "a", {".pdm-python": f"{pdm}\n"})
    assert discover(tmp_path / "a", sandbox).interpreter == pdm
    conda = {"CONDA_PREFIX": str(tmp_path / "pdm"), "CONDA_DEFAULT_ENV": "work"}
    (tmp_path / "b").mkdir()
    assert discover(tmp_path / "b", sandbox, environment=conda).interpreter == pdm
    assert discover(
        tmp_path / "b", sandbox, environment={**conda, "CONDA_DEFAULT_ENV": "base"}
    ).interpreter == Path(sys.executable)


def test_takes_python_on_path_that_has_pytest(tmp_path: Path, sandbox: ProcessSandbox) -> None:
    places = {name: tmp_path / name / "bin" for name in ("bare", "full")}
    python = f'#!/bin/sh\nexec {sys.executable} "$@"\n'
    answer = "#!/bin/sh\necho '{}'\n"
    write(places["bare"], {"python3": answer.format(f"{places['bare']}/python3\t")})
    write(places["full"], {"python3": python})
    for place in places.values():
        (place / "python3").chmod(0o755)
    (tmp_path / "repo").mkdir()
    path = os.pathsep.join((str(places["bare"]), str(places["full"]), "/usr/bin", "/bin"))
    own = f"{Path(sys.executable).parent}{os.pathsep}{path}"
    found = discover(tmp_path / "repo", sandbox, environment={"PATH": path})
    assert "Interpreter: " in found.why[0] and "python3 on PATH, which has pytest" in found.why[0]
    assert "since no environment" in discover(tmp_path / "repo", sandbox, environment={"PATH": own}).why[0]


@pytest.mark.parametrize("name", ["python", "pytest"])
def test_takes_the_interpreter_by_another_name_on_path(
    tmp_path: Path, sandbox: ProcessSandbox, name: str
) -> None:
    place = tmp_path / "bin"
    start = f"#!{sys.executable}\n" if name == "pytest" else f'#!/bin/sh\nexec {sys.executable} "$@"\n'
    write(place, {name: start, "python3": "#!/bin/sh\necho '/usr/bin/python3\t'\n"})
    for file in place.iterdir():
        file.chmod(0o755)
    (tmp_path / "repo").mkdir()
    path = os.pathsep.join((str(place), "/usr/bin", "/bin"))
    found = discover(tmp_path / "repo", sandbox, environment={"PATH": path})
    said = "the interpreter of pytest" if name == "pytest" else "python"
    assert name == "pytest" or f"{said} on PATH, which has pytest" in found.why[0]


def test_asks_poetry_where_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python = fake_venv(tmp_path / "poetrys")
    write(
        tmp_path / "bin", {"poetry": f'#!/bin/sh\n[ "$*" = "env info -p" ] && echo {tmp_path / "poetrys"}\n'}
    )
    (tmp_path / "bin" / "poetry").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    write(tmp_path / "repo", {"poetry.lock": ""})
    with ProcessSandbox(os.environ) as sandbox:
        assert discover(tmp_path / "repo", sandbox).interpreter == python


def test_missing_pytest_names_install_command(tmp_path: Path, sandbox: ProcessSandbox) -> None:
    python = fake_venv(tmp_path / ".venv")
    write(tmp_path, {"pyproject.toml": "[tool.pytest.ini_options]\naddopts = '--cov=pkg'"})
    problem = discover(tmp_path, sandbox).problem
    assert problem is not None
    assert (problem.kind, problem.text) == (
        "no_runner",
        f"pytest is not installed in {python}. Install it there: {python} -m pip install pytest pytest-cov",
    )
    write(tmp_path, {"uv.lock": ""})
    assert "uv add --dev pytest pytest-cov" in str(discover(tmp_path, sandbox).problem)


@pytest.mark.parametrize(
    "path", ["testing/loop.py", "src/testing/loop/__init__.py", "plugins/testing/loop.py"]
)
def test_plugin_in_the_repository_is_not_missing(tmp_path: Path, sandbox: ProcessSandbox, path: str) -> None:
    write(tmp_path, {path: "", "pytest.ini": "[pytest]\naddopts = -p testing.loop"})
    assert discover(tmp_path, sandbox).problem is None


@pytest.mark.parametrize(("files", "found", "given"), projects("hints/sources.txt"))
def test_reads_command_from_each_source(
    tmp_path: Path, sandbox: ProcessSandbox, files: dict[str, str], found: list[str], given: str
) -> None:
    write(tmp_path, files)
    project = discover(tmp_path, sandbox, command=given or None)
    assert [project.why[1]] == [f"Test command: {text}." for text in found]
    assert project.why[1].startswith(f"Test command: {project.command.text}, ")


def test_command_that_lacks_a_plugin_gives_way(tmp_path: Path, sandbox: ProcessSandbox) -> None:
    write(tmp_path, {"tox.ini": "[pytest]\n[testenv]\ncommands = pytest -p missing_plugin"})
    assert discover(tmp_path, sandbox).command.text == DEFAULT_COMMAND


def test_unparsable_command_is_user_error(tmp_path: Path, sandbox: ProcessSandbox) -> None:
    with pytest.raises(UserError, match="cannot be understood"):
        discover(tmp_path, sandbox, command="pytest 'open")


@pytest.mark.parametrize(
    ("base", "command"),
    [('{"scripts": {"test": "mocha test"}}', "mocha test"), ("{}", "mocha test -g one")],
    ids=["altered", "first"],
)
def test_a_change_does_not_decide_how_tests_run(
    tmp_path: Path, sandbox: ProcessSandbox, base: str, command: str
) -> None:
    write(
        tmp_path, {"new/package.json": '{"scripts": {"test": "mocha test -g one"}}', "old/package.json": base}
    )
    project = find_project(tmp_path / "new", sandbox=sandbox, environment=OWN, base=tmp_path / "old")
    assert project.command.text == command


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("ModuleNotFoundError: No module named 'yaml'", ". Install it: /p/python -m pip install PyYAML"),
        ("ModuleNotFoundError: No module named 'shop'", ""),
        ("no such option: --x", ""),
    ],
)
def test_names_the_command_that_installs_a_missing_package(tmp_path: Path, text: str, advice: str) -> None:
    write(tmp_path, {"src/shop/__init__.py": ""})
    assert install_advice(text, tmp_path, Path("/p/python")) == advice
