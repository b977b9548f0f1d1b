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
SOURCES = {
    "slug.test.ts": SCRIPT,
    "slug_test.go": GO,
    "slug.rs": RUST,
    "SlugTest.java": JAVA,
    "slug_spec.rb": RUBY,
    "SlugTest.php": PHP,
    "test_slug.c": C,
}
SKIPPED = "is skipped or expected to fail now"
LOOSER = "checks more loosely than before"
FEWER = "checks less than before (1 check fewer)"
CHANGES = [
    ("slug_spec.rb", 'it "joins', 'xit "joins', f"joins words {SKIPPED}"),
    ("slug_spec.rb", "do\n      expect", "do\n      pending 'x'\n      expect", f"joins words {SKIPPED}"),
    ("slug_spec.rb", "do\n      expect", "do\n      skip\n      expect", f"joins words {SKIPPED}"),
    ("slug_spec.rb", 'words" do', 'words", :focus do', "no test but joins words is run now"),
    ("slug_spec.rb", 'to eq("a-b")', "to be_truthy", f"joins words {LOOSER}"),
    ("slug_spec.rb", "to raise_error(ArgumentError)", "not_to be_nil", f"joins words {LOOSER}"),
    ("SlugTest.php", "$this->assert", "$this->markTestSkipped(); $this->assert", f"testJoins {SKIPPED}"),
    ("SlugTest.php", "self::assertTrue(is_slug('a-b'));", "", f"testJoins {FEWER}"),
    ("SlugTest.php", "assertSame('a-b', ", "assertIsString(", f"testJoins {LOOSER}"),
    ("SlugTest.php", "$this->expectException(ValueError::class);", "", f"refuses {FEWER}"),
    ("test_slug.c", "assert(slug(NULL) == NULL);", "", f"main {FEWER}"),
    ("slug.test.ts", 'it("joins', 'it.skip("joins', f"joins words {SKIPPED}"),
    ("slug.test.ts", 'it("joins', 'xit("joins', f"joins words {SKIPPED}"),
    ("slug.test.ts", "describe(", "describe.skip(", f"slug {SKIPPED}"),
    ("slug.test.ts", 'words", ()', 'words", { todo: true }, ()', f"joins words {SKIPPED}"),
    ("slug.test.ts", 'it("throws', 'it.only("throws', "no test but throws is run now"),
    ("slug.test.ts", "describe(", "fdescribe(", "no test but slug is run now"),
    ("slug.test.ts", 'assert.equal(slug("c d"), "c-d");', "", f"joins words {FEWER}"),
    ("slug.test.ts", 'toBe("a-b")', "toBeDefined()", f"joins words {LOOSER}"),
    ("slug.test.ts", 'toBe("a-b")', "toBeTruthy()", f"joins words {LOOSER}"),
    ("slug_test.go", "\tif got", '\tt.Skip("flaky")\n\tif got', f"TestJoins {SKIPPED}"),
    ("slug_test.go", 'got != "a-b"', "got == nil", f"TestJoins {LOOSER}"),
    ("slug_test.go", 'require.Equal(t, "c-d", Slug("c d"))', "", f"TestJoins {FEWER}"),
    ("slug.rs", "#[test]", "#[test]\n    #[ignore]", f"joins {SKIPPED}"),
    ("slug.rs", 'assert_eq!(slug("a b"), "a-b")', "assert!(true)", f"joins {LOOSER}"),
    ("slug.rs", 'assert!(slug("").is_empty());', "", f"joins {FEWER}"),
    ("SlugTest.java", "@Test", "@Test @Disabled", f"joins {SKIPPED}"),
    ("SlugTest.java", 'isEqualTo("c-d")', "isNotNull()", f"joins {LOOSER}"),
    ("SlugTest.java", 'assertEquals("a-b", ', "assertNotNull(", f"joins {LOOSER}"),
    ("slug.test.ts", 'toBe("a-b")', 'toEqual("a-b")', ""),
    ("slug.test.ts", "});\n  it", "});\n  it.skip('is new', () => {});\n  it", ""),
    ("slug_test.go", "t.Errorf(", "t.Fatalf(", ""),
    ("slug.rs", "#[test]", "/// Joins.\n    #[test]", ""),
    ("SlugTest.java", "void joins", "public void joins", ""),
    ("slug_spec.rb", 'to eq("a-b")', 'to eql("a-b")', ""),
    ("SlugTest.php", "self::assertTrue", "$this->assertTrue", ""),
    ("test_slug.c", "return 0;", 'CHECK(slug("c") != NULL);\n    return 0;', ""),
]


@pytest.mark.parametrize(("path", "old", "new", "finding"), CHANGES)
def test_names_weakened_test(path: str, old: str, new: str, finding: str) -> None:
    text = SOURCES[path]
    assert old in text
    found = weakened_tests_in({path: text}, {path: text.replace(old, new, 1)})
    assert found == ([f"{path}: {finding}"] if finding else [])


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
