"""Files of tests whose ids are not paths, as reports of various runners name them."""

from pathlib import Path

import pytest

from coder.verify.test_files import TestLocator, is_example
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
