"""Which test files stand for a suite."""

from pathlib import Path

from coder.core.verdict import TestReport, TestResult
from coder.verify.sampling import Part, part_of
from tests.builders import write


def test_what_imports_the_change_is_run_and_of_the_rest_as_much_as_there_is_time_for(tmp_path: Path) -> None:
    tests = {f"tests/test_{number}.py": "import other\n" for number in range(8)}
    write(tmp_path, {"calc.py": "", "other.py": "", "near.py": "import calc\n", **tests, "tests/test_near.py": "import near\n"})
    results = tuple(TestResult(id=f"{path}::test", outcome="passed", seconds=2.5) for path in tests)
    part = part_of(tmp_path, ["calc.py"], TestReport(command="pytest", results=results, seconds=40.0))
    assert part == Part(
        reaching=("tests/test_near.py",), sample=("tests/test_0.py", "tests/test_4.py", "tests/test_2.py", "tests/test_6.py"), others=8
    )


def test_a_changed_test_file_reaches_itself(tmp_path: Path) -> None:
    write(tmp_path, {"tests/test_calc.py": "", "tests/test_slow.py": ""})
    part = part_of(tmp_path, ["tests/test_calc.py"], TestReport(command="pytest", seconds=1.0))
    assert part == Part(reaching=("tests/test_calc.py",), others=1)
    assert str(part) == "1 test files that reach the change, and 0 of the 1 others"
