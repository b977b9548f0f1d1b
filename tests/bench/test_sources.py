"""Tasks from rows of SWE-bench: names of their tests, files of rows."""

import json
from pathlib import Path

import pytest

from coder.bench.runner import write_predictions
from coder.bench.suites import make_benchmark, match_benchmark_names, read_rows
from coder.core.verdict import VerdictKind
from coder.wiring.session import RuntimeOptions as Settings
from tests.bench.outcomes import outcome
from tests.builders import git, repo


@pytest.mark.parametrize(
    ("name", "ids"),
    [
        ("tests/test_a.py::Case::test_x", ("tests/test_a.py::Case::test_x",)),
        ("test_x (test_a.Case)", ("tests/test_a.py::Case::test_x",)),
        ("test_x (tests.test_a.Case.test_x)", ("tests/test_a.py::Case::test_x",)),
        ("test_bare", ("tests/test_b.py::test_bare",)),
        ("tests/test_b.py::test_p", ("tests/test_b.py::test_p[1]", "tests/test_b.py::test_p[2]")),
        ("tests/test_b.py::test_p[2]", ("tests/test_b.py::test_p[2]",)),
        ("test_gone", ()),
    ],
)
def test_benchmark_names_are_matched_by_their_parts(name: str, ids: tuple[str, ...]) -> None:
    find = match_benchmark_names(
        [
            *("tests/test_a.py::Case::test_x", "tests/test_b.py::test_bare"),
            *("tests/test_b.py::test_p[1]", "tests/test_b.py::test_p[2]"),
        ]
    )
    assert find(name) == ids


def test_what_is_no_row_is_one_line_and_the_others_stay(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    bad = [
        "{",
        "[]",
        '{"repo": "a/b"}',
        '{"instance_id": "../x"}',
        '{"instance_id": 3}',
        '{"instance_id": "a"}',
    ]
    file.write_text("\n".join(['{"instance_id": "a"}', *bad, "", '{"instance_id": "b"}']), encoding="utf-8")
    lines: list[str] = []
    assert [row["instance_id"] for row in read_rows(file, lines.append)] == ["a", "b"]
    assert [line.partition(":")[0] for line in lines] == [f"skipped line {number}" for number in range(2, 8)]


def test_row_that_cannot_be_judged_is_one_line_and_the_others_go_on(tmp_path: Path) -> None:
    root = repo(tmp_path / "checkouts" / "o__no-issue", {"a.py": "A = 0\n"})
    rows = [
        {"instance_id": "o__gone-1", "repo": "o/gone"},
        {"instance_id": "o__no-issue", "repo": "o/r", "base_commit": "f" * 40},
        {"instance_id": "o__bad-patch", "repo": "o/no-issue", "base_commit": "HEAD", "test_patch": "?"},
    ]
    lines: list[str] = []
    make_benchmark(
        rows,
        tmp_path / "tasks",
        checkouts=root.parent,
        only=(),
        options=Settings(trusted=True, unsafe=True),
        report=lines.append,
    )
    assert [line.partition(": ")[2] for line in lines] == [
        f"there is no checkout o__gone-1 or o__gone in {root.parent}",
        "it has no problem_statement, or no test_patch",
        f"its test_patch does not apply to {git(root, 'rev-parse', 'HEAD')[:10]}",
    ]


def test_predictions_hold_first_change_of_each_instance(tmp_path: Path) -> None:
    runs = [
        outcome("a", seed=2, diff="second"),
        outcome("a", diff="first"),
        outcome("b", kind=VerdictKind.GAVE_UP),
    ]
    (file,) = write_predictions(tmp_path, runs)
    assert [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] == [
        {"instance_id": "a", "model_name_or_path": "coder-linear-m:one", "model_patch": "first"},
        {"instance_id": "b", "model_name_or_path": "coder-linear-m:one", "model_patch": ""},
    ]
    assert len(write_predictions(tmp_path, [*runs, outcome("a", model="m:two")])) == 2
