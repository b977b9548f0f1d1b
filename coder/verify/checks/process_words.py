"""Words by which a source looks for the process that tests it: its caller, its runner, its command line.

One row of patterns a language. Behavior, where it is compared, shows what such code does; these words are for
the rest. They are found line by line: deliberately obscured code is not.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import PurePosixPath

from coder.python.source import split_lines
from coder.verify.build import SOURCE_SUFFIXES

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
    r"\b(?:gettempdir|expanduser|getppid|Path\.home)\(|__file__.*\.(?:exists|is_dir|is_file)\(|[\"']/proc/",
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

    Variables named in `known` are allowed, and what `old` had; an interpreter loads the paths in `loaded`.
    """
    found: dict[str, None] = {}
    for path, text in new.items():
        before = {what for _, what in _words_in(path, old.get(path, ""), known, loaded, are_tests)}
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
