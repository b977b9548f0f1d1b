"""Missing calls of functions that nothing calls, with arguments matched by name."""

import ast
import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice

from coder.python.source import Function, PythonSource
from coder.repair.context.scope import assigned_names, local_names, names_never_read, parameter_names
from coder.repair.context.site import Rewrite, RewriteSite
from coder.repair.generators.names.suggestions import UNDEFINED_NAME, find_in_messages
from coder.repair.generators.statements.insertion import insert_statement, is_insertion_point

MAX_UNMATCHED_PARAMETERS = 1
"""Required parameters for which no variable of the same name exists."""
MAX_SUBSTITUTES, MOST_TARGETS = 4, 3


def uncalled(site: RewriteSite) -> Iterator[Rewrite]:
    """Insert a call of a function that is defined and never called.

    Examples: `self._check(size)`, `size = self._check(size)`.
    """
    node, function = site.node, site.function
    if not is_insertion_point(site) or function is None or not isinstance(node, ast.stmt):
        return
    for callee in _uncalled_functions(site.source):
        if callee in (function, *site.source.ancestors(function)) or not _is_reachable(
            site, callee, function
        ):
            continue
        for rank, call in enumerate(_call_expressions(site, node, callee)):
            for place, line in enumerate(_statements(site, node, function, callee, call)):
                yield from insert_statement(site, node, [line], weight=0.8 * 0.85**rank * 0.9**place)


@lru_cache(maxsize=256)
def _uncalled_functions(source: PythonSource) -> tuple[Function, ...]:
    """Return private functions and methods, and nested functions, whose names occur in the file once."""
    private = [
        function
        for function in source.functions
        if not function.decorator_list and re.match(r"_(?!_)", function.name)
    ]
    nested = [
        function
        for function in source.functions
        if not function.decorator_list and isinstance(source.parents[function], Function)
    ]
    return tuple(
        candidate
        for candidate in dict.fromkeys([*private, *nested])
        if len(re.findall(rf"\b{candidate.name}\b", source.text)) == 1
    )


def _is_reachable(site: RewriteSite, callee: Function, function: Function) -> bool:
    """Tell whether a function can be called: of the module, an enclosing function, or the class."""
    owner = site.source.parents[callee]
    if isinstance(owner, ast.ClassDef):
        return (
            owner is site.source.owner_class(function)
            and bool(function.args.args)
            and function.args.args[0].arg == "self"
        )
    return owner is site.source.tree or owner in (function, *site.source.ancestors(function))


def _call_expressions(site: RewriteSite, node: ast.stmt, callee: Function) -> Iterator[str]:
    """Yield calls with variables named like the parameters.

    A parameter without such a variable gets each of the most recently assigned variables.
    """
    names = local_names(site.source, node)
    parameters = parameter_names(callee)[: len(callee.args.args)]
    required = len(callee.args.args) - len(callee.args.defaults)
    first = len(callee.args.args) - len(parameters)  # self is passed implicitly
    matching = [name if name in names else "" for name in parameters]
    unmatched = [place for place, name in enumerate(matching) if not name and place + first < required]
    if len(unmatched) > MAX_UNMATCHED_PARAMETERS:
        return
    prefix = "self." if isinstance(site.source.parents[callee], ast.ClassDef) else ""
    substitutes = [name for name in reversed(_assigned_before(site, node)) if name not in matching]
    for name in islice(substitutes, MAX_SUBSTITUTES) if unmatched else ("",):
        values = [name if place in unmatched else value for place, value in enumerate(matching)]
        positional = values[: values.index("")] if "" in values else values
        keywords = [
            f"{parameters[place]}={value}"
            for place, value in enumerate(values)
            if value and place > len(positional)
        ]
        yield f"{prefix}{callee.name}({', '.join([*positional, *keywords])})"


def _assigned_before(site: RewriteSite, node: ast.stmt) -> list[str]:
    """Return variables of the function, in the order of their last assignment before the statement."""
    function = site.function
    before = (
        [
            statement
            for statement in ast.walk(function)
            if isinstance(statement, ast.stmt) and statement.lineno < node.lineno
        ]
        if function
        else []
    )
    assignments = [
        statement
        for statement in before
        if isinstance(statement, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.For | ast.With)
    ]
    assigned = [
        name
        for statement in sorted(assignments, key=lambda statement: statement.lineno)
        for name in assigned_names(statement)
    ]
    names = [*local_names(site.source, node), *assigned]
    return [name for place, name in enumerate(names) if name not in names[place + 1 :]]


def _statements(
    site: RewriteSite, node: ast.stmt, function: Function, callee: Function, call: str
) -> Iterator[str]:
    """Yield statements with the call: assigned to a missing or passed name, returned, or bare."""
    own_body = [
        descendant for descendant in ast.walk(callee) if site.source.enclosing_function(descendant) is callee
    ]
    if any(isinstance(descendant, ast.Yield | ast.YieldFrom) for descendant in own_body):
        yield f"yield from {call}"
    elif any(isinstance(descendant, ast.Return) and descendant.value is not None for descendant in own_body):
        missing = sorted(find_in_messages(site.failures, UNDEFINED_NAME))
        passed = [
            name
            for name in re.findall(r"\w+", call.partition("(")[2])
            if name in assigned_names(function) or name in parameter_names(function)
        ]
        yield from (
            f"{name} = {call}"
            for name in dict.fromkeys([*missing, *names_never_read(function), *passed][:MOST_TARGETS])
        )
        if isinstance(node, ast.Pass) or node is site.source.enclosing_block(node)[-1]:
            yield f"return {call}"
    yield call
