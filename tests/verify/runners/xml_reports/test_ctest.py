"""The adapter of CTest, with CMake and a C compiler."""

import shutil
from pathlib import Path

import pytest

from coder.verify.runners.adapter import Run
from coder.verify.runners.rows import CTEST
from tests.verify.runners.running import run_adapter

needs_cmake = pytest.mark.skipif(
    any(shutil.which(tool) is None for tool in ("cmake", "ctest", "cc", "make")),
    reason="cmake, ctest, cc or make is not installed",
)
MANIFEST = """\
cmake_minimum_required(VERSION 3.14)
project(half C)
enable_testing()
add_library(half src/half.c)
target_include_directories(half PUBLIC src)
foreach(name even odd)
  add_executable(${name}_test tests/${name}.c)
  target_link_libraries(${name}_test half)
  add_test(NAME ${name} COMMAND ${name}_test)
endforeach()
add_test(NAME script COMMAND sh -c "echo 3 differs from 4; exit 1")
add_test(NAME later COMMAND even_test)
set_tests_properties(later PROPERTIES DISABLED TRUE)
"""
CHECK = '#include <assert.h>\n#include "half.h"\nint main(void) {{ assert(half({}) == 2); return 0; }}\n'
FILES = {
    "CMakeLists.txt": MANIFEST,
    "src/half.h": "int half(int);\n",
    "src/half.c": '#include "half.h"\nint half(int n) { return n / 2; }\n',
    "tests/even.c": CHECK.format(4),
    "tests/odd.c": CHECK.format(3),
}


@needs_cmake
def test_reports_each_test_with_its_file(tmp_path: Path) -> None:
    results = {result.id: result for result in run_adapter(CTEST, tmp_path, FILES)}
    assert {test: result.outcome for test, result in results.items()} == {
        "tests/even.c::even": "passed",
        "tests/odd.c::odd": "failed",
        "CMakeLists.txt::script": "failed",
        "tests/even.c::later": "skipped",
    }
    odd = results["tests/odd.c::odd"].failure
    assert odd is not None
    assert odd.type == "AssertionError" and "half(3) == 2" in odd.message
    assert [(frame.path, frame.line) for frame in odd.frames] == [("tests/odd.c", 3)]
    assert {path.name for path in (tmp_path / "tree").iterdir()} == {"CMakeLists.txt", "src", "tests"}


@pytest.mark.thorough
@needs_cmake
def test_compile_error_is_reported_under_the_selected_file(tmp_path: Path) -> None:
    files = {**FILES, "src/half.c": "int half(int n) { return n / ; }\n"}
    (result,) = run_adapter(CTEST, tmp_path, files, tests=["tests/odd.c::odd"])
    assert (result.id, result.when) == ("tests/odd.c", "collect")
    assert result.failure is not None
    assert [(frame.path, frame.line) for frame in result.failure.frames] == [("src/half.c", 1)]


def test_selects_tests_by_name_and_keeps_options(tmp_path: Path) -> None:
    run = Run(
        argv=("ctest", "--test-dir", "build", "-L", "unit", "-R", "x"),
        tree=tmp_path,
        place=tmp_path,
        files=("tests/odd.c",),
        tests=("tests/odd.c::Half.Odd", "tests/odd.c::odd"),
    )
    script = CTEST.prepare(run).argv[-1]
    assert script.endswith(r"-L unit -R '^(Half\.Odd|odd)$'")
    assert f"--test-dir {tmp_path}/build" in script and "--test-dir build" not in script
