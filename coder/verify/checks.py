"""Rules on how tests run, and on sources that look for the process that tests them."""

import io
import re
import tokenize
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path, PurePosixPath

from coder.core.paths import is_test_path
from coder.core.text import join_first
from coder.core.verdict import Effect, Finding, TestResult
from coder.files.regular_files import LARGEST_SOURCE, project_files, read_regular_text, read_texts
from coder.python.source import differs_in_code, split_lines
from coder.verify.build import SOURCE_SUFFIXES, compiled_sources, find_build
from coder.verify.change import SUFFIXES, JudgedChange
from coder.verify.layout import (
    RUNNER_SCRIPTS,
    configuration_of_tests,
    configures_runner,
    is_injected,
    may_configure,
)
from coder.verify.results import limit_notes, shorten_test_id
from coder.verify.runners.adapter import json_object
from coder.verify.test_files import (
    CODE,
    adds_only_fixtures,
    find_fixture_names,
)
from coder.verify.verdict import Facts

PROSE = (".md", ".rst", ".adoc")
SHOWN = 3


def add_weaknesses(change: JudgedChange, facts: Facts) -> None:
    """Add what weakens the proof that the targets, which are green on the change, give; hash their files."""
    files = sorted({path for target in facts.targets for path in change.files_of(target)})
    with change.split.read("base") as old, change.split.read("change") as new:
        facts.hashes = {
            path: sha256((new / path).read_bytes()).hexdigest()
            for path in files
            if path not in change.sources and (new / path).is_file()
        }
        data = [path for path in change.sources if not _is_code(path, old, new)]
        has_code = len(data) < len(change.sources)
        rules: list[tuple[str, Effect, Iterable[str]]] = [
            ("wording", "cap", _find_wording(change)),
            ("harness-access", "cap", _find_process_words(change, old, new)),
            ("test-data", "open" if has_code else "cap", _unclear_data(change, facts.targets, data, new)),
            ("unread", "cap", _unread_sources(new, change.sources)),
        ]
        facts.findings += (
            Finding(rule=rule, effect=effect, text=text) for rule, effect, texts in rules for text in texts
        )


def find_harness(change: JudgedChange, command: str, *, is_indirect: bool) -> tuple[str, ...]:
    """Return the changed files that decide how tests run, or what is imported in the place of a source.

    `is_indirect` tells that the command's runner is not watched in its own process.
    """
    with change.split.read("base") as old, change.split.read("change") as new:
        configured = [
            path
            for path in change.changed
            if may_configure(path)
            and configuration_of_tests(old, path) != configuration_of_tests(new, path)
            and not (path.endswith("conftest.py") and _adds_only_fixtures(old, new, path, change.tests))
        ]
        sources = tuple(f"/{source.removeprefix('src/')}" for source in change.sources)
        twins = [path for path in change.tests if not (old / path).exists() and path.endswith(sources)]
        injected = [path for path in change.changed if is_injected(old, path)]
        manifests = [path for path in change.changed if PurePosixPath(path).name == "package.json"]
        texts = [read_texts(tree, manifests, (".json",)) for tree in (old, new)]
        alike = [path for path in manifests if runs_alike(*(each.get(path, "") for each in texts))]
    decisive = [path for path in change.changed if path not in alike]
    runner_files = changed_runner_files(command, decisive, is_indirect=is_indirect)
    return tuple(dict.fromkeys((*configured, *injected, *(twins if sources else ()), *runner_files)))


def _find_wording(change: JudgedChange) -> Iterator[str]:
    """Yield that no code differs, unless the issue is about words."""
    before, after = change.texts_in((".py",))
    is_read = len(after) == len(change.sources) > 0 and not ABOUT_WORDING.search(change.issue)
    is_read = is_read and before != after  # else permissions alone differ
    if is_read and not any(differs_in_code(before.get(path, ""), text) for path, text in after.items()):
        yield "apart from tests, only comments and docstrings have changed"


def _find_process_words(change: JudgedChange, old: Path, new: Path) -> list[str]:
    """Return where a change looks for the process that tests it, the first few."""
    suffixes = (*SUFFIXES, *PYTHON, *SOURCE_SUFFIXES)
    before, after = change.texts_in(suffixes)
    loaded = [path for path in compiled_sources(after) if find_build(path, new)]
    tests = (read_texts(tree, change.tests) for tree in (old, new))
    known = "\n".join((change.issue, *before.values()))
    found = find_process_words(before, after, known=known, loaded=loaded)
    return limit_notes([*found, *find_process_words(*tests, are_tests=True)])


def _unread_sources(new: Path, sources: Sequence[str]) -> Iterator[str]:
    """Yield which changed Python sources run and cannot be read as what they are, half a sentence each."""
    for path in sources:
        file = new / path
        if not path.endswith((".py", ".pyw")):
            continue
        if file.is_symlink():
            yield f"{path} is a link, and what it leads to was not read"
        elif not file.is_file():
            continue
        elif file.stat().st_size >= LARGEST_SOURCE:
            yield f"{path} is too large to be read"
        elif (encoding := _declared_encoding(file.read_bytes())) and not _keeps_ascii(encoding):
            yield f"{path} is written in {encoding}, which hides what it says"


def _declared_encoding(data: bytes) -> str:
    try:
        return tokenize.detect_encoding(io.BytesIO(data).readline)[0]
    except SyntaxError:
        return ""  # no Python can run it


def _keeps_ascii(encoding: str) -> bool:
    """Tell whether ASCII means itself in an encoding, without escapes for other characters."""
    try:
        return ESCAPES.encode("ascii").decode(encoding) == ESCAPES
    except (LookupError, ValueError):
        return False


ESCAPES = r"print(+AGE-, '\u0041\x41')"
"""ASCII that is read otherwise where escapes have a meaning, as in UTF-7 and `unicode_escape`."""


def _is_code(path: str, *trees: Path) -> bool:
    """Tell whether a path has a suffix of code, or is a program without one in one of the trees."""
    return path.endswith(CODE) or any(map(_is_program, (tree / path for tree in trees)))


def _is_program(file: Path) -> bool:
    """Tell whether two of three marks of a program are there: no suffix, a `#!` line, the mode."""
    if not file.is_file():
        return False
    marks = (not file.suffix, read_regular_text(file).startswith("#!"), bool(file.stat().st_mode & 0o111))
    return sum(marks) > 1


def _unclear_data(
    change: JudgedChange, targets: Sequence[str], data: Sequence[str], new: Path
) -> Iterator[str]:
    """Yield why changed files that are no code may be expectations of the targets, half a sentence each."""
    data = [path for path in data if not path.endswith(PROSE)]
    if not data or not targets:
        return
    if lost := [target for target in targets if not change.files_of(target)]:
        yield (
            f"the file that defines {shorten_test_id(lost[0])} cannot be found, and the change edits "
            f"{', '.join(data[:SHOWN])}, which may say what it expects"
        )
    names = {path.rpartition("/")[2]: path for path in data if not may_configure(path)}
    texts = {file: read_regular_text(new / file) for file in project_files(new) if file.endswith(CODE)}
    for name, path in names.items():
        users = [file for file, text in texts.items() if name in text]
        if users and all(is_test_path(file) or file in change.tests for file in users):
            yield f"the change edits {path}, which only tests read ({', '.join(users[:SHOWN])})"


ABOUT_WORDING = re.compile(r"(?i)\b(doc\w*|help|usage|comments?)\b")
"""Words of an issue that a docstring can settle."""


def _adds_only_fixtures(old: Path, new: Path, path: str, tests: Collection[str]) -> bool:
    """Tell whether a `conftest.py` gets nothing but fixtures that no test of the base can ask for."""
    existing = (file for file in project_files(old) if is_test_path(file) and file.endswith(".py"))
    taken = {name for text in read_texts(old, existing).values() for name in find_fixture_names(text)}
    helpers = {part for test in tests for part in PurePosixPath(test).with_suffix("").parts}
    texts = (read_regular_text(tree / path) for tree in (old, new))
    return (new / path).is_file() and adds_only_fixtures(*texts, taken=taken, changed=helpers)


def new_harness_access(on_base: Collection[str], on_change: Collection[str]) -> Iterator[str]:
    """Yield what only the change does to the machinery that observes its tests, half a sentence."""
    if added := sorted({*on_change} - {*on_base}):
        yield f"the change reaches into the test process ({join_first(added, SHOWN)})"


def contradicting_observation(green: TestResult, red: TestResult | None) -> str:
    """Return how the observed run of a test contradicts its green result; empty if it does not.

    `red` is the same test on the base: a function observed there must be observed on the change as well.
    """
    was_observed = red is not None and red.body is not None and red.body.started > 0
    if green.body is None:
        return "its function could be seen on the base and not on the change" if was_observed else ""
    if green.body.started > 0 and green.body.ended == 0:
        return "its function was seen to raise"
    return "its function never ran" if was_observed and green.body.started == 0 else ""


def changed_runner_files(command: str, changed: Sequence[str], *, is_indirect: bool) -> list[str]:
    """Return the changed files that decide how the command runs tests.

    The command names them; if its results are known `is_indirect`ly, those in a fixed list count too. Under
    our recorder only scripts that start the runner can affect the results.
    """
    words = {word.strip("'\"./") for word in command.split()}
    named = [path for path in changed if path.lstrip("./") in words and not is_test_path(path)]
    if not is_indirect:
        return [path for path in named if path.rpartition("/")[2] in RUNNER_SCRIPTS]
    return [path for path in changed if path in named or configures_runner(path)]


DESCRIPTIONS = frozenset(
    {
        *("version", "description", "keywords", "author", "contributors", "license", "repository", "bugs"),
        *("homepage", "funding", "dependencies", "devDependencies", "peerDependencies", "engines"),
        *("optionalDependencies", "peerDependenciesMeta", "packageManager", "files", "publishConfig"),
        *("bin", "browser", "exports", "main", "module", "sideEffects", "types", "typings"),
    }
)
"""Entries of package.json that say nothing about how tests run: both sides use the installed packages, and
what its users load is the product.
"""


def runs_alike(old: str, new: str) -> bool:
    """Tell whether two texts of a package.json differ in nothing but packages and descriptions."""
    before, after = json_object(old), json_object(new)
    kept = (
        {key: value for key, value in each.items() if key not in DESCRIPTIONS} for each in (before, after)
    )
    return bool(before and after) and next(kept) == next(kept)


PYTHON = (".py", ".pyw")
_COMMENT = re.compile(r"\s*(?://|\*(?!\()|/\*|#(?![!\[]|\s*(?:if|elif|define|include)))")
_PLACE = (
    r"(?:\bimport\.meta\.url\b|\b__filename\b|\b__dirname\b|\b__FILE__\b|\b__DIR__\b|\b__dir__\b|\bfile!\(\)"
    r"|\bprocess\.cwd\(\)|\bgetcwd\(\)|\bDir\.pwd\b)"
)
_ASKS_FOR_PLACE = (
    rf"{_PLACE}\s*(?:\.(?i:starts?_?With|ends?_?With|includes?|indexOf|match|search|contains)\b|[=!]==?|=~)"
    rf"|(?:[=!]==?\s*|\b(?:str_(?:contains|starts_with|ends_with)|strpos|strstr|preg_match|test)\([^)]*){_PLACE}"
)
_SCRIPT = (
    r"(?:from|require\(|import\(|import)\s*[\"'`](?:node:)?(?:test|assert|inspector|trace_events|v8|vm|module"
    r"|diagnostics_channel|repl|vitest|jest|@jest/\w+|mocha|chai|ava|tape|sinon|expect)\b",
    r"\bprocess\.(?:exit|abort|kill|reallyExit|binding|_\w+|on|once|emit|exitCode|disconnect|send|channel"
    r"|connected|ppid|argv|execArgv|title|mainModule|report|features|constrainedMemory)\b",
    r"\bprocess\.(?:stdout|stderr)\.(?:write\s*=|isTTY|fd|_\w+)|\bconsole\.\w+\s*=(?!=)",
    r"\b(?:process|globalThis|global)\s*\[|\bReflect\.\w+\(\s*(?:process|globalThis)",
    r"\bnew Error\(\w*\)\.stack|\b(?:captureStackTrace|prepareStackTrace)\b|\barguments\.callee\b",
    r"\b[A-Z]\w*\.prototype\.\w+\s*=(?!=)"
    r"|\bObject\.defineProper(?:ty|ties)\(\s*(?:[A-Z]\w*\.prototype|process|globalThis|assert)",
    r"\bassert(?:\.\w+)?\s*=(?!=)|\b(?:mock\.method|registerHooks|setUncaughtExceptionCaptureCallback)\b",
    r"\b__(?:vitest|jest|mocha)_?\w*|\beval\s*\(|\bnew Function\s*\(",
    r"\b(?:JEST_WORKER_ID|VITEST(?:_\w+)?|NODE_TEST_CONTEXT)\b|NODE_ENV\W{1,6}test\b|\bMODE\W{1,6}test\b"
    r"|\btypeof\s+(?:globalThis\.)?(?:jest|vi|vitest|mocha|describe|it|test|expect|before(?:Each|All)?)\b"
    r"|\bimport\.meta\.(?:vitest|jest)\b|\bglobal(?:This)?\.(?:jest|vi|expect|describe|it)\b",
    _ASKS_FOR_PLACE,
)
_PYTHON = (
    r"^\s*(?:import|from)\s+(?:_pytest|pluggy|ctypes|cffi|_thread|_testcapi|bdb|marshal|imp|coder_\w+)\b",
    r"\b(?:setprofile|settrace|addaudithook)\b|\bsys\.monitoring\b|\bbuiltins\.\w+\s*=(?!=)",
    r"\b(?:gettempdir|getppid|Path\.home)\(|\bexpanduser\(\s*[\"']|[\"'][^\"']*[\"']\)\.expanduser\(|__file__.*\.(?:exists|is_dir|is_file)\(|[\"']/proc/",
)
_PYTHON_TESTS = (_PYTHON[0], r"\bbuiltins\.\w+\s*=(?!=)|^\s*def load_tests\b")
_C = (r"\bprogram_invocation_\w*name\b|\b__progname\b|\bgetprogname\b|/proc/", _ASKS_FOR_PLACE)
_WORDS: Mapping[tuple[str, ...], tuple[str, ...]] = {
    ("py", "pyw"): _PYTHON,
    ("js", "jsx", "mjs", "cjs", "ts", "mts", "cts", "tsx"): _SCRIPT,
    ("go",): (
        r"\btesting\.Testing\(\)|flag\.Lookup\(\"test\.|\"\.test\"|\bos\.(?:Args|Executable)\b",
        r"\bruntime\.(?:Callers?|CallersFrames|Stack|FuncForPC)\b|\bdebug\.(?:Stack|PrintStack|ReadBuildInfo)\b",
    ),
    ("rs",): (
        r"cfg(?:_attr)?!?\(\s*(?:not\()?\s*(?:debug_assertions|test)\b|\bCARGO_TARGET_TMPDIR\b",
        r"\benv::(?:args(?:_os)?|current_exe)\b|\bBacktrace\b|\bthread::current\(\)",
        _ASKS_FOR_PLACE,
    ),
    ("java",): (
        r"Class\.forName\(\"org\.(?:junit|testng)|\bgetStackTrace\(\)|\bStackWalker\b|\bThread\.getAllStackTraces\b",
        r"\bManagementFactory\b|\bProcessHandle\b|\bRuntime\.getRuntime\(\)\.(?:halt|exit|addShutdownHook)\b"
        r"|\bSystem\.exit\b",
    ),
    ("rb", "rake"): (
        r"(?<![.\w@:])caller(?:_locations)?\b(?!\s*[=:])|\b(?:RSpec|Minitest|Test::Unit)\b",
        r"\bconst_defined\?|\bObject\.constants\b|\$(?:0|PROGRAM_NAME|LOADED_FEATURES)(?!\w)|\.backtrace\b",
        r"(?<![.\w])at_exit\b|\bexit!|\bProcess\.(?:exit!|kill)|\bTracePoint\b|\bObjectSpace\b",
        _ASKS_FOR_PLACE,
    ),
    ("php",): (
        r"\bdebug(?:_print)?_backtrace\b|->getTrace(?:AsString)?\(|\bPHPUnit\b|\bPHPUNIT_\w+|\\Pest\\",
        r"\bget_(?:declared_classes|included_files|required_files|defined_constants)\b|\$argv\b"
        r"|\[[\"']argv[\"']\]|\bregister_shutdown_function\b",
        _ASKS_FOR_PLACE,
    ),
    ("c", "h", "cc", "cpp", "cxx", "hh", "hpp", "hxx"): _C,
}
_COMPILED = (
    r"\b(?:system|popen|execl[pe]*|execv[pe]*|posix_spawn\w*|v?fork|ptrace|dlopen|dlsym|dladdr|_?exit|_Exit"
    r"|quick_exit|atexit|on_exit|kill|sigaction|mprotect|process_vm_\w+|syscall|backtrace|raw_syscalls?)\s*\(",
    r"\b__asm__\b|\basm\s*[!(]|\b__attribute__\s*\(\(\s*(?:constructor|destructor)",
)
"""Words by which a compiled program decides on its own exit code, whatever its tests find."""
_EXTENSION_MODULE = (
    r"\b_?Py(?:Run|Sys|Frame|ThreadState|InterpreterState|GC|Unstable|Marshal|Trace\w*)_\w+"
    r"|\bPyEval_(?!SaveThread|RestoreThread|CallObject)\w+|\bPy_(?:AtExit|AddPendingCall|Exit|Finalize\w*)\b",
    r"[\"'](?:sys|gc|builtins|inspect|ctypes|atexit|os|importlib)[\"']"
    r"|\b(?:c?import|from)\s+(?:sys|gc|builtins|inspect|ctypes|atexit|importlib|posix|libc\.signal)\b",
    r"\b_?pytest\b|\bunittest\b|\bpluggy\b|\bPYTEST_\w+|/proc/",
    r"\b(?:secure_)?getenv\s*\(|\benviron\b|\bstd::env\b",
    r"\bstd::process\b|\blibc::\w+|\bPython::\w*(?:run|eval)\w*|\bpy\.(?:run|eval|import)\w*",
)
_ENVIRONMENT = re.compile(
    r"(?:\bos\.(?:Getenv|LookupEnv)\(|\benv::var(?:_os)?\(|\bSystem\.get(?:env|Property)\(|\bENV(?:\.\w+[!?]?\(|\[)"
    r"|(?<![.\w])getenv\(|\$_ENV\[|\boption_env!\(|\bprocess\.env\[)\s*[\"'`](?P<quoted>[\w.]+)[\"'`]"
    r"|\bprocess\.env(?:\.(?P<dotted>\w+)|\b(?!\.|\[\s*[\"'`]))"
)
_HARMLESS = re.compile(r"(?:line|file|path)\.(?:separator|encoding)|os\.\w+|user\.\w+|java\.version")
_ROWS = {
    extension: re.compile("|".join(row)) for extensions, row in _WORDS.items() for extension in extensions
}
_TESTS = re.compile("|".join(_PYTHON_TESTS))
_BUILT, _LOADED = (re.compile("|".join(row)) for row in (_COMPILED, (*_COMPILED, *_EXTENSION_MODULE)))


def find_process_words(
    old: Mapping[str, str],
    new: Mapping[str, str],
    *,
    known: str = "",
    loaded: Collection[str] = (),
    are_tests: bool = False,
) -> list[str]:
    """Return where changed files look for the process that tests them, half a sentence each.

    Variables named in `known` are allowed, and what `old` had, in Python, whose calls are compared, in any of
    its files; an interpreter loads the paths in `loaded`.
    """
    found: dict[str, None] = {}
    for path, text in new.items():
        sources = [each for each in old if each == path or (path.endswith(PYTHON) and each.endswith(PYTHON))]
        before = {
            what for each in sources for _, what in _words_in(each, old[each], known, loaded, are_tests)
        }
        for number, what in _words_in(path, text, known, loaded, are_tests):
            if what not in before:
                found[f"{path}:{number} looks at what calls or runs it (`{what}`)"] = None
    return [*found]


def _words_in(
    path: str, text: str, known: str, loaded: Collection[str], are_tests: bool
) -> Iterator[tuple[int, str]]:
    pure = PurePosixPath(path)
    patterns = [_TESTS if are_tests else _ROWS.get(pure.suffix[1:])]
    asks_environment = pure.suffix[1:] in _ROWS and pure.suffix not in PYTHON
    if pure.suffix in SOURCE_SUFFIXES:
        patterns.append(_LOADED if path in loaded else _BUILT)
    for number, line in enumerate(split_lines(text), 1):
        if _COMMENT.match(line):
            continue
        for pattern in filter(None, patterns):
            for match in pattern.finditer(line):
                yield number, " ".join(match[0].split())
        for match in _ENVIRONMENT.finditer(line) if asks_environment else ():
            name = match["quoted"] or match["dotted"] or ""
            if not name or (name not in known and not _HARMLESS.fullmatch(name)):
                yield number, match[0]
