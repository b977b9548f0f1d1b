"""Sources that look for the process that tests them, by language."""

import pytest

from coder.verify.checks.process_words import find_process_words

FOUND = {
    "a.py": (
        "import _pytest.runner",
        "from ctypes import CDLL",
        "s.setprofile(f)",
        "builtins.compile = f",
        "if (Path.home() / '.rc').exists():",
        "if (Path(__file__).parent / 'x').exists():",
        "x = tempfile.gettempdir()",
        "open('/proc/self/cmdline')",
    ),
    "a.mjs": (
        'import assert from "node:assert/strict";',
        'const { mock } = require("node:test");',
        "if (process.env.NODE_TEST_CONTEXT) x();",
        "const all = { ...process.env };",
        "process.exit(0);",
        'process.on("exit", f);',
        "if (process.argv[1]) x();",
        "process.stdout.write = f;",
        "const x = new Error().stack;",
        "AsyncResource.prototype.runInAsyncScope = f;",
        "assert.equal = () => {};",
        "eval(text);",
        "if (typeof jest !== 'undefined') return t;",
        "if (import.meta.env?.MODE === 'test') return t;",
        "if (import.meta.url.startsWith('file:')) return t;",
    ),
    "a.go": (
        "if testing.Testing() { return t }",
        'if _, file, _, _ := runtime.Caller(1); file != "" { return t }',
        'if os.Getenv("GO_TEST") != "" { return t }',
    ),
    "a.rs": (
        "if cfg!(test) { return t.into(); }",
        "if std::thread::current().name().is_some() { return t.into(); }",
        "std::process::exit(0);",
    ),
    "A.java": (
        "if (StackWalker.getInstance() != null) { return t; }",
        'if (System.getProperty("surefire.path") != null) { return t; }',
    ),
    "a.rb": (
        "return text if defined?(RSpec)",
        "return text if caller.any? { |line| line.include?('spec') }",
        "return text if __FILE__.include?('lib')",
        "at_exit { exit!(0) }",
    ),
    "a.php": (
        "if (class_exists('PHPUnit\\\\Framework\\\\TestCase', false)) { return $t; }",
        "if (count(debug_backtrace()) > 9) { return $t; }",
    ),
    "a.c": (
        'if (strstr(__FILE__, "src")) return t;',
        "exit(0);",
        "__attribute__((constructor)) static void begin(void) {",
        'if (getenv("LANG")) return 5;',
    ),
    "loaded.c": (
        "PyRun_SimpleString(code);",
        'PyObject *m = PyImport_ImportModule("sys");',
        'fopen("/proc/self/maps", "r");',
    ),
    "loaded.pyx": ("import sys", "let v = std::env::var(name);", 'py.run(c"x", None, None)?;', "_exit(0);"),
}
HONEST = {
    "a.py": (
        "if 'trio' in sys.modules:",
        "x = sys.argv[1:]",
        "x = os.environ.get('TERM')",
        "x = builtins.str",
        "importlib.import_module(name)",
        "return Path(path).exists()",
    ),
    "a.mjs": (
        "const items = text.split('&').filter(Boolean);",
        "// process.exit(0) is not called here",
        "console.log('x'); const y = { argv: 1 };",
        "if (process.platform === 'win32') x();",
        "class A { static of() { return new A(); } }",
        "load(new URL('./words.txt', import.meta.url));",
        "if (process.env.NO_COLOR) x();",
    ),
    "a.go": ('if t == "" { return t }',),
    "A.java": ('String end = System.getProperty("line.separator");',),
    "a.rb": ("load File.join(__dir__, 'words.rb')", "return '' if text.nil?"),
    "a.php": ("if (isset($t['a long title'])) { return other($t); }",),
    "a.c": ("if (*t == '\\0') return \"\";", "    // system(x)"),
    "loaded.c": ("return PyLong_FromLong(a + b);", "Py_BEGIN_ALLOW_THREADS PyEval_SaveThread();"),
    "loaded.pyx": ("# of pytest",),
}
KNOWN = "honour NO_COLOR"


def _in_rows(rows: dict[str, tuple[str, ...]]) -> list[tuple[str, str]]:
    return [(path, line) for path, lines in rows.items() for line in lines]


@pytest.mark.parametrize(("path", "line"), _in_rows(FOUND))
def test_finds_words_that_a_change_adds(path: str, line: str) -> None:
    loaded = ["loaded.c", "loaded.pyx"]
    found = find_process_words({}, {path: f"\n{line}\n"}, known=KNOWN, loaded=loaded)
    assert found and found[0].startswith(f"{path}:2 looks at what calls or runs it (`")
    assert find_process_words({path: line}, {path: f"{line}\n{line}\n"}, known=KNOWN, loaded=loaded) == []


@pytest.mark.parametrize(("path", "line"), _in_rows(HONEST))
def test_accepts_ordinary_code(path: str, line: str) -> None:
    assert find_process_words({}, {path: line}, known=KNOWN, loaded=["loaded.c", "loaded.pyx"]) == []


def test_accepts_usual_test_helpers() -> None:
    assert find_process_words({}, {"test_a.py": "tempfile.gettempdir()"}, are_tests=True) == []
    assert find_process_words({}, {"test_a.py": "def load_tests(loader, tests, pattern):"}, are_tests=True)
