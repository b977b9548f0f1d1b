"""Replaced assertions of existing tests, old against new."""

import pytest

from coder.verify.test_files import find_replaced_assertions, source_of_test

OLD = """
def test_price():
    assert price("tea") == 3
    assert price(
        "cake",
    ) == 5


@pytest.mark.parametrize("name, expected", [("a  b", "A"), ("c", "C")])
def test_initials(name, expected):
    assert initials(name) == expected
"""

CASES = '@pytest.mark.parametrize("name, expected", [("a  b", "A"), ("c", "C")])'


def replaced_assertions(new: str, *tests: str, path: str = "t.py", old: str = OLD) -> list[str]:
    found = find_replaced_assertions({path: old}, {path: new}, tests)
    return [assertion.line for assertion in found]


def test_pairs_old_line_with_new_one() -> None:
    assert replaced_assertions(OLD.replace("== 5", "== 4"), "t.py::test_price") == [
        "t.py::test_price: `) == 5` is `) == 4` now"
    ]


def test_lines_outside_of_the_function_are_compared_where_it_is_the_same() -> None:
    assert replaced_assertions(
        OLD.replace('"A"', '"AB"'), "t.py::test_initials[a  b-A]", "t.py::test_initials[c-C]"
    ) == [f"t.py::test_initials: `{CASES}` is `{CASES.replace('A', 'AB')}` now"]


def test_removed_assertion_has_nothing_in_its_place() -> None:
    assert replaced_assertions(OLD.replace('    assert price("tea") == 3\n', ""), "t.py::test_price") == [
        't.py::test_price: `assert price("tea") == 3` is nothing now'
    ]


def test_reads_lines_in_other_languages() -> None:
    old = "test('a', () => {\n  const x = f()\n  expect(x).toBe(1)\n})\n"
    assert replaced_assertions(
        old.replace("toBe(1)", "toBe(2)"), "a.test.js::a", path="a.test.js", old=old
    ) == ["a.test.js::a: `expect(x).toBe(1)` is `expect(x).toBe(2)` now"]


@pytest.mark.parametrize(
    ("test", "text", "source"),
    [
        (
            "a.test.js::a > one",
            "test('one', () => f())\ntest('two', () => g())\n",
            ["test('one', () => f())"],
        ),
        ("a_spec.rb::A#n sorts", 'it "sorts" do\n  f\nend\nit "is" do\nend', ['it "sorts" do', "  f", "end"]),
        ("a.rs::tests::one", "#[test]\nfn one() {}\nfn two() {}", ["fn one() {}"]),
        ("a_test.go::TestA", "func TestB() {}\nfunc TestA() {}\n", ["func TestA() {}"]),
        ("a.test.js::a > none", "test('one', () => f())\n", []),
    ],
)
def test_takes_function_or_titled_block_for_a_test(test: str, text: str, source: list[str]) -> None:
    assert source_of_test(test.partition("::")[0], text, test).splitlines() == source
