"""Rewrite rules as data: a pattern of Python with holes, and what may stand there instead.

A rule is matched against the syntax tree, so layout does not matter. `$x` stands for an expression or a name,
`$*rest` for any number of arguments; equal holes hold equal code.
"""

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

from coder.python.source import PythonSource, dump_node, parse_module
from coder.repair.site import Rewrite, RewriteSite, needs_parentheses

HOLE = re.compile(r"\$(\*?)(\w+)")
CANCELLED = re.compile(r" (?:\+ 1 -|- 1 \+) 1(?! ?[*/%\w.(\[@])")
"""Steps of one that a replacement takes back."""
Bound = ast.AST | str | list[ast.AST]
Condition = Callable[[RewriteSite], bool]


@dataclass(frozen=True)
class EditRule:
    """One rewrite of an expression or a simple statement."""

    family: str
    pattern: str
    replacements: tuple[str, ...]
    """Likeliest first."""
    when: Condition | None = None
    message: str = ""
    """Pattern that a failure's message or type must match."""

    @cached_property
    def tree(self) -> ast.AST:
        return _parse(self.pattern)

    def rewrite(self, site: RewriteSite) -> Iterator[Rewrite]:
        """Yield what the rule makes of a node; nothing where its pattern does not match."""
        holes: dict[str, Bound] = {}
        if not _matches(self.tree, site.node, holes) or (self.when and not self.when(site)):
            return
        if self.message and not any(
            re.search(self.message, f"{failure.type}: {failure.message}") for failure in site.failures
        ):
            return
        outside = HOLE.sub("", self.pattern)
        if "#" in site.text_of(site.node) or any(
            isinstance(bound, ast.AST) and bound is site.node and outside for bound in holes.values()
        ):
            return
        for replacement in self.replacements:
            yield from site.replace(site.node, _render(replacement, site, holes))


def _parse(text: str) -> ast.AST:
    named = HOLE.sub(lambda hole: f"{'*' if hole[1] else ''}hole_{hole[2]}", text)
    body = parse_module(named).body
    return body[0].value if isinstance(body[0], ast.Expr) else body[0]


def _hole_name(text: object) -> str:
    return text.removeprefix("hole_") if isinstance(text, str) and text.startswith("hole_") else ""


IGNORED_FIELDS = ("ctx", "kind", "type_comment")


def _matches(pattern: object, node: object, holes: dict[str, Bound]) -> bool:
    match pattern:
        case ast.Name(id=text) if name := _hole_name(text):
            return isinstance(node, ast.expr) and _bind(holes, name, node)
        case str() if name := _hole_name(pattern):
            return isinstance(node, str) and _bind(holes, name, node)
        case [*fixed, ast.Starred(value=ast.Name(id=text))] if (name := _hole_name(text)) and isinstance(
            node, list
        ):
            rest = node[len(fixed) :]
            return (
                len(node) >= len(fixed)
                and _matches(fixed, node[: len(fixed)], holes)
                and _bind(holes, name, rest)
            )
        case list():
            return (
                isinstance(node, list)
                and len(pattern) == len(node)
                and all(_matches(part, other, holes) for part, other in zip(pattern, node, strict=True))
            )
        case ast.AST():
            return type(pattern) is type(node) and all(
                _matches(getattr(pattern, field), getattr(node, field), holes)
                for field in pattern._fields
                if field not in IGNORED_FIELDS
            )
    return type(pattern) is type(node) and pattern == node


def _bind(holes: dict[str, Bound], name: str, node: Bound) -> bool:
    before = holes.setdefault(name, node)
    if before is node:
        return True
    both_nodes = isinstance(before, ast.AST) and isinstance(node, ast.AST)
    return dump_node(before) == dump_node(node) if both_nodes else before == node  # type: ignore[arg-type]


@lru_cache(maxsize=256)
def _shape(template: str) -> tuple[PythonSource, dict[str, ast.AST]]:
    """Return the tree of a replacement, and its holes by name."""
    source = PythonSource("", HOLE.sub(lambda hole: f"{hole[1]}hole_{hole[2]}", template))
    names = (node for node in ast.walk(source.tree) if isinstance(node, ast.Name))
    return source, {name.id.removeprefix("hole_"): name for name in names}


def _render(template: str, site: RewriteSite, holes: dict[str, Bound]) -> str:
    """Return a replacement with its holes filled, in parentheses where needed."""
    shape, places = _shape(template)

    def fill(hole: re.Match[str]) -> str:
        match holes[hole[2]]:
            case str() as text:
                return text
            case list() as nodes:
                return ", ".join(map(site.text_of, nodes))
            case node:
                code = site.text_of(node)
                place = places.get(hole[2])
                return f"({code})" if place is not None and needs_parentheses(code, place, shape) else code

    text = CANCELLED.sub("", HOLE.sub(fill, template).replace("(, ", "(").replace(", )", ")"))
    end = site.source.line_end
    indent = site.source.indent(site.node) if isinstance(site.node, ast.stmt) else ""
    return text.replace("\n", f"{end}{indent}")


# Tables.

COMPARISONS: dict[type[ast.cmpop], tuple[str, tuple[str, ...]]] = {
    ast.Lt: ("<", ("<=", ">", ">=", "!=")),
    ast.LtE: ("<=", ("<", ">=", ">", "==")),
    ast.Gt: (">", (">=", "<", "<=", "!=")),
    ast.GtE: (">=", (">", "<=", "<", "==")),
    ast.Eq: ("==", ("!=", "<=", ">=", "is", "in")),
    ast.NotEq: ("!=", ("==", "<", ">", "is not", "not in")),
    ast.In: ("in", ("not in", "==")),
    ast.NotIn: ("not in", ("in", "!=")),
    ast.Is: ("is", ("is not", "==")),
    ast.IsNot: ("is not", ("is", "!=")),
}
ARITHMETIC: dict[type[ast.operator], tuple[str, tuple[str, ...]]] = {
    ast.Add: ("+", ("-", "*", "|")),
    ast.Sub: ("-", ("+", "*", "//", "%")),
    ast.Mult: ("*", ("+", "/", "**", "//", "%")),
    ast.Div: ("/", ("//", "*", "%")),
    ast.FloorDiv: ("//", ("/", "%", "*")),
    ast.Mod: ("%", ("//", "/", "*")),
    ast.Pow: ("**", ("*",)),
    ast.BitAnd: ("&", ("|", "-", "^")),
    ast.BitOr: ("|", ("&", "+", "^")),
    ast.BitXor: ("^", ("&", "|", "**")),
    ast.LShift: ("<<", (">>",)),
    ast.RShift: (">>", ("<<",)),
}
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
    ("pop", "popleft", "get"),
    ("find", "rfind", "index", "rindex"),
    ("upper", "lower", "title", "capitalize", "casefold"),
    ("floor", "ceil", "round", "trunc", "int"),
    ("union", "intersection", "difference", "symmetric_difference"),
    ("issubset", "issuperset", "isdisjoint"),
    ("split", "rsplit", "splitlines", "partition", "rpartition"),
    ("int", "float", "str", "repr", "bool"),
    ("list", "tuple", "set", "frozenset"),
    ("bisect_left", "bisect_right"),
    ("heappush", "heappop", "heapify"),
    ("match", "search", "fullmatch"),
    ("findall", "finditer"),
    ("isinstance", "issubclass"),
    ("isdigit", "isnumeric", "isdecimal", "isalpha", "isalnum"),
    ("ljust", "rjust", "center", "zfill"),
    ("getattr", "hasattr"),
    ("zip", "zip_longest", "product"),
    ("encode", "decode"),
    ("sum", "len"),
    ("copy", "deepcopy"),
)
"""Functions that are taken for each other."""
OPTIONS: dict[str, tuple[str, ...]] = {
    "sorted": ("reverse=True", "key=str", "key=len", "key=str.lower"),
    "sort": ("reverse=True", "key=len"),
    "popitem": ("last=False",),
    "move_to_end": ("last=False",),
    "enumerate": ("1", "start=1"),
    "pop": ("0", "None"),
    "split": ("None, 1", "1"),
    "max": ("default=0", "default=None", "key=len"),
    "min": ("default=0", "default=None", "key=len"),
    "next": ("None",),
    "round": ("2",),
    "dumps": ("sort_keys=True", "ensure_ascii=False", "default=str"),
    "mkdir": ("parents=True", "exist_ok=True", "parents=True, exist_ok=True"),
    "makedirs": ("exist_ok=True",),
    "replace": ("1",),
    "sub": ("count=1",),
    "compile": ("re.IGNORECASE", "re.MULTILINE", "re.DOTALL"),
    "getattr": ("None",),
    "get": ("0", "''", "[]"),
    "open": ("encoding='utf-8'",),
}
"""Options of well-known functions that are often missing."""


def is_used(site: RewriteSite) -> bool:
    return not isinstance(site.parent, ast.Expr)


def is_condition(site: RewriteSite) -> bool:
    return site.is_condition


def is_plain_condition(site: RewriteSite) -> bool:
    """Tell whether a condition is no comparison, which has operators of its own."""
    negated = isinstance(site.node, ast.UnaryOp) and isinstance(site.node.op, ast.Not)
    return site.is_condition and not isinstance(site.node, ast.Compare) and not negated


def is_name(site: RewriteSite) -> bool:
    return isinstance(site.node, ast.Name | ast.Attribute) and isinstance(site.node.ctx, ast.Load)


def is_call(site: RewriteSite) -> bool:
    return isinstance(site.node, ast.Call) and not isinstance(site.parent, ast.Await)


def is_value(site: RewriteSite) -> bool:
    """Tell whether a name, attribute, call or item is passed, returned, iterated, collected or compared."""
    node = site.node
    if not isinstance(node, ast.Name | ast.Attribute | ast.Call | ast.Subscript) or site.is_callee:
        return False
    if not isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
        return False
    return site.is_argument or isinstance(site.parent, VALUE_PARENTS)


VALUE_PARENTS = (
    *(ast.Return, ast.Assign, ast.For, ast.comprehension, ast.Compare, ast.BinOp, ast.IfExp),
    *(ast.GeneratorExp, ast.ListComp, ast.SetComp, ast.DictComp),
)


def is_sequence(site: RewriteSite) -> bool:
    """Tell whether a name or a slice may be iterated: by a loop, a call or a caller."""
    is_slice = isinstance(site.node, ast.Subscript) and isinstance(site.node.slice, ast.Slice)
    return (is_name(site) or is_slice) and (
        site.is_argument or isinstance(site.parent, ast.For | ast.comprehension | ast.Return)
    )


def is_count(site: RewriteSite) -> bool:
    """Tell whether a node is where positions and numbers of things stand."""
    node, parent = site.node, site.parent
    if not isinstance(node, ast.Name | ast.Attribute | ast.Call | ast.BinOp | ast.Subscript):
        return False
    if not isinstance(getattr(node, "ctx", ast.Load()), ast.Load) or (
        isinstance(node, ast.Name) and (node.id in ("self", "cls") or node.id[:1].isupper())
    ):
        return False
    match parent:
        case ast.Subscript(slice=index):
            return index is node
        case ast.Slice() | ast.BinOp(op=ast.Add() | ast.Sub() | ast.Mult() | ast.FloorDiv() | ast.Mod()):
            return True
        case ast.Compare(ops=[ast.Lt() | ast.LtE() | ast.Gt() | ast.GtE() | ast.Eq() | ast.NotEq()]):
            return True
    return site.is_argument or isinstance(parent, ast.Return | ast.Assign | ast.Tuple)


LAZY = (
    r"'(?:dict_(?:keys|values|items)|map|filter|zip|generator|reversed|set)' (?:object is not sub|has no len)"
)
RULES = (
    EditRule("negation", "not $x", ("$x", "$x is None")),
    EditRule("negation", "$x", ("not $x",), is_plain_condition),
    EditRule("negation", "$x", ("$x is not None",), lambda site: is_condition(site) and is_name(site)),
    EditRule("negation", "$x is None", ("not $x",), is_condition),
    EditRule("negation", "$x is not None", ("$x",), is_condition),
    EditRule("negation", "$d.get($k)", ("$k in $d",), is_condition),
    EditRule("negation", "$x or $y", ("$y if $x is None else $x",), lambda site: not is_condition(site)),
    EditRule("boundary", "$x + 1", ("$x", "$x - 1")),
    EditRule("boundary", "$x - 1", ("$x", "$x + 1")),
    EditRule("boundary", "$x", ("$x + 1", "$x - 1"), is_count),
    EditRule("boundary", "range($x)", ("range(1, $x + 1)", "range(1, $x)")),
    EditRule("boundary", "range($x, $y)", ("range($x, $y + 1)", "range($y)")),
    EditRule("rearrangement", "$a // $b", ("-(-$a // $b)",)),
    EditRule("rearrangement", "$a - $b", ("$b - $a", "abs($a - $b)")),
    EditRule("rearrangement", "$a / $b", ("$b / $a", "int($a / $b)")),
    EditRule("rearrangement", "$a % $b", ("$b % $a",)),
    EditRule("rearrangement", "$a + $b", ("$b + $a",)),
    EditRule("rearrangement", "$a * $b", ("$a * $b / 100",)),
    EditRule("rearrangement", "$f($a + $b)", ("$f($a) + $b",)),
    EditRule("rearrangement", "$f($a * $b)", ("$f($a) * $b",)),
    EditRule("rearrangement", "$a + $b * $c", ("($a + $b) * $c",)),
    EditRule("rearrangement", "$a - $b * $c", ("($a - $b) * $c",)),
    EditRule("rearrangement", "$a + $b / $c", ("($a + $b) / $c",)),
    EditRule("rearrangement", "$a - $b / $c", ("($a - $b) / $c",)),
    EditRule("rearrangement", "$a - $b - $c", ("$a - ($b - $c)",)),
    EditRule("rearrangement", "$a - $b * $c / $d", ("($a - $b) * $c / $d",)),
    EditRule("sign", "-$x", ("$x",)),
    EditRule("boolean", "$a or $b and $c", ("($a or $b) and $c",)),
    EditRule("index_order", "$x[$i][$j]", ("$x[$j][$i]",)),
    EditRule("index_order", "$x[$i, $j]", ("$x[$j, $i]",)),
    EditRule("slice", "$x[0]", ("$x[-1]", "$x[1]")),
    EditRule("slice", "$x[-1]", ("$x[0]", "$x[-2]")),
    EditRule("slice", "$x[0]", ("$x[:1]",), message="IndexError"),
    EditRule("slice", "$x[$a:$b]", ("$x[$a:]", "$x[:$b]", "$x[$a:$b + 1]", "$x[$a:$b - 1]", "$x")),
    EditRule("slice", "$x[$a:]", ("$x[$a + 1:]", "$x[:$a]", "$x[$a - 1:]", "$x[$a:-1]", "$x")),
    EditRule("slice", "$x[:$b]", ("$x[:$b + 1]", "$x[:$b - 1]", "$x[$b:]", "$x")),
    EditRule("slice", "$x[::-1]", ("$x",)),
    EditRule("slice", "$x", ("$x[1:]", "$x[:-1]", "$x[::-1]"), is_sequence),
    EditRule("element", "$x[$i]", ("$x",), is_used),
    EditRule("element", "$x", ("$x[0]", "$x[-1]"), is_value),
    EditRule("lookup", "$d[$k]", ("$d.get($k)", "$d.get($k, 0)", "$d.get($k, [])"), message="KeyError"),
    EditRule("lookup", "$d[$k] += $v", ("$d[$k] = $d.get($k, 0) + $v",), message="KeyError"),
    EditRule(
        "wrapped", "$x", ("str($x)", "list($x)", "int($x)", "len($x)", "abs($x)", "float($x)"), is_value
    ),
    EditRule("wrapped", "$x", ("reversed($x)", "sorted($x)", "set($x)", "tuple($x)", "[$x]"), is_sequence),
    EditRule("wrapped", "$x", ("$x.strip()", "$x.lower()", "$x.items()", "$x.copy()"), is_value),
    EditRule("wrapped", "$a + $b", ("max(0, $a + $b)",), is_used),
    EditRule("wrapped", "$a - $b", ("max(0, $a - $b)",), is_used),
    EditRule("wrapped", "[]", ("[[]]",), is_used),
    EditRule("wrapped", "$f($x)", ("list($f($x))",), message=LAZY),
    EditRule("wrapped", "$a + $b", ("$a + [$b]", "[$a] + $b"), message="can only concatenate list"),
    EditRule(
        "wrapped", "$a + $b", ("$a + str($b)", "str($a) + $b"), message="can only concatenate str|must be str"
    ),
    EditRule("unwrapped", "$a + $b", ("$b", "$a"), is_used),
    EditRule("unwrapped", "$a - $b", ("$a",), is_used),
    EditRule("unwrapped", "$a * $b", ("$a", "$b"), is_used),
    EditRule("unwrapped", "$f($x)", ("$x",), is_used),
    EditRule("unwrapped", "$x.$name($*rest)", ("$x",), is_used),
    EditRule("unwrapped", "$f($x)", ("yield from $f($x)",), lambda site: isinstance(site.parent, ast.Expr)),
    EditRule("unwrapped", "yield $x", ("yield from $x",)),
    EditRule("shared", "[$x] * $n", ("[$x for _ in range($n)]",), lambda site: is_mutable_literal(site.node)),
    EditRule("shared", "dict.fromkeys($k, [])", ("{key: [] for key in $k}",)),
    EditRule("shared", "dict.fromkeys($k, {})", ("{key: {} for key in $k}",)),
    EditRule("in_place", "$x.sort($*rest)", ("sorted($x, $*rest)",), is_used),
    EditRule("in_place", "$x.reverse()", ("$x[::-1]",), is_used),
    EditRule("in_place", "return $x.append($*rest)", ("$x.append($*rest)\nreturn $x",)),
    EditRule("in_place", "return $x.extend($*rest)", ("$x.extend($*rest)\nreturn $x",)),
    EditRule("message", "$x.$name", ("$x.$name()",), message="method|function|not called|bound"),
    EditRule("message", "$x.push($*rest)", ("$x.append($*rest)",), message="attribute 'push'"),
    EditRule("message", "$x.iteritems()", ("$x.items()",), message="attribute 'iteritems'"),
    EditRule("message", "$x.has_key($k)", ("$k in $x",), message="attribute 'has_key'"),
    EditRule("message", "$x.length", ("len($x)",), message="attribute 'length'"),
    EditRule("message", "$x.size()", ("len($x)",), message="attribute 'size'"),
    EditRule("message", "$x.len()", ("len($x)",), message="attribute 'len'"),
    EditRule("message", "super.$name($*rest)", ("super().$name($*rest)",), message="type object 'super'"),
    EditRule("message", "$x == $y", ("math.isclose($x, $y)", "abs($x - $y) < 1e-9"), message=r"\d\.\d{12}"),
    EditRule("message", "set($x)", ("set(map(tuple, $x))",), message="unhashable type: 'list'"),
    EditRule("message", "{$x: $y}", ("{tuple($x): $y}",), message="unhashable type"),
    EditRule("message", "return $x", ("return iter($x)",), message="returned non-iterator"),
    EditRule("message", "$f($x)", ("$f($x.decode())",), message="bytes-like|bytes to str|not bytes"),
    EditRule("message", "int($x)", ("int(float($x))", "int($x.replace(',', ''))"), message="base 10"),
    EditRule("message", "float($x)", ("float($x.replace(',', ''))",), message="could not convert string"),
    EditRule("message", "$s.join($x)", ("$s.join(map(str, $x))",), message="expected str instance"),
    EditRule("message", "sum($x)", ("sum($x, [])",), message="unsupported operand type"),
    EditRule("message", "$x", ("await $x",), is_call, message="coroutine"),
    EditRule("message", "$x[$i]", ("list($x)[$i]",), message=LAZY),
    EditRule("message", "len($x)", ("len(list($x))",), message=LAZY),
    EditRule("message", "$x.seconds", ("$x.total_seconds()",)),
    EditRule("message", "reversed($x)", ("''.join(reversed($x))",), message="str|reversed"),
    EditRule("kept_best", "$x = $y", ("$x = max($x, $y)", "$x = min($x, $y)", "$x += $y", "$x |= $y")),
)


def is_mutable_literal(node: ast.AST) -> bool:
    """Tell whether the element of `[element] * n` is a new list, dictionary or set, or such a product."""
    match node:
        case ast.BinOp(left=ast.List(elts=[element])):
            return isinstance(element, ast.List | ast.Dict | ast.Set | ast.ListComp) or (
                isinstance(element, ast.BinOp) and isinstance(element.left, ast.List)
            )
    return False
