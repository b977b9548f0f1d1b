"""Common Python mistakes, each of which a template repairs."""

import ast

import pytest

from coder.core.verdict import Failure
from coder.repair.generators import TEMPLATES
from tests.repair.places import rewritten

FIELDS = (
    "@dataclass\nclass A:\n    x: int\n    y: int = 0\nclass B:\n    def __init__(self):\n"
    "        self._y = 1\n"
)
KEEPING = "class A:\n    def __init__(self, a, b=None):\n        self.a = a\n        self.b = b\n"
MISTAKES = {
    "return inner": (
        "def d(f):\n    def inner(*a):\n        return f(*a)\n",
        "def d(f):\n    def inner(*a):\n        return f(*a)\n    return inner\n",
        "TypeError",
        "'NoneType' object is not callable",
    ),
    "return called inner": (
        "def d(f):\n    def inner(*a):\n        return f(*a)\n    return inner()\n",
        "def d(f):\n    def inner(*a):\n        return f(*a)\n    return inner\n",
        "AssertionError",
        "assert 1 == 2",
    ),
    "result not returned in wrapper": (
        "def d(f):\n    def inner(*a):\n        f(*a)\n    return inner\n",
        "def d(f):\n    def inner(*a):\n        return f(*a)\n    return inner\n",
        "AssertionError",
        "assert 1 == 2",
    ),
    "kwargs not passed": (
        "def d(f):\n    def inner(*a, **k):\n        return f(*a)\n    return inner\n",
        "def d(f):\n    def inner(*a, **k):\n        return f(*a, **k)\n    return inner\n",
        "AssertionError",
        "assert 1 == 2",
    ),
    "kwargs not taken": (
        "def d(f):\n    def inner(*a):\n        return f(*a)\n    return inner\n",
        "def d(f):\n    def inner(*a, **kwargs):\n        return f(*a, **kwargs)\n    return inner\n",
        "TypeError",
        "d.<locals>.inner() got an unexpected keyword argument 'x'",
    ),
    "star missing": (
        "def f(g, a):\n    return g(a)\n",
        "def f(g, a):\n    return g(*a)\n",
        "TypeError",
        "g() missing 1 required positional argument: 'y'",
    ),
    "starstar missing": (
        "def f(g, a):\n    return g(a)\n",
        "def f(g, a):\n    return g(**a)\n",
        "TypeError",
        "g() missing 1 required positional argument: 'y'",
    ),
    "super no self": (
        "class A:\n    def f(self):\n        return super.f()\n",
        "class A:\n    def f(self):\n        return super().f()\n",
        "AttributeError",
        "type object 'super' has no attribute 'f'",
    ),
    "len method": (
        "def f(x):\n    return x.len()\n",
        "def f(x):\n    return len(x)\n",
        "AttributeError",
        "'list' object has no attribute 'len'",
    ),
    "length attr": (
        "def f(x):\n    return x.length\n",
        "def f(x):\n    return len(x)\n",
        "AttributeError",
        "'list' object has no attribute 'length'",
    ),
    "push": (
        "def f(x, y):\n    x.push(y)\n    return x\n",
        "def f(x, y):\n    x.append(y)\n    return x\n",
        "AttributeError",
        "'list' object has no attribute 'push'",
    ),
    "has_key": (
        "def f(d, k):\n    return d.has_key(k)\n",
        "def f(d, k):\n    return k in d\n",
        "AttributeError",
        "'dict' object has no attribute 'has_key'",
    ),
    "iteritems": (
        "def f(d):\n    return [k for k, v in d.iteritems()]\n",
        "def f(d):\n    return [k for k, v in d.items()]\n",
        "AttributeError",
        "'dict' object has no attribute 'iteritems'",
    ),
    "dict view index": (
        "def f(d):\n    return d.keys()[0]\n",
        "def f(d):\n    return list(d.keys())[0]\n",
        "TypeError",
        "'dict_keys' object is not subscriptable",
    ),
    "map index": (
        "def f(x):\n    return map(str, x)[0]\n",
        "def f(x):\n    return list(map(str, x))[0]\n",
        "TypeError",
        "'map' object is not subscriptable",
    ),
    "len of gen": (
        "def f(x):\n    return len(a for a in x)\n",
        "def f(x):\n    return len([a for a in x])\n",
        "TypeError",
        "object of type 'generator' has no len()",
    ),
    "len of filter": (
        "def f(x):\n    return len(filter(None, x))\n",
        "def f(x):\n    return len(list(filter(None, x)))\n",
        "TypeError",
        "object of type 'filter' has no len()",
    ),
    "concat list str": (
        "def f(x, y):\n    return x + y\n",
        "def f(x, y):\n    return x + [y]\n",
        "TypeError",
        'can only concatenate list (not "str") to list',
    ),
    "concat tuple": (
        "def f(x):\n    return x + (1)\n",
        "def f(x):\n    return x + (1,)\n",
        "TypeError",
        'can only concatenate tuple (not "int") to tuple',
    ),
    "extend str": (
        "def f(x, y):\n    x.extend(y)\n    return x\n",
        "def f(x, y):\n    x.append(y)\n    return x\n",
        "AssertionError",
        "assert 1 == 2",
    ),
    "index missing": (
        "def f(s):\n    return s[0].upper() + s[1:]\n",
        "def f(s):\n    return s[:1].upper() + s[1:]\n",
        "IndexError",
        "string index out of range",
    ),
    "next default": (
        "def f(x):\n    return next(a for a in x if a)\n",
        "def f(x):\n    return next((a for a in x if a), None)\n",
        "StopIteration",
        "assert 1 == 2",
    ),
    "max default": (
        "def f(x):\n    return max(x)\n",
        "def f(x):\n    return max(x, default=0)\n",
        "ValueError",
        "max() arg is an empty sequence",
    ),
    "off range start": (
        "def f(n):\n    return list(range(n))\n",
        "def f(n):\n    return list(range(1, n + 1))\n",
        "AssertionError",
        "assert 1 == 2",
    ),
    "range 1": (
        "def f(n):\n    return list(range(1, n))\n",
        "def f(n):\n    return list(range(1, n + 1))\n",
        "AssertionError",
        "assert 1 == 2",
    ),
    "range 1b": (
        "def f(n):\n    return list(range(n))\n",
        "def f(n):\n    return list(range(1, n))\n",
        "AssertionError",
        "assert 1 == 2",
    ),
    "avg": (
        "def f(a, b):\n    return a + b / 2\n",
        "def f(a, b):\n    return (a + b) / 2\n",
        "AssertionError",
        "assert 1 == 2",
    ),
    "or in": (
        "def f(x):\n    return x == 1 or 2\n",
        "def f(x):\n    return x == 1 or x == 2\n",
        "AssertionError",
        "assert 1 == 2",
    ),
    "chained not": (
        "def f(x, y):\n    return not x in y\n",
        "def f(x, y):\n    return x in y\n",
        "AssertionError",
        "assert 1 == 2",
    ),
    "swap": (
        "def f(a, b):\n    a = b\n    b = a\n    return a, b\n",
        "def f(a, b):\n    a, b = b, a\n    return a, b\n",
        "AssertionError",
        "assert 1 == 2",
    ),
    "counter reset": (
        "def f(x):\n    for a in x:\n        n = 0\n        n += a\n    return n\n",
        "def f(x):\n    n = 0\n    for a in x:\n        n += a\n    return n\n",
        "AssertionError",
        "assert 1 == 2",
    ),
    "return in loop": (
        "def f(x):\n    n = 0\n    for a in x:\n        n += a\n        return n\n",
        "def f(x):\n    n = 0\n    for a in x:\n        n += a\n    return n\n",
        "AssertionError",
        "assert 1 == 2",
    ),
    "append out of loop": (
        "def f(x):\n    n = []\n    for a in x:\n        b = a + 1\n    n.append(b)\n    return n\n",
        "def f(x):\n    n = []\n    for a in x:\n        b = a + 1\n        n.append(b)\n    return n\n",
        "AssertionError",
        "assert 1 == 2",
    ),
    "remove in loop2": (
        "def f(x):\n    for a in x:\n        if a:\n            x.remove(a)\n    return x\n",
        "def f(x):\n    for a in list(x):\n        if a:\n            x.remove(a)\n    return x\n",
        "AssertionError",
        "assert 1 == 2",
    ),
    "del index": (
        "def f(x):\n    for i in range(len(x)):\n        if x[i]:\n            del x[i]\n",
        "def f(x):\n    for i in reversed(range(len(x))):\n        if x[i]:\n            del x[i]\n",
        "IndexError",
        "list index out of range",
    ),
    "sorted str num": (
        "def f(x):\n    return sorted(x)\n",
        "def f(x):\n    return sorted(x, key=int)\n",
        "AssertionError",
        "assert 1 == 2",
    ),
    "max key": (
        "def f(d):\n    return max(d)\n",
        "def f(d):\n    return max(d, key=d.get)\n",
        "AssertionError",
        "assert 1 == 2",
    ),
    "sum start": (
        "def f(x):\n    return sum(x)\n",
        "def f(x):\n    return sum(x, [])\n",
        "TypeError",
        "unsupported operand type(s) for +: 'int' and 'list'",
    ),
    "rstrip suffix": (
        "def f(s):\n    return s.rstrip('.py')\n",
        "def f(s):\n    return s.removesuffix('.py')\n",
        "AssertionError",
        "assert 1 == 2",
    ),
    "replace count": (
        "def f(s):\n    return s.replace('a', 'b')\n",
        "def f(s):\n    return s.replace('a', 'b', 1)\n",
        "AssertionError",
        "assert 1 == 2",
    ),
    "split maxsplit": (
        "def f(s):\n    a, b = s.split('=')\n    return a, b\n",
        "def f(s):\n    a, b = s.split('=', 1)\n    return a, b\n",
        "ValueError",
        "too many values to unpack (expected 2)",
    ),
    "ignore case": (
        "import re\ndef f(s):\n    return re.search('a', s)\n",
        "import re\ndef f(s):\n    return re.search('a', s, re.IGNORECASE)\n",
        "AssertionError",
        "assert 1 == 2",
    ),
    "match to search": (
        "import re\ndef f(s):\n    return re.match('a', s)\n",
        "import re\ndef f(s):\n    return re.search('a', s)\n",
        "AssertionError",
        "assert 1 == 2",
    ),
    "greedy": (
        "import re\nP = re.compile(r'<(.*)>')\n",
        "import re\nP = re.compile(r'<(.*?)>')\n",
        "AssertionError",
        "assert 1 == 2",
    ),
    "group": (
        "def f(m):\n    return m.group(0)\n",
        "def f(m):\n    return m.group(1)\n",
        "AssertionError",
        "assert 1 == 2",
    ),
    "eq self": (
        "class A:\n    def __eq__(self, other):\n        return self.x == self.x\n",
        "class A:\n    def __eq__(self, other):\n        return self.x == other.x\n",
        "AssertionError",
        "assert 1 == 2",
    ),
    "iter missing": (
        "class A:\n    def __iter__(self):\n        return self.items\n",
        "class A:\n    def __iter__(self):\n        return iter(self.items)\n",
        "TypeError",
        "iter() returned non-iterator of type 'list'",
    ),
    "str returns": (
        "class A:\n    def __str__(self):\n        return self.x\n",
        "class A:\n    def __str__(self):\n        return str(self.x)\n",
        "TypeError",
        "__str__ returned non-string (type int)",
    ),
    "exit": (
        "class A:\n    def __exit__(self, a, b, c):\n        return True\n",
        "class A:\n    def __exit__(self, a, b, c):\n        return False\n",
        "AssertionError",
        "assert 1 == 2",
    ),
    "enter": (
        "class A:\n    def __enter__(self):\n        self.x = 1\n",
        "class A:\n    def __enter__(self):\n        self.x = 1\n        return self\n",
        "AttributeError",
        "'NoneType' object has no attribute 'x'",
    ),
    "return self": (
        "class A:\n    def add(self, x):\n        self.x.append(x)\n",
        "class A:\n    def add(self, x):\n        self.x.append(x)\n        return self\n",
        "AttributeError",
        "'NoneType' object has no attribute 'add'",
    ),
    "property recursion": (
        "class A:\n    @property\n    def x(self):\n        return self.x\n",
        "class A:\n    @property\n    def x(self):\n        return self._x\n",
        "RecursionError",
        "maximum recursion depth exceeded",
    ),
    "unhashable key": (
        "def f(x):\n    return {x: 1}\n",
        "def f(x):\n    return {tuple(x): 1}\n",
        "TypeError",
        "unhashable type: 'list'",
    ),
    "unhashable set": (
        "def f(x):\n    return set(x)\n",
        "def f(x):\n    return set(map(tuple, x))\n",
        "TypeError",
        "unhashable type: 'list'",
    ),
    "json bytes": (
        "import json\ndef f(b):\n    return json.loads(b)\n",
        "import json\ndef f(b):\n    return json.loads(b.decode())\n",
        "TypeError",
        "a bytes-like object",
    ),
    "path str": (
        "def f(p):\n    return p + '.txt'\n",
        "def f(p):\n    return str(p) + '.txt'\n",
        "TypeError",
        "unsupported operand type(s) for +: 'PosixPath' and 'str'",
    ),
    "float parse": (
        "def f(s):\n    return int(s)\n",
        "def f(s):\n    return int(float(s))\n",
        "ValueError",
        "invalid literal for int() with base 10: '1.5'",
    ),
    "comma number": (
        "def f(s):\n    return float(s)\n",
        "def f(s):\n    return float(s.replace(',', ''))\n",
        "ValueError",
        "could not convert string to float: '1,000'",
    ),
    "clamp": (
        "def f(x, lo, hi):\n    return max(hi, min(lo, x))\n",
        "def f(x, lo, hi):\n    return max(lo, min(hi, x))\n",
        "AssertionError",
        "assert 1 == 2",
    ),
    "timedelta": (
        "def f(d):\n    return d.seconds\n",
        "def f(d):\n    return d.total_seconds()\n",
        "AssertionError",
        "assert 1 == 2",
    ),
    "strftime": (
        "def f(d):\n    return d.strftime('%Y-%M-%d')\n",
        "def f(d):\n    return d.strftime('%Y-%m-%d')\n",
        "AssertionError",
        "assert '2020-30-01' == '2020-02-01'",
    ),
    "csv newline": (
        "def f(p):\n    return open(p, 'w')\n",
        "def f(p):\n    return open(p, 'w', newline='')\n",
        "AssertionError",
        "assert 1 == 2",
    ),
    "finally": (
        "def f(x):\n    x.close\n",
        "def f(x):\n    x.close()\n",
        "AssertionError",
        "assert 1 == 2",
    ),
    "raise missing": (
        "def f(x):\n    if x < 0:\n        ValueError('negative')\n    return x\n",
        "def f(x):\n    if x < 0:\n        raise ValueError('negative')\n    return x\n",
        "Failed",
        "DID NOT RAISE <class 'ValueError'>",
    ),
    "return exception": (
        "def f(x):\n    if x < 0:\n        return ValueError('negative')\n    return x\n",
        "def f(x):\n    if x < 0:\n        raise ValueError('negative')\n    return x\n",
        "Failed",
        "DID NOT RAISE <class 'ValueError'>",
    ),
    "await missing": (
        "async def f(x):\n    return g(x)\n",
        "async def f(x):\n    return await g(x)\n",
        "AssertionError",
        "assert 1 == 2",
    ),
    "async for": (
        "async def f(x):\n    for a in x:\n        g(a)\n",
        "async def f(x):\n    async for a in x:\n        g(a)\n",
        "TypeError",
        "'async_generator' object is not iterable",
    ),
    "async with": (
        "async def f(x):\n    with x:\n        g(x)\n",
        "async def f(x):\n    async with x:\n        g(x)\n",
        "TypeError",
        "'A' object does not support the context manager protocol",
    ),
    "enum start": (
        "def f(x):\n    return {i: a for i, a in enumerate(x)}\n",
        "def f(x):\n    return {i: a for i, a in enumerate(x, 1)}\n",
        "AssertionError",
        "assert 1 == 2",
    ),
    "zip longest": (
        "from itertools import zip_longest\ndef f(x, y):\n    return list(zip(x, y))\n",
        "from itertools import zip_longest\ndef f(x, y):\n    return list(zip_longest(x, y))\n",
        "AssertionError",
        "assert 1 == 2",
    ),
    "swap kv": (
        "def f(d):\n    return {k: v for k, v in d.items()}\n",
        "def f(d):\n    return {v: k for k, v in d.items()}\n",
        "AssertionError",
        "assert 1 == 2",
    ),
    "nested comp order": (
        "def f(x):\n    return [a for a in b for b in x]\n",
        "def f(x):\n    return [a for b in x for a in b]\n",
        "NameError",
        "name 'b' is not defined",
    ),
    "default none mut": (
        "def f(x, seen=[]):\n    seen.append(x)\n    return seen\n",
        "def f(x, seen=None):\n    if seen is None:\n        seen = []\n    seen.append(x)\n"
        "    return seen\n",
        "AssertionError",
        "assert 1 == 2",
    ),
    "time default": (
        "import time\ndef f(now=time.time()):\n    return now\n",
        "import time\ndef f(now=None):\n    if now is None:\n        now = time.time()\n    return now\n",
        "AssertionError",
        "assert 1 == 2",
    ),
    "abs diff": (
        "def f(a, b):\n    return a - b\n",
        "def f(a, b):\n    return abs(a - b)\n",
        "AssertionError",
        "assert 1 == 2",
    ),
    "recursion arg": (
        "def f(n):\n    return n * f(n)\n",
        "def f(n):\n    return n * f(n - 1)\n",
        "RecursionError",
        "maximum recursion depth exceeded",
    ),
    "base case": (
        "def f(n):\n    return n * f(n - 1)\n",
        "def f(n):\n    if n == 0:\n        return 1\n    return n * f(n - 1)\n",
        "RecursionError",
        "maximum recursion depth exceeded",
    ),
    "while inc": (
        "def f(n):\n    i = 0\n    while i < n:\n        g(i)\n",
        "def f(n):\n    i = 0\n    while i < n:\n        g(i)\n        i += 1\n",
        "Timeout",
        "stopped",
    ),
    "visited": (
        "def f(g, n, seen):\n    for m in g[n]:\n        f(g, m, seen)\n",
        "def f(g, n, seen):\n    for m in g[n]:\n        if m not in seen:\n            f(g, m, seen)\n",
        "RecursionError",
        "maximum recursion depth exceeded",
    ),
    "memo": (
        "def f(n, memo):\n    if n in memo:\n        return memo[n]\n    r = n * 2\n    return r\n",
        "def f(n, memo):\n    if n in memo:\n        return memo[n]\n    r = n * 2\n"
        "    memo[n] = r\n    return r\n",
        "AssertionError",
        "assert 1 == 2",
    ),
    "eq of another kind": (
        "class A:\n def __eq__(self, other):\n  return self.x == other.x\n",
        "class A:\n def __eq__(self, other):\n  if not isinstance(other, A):\n"
        "   return NotImplemented\n  return self.x == other.x\n",
        "AttributeError",
        "'int' object has no attribute 'x'",
    ),
    "nearly equal": (
        "def f(a, b):\n    return a == b\n",
        "def f(a, b):\n    return abs(a - (b)) < 1e-9\n",
        "AssertionError",
        "assert 0.30000000000000004 == 0.3",
    ),
    "late binding": (
        "def f():\n    return [lambda: i for i in range(3)]\n",
        "def f():\n    return [lambda i=i: i for i in range(3)]\n",
        "AssertionError",
        "assert 1 == 2",
    ),
    "elif order": (
        "def f(n):\n    if n % 3 == 0:\n        return 'a'\n    elif n % 15 == 0:\n"
        "        return 'c'\n    return n\n",
        "def f(n):\n    if n % 15 == 0:\n        return 'c'\n    elif n % 3 == 0:\n"
        "        return 'a'\n    return n\n",
        "AssertionError",
        "assert 1 == 2",
    ),
    "shared rows": (
        "def f(n, m):\n    return [[0] * m] * n\n",
        "def f(n, m):\n    return [[0] * m for _ in range(n)]\n",
        "AssertionError",
        "assert 1 == 2",
    ),
    "f prefix": (
        "def f(x):\n    return 'a {x}'\n",
        "def f(x):\n    return f'a {x}'\n",
        "AssertionError",
        "assert 1 == 2",
    ),
    "class attr": (
        "class A:\n    items = []\n    def add(self, x):\n        self.items.append(x)\n",
        "class A:\n    def __init__(self):\n        self.items = []\n    def add(self, x):\n"
        "        self.items.append(x)\n",
        "AssertionError",
        "assert 1 == 2",
    ),
    "global": (
        "C = 0\ndef f():\n    C += 1\n    return C\n",
        "C = 0\ndef f():\n    global C\n    C += 1\n    return C\n",
        "UnboundLocalError",
        "cannot access local variable 'C' where it is not associated with a value",
    ),
    "nonlocal": (
        "def f():\n    n = 0\n    def g():\n        n += 1\n        return n\n    return g\n",
        "def f():\n    n = 0\n    def g():\n        nonlocal n\n        n += 1\n"
        "        return n\n    return g\n",
        "UnboundLocalError",
        "cannot access local variable 'n' where it is not associated with a value",
    ),
    "genexp list": (
        "def f(x):\n    y = (a + 1 for a in x)\n    return y\n",
        "def f(x):\n    y = [a + 1 for a in x]\n    return y\n",
        "AssertionError",
        "assert 1 == 2",
    ),
    "join ints": (
        "def f(x):\n    return ','.join(x)\n",
        "def f(x):\n    return ','.join(map(str, x))\n",
        "TypeError",
        "sequence item 0: expected str instance, int found",
    ),
    "join gen": (
        "def f(x):\n    return ','.join(a for a in x)\n",
        "def f(x):\n    return ','.join(str(a) for a in x)\n",
        "TypeError",
        "sequence item 0: expected str instance, int found",
    ),
    "sort none": (
        "def f(x):\n    y = x.sort()\n    return y\n",
        "def f(x):\n    y = sorted(x)\n    return y\n",
        "AssertionError",
        "assert 1 == 2",
    ),
    "return sort": (
        "def f(x):\n    return x.sort()\n",
        "def f(x):\n    return sorted(x)\n",
        "AssertionError",
        "assert 1 == 2",
    ),
    "return sort key": (
        "def f(x):\n    return x.sort(key=len)\n",
        "def f(x):\n    return sorted(x, key=len)\n",
        "AssertionError",
        "assert 1 == 2",
    ),
    "append assigned": (
        "def f(x, y):\n    x = x.append(y)\n    return x\n",
        "def f(x, y):\n    x.append(y)\n    return x\n",
        "AssertionError",
        "assert 1 == 2",
    ),
    "replace dropped": (
        "def f(s):\n    s.replace('a', 'b')\n    return s\n",
        "def f(s):\n    s = s.replace('a', 'b')\n    return s\n",
        "AssertionError",
        "assert 1 == 2",
    ),
    "break": (
        "def f(x):\n    for a in x:\n        if a:\n            break\n        g(a)\n",
        "def f(x):\n    for a in x:\n        if a:\n            continue\n        g(a)\n",
        "AssertionError",
        "assert 1 == 2",
    ),
    "=+": (
        "def f(x):\n    n = 0\n    for a in x:\n        n =+ a\n    return n\n",
        "def f(x):\n    n = 0\n    for a in x:\n        n += a\n    return n\n",
        "AssertionError",
        "assert 1 == 2",
    ),
    "implicit concat": (
        "X = ['a', 'b' 'c', 'd']\n",
        "X = ['a', 'b', 'c', 'd']\n",
        "AssertionError",
        "assert 1 == 2",
    ),
    "fromkeys": (
        "def f(x):\n    return dict.fromkeys(x, [])\n",
        "def f(x):\n    return {key: [] for key in x}\n",
        "AssertionError",
        "assert 1 == 2",
    ),
    "dedupe": (
        "def f(x):\n    return list(set(x))\n",
        "def f(x):\n    return list(dict.fromkeys(x))\n",
        "AssertionError",
        "assert 1 == 2",
    ),
    "print": (
        "def f(x):\n    print(x + 1)\n",
        "def f(x):\n    return x + 1\n",
        "AssertionError",
        "assert 1 == 2",
    ),
    "lower both": (
        "def f(a, b):\n    return a == b\n",
        "def f(a, b):\n    return a.lower() == b.lower()\n",
        "AssertionError",
        "assert 1 == 2",
    ),
    "deepcopy": (
        "import copy\ndef f(a):\n    b = copy.copy(a)\n    return b\n",
        "import copy\ndef f(a):\n    b = copy.deepcopy(a)\n    return b\n",
        "AssertionError",
        "assert 1 == 2",
    ),
    "except order": (
        "def f(x):\n    try:\n        g(x)\n    except Exception:\n        return 1\n"
        "    except ValueError:\n        return 2\n",
        "def f(x):\n    try:\n        g(x)\n    except ValueError:\n        return 2\n"
        "    except Exception:\n        return 1\n",
        "AssertionError",
        "assert 1 == 2",
    ),
    "escape dot": (
        "import re\nP = re.compile('a.b')\n",
        "import re\nP = re.compile(r'a\\.b')\n",
        "AssertionError",
        "assert 1 == 2",
    ),
    "strip newline": (
        "def f(s):\n    return s.split('\\n')\n",
        "def f(s):\n    return s.strip().split('\\n')\n",
        "AssertionError",
        "assert 1 == 2",
    ),
    "is literal": (
        "def f(s):\n    return s is 'a'\n",
        "def f(s):\n    return s == 'a'\n",
        "AssertionError",
        "assert 1 == 2",
    ),
    "falsy zero": (
        "def f(x=None):\n    x = x or 5\n    return x\n",
        "def f(x=None):\n    x = 5 if x is None else x\n    return x\n",
        "AssertionError",
        "assert 1 == 2",
    ),
    "if falsy": (
        "def f(x=None):\n    if not x:\n        x = 5\n    return x\n",
        "def f(x=None):\n    if x is None:\n        x = 5\n    return x\n",
        "AssertionError",
        "assert 1 == 2",
    ),
    "int div": (
        "def f(a, b):\n    return a / b\n",
        "def f(a, b):\n    return a // b\n",
        "AssertionError",
        "assert 1 == 2",
    ),
    "round": (
        "def f(a):\n    return int(a)\n",
        "def f(a):\n    return round(a)\n",
        "AssertionError",
        "assert 1 == 2",
    ),
    "in keys guard": (
        "def f(d, k):\n    d[k] += 1\n",
        "def f(d, k):\n    d[k] = d.get(k, 0) + 1\n",
        "KeyError",
        "'a'",
    ),
    "setdefault": (
        "def f(d, k, v):\n    d[k].append(v)\n",
        "def f(d, k, v):\n    d.setdefault(k, []).append(v)\n",
        "KeyError",
        "'a'",
    ),
    "recursion return": (
        "def f(n):\n    if n:\n        f(n - 1)\n    return n\n",
        "def f(n):\n    if n:\n        return f(n - 1)\n    return n\n",
        "AssertionError",
        "assert 1 == 2",
    ),
    "missing else return": (
        "def f(n):\n    if n > 1:\n        return True\n",
        "def f(n):\n    if n > 1:\n        return True\n    return False\n",
        "AssertionError",
        "assert 1 == 2",
    ),
    "enumerate": (
        "def f(x):\n    for i in x:\n        g(i, x[i])\n",
        "def f(x):\n    for i in range(len(x)):\n        g(i, x[i])\n",
        "TypeError",
        "list indices must be integers or slices, not str",
    ),
    "range len": (
        "def f(n):\n    for i in n:\n        g(i)\n",
        "def f(n):\n    for i in range(n):\n        g(i)\n",
        "TypeError",
        "'int' object is not iterable",
    ),
    "compare chain": (
        "def f(a):\n    return 0 < a and a < 9\n",
        "def f(a):\n    return 0 < a and a <= 9\n",
        "AssertionError",
        "assert 1 == 2",
    ),
    "reverse string": (
        "def f(s):\n    return s.reverse()\n",
        "def f(s):\n    return s[::-1]\n",
        "AttributeError",
        "'str' object has no attribute 'reverse'",
    ),
    "reversed join": (
        "def f(s):\n    return reversed(s)\n",
        "def f(s):\n    return ''.join(reversed(s))\n",
        "AssertionError",
        "assert 1 == 2",
    ),
    "len 0": (
        "def f(x):\n    return sum(x) / len(x)\n",
        "def f(x):\n    if not x:\n        return 0\n    return sum(x) / len(x)\n",
        "ZeroDivisionError",
        "division by zero",
    ),
    "missing yield from": (
        "def f(x):\n    for a in x:\n        yield f(a)\n",
        "def f(x):\n    for a in x:\n        yield from f(a)\n",
        "AssertionError",
        "assert 1 == 2",
    ),
    "tuple except": (
        "def f(x):\n    try:\n        g(x)\n    except ValueError:\n        return 1\n",
        "def f(x):\n    try:\n        g(x)\n    except (ValueError, TypeError):\n        return 1\n",
        "TypeError",
        "x",
    ),
    "iter dict": (
        "def f(d):\n    for k, v in d:\n        g(k, v)\n",
        "def f(d):\n    for k, v in d.items():\n        g(k, v)\n",
        "ValueError",
        "too many values to unpack (expected 2)",
    ),
    "mutate dict": (
        "def f(d):\n    for k in d:\n        if k:\n            del d[k]\n",
        "def f(d):\n    for k in list(d):\n        if k:\n            del d[k]\n",
        "RuntimeError",
        "dictionary changed size during iteration",
    ),
    "default arg self": (
        "class A:\n    def __init__(self, x):\n        x = x\n",
        "class A:\n    def __init__(self, x):\n        self.x = x\n",
        "AttributeError",
        "'A' object has no attribute 'x'",
    ),
    "str int compare": (
        "def f(s):\n    return s > 3\n",
        "def f(s):\n    return int(s) > 3\n",
        "TypeError",
        "'>' not supported between instances of 'str' and 'int'",
    ),
    "isinstance two": (
        "def f(x):\n    return isinstance(x, list)\n",
        "def f(x):\n    return isinstance(x, (list, tuple))\n",
        "AssertionError",
        "assert 1 == 2",
    ),
    "key lambda": (
        "def f(x):\n    return sorted(x, key=lambda a: a[0])\n",
        "def f(x):\n    return sorted(x, key=lambda a: a[1])\n",
        "AssertionError",
        "assert 1 == 2",
    ),
    "key lower": (
        "def f(x):\n    return sorted(x)\n",
        "def f(x):\n    return sorted(x, key=str.lower)\n",
        "AssertionError",
        "assert 1 == 2",
    ),
    "negate key": (
        "def f(x):\n    return sorted(x, key=lambda a: a[0])\n",
        "def f(x):\n    return sorted(x, key=lambda a: -a[0])\n",
        "AssertionError",
        "assert 1 == 2",
    ),
    "strip each": (
        "def f(s):\n    return [a for a in s.split(',')]\n",
        "def f(s):\n    return [a.strip() for a in s.split(',')]\n",
        "AssertionError",
        "assert 1 == 2",
    ),
    "enc": (
        "def f(p):\n    return open(p).read()\n",
        "def f(p):\n    return open(p, encoding='utf-8').read()\n",
        "AssertionError",
        "assert 1 == 2",
    ),
    "any all gen": (
        "def f(x):\n    for a in x:\n        if a:\n            return True\n        else:\n"
        "            return False\n",
        "def f(x):\n    for a in x:\n        if a:\n            return True\n    return False\n",
        "AssertionError",
        "assert 1 == 2",
    ),
    "staticmethod": (
        "class A:\n    def f(x):\n        return x\n",
        "class A:\n    @staticmethod\n    def f(x):\n        return x\n",
        "TypeError",
        "takes 1 positional argument but 2 were given",
    ),
    "missing self param": (
        "class A:\n    def f():\n        return 1\n",
        "class A:\n    def f(self):\n        return 1\n",
        "TypeError",
        "A.f() takes 0 positional arguments but 1 was given",
    ),
    "class repr none": (
        "class A:\n    def __repr__(self):\n        print(self.x)\n",
        "class A:\n    def __repr__(self):\n        return self.x\n",
        "TypeError",
        "__repr__ returned non-string (type NoneType)",
    ),
    "a class's list for all objects": (
        "class A:\n    items = []\n    def __init__(self, n):\n        self.n = n\n",
        "class A:\n    items = []\n    def __init__(self, n):\n        self.items = []\n        self.n = n\n",
        "AssertionError",
        "assert 1 == 2",
    ),
    "empty parts": (
        "def f(s):\n    return s.split(',')\n",
        "def f(s):\n    return [part for part in s.split(',') if part]\n",
        "AssertionError",
        "assert 1 == 2",
    ),
    "a bool is an int": (
        "def f(x):\n    return isinstance(x, int)\n",
        "def f(x):\n    return isinstance(x, int) and not isinstance(x, bool)\n",
        "AssertionError",
        "assert 1 == 2",
    ),
    "not called": (
        "def f(s):\n    return s.strip\n",
        "def f(s):\n    return s.strip()\n",
        "AssertionError",
        "assert <built-in method strip of str object at 0x1> == 'a'",
    ),
    "calculated and not kept": (
        "def f(x):\n    x + 1\n    return x\n",
        "def f(x):\n    x += 1\n    return x\n",
        "AssertionError",
        "",
    ),
    "compared and not given": (
        "def f(self):\n    self.x == 1\n",
        "def f(self):\n    self.x = 1\n",
        "AssertionError",
        "",
    ),
    "looked at and not taken out": (
        "def f(waiting):\n    while waiting:\n        one = waiting[0]\n",
        "def f(waiting):\n    while waiting:\n        one = waiting.pop(0)\n",
        "TooLong",
        "",
    ),
    "the last looked at and not taken out": (
        "def f(waiting):\n    while waiting:\n        one = waiting[-1]\n",
        "def f(waiting):\n    while waiting:\n        one = waiting.pop()\n",
        "TooLong",
        "",
    ),
    "a link that is not followed": (
        "def f(node):\n    while node:\n        g(node)\n\ndef g(node):\n    return node.next\n",
        "def f(node):\n    while node:\n        g(node)\n        node = node.next\n\n"
        "def g(node):\n    return node.next\n",
        "TooLong",
        "",
    ),
    "not counted where the condition does not hold": (
        "def f(n, d):\n    while n > 1:\n        if n % d == 0:\n            n //= d\n",
        "def f(n, d):\n    while n > 1:\n        if n % d == 0:\n            n //= d\n"
        "        else:\n            d += 1\n",
        "TooLong",
        "",
    ),
    "where one has been is gone to again": (
        "def f(g, waiting):\n    seen = set()\n    for one in g:\n        waiting.append(one)\n",
        "def f(g, waiting):\n    seen = set()\n    for one in g:\n"
        "        if one not in seen:\n            waiting.append(one)\n",
        "TooLong",
        "",
    ),
    "a copy that leaves something out": (
        f"{KEEPING}    def copy(self):\n        return type(self)(self.a)\n",
        f"{KEEPING}    def copy(self):\n        return type(self)(self.a, b=self.b)\n",
        "AssertionError",
        "",
    ),
    "a field that is not handed on": (
        f"{FIELDS}    def a(self):\n        return A(1)\n",
        f"{FIELDS}    def a(self):\n        return A(1, y=self._y)\n",
        "AssertionError",
        "",
    ),
    "a property called": (
        "class A:\n    @property\n    def x(self):\n        return 1\n    def y(self):\n"
        "        return self.x()\n",
        "class A:\n    @property\n    def x(self):\n        return 1\n    def y(self):\n"
        "        return self.x\n",
        "TypeError",
        "'int' object is not callable",
    ),
}


@pytest.mark.parametrize(("wrong", "right", "type_", "message"), MISTAKES.values(), ids=MISTAKES.keys())
def test_template_repairs_mistake(wrong: str, right: str, type_: str, message: str) -> None:
    failure = Failure(type=type_, message=message, text=message)
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
