"""Mistakes that the rewrite rules and templates repair, each written as `«wrong→right»`."""

# ruff: noqa: E501 - each source is one line

import ast
import re

import pytest

from coder.core.ports import Edit
from coder.core.verdict import Failure
from coder.python.source import PythonSource
from coder.repair.rules import RULES
from coder.repair.site import RewriteSite
from coder.repair.templates import TEMPLATES, rewrites_by_family

REPAIRED = {
    "adapted_statement": [
        (
            "def f(text):\n    lines = []\n    for line in text:\n        lines.append(line)\n"
            "    «→lines.append(text)\n    »return lines\n",
            "",
        ),
        (
            "def f(a, b, c):\n    if c:\n        a.append(c)\n    else:\n        c()\n        c.f()«→\n        b.append(c)»\n",
            "",
        ),
    ],
    "argument_missing": [
        ("f(a«, b→»)\n", ""),
        ("x = a.split(b«→, 1»)\n", ""),
        ("x = sorted(a«→, reverse=True»)\n", ""),
        ('f = open(path«→, encoding="utf-8"»)\n', ""),
        ("def f(x):\n    return max(x«→, default=0»)\n", "ValueError: max() arg is an empty sequence"),
    ],
    "argument_order": [
        ("x = «a, b→b, a»\n", ""),
        ("x = grid[«row, column→column, row»]\n", ""),
        ("def f(d):\n    return {«k: v→v: k» for k, v in d.items()}\n", ""),
    ],
    "arithmetic": [
        ("x = a «-→+» b\n", ""),
        ("total «+→»= 1\n", ""),
    ],
    "attribute": [
        ("x.start = 1\ny = x.«star→start»\n", ""),
        ("class A:\n    def f(self):\n        self.low = self.«high→low»\n", ""),
        ("class A:\n    def f(self, size):\n        return g(«self.→»size)\n", ""),
        ("def f(i):\n    return i.lower if i.«right→left» else i.upper + i.left\n", ""),
        ("def f(x):\n    return x.years < 0 or x.«years→months» < 0\ny = Span(years=1, months=2)\n", ""),
    ],
    "boolean": [
        ("x = «a or b→(a or b)» and c\n", ""),
        ("if a «and b and→or b or» c: pass\n", ""),
        ("def f(x):\n    return x == 1 or «→x == »2\n", ""),
    ],
    "boundary": [
        ("for i in range(n« - 1→»): pass\n", ""),
        ("def f(n):\n    return n * f(n«→ - 1»)\n", "RecursionError: maximum recursion depth exceeded"),
        ("def f(n):\n    return list(range(«→1, »n))\n", ""),
    ],
    "branch": [
        ("x = «a→c» if b else «c→a»\n", ""),
    ],
    "class_attribute": [
        (
            "class A:\n    items = []\n    def __init__(self, n):\n        self.«→items = []\n        self.»n = n\n",
            "",
        ),
        (
            "class A:\n    «→def __init__(self):\n        self.»items = []\n    def add(self, x):\n        self.items.append(x)\n",
            "",
        ),
    ],
    "comparison": [
        ("if a <«→=» b: pass\n", ""),
        ("ok = 0 < a <«→=» n\n", ""),
        ("ok = a  «not  →»in b\n", ""),
        ("def f(s):\n    return s «is→==» 'a'\n", ""),
        ("def f(a):\n    return 0 < a and a <«→=» 9\n", ""),
    ],
    "condition": [
        ("def f(a):\n    if a«→ and not a.c»:\n        a.b()\n    return a.c\n", ""),
        ("def f(a, b):\n    if a.ok and b:\n        b()\n    if «→a.ok or »b > 1:\n        a()\n", ""),
        ("def f(x, seen):\n    if «True→x in seen»:\n        x.pop()\n    else:\n        seen.add(x)\n", ""),
    ],
    "constant": [
        ("x = a[«0→-1»]\n", ""),
        ("x = a[::«→-»2]\n", ""),
        ("x = n * «10→100»\n", ""),
        ("x = f(«None→[]»)\n", ""),
        ("flag = «True→False»\n", ""),
    ],
    "deletion": [
        ("def f(x):\n    «x = x.strip()\n    →»return x\n", ""),
    ],
    "element": [
        ("x = len(rows«→[0]»)\n", ""),
    ],
    "in_place": [
        ("x = y«.reverse()→[::-1]»\n", ""),
        ("def f(x, y):\n    «return →»x.append(y)«→\n    return x»\n", ""),
    ],
    "indentation": [
        ("def f(x):\n    for y in x:\n        y()«\n    →\n        »x()\n", ""),
        ("def f(x):\n    «→y = x\n    »x += 1\n    «y = x\n    →»return y\n", ""),
    ],
    "index_order": [
        ("x = a[«i + 1][j→j][i + 1»]\n", ""),
    ],
    "initial": [
        ("found = «[]→{}»\n", ""),
    ],
    "kept_best": [
        ("total «→+»= x\n", ""),
    ],
    "message": [
        (
            "def f(s):\n    return s.strip«→()»\n",
            "AssertionError: assert <built-in method strip of str object at 0x1> == 'a'",
        ),
        (
            "def f(x):\n    return sum(x«→, []»)\n",
            "TypeError: unsupported operand type(s) for +: 'int' and 'list'",
        ),
        ("def f(x):\n    return «x.len(→len(x»)\n", "AttributeError: 'list' object has no attribute 'len'"),
        (
            "def f(x):\n    return «x.length→len(x)»\n",
            "AttributeError: 'list' object has no attribute 'length'",
        ),
        ("def f(x):\n    return {«x→tuple(x)»: 1}\n", "TypeError: unhashable type: 'list'"),
    ],
    "mutable_default": [
        ("def f(x, seen=«[]):→None):\n    if seen is None:\n        seen = []»\n    return seen\n", ""),
        (
            "import time\ndef f(now=«→None):\n    if now is None:\n        now = »time.time()«):→»\n    return now\n",
            "",
        ),
        (
            "def f(x, seen=«[]):→None):\n    if seen is None:\n        seen = []»\n    seen.append(x)\n    return seen\n",
            "",
        ),
    ],
    "negation": [
        ("x = [a for a in b if «→not »a.ok()]\n", ""),
        ("x = «x or {}→{} if x is None else x»\n", ""),
        ("def f(x, y):\n    return «not →»x in y\n", ""),
        ("if «cache.get(key)→key in cache»: pass\n", ""),
    ],
    "returned": [
        ("def f(x):\n    return «g(x)→x»\n", ""),
        ("def f(x):\n    y = x«→\n    return y»\n", ""),
        ("def f(n):\n    if n > 1:\n        return True«→\n    return False»\n", ""),
    ],
    "shared": [
        ("x = [[0] * a«] * b→ for _ in range(b)]»\n", ""),
        ("def f(x):\n    return «dict.fromkeys(x, [])→{key: [] for key in x}»\n", ""),
    ],
    "similar_function": [
        ("x = «min→max»(a, b)\n", ""),
        ("found = «list→set»()\n", ""),
        ("a.«append→extend»(b)\n", ""),
        ("def f(a):\n    return «int→round»(a)\n", ""),
        ("def f(x, y):\n    x.«extend→append»(y)\n    return x\n", ""),
    ],
    "slice": [
        ("for x in items«→[1:]»: pass\n", ""),
        ("x = text[1:«→-1»]\n", ""),
        ("def f(s):\n    return s[«0→:1»].upper() + s[1:]\n", "IndexError: string index out of range"),
    ],
    "unwrapped": [
        ("x = «sorted(y)→y»\n", ""),
        ("def f(x):\n    yield «→from »g(x)\n", ""),
    ],
    "value_elsewhere": [
        ("def f(a):\n    x = «0→a[x]»\n    while a:\n        x = a[x]\n", ""),
        ("def f(a, n):\n    n = «0→a[n - 1]»\ndef g(a):\n    n = a[n - 1]\n", ""),
    ],
    "variable": [
        ("def f(g, x):\n    return «x→g»(x)\n", ""),
        ("class A:\n def __eq__(self, other):\n  return self.x == «self→other».x\n", ""),
        ("class A:\n    def f(self):\n        self.size = 1\n        return g(self«→.size»)\n", ""),
    ],
    "wraparound": [
        (
            "class A:\n    def f(self):\n        self.at = «→(»self.at + 1«→) % len(self.kept)»\n        return self.kept[self.at]\n",
            "",
        ),
    ],
    "wrapped": [
        ("x = f(«y→str(y)»)\n", ""),
        ("for a, b in c«→.items()»: pass\n", ""),
        ("x = (line«→.strip()» for line in text)\n", ""),
        ("for x in «parts[1:]→reversed(parts[1:])»: pass\n", ""),
        (
            "def f(x, y):\n    return x + «y→[y]»\n",
            'TypeError: can only concatenate list (not "str") to list',
        ),
        (
            "def f(s):\n    return «s→int(s)» > 3\n",
            "TypeError: '>' not supported between instances of 'str' and 'int'",
        ),
        ("def f(x):\n    return «→[»x.command«→]»\n", ""),
    ],
    "lookup": [("x = «d[k]→d.get(k)»\n", "KeyError: 'k'")],
    "rearrangement": [
        ("x = «a - b→b - a»\n", ""),
        ("x = a * b«→ / 100»\n", ""),
        ("x = str(a« + b)→) + b»\n", ""),
    ],
    "result_condition": [("def f(seen, x):\n    return «True→x in seen»\n", "")],
    "copied_statement": [
        (
            "def f(x):\n    x = x.strip()\n    return x\ndef g(x):\n    «→x = x.strip()\n    »return x + 1\n",
            "",
        )
    ],
    "sign": [
        ("def f(x):\n    return «-→»f(-x)\n", ""),
    ],
    "similar_expression": [("def f(a):\n    g(a.first_name)\n    return h(«a.last_nam→a.first_name»)\n", "")],
    "wrapped_elsewhere": [
        ("def f(x):\n    g(quote(x))\n    return h(«x→quote(x)»)\n", ""),
        ("def f(key, a, b):\n    if a:\n        return key(a)\n    x = «b→key(b)»\n    return x\n", ""),
    ],
    "undefined_name": [("«→import math\n»x = math.pi\n", "NameError: name 'math' is not defined")],
    "offset": [("def f(k, n):\n    return g(k«→ - n»)\n", "")],
}
"""Sources with their edits, and the exception of the failing test (`Type: message`), by family."""
LEFT_ALONE = [
    ("shared", "x = [0] * n\n"),
    ("boundary", "f(self)\n"),
    ("negation", "x = a + b\n"),
    ("comparison", "x = a + b\n"),
    ("message", "x = s.strip\n"),
    ("lookup", "x = d[k]\n"),
    ("undefined_name", "x = floor(y)\n"),
]


def split_edits(text: str) -> tuple[str, str]:
    """Return a source before and after its edits."""
    return re.sub("«(.*?)→.*?»", r"\1", text, flags=re.S), re.sub("«.*?→(.*?)»", r"\1", text, flags=re.S)


def rewrite(text: str, *failures: Failure) -> dict[str, list[str]]:
    """Return all texts that each family makes of a source, at any node."""
    source = PythonSource("a.py", text)
    texts: dict[str, list[str]] = {}
    for node in ast.walk(source.tree):
        for family, found in rewrites_by_family(RewriteSite(source, node, failures)):
            edit = Edit(path="a.py", changes=found.changes, line=1, family=family, summary=found.summary)
            texts.setdefault(family, []).append(edit.apply(text))
    return texts


def is_code(text: str, expected: str) -> bool:
    try:
        return ast.dump(ast.parse(text)) == ast.dump(ast.parse(expected))
    except SyntaxError:
        return False


@pytest.mark.parametrize(
    ("family", "text", "exception"),
    [(family, text, exception) for family, rows in REPAIRED.items() for text, exception in rows],
)
def test_repairs_mistake(family: str, text: str, exception: str) -> None:
    before, after = split_edits(text)
    kind, _, message = exception.partition(": ")
    failures = [Failure(type=kind, message=message)] if exception else []
    assert any(is_code(made, after) for made in rewrite(before, *failures)[family])


@pytest.mark.parametrize(
    ("text", "steps"), [("x = a[:n - 1]\n", "n - 1 + 1"), ("x = a[n + 1:n]\n", "n + 1 - 1")]
)
def test_takes_a_step_back_instead_of_adding_another(text: str, steps: str) -> None:
    made = [after for texts in rewrite(text).values() for after in texts]
    assert not any(steps in after for after in made)
    assert any(is_code(after, text.replace(steps[:5], "n")) for after in made)


def test_binds_no_name_twice() -> None:
    made = rewrite("def f(pairs):\n    for _, v in pairs:\n        print(_)\n")["variable"]
    assert any("print(v)" in text for text in made)
    assert not any("for v, v" in text or "for _, _" in text for text in made)


@pytest.mark.parametrize(("family", "text"), LEFT_ALONE)
def test_leaves_other_code_alone(family: str, text: str) -> None:
    assert family not in rewrite(text)


def test_every_family_has_case() -> None:
    families = {rule.family for rule in RULES} | {template.__name__ for template in TEMPLATES}
    assert families - REPAIRED.keys() == set()


def test_comments_in_an_expression_are_kept() -> None:
    text = "x = f(\n    a  # why\n    - b\n)\n"
    made = [new for family in rewrite(text).values() for new in family]
    assert made and all("# why" in new for new in made)


def test_rewrites_nothing_that_stays_the_same() -> None:
    text = "def f(x, items):\n    if x < 1 and items:\n        return items[0] + 1\n    return not x\n"
    assert all(new != text for family in rewrite(text).values() for new in family)
