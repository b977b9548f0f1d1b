import pytest

from coder.core.paths import (
    extract_node_ids,
    find_command_tests,
    is_prose,
    is_test_file,
    is_test_path,
    names_only_tests,
    split_path,
)
from coder.core.paths import (
    test_function_of as function_of,
)
from coder.core.paths import (
    test_name_of as name_of,
)
from tests.builders import lines


@pytest.mark.parametrize("path", lines("paths/tests.txt"))
def test_recognizes_test_paths_and_helpers(path: str) -> None:
    assert is_test_path(path)


@pytest.mark.parametrize("path", lines("paths/others.txt"))
def test_recognizes_other_paths(path: str) -> None:
    assert not is_test_path(path)


@pytest.mark.parametrize(
    ("path", "is_file"), [("test.py", True), ("tests/test.py", True), ("shop/test.py", False)]
)
def test_single_test_module_holds_tests(path: str, is_file: bool) -> None:
    assert is_test_file(path) is is_file


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        (
            "See tests/test_a.py::TestA::test_b[x-1] and tests/test_a.py::test_c. Not test_d or a.py:3",
            ["tests/test_a.py::TestA::test_b[x-1]", "tests/test_a.py::test_c"],
        ),
        ("test_a.py::test_c, again test_a.py::test_c", ["test_a.py::test_c"]),
        *(
            (
                f"FAILED test_a.py::test_b{parameters} - assert [1] == [2]\n",
                [f"test_a.py::test_b{parameters}"],
            )
            for parameters in ("[a b]", "[[0] ...]", "[{'a': [1, 2]}-x y]", "[]")
        ),
        ("test_a.py::test_b[[-1] fails", ["test_a.py::test_b"]),
        ("test_a.py::test_b[/home/me/project/a.txt]", ["test_a.py::test_b"]),
        ("test_a.py::test_c[1-/home/me/a.txt-2]", ["test_a.py::test_c"]),
        ("test_a.py::test_d[a/b/c]", ["test_a.py::test_d[a/b/c]"]),
        ("test_a.py::test_e[http://a/b/c]", ["test_a.py::test_e[http://a/b/c]"]),
    ],
)
def test_finds_node_ids(text: str, ids: list[str]) -> None:
    """Unbalanced brackets, and paths of this machine, mean the function."""
    assert [*extract_node_ids(text)] == ids


@pytest.mark.parametrize(
    ("command", "tests", "is_selection"),
    [
        ("tests/test_x.py::test_y", ("tests/test_x.py::test_y",), True),
        ("./test_a.py tests/test_b.py::T::test[a b]", ("test_a.py", "tests/test_b.py::T::test[a b]"), True),
        ("python -m pytest tests/test_x.py::test_y", ("tests/test_x.py::test_y",), False),
        ("tests/check_x.py", ("tests/check_x.py",), True),
        ("tests/runtests.py", (), False),
        ("test/cart.test.js::cart > adds two prices", ("test/cart.test.js::cart > adds two prices",), True),
        ("src/cart.rs::tests::adds", ("src/cart.rs::tests::adds",), True),
        ("cart.test.js", ("cart.test.js",), True),
        ("test/run.js", (), False),
        ("tests/all.sh", (), False),
        ("npx mocha test/cart.test.js", (), False),
        ("python runtests.py", (), False),
        ("manage.py", (), False),
        ("/usr/bin/test_x.py", (), False),
        ("", (), False),
        (None, (), False),
    ],
)
def test_test_option_takes_tests_and_commands(
    command: str | None, tests: tuple[str, ...], is_selection: bool
) -> None:
    assert find_command_tests(command) == tests
    assert names_only_tests(command or "") is is_selection


@pytest.mark.parametrize(
    ("path", "prose"),
    [(path, name == "prose") for name in ("prose", "read") for path in lines(f"paths/{name}.txt")],
)
def test_prose_is_no_file_that_programs_read(path: str, prose: bool) -> None:
    assert is_prose(path) is prose


@pytest.mark.parametrize(
    ("test", "function"),
    [
        ("a.py::T::test_a[x[0]]", "a.py::T::test_a"),
        ("app/[id]/page.test.js::label > [x]", "app/[id]/page.test.js::label > "),
        ("app/[id]/page.test.js", "app/[id]/page.test.js"),
    ],
)
def test_function_of_a_test_keeps_brackets_of_its_path(test: str, function: str) -> None:
    assert function_of(test) == function


@pytest.mark.parametrize("test", ["a.py::test_b", "a.py::TestA::test_b[c::d]", "[x]/a.py::test_b[[1]]"])
def test_name_of_a_test_ignores_class_and_parameters(test: str) -> None:
    assert name_of(test) == "test_b"


@pytest.mark.parametrize("name", ["../a.py", "/etc/passwd", "sub/.GIT/config", "git~1", "a\0b", "x" * 256])
def test_refuses_names_outside_of_the_repository(name: str) -> None:
    with pytest.raises(ValueError, match=r"leads out|belongs to git|is no path"):
        split_path(name)
    assert split_path("./a//b.py") == ["a", "b.py"]
