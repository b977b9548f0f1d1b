"""Wrong calls: a similar function, swapped arguments, one argument too many or too few."""

import ast
from collections.abc import Iterator

from coder.core.ports import TextChange
from coder.python.source import Function
from coder.repair.context.scope import (
    local_names,
    module_names,
    most_similar_names,
    parameter_names,
    parameters_never_read,
    self_attribute_names,
)
from coder.repair.context.site import Rewrite, RewriteSite

SIMILAR_FUNCTIONS = (
    ("any", "all"),
    ("min", "max"),
    ("append", "extend", "add", "insert", "appendleft"),
    ("add", "update", "discard", "remove"),
    ("update", "setdefault"),
    ("sorted", "reversed", "list"),
    ("keys", "values", "items"),
    ("startswith", "endswith"),
    ("strip", "lstrip", "rstrip"),
    ("lstrip", "removeprefix"),
    ("rstrip", "removesuffix"),
    ("pop", "popleft", "get", "popitem"),
    ("find", "rfind", "index", "rindex"),
    ("upper", "lower", "title", "capitalize", "casefold", "swapcase"),
    ("floor", "ceil", "round", "trunc", "int"),
    ("union", "intersection", "difference", "symmetric_difference"),
    ("issubset", "issuperset", "isdisjoint"),
    ("split", "rsplit", "splitlines", "partition"),
    ("partition", "rpartition"),
    ("int", "float", "str", "bool"),
    ("list", "tuple", "set", "frozenset"),
    ("bisect_left", "bisect_right"),
    ("insort_left", "insort_right"),
    ("heappush", "heappop", "heapify"),
    ("read", "readline", "readlines"),
    ("match", "search", "fullmatch"),
    ("findall", "finditer"),
    ("islice", "takewhile", "dropwhile"),
    ("isinstance", "issubclass"),
    ("isupper", "islower", "istitle"),
    ("isdigit", "isnumeric", "isdecimal", "isalpha", "isalnum"),
    ("ljust", "rjust", "center", "zfill"),
    ("getattr", "hasattr"),
    ("zip", "zip_longest", "product"),
    ("sort", "reverse"),
    ("encode", "decode"),
    ("repr", "str"),
    ("map", "filter"),
    ("dumps", "dump"),
    ("loads", "load"),
    ("total_seconds", "seconds"),
    ("utcnow", "now"),
    ("copy", "deepcopy"),
)


INTERCHANGEABLE_FUNCTIONS = (
    ("sum", "len", "max", "min"),
    ("sorted", "list", "set"),
    ("append", "remove", "pop"),
)
"""Functions that take the same arguments and mean something else: seldom the right replacement."""
TYPE_ERROR_WEIGHT = 1.3
"""Weight of swapping the arguments of a call that raised a TypeError."""


def neighbour(site: RewriteSite) -> Iterator[Rewrite]:
    """Call a similar function: `max` for `min`, `extend` for `append`, or a similar name of the module."""
    node = site.node
    if not isinstance(node, ast.Call):
        return
    for other in _functions_with_same_parameters(site, node):
        yield from site.replace_expression(
            node.func, other, weight=0.5, summary=f"call `{other}`, which takes the same arguments"
        )
    match node.func:
        case ast.Name(id=name):
            prefix = ""
        case ast.Attribute(value=value, attr=name):
            prefix = f"{site.source.text_of(value)}."
        case _:
            return
    for other, weight in _similar_functions(name):
        yield from site.replace_expression(
            node.func, prefix + other, weight=weight, summary=f"call `{other}` instead of `{name}`"
        )
    if not prefix:
        for other, alike in most_similar_names(
            name, module_names(site.source), max_count=6, min_similarity=0.5
        ):
            yield from site.replace_expression(
                node.func, other, weight=0.55 * alike, summary=f"call `{other}` instead of `{name}`"
            )


def _functions_with_same_parameters(site: RewriteSite, call: ast.Call) -> Iterator[str]:
    """Yield functions of the module with at least two parameters named like the arguments."""
    argument_names = [argument.id if isinstance(argument, ast.Name) else "" for argument in call.args]
    for function in site.source.functions if len(argument_names) > 1 else ():
        parameters = parameter_names(function)
        matches = sum(
            argument_name == parameter
            for argument_name, parameter in zip(argument_names, parameters, strict=False)
        )
        if (
            matches > 1
            and len(parameters) >= len(argument_names)
            and site.source.parents[function] is site.source.tree
            and function is not site.function
        ):
            yield function.name


def argument_order(site: RewriteSite) -> Iterator[Rewrite]:
    """Swap two arguments, or the two elements of a pair."""
    match site.node:
        case ast.Call(args=arguments):
            operands, weight = "two arguments", TYPE_ERROR_WEIGHT if _raises_type_error(site) else 0.7
        case ast.Tuple(elts=arguments) if len(arguments) == 2:
            operands, weight = "two elements", 0.6
        case ast.List(elts=arguments) if len(arguments) == 2:
            operands, weight = "two elements", 0.4
        case ast.DictComp(key=key, value=value):
            arguments, operands, weight = [key, value], "key and value", 0.5
        case _:
            return
    plain = [argument for argument in arguments if not isinstance(argument, ast.Starred)]
    for index, first in enumerate(plain):
        for distance, second in enumerate(plain[index + 1 :]):
            yield from site.swap_expressions(
                first, second, weight=weight * 0.8**distance, summary=f"swap {operands}"
            )


def clamped(site: RewriteSite) -> Iterator[Rewrite]:
    """Swap the bounds of `max(low, min(high, x))`, or its functions."""
    match site.node:
        case ast.Call(func=ast.Name(id="min" | "max" as outer) as around, args=[_, _] as arguments):
            pass
        case _:
            return
    for nested in arguments:
        match nested:
            case ast.Call(
                func=ast.Name(id="min" | "max" as inner) as within, args=[_, _] as inner_arguments
            ) if inner != outer:
                bound = next(argument for argument in arguments if argument is not nested)
                yield from site.swap_expressions(
                    around, within, weight=0.6, summary=f"swap `{outer}` and `{inner}`"
                )
                for other in inner_arguments:
                    first, second = sorted((bound, other), key=lambda argument: site.source.span(argument))
                    yield from site.swap_expressions(first, second, weight=0.6, summary="swap the bounds")
            case _:
                pass


def _raises_type_error(site: RewriteSite) -> bool:
    """Tell whether a failure with a TypeError ends at the call."""
    ends = [failure.frames[-1] for failure in site.failures if failure.type == "TypeError" and failure.frames]
    return any(map(site.contains_frame, ends))


def argument_missing(site: RewriteSite) -> Iterator[Rewrite]:
    """Pass a parameter or attribute that the callee takes by the same name, or drop an argument."""
    node = site.node
    if not isinstance(node, ast.Call):
        return
    arguments: list[ast.expr | ast.keyword] = [*node.args, *node.keywords]
    close = site.source.span(node)[1] - 1
    separator = ", " if arguments and not site.source.text[:close].rstrip().endswith(",") else ""
    taken_names = {keyword.arg for keyword in node.keywords}
    for name in [name for name in _parameters(site, node)[len(node.args) :] if name not in taken_names]:
        for value, weight in _namesakes(site, name):
            change = TextChange(start=close, end=close, text=f"{separator}{name}={value}")
            yield Rewrite((change,), weight, f"pass `{value}` to `{site.source.text_of(node.func)}`")
    for name in parameters_never_read(site.function):
        if name not in [
            *(keyword.arg for keyword in node.keywords),
            *(positional.id for positional in node.args if isinstance(positional, ast.Name)),
        ]:
            change = TextChange(start=close, end=close, text=f"{separator}{name}={name}")
            yield Rewrite((change,), 0.45, f"pass the unused parameter `{name}`")
    for index, argument in enumerate(arguments):
        start, end = _with_separator(site, arguments, index)
        if len(arguments) > 1:
            code = site.source.text_of(argument)
            yield Rewrite(
                (TextChange(start=start, end=end, text=""),), 0.2, f"drop the argument `{code[:40]}`"
            )


def _namesakes(site: RewriteSite, name: str) -> Iterator[tuple[str, float]]:
    """Yield the variable and the attribute of self with a name, with their weights."""
    if name in local_names(site.source, site.node):
        yield name, 0.6
    for attribute in (
        (name, f"_{name}")
        if site.function and [argument.arg for argument in site.function.args.args[:1]] == ["self"]
        else ()
    ):
        if attribute in self_attribute_names(site.source, site.node):
            yield f"self.{attribute}", 0.5


def _parameters(site: RewriteSite, call: ast.Call) -> tuple[str, ...]:
    """Return the parameters of the callee as far as the file shows them.

    They are those of a function or a constructor, or the fields of a data class.
    """
    if (callee := find_callee(site, call)) is not None:
        return parameter_names(callee)
    match call.func:
        case ast.Name(id="cls") | ast.Attribute(attr="__class__") | ast.Call(func=ast.Name(id="type")):
            owner = site.source.owner_class(site.function)
        case ast.Name(id=name):
            owner = next(
                (
                    node
                    for node in ast.walk(site.source.tree)
                    if isinstance(node, ast.ClassDef) and node.name == name
                ),
                None,
            )
        case _:
            owner = None
    body = owner.body if owner else []
    constructor = next(
        (statement for statement in body if isinstance(statement, Function) and statement.name == "__init__"),
        None,
    )
    return (
        parameter_names(constructor)
        if constructor
        else tuple(
            statement.target.id
            for statement in body
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name)
        )
    )


def find_callee(site: RewriteSite, call: ast.Call) -> Function | None:
    """Return the function or constructor that the file defines under the name that is called."""
    match call.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            constructors = [
                function
                for function in site.source.functions
                if function.name == "__init__" and _is_named(site.source.owner_class(function), name)
            ]
            return next(
                (
                    function
                    for function in (*constructors, *site.source.functions)
                    if function in constructors or function.name == name
                ),
                None,
            )
        case _:
            return None


def _is_named(owner: ast.ClassDef | None, name: str) -> bool:
    return owner is not None and owner.name == name


def _with_separator(
    site: RewriteSite, arguments: list[ast.expr | ast.keyword], index: int
) -> tuple[int, int]:
    """Return the span of an argument with the comma before it, or after it if it is the first."""
    if index:
        return site.source.span(arguments[index - 1])[1], site.source.span(arguments[index])[1]
    return site.source.span(arguments[0])[0], site.source.span(arguments[1])[0] if len(
        arguments
    ) > 1 else site.source.span(arguments[0])[1]


def _similar_functions(name: str) -> Iterator[tuple[str, float]]:
    yielded = {name}
    for group in SIMILAR_FUNCTIONS:
        if name in group:
            for rank, other in enumerate(member for member in group if member not in yielded):
                yielded.add(other)
                yield other, 0.8 * 0.9**rank
    for group in INTERCHANGEABLE_FUNCTIONS:
        for other in group if name in group else ():
            if other not in yielded:
                yielded.add(other)
                yield other, 0.3
