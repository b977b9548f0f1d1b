"""Files of tests whose ids are not paths, and tests inside of sources."""

from pathlib import Path

import pytest

from coder.verify.test_files import TestLocator, inline_tests, is_example, replace_inline_tests
from tests.builders import write

FILES = {
    "src/slug.js": 'export const words = "joins words";',
    "src/slug.test.js": 'describe("slug", () => { it("joins words", () => {}); });',
    "checks/odd.js": 'test("keeps odd names", () => {});',
    "slug/slug_test.go": "package slug\nfunc TestJoins(t *testing.T) {}\n",
    "src/main/java/org/Slug.java": "class Slug { void joins() {} }",
    "src/test/java/org/SlugTest.java": "class SlugTest { @Test void joins() {} }",
    "pkg/x_unittest.py": "class SlugTest:\n    def test_it(self): ...\n",
    "src/lib.rs": "fn slug() {}\n#[cfg(test)]\nmod tests { #[test] fn all_words() {} }\n",
    "spec/slug_spec.rb": 'it "squeezes dashes" do\nend\n',
    "tests/SlugTest.php": "class SlugTest { function testTrims() {} }",
}


@pytest.mark.parametrize(
    ("test", "files"),
    [
        ("joins words", ("src/slug.test.js",)),
        ("joins words #2", ("src/slug.test.js",)),
        ("slug joins words", ("src/slug.test.js",)),
        ("slug > joins words", ("src/slug.test.js",)),
        ("src/slug.test.js::slug joins words", ("src/slug.test.js",)),
        ("keeps odd names", ("checks/odd.js",)),
        ("example.com/slug::TestJoins/one", ("slug/slug_test.go",)),
        ("org.SlugTest::joins()", ("src/test/java/org/SlugTest.java",)),
        ("pkg.x_unittest.SlugTest.test_it", ("pkg/x_unittest.py",)),
        ("tests::all_words", ("src/lib.rs",)),
        ("src/lib.rs - slug (line 3)", ("src/lib.rs",)),
        ("slug squeezes dashes", ("spec/slug_spec.rb",)),
        ("SlugTest::testTrims", ("tests/SlugTest.php",)),
        ("slug", ("src/slug.test.js",)),
        ("knows nothing", ()),
    ],
)
def test_finds_file_that_defines_test(tmp_path: Path, test: str, files: tuple[str, ...]) -> None:
    write(tmp_path, FILES)
    assert TestLocator(tmp_path).find_files(test) == files


def test_recognizes_examples_in_documentation() -> None:
    examples = ["src/lib.rs - slug (line 3)", "calc.py::calc.add", "README.md::README.md"]
    examples += ["calc.py::calc", "shop/__init__.py::shop"]
    tests = ["test_calc.py::test_add[1.5]", "tests::all_words", "slug.test.js::joins a.b"]
    tests += ["test_calc.py::test_calc", "calc.py::add"]
    assert [*map(is_example, (*examples, *tests))] == [True] * 5 + [False] * 5


OLD = """pub fn double(n: u8) -> u8 { n + 1 }

pub mod text {
    pub fn first() -> char { 'a' }
    #[cfg(test)]
    mod tests { /* old inner */ }
}

#[cfg(test)]
mod tests {
    #[test]
    fn old() {}
}
"""
NEW = """pub fn double(n: u8) -> u8 { n * 2 }

pub mod text {
    pub fn first() -> char { 'b' }
    #[cfg(test)]
    mod tests { /* new inner */ }
}

/// Doubles twice.
#[tokio::test]
async fn outside() {}

#[cfg(all(test, unix))]
mod tests {
    #[test]
    fn new() {}
}
"""


def test_moves_tests_between_versions_without_their_sources() -> None:
    mixed = replace_inline_tests("a.rs", OLD, NEW)
    assert all(part in mixed for part in ("n + 1", "'a'", "new inner", "fn outside", "fn new"))
    assert not any(part in mixed for part in ("n * 2", "'b'", "old inner", "fn old"))
    assert mixed.index("new inner") < mixed.index("fn outside")
    assert inline_tests("a.rs", mixed) == inline_tests("a.rs", NEW)


def test_recognizes_sources_without_tests() -> None:
    text = '#[cfg(feature = "latest")]\nfn latest() {}\n// #[cfg(test)]\n'
    assert inline_tests("a.rs", OLD)
    assert not inline_tests("a.rs", text)


BASE = '''"""Numbers."""

def add(a, b):
    """Add.

    >>> add(1, 2)
    4
    """
    return a + b + 1

def short(a): return a

class Sum:
    def of(self):
        # none yet
        return 3

    def gone(self):
        """
        >>> Sum().gone()
        """
'''
CHANGED = '''"""Numbers.

>>> 1
1
"""

def add(a, b):
    """Add two.

    >>> add(1, 2)
    3
    """
    return a + b

def short(a):
    """Of one.

    >>> short(1)
    1
    """
    return a + 0

class Sum:
    def of(self):
        """
        >>> Sum().of()
        4
        """
        return 4

def fresh(a):
    """
    >>> fresh(2)
    2
    """
    return a

def quiet():
    """No example."""
'''


def test_examples_move_between_versions_without_their_sources() -> None:
    mixed = replace_inline_tests("a.py", BASE, CHANGED, adds_names=True)
    wanted = [part for part in inline_tests("a.py", CHANGED).splitlines() if part]
    assert sorted(inline_tests("a.py", mixed).splitlines()) == sorted(wanted)
    assert all(part in mixed for part in ("return a + b + 1", "; return a\n", "# none yet", "return 3"))
    assert "return a + 0" not in mixed
    scope: dict[str, object] = {}
    exec(mixed, scope)
    with pytest.raises(NameError, match="name 'fresh' is not defined"):
        scope["fresh"](2)  # type: ignore[operator]
    back = replace_inline_tests("a.py", CHANGED, BASE)
    assert inline_tests("a.py", back) == inline_tests("a.py", BASE).split("\nSum.gone")[0]


def test_examples_that_cannot_be_read_are_compared_as_text() -> None:
    assert inline_tests("a.py", "def f(:") == ""
    assert inline_tests("a.py", '"""\n  >>> f()\n1\n"""\n')
