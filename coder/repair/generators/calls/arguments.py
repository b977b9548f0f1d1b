"""Wrong calls: the neighbour of the function that was meant, arguments in the wrong order, one too many or too few."""

import ast
from collections.abc import Iterator

from coder.core.ports.repair import Change
from coder.python.source import Function
from coder.repair.context.scope import (
    arguments_of,
    idle,
    local_names,
    module_names,
    most_alike,
    own_attributes,
)
from coder.repair.context.site import Rewrite, Site

NEIGHBOURS = (
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


REMOTE = (("sum", "len", "max", "min"), ("sorted", "list", "set"), ("append", "remove", "pop"))
"""Functions that take the same and say something else: seldom what was meant."""
REFUSED = 1.3
"""What speaks for other arguments of a call that says these are of the wrong type."""


def neighbour(site: Site) -> Iterator[Rewrite]:
    """`max` for `min`, `extend` for `append`, a function of the module with a name alike."""
    node = site.node
    if not isinstance(node, ast.Call):
        return
    for other in _taking_the_same(site, node):
        yield from site.replace(node.func, other, weight=0.5, summary=f"call `{other}`, which takes the same")
    match node.func:
        case ast.Name(id=name):
            prefix = ""
        case ast.Attribute(value=value, attr=name):
            prefix = f"{site.source.code(value)}."
        case _:
            return
    for other, weight in _others(name):
        yield from site.replace(
            node.func, prefix + other, weight=weight, summary=f"call `{other}` instead of `{name}`"
        )
    if not prefix:
        for other, alike in most_alike(name, module_names(site.source), count=6, least=0.5):
            yield from site.replace(
                node.func, other, weight=0.55 * alike, summary=f"call `{other}` instead of `{name}`"
            )


def _taking_the_same(site: Site, call: ast.Call) -> Iterator[str]:
    """Functions of the module that have parameters of the names of two arguments at their places."""
    given = [argument.id if isinstance(argument, ast.Name) else "" for argument in call.args]
    for function in site.source.functions if len(given) > 1 else ():
        taken = arguments_of(function)
        same = sum(one == other for one, other in zip(given, taken, strict=False))
        if (
            same > 1
            and len(taken) >= len(given)
            and site.source.parents[function] is site.source.tree
            and function is not site.function
        ):
            yield function.name


def argument_order(site: Site) -> Iterator[Rewrite]:
    """Two arguments change places; so do two elements of a pair."""
    match site.node:
        case ast.Call(args=given):
            what, weight = "arguments", REFUSED if _is_refused(site) else 0.7
        case ast.Tuple(elts=given) if len(given) == 2:
            what, weight = "elements", 0.6
        case ast.List(elts=given) if len(given) == 2:
            what, weight = "elements", 0.4
        case ast.DictComp(key=key, value=value):
            given, what, weight = [key, value], "sides", 0.5
        case _:
            return
    plain = [item for item in given if not isinstance(item, ast.Starred)]
    for index, first in enumerate(plain):
        for distance, second in enumerate(plain[index + 1 :]):
            yield from site.swap(first, second, weight=weight * 0.8**distance, summary=f"swap two {what}")


def clamped(site: Site) -> Iterator[Rewrite]:
    """The bounds of `max(low, min(high, x))`, or its functions, change places."""
    match site.node:
        case ast.Call(func=ast.Name(id="min" | "max" as outer) as around, args=[_, _] as given):
            pass
        case _:
            return
    for inside in given:
        match inside:
            case ast.Call(func=ast.Name(id="min" | "max" as inner) as within, args=[_, _] as further) if (
                inner != outer
            ):
                bound = next(item for item in given if item is not inside)
                yield from site.swap(around, within, weight=0.6, summary=f"swap `{outer}` and `{inner}`")
                for other in further:
                    first, second = sorted((bound, other), key=lambda item: site.source.span(item))
                    yield from site.swap(first, second, weight=0.6, summary="swap the bounds")
            case _:
                pass


def _is_refused(site: Site) -> bool:
    """Does a failure end where the call is, for what it was given is of the wrong type?"""
    ends = [failure.frames[-1] for failure in site.failures if failure.type == "TypeError" and failure.frames]
    return any(map(site.holds, ends))


def argument_missing(site: Site) -> Iterator[Rewrite]:
    """Hand on a parameter, or what the object itself keeps, that the callee takes by the same name; drop an argument that is too many."""
    node = site.node
    if not isinstance(node, ast.Call):
        return
    given: list[ast.expr | ast.keyword] = [*node.args, *node.keywords]
    close = site.source.span(node)[1] - 1
    separator = ", " if given and not site.source.text[:close].rstrip().endswith(",") else ""
    taken = {keyword.arg for keyword in node.keywords}
    for name in [name for name in _parameters(site, node)[len(node.args) :] if name not in taken]:
        for value, weight in _namesakes(site, name):
            change = Change(start=close, end=close, text=f"{separator}{name}={value}")
            yield Rewrite((change,), weight, f"hand on `{value}` to `{site.source.code(node.func)}`")
    for name in idle(site.function):
        if name not in [
            *(keyword.arg for keyword in node.keywords),
            *(item.id for item in node.args if isinstance(item, ast.Name)),
        ]:
            change = Change(start=close, end=close, text=f"{separator}{name}={name}")
            yield Rewrite((change,), 0.45, f"hand on `{name}`, which is not used")
    for index, argument in enumerate(given):
        start, end = _with_separator(site, given, index)
        if len(given) > 1:
            what = site.source.code(argument)
            yield Rewrite((Change(start=start, end=end, text=""),), 0.2, f"do not pass `{what[:40]}`")


def _namesakes(site: Site, name: str) -> Iterator[tuple[str, float]]:
    """The variable of a name, and what the object itself keeps by it, with what they are worth."""
    if name in local_names(site.source, site.node):
        yield name, 0.6
    for kept in (
        (name, f"_{name}")
        if site.function and [argument.arg for argument in site.function.args.args[:1]] == ["self"]
        else ()
    ):
        if kept in own_attributes(site.source, site.node):
            yield f"self.{kept}", 0.5


def _parameters(site: Site, call: ast.Call) -> tuple[str, ...]:
    """What the callee takes, as far as the file says it: a function's parameters, a constructor's, the fields of a data class."""
    if (callee := callee_of(site, call)) is not None:
        return arguments_of(callee)
    match call.func:
        case ast.Name(id="cls") | ast.Attribute(attr="__class__") | ast.Call(func=ast.Name(id="type")):
            owner = site.source.class_of(site.function)
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
    made = next((item for item in body if isinstance(item, Function) and item.name == "__init__"), None)
    return (
        arguments_of(made)
        if made
        else tuple(
            item.target.id
            for item in body
            if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)
        )
    )


def callee_of(site: Site, call: ast.Call) -> Function | None:
    """What the file defines by the name that is called."""
    match call.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            made = [
                function
                for function in site.source.functions
                if function.name == "__init__" and _is_of(site.source.class_of(function), name)
            ]
            return next(
                (
                    function
                    for function in (*made, *site.source.functions)
                    if function in made or function.name == name
                ),
                None,
            )
        case _:
            return None


def _is_of(owner: ast.ClassDef | None, name: str) -> bool:
    return owner is not None and owner.name == name


def _with_separator(site: Site, given: list[ast.expr | ast.keyword], index: int) -> tuple[int, int]:
    """An argument with the comma before it, or with the one after it where it is the first."""
    if index:
        return site.source.span(given[index - 1])[1], site.source.span(given[index])[1]
    return site.source.span(given[0])[0], site.source.span(given[1])[0] if len(
        given
    ) > 1 else site.source.span(given[0])[1]


def _others(name: str) -> Iterator[tuple[str, float]]:
    seen = {name}
    for group in NEIGHBOURS:
        if name in group:
            for rank, other in enumerate(item for item in group if item not in seen):
                seen.add(other)
                yield other, 0.8 * 0.9**rank
    for group in REMOTE:
        for other in group if name in group else ():
            if other not in seen:
                seen.add(other)
                yield other, 0.3
