"""Access of changed Python code to the test process, and detection of test runs."""

import ast
import sys
from collections.abc import Iterator, Mapping

from coder.verify.review.harness_names import (
    COMPARISON_METHODS,
    DYNAMIC_CODE,
    FRAME_ATTRIBUTES,
    GC_NAMES,
    HARMLESS_SYS_NAMES,
    HARNESS_STRINGS,
    INSPECT_NAMES,
    INTERNALS,
    LOCATION_CALLS,
    OWN_STREAMS,
    PROBING_OS_NAMES,
    PROCESS_OS_NAMES,
    RUNNERS,
    TRACEBACK_NAMES,
    TRACING_SYS_NAMES,
)
from coder.verify.review.tampering import dotted_name, parse_or_empty


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
