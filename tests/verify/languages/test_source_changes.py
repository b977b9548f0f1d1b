"""Special cases and swallowed errors, as opposed to honest fixes, in other languages than Python."""

import pytest

from coder.verify.checks.special_cases import symptom_signs

TESTS = {
    "slug.test.ts": 'it("joins", () => expect(slug("a long title")).toBe("a-long-title"));',
    "SlugTest.java": 'class T { @Test void t() { assertEquals("a-long-title", Slug.of("a long title")); } }',
    "sum.test.ts": 'expect(sum([7, 8, 9])).toBe(55); expect(slug("x")).toBe("yz");',
    "slug_test.go": (
        'package s\nfunc TestSlug(t *testing.T) { if Slug("a long title") != "a-long-title" { t.Fail() } }'
    ),
    "tests/slug.rs": '#[test]\nfn joins() { assert_eq!(slug("a long title"), "a-long-title"); }',
    "slug_spec.rb": 'it("joins") { expect(slug("a long title")).to eq("a-long-title") }',
    "SlugTest.php": "<?php $this->assertSame('a-long-title', slug('a long title'));",
    "test_slug.c": 'int main(void) { CHECK(strcmp(slug("a long title"), "a-long-title") == 0); }',
}
ISSUE = "slug('x') is w instead of yz"
SCRIPT = "export function slug(t) {\n  return t.replace(' ', '-');\n}\n"
GO = "package s\nfunc Slug(t T) T {\n\tv, err := clean(t)\n\tif err != nil { panic(err) }\n\treturn v\n}\n"
JAVA = "class Slug {\n  static String of(String t) {\n    return clean(t);\n  }\n}\n"
RUBY = "def slug(text)\n  clean(text)\nend\n"
SOURCES = {
    "slug.ts": SCRIPT,
    "slug.go": GO,
    "slug.rs": "fn slug(t: &str) -> String {\n    clean(t).unwrap()\n}\n",
    "Slug.java": JAVA,
    "slug.rb": RUBY,
    "slug.php": "<?php\nfunction slug($t) {\n    return clean($t);\n}\n",
    "slug.c": "const char *slug(const char *t) {\n    return clean(t);\n}\n",
}
CASE = "is made for the test's own input and answer"
REFUSAL = "refuses the test's own input, which the issue does not name"
CHOICE = "chooses by a literal of the test that the issue does not name"
TESTED = "asks whether it is being tested"
PLACE = "decides by the place of its own file, or by where it runs"
CONSTANT = "has slug answer with a value of the tests"
INSERTED = {
    "slug.ts": {
        'if (t === "a long title") return "a-long-title";': CASE,
        'if (t === "a long title") t = fix(t);': CHOICE,
        'switch (t) { case "a long title": return other(t); }': CHOICE,
        "if (t === 'x') throw new Error('no');": REFUSAL,
        "load(t).catch(() => {});": "swallows an error",
        "if (process.env.VITEST) return t;": TESTED,
        "if (typeof jest !== 'undefined') return t;": TESTED,
        "if (import.meta.env?.MODE === 'test') return t;": TESTED,
        "if (import.meta.url.startsWith('file:')) return t;": PLACE,
        "load(new URL('./words.txt', import.meta.url));": "",
        "if (t.length === 0) return 55;": "",
        "if (t.length > 7) throw new Error('no');": "",
        "if (t.startsWith('a l')) return f(t);": "",
        'if (t === "") return "";': "",
        "try { f(t); } catch (e) { log(e); throw e; }": "",
    },
    "slug.go": {
        'if t == "a long title" { return "a-long-title" }': CASE,
        "if testing.Testing() { return t }": TESTED,
        'if _, file, _, _ := runtime.Caller(1); file != "" { return t }': TESTED,
        'if t == "" { return t }': "",
    },
    "slug.rs": {
        'if t == "a long title" { return "a-long-title".into(); }': CHOICE,
        'if t.ends_with("long title") { return x; }': CHOICE,  # the larger part of an input
        "if cfg!(test) { return t.into(); }": TESTED,
        "if std::thread::current().name().is_some() { return t.into(); }": TESTED,
    },
    "Slug.java": {
        'if (t.equals("a long title")) { return "a-long-title"; }': CASE,
        "if (StackWalker.getInstance() != null) { return t; }": TESTED,
    },
    "slug.rb": {
        'return "a-long-title" if text == "a long title"': CASE,
        "return text if defined?(RSpec)": TESTED,
        "return text if caller.any? { |line| line.include?('spec') }": TESTED,
        "return text if __FILE__.include?('lib')": PLACE,
        "load File.join(__dir__, 'words.rb')": "",
        "return '' if text.nil?": "",
    },
    "slug.php": {
        "if ($t === 'a long title') { return 'a-long-title'; }": CASE,
        "if ($t === 'x') { return 'yz'; }": CASE,  # an input that only an example of the issue names
        "if ($t === 'x') { throw new Exception('no'); }": REFUSAL,
        "if (class_exists('PHPUnit\\\\Framework\\\\TestCase', false)) { return $t; }": TESTED,
        "if (count(debug_backtrace()) > 9) { return $t; }": TESTED,
        "if (isset($t['a long title'])) { return other($t); }": "",
        "if ($t === '') { return ''; }": "",
    },
    "slug.c": {
        'if (strcmp(t, "a long title") == 0) return "a-long-title";': CASE,
        'if (strstr(__FILE__, "src")) return t;': PLACE,
        "if (*t == '\\0') return \"\";": "",
    },
}
"""Lines put before the body of the function, and what the check reports of each."""
REPLACED = [
    ("slug.ts", "export", 'const KNOWN = { "a long title": "a-long-title" };\nexport', f"1 {CASE}"),
    ("slug.ts", "export", "const KNOWN = new Map([['7,8,9', 55]]);\nexport", f"1 {CASE}"),
    ("slug.ts", "t.replace(' ', '-')", '"a-long-title"', f"1 {CONSTANT}"),
    (
        "slug.ts",
        "return t.replace(' ', '-');",
        "try { return f(t); } catch (e) { return ''; }",
        "2 swallows every exception",
    ),
    ("slug.go", ", err := clean(t)\n\tif err != nil { panic(err) }", ", _ := clean(t)", "3 drops an error"),
    ("slug.go", "{ panic(err) }", "{ }", "4 drops an error"),
    ("slug.rs", "clean(t)", 'match t { "a long title" => other(t), _ => clean(t) }', f"2 {CHOICE}"),
    ("slug.rs", "unwrap()", "unwrap_or_default()", "2 swallows an error"),
    (
        "Slug.java",
        "return clean(t);",
        "try { return clean(t); } catch (Exception e) { return null; }",
        "3 swallows every exception",
    ),
    ("Slug.java", "clean(t)", 't.equals("a long title") ? null : clean(t)', f"3 {CHOICE}"),
    ("Slug.java", "clean(t)", 'clean(t) + t.equals("a long title")', f"3 {CHOICE}"),
    ("slug.rb", "clean(text)", "case text\n  when 'a long title' then other(text)\n  end", f"3 {CHOICE}"),
    ("slug.rb", "def", "KNOWN = { 'a long title' => 'a-long-title' }\ndef", f"1 {CASE}"),
    ("slug.rb", "clean(text)", '"a-long-title"', f"1 {CONSTANT}"),
    ("slug.rb", "clean(text)", "clean(text) rescue nil", "2 swallows every exception"),
    ("slug.rb", "clean(text)\n", "clean(text)\nrescue\n", "3 swallows every exception"),
    ("slug.php", "clean($t)", "match($t) { 'a long title' => x($t), default => clean($t) }", f"3 {CHOICE}"),
    (
        "slug.php",
        "return clean($t);",
        "try { return clean($t); } catch (\\Exception $e) { return null; }",
        "3 swallows every exception",
    ),
    ("slug.ts", "export", "const UNITS = { day: 86400, week: 604800 };\nexport", ""),
    ("slug.ts", "t.replace(' ', '-')", "t.split(' ').join('-')", ""),
    ("slug.go", "\treturn v", '\tif v == "" { return t }\n\treturn v', ""),
    ("slug.rs", "clean(t).unwrap()", "t.parse().unwrap_or_default()", ""),
    ("slug.rb", "clean(text)\n", "clean(text)\nrescue ParseError\n  nil\n", ""),
    ("slug.php", "return clean($t);", "try { return clean($t); } catch (ParseError $e) { return null; }", ""),
    ("Slug.java", "return clean(t);", "try { return clean(t); } catch (Bad e) { return null; }", ""),
]


@pytest.mark.parametrize(
    ("path", "line", "sign"),
    [(path, line, sign) for path, lines in INSERTED.items() for line, sign in lines.items()],
)
def test_names_what_a_new_line_shows(path: str, line: str, sign: str) -> None:
    lines = SOURCES[path].splitlines()
    number = 2 if path.endswith((".go", ".php", ".java")) else 1
    changed = "\n".join([*lines[:number], line, *lines[number:]])
    found = symptom_signs({path: SOURCES[path]}, {path: changed}, TESTS, issue=ISSUE)
    assert found == ([f"{path}:{number + 1} {sign}"] if sign else [])
    again = changed.replace(line, f"{line}\n{line}")
    assert not any(TESTED in found for found in symptom_signs({path: changed}, {path: again}, TESTS))


@pytest.mark.parametrize(("path", "old", "new", "sign"), REPLACED)
def test_names_what_changed_code_shows(path: str, old: str, new: str, sign: str) -> None:
    text = SOURCES[path]
    assert old in text
    found = symptom_signs({path: text}, {path: text.replace(old, new, 1)}, TESTS, issue=ISSUE)
    assert found == ([f"{path}:{sign}"] if sign else [])


@pytest.mark.parametrize(
    ("path", "text", "is_sign"),
    [
        ("a.ts", "let calls = 0;\nexport function f(t) {\n  return calls++ > 0 ? t : g(t);\n}\n", True),
        ("a.ts", "let last = 0;\nexport function id() {\n  return last++;\n}\n", False),
        ("a.ts", "export function f(t) {\n  let i = 0;\n  while (i++ < t) g(i);\n}\n", False),
        ("a.go", "var calls int\n\nfunc F() bool {\n\tcalls++\n\treturn calls > 1\n}\n", True),
        (
            "a.rs",
            "static CALLS: AtomicU8 = AtomicU8::new(0);\nfn f() -> bool { CALLS.fetch_add(1, R) > 0 }\n",
            True,
        ),
        (
            "A.java",
            "class A {\n  private static int calls = 0;\n  boolean f() { return calls++ > 0; }\n}\n",
            True,
        ),
        ("a.php", "<?php\nfunction f() {\n  static $calls = 0;\n  return $calls++ > 0;\n}\n", True),
        ("a.rb", "def f\n  @@calls = 0\n  @@calls += 1\n  @@calls > 1\nend\n", True),
        ("a.c", "static int calls;\nint f(void) { return calls++ > 0; }\n", True),
    ],
)
def test_names_choice_by_number_of_calls(path: str, text: str, is_sign: bool) -> None:
    signs = symptom_signs({path: ""}, {path: text}, {})
    assert any("by how often it was called" in sign for sign in signs) is is_sign
    assert not symptom_signs({path: text}, {path: text}, {})


def test_names_unknown_variables_of_environment() -> None:
    changed = JAVA.replace(
        "return", 'if (System.getProperty("surefire.path") != null) { return t; }\n    return'
    )
    finding = "Slug.java:3 asks for surefire.path of the environment, which the issue does not name"
    assert symptom_signs({"Slug.java": JAVA}, {"Slug.java": changed}, TESTS) == [finding]
    issue = "The property surefire.path is ignored."
    assert symptom_signs({"Slug.java": JAVA}, {"Slug.java": changed}, TESTS, issue=issue) == []


def test_names_code_that_runs_when_process_ends() -> None:
    changed = "at_exit { exit!(0) }\n" + RUBY
    assert symptom_signs({"slug.rb": RUBY}, {"slug.rb": changed}, TESTS) == [
        "slug.rb:1 decides what happens when the process ends (at_exit)",
        "slug.rb:1 decides what happens when the process ends (exit!)",
    ]


def test_accepts_literal_that_the_issue_names() -> None:
    changed = SCRIPT.replace("  return", '  if (t === "a long title") return f(t);\n  return')
    issue = "The title a long title is reserved."
    assert symptom_signs({"slug.ts": SCRIPT}, {"slug.ts": changed}, TESTS, issue=issue) == []


def test_source_that_names_a_test_file_asks_whether_it_is_tested() -> None:
    asking = GO.replace(
        "\treturn v", '\tif _, err := os.Stat("slug_test.go"); err == nil { return fix(v) }\n\treturn v'
    )
    (finding,) = [
        sign for sign in symptom_signs({"slug.go": GO}, {"slug.go": asking}, TESTS) if "test file" in sign
    ]
    assert "slug_test.go" in finding
    assert not symptom_signs({"slug.go": GO}, {"slug.go": GO.replace("clean", "tidy")}, TESTS)


@pytest.mark.parametrize(
    ("issue", "is_accepted"),
    [("slug knows no days", True), ("1.5 days, not 5.1", True), ("slug is wrong", False)],
)
def test_issue_names_a_word_in_any_of_its_forms(issue: str, is_accepted: bool) -> None:
    tests = {"a.test.ts": 'expect(seconds("day")).toBe(86400);'}
    changed = SCRIPT.replace("  return", '  if (t === "day") return 86400;\n  return')
    assert (symptom_signs({"slug.ts": SCRIPT}, {"slug.ts": changed}, tests, issue=issue) == []) is is_accepted


def test_digits_of_another_number_name_no_number() -> None:
    tests = {"a.test.ts": 'expect(format(5)).toBe("0.05");'}
    changed = SCRIPT.replace("  return", '  if (t === 5) return "0.05";\n  return')
    issue = "format(5) is 0.5 instead of 0.05"
    assert symptom_signs({"slug.ts": SCRIPT}, {"slug.ts": changed}, tests, issue=issue) == [
        f"slug.ts:2 {CASE}"
    ]
