"""Discovery of a project's test setup in its files and environments."""

import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from coder.core.errors import UserError
from coder.linux_distribution import install_hint
from coder.sandbox.process import ProcessSandbox
from coder.verify.project import (
    DEFAULT_COMMAND,
    NO_COVERAGE,
    Command,
    Project,
    editable_roots,
    find_hints,
    install_advice,
    meson_build_directories,
    parse_command,
)
from tests.builders import by_hand, find_project, lines, projects, write

Discover = Callable[..., Project]
OWN = {"PATH": os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))}


@pytest.fixture
def discover(tmp_path: Path, sandbox: ProcessSandbox) -> Discover:
    """Return a function that finds the project in a directory, after these files are written there."""

    def make(
        files: dict[str, str] | None = None, place: str = ".", command: str | None = None, **environment: str
    ) -> Project:
        write(tmp_path / place, files or {})
        (tmp_path / place).mkdir(exist_ok=True)
        variables = {**OWN, **environment}
        return find_project(tmp_path / place, sandbox=sandbox, environment=variables, test_command=command)

    return make


def fake_venv(place: Path) -> Path:
    """Create an environment with an interpreter that has no packages at all."""
    (place / "bin").mkdir(parents=True)
    (place / "pyvenv.cfg").touch()
    python = place / "bin" / "python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S "$@"\n')
    python.chmod(0o755)
    return python


def test_falls_back_to_pytest_of_own_interpreter(discover: Discover) -> None:
    project = discover()
    found = (project.interpreter, project.command.text, project.problem)
    assert found == (Path(sys.executable), DEFAULT_COMMAND, None)
    assert project.why[:2] == (
        f"Interpreter: {sys.executable}, the interpreter that coder runs on, since no environment "
        "of the project was found.",
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
def test_collects_modules_called_tests(discover: Discover, files: tuple[str, ...], options: str) -> None:
    assert discover(dict.fromkeys(files, "")).command.text == f"{DEFAULT_COMMAND}{options}"


def test_projects_below_the_root_have_their_environment_and_directory(
    tmp_path: Path, discover: Discover
) -> None:
    python = fake_venv(tmp_path / "api" / ".venv")
    project = discover({"api/pyproject.toml": "[project]\nname = 'api'\n", "api/test_api.py": ""})
    assert project.interpreter == python
    several = discover({"web/pyproject.toml": "[tool.pytest.ini_options]\n", "web/test_web.py": ""})
    assert "Tested one by one, each in its own directory: api, web." in several.why
    assert discover({"setup.py": ""}).interpreter == Path(sys.executable)


@pytest.mark.parametrize("place", [".venv", ".tox/py311", *by_hand("venv", "env", ".nox/tests")])
def test_uses_environment_in_repository(tmp_path: Path, discover: Discover, place: str) -> None:
    python = fake_venv(tmp_path / place)
    (tmp_path / place / "lib/python3.11/site-packages/pytest").mkdir(parents=True)
    project = discover()
    assert project.interpreter == python
    assert project.environment["VIRTUAL_ENV"] == str(tmp_path / place)
    assert project.environment["PATH"].startswith(f"{tmp_path / place / 'bin'}:")


def test_environments_of_other_tools_and_the_active_one(tmp_path: Path, discover: Discover) -> None:
    """The active one comes first, unless it is coder's own."""
    other = fake_venv(tmp_path / "other")
    inside = fake_venv(tmp_path / "repo" / ".venv")
    assert discover(place="repo", VIRTUAL_ENV=str(tmp_path / "other")).interpreter == other
    assert discover(place="repo", VIRTUAL_ENV=sys.prefix).interpreter == inside
    assert discover({".pdm-python": f"{other}\n"}, "pdm").interpreter == other
    conda = {"CONDA_PREFIX": str(tmp_path / "other"), "CONDA_DEFAULT_ENV": "work"}
    assert discover(place="conda", **conda).interpreter == other
    base = discover(place="conda", **{**conda, "CONDA_DEFAULT_ENV": "base"})
    assert base.interpreter == Path(sys.executable)


def write_programs(place: Path, programs: dict[str, str]) -> str:
    """Write executable files and return their directory, as a part of PATH."""
    write(place, programs)
    for file in place.iterdir():
        file.chmod(0o755)
    return str(place)


SAID = {"python": "python on PATH, which has pytest", "pytest": "the interpreter of pytest"}
PYTHON_HERE = f'#!/bin/sh\nexec {sys.executable} "$@"\n'
BARE = "#!/bin/sh\necho '{}\t'\n"


def test_takes_python_on_path_that_has_pytest(tmp_path: Path, discover: Discover) -> None:
    bare = write_programs(tmp_path / "bare", {"python3": BARE.format(f"{tmp_path}/bare/python3")})
    full = write_programs(tmp_path / "full", {"python3": PYTHON_HERE})
    path = os.pathsep.join((bare, full, "/usr/bin", "/bin"))
    own = f"{Path(sys.executable).parent}{os.pathsep}{path}"
    found = discover(place="repo", PATH=path)
    assert "Interpreter: " in found.why[0] and "python3 on PATH, which has pytest" in found.why[0]
    assert "since no environment" in discover(place="repo", PATH=own).why[0]


@pytest.mark.parametrize("name", ["python", "pytest"])
def test_takes_the_interpreter_by_another_name_on_path(tmp_path: Path, discover: Discover, name: str) -> None:
    """Under its own name, or as that of pytest."""
    python = Path(write_programs(tmp_path / "own", {"python": PYTHON_HERE}), "python")
    text = PYTHON_HERE if name == "python" else f"#!{python}\n"
    place = write_programs(tmp_path / "bin", {name: text, "python3": BARE.format("/usr/bin/python3")})
    found = discover(place="repo", PATH=os.pathsep.join((place, "/usr/bin", "/bin")))
    assert SAID[name] in found.why[0]


def test_asks_poetry_where_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    python = fake_venv(tmp_path / "poetrys")
    poetry = f'#!/bin/sh\n[ "$*" = "env info -p" ] && echo {tmp_path / "poetrys"}\n'
    place = write_programs(tmp_path / "bin", {"poetry": poetry})
    monkeypatch.setenv("PATH", f"{place}:{os.environ['PATH']}")
    discover: Discover = request.getfixturevalue("discover")  # its sandbox has the PATH of above
    assert discover({"poetry.lock": ""}, "repo").interpreter == python


def test_missing_pytest_names_install_command(tmp_path: Path, discover: Discover) -> None:
    python = fake_venv(tmp_path / ".venv")
    problem = discover({"pyproject.toml": "[tool.pytest.ini_options]\naddopts = '--cov=pkg'"}).problem
    assert problem is not None
    assert (problem.kind, problem.text) == (
        "no_runner",
        f"pytest is not installed in {python}. Install it there: {python} -m pip install pytest pytest-cov",
    )
    assert "uv add --dev pytest pytest-cov" in str(discover({"uv.lock": ""}).problem)


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("class CartTest(TestCase):\n    def test_total(self): pass\n", "python -m unittest"),
        ("class CartTest(TestCase): pass\n\n\ndef test_total(): pass\n", DEFAULT_COMMAND),
    ],
)
def test_unittest_runs_its_own_tests_where_no_pytest_is(
    tmp_path: Path, discover: Discover, text: str, command: str
) -> None:
    fake_venv(tmp_path / ".venv")
    project = discover({"test_cart.py": text})
    assert (project.command.text, project.problem is None) == (command, command != DEFAULT_COMMAND)


@pytest.mark.parametrize(
    "path", ["testing/loop.py", "src/testing/loop/__init__.py", "plugins/testing/loop.py"]
)
def test_plugin_in_the_repository_is_not_missing(discover: Discover, path: str) -> None:
    assert discover({path: "", "pytest.ini": "[pytest]\naddopts = -p testing.loop"}).problem is None


@pytest.mark.parametrize(("files", "found", "given"), projects("hints/sources.txt"))
def test_reads_command_from_each_source(
    discover: Discover, files: dict[str, str], found: list[str], given: str
) -> None:
    project = discover(files, command=given or None)
    assert [project.why[1]] == [f"Test command: {text}." for text in found]
    assert project.why[1].startswith(f"Test command: {project.command.text}, ")


def test_command_that_lacks_a_plugin_gives_way(discover: Discover) -> None:
    lacking = {"tox.ini": "[pytest]\n[testenv]\ncommands = pytest -p missing_plugin"}
    assert discover(lacking).command.text == DEFAULT_COMMAND
    with pytest.raises(UserError, match="cannot be understood"):
        discover(command="pytest 'open")


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


@pytest.mark.parametrize(("files", "commands", "_given"), projects("hints/commands.txt"))
def test_finds_test_commands(tmp_path: Path, files: dict[str, str], commands: list[str], _given: str) -> None:
    write(tmp_path, files)
    assert [hint.command for hint in find_hints(tmp_path)] == commands


@pytest.mark.parametrize(
    ("makefile", "commands"),
    [
        ("test: t\n\t./t\n", ["make test"]),
        ("all:\n\tcc a.c\n\n.PHONY: check\ncheck: all\n\t./run\n", ["make check"]),
        ("test := 3\nall:\n\tcc a.c\n", []),
    ],
)
def test_targets_of_a_makefile_run_the_tests_where_no_python_is(
    tmp_path: Path, makefile: str, commands: list[str]
) -> None:
    write(tmp_path, {"Makefile": makefile, "a.c": "", "tests/test_a.c": ""})
    assert [hint.command for hint in find_hints(tmp_path)] == commands
    write(tmp_path, {"tests/test_a.py": ""})
    assert not any(hint.command.startswith("make") for hint in find_hints(tmp_path))


PYTHON = Path("/venv/bin/python")
MODULE = ("/venv/bin/python", "-m", "pytest")


@pytest.mark.parametrize("case", lines("commands/parsed.txt"))
def test_parses_test_command(case: str) -> None:
    text, shown, run = case.split(" => ")
    runner, _, argv = run.partition(": ")
    assert parse_command(text, PYTHON) == Command(text=shown, argv=tuple(shlex.split(argv)), runner=runner)


def test_assignments_become_environment() -> None:
    command = parse_command("A=1 B='x y' pytest", PYTHON)
    assert (command.environment, command.argv) == ({"A": "1", "B": "x y"}, MODULE)


def test_program_env_sets_and_unsets_variables() -> None:
    command = parse_command("env -u CI --unset B A=1 pytest -x", PYTHON)
    assert (command.runner, command.environment) == ("pytest", {"CI": "", "B": "", "A": "1"})
    assert command.argv == (*MODULE, "-x")
    assert parse_command("env -i pytest", PYTHON).argv == ("env", "-i", "pytest")


def test_options_of_interpreter_become_environment() -> None:
    command = parse_command("python -W error -X dev -W ignore::ResourceWarning -m unittest", PYTHON)
    assert (command.environment, command.runner) == (
        {"PYTHONWARNINGS": "error,ignore::ResourceWarning", "PYTHONDEVMODE": "1"},
        "unittest",
    )


@pytest.mark.parametrize("text", ["", "A=1", "pytest 'open"])
def test_refuses_invalid_command(text: str) -> None:
    with pytest.raises(ValueError, match=r"command|quotation"):
        parse_command(text, PYTHON)


@pytest.mark.parametrize(("options", "code"), [((), 1), (NO_COVERAGE[1:], 0)])
def test_disabled_coverage_is_no_error_where_warnings_are(
    tmp_path: Path, options: tuple[str, ...], code: int
) -> None:
    hook = (
        "import warnings\n\n\ndef pytest_terminal_summary():\n"
        "    warnings.warn('Coverage disabled via --no-cov switch!')\n"
    )
    ini = "[pytest]\nfilterwarnings =\n    error\n"
    write(tmp_path, {"conftest.py": hook, "pytest.ini": ini, "test_a.py": "def test_a(): pass\n"})
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options]
    assert subprocess.run(command, cwd=tmp_path, capture_output=True, check=False).returncode == code


def test_finds_build_directory_of_editable_meson_installation(tmp_path: Path) -> None:
    build = tmp_path / "checkout" / "build" / "cp311"
    (build / "meson-info").mkdir(parents=True)
    loader = f"install('pkg', {{'pkg'}}, '{build}', ['/usr/bin/ninja'], False)\n"
    write(tmp_path / "venv", {"lib/python3.11/site-packages/_pkg_editable_loader.py": loader})
    assert meson_build_directories(tmp_path / "venv") == [str(build)]
    assert meson_build_directories(tmp_path / "checkout") == []


def test_finds_source_roots_of_editable_installations(tmp_path: Path) -> None:
    root = tmp_path / "checkout"
    names = ("path", "finder", "hatch")
    write(root, {f"libs/deep/down/{name}/src/pkg/__init__.py": "" for name in names})
    sources = {name: f"{root}/libs/deep/down/{name}/src" for name in names}
    hooks = {
        "a.pth": f"import os\n{sources['path']}\n/usr/lib\n{root}/gone\n",
        "__editable___finder_1_finder.py": f"MAPPING = {{'pkg': '{sources['finder']}/pkg'}}\n",
        "_editable_impl_hatch.py": f"F.map_module('pkg', '{sources['hatch']}/pkg/__init__.py')\n",
        "other.py": f"'{root}/libs'\n",
    }
    write(tmp_path / "venv" / "lib" / "python3.11" / "site-packages", hooks)
    found = editable_roots(tmp_path / "venv", root)
    assert sorted(found) == sorted(f"libs/deep/down/{name}/src" for name in names)


ABSENT = "No such file or directory"
MINT = 'ID=linuxmint\nID_LIKE="ubuntu debian"'


@pytest.mark.parametrize(
    ("output", "release", "words"),
    [
        (f"src/a.c:1:10: fatal error: Python.h: {ABSENT}", "ID=debian", "sudo apt install python3-dev"),
        (f"error: command 'gcc' failed: {ABSENT}", MINT, "sudo apt install build-essential"),
        (f"error: command 'x86_64-linux-gnu-gcc' failed: {ABSENT}", "ID=fedora", "sudo dnf install gcc"),
        ("/bin/sh: 1: g++: not found", "ID=alpine", "sudo apk add build-base"),
        ("Error: pg_config executable not found.", "ID=arch", "sudo pacman -S postgresql-libs"),
        (f"libGL.so.1: cannot open shared object file: {ABSENT}", "ID=debian", "sudo apt install libgl1"),
        ("error: can't find Rust compiler", "ID=opensuse-leap\nID_LIKE=suse", "sudo zypper install cargo"),
        ("error: can't find Rust compiler", "ID=haiku", "This machine lacks Rust; install its package"),
    ],
)
def test_names_the_distributions_command(tmp_path: Path, output: str, release: str, words: str) -> None:
    write(tmp_path, {"etc/os-release": f"{release}\n"})
    assert words in install_hint(output, tmp_path)


def test_ignores_names_without_system_package(tmp_path: Path) -> None:
    assert install_hint("ERROR: No matching distribution found for tabulate", tmp_path) == ""
    assert install_hint("error: command 'gcc' failed with exit code 1", tmp_path) == ""
