"""What real tests execute and read, and the tests that an edit may affect."""

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from coder.core.ports import Limits
from coder.core.verdict import TestReport, TestResult
from coder.sandbox.process import ProcessSandbox
from coder.verify.coverage_map import (
    CoverageMap,
    MapOnTree,
    MapProgress,
    TreeFiles,
    load_coverage,
    record_map,
    split_source,
)
from coder.verify.impact import select_tests
from coder.verify.project import find_project
from coder.verify.run import PytestRunner
from coder.verify.select import SuiteSelection
from tests.builders import write

FILES = {
    "shop.py": """\
from pathlib import Path

import rates


def at_import():
    return rates.RATE


LIMIT = at_import()


def price(number):
    return number * rates.RATE


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
    "rates.py": "RATE = 2\n\n\ndef unused():\n    return RATE\n",
    "other.py": "def alone():\n    return 1\n",
    "note.txt": "note",
    "README.md": "Hello.",
    "pytest.ini": "[pytest]\n",
    "tests/test_shop.py": """\
import subprocess, sys, threading
import pytest, shop

@pytest.fixture(scope="session")
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
FIRST, SECOND, NOTE, ELSEWHERE, ASKED, THREAD = (
    f"tests/test_shop.py::test_{name}" for name in ("first", "second", "note", "elsewhere", "asked", "thread")
)
ALL = (FIRST, SECOND, NOTE, ELSEWHERE, ASKED, THREAD)
ALONE = "tests/test_other.py::test_alone"


def record(tree: Path, coverage: CoverageMap, *, command: str | None = None) -> MapProgress:
    with ProcessSandbox(os.environ) as sandbox:
        environment = {"PATH": os.environ["PATH"]}
        project = find_project(tree, sandbox=sandbox, environment=environment, test_command=command)
        limits = Limits(memory_bytes=None)
        runner = PytestRunner(project=project, sandbox=sandbox, scratch=sandbox.scratch, limits=limits)
        return record_map(runner, tree, coverage, tree.parent / "map", cores=2)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, CoverageMap]:
    tree = tmp_path_factory.mktemp("recorded") / "tree"
    write(tree, FILES)
    coverage = CoverageMap()
    progress = record(tree, coverage)
    assert progress[:3] == (2, 2, 7)
    return tree, coverage


def edited_texts(path: str, old: str, new: str) -> dict[str, str | None]:
    assert old in FILES[path]
    return {path: FILES[path].replace(old, new, 1)}


@pytest.mark.parametrize(
    ("edits", "expected"),
    [
        (
            edited_texts("shop.py", "number * rates.RATE", "number * 3"),
            (FIRST, SECOND, ELSEWHERE, ASKED),
        ),
        (edited_texts("shop.py", ".read_text()", ".read_text()[1:]"), (NOTE, ELSEWHERE)),
        (edited_texts("shop.py", "return rates.RATE", "return 5"), ALL),
        (edited_texts("shop.py", "def nobody():\n    return 0\n", ""), ALL),
        (edited_texts("shop.py", "\ndef opened", "\nEXTRA = 1\n\n\ndef opened"), ALL),
        (edited_texts("shop.py", "\ndef opened", "\n# How.\n\n\ndef opened"), (ELSEWHERE,)),
        (edited_texts("rates.py", "RATE = 2", "RATE = 3"), ALL),
        (edited_texts("other.py", "return 1", "return 2"), (ALONE, ELSEWHERE)),
        (
            {**edited_texts("note.txt", "note", "other"), "README.md": "Hello, you."},
            (NOTE, ELSEWHERE),
        ),
        (edited_texts("tests/test_other.py", "== 1", "== 2"), (ALONE, ELSEWHERE)),
        (
            {"tests/test_new.py": "def test_new(): pass\n"},
            (ELSEWHERE, "tests/test_new.py"),
        ),
        (edited_texts("shop.py", "event.wait()", "event.wait(9)"), (ELSEWHERE, THREAD)),
        (edited_texts("shop.py", "request.get", "request . get"), (ELSEWHERE, ASKED)),
        (edited_texts("shop.py", "return 0", "return 1"), (ELSEWHERE,)),
        ({"README.md": ""}, (ELSEWHERE,)),
        ({"data.json": ""}, None),
        ({"pytest.ini": "[pytest]\naddopts = -x\n"}, None),
        ({"json.py": ""}, None),
        ({"other.py": None}, (ALONE, ELSEWHERE)),
        ({"tests/conftest.py": ""}, (ALONE, *ALL)),
    ],
)  # fmt: skip
def test_edit_reaches_callers_readers_and_importers(
    recorded: tuple[Path, CoverageMap], edits: Mapping[str, str | None], expected: tuple[str, ...] | None
) -> None:
    selection = select_tests(recorded[0], edits, recorded[1], None)
    whole = {file: [test for test in (ALONE, *ALL) if test.startswith(f"{file}::")] for file in FILES}
    tests = [test for name in selection.tests for test in whole.get(name, [name])] if selection else None
    assert (tests and sorted(tests)) == (expected and sorted(expected))


NAMED = SuiteSelection(files=("tests/test_shop.py",))


@pytest.mark.parametrize(
    ("edits", "static", "tests", "count"),
    [
        (edited_texts("other.py", "return 1", "return 2"), SuiteSelection(), (ALONE,), 1),
        (edited_texts("other.py", "return 1", "return 2"), NAMED, (ALONE[:19], ELSEWHERE), 2),
        (edited_texts("shop.py", ".read_text()", ".read_text()[1:]"), NAMED, (NOTE, ELSEWHERE), 2),
        (edited_texts("shop.py", "return 0", "return 1"), SuiteSelection(), (ELSEWHERE,), 1),
        ({"README.md": "Hello, you."}, SuiteSelection(), (), 0),
        (edited_texts("note.txt", "note", "other"), None, (NOTE, ELSEWHERE), 2),
        (edited_texts("tests/test_shop.py", "[2]", "[3]"), SuiteSelection(), ("tests/test_shop.py",), 6),
    ],
)  # fmt: skip
def test_selects_by_map_and_names_blind_tests_statically(
    recorded: tuple[Path, CoverageMap],
    edits: Mapping[str, str | None],
    static: SuiteSelection | None,
    tests: tuple[str, ...],
    count: int,
) -> None:
    selection = select_tests(recorded[0], edits, recorded[1], static)
    assert selection is not None
    expected = tuple("tests/test_other.py" if test in (ALONE, ALONE[:19]) else test for test in tests)
    assert selection.tests == expected
    assert (selection.count, selection.by_map) == (count, True)
    assert selection.seconds is not None


def test_selects_uncovered_files_only_if_named_statically(recorded: tuple[Path, CoverageMap]) -> None:
    tree, coverage = recorded
    partial = CoverageMap()
    partial.__dict__.update(coverage.__dict__)
    partial.covered = {
        key: tests for key, tests in coverage.covered.items() if key[0] == "tests/test_shop.py"
    }
    edits = edited_texts("shop.py", ".read_text()", ".read_text()[1:]")
    for static, tests in (
        (SuiteSelection(), (NOTE,)),
        (SuiteSelection(files=("tests/test_other.py", "shop.py")), (NOTE, "tests/test_other.py", "shop.py")),
    ):
        selection = select_tests(tree, edits, partial, static)
        assert selection is not None
        assert (selection.tests, selection.by_map) == (tests, False)
        assert (selection.seconds is None) == (len(tests) > 1)


@pytest.mark.parametrize(
    "edits",
    [
        {"pytest.ini": "[pytest]\naddopts = -x\n"},
        {"data.json": "{}"},
        {"json.py": ""},
        edited_texts("shop.py", "RATE\n", "RATE\nprint('imported')\n"),
    ],
)
def test_leaves_selection_unchanged_where_map_cannot_tell(
    recorded: tuple[Path, CoverageMap], edits: Mapping[str, str | None]
) -> None:
    static = SuiteSelection(files=("tests/test_other.py",))
    assert select_tests(recorded[0], edits, recorded[1], static) is static
    assert select_tests(recorded[0], edits, recorded[1], None) is None
    assert select_tests(recorded[0], edits, CoverageMap(), static) is static


def test_new_module_reaches_tests_of_importing_edits(recorded: tuple[Path, CoverageMap]) -> None:
    edits: dict[str, str | None] = {
        "taxes.py": "TAX = 2\n",
        **edited_texts("other.py", "return 1", "import taxes\n    return taxes.TAX"),
    }
    selection = select_tests(recorded[0], edits, recorded[1], SuiteSelection())
    assert selection is not None
    assert selection.tests == ("tests/test_other.py",)


def test_selects_a_file_whose_tests_are_all_reached(tmp_path: Path) -> None:
    write(tmp_path, {"a.py": "def one():\n    return 1\n", "test_t.py": ""})
    seconds = {"long": 9.0, "slow": 0.03, "also": 0.02, "quick": 0.01, "other": 0.02}
    tests = [f"test_t.py::{name}" for name in seconds]
    coverage = CoverageMap()
    files = TreeFiles(tmp_path)
    shared = {"functions": [0], "read": [], "blind": False, "new": [("a.py", 1)], "id": tests[0]}
    records = [
        {**shared, "seconds": 9.0},
        *({"id": test, "like": tests[0], "seconds": seconds[test[11:]]} for test in tests[1:4]),
        {"id": tests[4], "functions": [0], "read": ["b.txt"], "blind": False, "seconds": 0.02},
    ]
    report = TestReport(command="", results=tuple(TestResult(id=test, outcome="passed") for test in tests))
    coverage.add_run(files, report, records)
    coverage.complete_files(files, ["test_t.py"], report)
    edits = {"a.py": "def one():\n    return 2\n"}
    selection = select_tests(tmp_path, edits, coverage, None)
    assert selection is not None
    assert (selection.tests, selection.count) == (("test_t.py",), 5)


def test_map_survives_storage_and_edits_of_other_functions(
    recorded: tuple[Path, CoverageMap], tmp_path: Path
) -> None:
    _, coverage = recorded
    coverage.save(tmp_path / "state" / "map")
    loaded = load_coverage(tmp_path / "state" / "map")
    assert load_coverage(tmp_path / "nowhere").tests == {}
    assert not load_coverage(Path(__file__)).tests
    later = {**FILES, "shop.py": FILES["shop.py"].replace("return 0", "\n    return 7")}
    write(tmp_path / "later", later)
    view = MapOnTree(tmp_path / "later", loaded)
    assert {*view.known_tests(view.test_files)["tests/test_shop.py"]} == {*ALL}
    assert all(loaded.tests[test][0].passed for test in (*ALL, ALONE))
    write(tmp_path / "latest", {**later, "other.py": FILES["other.py"].replace("1", "0 + 1")})
    view = MapOnTree(tmp_path / "latest", loaded)
    assert [*view.known_tests(view.test_files)] == ["tests/test_shop.py"]
    assert view.tests_of("tests/test_other.py") == (ALONE,)
    static = SuiteSelection(files=("tests/test_other.py",))
    for named, tests in ((static, ("tests/test_other.py",)), (SuiteSelection(), ())):
        edits = {"other.py": FILES["other.py"].replace("1", "3 - 2")}
        selection = select_tests(tmp_path / "latest", edits, loaded, named)
        assert selection is not None
        assert (selection.tests, selection.by_map) == (tests, False)
    assert record(tmp_path / "latest", loaded)[:3] == (2, 2, 7)
    assert [len(loaded.tests[test]) for test in (ALONE, FIRST)] == [2, 1]


UNITTEST = {
    "stock.py": """\
def fill():
    return [1]


def count(items):
    return len(items)


def clear(items):
    items.clear()


SIZE = 3
""",
    "test_stock.py": """\
import unittest

import stock


class Filled(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.items = stock.fill()

    @classmethod
    def tearDownClass(cls):
        stock.clear(cls.items)

    def test_count(self):
        self.assertEqual(stock.count(self.items), 1)

    def test_items(self):
        self.assertEqual(self.items, [1])


class Other(unittest.TestCase):
    def test_other(self):
        self.assertTrue(True)

    def test_size(self):
        self.assertEqual(stock.SIZE, 3)


class Broken(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        raise OSError

    def test_never(self):
        pass
""",
    "test_missing.py": "import no_such_module\n",
}


def test_setup_of_class_belongs_to_all_of_its_tests(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    write(tree, UNITTEST)
    coverage = CoverageMap()
    command = "python -m unittest"
    assert record(tree, coverage, command=command)[:3] == (2, 2, 6)

    def reached(old: str, new: str) -> list[str]:
        edits = {"stock.py": UNITTEST["stock.py"].replace(old, new)}
        selection = select_tests(tree, edits, coverage, SuiteSelection())
        assert selection is not None
        return sorted(test.removeprefix("test_stock.py::") for test in selection.tests)

    assert reached("[1]", "[2]") == ["Filled::test_count", "Filled::test_items"]
    assert reached("len(items)", "0") == ["Filled::test_count"]
    assert reached("items.clear()", "pass") == ["Filled::test_items"]
    assert reached("SIZE = 3", "SIZE = 4") == ["test_stock.py"]
    selection = select_tests(tree, {"stock.py": ""}, coverage, None)
    assert selection is not None
    assert {"test_missing.py", "test_stock.py"} <= {*selection.tests}


@pytest.mark.thorough
def test_records_files_beside_one_that_ends_the_process(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    dying = "import os\n\ndef test_end():\n    os._exit(3)\n"
    write(
        tree,
        {
            "test_a.py": "def test_a():\n    pass\n",
            "test_b.py": dying,
            "test_c.py": "def test_c():\n    pass\n",
        },
    )
    coverage = CoverageMap()
    assert record(tree, coverage)[:2] == (3, 3)
    tests = MapOnTree(tree, coverage).known_tests(["test_a.py", "test_b.py", "test_c.py"])
    assert tests["test_a.py"] == ("test_a.py::test_a",)
    assert tests["test_c.py"] == ("test_c.py::test_c",)
    assert all(coverage.entries[coverage.tests[test][0].entry].is_blind for test in tests["test_b.py"])


def test_unit_of_source_is_outermost_function_or_all_else() -> None:
    text = (
        "A = 1\n\n\nclass B:\n    @mark\n    def c(self):\n        def d():\n            pass\n\n\n"
        "def e(): return 1\n"
    )
    parts = split_source(text)
    outside, c, e = parts.keys
    assert [parts.keys_at(line) for line in (1, 4, 5, 7, 10, 11)] == [
        {outside}, {outside}, {outside, c}, {outside, c}, {outside}, {outside, e},
    ]  # fmt: skip
    assert split_source("# Moved.\n" + text).keys == parts.keys
    assert split_source("a b").keys == split_source("a b").keys != split_source("a c").keys
