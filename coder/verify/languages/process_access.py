"""Accesses of changed sources to the process that tests them, in languages without a recorder of ours.

They are found by regular expressions, line by line: deliberately obscured code is not found.
"""

import re
from collections.abc import Iterator, Mapping

from coder.verify.languages.tables import extension_of

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
    before = {what for _, what in _accesses(path, old, known)}
    found = [
        f"{path}:{line} {what.partition(chr(0))[0]}"
        for line, what in _accesses(path, new, known)
        if what not in before
    ]
    return list(dict.fromkeys(found))


def _accesses(path: str, text: str, known: str) -> Iterator[tuple[int, str]]:
    """Yield lines and descriptions; what follows a null character tells accesses of one kind apart."""
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
