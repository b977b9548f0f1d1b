import os
import subprocess
import sys
from pathlib import Path

import pytest

from coder.core.notes import Component, Plan
from coder.strategies.build import merge_components, merged_path
from tests.builders import write

PLAN = Plan(
    summary='Says "hello" in a \\ way.',
    components=(
        Component(
            name="cli",
            purpose="Prints it.",
            path="hello/cli.py",
            dependencies=("texts",),
            tests=("tests/test_cli.py",),
        ),
        Component(name="texts", purpose="Makes it.", path="hello/texts.py", tests=("tests/test_texts.py",)),
    ),
)
TEXTS = {
    "hello/cli.py": '"""Cli."""\n\nimport sys\n\nfrom hello.texts import greet\n\n\n'
    "def main(argv=None):\n    print(greet((argv or sys.argv[1:])[0]))\n    return 0\n\n\n"
    'if __name__ == "__main__":\n    sys.exit(main())\n',
    "hello/texts.py": '"""Texts."""\n\nfrom __future__ import annotations\n\nimport os, sys\n\n\n'
    "# The greeting.\nWORD = 'Hello'\n\n\ndef greet(name: str) -> str:\n    return f'{WORD} {name}'\n",
    "tests/test_cli.py": "from hello.cli import main\n\n\ndef test_main(capsys):\n"
    "    assert main(['Ada']) == 0\n    assert capsys.readouterr().out == 'Hello Ada\\n'\n",
    "tests/test_texts.py": "from hello.texts import greet\n\n\ndef test_greet():\n"
    "    assert greet('A') == 'Hello A'\n",
}


def test_merged_file_runs_and_passes_its_tests(tmp_path: Path) -> None:
    merged = merge_components(PLAN, TEXTS)
    assert merged.faults == () and merged_path(PLAN) == "hello.py"
    write(tmp_path, dict(merged.texts))
    text = merged.texts["hello.py"]
    assert text.index("# --- texts ---") < text.index("# --- cli ---")
    assert "# The greeting." in text
    compile(text, "hello.py", "exec")
    run = [sys.executable, "hello.py", "Ada"]
    assert (
        subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, check=True).stdout == "Hello Ada\n"
    )
    tests = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    result = subprocess.run(tests, cwd=tmp_path, env=environment, capture_output=True, check=False)
    assert result.returncode == 0


@pytest.mark.parametrize(
    ("path", "old", "new", "fault"),
    [
        (
            "hello/cli.py",
            "def main",
            "WORD = 1\ndef main",
            "WORD is defined in hello/texts.py too: rename it here.",
        ),
        ("hello/cli.py", "import greet", "import greet as g", "Import greet by its own name."),
        (
            "hello/cli.py",
            "from hello.texts import greet",
            "import hello.texts",
            "Import the names of components one by one: `from package.module import name`.",
        ),
        (
            "hello/cli.py",
            "from hello.texts import greet",
            "from hello import texts",
            "Import the names of components one by one: `from package.module import name`.",
        ),
        (
            "hello/cli.py",
            "    print(greet",
            "    from hello.texts import greet\n    print(greet",
            "Import from components at the top of the module.",
        ),
        (
            "hello/cli.py",
            "def main",
            "def start",
            "No component defines `main`, with which the merged file starts.",
        ),
        (
            "hello/cli.py",
            "import sys\n",
            "import os as sys\n",
            "`import os as sys` is `import sys` elsewhere: rename one.",
        ),
        (
            "tests/test_cli.py",
            "    assert main",
            "    monkeypatch.setattr('hello.texts.WORD', 'x')\n    assert main",
            "hello.texts is merged with the others: use `from hello.texts import name` only.",
        ),
    ],
)
def test_faults_stand_against_a_merge(path: str, old: str, new: str, fault: str) -> None:
    assert old in TEXTS[path]
    faults = merge_components(PLAN, {**TEXTS, path: TEXTS[path].replace(old, new, 1)}).faults
    assert [finding.text for finding in faults] == [fault]
    assert faults[0].path == path


def test_relative_imports_are_dropped_as_well() -> None:
    text = TEXTS["hello/cli.py"].replace("from hello.texts", "from .texts")
    assert (
        merge_components(PLAN, {**TEXTS, "hello/cli.py": text}).texts == merge_components(PLAN, TEXTS).texts
    )
