"""Templates for values of a wrong type, and members of collections and dataclasses."""

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

from coder.core.ports import TextChange
from coder.core.verdict import Failure
from coder.python.source import PythonSource
from coder.repair.generators.donor_code import BUILTIN_NAMES
from coder.repair.generators.names import find_in_messages
from coder.repair.generators.site import (
    Rewrite,
    RewriteSite,
    import_from_change,
    module_names,
    name_similarity,
    replace_span,
    short_string_literals,
)
from coder.repair.generators.text import quoted_texts, string_literal

# Conversions that fix the type or format that a failure complains about.

LAZY = r"(dict_keys|dict_values|dict_items|map|filter|zip|generator|reversed|list_reverseiterator|set)"
ROUNDING_ERROR = re.compile(r"(\d\.\d{12,})")
"""A number with the rounding error of binary fractions."""
ASYNC_ERROR = re.compile(
    r"('async_generator' object is not iterable|'async for' requires|asynchronous context manager"
    r"|context manager protocol)"
)
WEIGHT = 1.2


def meant_as(site: RewriteSite) -> Iterator[Rewrite]:
    """Convert a value to the type it is used as: `list(x)[0]` for `x[0]`, `x + [y]` for `x + y`."""
    for pattern, applies, form in CONVERSION_FORMS:
        if find_in_messages(site.failures, pattern) and applies(site):
            yield from _apply_form(site, form)
    yield from _compare_floats(site)
    match site.node:
        case ast.For() | ast.With() if isinstance(site.function, ast.AsyncFunctionDef) and find_in_messages(
            site.failures, ASYNC_ERROR
        ):
            start, _ = site.span(site.node)
            yield replace_span(start, start, "async ", weight=WEIGHT, summary="make the statement async")


def _apply_form(site: RewriteSite, form: str) -> Iterator[Rewrite]:
    node = site.node
    code = site.text_of(node)
    (start, end), text = site.span(node), site.source.text
    if isinstance(node, ast.GeneratorExp) and isinstance(
        site.parent, ast.Call
    ):  # the parentheses belong to the call
        yield replace_span(start, end, f"([{code[1:-1]}])", weight=WEIGHT, summary="convert to a list")
    elif form.startswith("("):
        is_parenthesized = text[start - 1 : start] == "(" and text[end : end + 1] == ")"
        new = form.format(code)[1:-1] if is_parenthesized else form.format(code)
        yield replace_span(start, end, new, weight=WEIGHT, summary=f"use `{form.format(code)[:40]}`")
    else:
        yield from site.replace(
            node, form.format(code), weight=WEIGHT, summary=f"use `{form.format(code)[:40]}`"
        )


def _compare_floats(site: RewriteSite) -> Iterator[Rewrite]:
    match site.node:
        case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]) if find_in_messages(
            site.failures, ROUNDING_ERROR
        ):
            left_code, right_code = site.text_of(left), site.text_of(right)
            new = (
                f"math.isclose({left_code}, {right_code})"
                if "math" in module_names(site.source)
                else f"abs({left_code} - ({right_code})) < 1e-9"
            )
            yield from site.replace(site.node, new, weight=0.6, summary="compare floats approximately")


def _is_subscripted(site: RewriteSite) -> bool:
    return isinstance(site.parent, ast.Subscript) and site.parent.value is site.node


def _is_argument_of(*names: str) -> Callable[[RewriteSite], bool]:
    def applies(site: RewriteSite) -> bool:
        match site.parent:
            case ast.Call(func=ast.Name(id=name), args=[argument, *_]):
                return name in names and argument is site.node
        return False

    return applies


def _is_added(site: RewriteSite) -> bool:
    match site.parent:
        case ast.BinOp(op=ast.Add(), left=left, right=right):
            return site.node in (left, right)
        case ast.AugAssign(op=ast.Add(), value=value):
            return site.node is value
    return False


def _is_returned(site: RewriteSite) -> bool:
    return isinstance(site.parent, ast.Return)


CONVERSION_FORMS: tuple[tuple[re.Pattern[str], Callable[[RewriteSite], bool], str], ...] = (
    (re.compile(rf"'{LAZY}' object is not subscriptable"), _is_subscripted, "list({})"),
    (re.compile(rf"object of type '{LAZY}' has no len"), _is_argument_of("len"), "list({})"),
    (re.compile(r"(can only concatenate list)"), _is_added, "[{}]"),
    (re.compile(r"(can only concatenate tuple)"), _is_added, "({},)"),
    (re.compile(r"unhashable type: '(list)'"), _is_argument_of("set", "frozenset"), "map(tuple, {})"),
    (re.compile(r"(returned non-iterator)"), _is_returned, "iter({})"),
    (
        re.compile(r"invalid literal for int\(\) with base 10: ['\"](-?\d*\.\d+)"),
        _is_argument_of("int"),
        "float({})",
    ),
    (
        re.compile(r"(?:to float|base 10): ['\"](-?\d+,\d)"),
        _is_argument_of("int", "float"),
        "{}.replace(',', '')",
    ),
)


# Missing members of a list of strings or types, of a table, or of a compared value.

WORD = re.compile(r"[^\W\d]\w{2,}")
TYPE_MENTION = re.compile(
    r"\b([^\W\d][\w.]*)\(|type '?([^\W\d][\w.]*)|<class '([\w.]+)'>|'([^\W\d][\w.]*)' object"
)
"""Patterns of types in messages: by the text of a value, or directly."""
QUOTED_WEIGHT, MENTIONED_WEIGHT, NEXT_NUMBER_WEIGHT = 0.9, 0.45, 1.2
"""Weight of a member that the failures quote, of one that they mention, and of a number that they mention and
that continues the others."""
MOST, MOST_LETTERS = 8, 12
LONGEST = 40


def enlisted(site: RewriteSite) -> Iterator[Rewrite]:
    """Add a member that the failures mention to a collection, a table or a comparison.

    Example: `('a', 'b')` for `('a',)`. A table entry gets the usual value.
    """
    if not isinstance(getattr(site.node, "ctx", ast.Load()), ast.Load):
        return
    match site.node:
        case (
            ast.Tuple(elts=[_, *_] as members)
            | ast.List(elts=[_, *_] as members)
            | ast.Set(elts=[_, *_] as members)
        ):
            yield from _add_member(site, members)
        case ast.Dict(keys=[_, _, *_] as keys, values=values) if all(key is not None for key in keys):
            yield from _add_entry(site, [key for key in keys if key is not None], values)
        case (
            ast.Compare(
                ops=[ast.Eq() | ast.NotEq() as op],
                comparators=[ast.Constant(value=str()) as compared_literal],
            ) as node
        ):
            code = site.text_of(compared_literal)
            operator = "in" if isinstance(op, ast.Eq) else "not in"
            for text in _mentioned_texts([compared_literal], site):
                new = f"{site.text_of(node.left)} {operator} ({code}, {string_literal(text, code)})"
                yield from site.replace(node, new, weight=0.3, summary=f"accept {text!r} as well")
        case ast.Compare(
            ops=[*_, ast.In() | ast.NotIn()],
            comparators=[*_, ast.Constant(value=str(letters)) as literal_node],
        ):
            yield from _add_letter(site, literal_node, letters)


def _add_member(site: RewriteSite, members: Sequence[ast.expr]) -> Iterator[Rewrite]:
    if all(isinstance(member, ast.Constant) and isinstance(member.value, str) for member in members):
        texts = [str(member.value) for member in members if isinstance(member, ast.Constant)]
        for text in _mentioned_texts(members, site):
            yield from _insert_member(
                site, members, texts, text, string_literal(text, site.text_of(members[-1]))
            )
    elif all(isinstance(member, ast.Constant) and type(member.value) is int for member in members):
        numbers = [int(site.text_of(member), 0) for member in members]
        mentioned = {int(text) for failure in site.failures for text in NUMBER.findall(failure.message)}
        for number in dict.fromkeys((max(numbers) + 1, min(numbers) - 1, *sorted(mentioned))):
            if number not in numbers and number >= 0:
                yield from _insert_number(site, members, numbers, number, is_mentioned=number in mentioned)
    elif all(isinstance(member, ast.Name | ast.Attribute) for member in members):
        names = [site.text_of(member) for member in members]
        known_names = BUILTIN_NAMES | {*module_names(site.source)}
        for name in _types_in_messages(site.failures):
            if name not in names and name.partition(".")[0] in known_names:
                yield from _insert_member(site, members, names, name, name)


NUMBER = re.compile(r"(?<![\w.])\d{1,4}(?![\d.])")
"""A number in a message, such as 13 of `'13rd' == '13th'`."""


def _insert_number(
    site: RewriteSite, members: Sequence[ast.expr], numbers: Sequence[int], number: int, *, is_mentioned: bool
) -> Iterator[Rewrite]:
    """Insert a number before the first larger one, else at the end."""
    index = next((index for index, other in enumerate(numbers) if other > number), len(numbers))
    start, end = site.span(members[min(index, len(members) - 1)])
    position, new = (start, f"{number}, ") if index < len(members) else (end, f", {number}")
    is_next = number in (max(numbers) + 1, min(numbers) - 1)
    weight = (NEXT_NUMBER_WEIGHT if is_next else QUOTED_WEIGHT) if is_mentioned else MENTIONED_WEIGHT
    change = TextChange(start=position, end=position, text=new)
    yield Rewrite((change,), weight, f"add {number} to the collection")


def _insert_member(
    site: RewriteSite, members: Sequence[ast.expr], texts: Sequence[str], text: str, code: str
) -> Iterator[Rewrite]:
    """Insert a member: at its place if the collection is sorted, else at the end."""
    index = (
        next((index for index, other in enumerate(texts) if other > text), len(texts))
        if sorted(texts) == [*texts]
        else len(texts)
    )
    start, end = site.span(members[min(index, len(members) - 1)])
    position, new = (start, f"{code}, ") if index < len(members) else (end, f", {code}")
    weight = (
        QUOTED_WEIGHT
        if any(f"{quote}{text}{quote}" in failure.message for failure in site.failures for quote in "'\"`")
        else MENTIONED_WEIGHT
    )
    yield replace_span(
        position, position, new, weight=weight, summary=f"add {text[:LONGEST]!r} to the collection"
    )


def _add_entry(site: RewriteSite, keys: Sequence[ast.expr], values: Sequence[ast.expr]) -> Iterator[Rewrite]:
    """Add an entry with the value of at least half of the keys, or with the key as its value."""
    if not all(isinstance(key, ast.Constant) and isinstance(key.value, str) for key in keys):
        return
    codes = [*map(site.text_of, values)]
    (common, count), *_ = Counter(codes).most_common(1)
    namesakes = sum(
        isinstance(key, ast.Constant) and key.value == code for key, code in zip(keys, codes, strict=True)
    )
    for text in (
        _mentioned_texts(keys, site)
        if max(count, namesakes) > 1 and 2 * max(count, namesakes) >= len(values)
        else ()
    ):
        value = (
            common
            if count >= namesakes
            else text
            if text in BUILTIN_NAMES | {*module_names(site.source)}
            else ""
        )
        (_, end), key = site.span(values[-1]), string_literal(text, site.text_of(keys[-1]))
        if value:
            yield replace_span(
                end, end, f", {key}: {value}", weight=0.4, summary=f"add an entry for {text!r}"
            )


def _add_letter(site: RewriteSite, node: ast.Constant, letters: str) -> Iterator[Rewrite]:
    """Add a letter: in the other case, or one that the failures quote."""
    if not 1 < len(letters) <= MOST_LETTERS or any(letter.isspace() for letter in letters):
        return
    quotes = sorted(text for text in quoted_texts(site.failures) if len(text) == 1)
    for letter in dict.fromkeys([*quotes, *letters.swapcase()]):
        if letter not in letters:
            for text, weight in ((letter + letters, 0.35), (letters + letter, 0.3)):
                code = string_literal(text, site.text_of(node))
                yield from site.replace(node, code, weight=weight, summary=f"add {letter!r} to the letters")


def _mentioned_texts(members: Sequence[ast.expr], site: RewriteSite) -> Sequence[str]:
    """Return texts of the same form that the failures mention.

    Those used in the file come first, then the most similar.
    """
    texts = tuple(str(member.value) for member in members if isinstance(member, ast.Constant))
    return _rank_mentioned_texts(texts, site.failures, frozenset(short_string_literals(site.source)))


@lru_cache(maxsize=2048)
def _rank_mentioned_texts(
    texts: tuple[str, ...], failures: tuple[Failure, ...], elsewhere: frozenset[str]
) -> Sequence[str]:
    if all(len(text) == 1 for text in texts):
        texts_found = frozenset(letter for text in quoted_texts(failures) for letter in text)
    else:
        texts_found = (
            _words_in_messages(failures)
            if all(text.isidentifier() for text in texts)
            else quoted_texts(failures)
        )
    candidates = [
        text
        for text in texts_found
        if text not in texts and text.strip() and len(text) <= LONGEST and _has_same_case(text, texts)
    ]
    return sorted(
        candidates,
        key=lambda text: (text not in elsewhere, -max(name_similarity(text, other) for other in texts), text),
    )[:MOST]


def _has_same_case(text: str, texts: Sequence[str]) -> bool:
    """Tell whether a text is in upper or lower case if all the others are."""
    return all(
        getattr(text, predicate)()
        for predicate in ("isupper", "islower")
        if all(getattr(other, predicate)() for other in texts)
    )


@lru_cache(maxsize=64)
def _words_in_messages(failures: tuple[Failure, ...]) -> frozenset[str]:
    return frozenset(word for failure in failures for word in WORD.findall(failure.message))


@lru_cache(maxsize=64)
def _types_in_messages(failures: tuple[Failure, ...]) -> tuple[str, ...]:
    mentioned = (
        name
        for failure in failures
        for names in TYPE_MENTION.findall(failure.message)
        for name in names
        if name
    )
    return tuple(dict.fromkeys(mentioned))[:MOST]


# Mutable defaults of data class fields.

FIELD = re.compile(r"mutable default .* for field (\w+)")


def factory(site: RewriteSite) -> Iterator[Rewrite]:
    """Use a default factory: `field(default_factory=list)` for `[]`."""
    match site.node:
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value) if name in find_in_messages(
            site.failures, FIELD
        ):
            default_factory = _factory_of(site.source, value)
            start, end = site.span(value)
            imported = {
                alias.name
                for statement in site.source.tree.body
                if isinstance(statement, ast.ImportFrom)
                for alias in statement.names
            }
            field_name = (
                "field"
                if "field" in imported or not _imports_dataclasses(site.source)
                else "dataclasses.field"
            )
            change = TextChange(start=start, end=end, text=f"{field_name}(default_factory={default_factory})")
            imports = (
                [import_from_change(site.source, "dataclasses", "field")]
                if field_name == "field" and "field" not in imported
                else []
            )
            yield Rewrite((*imports, change), 2.0, f"use a default factory for `{name}`")


def _imports_dataclasses(source: PythonSource) -> bool:
    return any(
        alias.name == "dataclasses"
        for statement in source.tree.body
        if isinstance(statement, ast.Import)
        for alias in statement.names
    )


def _factory_of(source: PythonSource, value: ast.expr) -> str:
    match value:
        case ast.List(elts=[]):
            return "list"
        case ast.Dict(keys=[]):
            return "dict"
        case ast.Call(func=ast.Name(id=kind), args=[], keywords=[]):
            return kind
    return f"lambda: {source.text_of(value)}"


# Wrong types in isinstance and issubclass calls.

RELATED_TYPES: dict[str, tuple[str, ...]] = {
    "list": ("tuple", "set"),
    "tuple": ("list",),
    "set": ("frozenset",),
    "frozenset": ("set",),
    "str": ("bytes",),
    "bytes": ("bytearray", "str"),
    "int": ("float",),
    "float": ("int",),
    "dict": ("list",),
}
"""Types that are often meant as well."""
SUBSCRIPT_METHODS = frozenset({"__getitem__", "__setitem__", "__delitem__"})
MAX_SIBLING_TYPES = 8


def kind(site: RewriteSite) -> Iterator[Rewrite]:
    """Add or drop a type: `isinstance(x, (list, tuple))` for `isinstance(x, list)`."""
    match site.node:
        case ast.Call(
            func=ast.Name(id="isinstance" | "issubclass"), args=[_, ast.Tuple(elts=type_nodes) as types]
        ):
            pass
        case ast.Call(
            func=ast.Name(id="isinstance" | "issubclass"), args=[_, ast.Name() | ast.Attribute() as types]
        ):
            type_nodes = [types]
        case _:
            return
    names = [site.text_of(type_node) for type_node in type_nodes]
    if names == ["int"] and isinstance(site.node, ast.Call):
        code = site.text_of(site.node)
        text = f"{code} and not isinstance({site.text_of(site.node.args[0])}, bool)"
        yield from site.replace(site.node, text, weight=0.3, summary="exclude bool")
    related = [other for name in names for other in RELATED_TYPES.get(name, ())]
    if "int" in names and site.function and site.function.name in SUBSCRIPT_METHODS:
        related.insert(0, "slice")
    related += [other for type_node in type_nodes for other in _sibling_types(site.source, type_node)][
        :MAX_SIBLING_TYPES
    ]
    for other in dict.fromkeys(other for other in related if other not in names):
        yield from site.replace(
            types, f"({', '.join([*names, other])})", weight=0.6, summary=f"accept {other} as well"
        )
    for dropped in names if len(names) > 1 else ():
        remaining = [name for name in names if name != dropped]
        text = remaining[0] if len(remaining) == 1 else f"({', '.join(remaining)})"
        yield from site.replace(types, text, weight=0.25, summary=f"do not accept {dropped}")


def _sibling_types(source: PythonSource, type_node: ast.expr) -> tuple[str, ...]:
    """Return other names of the same module that the file uses: `ast.Store` for `ast.Load`."""
    match type_node:
        case ast.Attribute(value=ast.Name(id=module), attr=name) if name[0].isupper():
            return _module_attributes(source).get(module, ())
    return ()


@lru_cache(maxsize=256)
def _module_attributes(source: PythonSource) -> dict[str, tuple[str, ...]]:
    """Return the capitalized attributes of each module that the file uses, by module name."""
    names_by_module: dict[str, dict[str, None]] = {}
    for node in ast.walk(source.tree):
        match node:
            case ast.Attribute(value=ast.Name(id=module), attr=name) if name[0].isupper():
                names_by_module.setdefault(module, {})[source.text_of(node)] = None
    return {module: tuple(names) for module, names in names_by_module.items()}
