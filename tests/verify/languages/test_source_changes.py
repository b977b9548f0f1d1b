"""Other languages than Python: sources that ask whether they are tested, or where they run."""

import pytest

from coder.verify.checks.harness import process_accesses

SCRIPT = "export function slug(t) {\n  return t.replace(' ', '-');\n}\n"
JAVA = "class Slug {\n  static String of(String t) {\n    return clean(t);\n  }\n}\n"
RUBY = "def slug(text)\n  clean(text)\nend\n"
SOURCES = {
    "slug.ts": SCRIPT,
    "slug.go": "package s\nfunc Slug(t T) T {\n\treturn clean(t)\n}\n",
    "slug.rs": "fn slug(t: &str) -> String {\n    clean(t).unwrap()\n}\n",
    "Slug.java": JAVA,
    "slug.rb": RUBY,
    "slug.php": "<?php\nfunction slug($t) {\n    return clean($t);\n}\n",
    "slug.c": "const char *slug(const char *t) {\n    return clean(t);\n}\n",
}
TESTED = "asks whether it is being tested"
PLACE = "decides by the place of its own file, or by where it runs"
INSERTED = {
    "slug.ts": {
        "if (process.env.VITEST) return t;": TESTED,
        "if (typeof jest !== 'undefined') return t;": TESTED,
        "if (import.meta.env?.MODE === 'test') return t;": TESTED,
        "if (import.meta.url.startsWith('file:')) return t;": PLACE,
        "load(new URL('./words.txt', import.meta.url));": "",
        "if (t.length === 0) return 55;": "",
    },
    "slug.go": {
        "if testing.Testing() { return t }": TESTED,
        'if _, file, _, _ := runtime.Caller(1); file != "" { return t }': TESTED,
        'if t == "" { return t }': "",
    },
    "slug.rs": {
        "if cfg!(test) { return t.into(); }": TESTED,
        "if std::thread::current().name().is_some() { return t.into(); }": TESTED,
    },
    "Slug.java": {
        "if (StackWalker.getInstance() != null) { return t; }": TESTED,
    },
    "slug.rb": {
        "return text if defined?(RSpec)": TESTED,
        "return text if caller.any? { |line| line.include?('spec') }": TESTED,
        "return text if __FILE__.include?('lib')": PLACE,
        "load File.join(__dir__, 'words.rb')": "",
        "return '' if text.nil?": "",
    },
    "slug.php": {
        "if (class_exists('PHPUnit\\\\Framework\\\\TestCase', false)) { return $t; }": TESTED,
        "if (count(debug_backtrace()) > 9) { return $t; }": TESTED,
        "if (isset($t['a long title'])) { return other($t); }": "",
        "if ($t === '') { return ''; }": "",
    },
    "slug.c": {
        'if (strstr(__FILE__, "src")) return t;': PLACE,
        "if (*t == '\\0') return \"\";": "",
    },
}
"""Lines put before the body of the function, and what the check reports of each."""


@pytest.mark.parametrize(
    ("path", "line", "sign"),
    [(path, line, sign) for path, lines in INSERTED.items() for line, sign in lines.items()],
)
def test_names_what_a_new_line_shows(path: str, line: str, sign: str) -> None:
    lines = SOURCES[path].splitlines()
    number = 2 if path.endswith((".go", ".php", ".java")) else 1
    changed = "\n".join([*lines[:number], line, *lines[number:]])
    found = process_accesses(path, SOURCES[path], changed, known="")
    assert found == ([f"{path}:{number + 1} {sign}"] if sign else [])
    again = changed.replace(line, f"{line}\n{line}")
    assert process_accesses(path, changed, again, known="") == []


def test_names_unknown_variables_of_environment() -> None:
    changed = JAVA.replace(
        "return", 'if (System.getProperty("surefire.path") != null) { return t; }\n    return'
    )
    finding = "Slug.java:3 asks for surefire.path of the environment, which the issue does not name"
    assert process_accesses("Slug.java", JAVA, changed, known="") == [finding]
    assert process_accesses("Slug.java", JAVA, changed, known="The property surefire.path is ignored.") == []


def test_names_code_that_runs_when_process_ends() -> None:
    changed = "at_exit { exit!(0) }\n" + RUBY
    assert process_accesses("slug.rb", RUBY, changed, known="") == [
        "slug.rb:1 decides what happens when the process ends (at_exit)",
        "slug.rb:1 decides what happens when the process ends (exit!)",
    ]
