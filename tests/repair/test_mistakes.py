"""Common Python mistakes, each of which a template repairs; `split_edits` explains the notation."""

import ast

import pytest

from coder.repair.generators import TEMPLATES
from tests.repair.places import failure_of, rewritten, split_edits

WRONG_RESULTS = {
    "return called inner": "def d(f):\n    def inner(*a):\n        return f(*a)\n    return inner«()→»\n",
    "result not returned in wrapper": (
        "def d(f):\n    def inner(*a):\n        «→return »f(*a)\n    return inner\n"
    ),
    "kwargs not passed": (
        "def d(f):\n    def inner(*a, **k):\n        return f(*a«→, **k»)\n    return inner\n"
    ),
    "extend str": "def f(x, y):\n    x.«extend→append»(y)\n    return x\n",
    "off range start": "def f(n):\n    return list(range(«n→1, n + 1»))\n",
    "range 1": "def f(n):\n    return list(range(1, n«→ + 1»))\n",
    "range 1b": "def f(n):\n    return list(range(«→1, »n))\n",
    "avg": "def f(a, b):\n    return «a + b→(a + b)» / 2\n",
    "or in": "def f(x):\n    return x == 1 or «→x == »2\n",
    "chained not": "def f(x, y):\n    return «not →»x in y\n",
    "swap": "def f(a, b):\n    a« = b\n    b =→, b = b,» a\n    return a, b\n",
    "counter reset": (
        "def f(x):«→\n    n = 0»\n    for a in x:\n        n «= 0\n        n →»+= a\n    return n\n"
    ),
    "return in loop": "def f(x):\n    n = 0\n    for a in x:\n        n += a«\n        →\n    »return n\n",
    "append out of loop": (
        "def f(x):\n    n = []\n    for a in x:\n        b = a + 1«\n    →\n        »n.append(b)\n"
        "    return n\n"
    ),
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
    "eq self": "class A:\n    def __eq__(self, other):\n        return self.x == «self→other».x\n",
    "exit": "class A:\n    def __exit__(self, a, b, c):\n        return «True→False»\n",
    "clamp": "def f(x, lo, hi):\n    return max(«hi, min(lo→lo, min(hi», x))\n",
    "timedelta": "def f(d):\n    return d.«seconds→total_seconds()»\n",
    "csv newline": "def f(p):\n    return open(p, 'w'«→, newline=''»)\n",
    "finally": "def f(x):\n    x.close«→()»\n",
    "await missing": "async def f(x):\n    return «→await »g(x)\n",
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
    "memo": (
        "def f(n, memo):\n    if n in memo:\n        return memo[n]\n    r = n * 2\n    «→memo[n] = r\n"
        "    »return r\n"
    ),
    "late binding": "def f():\n    return [lambda«→ i=i»: i for i in range(3)]\n",
    "elif order": (
        "def f(n):\n    if«→ n % 15 == 0:\n        return 'c'\n    elif» n % 3 == 0:\n        return 'a'\n"
        "    «elif n % 15 == 0:\n        return 'c'\n    →»return n\n"
    ),
    "shared rows": "def f(n, m):\n    return [[0] * m«] * n→ for _ in range(n)]»\n",
    "f prefix": "def f(x):\n    return «→f»'a {x}'\n",
    "class attr": (
        "class A:\n    «→def __init__(self):\n        self.»items = []\n    def add(self, x):\n"
        "        self.items.append(x)\n"
    ),
    "genexp list": "def f(x):\n    y = «(→[»a + 1 for a in x«)→]»\n    return y\n",
    "sort none": "def f(x):\n    y = «x.sort(→sorted(x»)\n    return y\n",
    "return sort": "def f(x):\n    return «x.sort(→sorted(x»)\n",
    "return sort key": "def f(x):\n    return «x.sort(→sorted(x, »key=len)\n",
    "append assigned": "def f(x, y):\n    x« = x→».append(y)\n    return x\n",
    "replace dropped": "def f(s):\n    s«→ = s».replace('a', 'b')\n    return s\n",
    "break": "def f(x):\n    for a in x:\n        if a:\n            «break→continue»\n        g(a)\n",
    "=+": "def f(x):\n    n = 0\n    for a in x:\n        n «=+→+=» a\n    return n\n",
    "implicit concat": "X = ['a', 'b'«→,» 'c', 'd']\n",
    "fromkeys": "def f(x):\n    return «dict.fromkeys(x, [])→{key: [] for key in x}»\n",
    "dedupe": "def f(x):\n    return list(«set→dict.fromkeys»(x))\n",
    "print": "def f(x):\n    «print(x + 1)→return x + 1»\n",
    "lower both": "def f(a, b):\n    return a« == b→.lower() == b.lower()»\n",
    "deepcopy": "import copy\ndef f(a):\n    b = copy.«copy→deepcopy»(a)\n    return b\n",
    "except order": (
        "def f(x):\n    try:\n        g(x)\n    except «→ValueError:\n        return 2\n"
        "    except »Exception:\n        return 1«\n    except ValueError:\n        return 2→»\n"
    ),
    "escape dot": "import re\nP = re.compile(«'a→r'a\\».b')\n",
    "strip newline": "def f(s):\n    return s.«→strip().»split('\\n')\n",
    "is literal": "def f(s):\n    return s «is→==» 'a'\n",
    "falsy zero": "def f(x=None):\n    x = «x or 5→5 if x is None else x»\n    return x\n",
    "if falsy": "def f(x=None):\n    if «not x→x is None»:\n        x = 5\n    return x\n",
    "int div": "def f(a, b):\n    return a /«→/» b\n",
    "round": "def f(a):\n    return «int→round»(a)\n",
    "recursion return": "def f(n):\n    if n:\n        «→return »f(n - 1)\n    return n\n",
    "missing else return": "def f(n):\n    if n > 1:\n        return True«→\n    return False»\n",
    "compare chain": "def f(a):\n    return 0 < a and a <«→=» 9\n",
    "reversed join": "def f(s):\n    return «→''.join(»reversed(s)«→)»\n",
    "missing yield from": "def f(x):\n    for a in x:\n        yield «→from »f(a)\n",
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
    "empty parts": "def f(s):\n    return «→[part for part in »s.split(',')«→ if part]»\n",
    "a bool is an int": "def f(x):\n    return isinstance(x, int)«→ and not isinstance(x, bool)»\n",
    "calculated and not kept": "def f(x):\n    x +«→=» 1\n    return x\n",
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
    "star missing": (
        "def f(g, a):\n    return g(«→*»a)\n",
        "TypeError: g() missing 1 required positional argument: 'y'",
    ),
    "starstar missing": (
        "def f(g, a):\n    return g(«→**»a)\n",
        "TypeError: g() missing 1 required positional argument: 'y'",
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
    "enter": (
        "class A:\n    def __enter__(self):\n        self.x = 1«→\n        return self»\n",
        "AttributeError: 'NoneType' object has no attribute 'x'",
    ),
    "return self": (
        "class A:\n    def add(self, x):\n        self.x.append(x)«→\n        return self»\n",
        "AttributeError: 'NoneType' object has no attribute 'add'",
    ),
    "property recursion": (
        "class A:\n    @property\n    def x(self):\n        return self.«x→_x»\n",
        "RecursionError: maximum recursion depth exceeded",
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
    "raise missing": (
        "def f(x):\n    if x < 0:\n        «→raise »ValueError('negative')\n    return x\n",
        "Failed: DID NOT RAISE <class 'ValueError'>",
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
    "base case": (
        "def f(n):\n    «→if n == 0:\n        return 1\n    »return n * f(n - 1)\n",
        "RecursionError: maximum recursion depth exceeded",
    ),
    "while inc": (
        "def f(n):\n    i = 0\n    while i < n:\n        g(i)«→\n        i += 1»\n",
        "Timeout: stopped",
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
    "global": (
        "C = 0\ndef f():\n    «→global C\n    »C += 1\n    return C\n",
        "UnboundLocalError: cannot access local variable 'C' where it is not associated with a value",
    ),
    "nonlocal": (
        "def f():\n    n = 0\n    def g():\n        «→nonlocal n\n        »n += 1\n        return n\n"
        "    return g\n",
        "UnboundLocalError: cannot access local variable 'n' where it is not associated with a value",
    ),
    "join ints": (
        "def f(x):\n    return ','.join(«x→map(str, x)»)\n",
        "TypeError: sequence item 0: expected str instance, int found",
    ),
    "join gen": (
        "def f(x):\n    return ','.join(«a→str(a)» for a in x)\n",
        "TypeError: sequence item 0: expected str instance, int found",
    ),
    "in keys guard": ("def f(d, k):\n    d[k] «+=→= d.get(k, 0) +» 1\n", "KeyError: 'a'"),
    "setdefault": ("def f(d, k, v):\n    d«[k]→.setdefault(k, [])».append(v)\n", "KeyError: 'a'"),
    "enumerate": (
        "def f(x):\n    for i in «x→range(len(x))»:\n        g(i, x[i])\n",
        "TypeError: list indices must be integers or slices, not str",
    ),
    "range len": (
        "def f(n):\n    for i in «n→range(n)»:\n        g(i)\n",
        "TypeError: 'int' object is not iterable",
    ),
    "reverse string": (
        "def f(s):\n    return s«.reverse()→[::-1]»\n",
        "AttributeError: 'str' object has no attribute 'reverse'",
    ),
    "len 0": (
        "def f(x):\n    «→if not x:\n        return 0\n    »return sum(x) / len(x)\n",
        "ZeroDivisionError: division by zero",
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
    "staticmethod": (
        "class A:\n    «→@staticmethod\n    »def f(x):\n        return x\n",
        "TypeError: takes 1 positional argument but 2 were given",
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
    "looked at and not taken out": (
        "def f(waiting):\n    while waiting:\n        one = waiting«[0]→.pop(0)»\n",
        "TooLong",
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
    "where one has been is gone to again": (
        "def f(g, waiting):\n    seen = set()\n    for one in g:\n        «→if one not in seen:\n"
        "            »waiting.append(one)\n",
        "TooLong",
    ),
    "a property called": (
        "class A:\n    @property\n    def x(self):\n        return 1\n    def y(self):\n"
        "        return self.x«()→»\n",
        "TypeError: 'int' object is not callable",
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
    rewrites = {
        ast.dump(ast.parse(text))
        for family in TEMPLATES
        for text in rewritten(family, wrong, failure)
        if parses(text)
    }
    assert ast.dump(ast.parse(right)) in rewrites


def parses(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True
