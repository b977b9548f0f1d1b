"""Weakened tests, as opposed to equivalent rewrites, in other languages than Python."""

import pytest

from coder.verify.test_edits import find_renamed_in, removed_names, weakened_tests_in

SCRIPT = """
describe("slug", () => {
  it("joins words", () => {
    expect(slug("a b")).toBe("a-b");
    assert.equal(slug("c d"), "c-d");
  });
  it("throws", () => { expect(() => slug(null)).toThrow(TypeError); });
});
"""
GO = """package slug
func TestJoins(t *testing.T) {
	if got := Slug("a b"); got != "a-b" {
		t.Errorf("got %q", got)
	}
	require.Equal(t, "c-d", Slug("c d"))
}
"""
RUST = """
#[cfg(test)]
mod tests {
    #[test]
    fn joins() {
        assert_eq!(slug("a b"), "a-b");
        assert!(slug("").is_empty());
    }
}
"""
JAVA = """
class SlugTest {
    @Test
    void joins() {
        assertEquals("a-b", Slug.of("a b"));
        assertThat(Slug.of("c d")).isEqualTo("c-d");
    }
}
"""
RUBY = """
RSpec.describe Slug do
  describe "joins" do
    it "joins words" do
      expect(slug("a b")).to eq("a-b")
      expect { slug(nil) }.to raise_error(ArgumentError)
    end
  end
end
"""
PHP = """<?php
final class SlugTest extends TestCase {
    public function testJoins(): void {
        $this->assertSame('a-b', slug('a b'));
        self::assertTrue(is_slug('a-b'));
    }
    /** @test */
    public function refuses(): void { $this->expectException(ValueError::class); slug(''); }
}
"""
C = """
int main(void) {
    CHECK(strcmp(slug("a b"), "a-b") == 0);
    assert(slug(NULL) == NULL);
    return 0;
}
"""
WEAKER = [
    ("slug_spec.rb", RUBY, 'it "joins', 'xit "joins', "joins words is skipped or expected to fail now"),
    (
        "slug_spec.rb",
        RUBY,
        "do\n      expect",
        "do\n      pending 'x'\n      expect",
        "joins words is skipped or expected to fail now",
    ),
    (
        "slug_spec.rb",
        RUBY,
        "do\n      expect",
        "do\n      skip\n      expect",
        "joins words is skipped or expected to fail now",
    ),
    ("slug_spec.rb", RUBY, 'words" do', 'words", :focus do', "no test but joins words is run now"),
    ("slug_spec.rb", RUBY, 'to eq("a-b")', "to be_truthy", "joins words checks more loosely than before"),
    (
        "slug_spec.rb",
        RUBY,
        "to raise_error(ArgumentError)",
        "not_to be_nil",
        "joins words checks more loosely than before",
    ),
    (
        "SlugTest.php",
        PHP,
        "$this->assertSame",
        "$this->markTestSkipped(); $this->assertSame",
        "testJoins is skipped or expected to fail now",
    ),
    (
        "SlugTest.php",
        PHP,
        "self::assertTrue(is_slug('a-b'));",
        "",
        "testJoins checks less than before (1 check fewer)",
    ),
    (
        "SlugTest.php",
        PHP,
        "assertSame('a-b', ",
        "assertIsString(",
        "testJoins checks more loosely than before",
    ),
    (
        "SlugTest.php",
        PHP,
        "$this->expectException(ValueError::class);",
        "",
        "refuses checks less than before (1 check fewer)",
    ),
    ("test_slug.c", C, "assert(slug(NULL) == NULL);", "", "main checks less than before (1 check fewer)"),
    ("slug.test.ts", SCRIPT, 'it("joins', 'it.skip("joins', "joins words is skipped or expected to fail now"),
    ("slug.test.ts", SCRIPT, 'it("joins', 'xit("joins', "joins words is skipped or expected to fail now"),
    ("slug.test.ts", SCRIPT, "describe(", "describe.skip(", "slug is skipped or expected to fail now"),
    (
        "a.test.js",
        SCRIPT,
        'words", ()',
        'words", { todo: true }, ()',
        "joins words is skipped or expected to fail now",
    ),
    ("slug.test.ts", SCRIPT, 'it("throws', 'it.only("throws', "no test but throws is run now"),
    ("slug.test.ts", SCRIPT, "describe(", "fdescribe(", "no test but slug is run now"),
    (
        "slug.test.ts",
        SCRIPT,
        '    assert.equal(slug("c d"), "c-d");\n',
        "",
        "joins words checks less than before (1 check fewer)",
    ),
    ("slug.test.ts", SCRIPT, 'toBe("a-b")', "toBeDefined()", "joins words checks more loosely than before"),
    ("slug.test.ts", SCRIPT, 'toBe("a-b")', "toBeTruthy()", "joins words checks more loosely than before"),
    (
        "slug_test.go",
        GO,
        "\tif got",
        '\tt.Skip("flaky")\n\tif got',
        "TestJoins is skipped or expected to fail now",
    ),
    ("slug_test.go", GO, 'got != "a-b"', "got == nil", "TestJoins checks more loosely than before"),
    (
        "slug_test.go",
        GO,
        'require.Equal(t, "c-d", Slug("c d"))',
        "",
        "TestJoins checks less than before (1 check fewer)",
    ),
    ("slug.rs", RUST, "#[test]", "#[test]\n    #[ignore]", "joins is skipped or expected to fail now"),
    (
        "slug.rs",
        RUST,
        'assert_eq!(slug("a b"), "a-b")',
        "assert!(true)",
        "joins checks more loosely than before",
    ),
    ("slug.rs", RUST, 'assert!(slug("").is_empty());', "", "joins checks less than before (1 check fewer)"),
    ("SlugTest.java", JAVA, "@Test", "@Test @Disabled", "joins is skipped or expected to fail now"),
    ("SlugTest.java", JAVA, 'isEqualTo("c-d")', "isNotNull()", "joins checks more loosely than before"),
    (
        "SlugTest.java",
        JAVA,
        'assertEquals("a-b", ',
        "assertNotNull(",
        "joins checks more loosely than before",
    ),
]
EQUIVALENT = [
    ("slug.test.ts", SCRIPT, 'toBe("a-b")', 'toEqual("a-b")'),
    ("slug.test.ts", SCRIPT, "});\n  it", "});\n  it.skip('is new', () => {});\n  it"),
    ("slug_test.go", GO, "t.Errorf(", "t.Fatalf("),
    ("slug.rs", RUST, "#[test]", "/// Joins.\n    #[test]"),
    ("SlugTest.java", JAVA, "void joins", "public void joins"),
    ("slug_spec.rb", RUBY, 'to eq("a-b")', 'to eql("a-b")'),
    ("SlugTest.php", PHP, "self::assertTrue", "$this->assertTrue"),
    ("test_slug.c", C, "return 0;", 'CHECK(slug("c") != NULL);\n    return 0;'),
]


@pytest.mark.parametrize(("path", "text", "old", "new", "finding"), WEAKER)
def test_names_weakened_test(path: str, text: str, old: str, new: str, finding: str) -> None:
    assert old in text
    assert weakened_tests_in({path: text}, {path: text.replace(old, new, 1)}) == [f"{path}: {finding}"]


@pytest.mark.parametrize(("path", "text", "old", "new"), EQUIVALENT)
def test_accepts_equivalent_test(path: str, text: str, old: str, new: str) -> None:
    assert old in text
    assert weakened_tests_in({path: text}, {path: text.replace(old, new, 1)}) == []


def test_finds_removed_tests_unless_they_moved() -> None:
    assert removed_names({"a.test.js": SCRIPT}, {"a.test.js": SCRIPT.replace("throws", "raises")}) == [
        "throws"
    ]
    assert removed_names({"a.test.js": SCRIPT, "s_test.go": GO}, {"b.test.js": SCRIPT}) == ["TestJoins"]


RENAMED = {
    "renamed": ("adds", "sums", "add(1, 2)", "3", [(("adds",), ("sums",))]),
    "renamed, with other values": ("adds", "sums", "add(4, 3)", "7", [(("adds",), ("sums",))]),
    "deleted, and another test added": ("adds", "divides", "divide(6, 3)", "2", []),
    "unchanged": ("adds", "adds", "add(1, 2)", "3", []),
}


@pytest.mark.parametrize(("title", "new_title", "call", "value", "expected"), RENAMED.values(), ids=RENAMED)
def test_follows_renamed_tests(
    title: str, new_title: str, call: str, value: str, expected: list[tuple[tuple[str, ...], tuple[str, ...]]]
) -> None:
    text = "test('%s', () => {\n  expect(%s).toBe(%s)\n})\n"
    old, new = text % (title, "add(1, 2)", "3"), text % (new_title, call, value)
    found = find_renamed_in({"a.test.ts": old}, {"a.test.ts": new})
    assert [(renamed.removed, renamed.successors) for renamed in found] == expected


def test_follows_moved_file() -> None:
    text = "test('adds', () => {\n  expect(add(1, 2)).toBe(3)\n})\n"
    more = text + "test('subtracts', () => {\n  expect(subtract(2, 1)).toBe(1)\n})\n"
    (moved,) = find_renamed_in({"a.test.ts": text}, {"math/a.test.ts": more, "b.test.ts": "test('x', f)"})
    assert (moved.path, moved.new_path) == ("a.test.ts", "math/a.test.ts")
    assert (moved.removed, moved.successors) == (("adds",), ("adds",))
    assert (moved.checks_before, moved.checks_after) == (1, 1)


@pytest.mark.parametrize(
    ("path", "text", "title"),
    [
        ("slug_spec.rb", RUBY, "joins words"),
        ("SlugTest.php", PHP, "testJoins"),
        ("SlugTest.php", PHP, "refuses"),
    ],
)
def test_follows_test_of_moved_file_and_new_name(path: str, text: str, title: str) -> None:
    (renamed,) = find_renamed_in({path: text}, {path: text.replace(title, f"{title}2")})
    assert (renamed.removed, renamed.successors) == ((title,), (f"{title}2",))
    moved = [renamed.removed for renamed in find_renamed_in({path: text}, {f"unit/{path}": text})]
    assert (title,) in moved


RUST = '#[test]\nfn reads() {\n    assert_eq!(pair("a=b"), Some(("a", "b")));\n}\n'


def test_name_of_test_does_not_count() -> None:
    new = RUST.replace("reads() {", 'splits() {\n    assert_eq!(pair("a=b=c"), Some(("a", "b=c")));')
    (renamed,) = find_renamed_in({"src/lib.rs": RUST}, {"src/lib.rs": new})
    assert (renamed.removed, renamed.successors, renamed.checks_after) == (("reads",), ("splits",), 2)


def test_follows_test_to_another_file() -> None:
    other = RUST.replace("reads", "reads_more")
    old = {"src/a.rs": RUST + other}
    (moved,) = find_renamed_in(old, {"src/a.rs": other, "src/b.rs": RUST})
    assert (moved.path, moved.new_path, moved.removed) == ("src/a.rs", "src/b.rs", ("reads",))


@pytest.mark.parametrize(("body", "is_moved"), [("same(add(1, 2), 3)", True), ("true", False)])
def test_moved_test_with_checks_of_its_own_is_the_same(body: str, is_moved: bool) -> None:
    text = "test('adds', () => {\n  %s\n})\n"
    found = find_renamed_in({"a.test.ts": text % "same(add(1, 2), 3)"}, {"b/a.test.ts": text % body})
    assert bool(list(found)) is is_moved
