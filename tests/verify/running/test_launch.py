"""What a test process is given and sends, and problems of its command."""

import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from coder.core.ports import Execution
from coder.settings import Config
from coder.verify.launch import TARGET, Recording, RecordPipe, label_of, prepare_labelled_run, run_problem
from coder.verify.project import parse_command
from coder.verify.run import (
    read_json_lines,
)
from coder.verify.runners.registry import missing_results_problem
from tests.builders import lines, write

PYTHON = Path("/venv/bin/python")
DJANGO_SCRIPT = "import django\nparser.add_argument('--parallel')\n"


@pytest.mark.parametrize("case", lines("commands/labels.txt"))
def test_translates_file_to_label(tmp_path: Path, case: str) -> None:
    command, _, expected = case.partition(" => ")
    path = expected.partition(": ")[0]
    write(tmp_path, {"tests/runtests.py": DJANGO_SCRIPT, path: ""})
    parsed = parse_command(command, PYTHON, root=tmp_path)
    run = prepare_labelled_run(parsed, [path], tmp_path)
    place = f" (in {run.root})" if run.root else ""
    assert f"{path}: {shlex.join(run.arguments)}{place}" == expected
    assert tuple(run.labels.values()) == (path,)


def test_leaves_out_files_without_label(tmp_path: Path) -> None:
    parsed = parse_command("python manage.py test", PYTHON)
    run = prepare_labelled_run(parsed, ["gis_tests/tests.py", "shop/test-a.py", "shop/test_b.py"], tmp_path)
    assert run.labels == {"shop.test_b": "shop/test_b.py"}
    assert label_of("a/b.txt", "") == ""


WRITER = (
    "import os, sys; sys.path.insert(0, sys.argv[1]); from coder_sign import make_signer; sign = "
    "make_signer(sys.argv[3]);"
)


def receive(tmp_path: Path, script: str) -> tuple[list[Mapping[str, Any]], int]:
    """Return what a process that runs `script` sent: valid records, and the number of forged lines."""
    records: list[Mapping[str, Any]] = []
    with RecordPipe(tmp_path / "report", records.append) as pipe:
        code = f"{WRITER} pipe = os.open(sys.argv[2], os.O_WRONLY); {script}"
        subprocess.run([sys.executable, "-c", code, str(TARGET), str(pipe.path), pipe.key], check=True)
    return records, pipe.forged_lines


@pytest.mark.parametrize(
    ("script", "numbers", "forged"),
    [
        ("""[os.write(pipe, sign(b'{"n": %d}' % n) + b"\\n") for n in range(3)]""", [0, 1, 2], 0),
        ("""os.write(pipe, b'{"n": 1}\\n{"n"')""", [], 2),
        ("""line = sign(b'{"n": 1}') + b"\\n"; os.write(pipe, line + line)""", [1], 1),
    ],
    ids=["sealed", "unsealed and cut", "repeated"],
)
def test_only_sealed_records_arrive(tmp_path: Path, script: str, numbers: list[int], forged: int) -> None:
    assert receive(tmp_path, script) == ([{"n": number} for number in numbers], forged)


def problem_kind(output: str, exit_code: int) -> str | None:
    execution = Execution(exit_code=exit_code, output=output, seconds=1.0)
    problem = run_problem(Recording(), execution, runner="other", wall_seconds=60.0)
    return problem.kind if problem else None


@pytest.mark.parametrize(
    ("output", "exit_code"),
    [
        ("sh: 1: carg: not found\n", 127),
        ("error: no such command: `tset`\n\nhelp: a command with a similar name exists: `test`\n", 101),
        ("go tset: unknown command\nRun 'go help' for usage.\n", 2),
        ("/usr/bin/python3: No module named pytst\n", 1),
        ("make: *** No rule to make target 'tset'.  Stop.\n", 2),
        ("make: .venv/bin/python: No such file or directory\nmake: *** [Makefile:2: test] Error 127\n", 2),
        ("make[1]: *** [Makefile:2: a] Error 126\nmake: *** [Makefile:5: test] Error 2\n", 2),
        ('npm error Missing script: "tset"\n', 1),
        ("1 test failed\nmake: *** No rule to make target 'x'.\n", 2),
        ("1 test failed\nmake: *** [Makefile:2: test] Error 1\n", 2),
    ],
)
def test_command_that_is_unknown_did_not_start(output: str, exit_code: int) -> None:
    kind = None if output.startswith("1 test failed") else "usage"
    assert problem_kind(output, exit_code) == kind


@pytest.mark.parametrize(
    ("exit_code", "has_tests", "kind"),
    [(0, True, "no_tests"), (1, False, "no_tests"), (1, True, "no_report")],
)
def test_runner_may_fail_for_want_of_tests(exit_code: int, has_tests: bool, kind: str) -> None:
    execution = Execution(exit_code=exit_code, output="No test files found", seconds=1.0)
    assert missing_results_problem("mocha", execution, has_tests=has_tests).kind == kind


def phase(when: str, outcome: str, **fields: object) -> dict[str, object]:
    return {
        "kind": "phase",
        "id": "a",
        "when": when,
        "outcome": outcome,
        "seconds": 0.5,
        "xfail": False,
        **fields,
    }


def test_test_that_runs_when_the_run_is_cut_did_not_end() -> None:
    """A test fails as its first failure says, whichever of its phases pass."""
    failure = {"message": "", "frames": [["a.py", 1, "f"]], "text": ""}
    first, second = {**failure, "type": "First"}, {**failure, "type": "Second"}
    recording = Recording()
    for line in (
        *({"kind": "session"}, {"kind": "collected", "count": 2}, {"kind": "start", "id": "a"}),
        *(phase("setup", "passed"), phase("call", "passed")),
        *(phase("call", "failed", failure=first), phase("call", "failed", failure=second)),
        *(phase("teardown", "passed"), {"kind": "start", "id": "b"}),
    ):
        recording.add(line)
    state = (recording.began, recording.finished, recording.running_tests, recording.progress)
    assert state == (True, False, ("b",), "1 of 2 tests, 1 red")
    (ended,) = recording.results
    assert ended.failure is not None
    assert (ended.outcome, ended.when, ended.seconds, ended.failure.type) == ("failed", "call", 1.5, "First")
    (result,) = recording.end_running(began=0.0)
    assert (result.id, result.red, result.failure and result.failure.type) == ("b", True, "TooLong")
    assert 0 <= result.seconds < 10


def test_torn_last_line_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "report").write_text('{"id": "a"}\n{"id"', encoding="utf-8")
    assert [*read_json_lines(tmp_path / "report")] == [{"id": "a"}]


def test_packages_that_cannot_be_fetched_are_named_with_what_gets_them() -> None:
    output = "error: no matching package named `serde` found\nyou're using offline mode (--offline)\n"
    execution = Execution(exit_code=101, output=output, seconds=1.0)
    text = missing_results_problem("cargo test", execution, has_tests=True).text
    assert "get them first: cargo fetch" in text
    assert "no matching package named `serde` found" in text


@pytest.mark.parametrize("exceeded", ["more than 8 GiB of memory", "more than 1024 processes"])
def test_a_remedy_names_a_setting_that_exists(exceeded: str) -> None:
    execution = Execution(exit_code=None, output="", seconds=1.0, exceeded=exceeded)
    problem = run_problem(Recording(), execution, runner="pytest", wall_seconds=60.0)
    assert problem is not None
    settings = problem.text.split("`")[1::2]
    assert {*settings} <= Config.model_fields.keys()
    assert bool(settings) == exceeded.endswith("memory")
