"""Common Python mistakes, each of which a template repairs; `split_edits` explains the notation."""

import ast

import pytest

from coder.repair.generators import TEMPLATES
from tests.repair.places import failure_of, rewritten, split_edits

WRONG_RESULTS = {
    "kwargs not passed": (
        "def d(f):\n    def inner(*a, **k):\n        return f(*a«→, **k»)\n    return inner\n"
    ),
    "extend str": "def f(x, y):\n    x.«extend→append»(y)\n    return x\n",
    "range 1b": "def f(n):\n    return list(range(«→1, »n))\n",
    "or in": "def f(x):\n    return x == 1 or «→x == »2\n",
    "chained not": "def f(x, y):\n    return «not →»x in y\n",
    "remove in loop2": (
        "def f(x):\n    for a in «x→list(x)»:\n        if a:\n            x.remove(a)\n    return x\n"
    ),
    "sorted str num": "def f(x):\n    return sorted(x«→, key=int»)\n",
    "max key": "def f(d):\n    return max(d«→, key=d.get»)\n",
    "rstrip suffix": "def f(s):\n    return s.«rstrip→removesuffix»('.py')\n",
    "replace count": "def f(s):\n    return s.replace('a', 'b'«→, 1»)\n",
    "ignore case": "import re\ndef f(s):\n    return re.search('a', s«→, re.IGNORECASE»)\n",
    "match to search": "import re\ndef f(s):\n    return re.«match→search»('a', s)\n",
    "greedy": "import re\nP = re.compile(r'<(.*«→?»)>')\n",
    "group": "def f(m):\n    return m.group(«0→1»)\n",
    "exit": "class A:\n    def __exit__(self, a, b, c):\n        return «True→False»\n",
    "timedelta": "def f(d):\n    return d.«seconds→total_seconds()»\n",
    "csv newline": "def f(p):\n    return open(p, 'w'«→, newline=''»)\n",
    "enum start": "def f(x):\n    return {i: a for i, a in enumerate(x«→, 1»)}\n",
    "zip longest": (
        "from itertools import zip_longest\ndef f(x, y):\n    return list(«zip→zip_longest»(x, y))\n"
    ),
    "swap kv": "def f(d):\n    return {«k: v→v: k» for k, v in d.items()}\n",
    "default none mut": (
        "def f(x, seen=«[]):→None):\n    if seen is None:\n        seen = []»\n    seen.append(x)\n"
        "    return seen\n"
    ),
    "time default": (
        "import time\ndef f(now=«→None):\n    if now is None:\n        now = »time.time()«):→»\n"
        "    return now\n"
    ),
    "abs diff": "def f(a, b):\n    return «a - b→abs(a - b)»\n",
    "late binding": "def f():\n    return [lambda«→ i=i»: i for i in range(3)]\n",
    "class attr": (
        "class A:\n    «→def __init__(self):\n        self.»items = []\n    def add(self, x):\n"
        "        self.items.append(x)\n"
    ),
    "=+": "def f(x):\n    n = 0\n    for a in x:\n        n «=+→+=» a\n    return n\n",
    "fromkeys": "def f(x):\n    return «dict.fromkeys(x, [])→{key: [] for key in x}»\n",
    "lower both": "def f(a, b):\n    return a« == b→.lower() == b.lower()»\n",
    "deepcopy": "import copy\ndef f(a):\n    b = copy.«copy→deepcopy»(a)\n    return b\n",
    "escape dot": "import re\nP = re.compile(«'a→r'a\\».b')\n",
    "strip newline": "def f(s):\n    return s.«→strip().»split('\\n')\n",
    "is literal": "def f(s):\n    return s «is→==» 'a'\n",
    "int div": "def f(a, b):\n    return a /«→/» b\n",
    "round": "def f(a):\n    return «int→round»(a)\n",
    "missing else return": "def f(n):\n    if n > 1:\n        return True«→\n    return False»\n",
    "compare chain": "def f(a):\n    return 0 < a and a <«→=» 9\n",
    "reversed join": "def f(s):\n    return «→''.join(»reversed(s)«→)»\n",
    "isinstance two": "def f(x):\n    return isinstance(x, «list→(list, tuple)»)\n",
    "key lambda": "def f(x):\n    return sorted(x, key=lambda a: a[«0→1»])\n",
    "key lower": "def f(x):\n    return sorted(x«→, key=str.lower»)\n",
    "negate key": "def f(x):\n    return sorted(x, key=lambda a: «→-»a[0])\n",
    "strip each": "def f(s):\n    return [a«→.strip()» for a in s.split(',')]\n",
    "enc": "def f(p):\n    return open(p«→, encoding='utf-8'»).read()\n",
    "any all gen": (
        "def f(x):\n    for a in x:\n        if a:\n            return True«\n        else:\n            →\n"
        "    »return False\n"
    ),
    "a class's list for all objects": (
        "class A:\n    items = []\n    def __init__(self, n):\n        self.«→items = []\n"
        "        self.»n = n\n"
    ),
    "a bool is an int": "def f(x):\n    return isinstance(x, int)«→ and not isinstance(x, bool)»\n",
    "compared and not given": "def f(self):\n    self.x =«=→» 1\n",
    "a copy that leaves something out": (
        "class A:\n    def __init__(self, a, b=None):\n        self.a = a\n        self.b = b\n"
        "    def copy(self):\n        return type(self)(self.a«→, b=self.b»)\n"
    ),
    "a field that is not handed on": (
        "@dataclass\nclass A:\n    x: int\n    y: int = 0\nclass B:\n    def __init__(self):\n"
        "        self._y = 1\n    def a(self):\n        return A(1«→, y=self._y»)\n"
    ),
}
EXCEPTIONS = {
    "return inner": (
        "def d(f):\n    def inner(*a):\n        return f(*a)«→\n    return inner»\n",
        "TypeError: 'NoneType' object is not callable",
    ),
    "kwargs not taken": (
        "def d(f):\n    def inner(*a«→, **kwargs»):\n        return f(*a«→, **kwargs»)\n    return inner\n",
        "TypeError: d.<locals>.inner() got an unexpected keyword argument 'x'",
    ),
    "super no self": (
        "class A:\n    def f(self):\n        return super«→()».f()\n",
        "AttributeError: type object 'super' has no attribute 'f'",
    ),
    "len method": (
        "def f(x):\n    return «x.len(→len(x»)\n",
        "AttributeError: 'list' object has no attribute 'len'",
    ),
    "length attr": (
        "def f(x):\n    return «x.length→len(x)»\n",
        "AttributeError: 'list' object has no attribute 'length'",
    ),
    "push": (
        "def f(x, y):\n    x.«push→append»(y)\n    return x\n",
        "AttributeError: 'list' object has no attribute 'push'",
    ),
    "has_key": (
        "def f(d, k):\n    return «d.has_key(k)→k in d»\n",
        "AttributeError: 'dict' object has no attribute 'has_key'",
    ),
    "iteritems": (
        "def f(d):\n    return [k for k, v in d.«iteritems→items»()]\n",
        "AttributeError: 'dict' object has no attribute 'iteritems'",
    ),
    "dict view index": (
        "def f(d):\n    return «d.keys(→list(d.keys()»)[0]\n",
        "TypeError: 'dict_keys' object is not subscriptable",
    ),
    "map index": (
        "def f(x):\n    return «→list(»map(str, x)«→)»[0]\n",
        "TypeError: 'map' object is not subscriptable",
    ),
    "len of gen": (
        "def f(x):\n    return len(«→[»a for a in x«→]»)\n",
        "TypeError: object of type 'generator' has no len()",
    ),
    "len of filter": (
        "def f(x):\n    return len(«→list(»filter(None, x))«→)»\n",
        "TypeError: object of type 'filter' has no len()",
    ),
    "concat list str": (
        "def f(x, y):\n    return x + «y→[y]»\n",
        'TypeError: can only concatenate list (not "str") to list',
    ),
    "concat tuple": (
        "def f(x):\n    return x + (1«→,»)\n",
        'TypeError: can only concatenate tuple (not "int") to tuple',
    ),
    "index missing": (
        "def f(s):\n    return s[«0→:1»].upper() + s[1:]\n",
        "IndexError: string index out of range",
    ),
    "next default": (
        "def f(x):\n    return next«→(»(a for a in x if a)«→, None)»\n",
        "StopIteration: assert 1 == 2",
    ),
    "max default": (
        "def f(x):\n    return max(x«→, default=0»)\n",
        "ValueError: max() arg is an empty sequence",
    ),
    "del index": (
        "def f(x):\n    for i in «→reversed(»range(len(x«→)»)):\n        if x[i]:\n            del x[i]\n",
        "IndexError: list index out of range",
    ),
    "sum start": (
        "def f(x):\n    return sum(x«→, []»)\n",
        "TypeError: unsupported operand type(s) for +: 'int' and 'list'",
    ),
    "split maxsplit": (
        "def f(s):\n    a, b = s.split('='«→, 1»)\n    return a, b\n",
        "ValueError: too many values to unpack (expected 2)",
    ),
    "iter missing": (
        "class A:\n    def __iter__(self):\n        return «→iter(»self.items«→)»\n",
        "TypeError: iter() returned non-iterator of type 'list'",
    ),
    "str returns": (
        "class A:\n    def __str__(self):\n        return «self.x→str(self.x)»\n",
        "TypeError: __str__ returned non-string (type int)",
    ),
    "unhashable key": ("def f(x):\n    return {«x→tuple(x)»: 1}\n", "TypeError: unhashable type: 'list'"),
    "unhashable set": (
        "def f(x):\n    return set(«x→map(tuple, x)»)\n",
        "TypeError: unhashable type: 'list'",
    ),
    "json bytes": (
        "import json\ndef f(b):\n    return json.loads(b«→.decode()»)\n",
        "TypeError: a bytes-like object",
    ),
    "path str": (
        "def f(p):\n    return «p→str(p)» + '.txt'\n",
        "TypeError: unsupported operand type(s) for +: 'PosixPath' and 'str'",
    ),
    "float parse": (
        "def f(s):\n    return int(«s→float(s)»)\n",
        "ValueError: invalid literal for int() with base 10: '1.5'",
    ),
    "comma number": (
        "def f(s):\n    return float(s«→.replace(',', '')»)\n",
        "ValueError: could not convert string to float: '1,000'",
    ),
    "strftime": (
        "def f(d):\n    return d.strftime('%Y-%«M→m»-%d')\n",
        "AssertionError: assert '2020-30-01' == '2020-02-01'",
    ),
    "return exception": (
        "def f(x):\n    if x < 0:\n        «return→raise» ValueError('negative')\n    return x\n",
        "Failed: DID NOT RAISE <class 'ValueError'>",
    ),
    "async for": (
        "async def f(x):\n    «→async »for a in x:\n        g(a)\n",
        "TypeError: 'async_generator' object is not iterable",
    ),
    "async with": (
        "async def f(x):\n    «→async »with x:\n        g(x)\n",
        "TypeError: 'A' object does not support the context manager protocol",
    ),
    "nested comp order": (
        "def f(x):\n    return [a for «a in b for b in x→b in x for a in b»]\n",
        "NameError: name 'b' is not defined",
    ),
    "recursion arg": (
        "def f(n):\n    return n * f(n«→ - 1»)\n",
        "RecursionError: maximum recursion depth exceeded",
    ),
    "visited": (
        "def f(g, n, seen):\n    for m in g[n]:\n        «→if m not in seen:\n            »f(g, m, seen)\n",
        "RecursionError: maximum recursion depth exceeded",
    ),
    "eq of another kind": (
        "class A:\n def __eq__(self, other):\n  «→if not isinstance(other, A):\n   return NotImplemented\n"
        "  »return self.x == other.x\n",
        "AttributeError: 'int' object has no attribute 'x'",
    ),
    "nearly equal": (
        "def f(a, b):\n    return «a == b→abs(a - (b)) < 1e-9»\n",
        "AssertionError: assert 0.30000000000000004 == 0.3",
    ),
    "nonlocal": (
        "def f():\n    n = 0\n    def g():\n        «→nonlocal n\n        »n += 1\n        return n\n"
        "    return g\n",
        "UnboundLocalError: cannot access local variable 'n' where it is not associated with a value",
    ),
    "join gen": (
        "def f(x):\n    return ','.join(«a→str(a)» for a in x)\n",
        "TypeError: sequence item 0: expected str instance, int found",
    ),
    "tuple except": (
        "def f(x):\n    try:\n        g(x)\n    except «→(»ValueError«→, TypeError)»:\n        return 1\n",
        "TypeError: x",
    ),
    "iter dict": (
        "def f(d):\n    for k, v in d«→.items()»:\n        g(k, v)\n",
        "ValueError: too many values to unpack (expected 2)",
    ),
    "mutate dict": (
        "def f(d):\n    for k in «d→list(d)»:\n        if k:\n            del d[k]\n",
        "RuntimeError: dictionary changed size during iteration",
    ),
    "default arg self": (
        "class A:\n    def __init__(self, x):\n        «→self.»x = x\n",
        "AttributeError: 'A' object has no attribute 'x'",
    ),
    "str int compare": (
        "def f(s):\n    return «s→int(s)» > 3\n",
        "TypeError: '>' not supported between instances of 'str' and 'int'",
    ),
    "missing self param": (
        "class A:\n    def f(«→self»):\n        return 1\n",
        "TypeError: A.f() takes 0 positional arguments but 1 was given",
    ),
    "class repr none": (
        "class A:\n    def __repr__(self):\n        «print(self.x)→return self.x»\n",
        "TypeError: __repr__ returned non-string (type NoneType)",
    ),
    "not called": (
        "def f(s):\n    return s.strip«→()»\n",
        "AssertionError: assert <built-in method strip of str object at 0x1> == 'a'",
    ),
    "the last looked at and not taken out": (
        "def f(waiting):\n    while waiting:\n        one = waiting«[-1]→.pop()»\n",
        "TooLong",
    ),
    "a link that is not followed": (
        "def f(node):\n    while node:\n        g(node)«→\n        node = node.next»\n\ndef g(node):\n"
        "    return node.next\n",
        "TooLong",
    ),
    "not counted where the condition does not hold": (
        "def f(n, d):\n    while n > 1:\n        if n % d == 0:\n            n //= d«→\n        else:\n"
        "            d += 1»\n",
        "TooLong",
    ),
}


@pytest.mark.parametrize(
    ("edits", "exception"),
    [*((edits, "AssertionError: assert 1 == 2") for edits in WRONG_RESULTS.values()), *EXCEPTIONS.values()],
    ids=[*WRONG_RESULTS, *EXCEPTIONS],
)
def test_template_repairs_mistake(edits: str, exception: str) -> None:
    wrong, right = split_edits(edits)
    failure = failure_of(exception)
    failure = failure.model_copy(update={"text": failure.message})
    rewrites: set[str] = set()
    for family in TEMPLATES:
        rewrites |= rewritten(family, wrong, failure)
        if right in rewrites:  # as nearly always, and to parse all of them takes most of the time
            return
    assert any(dump(text) == dump(right) for text in rewrites)


def dump(text: str) -> str:
    """Return the tree of a source; empty if it cannot be parsed."""
    try:
        return ast.dump(ast.parse(text))
    except SyntaxError:
        return ""
