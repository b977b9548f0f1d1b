"""Edits of CMake files that only add test programs, as opposed to any other."""

import pytest

from coder.verify.test_files import adds_only_tests

OLD = """
cmake_minimum_required(VERSION 3.13)
project(little C)
enable_testing()
add_library(little src/text.c)
foreach(name trim count) # the tests
  add_executable(test_${name} tests/test_${name}.c)
  target_link_libraries(test_${name} little)
  add_test(NAME ${name} COMMAND test_${name})
endforeach()
"""
PROGRAM = "add_executable(test_empty tests/test_empty.c)\ntarget_link_libraries(test_empty little)\n"
TEST = "add_test(NAME empty COMMAND test_empty)\n"
ADDED = ["tests/test_empty.c"]


@pytest.mark.parametrize(
    "new",
    [
        OLD.replace("trim count)", "trim count empty)"),
        OLD.replace("trim count)", "trim\n  empty\n  count)  # sorted"),
        OLD + PROGRAM + TEST,
        OLD + PROGRAM + "gtest_discover_tests(test_empty)\n",
        OLD + PROGRAM + "add_test(empty test_empty)\n",
        OLD + "# a comment\n",
    ],
)
def test_further_test_programs_are_tests(new: str) -> None:
    assert adds_only_tests(OLD, new, ADDED)


@pytest.mark.parametrize(
    "new",
    [
        OLD.replace("trim count)", "trim empty)"),
        OLD.replace("trim count)", "trim count other)"),
        OLD.replace("trim count)", "count trim)"),
        OLD.replace("COMMAND test_${name})", "COMMAND sh -c true)"),
        OLD + "add_definitions(-DEXACT)\n",
        OLD + "set_tests_properties(count PROPERTIES WILL_FAIL TRUE)\n",
        OLD + PROGRAM + "add_test(NAME count COMMAND test_empty)\n",
        OLD + PROGRAM + 'add_test(NAME empty COMMAND sh -c "test_empty || true")\n',
        OLD + PROGRAM.replace("tests/test_empty.c", "src/other.c") + TEST,
        OLD + "target_link_libraries(little other)\n",
        OLD.replace("enable_testing()", ""),
    ],
)
def test_any_other_edit_is_no_test(new: str) -> None:
    assert not adds_only_tests(OLD, new, ADDED)


def test_new_file_is_no_addition() -> None:
    assert not adds_only_tests("", PROGRAM + TEST, ADDED)
