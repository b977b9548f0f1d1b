"""Functions and files that real tests use, and the tests that an edit may reach."""

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from coder.core.ports import ImpactedTests, Limits
from coder.sandbox.process import ProcessSandbox
from coder.verify.coverage_map import (
    CoverageEntry,
    CoverageMap,
    TracedImpact,
    load_coverage,
    save_coverage,
    trace_coverage,
)
from coder.verify.project import find_project
from tests.builders import write

FILES = {
    "shop.py": """\
from pathlib import Path

RATE = 2


def at_import():
    return RATE


LIMIT = at_import()


def price(number):
    return number * RATE


def opened():
    return [price(1)]


def told():
    return Path(__file__).with_name("note.txt").read_text()


def nobody():
    return 0


def asked(request):
    return request.getfixturevalue("rare")


def waited(event):
    event.wait()
    return 1
""",
    "other.py": "def alone():\n    return 1\n",
    "note.txt": "note",
    "README.md": "Hello.",
    "pytest.ini": "[pytest]\n",
    "tests/test_shop.py": """\
import subprocess, sys, threading
import pytest, shop

@pytest.fixture(scope="module")
def stock():
    return shop.opened()

@pytest.fixture(scope="module")
def rare():
    return shop.opened()

def test_first(stock):
    assert stock == [2]

def test_second(stock):
    assert stock == [2]

def test_note():
    assert shop.told() == "note"

def test_elsewhere():
    subprocess.run([sys.executable, "-c", "import shop"], check=True)

def test_asked(request):
    assert shop.asked(request) == [2]

def test_thread():
    threading.Thread(target=shop.waited, args=(threading.Event(),), daemon=True).start()
""",
    "tests/test_other.py": "import other\n\ndef test_alone():\n    assert other.alone() == 1\n",
}
FIRST, SECOND, NOTE, ELSEWHERE, THREAD, ASKED = (
    f"tests/test_shop.py::test_{name}" for name in ("first", "second", "note", "elsewhere", "thread", "asked")
)
ALL = (FIRST, SECOND, NOTE, ELSEWHERE, THREAD, ASKED)
ALONE = "tests/test_other.py::test_alone"


@pytest.fixture(scope="module")
def traced_tree(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, CoverageMap]:
    tree = tmp_path_factory.mktemp("traced")
    write(tree, FILES)
    return tree, learn_reach(tree, CoverageMap())


def learn_reach(tree: Path, reach_map: CoverageMap) -> CoverageMap:
    with ProcessSandbox(os.environ) as sandbox:
        project = find_project(tree, sandbox=sandbox, environment={"PATH": os.environ["PATH"]})
        return trace_coverage(
            tree,
            reach_map,
            project=project,
            sandbox=sandbox,
            scratch=sandbox.scratch,
            limits=Limits(memory_bytes=None),
            seconds=60.0,
        )


def edited_texts(path: str, old: str, new: str) -> Mapping[str, str]:
    assert old in FILES[path]
    return {path: FILES[path].replace(old, new, 1)}


@pytest.mark.parametrize(
    ("edits", "expected"),
    [
        (
            edited_texts("shop.py", "number * RATE", "number * 3"),
            ImpactedTests(tests=(FIRST, SECOND, ELSEWHERE, ASKED)),
        ),
        (edited_texts("shop.py", ".read_text()", ".read_text()[1:]"), ImpactedTests(tests=(NOTE, ELSEWHERE))),
        (edited_texts("shop.py", "return RATE", "return 5"), ImpactedTests(tests=ALL)),
        (edited_texts("shop.py", "RATE = 2", "RATE = 3"), ImpactedTests(tests=ALL)),
        (edited_texts("other.py", "return 1", "return 2"), ImpactedTests(tests=(ALONE, ELSEWHERE))),
        (
            {**edited_texts("note.txt", "note", "other"), "README.md": "Hello, you."},
            ImpactedTests(tests=(NOTE, ELSEWHERE)),
        ),
        (edited_texts("tests/test_other.py", "== 1", "== 2"), ImpactedTests(tests=(ALONE, ELSEWHERE))),
        (
            {"tests/test_new.py": "def test_new(): pass\n"},
            ImpactedTests(tests=(ELSEWHERE, "tests/test_new.py")),
        ),
        (edited_texts("shop.py", "event.wait()", "event.wait(9)"), ImpactedTests(tests=(THREAD, ELSEWHERE))),
        (edited_texts("shop.py", "request.get", "request . get"), ImpactedTests(tests=(ASKED, ELSEWHERE))),
        (
            edited_texts("shop.py", "return 0", "return 1"),
            ImpactedTests(everything=True, why="no test is known to reach the change"),
        ),
        ({"README.md": ""}, ImpactedTests(everything=True, why="no test is known to reach the change")),
        (
            {"pytest.ini": "[pytest]\naddopts = -x\n"},
            ImpactedTests(everything=True, why="pytest.ini may decide how tests run"),
        ),
        (
            {"json.py": ""},
            ImpactedTests(everything=True, why="json.py is new: who will find it is not known"),
        ),
        ({"other.py": None}, ImpactedTests(tests=(ALONE, ELSEWHERE))),
    ],
)
def test_edit_reaches_callers_readers_and_importers(
    traced_tree: tuple[Path, CoverageMap], edits: Mapping[str, str | None], expected: ImpactedTests
) -> None:
    reach = TracedImpact(*traced_tree).impacted_tests(edits)
    in_order = sorted(
        expected.tests,
        key=lambda test: traced_tree[1].tests.index(test) if test in traced_tree[1].tests else 99,
    )
    assert reach == expected.model_copy(update={"tests": tuple(in_order), "soonest": reach.soonest})
    assert sorted(reach.soonest) == sorted(reach.tests)


def test_orders_quick_and_diverse_tests_first(tmp_path: Path) -> None:
    write(tmp_path, {"a.py": "def one():\n    return 1\n"})
    seconds = {
        "t.py::long": 9.0,
        "t.py::slow": 0.03,
        "t.py::also": 0.02,
        "t.py::quick": 0.01,
        "t.py::other": 0.02,
    }
    entries = (CoverageEntry(calls={"a.py": (1,)}), CoverageEntry(calls={"a.py": (1,), "b.py": (1,)}))
    entry_of = {test: int(test == "t.py::other") for test in seconds}
    impact = TracedImpact(
        tmp_path, CoverageMap(tests=tuple(seconds), entries=entries, entry_of=entry_of, seconds=seconds)
    )
    reach = impact.impacted_tests({"a.py": "def one():\n    return 2\n"})
    assert reach.tests == tuple(seconds)
    assert reach.soonest == ("t.py::quick", "t.py::other", "t.py::slow", "t.py::also", "t.py::long")


def test_unknown_test_is_always_reached(traced_tree: tuple[Path, CoverageMap]) -> None:
    tree, reach_map = traced_tree
    remaining = {test: number for test, number in reach_map.entry_of.items() if test != ALONE}
    impact = TracedImpact(tree, reach_map.model_copy(update={"entry_of": remaining}))
    assert ALONE in impact.impacted_tests(edited_texts("shop.py", "number * RATE", "number * 3")).tests


def test_everything_is_reached_without_data(tmp_path: Path) -> None:
    assert TracedImpact(tmp_path, CoverageMap()).impacted_tests({"a.py": ""}).everything


def test_retraces_only_tests_affected_by_file_changes(
    traced_tree: tuple[Path, CoverageMap], tmp_path: Path
) -> None:
    _, reach_map = traced_tree
    save_coverage(reach_map, tmp_path / "state" / "known.json")
    assert load_coverage(tmp_path / "state" / "known.json") == reach_map
    assert load_coverage(tmp_path / "nowhere.json") == CoverageMap()
    marked = dict.fromkeys(reach_map.tests, 77.0)
    write(
        tmp_path / "tree",
        {
            **FILES,
            "other.py": "def alone():\n    return 0 + 1\n",
            "tests/test_new.py": "def test_new(): pass\n",
        },
    )
    again = learn_reach(tmp_path / "tree", reach_map.model_copy(update={"seconds": marked}))
    new = "tests/test_new.py::test_new"
    assert {test for test, seconds in again.seconds.items() if seconds != 77.0} == {ALONE, new}
    assert again.entry_of.keys() == {*reach_map.tests, new}
    assert set(again.tests) == {*reach_map.tests, new}
    assert learn_reach(tmp_path / "tree", again) is again
