"""Access of a change to the process that tests it, in Python, JavaScript and other languages."""

import ast
import re
import sys
from collections.abc import Iterator, Mapping

from coder.verify.languages import extension_of
from coder.verify.test_edits import dotted_name, parse_or_empty


def harness_accesses(
    old: Mapping[str, str], new: Mapping[str, str], *, are_tests: bool, known: str = ""
) -> list[str]:
    """Return new accesses of the changed files (texts by path) to the test process, half a sentence each.

    For tests, only accesses that no test needs are counted. Environment variables whose names are in `known`
    (the issue, the base's code, unchanged tests) are allowed, and so is what a file did before.
    """
    accesses: list[str] = []
    for path, text in new.items():
        before = {what for _, what in _all_accesses(parse_or_empty(old.get(path, "")), are_tests, known)}
        accesses += [
            f"{path}:{line} {what}"
            for line, what in _all_accesses(parse_or_empty(text), are_tests, known)
            if what not in before
        ]
    return list(dict.fromkeys(accesses))


def _all_accesses(tree: ast.Module, are_tests: bool, known: str) -> Iterator[tuple[int, str]]:
    yield from _accesses(tree, are_tests, known)
    if not are_tests:
        yield from _environment_probes(tree)


def _accesses(tree: ast.Module, are_tests: bool, known: str) -> Iterator[tuple[int, str]]:
    modules = dict(_module_aliases(tree))
    string_statements = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    attribute_bases = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    for node in _relevant_nodes(tree):
        line = getattr(node, "lineno", 0)
        yield from ((line, what) for what in _forbidden_imports(node, are_tests))
        yield from ((line, what) for what in _attribute_accesses(node, modules, are_tests, known))
        if are_tests and isinstance(node, ast.FunctionDef) and node.name == "load_tests":
            yield line, "decides by itself which tests run (load_tests)"
        if (
            not are_tests
            and id(node) not in string_statements | attribute_bases
            and (what := _obscured_access(node, modules))
        ):
            yield line, what


def _relevant_nodes(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield the nodes of a module, except harmless uses of `sys.modules`.

    These test whether a module is imported that is no test runner.
    """
    exempt: set[int] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Compare(
                left=ast.Constant(value=str() as name),
                ops=[ast.In() | ast.NotIn()],
                comparators=[ast.Attribute(attr="modules") as attribute],
            ):
                if name.partition(".")[0] not in RUNNERS and not name.startswith("coder"):
                    exempt.add(id(attribute))
    return (node for node in ast.walk(tree) if id(node) not in exempt)


def _environment_probes(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield line and half a sentence for each probe of how a test run differs from normal execution."""
    modules = dict(_module_aliases(tree))
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=function) if (name := _resolved_name(function, modules)) in LOCATION_CALLS:
                yield node.lineno, f"looks at where it runs ({name})"
            case ast.Call(func=ast.Name(id="Path"), args=[]):
                yield node.lineno, "looks at where it runs (Path())"
            case ast.Call(func=ast.Attribute(attr="exists" | "is_dir" | "is_file", value=value)) if (
                _is_from_own_path(value, tree)
            ):
                yield node.lineno, "looks at the files beside it"
            case ast.Attribute(attr="handlers" | "hasHandlers", value=ast.Call(func=function)) if dotted_name(
                function
            ).endswith("getLogger"):
                yield node.lineno, "asks whether logging is set up"
            case ast.Compare() if any(
                isinstance(part, ast.Attribute) and part.attr in OWN_STREAMS for part in ast.walk(node)
            ):
                yield node.lineno, "compares a stream with the process's own"
            case ast.comprehension(iter=values) | ast.For(iter=values) if (
                _resolved_name(_receiver(values), modules) == "os.environ"
            ):
                yield values.lineno, "looks through all environment variables"


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


def _receiver(node: ast.expr) -> ast.expr:
    """Return the expression whose items, keys or values a call takes; other expressions as they are."""
    match node:
        case ast.Call(func=ast.Attribute(value=value, attr="items" | "keys" | "values" | "copy"), args=[]):
            return value
        case ast.Call(func=ast.Name(id="dict" | "list" | "sorted" | "set" | "tuple"), args=[argument]):
            return argument
        case _:
            return node


def _is_sensitive_module(name: str, modules: Mapping[str, str]) -> bool:
    """Tell whether this name refers to a module through which a test's outcome could be changed."""
    top = modules.get(name, "").partition(".")[0]
    return top in ("sys", "os", "builtins", "importlib", "inspect", "types", *RUNNERS, *INTERNALS)


def _obscured_access(node: ast.AST, modules: Mapping[str, str]) -> str:
    """Describe code that cannot be analysed or compares as equal to anything; empty for other nodes."""
    match node:
        case ast.Call(func=ast.Name(id=name)) if name in DYNAMIC_CODE:
            return f"executes code that cannot be read here ({name})"
        case ast.Call(
            func=ast.Name(id="getattr" | "setattr" | "delattr" | "vars"), args=[ast.Name(id=name), *rest]
        ) if _is_sensitive_module(name, modules):
            is_obscured = not (rest and isinstance(rest[0], ast.Constant)) or modules[name] in ("sys", "os")
            return (
                f"looks into the module {modules[name]} by a name that cannot be read here"
                if is_obscured
                else ""
            )
        case ast.Call(func=function, args=[argument, *_]) if dotted_name(function).endswith("import_module"):
            return (
                ""
                if isinstance(argument, ast.Constant)
                else "imports a module whose name cannot be read here"
            )
        case ast.Attribute(value=ast.Name(id=name), attr=attribute, ctx=context) if (
            modules.get(name) == "builtins"
        ):
            is_access = not isinstance(context, ast.Load) or attribute in (*DYNAMIC_CODE, "__dict__")
            return f"reaches into builtins ({attribute})" if is_access else ""
        case ast.Name(id=name, ctx=ast.Load()) if modules.get(name) in ("sys", "os", "builtins", "gc"):
            return f"hands the module {modules[name]} on"
        case ast.Constant(value=str() as value) if any(mark in value for mark in HARNESS_STRINGS):
            return f"names {next(mark for mark in HARNESS_STRINGS if mark in value)}"
        case ast.FunctionDef(name=name) if name in COMPARISON_METHODS and _ignores_argument(node):
            return f"makes objects whose {name} looks at nothing"
        case _:
            return ""


def _module_aliases(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield names bound to whole modules, and the modules."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.asname or alias.name.partition(".")[0], alias.name) for alias in node.names)


def _forbidden_imports(node: ast.AST, are_tests: bool) -> Iterator[str]:
    names: list[str] = []
    match node:
        case ast.Import(names=aliases):
            names = [alias.name for alias in aliases]
        case ast.ImportFrom(module=str() as module, names=aliases):
            names = [module]
            forbidden = {
                "sys": TRACING_SYS_NAMES,
                "os": PROCESS_OS_NAMES,
                "inspect": INSPECT_NAMES,
                "gc": GC_NAMES,
            }.get(module, frozenset())
            wrong = [
                alias.name
                for alias in aliases
                if alias.name in forbidden or (not are_tests and _is_probing(module, alias.name))
            ]
            yield from (f"imports {module}.{name}" for name in wrong)
    for name in names:
        top = name.partition(".")[0]
        if top in INTERNALS or top.startswith("coder_") or (not are_tests and top in RUNNERS):
            yield f"imports {name}"


def _is_probing(module: str, name: str) -> bool:
    return (module == "sys" and name not in HARMLESS_SYS_NAMES) or (
        module == "os" and name in PROBING_OS_NAMES
    )


def _attribute_accesses(
    node: ast.AST, modules: Mapping[str, str], are_tests: bool, known: str
) -> Iterator[str]:
    if (
        isinstance(node, ast.Attribute)
        and node.attr in FRAME_ATTRIBUTES
        and not (node.attr == "__code__" and isinstance(node.ctx, ast.Load))
    ):
        yield f"reaches for {node.attr}"
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        module, name = modules.get(node.value.id, ""), node.attr
        if module == "sys" and (
            name in TRACING_SYS_NAMES or (not are_tests and name not in HARMLESS_SYS_NAMES)
        ):
            yield f"asks for sys.{name}"
        elif (module == "os" and name in PROCESS_OS_NAMES) or (
            module == "os" and not are_tests and name in PROBING_OS_NAMES - {"environ", "getenv"}
        ):
            yield f"calls os.{name}"
        elif (module == "inspect" and name in INSPECT_NAMES) or (
            module == "traceback" and not are_tests and name in TRACEBACK_NAMES
        ):
            yield f"looks at its callers ({module}.{name})"
        elif module == "gc" and name in GC_NAMES:
            yield f"asks for gc.{name}"
        elif module == "os" and name == "__dict__":
            yield "looks into the module os"
        elif (
            not are_tests
            and module in sys.stdlib_module_names
            and name.startswith("_")
            and not name.startswith("__")
        ):
            yield f"looks into the private parts of {module} ({name})"
    if (
        not are_tests
        and (variable := _environment_variable(node, modules)) is not None
        and (not variable or variable not in known)
    ):
        yield f"asks for the environment variable {variable or 'whose name cannot be read here'}"


def _environment_variable(node: ast.AST, modules: Mapping[str, str]) -> str | None:
    """Return the environment variable that an expression reads, None if it reads none.

    Empty if its name is not a literal.
    """
    match node:
        case ast.Call(func=function, args=[name, *_]) if _resolved_name(function, modules) in (
            "os.getenv",
            "os.environ.get",
            "os.environ.pop",
        ):
            return name.value if isinstance(name, ast.Constant) and isinstance(name.value, str) else ""
        case ast.Subscript(value=value, slice=name) if _resolved_name(value, modules) == "os.environ":
            return name.value if isinstance(name, ast.Constant) and isinstance(name.value, str) else ""
        case ast.Compare(left=name, ops=[ast.In() | ast.NotIn()], comparators=[value]) if (
            _resolved_name(value, modules) == "os.environ"
        ):
            return name.value if isinstance(name, ast.Constant) and isinstance(name.value, str) else ""
        case _:
            return None


def _resolved_name(node: ast.expr, modules: Mapping[str, str]) -> str:
    first, dot, rest = dotted_name(node).partition(".")
    return f"{modules.get(first, first)}{dot}{rest}"


def _ignores_argument(function: ast.FunctionDef) -> bool:
    """Tell whether a comparison method never uses its argument."""
    parameters = [argument.arg for argument in function.args.args]
    if len(parameters) < 2:
        return True
    return not any(
        isinstance(node, ast.Name) and node.id == parameters[1]
        for node in ast.walk(function)
        if node is not function
    )


RUNNERS = ("_pytest", "pluggy", "pytest", "unittest", "nose", "doctest")
INTERNALS = (
    "_pytest",
    "pluggy",
    "ctypes",
    "_thread",
    "faulthandler",
    "bdb",
    "_testcapi",
    "cffi",
    "marshal",
    "imp",
)
HARMLESS_SYS_NAMES = frozenset(
    {
        *(
            "byteorder",
            "exc_info",
            "executable",
            "exit",
            "float_info",
            "getdefaultencoding",
            "getfilesystemencoding",
            "getrecursionlimit",
        ),
        *(
            "getsizeof",
            "hash_info",
            "hexversion",
            "implementation",
            "int_info",
            "intern",
            "maxsize",
            "maxunicode",
            "platform",
            "prefix",
        ),
        *(
            "setrecursionlimit",
            "stderr",
            "stdin",
            "stdout",
            "stdlib_module_names",
            "version",
            "version_info",
            "warnoptions",
            "exception",
        ),
        *("__stderr__", "__stdin__", "__stdout__", "getrefcount", "flags", "displayhook"),
        *("get_int_max_str_digits", "set_int_max_str_digits", "thread_info", "base_prefix"),
    }
)
TRACING_SYS_NAMES = frozenset(
    {
        "_getframe",
        "_current_frames",
        "settrace",
        "setprofile",
        "monitoring",
        "addaudithook",
        "_getframemodulename",
    }
)
PROCESS_OS_NAMES = frozenset(
    {
        "_exit",
        "abort",
        "dup",
        "dup2",
        "dup3",
        "kill",
        "killpg",
        "fork",
        "forkpty",
        "write",
        "writev",
        "fdopen",
        "pwrite",
    }
)
PROBING_OS_NAMES = frozenset(
    {"getppid", "environ", "environb", "getenv", "ctermid", "ttyname", "getpgrp", "getsid"}
)
GC_NAMES = frozenset({"get_objects", "get_referrers", "get_referents", "callbacks", "garbage"})
FRAME_ATTRIBUTES = frozenset(
    {
        *(
            "__closure__",
            "__code__",
            "__builtins__",
            "cr_frame",
            "f_back",
            "f_builtins",
            "f_globals",
            "f_locals",
            "gi_frame",
            "tb_frame",
        ),
        *("pluginmanager", "tb_next", "cell_contents", "f_code", "f_trace", "_current_frames"),
    }
)
INSPECT_NAMES = frozenset(
    {"currentframe", "stack", "trace", "getouterframes", "getinnerframes", "getframeinfo"}
)
TRACEBACK_NAMES = frozenset({"extract_stack", "format_stack", "print_stack", "walk_stack"})
OWN_STREAMS = ("__stdin__", "__stdout__", "__stderr__")
LOCATION_CALLS = frozenset(
    {
        *(
            "Path.home",
            "Path.cwd",
            "pathlib.Path.home",
            "pathlib.Path.cwd",
            "os.getcwd",
            "os.path.expanduser",
            "expanduser",
        ),
        *("tempfile.gettempdir", "gettempdir"),
    }
)
"""Calls that reveal where a program runs."""
DYNAMIC_CODE = ("eval", "exec", "compile", "__import__")
COMPARISON_METHODS = {
    "__eq__": True,
    "__ne__": False,
    "__lt__": True,
    "__le__": True,
    "__gt__": True,
    "__ge__": True,
    "__contains__": True,
}
HARNESS_STRINGS = ("/proc/", "pytest", "PYTEST", "CODER_", "sitecustomize", "unittest")
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
    accesses: list[str] = []
    for path, text in new.items():
        before = {what for _, what in _in_js(old.get(path, ""), known)}
        accesses += [f"{path}:{line} {what}" for line, what in _in_js(text, known) if what not in before]
    return list(dict.fromkeys(accesses))


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
    before = {what for _, what in _process_accesses(path, old, known)}
    found = [
        f"{path}:{line} {what.partition(chr(0))[0]}"
        for line, what in _process_accesses(path, new, known)
        if what not in before
    ]
    return list(dict.fromkeys(found))


def _process_accesses(path: str, text: str, known: str) -> Iterator[tuple[int, str]]:
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
