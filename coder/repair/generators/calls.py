"""Templates for calls: missing, superfluous, wrapped, with wrong arguments or options."""

import ast
import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice

from coder.core.ports import TextChange
from coder.python.source import Function, PythonSource, find_nodes
from coder.repair.generators.donor_code import BUILTIN_NAMES, callee_name, names_in_scope
from coder.repair.generators.insertion import insert_statement, is_insertion_point
from coder.repair.generators.names import UNDEFINED_NAME, find_in_messages
from coder.repair.generators.site import (
    Rewrite,
    RewriteSite,
    assigned_names,
    find_callee,
    local_names,
    module_names,
    most_similar_names,
    names_never_read,
    parameter_names,
    parameters_never_read,
    replace_span,
    self_attribute_names,
)

# Wrong calls: a similar function, swapped arguments, one argument too many or too few.

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
        yield from site.replace(
            node.func, other, weight=0.5, summary=f"call `{other}`, which takes the same arguments"
        )
    match node.func:
        case ast.Name(id=name):
            prefix = ""
        case ast.Attribute(value=value, attr=name):
            prefix = f"{site.text_of(value)}."
        case _:
            return
    for other, weight in _similar_functions(name):
        yield from site.replace(
            node.func, prefix + other, weight=weight, summary=f"call `{other}` instead of `{name}`"
        )
    if not prefix:
        for other, alike in most_similar_names(
            name, module_names(site.source), max_count=6, min_similarity=0.5
        ):
            yield from site.replace(
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
                    first, second = sorted((bound, other), key=lambda argument: site.span(argument))
                    yield from site.swap_expressions(first, second, weight=0.6, summary="swap the bounds")


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
    close = site.span(node)[1] - 1
    separator = ", " if arguments and not site.source.text[:close].rstrip().endswith(",") else ""
    taken_names = {keyword.arg for keyword in node.keywords}
    for name in [name for name in _parameters(site, node)[len(node.args) :] if name not in taken_names]:
        for value, weight in _namesakes(site, name):
            change = TextChange(start=close, end=close, text=f"{separator}{name}={value}")
            yield Rewrite((change,), weight, f"pass `{value}` to `{site.text_of(node.func)}`")
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
            code = site.text_of(argument)
            yield replace_span(start, end, "", weight=0.2, summary=f"drop the argument `{code[:40]}`")


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
                (node for node in find_nodes(site.source.tree, ast.ClassDef) if node.name == name),
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


def _with_separator(
    site: RewriteSite, arguments: list[ast.expr | ast.keyword], index: int
) -> tuple[int, int]:
    """Return the span of an argument with the comma before it, or after it if it is the first."""
    if index:
        return site.span(arguments[index - 1])[1], site.span(arguments[index])[1]
    return site.span(arguments[0])[0], site.span(arguments[1])[0] if len(arguments) > 1 else site.span(
        arguments[0]
    )[1]


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


# Missing and superfluous options of well-known functions.

OPTIONS: dict[str, tuple[str, ...]] = {
    "sorted": ("reverse=True", "key=str", "key=len", "key=str.lower", "key=int"),
    "sort": ("reverse=True", "key=len", "key=str.lower"),
    "popitem": ("last=False",),
    "move_to_end": ("last=False",),
    "enumerate": ("1", "start=1"),
    "pop": ("0", "-1", "None"),
    "split": ("None, 1", '","', '" "'),
    "splitlines": ("keepends=True",),
    "max": ("default=0", "default=None", "key=len"),
    "min": ("default=0", "default=None", "key=len"),
    "next": ("None",),
    "sum": ("[]", "0.0"),
    "round": ("2", "1"),
    "zip": ("strict=True",),
    "dumps": ("sort_keys=True", "ensure_ascii=False", "default=str"),
    "dump": ("sort_keys=True", "ensure_ascii=False"),
    "print": ('end=""', "file=sys.stderr", "flush=True"),
    "mkdir": ("parents=True", "exist_ok=True", "parents=True, exist_ok=True"),
    "makedirs": ("exist_ok=True",),
    "unlink": ("missing_ok=True",),
    "rmtree": ("ignore_errors=True",),
    "sub": ("count=1",),
    "replace": ("1",),
    "compile": ("re.IGNORECASE", "re.MULTILINE", "re.DOTALL"),
    "match": ("re.IGNORECASE",),
    "search": ("re.IGNORECASE", "re.MULTILINE"),
    "getattr": ("None",),
    "lru_cache": ("typed=True",),
    "urlparse": ("allow_fragments=False",),
    "parse_qs": ("keep_blank_values=True",),
    "parse_qsl": ("keep_blank_values=True",),
    "resolve": ("strict=True",),
    "from_bytes": ("signed=True",),
    "to_bytes": ("signed=True",),
}
MAX_POSITIONAL = {
    "split": 2,
    "replace": 3,
    "sub": 4,
    "next": 2,
    "sum": 2,
    "getattr": 3,
    "enumerate": 2,
    "round": 2,
    "pop": 2,
}
"""Number of arguments of functions whose option is positional: with so many there is none to add."""
SECOND_ARGUMENT = {"split": "1", "rsplit": "1"}
"""The option to add if there already is one argument."""


def option(site: RewriteSite) -> Iterator[Rewrite]:
    """Add an option: `sorted(x, reverse=True)` for `sorted(x)`, `enumerate(x, 1)` for `enumerate(x)`."""
    node = site.node
    if not isinstance(node, ast.Call) or any(isinstance(argument, ast.Starred) for argument in node.args):
        return
    name = callee_name(node)
    if name == "next" and len(node.args) == 1 and isinstance(node.args[0], ast.GeneratorExp):
        code = site.text_of(node.args[0])  # its parentheses are the call's
        yield from site.replace(
            node, f"next({code}, None)", weight=0.6, summary="give `next` the default `None`"
        )
    if name not in OPTIONS or (len(node.args) == 1 and isinstance(node.args[0], ast.GeneratorExp)):
        return
    taken_names = {keyword.arg for keyword in node.keywords}
    arguments: list[ast.expr | ast.keyword] = [*node.args, *node.keywords]
    options = (SECOND_ARGUMENT[name],) if name in SECOND_ARGUMENT and len(node.args) == 1 else OPTIONS[name]
    match node.args:
        case [ast.Name(id=variable)] if name in ("max", "min", "sorted"):
            options = (*options, f"key={variable}.get")
    if name == "pop" and arguments and isinstance(site.parent, ast.Expr):  # its result is not used
        options = ("None",)
    for text in options:
        keyword = text.partition("=")[0] if "=" in text else ""
        if keyword in taken_names or (
            not keyword and (taken_names or len(arguments) >= MAX_POSITIONAL.get(name, 9))
        ):
            continue
        position = site.span(arguments[-1])[1] if arguments else site.span(node)[1] - 1
        yield replace_span(
            position,
            position,
            f", {text}" if arguments else text,
            weight=0.4,
            summary=f"call `{name}` with `{text}`",
        )


# Methods that are referenced but not called, or called by mistake.

WITHOUT_ARGUMENTS = re.compile(
    r"capitalize|casefold|clear|close|copy|decode|digest|encode|exists|hexdigest|is_dir|is_file|isalnum|isalpha"
    r"|isdigit|islower|isoformat|isspace|isupper|items|keys|lower|lstrip|popleft|read|readline|readlines|resolve"
    r"|rstrip|sort|split|splitlines|strip|title|total_seconds|upper|values"
)
FUNCTION_OBJECT_MENTION = re.compile(r"\b(method|function|builtin_function_or_method)\b")
"""Patterns of failure messages on a function object that was used instead of its result."""
NOT_CALLABLE = re.compile(r"(object is not callable)")
WEIGHT_WITH_EVIDENCE, WEIGHT_WITHOUT_EVIDENCE = 1.1, 0.45
"""Weights with and without a failure message that points to it."""


def calling(site: RewriteSite) -> Iterator[Rewrite]:
    """Add or remove call parentheses: `x.strip()` for `x.strip`, `x.area` for `x.area()`."""
    match site.node, site.parent:
        case _, ast.Call(func=called) if called is site.node:
            return
        case ast.Attribute(attr=name, ctx=ast.Load()) | ast.Name(id=name, ctx=ast.Load()), _ if (
            _is_callable_without_arguments(site, name)
        ):
            _, end = site.span(site.node)
            weight = (
                WEIGHT_WITH_EVIDENCE
                if find_in_messages(site.failures, FUNCTION_OBJECT_MENTION)
                else WEIGHT_WITHOUT_EVIDENCE
            )
            yield replace_span(end, end, "()", weight=weight, summary=f"call `{name}`")
        case ast.Attribute(attr="seconds", ctx=ast.Load()) as node, _:
            yield from site.rename_attribute(
                node, "total_seconds()", weight=0.5, summary="use `total_seconds()` instead of `seconds`"
            )
        case ast.Call(func=ast.Attribute(attr=name) as attribute, args=[], keywords=[]) as call, _:
            is_not_callable = bool(find_in_messages(site.failures, NOT_CALLABLE))
            if is_not_callable or name in _methods_without_arguments(site.source, properties=True):
                change = TextChange(start=site.span(attribute)[1], end=site.span(call)[1], text="")
                yield Rewrite(
                    (change,),
                    WEIGHT_WITH_EVIDENCE if is_not_callable else WEIGHT_WITHOUT_EVIDENCE,
                    f"do not call `{name}`",
                )


def _is_callable_without_arguments(site: RewriteSite, name: str) -> bool:
    """Tell whether a name is a method or function that needs no arguments."""
    if isinstance(site.node, ast.Attribute):
        return WITHOUT_ARGUMENTS.fullmatch(name) is not None or name in _methods_without_arguments(
            site.source, properties=False
        )
    return any(
        function.name == name
        and not _requires_more_than(function, 0)
        and site.source.owner_class(function) is None
        for function in site.source.functions
    )


@lru_cache(maxsize=256)
def _methods_without_arguments(source: PythonSource, *, properties: bool) -> frozenset[str]:
    """Return the file's methods that need only self: its properties, or its undecorated methods."""
    methods = (
        function
        for function in source.functions
        if source.owner_class(function) and not _requires_more_than(function, 1)
    )
    matching = (
        method
        for method in methods
        if (_is_property(method, source) if properties else not method.decorator_list)
    )
    return frozenset(member.name for member in matching)


def _is_property(method: Function, source: PythonSource) -> bool:
    return any(source.text_of(decorator).endswith("property") for decorator in method.decorator_list)


def _requires_more_than(function: Function, count: int) -> bool:
    """Tell whether a function requires more than a number of arguments."""
    signature = function.args
    required = (
        len(signature.posonlyargs)
        + len(signature.args)
        - len(signature.defaults)
        + sum(default is None for default in signature.kw_defaults)
    )
    return required > count


# Missing calls of functions that nothing calls, with arguments matched by name.

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
        [statement for statement in find_nodes(function, ast.stmt) if statement.lineno < node.lineno]
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


# Uses of the None returned by in-place methods, and of the iterator returned by `reversed`.

IN_PLACE_METHODS = frozenset(
    {"append", "extend", "insert", "add", "update", "remove", "discard", "clear", "sort", "reverse"}
)
IMMUTABLE_ERROR = re.compile(r"'(?:str|tuple|bytes)' object has no attribute '(reverse|sort)'")
ITERATOR_MENTION = re.compile(r"(reversed object|list_reverseiterator)")


def in_place(site: RewriteSite) -> Iterator[Rewrite]:
    """Fix uses of in-place methods, such as `sorted(x)` for the value of `x.sort()`.

    Also `x.append(y)` for `x = x.append(y)`, and `x[::-1]` for `reversed(x)`.
    """
    code = site.text_of
    match site.node:
        case ast.Call(func=ast.Attribute(value=value, attr="sort"), keywords=keywords) if _is_used(
            site
        ) or find_in_messages(site.failures, IMMUTABLE_ERROR):
            options = "".join(f", {code(keyword)}" for keyword in keywords)
            yield from site.replace(
                site.node,
                f"sorted({code(value)}{options})",
                weight=1.0,
                summary="use `sorted`, which returns a list",
            )
        case ast.Call(func=ast.Attribute(value=value, attr="reverse")) if _is_used(site) or find_in_messages(
            site.failures, IMMUTABLE_ERROR
        ):
            yield from site.replace(
                site.node, f"{code(value)}[::-1]", weight=1.0, summary="reverse with a slice"
            )
        case ast.Call(func=ast.Name(id="reversed"), args=[value]):
            weight = 1.0 if find_in_messages(site.failures, ITERATOR_MENTION) else 0.4
            for text, text_weight in (
                (f"{code(value)}[::-1]", weight),
                (f"''.join(reversed({code(value)}))", 0.8 * weight),
            ):
                yield from site.replace(site.node, text, weight=text_weight, summary=f"use `{text[:40]}`")
        case ast.Assign(
            targets=[ast.Name() | ast.Attribute()], value=ast.Call(func=ast.Attribute(attr=name)) as call
        ) if name in IN_PLACE_METHODS:
            start, end = site.span(site.node)[0], site.span(call)[0]
            yield replace_span(
                start, end, "", weight=1.0, summary=f"do not assign the None that `{name}` returns"
            )
        case ast.Return(value=ast.Call(func=ast.Attribute(value=value, attr=name)) as call) if (
            name in IN_PLACE_METHODS
        ):
            lines = [code(call), f"return {code(value)}"]
            start, end = site.span(site.node)
            indent = site.source.indent(site.node)
            if not indent.strip():
                text = f"{site.source.line_end}{indent}".join(lines)
                yield replace_span(
                    start, end, text, weight=0.9, summary=f"return `{code(value)[:40]}` after `{name}`"
                )


def _is_used(site: RewriteSite) -> bool:
    """Tell whether the result of the call is used."""
    return not isinstance(site.parent, ast.Expr)


# Missing and superfluous conversions and clean-up calls.

MOST = 4

FUNCTIONS = {
    "abs": 0.3,
    "str": 0.3,
    "int": 0.25,
    "list": 0.3,
    "sorted": 0.3,
    "reversed": 0.25,
    "len": 0.3,
    "tuple": 0.2,
    "set": 0.2,
    "sum": 0.12,
    "bool": 0.2,
}
FORMAT_ERROR = re.compile(r"(not all arguments converted|not enough arguments for format string)")
METHODS = {"strip()": 0.25, "lower()": 0.25, "upper()": 0.2, "copy()": 0.25, "items()": 0.3, "values()": 0.15}
CLEANUP_METHODS = {"strip()": 0.35, "lstrip()": 0.25, "rstrip()": 0.25, "lower()": 0.35, "upper()": 0.2}
CLEANUP_SENSITIVE_METHODS = (
    "split",
    "partition",
    "startswith",
    "endswith",
    "replace",
    "isdigit",
    "splitlines",
)
"""String methods whose result depends on surrounding white space or case."""
UNUSUAL_PARENT_FACTOR = 0.7
"""Weight factor at places where a conversion is seldom missing."""
USUAL_PARENTS = (
    ast.Call,
    ast.Return,
    ast.Assign,
    ast.keyword,
    ast.BinOp,
    ast.Compare,
    ast.Tuple,
    ast.FormattedValue,
    ast.ListComp,
    ast.SetComp,
)
UNUSUAL_PARENTS = (
    ast.GeneratorExp,
    ast.Lambda,
    ast.Slice,
    ast.Subscript,
    ast.List,
    ast.Set,
    ast.Dict,
    ast.IfExp,
    ast.AugAssign,
    ast.Yield,
    ast.Starred,
)
RECEIVER_TYPES = (ast.Name, ast.Attribute, ast.Subscript, ast.Call)
CODEC_METHODS = {"decode()": 0.6, "encode()": 0.6}
BYTES_MENTION = re.compile(r"(\bbytes\b|\bb['\"])")
"""Failure messages that mention bytes: str and bytes were mixed up."""
ITERATION_METHODS = ("items()", "values()")
ITERABLE_CONVERSIONS = ("list", "sorted", "reversed", "tuple", "set")
"""Conversions of what a loop iterates over; never `str`, whose characters are not meant."""
INDEX_CONVERSIONS = ("abs", "str", "int", "len", "tuple")


def wrapped(site: RewriteSite) -> Iterator[Rewrite]:
    """Wrap an expression: `str(x)`, `x.strip()`, `('x',)` for `'x'`, `x.get(key, 0) or 0`."""
    yield from _wrap_string_in_tuple(site)
    yield from _replace_none_by_default(site)
    yield from _clean_up_before_method(site)
    yield from _normalize_both_sides(site)
    node = site.node
    if not _is_value(site):
        return
    code = site.text_of(node)
    match site.parent:
        case ast.BinOp(left=ast.Constant(value=str()), op=ast.Mod(), right=right) if (
            right is node and find_in_messages(site.failures, FORMAT_ERROR)
        ):
            start, end = site.span(node)
            yield replace_span(
                start, end, f"({code},)", weight=1.2, summary=f"format `{code[:30]}` as a single value"
            )
    is_iterated = isinstance(site.parent, ast.For | ast.comprehension) and site.parent.iter is node
    position_factor = UNUSUAL_PARENT_FACTOR if isinstance(site.parent, UNUSUAL_PARENTS) else 1.0
    is_index = isinstance(site.parent, ast.Slice | ast.Subscript)
    for name in ITERABLE_CONVERSIONS if is_iterated else INDEX_CONVERSIONS if is_index else FUNCTIONS:
        yield from site.replace(
            node, f"{name}({code})", weight=position_factor * FUNCTIONS[name], summary=f"apply `{name}`"
        )
    if isinstance(site.parent, ast.Return | ast.Call | ast.keyword):
        yield from site.replace(node, f"[{code}]", weight=0.2, summary="wrap in a list")
    if isinstance(node, RECEIVER_TYPES):
        for name, weight in {
            **METHODS,
            **(CODEC_METHODS if find_in_messages(site.failures, BYTES_MENTION) else {}),
        }.items():
            if is_iterated or name not in ITERATION_METHODS:
                factor = 2 if name in ITERATION_METHODS else position_factor
                yield from site.replace(
                    node, f"{code}.{name}", weight=factor * weight, summary=f"apply `.{name}`"
                )


def _clean_up_before_method(site: RewriteSite) -> Iterator[Rewrite]:
    """Clean up a string before a method call: `x.strip().split()` for `x.split()`."""
    match site.node, site.parent:
        case ast.Name() | ast.Attribute() | ast.Subscript() | ast.Call() as node, ast.Attribute(
            attr=method
        ) if method in CLEANUP_SENSITIVE_METHODS:
            for name, weight in CLEANUP_METHODS.items():
                yield from site.replace(
                    node, f"{site.text_of(node)}.{name}", weight=weight, summary=f"apply `.{name}`"
                )


def _replace_none_by_default(site: RewriteSite) -> Iterator[Rewrite]:
    match site.node:
        case (
            ast.Call(func=ast.Name(id="getattr"), args=[_, _, default])
            | ast.Call(func=ast.Attribute(attr="get"), args=[_, default])
        ):
            code = site.text_of(site.node)
            if not isinstance(site.parent, ast.BoolOp) and not (
                isinstance(default, ast.Constant) and default.value is None
            ):
                text = f"{code} or {site.text_of(default)}"
                yield from site.replace(
                    site.node,
                    text,
                    weight=0.5,
                    summary=f"fall back to `{site.text_of(default)[:30]}` for None",
                )


def _normalize_both_sides(site: RewriteSite) -> Iterator[Rewrite]:
    """Normalize both sides of a comparison: `a.lower() == b.lower()` for `a == b`."""
    match site.node:
        case ast.Compare(left=left, ops=[ast.Eq() | ast.NotEq()], comparators=[right]):
            is_simple = isinstance(left, RECEIVER_TYPES) and isinstance(right, RECEIVER_TYPES)
            for name, weight in (("lower()", 0.25), ("strip()", 0.2)) if is_simple else ():
                ends = site.span(left)[1], site.span(right)[1]
                changes = tuple(TextChange(start=end, end=end, text=f".{name}") for end in ends)
                yield Rewrite(changes, weight, f"apply `.{name}` to both sides")


def _wrap_string_in_tuple(site: RewriteSite) -> Iterator[Rewrite]:
    """Wrap a single string in a tuple, since a string is a sequence of characters."""
    match site.node, site.parent:
        case ast.Constant(value=str()) as node, ast.Compare(
            ops=[*_, ast.In() | ast.NotIn()], comparators=[*_, last]
        ) if last is node:
            weight, is_parenthesized = 0.6, site.source.text[site.span(node)[0] - 1] == "("
        case ast.Constant(value=str()) as node, ast.Call(args=arguments) if node in arguments:
            weight, is_parenthesized = 0.2, False
        case _:
            return
    start, end = site.span(node)
    code = site.text_of(node)
    text = f"{code}," if is_parenthesized else f"({code},)"
    yield replace_span(start, end, text, weight=weight, summary=f"wrap {code[:30]} in a tuple")


def unwrapped(site: RewriteSite) -> Iterator[Rewrite]:
    """Remove a conversion: `x` for `str(x)`, `x.strip()`, `-x` or `x,`."""
    match site.node:
        case ast.Call(func=ast.Name(id=name), args=[argument], keywords=[]) if not isinstance(
            argument, ast.Starred | ast.GeneratorExp
        ):
            yield from site.replace(
                site.node, site.text_of(argument), weight=0.35, summary=f"do not call `{name}`"
            )
        case ast.BinOp(left=left, op=ast.Mod(), right=ast.Tuple(elts=[*elements])) if isinstance(
            left, ast.Constant | ast.JoinedStr
        ):
            for element in elements:
                code = site.text_of(element)
                yield from site.replace(
                    site.node, code, weight=0.25, summary=f"use `{code[:30]}` without formatting"
                )
        case ast.Call(func=ast.Attribute(value=value, attr=name)):
            yield from site.replace(
                site.node, site.text_of(value), weight=0.25, summary=f"do not call `{name}`"
            )
        case ast.Tuple(elts=[ast.expr() as only], ctx=ast.Load()) if not isinstance(only, ast.Starred):
            is_bare = not site.text_of(site.node).startswith("(")  # a stray trailing comma
            yield from site.replace(
                site.node, site.text_of(only), weight=0.9 if is_bare else 0.3, summary="unwrap the tuple"
            )
        case ast.UnaryOp(op=ast.USub() | ast.Invert(), operand=operand):
            yield from site.replace(site.node, site.text_of(operand), weight=0.6, summary="drop the sign")
        case ast.Name() | ast.Attribute() | ast.Call() | ast.Subscript() if _may_be_negated(
            site
        ) and _is_value(site):
            yield from site.replace(
                site.node, f"-{site.text_of(site.node)}", weight=0.25, summary="flip the sign"
            )


def _may_be_negated(site: RewriteSite) -> bool:
    """Tell whether an expression may need a minus sign: an operand, a return value or a sort key."""
    is_sort_key = isinstance(site.parent, ast.Tuple) and isinstance(
        site.source.parents.get(site.parent), ast.Lambda
    )
    return is_sort_key or isinstance(site.parent, ast.BinOp | ast.Return | ast.Lambda)


def converted_elsewhere(site: RewriteSite) -> Iterator[Rewrite]:
    """Apply a call to `x` that the file applies to an `x` elsewhere; also with a test for None."""
    node, function = site.node, site.function
    if not isinstance(node, ast.Name) or function is None or not _is_value(site):
        return
    visible_names = names_in_scope(site.source, function)
    own_text = site.text_of(site.parent) if isinstance(site.parent, ast.Call) else ""
    texts = [
        text
        for text, reads in _conversions(site.source).get(node.id, ())
        if reads <= visible_names and text != own_text and "\n" not in text
    ]
    for rank, text in enumerate(texts[:MOST]):
        summary = f"use `{text[:40]}` as elsewhere"
        yield from site.replace(node, text, weight=0.45 * 0.9**rank, summary=summary)
        if node.id not in ("self", "cls"):
            yield from site.replace(
                node,
                f"{text} if {node.id} is not None else None",
                weight=0.35 * 0.9**rank,
                summary=f"{summary}, or None",
            )


@lru_cache(maxsize=256)
def _conversions(source: PythonSource) -> dict[str, tuple[tuple[str, frozenset[str]], ...]]:
    """Return the calls whose only argument is a variable, by its name, with the names that they read."""
    calls_by_name: dict[str, dict[str, frozenset[str]]] = {}
    for node in ast.walk(source.tree):
        match node:
            case ast.Call(func=ast.Name() | ast.Attribute() as maker, args=[ast.Name(id=name)], keywords=[]):
                if isinstance(maker, ast.Name) and maker.id in BUILTIN_NAMES - {*FUNCTIONS}:
                    continue
                reads = frozenset(descendant.id for descendant in find_nodes(node, ast.Name))
                calls_by_name.setdefault(name, {})[source.text_of(node)] = reads
    return {name: tuple(texts.items()) for name, texts in calls_by_name.items()}


def _is_value(site: RewriteSite) -> bool:
    """Tell whether a node is a name, an access, a call or a calculation whose value is used."""
    node, parent = site.node, site.parent
    if not isinstance(node, ast.Name | ast.Attribute | ast.Subscript | ast.Call | ast.BinOp):
        return False
    if not isinstance(getattr(node, "ctx", ast.Load()), ast.Load) or (
        isinstance(parent, ast.Call) and parent.func is node
    ):
        return False
    if isinstance(parent, ast.For | ast.comprehension):
        return parent.iter is node
    if isinstance(parent, ast.IfExp | ast.Subscript):
        return node is not (parent.test if isinstance(parent, ast.IfExp) else parent.value)
    return isinstance(parent, USUAL_PARENTS + UNUSUAL_PARENTS) and getattr(parent, "target", None) is not node
