"""Exceptions that a test expects and that are missing or of another type."""

import ast
import re
from collections.abc import Iterator
from itertools import product

from coder.core.ports import TextChange
from coder.core.verdict import Failure
from coder.python.source import Function, PythonSource, is_docstring
from coder.repair.context.donor_code import BUILTIN_NAMES, names_in_scope
from coder.repair.context.scope import module_names, parameter_names
from coder.repair.context.site import Rewrite, RewriteSite
from coder.repair.generators.control_flow.exceptions import EXPECTED_EXCEPTION, expected_exceptions

NOT_RAISED = re.compile(
    r"DID NOT RAISE (?:any of \()?(?:<class ')?([\w.]+)|\b(\w+) not raised", re.IGNORECASE
)
"""How pytest, unittest and hand-written tests report a missing exception."""
EXPECTED_MESSAGE = re.compile(r"\bmatch=r?(['\"])([^'\"\n]{1,80})\1")
MESSAGE_MISMATCH = re.compile(
    r"^\"([^\"\n]{1,80})\" does not match \"|Expected regex: '([^'\n]{1,80})'", re.MULTILINE
)
"""How pytest and unittest report an exception with another message."""
MOST_NAMES = 3
INVALID_VALUE_CONDITIONS = (
    ("not {}", 0.4),
    ("{} is None", 0.4),
    ("{} < 0", 0.35),
    ("{} <= 0", 0.25),
    ("{0} is not None and {0} < 0", 0.25),
)
"""Conditions under which a parameter is invalid."""


def raising(site: RewriteSite) -> Iterator[Rewrite]:
    """Raise the expected exception in place of `pass` or a return, or for an invalid parameter."""
    node, function = site.node, site.function
    if function is None or not isinstance(node, ast.stmt) or is_docstring(node):
        return
    for name in (
        _unused_classes(site.source)
        if isinstance(node, ast.Pass) and _is_exception_missing(site.failures)
        else ()
    ):
        yield from site.replace_expression(
            node, f"raise {name}({_split_words(name)!r})", weight=0.5, summary=f"raise {name}"
        )
    for name, error in _raise_statements(site.source, site.failures):
        caught = next(
            (
                ancestor
                for ancestor in site.source.ancestors(node)
                if isinstance(ancestor, ast.ExceptHandler | Function)
            ),
            None,
        )
        cause = f" from {caught.name}" if isinstance(caught, ast.ExceptHandler) and caught.name else ""
        if isinstance(node, ast.Pass | ast.Return):
            weight = 0.8 if isinstance(node, ast.Pass) or isinstance(caught, ast.ExceptHandler) else 0.35
            yield from site.replace_expression(node, error + cause, weight=weight, summary=f"raise {name}")
        if node is next((ancestor for ancestor in function.body if not is_docstring(ancestor)), None):
            for parameter, (template, weight) in product(
                parameter_names(function)[:MOST_NAMES], INVALID_VALUE_CONDITIONS
            ):
                condition = template.format(parameter)
                lines = [f"if {condition}:", f"    {error}"]
                yield from site.insert_before(
                    node, lines, weight=weight, summary=f"raise {name} if `{condition}`"
                )


def converted(site: RewriteSite) -> Iterator[Rewrite]:
    """Convert the exception that a statement raises to the one the test expects."""
    node = site.node
    if not isinstance(
        node, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Expr | ast.Return
    ) or is_docstring(node):
        return
    code, indent, line_end = site.source.text_of(node), site.source.indent(node), site.source.line_end
    if indent.strip() or '"""' in code or "'''" in code:
        return
    names = names_in_scope(site.source, site.function)
    caught = "error" if "error" not in names else "caught"
    for failure in site.failures:
        if failure.type in names and any(map(site.contains_frame, failure.frames)):
            for name in expected_exceptions(site):
                lines = ["try:", *(f"    {line}" for line in code.split(f"{line_end}{indent}"))]
                lines += [
                    f"except {failure.type} as {caught}:",
                    f"    raise {name}(str({caught})) from {caught}",
                ]
                start, end = site.source.span(node)
                change = TextChange(start=start, end=end, text=f"{line_end}{indent}".join(lines))
                yield Rewrite((change,), 0.8, f"raise {name} instead of {failure.type}")


def _raise_statements(source: PythonSource, failures: tuple[Failure, ...]) -> Iterator[tuple[str, str]]:
    """Yield missing exceptions with a `raise` statement, with the expected message if known."""
    message = next(iter(_expected_messages(failures)), None)
    for name in _missing_exceptions(source, failures):
        yield name, f"raise {name}({message!r})" if message else f"raise {name}()"


def _expected_messages(failures: tuple[Failure, ...]) -> list[str]:
    """Return the expected messages that are plain text apart from escapes."""
    texts = dict.fromkeys(text for failure in failures for _, text in EXPECTED_MESSAGE.findall(failure.text))
    texts |= dict.fromkeys(
        next(filter(None, match.groups()))
        for failure in failures
        for match in MESSAGE_MISMATCH.finditer(failure.message)
    )
    plain = [re.sub(r"\\(\W)", r"\1", text) for text in texts]
    return [text for text in plain if not re.search(r"[\\*+?\[\](){}|^$]", text)]


def _is_exception_missing(failures: tuple[Failure, ...]) -> bool:
    return any(NOT_RAISED.search(failure.message) for failure in failures)


def _unused_classes(source: PythonSource) -> list[str]:
    """Return classes that the module imports and does not use."""
    used = {descendant.id for descendant in ast.walk(source.tree) if isinstance(descendant, ast.Name)}
    imported = [
        alias.asname or alias.name
        for node in source.tree.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    ]
    return [name for name in imported if name not in used and name[:1].isupper() and not name.isupper()]


def _split_words(name: str) -> str:
    return " ".join(re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)).lower()


def _missing_exceptions(source: PythonSource, failures: tuple[Failure, ...]) -> list[str]:
    """Return the missing exceptions that the file can name."""
    qualified = [
        match[1] or match[2] for failure in failures for match in NOT_RAISED.finditer(failure.message)
    ]
    qualified += [
        name
        for failure in failures
        if MESSAGE_MISMATCH.search(failure.message)
        for name in EXPECTED_EXCEPTION.findall(failure.text)
    ]
    names = dict.fromkeys(name.rpartition(".")[2] for name in qualified)
    return [name for name in names if name in BUILTIN_NAMES or name in module_names(source)]
