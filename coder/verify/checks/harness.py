"""Access of a change to the process that tests it, in Python, JavaScript and other languages."""

import ast
import re
from collections.abc import Collection, Iterable, Iterator, Mapping

from coder.python.source import parse_or_empty
from coder.verify.languages import extension_of
from coder.verify.test_edits import dotted_name


def harness_accesses(old: Mapping[str, str], new: Mapping[str, str], *, are_tests: bool) -> list[str]:
    """Return new accesses of changed Python files (texts by path) to the test process, half a sentence each.

    These are the ones that neither the recorder of the run nor replayed calls show: machinery below the
    recorder, and state that the test leaves for its replay. What a file did before is allowed.
    """
    return [
        access
        for path, text in new.items()
        for access in new_accesses(
            path,
            _accesses(parse_or_empty(old.get(path, "")), are_tests),
            _accesses(parse_or_empty(text), are_tests),
        )
    ]


def new_accesses(
    path: str, before: Iterable[tuple[int, str]], after: Iterable[tuple[int, str]]
) -> dict[str, None]:
    """Return the accesses of a file that it did not have before, with their places, each once.

    What follows a null character tells accesses of one kind apart.
    """
    known = {what for _, what in before}
    added = ((line, what) for line, what in after if what not in known)
    return dict.fromkeys(f"{path}:{line} {what.partition(chr(0))[0]}" for line, what in added)


def _accesses(tree: ast.Module, are_tests: bool) -> Iterator[tuple[int, str]]:
    modules = dict(_module_aliases(tree))
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=aliases):
                names = [alias.name for alias in aliases]
                yield from ((node.lineno, f"imports {name}") for name in names if _is_internal(name))
            case ast.ImportFrom(module=str(name)) if _is_internal(name):
                yield node.lineno, f"imports {name}"
            case ast.FunctionDef(name="load_tests") if are_tests:
                yield node.lineno, "decides by itself which tests run (load_tests)"
            case ast.Attribute() if not are_tests and (name := _resolved_name(node, modules)) in LOW_LEVEL:
                yield node.lineno, f"uses {name}"
            case ast.Attribute(value=ast.Name(id=name), ctx=ast.Store()) if modules.get(name) == "builtins":
                yield node.lineno, f"replaces a built-in ({node.attr})"
            case ast.Call(func=function) if (
                not are_tests and (name := _resolved_name(function, modules)) in LOCATIONS
            ):
                yield node.lineno, f"looks at where it runs ({name})"
            case ast.Call(func=ast.Attribute(attr="exists" | "is_dir" | "is_file", value=value)) if (
                not are_tests and _is_from_own_path(value, tree)
            ):
                yield node.lineno, "looks at the files beside it"
            case ast.Constant(value=str(text)) if not are_tests and text.startswith("/proc/"):
                yield node.lineno, "looks at its process (/proc/)"


def _is_internal(module: str) -> bool:
    return module.partition(".")[0] in INTERNALS or module.startswith("coder_")


def _module_aliases(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield names bound to modules or what is in them, with the full names."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.asname or alias.name.partition(".")[0], alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((alias.asname or alias.name, f"{node.module}.{alias.name}") for alias in node.names)


def _resolved_name(node: ast.expr, modules: Mapping[str, str]) -> str:
    first, dot, rest = dotted_name(node).partition(".")
    return f"{modules.get(first, first)}{dot}{rest}"


def _is_from_own_path(node: ast.expr, tree: ast.Module) -> bool:
    """Tell whether this path is derived from `__file__`, directly or through a variable of that name."""
    if any(isinstance(part, ast.Name) and part.id == "__file__" for part in ast.walk(node)):
        return True
    names = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
    return any(
        isinstance(part, ast.Name) and part.id == "__file__"
        for statement in ast.walk(tree)
        if isinstance(statement, ast.Assign)
        and any(isinstance(target, ast.Name) and target.id in names for target in statement.targets)
        for part in ast.walk(statement.value)
    )


INTERNALS = frozenset(
    {"_pytest", "pluggy", "ctypes", "cffi", "_thread", "_testcapi", "bdb", "marshal", "imp"}
)
LOW_LEVEL = frozenset({"sys.setprofile", "sys.settrace", "sys.monitoring", "sys.addaudithook"})
LOCATIONS = frozenset({"pathlib.Path.home", "tempfile.gettempdir", "os.path.expanduser", "os.getppid"})
"""Calls that lead to files which outlive a test run, or tell runs apart."""
SUFFIXES = (".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx")
_JS_COMMENT = re.compile(r"^\s*(?://|\*|/\*)")
_IMPORTING = r"""(?:from|require\(|import\(|import)\s*["'`](?:node:)?"""
OF_SOURCES: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), what)
    for pattern, what in (
        (
            _IMPORTING + r"(?:test|assert|inspector|trace_events|v8|vm|module|diagnostics_channel|repl)\b",
            "imports {}, which test runners stand on",
        ),
        (_IMPORTING + r"(?:vitest|jest|@jest/\w+|mocha|chai|ava|tape|sinon|expect)\b", "imports {}"),
        (
            r"\bprocess\.(?:exit|abort|kill|reallyExit|binding|_\w+|on|once|emit|exitCode|disconnect|send"
            r"|channel|connected|ppid)\b",
            "uses {}",
        ),
        (r"\bprocess\.(?:argv|execArgv|title|mainModule|report|features|constrainedMemory)\b", "asks for {}"),
        (
            r"\bprocess\.(?:stdout|stderr)\.(?:write\s*=|isTTY|fd|_\w+)|\bconsole\.\w+\s*=[^=]",
            "changes or looks at the output of the process ({})",
        ),
        (
            r"\bprocess\s*\[|\bglobalThis\s*\[|\bglobal\s*\[|\bReflect\.\w+\(\s*(?:process|globalThis)",
            "looks into {} by a name that cannot be read here",
        ),
        (
            r"\bnew Error\(\w*\)\.stack|\bcaptureStackTrace\b|\bprepareStackTrace\b|\barguments\.callee\b",
            "looks at its callers ({})",
        ),
        (
            r"\b[A-Z]\w*\.prototype\.\w+\s*=[^=]"
            r"|\bObject\.defineProper(?:ty|ties)\(\s*(?:[A-Z]\w*\.prototype|process|globalThis|assert)",
            "replaces {}",
        ),
        (
            r"\bassert(?:\.\w+)?\s*=[^=]|\bmock\.method\b|\bregisterHooks\b"
            r"|\bsetUncaughtExceptionCaptureCallback\b",
            "replaces what tests call ({})",
        ),
        (r"\b__(?:vitest|jest|mocha)_?\w*", "names {}"),
        (r"\beval\s*\(|\bnew Function\s*\(", "executes code that cannot be read here ({})"),
    )
)
_VARIABLE = re.compile(
    r"\bprocess\.env(?:\.(?P<dotted>\w+)|\[\s*[\"'`](?P<quoted>\w+)[\"'`]\s*\]|(?P<whole>\b(?![.\[])|\[))"
)


def harness_accesses_js(old: Mapping[str, str], new: Mapping[str, str], *, known: str = "") -> list[str]:
    """Return new accesses of the changed sources (texts by path) to the test process, half a sentence each.

    Detection is by regular expressions, line by line: deliberately obscured code is not found. Environment
    variables whose names are in `known` (the issue, the base's code, unchanged tests) are allowed.
    """
    return [
        access
        for path, text in new.items()
        for access in new_accesses(path, _in_js(old.get(path, ""), known), _in_js(text, known))
    ]


def _in_js(text: str, known: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.splitlines(), 1):
        if _JS_COMMENT.match(line):
            continue
        for pattern, what in OF_SOURCES:
            if match := pattern.search(line):
                yield number, what.format(re.sub(r"\s+", " ", match[0].strip(" =(")))
        for variable in _VARIABLE.finditer(line):
            name = variable["dotted"] or variable["quoted"] or ""
            if not name or name not in known:
                yield number, f"asks for the environment variable {name or 'whose name cannot be read here'}"


_COMMENT = re.compile(r"\s*(?://|\*|/\*|#(?![!\[]|\s*(?:if|elif|define|include)))")
_DETECTIONS: Mapping[tuple[str, ...], str] = {
    ("js", "jsx", "mjs", "cjs", "ts", "mts", "cts", "tsx"): (
        r"\b(?:JEST_WORKER_ID|VITEST(?:_\w+)?|NODE_TEST_CONTEXT)\b|NODE_ENV\W{1,6}test\b"
        r"|\btypeof\s+(?:globalThis\.)?(?:jest|vi|vitest|mocha|describe|it|test|expect|before(?:Each|All)?)\b"
        r"|\bimport\.meta\.(?:vitest|jest)\b|\bMODE\W{1,6}test\b|\bglobal(?:This)?\.(?:jest|vi|expect|describe|it)\b"
    ),
    ("go",): (
        r"\btesting\.Testing\(\)|flag\.Lookup\(\"test\.|\"\.test\"|\bos\.(?:Args|Executable)\b"
        r"|\bruntime\.(?:Callers?|CallersFrames|Stack|FuncForPC)\b|\bdebug\.(?:Stack|PrintStack|ReadBuildInfo)\b"
    ),
    ("rs",): (
        r"cfg(?:_attr)?!?\(\s*(?:not\()?\s*(?:debug_assertions|test)\b|\bCARGO_TARGET_TMPDIR\b"
        r"|\benv::(?:args(?:_os)?|current_exe)\b|\bBacktrace\b|\bthread::current\(\)"
    ),
    ("java",): (
        r"Class\.forName\(\"org\.(?:junit|testng)|\bgetStackTrace\(\)|\bStackWalker\b|\bThread\.getAllStackTraces\b"
        r"|\bManagementFactory\b|\bProcessHandle\b"
    ),
    ("rb", "rake"): (
        r"(?<![.\w@:])caller(?:_locations)?\b(?!\s*[=:])|\b(?:RSpec|Minitest|Test::Unit)\b"
        r"|\bconst_defined\?|\bObject\.constants\b|\$(?:0|PROGRAM_NAME|LOADED_FEATURES)(?!\w)|\.backtrace\b"
    ),
    ("php",): (
        r"\bdebug(?:_print)?_backtrace\b|->getTrace(?:AsString)?\(|\bPHPUnit\b|\bPHPUNIT_\w+|\\Pest\\"
        r"|\bget_(?:declared_classes|included_files|required_files|defined_constants)\b|\$argv\b|\[[\"']argv[\"']\]"
    ),
    ("c", "h", "cc", "cpp", "cxx", "hh", "hpp", "hxx"): (
        r"\bprogram_invocation_\w*name\b|\b__progname\b|\bgetprogname\b|/proc/"
    ),
}
_SHUTDOWN = (
    r"(?<![.\w])at_exit\b|\bexit!|\bProcess\.(?:exit!|kill)|\bTracePoint\b|\bObjectSpace\b"
    r"|\bregister_shutdown_function\b|\bRuntime\.getRuntime\(\)\.(?:halt|exit|addShutdownHook)\b|\bSystem\.exit\b"
)
_ENVIRONMENT = re.compile(
    r"(?:\bos\.(?:Getenv|LookupEnv)\(|\benv::var(?:_os)?\(|\bSystem\.get(?:env|Property)\(|\bENV(?:\.\w+[!?]?\(|\[)"
    r"|(?<![.\w])getenv\(|\$_ENV\[|\boption_env!\()\s*[\"'](?P<name>[\w.]+)[\"']"
)
_PLACE = (
    r"(?:\bimport\.meta\.url\b|\b__filename\b|\b__dirname\b|\b__FILE__\b|\b__DIR__\b|\b__dir__\b|\bfile!\(\)"
    r"|\bprocess\.cwd\(\)|\bgetcwd\(\)|\bDir\.pwd\b)"
)
_LOCATION = re.compile(
    rf"{_PLACE}\s*(?:\.(?:starts?_?With|ends?_?With|includes?|indexOf|match|search|contains)\b|[=!]==?|=~)"
    rf"|(?:[=!]==?\s*|\b(?:str_(?:contains|starts_with|ends_with)|strpos|strstr|preg_match|test)\([^)]*){_PLACE}",
    re.IGNORECASE,
)
_HARMLESS_PROPERTIES = re.compile(
    r"(?:line|file|path)\.(?:separator|encoding)|os\.\w+|user\.(?:home|name)|java\.version"
)
_PATTERNS = {
    extension: re.compile(pattern) for extensions, pattern in _DETECTIONS.items() for extension in extensions
}
_ENDING = re.compile(_SHUTDOWN)


def process_accesses(path: str, old: str, new: str, *, known: str) -> list[str]:
    """Return the accesses of a source that it did not have before, half a sentence each.

    Environment variables whose names are in `known` (the issue, the base's code) are allowed.
    """
    sides = (_process_accesses(path, text, known) for text in (old, new))
    return [*new_accesses(path, *sides)]


def _process_accesses(path: str, text: str, known: str) -> Iterator[tuple[int, str]]:
    detection = _PATTERNS[extension_of(path)]
    for number, line in enumerate(text.splitlines(), 1):
        if _COMMENT.match(line):
            continue
        for match in detection.finditer(line):
            yield number, f"asks whether it is being tested\0{match[0]}"
        if _LOCATION.search(line):
            yield number, "decides by the place of its own file, or by where it runs"
        for match in _ENDING.finditer(line):
            yield number, f"decides what happens when the process ends ({match[0]})"
        for match in _ENVIRONMENT.finditer(line):
            name = match["name"]
            if name not in known and not _HARMLESS_PROPERTIES.fullmatch(name):
                yield number, f"asks for {name} of the environment, which the issue does not name"


_NATIVE_COMMENT = re.compile(r"^\s*(?://|/\*|\*\s|#(?!\s*(?:define|include|if|elif)))")
_OF_PROCESS = tuple(
    (re.compile(pattern), what)
    for pattern, what in (
        (
            r"\b(?:system|popen|execl[pe]*|execv[pe]*|posix_spawn\w*|v?fork|ptrace|dlopen|dlsym|dladdr|_?exit|_Exit"
            r"|quick_exit|atexit|on_exit|kill|sigaction|mprotect|process_vm_\w+|syscall|backtrace|raw_syscalls?)"
            r"\s*\(",
            "calls {}",
        ),
        (r"\b__asm__\b|\basm\s*[!(]|\b__attribute__\s*\(\(\s*(?:constructor|destructor)", "uses {}"),
    )
)
"""Accesses by which a program decides on its own exit code, whatever its tests find."""
_OF_INTERPRETER = tuple(
    (re.compile(pattern), what)
    for pattern, what in (
        (
            r"\b_?Py(?:Run|Sys|Frame|ThreadState|InterpreterState|GC|Unstable|Marshal|Trace\w*)_\w+"
            r"|\bPyEval_(?!SaveThread|RestoreThread|CallObject)\w+|\bPy_(?:AtExit|AddPendingCall|Exit|Finalize\w*)\b",
            "uses {} of the interpreter",
        ),
        (
            r"""["'](?:sys|gc|builtins|inspect|ctypes|atexit|os|importlib)["']"""
            r"|\b(?:c?import|from)\s+(?:sys|gc|builtins|inspect|ctypes|atexit|importlib|posix|libc\.signal)\b",
            "reaches for a module of the interpreter ({})",
        ),
        (r"\b_?pytest\b|\bunittest\b|\bpluggy\b|\bPYTEST_\w+", "names {}"),
        (r"\b(?:secure_)?getenv\s*\(|\benviron\b|\bstd::env\b", "asks for the environment ({})"),
        (r"/proc/", "reads {}"),
        (
            r"\bstd::process\b|\blibc::\w+|\bPython::\w*(?:run|eval)\w*|\bpy\.(?:run|eval|import)\w*",
            "uses {}",
        ),
    )
)


def find_native_accesses(
    old: Mapping[str, str], new: Mapping[str, str], *, extensions: Collection[str]
) -> Iterator[str]:
    """Yield accesses in new lines of compiled sources (texts by path), half a sentence each.

    Those in `extensions` are loaded by an interpreter, whose own functions count as well.

    Detection is by regular expressions, line by line: deliberately obscured code is not found.
    """
    for path, text in new.items():
        known = frozenset(old.get(path, "").splitlines())
        patterns = (*_OF_PROCESS, *_OF_INTERPRETER) if path in extensions else _OF_PROCESS
        for number, line in enumerate(text.splitlines(), 1):
            if line in known or _NATIVE_COMMENT.match(line):
                continue
            for pattern, what in patterns:
                if match := pattern.search(line):
                    yield f"{path}:{number} {what.format(match[0].strip(' ('))}"
