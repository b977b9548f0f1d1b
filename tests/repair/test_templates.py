"""Each template at a place that it repairs and at one that it leaves alone.

`split_edits` explains the notation of the cases.
"""

import ast
import re

import pytest

from coder.core.verdict import Failure, Frame
from coder.python.source import PythonSource
from coder.repair.generators import TEMPLATES
from coder.repair.generators.site import RewriteSite
from tests.repair.places import failure_of, rewritten, split_edits

REPAIRED = {
    "variable": [
        "def f(g, x):\n    return «x→g»(x)\n",
        "class A:\n    def f(self, size):\n        return g(«self.→»size)\n",
    ],
    "kept": ["x +«→=» 1\n"],
    "string": ["x = '«→,»'.join(y)\n", "x = y.split('«/→.»')\n", "x = 'a-b«→ »'\n"],
    "grouping": [
        "x = «a - 32→(a - 32)» * 5 / 9\n",
        "x = str(a« + b)→) + b»\n",
        "x = «(a + b) * c→a + (b * c)»\n",
        "x = «a or b→(a or b)» and c\n",
    ],
    "arithmetic": [
        "x = «a // b→-(-a // b)»\n",
        "x = a * b«→ / 100»\n",
        "x = a «-→+» b\n",
        "x = «a - b→b - a»\n",
        "total «-→+»= 1  # down\n",
        "total «+→»= 1\n",
        "x = «→int(»(a + b) /«/ 7→ 7)»\n",
    ],
    "begun_again": ["«→n = 0\n»for a in b:\n    n «= 0\n    n →»+= a\n"],
    "exchanged": ["x[i]« = x[j]\n→, »x[j] = x[«→j], x[»i]\n"],
    "against_itself": [
        "class A:\n def __eq__(self, other):\n  return self.x == «self→other».x\n",
        "class A:\n @property\n def x(self):\n  return self.«x→_x»\n",
    ],
    "clamped": [
        "y = max(«high, min(low→low, min(high», x))\n",
        "y = «min(low, max→max(low, min»(high, x))\n",
    ],
    "base_case": [
        "def f(n, memo):\n    if n in memo:\n        return memo[n]\n    r = n * 2\n    «→memo[n] = r\n"
        "    »return r\n"
    ],
    "pattern": [
        "import re\nx = re.match(«'a→r'a\\».b', y)\n",
        "import re\nx = re.match('\\t«→\\\\».b', y)\n",
        "import re\nx = rf'({A}{WS}«+→*»{B})'\n",
        "import re\nx = rf'{A}[0-9]{{«→1,»2}}'\n",
        "x = re.match('[0-9]+(px)«→?»', y)\n",
        "HOUR = r'\\d{2}:«→?»\\d{2}'\n",
        "HOUR = r'\\d{«→1,»2}:\\d{2}'\n",
        "import re\nPARTS = {'f': '[0-9]{«→1,»6}'}\n",
        "import re\nx = '%s%s«+→*»' % (y, z)\n",
        "x = re.sub(r'«→\\».py$', '', y)\n",
    ],
    "branch_order": [
        "if«→ c:\n    d()\nelif» a:\n    b()\n«elif c:\n    d()\n→»",
        "try:\n    a«→()\nexcept D:\n    e»()\nexcept B:\n    c()\n«except D:\n    e()\n→»",
    ],
    "bound_late": [
        "x = [lambda y«→, i=i»: y + i for i in z]\n",
        "for i in x:\n    def f(«→i=i»):\n        return i\n",
    ],
    "outer_name": ["N = 0\ndef f():\n    «→global N\n    »N = 1\n"],
    "sifted": ["x = [a for a in b«→ if a»]\n", "x =«→ [part.strip() for part in» a.split(',')«→]»\n"],
    "in_place": [
        "x = f(«y.sort(→sorted(y, »key=k))\n",
        "x = y«.reverse()→[::-1]»\n",
        "def f(x, y):\n    «return →»x.append(y)«→\n    return x»\n",
    ],
    "iterated": [
        "x = «(→[»a for a in b«)→]»\n",
        "for a in «set→dict.fromkeys»(b): pass\n",
        "for a, b in «c→enumerate(c)»: pass\n",
    ],
    "shared": [
        "x = [[0] * a«] * b→ for _ in range(b)]»\n",
        "class A(B):\n «→def __init__(self, *args, **kwargs):\n     super().__init__(*args, **kwargs)\n"
        "     self.»x = []\n y = 1\n",
    ],
    "separated": ["x = ['a'«→,» 'b']\n"],
    "calling": [
        "def f(a=1): pass\nx = f«→()»\n",
        "class A:\n    @property\n    def x(self): pass\n    def y(self):\n        return self.x«()→»\n",
    ],
    "wrapped": [
        "x = y[: «self.n→abs(self.n)»]\n",
        "x = y.«→lstrip().»startswith('#')\n",
        "def f(x):\n    return «→[»x.command«→]»\n",
        "x = {'a': «y→str(y)»}\n",
        "x = getattr(f, 'name', '')«→ or ''»\n",
        "x = f(«y→str(y)»)\n",
        "x = f(y, «'left'→('left',)»)\n",
        "x = y in ('left'«→,»)\n",
        "x = y«→.upper()» == 'AS'\n",
        "for a, b in c«→.items()»: pass\n",
        "def f(x):\n    return «x.match→bool(x.match)»\n",
    ],
    "quoting": ["x = {«field→'field'»: value}\n"],
    "named_value": [
        "class A:\n def f(self):\n  return self.low\nclass B(A):\n def g(self, x):\n"
        "  return max(«0→self.low», x)\n",
        "def f(a, sep=' '):\n    return «' '→sep».join(a)\n",
    ],
    "decorated": [
        "class A:\n    @property\n    def x(self): pass\n    «→@property\n    »def y(self): pass\n",
        "import functools\ndef f(g):\n    «→@functools.wraps(g)\n    »def h(x):\n        return g(x)\n"
        "    return h\n",
    ],
    "undecorated": ["«@cache\n→»def f(x): pass\n"],
    "inserted": [
        "def f(x, y):\n    k = y['k']\n    if x.a:\n        k.append(f(x))\n    elif x.b:\n"
        "        «pass→k.append(x['k'])»\n",
        "class A:\n    def __init__(self):\n        self.seen = {}\n    def f(self, name, kind):\n"
        "        «pass→self.seen[name] = kind»\n        return self.seen[name]\n",
        "def f(x, seen):\n    if x and x not in seen:\n        «pass→seen.append(x)»\n    return seen\n",
        "def f(x):\n    «pass→return x»\n",
        "class A:\n    def f(self, size):\n        self.«→size = size\n        self.»x = 1\n",
        "def f(x):\n    for y in x:\n        if y:\n            «pass→continue»\n",
        "class A:\n    @property\n    def x(self):\n        return self._x\n    @x.setter\n"
        "    def x(self, value):\n        check(value)\n        «pass→self._x = value»\n",
        "def f(a_size, size):\n    if size:\n        found_size = size\n    else:\n"
        "        «pass→found_size = a_size»\n    return found_size\n",
    ],
    "constant": [
        "x = y is «True→None»\n",
        "flag = «True→False»\n",
        "x = n * «10→100»\n",
        "x = f(«None→[]»)\n",
    ],
    "option": [
        "f = lru_cache(maxsize=9«→, typed=True»)(g)\n",
        "x = sorted(a«→, reverse=True»)\n",
        "x = a.split(b«→, 1»)\n",
        "def f(cache, key):\n    cache.pop(key«→, None»)\n",
    ],
    "unconditional": [
        "def f(x, seen):\n    if «True→x in seen»:\n        x.pop()\n    else:\n        seen.add(x)\n",
        "def f(seen, key, value):\n    if «True→key not in seen»:\n        seen[key] = value\n",
        "def f(x):\n    if «True→isinstance(x, list)»:\n        for y in x:\n            g(y)\n",
        "class A:\n    def __init__(self, x):\n        self.on = x\n    def f(self):\n"
        "        if «True→self.on»:\n            g()\n",
        "class A:\n    def f(self, x):\n        if «True→x != self.size»:\n            return self.size\n",
        "def f(x, y):\n    if x == 3: return y\n    return «True→y != 3»\n",
        "def f(a, b):\n    if «True→not a and not b»:\n        return a\n",
        "def f(a):\n    if «True→a < 0»:\n        a = abs(a)\n",
        "def f(a):\n    seen = «True→not seen»\n",
        "def f(a):\n    if «True→len(a) != 20»:\n        raise ValueError(a)\n    return a\n",
    ],
    "copied": [
        "TOP_SIZE = 2\nTOP_SIZES = 4\ndef f(n):\n    n += «→TOP_SIZES\n    n += »TOP_SIZE\n    return n\n",
        "def f(x, y):\n    if x in m.FG_ALL:\n        y.up(fg=m.FG_ALL[x])\n    elif x in m.BG_ALL:\n"
        "        «pass→y.up(bg=m.BG_ALL[x])»\n",
        "def f(x):\n    n = n + x[0]\n    «→n = n + x[1]\n    »g(n)\n",
        "class A:\n    def up(self):\n        «pass→self.n += 1»\n    def down(self):\n        self.n -= 1\n",
        "def f(a):\n    if not a:\n        raise KeyError\n    a()\ndef g(b):\n    «→if not b:\n"
        "        raise KeyError\n    »b()\n",
        "def f(a, b):\n    if b[0]:\n        «pass→g(b[0], h(b[1]))»\n    for k, v in a:\n"
        "        g(k, h(v))\n",
        "def major(x):\n    raise TypeError('major is fixed')\ndef minor(x):\n"
        "    «pass→raise TypeError('minor is fixed')»\n",
        "class A:\n    def __init__(self, a, b):\n        self.a = a or self.same\n"
        "        «pass→self.b = b or self.same»\n",
        "ed_start = re.compile('a')\nrcs_ed_start = re.compile('b')\ndef ed(hunk):\n"
        "    split(hunk, ed_start)\n    found = ed_start.match(hunk[0])\n    return found\n"
        "def rcs_ed(hunk):\n    split(hunk, rcs_ed_start)\n"
        "    «pass→found = rcs_ed_start.match(hunk[0])»\n    return found\n",
        "def f(s1, s2):\n    s1 = s1.strip()\n    «pass→s2 = s2.strip()»\n",
    ],
    "uncalled": [
        "class A:\n    def _check(self, x): ...\n    def f(self, x):\n        y = x\n"
        "        «→self._check(x)\n        »return y\n",
        "def f(n):\n    def inner(k=1, n=2):\n        yield n\n    «→yield from inner(n=n)\n    »g()\n",
    ],
    "flag": [
        "F_C = 4\nf(F_A | F_B«→ | F_C»)\n",
        "f(F_A« | F_B→»)\n",
        "x = f(re.I«→ | re.M»)\ny = f(re.M | re.S)\n",
    ],
    "kind": [
        "def __getitem__(s, i):\n    return isinstance(i, «int→(int, slice)»)\n",
        "x = isinstance(y, «ast.Load→(ast.Load, ast.Store)»)\nast.Store\n",
        "x = isinstance(y, «list→(list, tuple)»)\n",
        "x = isinstance(y, (list, set, Odd«→, frozenset»))\n",
        "x = isinstance(y, «(bool, int)→bool»)\n",
    ],
    "comparison": ["if a <«→=» b: pass\n", "ok = a  «not  →»in b\n", "ok = 0 < a <«→=» n\n"],
    "boolean": ["if a «and b and→or b or» c: pass\n"],
    "negation": [
        "x = [a for a in b if «→not »a.ok()]\n",
        "x = «x or {}→{} if x is None else x»\n",
        "if «cache.get(key)→key in cache»: pass\n",
        "if «not cache.get(key)→key not in cache»: pass\n",
    ],
    "boundary": ["for i in range(n« - 1→»): pass\n"],
    "initial": ["found = «[]→{}»\n", "found = «list→set»()\n"],
    "attribute": [
        "class A:\n    def f(self):\n        self.low = self.«high→low»\n",
        "x.start = 1\ny = x.«star→start»\n",
        "class A:\n    def f(self):\n        self.size = 1\n        return g(self«→.size»)\n",
    ],
    "key": ["a = {'colour': 1}\nb = a['«color→colour»']\n"],
    "neighbour": [
        "x = «min→max»(a, b)\n",
        "a.«append→extend»(b)\n",
        "def to_grams(x): ...\ndef to_gram(x): ...\ny = «to_gram→to_grams»(1)\n",
        "def told(target, value, scope): ...\ndef f(target, v, scope):\n"
        "    return «scope[g]→told»(target, v, scope)\n",
    ],
    "index_order": ["x = a[«i + 1][j→j][i + 1»]\n", "x = grid[«row, column→column, row»]\n"],
    "element": ["x = len(rows«→[0]»)\n"],
    "given_elsewhere": ["def f(a):\n    x = «0→a[x]»\n    while a:\n        x = a[x]\n"],
    "given_by_sibling": ["def f(a, n):\n    n = «0→a[n - 1]»\ndef g(a):\n    n = a[n - 1]\n"],
    "kept_best": ["x = «min(a, b)→b»\n"],
    "wraparound": [
        "class A:\n    def f(self):\n        self.at = «→(»self.at + 1«→) % len(self.kept)»\n"
        "        return self.kept[self.at]\n"
    ],
    "step": [
        "def f(a):\n    y = []\n    for x in a:\n        «pass→y.append(x)»\n",
        "def f(a):\n    n = 0\n    while a:\n        a = a[1:]«→\n        n += 1»\n    return n\n",
        "def f(a, b):\n    if a: «pass→a = b»\n",
    ],
    "argument_order": ["x = «a, b→b, a»\n"],
    "argument_missing": [
        "f(a«, b→»)\n",
        "class A:\n    def __init__(self, x, depth=1): ...\ndef f(x, depth):\n"
        "    return A(x«→, depth=depth») if depth else x\n",
        "def f(x, strict=False):\n    return g(x«→, strict=strict»)\n",
    ],
    "slicing": ["x = a[«0→-1»]\n", "x = a[::«→-»2]\n"],
    "slice_missing": ["for x in items«→[1:]»: pass\n"],
    "missing_return": ["def f(x):\n    y = x«→\n    return y»\n"],
    "returned_value": ["def f(x):\n    return «g(x)→x»\n"],
    "inserted_guard": [
        "class A:\n    def f(self):\n        «→if not self.all():\n            return False\n"
        "        »for x in self.all():\n            x()\n"
    ],
    "default_value": [
        "def f(x=None):\n    '''Doc.'''\n    «→if x is None:\n        x = []\n    »return len(x)\n"
    ],
    "condition": ["def f(a):\n    if a«→ and not a.c»:\n        a.b()\n    return a.c\n"],
    "dropped_guard": ["for x in y:\n    if x:\n        «break→continue»\n"],
    "awaiting": ["async def f():\n    return «→await »g()\n"],
    "yielding": ["def f(x):\n    yield «→from »g(x)\n"],
    "super_call": [
        "class A(B):\n    def __init__(self, x):\n        «→super().__init__(x)\n        »self.x = x\n"
    ],
    "statement_order": ["def f(x):\n    «→y = x\n    »x += 1\n    «y = x\n    →»return y\n"],
    "indentation": [
        "def f(x):\n    for y in x:\n        y()«\n    →\n        »x()\n",
        "def f(x):\n    if x:«\n        y = 1→»\n        z = 2\n    else:\n        z = 3\n    «→y = 1\n"
        "    »return y, z\n",
    ],
    "deletion": ["def f(x):\n    «x = x.strip()\n    →»return x\n"],
    "exception_type": ["raise «ValueError→TypeError»('no')\n"],
    "branch": ["x = «a→c» if b else «c→a»\n", "«if→while» a:\n    b()\n"],
    "target": ["total «→+»= x\n", "text«→ = text».strip()\n"],
    "other_condition": [
        "def f(a, b):\n    if a.ok and b:\n        b()\n    if «→a.ok or »b > 1:\n        a()\n"
    ],
    "own_class": ["class A:\n    def f(self):\n        return «A→type(self)»(1)\n"],
    "unwrapped": ["x = «sorted(y)→y»\n", "echo(«'%s=%s' % (key, value)→value»)\n", "x = y«,→»\n"],
    "converted_elsewhere": [
        "def f(at):\n    if at > 1:\n        return str(at)\n"
        "    raise Late(at=«at→str(at) if at is not None else None»)\n"
    ],
    "similar": ["x = load(path, 1)\ny = load(path«→, 1»)\n"],
    "argument_added": [
        "x = g(a, deep=True)\ny = g(b«→, deep=True»)\n",
        "class A:\n    def f(self):\n        self.size = 1\n"
        "        return B(name=self.name«→, size=self.size»)\n",
    ],
    "mutable_default": [
        "def f(x, seen=«[]):→None):\n    if seen is None:\n        seen = []»\n    return seen\n"
    ],
    "placeholder": [
        "x = '%«d→s» of %s' % (a, b)\n",
        "x = f'{a:.«1f→2f»}'\n",
        "def f(a, b):\n    return (\n        «→f»'{a} is'\n        \"no \" «→f»'{b.name!r}'\n"
        "        '{c}, {a} {}'\n    )\n",
    ],
    "opening": ["f = open(path, «'w'→\"a\"»)\n", 'f = open(path«→, encoding="utf-8"»)\n'],
    "enlisted": ["x = y in '«uxn→Uuxn»'\n", "x = y % 100 in (11, 12«→, 13»)\n"],
    "enclosed": ["def f(x):\n    with x:\n        g()\ndef h(x):\n    «→with x:\n        »k()\n"],
}
REPAIRED_WITH_FAILURE = {
    "advanced": [("while x:\n    y = x«[0]→.pop(0)»\n", "TooLong: the test did not end")],
    "vocabulary": [
        ("x = «y.length→len(y)»\n", "AttributeError: 'list' object has no attribute 'length'"),
        ("x.«push→append»(y)\n", "AttributeError: 'list' object has no attribute 'push'"),
    ],
    "meant_as": [
        ("x = «y.keys(→list(y.keys()»)[0]\n", "TypeError: 'dict_keys' object is not subscriptable"),
        ("x = len(«→[»a for a in b«→]»)\n", "TypeError: object of type 'generator' has no len()"),
        ("x = a + «b→[b]»\n", 'TypeError: can only concatenate list (not "str") to list'),
    ],
    "base_case": [("def f(n):\n  «→if n <= 0:\n      return 1\n  »return n\n", "RecursionError: maximum")],
    "lookup": [
        ("x[a] «+=→= x.get(a, 0) +» 1\n", "KeyError: 'a'"),
        ("x«[a]→.setdefault(a, [])».append(b)\n", "KeyError: 'a'"),
        ("x = a«[k]→.get(k, 0)»\n", "KeyError: 'k'"),
    ],
    "iterated": [
        ("x = ','.join(«y→map(str, y)»)\n", "TypeError: sequence item 0: expected str instance, int found"),
        ("for a in «n→range(n)»: pass\n", "TypeError: 'int' object is not iterable"),
    ],
    "calling": [("x = y.size«()→»\n", "TypeError: 'int' object is not callable")],
    "inserted": [
        (
            "class A:\n    def __init__(self, x):\n        self.x = x\n        self.seen«→ = {}\n"
            "        self.seen»[x] = x\n",
            "AttributeError: 'A' object has no attribute 'seen'",
        ),
        (
            "class A:\n    def __init__(self):\n        self._begin()\n    def _begin(self):\n"
            "        «pass→self.__n = itertools.count()»\n    def f(self):\n        return next(self.__n)\n",
            "AttributeError: 'A' object has no attribute '_A__n'",
        ),
        (
            "def f(token):\n    held = token['attrs']\n    «→start = held.get(\"start\", 1)\n"
            "    »return str(start)\n",
            "NameError: name 'start' is not defined",
        ),
        (
            "def f(x):\n    «→seen = ''\n    »if x:\n        seen = x[0]\n"
            "    return seen == 'a' or 'b' in seen\n",
            "UnboundLocalError: local variable 'seen' referenced before assignment",
        ),
        (
            "def f(x):\n    lengths = sizes(x)\n    «→minlen = min(lengths)\n    »return cut(x, minlen)\n",
            "NameError: name 'minlen' is not defined",
        ),
        (
            "def f(g, x):\n    given = x\n    «→answer = g(**given)\n    »return done(answer)\n",
            "NameError: name 'answer' is not defined",
        ),
    ],
    "signature": [
        (
            "def f(x, width=1): ...\nf(1, «wdth→width»=2)\n",
            "TypeError: f() got an unexpected keyword argument 'wdth'",
        ),
        (
            "def f(x«→, deep=None»):\n    return x\n",
            "TypeError: f() got an unexpected keyword argument 'deep'",
        ),
        (
            "class A:\n    def f(«→self, »x):\n        return x\n",
            "TypeError: A.f() takes 1 positional argument but 2 were given",
        ),
        (
            "def f(x, y«→=None»):\n    return x\n",
            "TypeError: f() missing 1 required positional argument: 'y'",
        ),
    ],
    "argument_added": [
        (
            "def f(x, y):\n    return g(«→y, »x)\n",
            "TypeError: g() missing 1 required positional argument: 'b'",
        )
    ],
    "placeholder": [("x = f'Hello«,→» {name}'\n", "AssertionError: assert 'Hello, Ada' == 'Hello Ada'")],
    "undefined_name": [
        (
            "def f(cuont):\n    return cuont\ndef g(count):\n    return «cuont→count»\n",
            "NameError: name 'cuont' is not defined",
        ),
        (
            "from typing import Any«→, Optional»\ndef f(x: Optional[int]) -> Any:\n    return x\n",
            "NameError: name 'Optional' is not defined",
        ),
        (
            "«→from functools import cache\n»import os\n@cache\ndef f():\n    return os\n",
            "NameError: name 'cache' is not defined",
        ),
        (
            "try:\n    import sentinel\nexcept ImportError:\n    MISSING = object()\n"
            "def f(x=«MISING, y=MISING→MISSING, y=MISSING»):\n    return x\n",
            "NameError: name 'MISING' is not defined",
        ),
        ("'''Doc.'''\n«→import math\n»x = math.pi\n", "NameError: name 'math' is not defined"),
        ("x = «long(1)\ny = long→int(1)\ny = int»(2)\n", "NameError: name 'long' is not defined"),
    ],
    "moved": [
        (
            "«→import collections.abc\n»import collections\ndef f(x):\n"
            "    return isinstance(x, collections.«→abc.»Mapping)\n",
            "AttributeError: module 'collections' has no attribute 'Mapping'",
        ),
        (
            "import time\nnow = time.«clock→perf_counter»\n",
            "AttributeError: module 'time' has no attribute 'clock'",
        ),
        (
            "«→from collections.abc import Mapping\n»from collections import «Mapping, →»deque\n",
            "ImportError: cannot import name 'Mapping' from 'collections' (/lib/collections/__init__.py)",
        ),
        (
            "«→from collections.abc import Mapping, Set\n»from collections import (  # kinds\n"
            "    «Mapping,\n    deque,\n    Set→deque»,\n)\n",
            "ImportError: cannot import name 'Mapping' from 'collections' (/lib/collections/__init__.py)",
        ),
        (
            "«→izip = zip\n»from itertools import chain«, izip→»\n",
            "ImportError: cannot import name 'izip' from 'itertools' (unknown location)",
        ),
        (
            "from «fractions→math» import gcd as divisor\n",
            "ImportError: cannot import name 'gcd' from 'fractions' (/lib/fractions.py)",
        ),
    ],
    "factory": [
        (
            "from dataclasses import dataclass«→, field»\n@dataclass\nclass A:\n"
            "    x: list = «[]→field(default_factory=list)»\n",
            "ValueError: mutable default <class 'list'> for field x is not allowed: use default_factory",
        ),
        (
            "import dataclasses\n@dataclasses.dataclass\nclass A:\n"
            "    x: dict = «{'a': 1}→dataclasses.field(default_factory=lambda: {'a': 1})»\n",
            "ValueError: mutable default <class 'dict'> for field x is not allowed: use default_factory",
        ),
    ],
    "opening": [
        (
            'x = open(y«→, encoding="utf-8", errors="ignore"»)\n',
            "UnicodeDecodeError: 'utf-8' codec can't decode byte 0x80 in position 0",
        )
    ],
    "enlisted": [
        ("x = y in {'first', 'second'«→, 'third'»}\n", "AssertionError: third is not kept"),
        ("x = ('check', '«→popen', '»run')\n", "AssertionError: assert 'popen()' == 'run()'"),
        ("x = y in {404, «→409, »503}\n", "AssertionError: 409 is not retried"),
        ("x = y[-1] «== 's'→in ('s', 'x')»\n", "AssertionError: assert 'boxs' == 'boxes'"),
        (
            "unit = 'minutes'\nx = unit in ('days', 'hours'«→, 'minutes'»)\n",
            "AssertionError: no unit day dais dates hour hose house horse hoes ours of days or hours "
            "or minutes",
        ),
        ("x = y «== 'a b'→in ('a b', 'c d')»\n", "AssertionError: no 'c d' there"),
        ("x = y «!= 'a b'→not in ('a b', 'c d')»\n", "AssertionError: no 'c d' there"),
        (
            "WORDS = {'KEY': word, 'SET': word, 'ON': other«→, 'VIEW': word»}\n",
            "AssertionError: assert VIEW is a word",
        ),
        (
            "import datetime\nTIMES = (int, datetime.date«→, datetime.time»)\n",
            "AssertionError: assert f(datetime.time(10, 11)) == 1",
        ),
        ("TYPES = {'int': int, 'float': float«→, 'str': str»}\n", "KeyError: 'str'"),
    ],
    "inserted_guard": [
        (
            "def f(a):\n    if a[0] == '#':\n        «→if len(a) < 2:\n            return None\n"
            "        »b = a[1]\n",
            "IndexError: string index out of range",
        ),
        (
            "def f(given):\n    «→if not hasattr(given, '__len__'):\n        return False\n"
            "    »x = len(given)\n",
            "TypeError: object of type 'int' has no len()",
        ),
    ],
    "condition": [
        (
            "def f(given):\n    if isinstance(given, list)«→ or hasattr(given, 'filename')»: pass\n",
            "AttributeError: 'X' object has no attribute 'filename'",
        )
    ],
    "wrapped": [
        ("x = 'no %s' % «y→(y,)»\n", "TypeError: not all arguments converted during string formatting"),
        ("x = inflate(y)«→.decode()»\n", "TypeError: a bytes-like object is required, not 'str'"),
        ("x = f(y«→.encode()»)\n", "TypeError: a bytes-like object is required, not 'str'"),
    ],
    "unknown_attribute": [
        ("x = y.«upr→upper»()\n", "AttributeError: 'str' object has no attribute 'upr'"),
        ("x = y.«upr→upper»()\nz = x.«upr→upper»()\n", "AttributeError: 'str' object has no attribute 'upr'"),
        (
            "class A:\n    def f(self):\n        return self.«_inner.→»run()\n",
            "AttributeError: 'A' object has no attribute '_inner'",
        ),
    ],
    "unknown_key": [("a = {'name': 1}\nb = a['«nme→name»']\n", "KeyError: 'nme'")],
    "unknown_import": [
        (
            "from b import «speling→spelling»\nspelling()\n",
            "ImportError: cannot import name 'speling' from 'b'",
        )
    ],
    "asserted_number": [("x = 7 * «24→25»\n", "AssertionError: assert 168 == 175")],
    "raising": [
        (
            "from errors import Odd, RangeError\ndef f(x):\n    if x:\n"
            "        «pass→raise RangeError('range error')»\n    raise Odd(x)\n",
            "Failed: DID NOT RAISE <class 'errors.MultipleError'>",
        )
    ],
    "unpacked": [("a, b = x«→[:2]»\n", "ValueError: too many values to unpack (expected 2)")],
    "uncalled": [
        (
            "def _cut(x, y): return x\ndef f(g, y):\n    v = g(y)\n    «→z = _cut(v, y)\n    »return z\n",
            "NameError: name 'z' is not defined",
        )
    ],
    "string": [('x = "Hello«,→» " + name\n', "AssertionError: 'Hello, Ada' != 'Hello Ada'\n- Hello, Ada\n")],
    "filled": [
        (
            "x = 'Value of {} is {}«→.»'.format(a, b)\n",
            "AssertionError: assert 'Value of a is b' == 'Value of a is b.'",
        ),
        ("x = f'{a!r}«,→» and {b}'\n", "AssertionError: assert '1, and 2' == '1 and 2'"),
    ],
    "exception_type": [
        (
            "try:\n    f()\nexcept «KeyError→(KeyError, IndexError)»:\n    pass\n",
            "IndexError: list index out of range",
        )
    ],
}
UNCHANGED = {
    "kept": "x += 1\nx == 1 or y\n",
    "advanced": "while x:\n    y = x[0]\n",
    "vocabulary": "x = y.length\nz = super.f()\n",
    "meant_as": "x = y.keys()[0]\n",
    "begun_again": "for a in b:\n    n = f(a)\n    n += a\n",
    "exchanged": "a = b\nb = c\n",
    "against_itself": "class A:\n def x(self):\n  return self.x == y.x\n",
    "clamped": "y = max(high, low)\n",
    "base_case": "def f(n):\n    return f(n - 1)\n",
    "branch_order": "if a:\n    b()\nelse:\n    c()\n",
    "bound_late": "x = [lambda i: i for i in z]\n",
    "outer_name": "def f():\n    x = 1\n    return x\n",
    "sifted": "x = [a for a in b if a]\ny = a.split(',')[0]\n",
    "in_place": "x.sort()\ny.append(x)\n",
    "iterated": "x = f(a for a in b)\n",
    "shared": "x = [0] * n\ny = []\n",
    "separated": "x = ['a', 'b']\ny = 'a' 'b'\n",
    "calling": "class A:\n    def y(self, z):\n        return self.y + z.close() + z.total\n",
    "decorated": "def f(x): pass\n",
    "undecorated": "def f(x): pass\n",
    "quoting": "x = y[0]\n",
    "uncalled": "def _f(x): ...\ndef g(x):\n    return _f(x)\n",
    "unpacked": "a, b = x\n",
    "flag": "x = A_B | C_D\ny = f(A_B)\nz = {*a} | {*b}\n",
    "kind": "x = isinstance(y, Odd)\n",
    "enlisted": "x, y = 'a', 'b'\nz = 'a' < x\n",
    "enclosed": "def f(x):\n    with x as y:\n        y()\n    x()\n",
    "own_class": "class A:\n    @staticmethod\n    def f(self):\n        return B(1)\n",
    "arithmetic": "x = 'a %s' % b\n",
    "converted_elsewhere": "def f(x):\n    return [y for y in x] + str(z)\n",
    "comparison": "x = a + b\n",
    "boolean": "x = a + b\n",
    "negation": "x = a < b\nif a < b: pass\n",
    "boundary": "x = 'text'\nf.g\n",
    "constant": "'''Doc.'''\n",
    "initial": "x = f()\n",
    "variable": "self.x\n",
    "attribute": "x = y\n",
    "key": "x = f('colour')\n",
    "neighbour": "x = unheard_of(1)\n",
    "argument_order": "x = f(a)\n",
    "argument_missing": "f(a)\n",
    "slicing": "x = a[i]\na[0] = 1\n",
    "slice_missing": "x = items\n",
    "missing_return": "def f(x):\n    return x\n",
    "returned_value": "def f(x):\n    x = 1\n",
    "inserted_guard": "x = y\n",
    "default_value": "def f():\n    return 1\n",
    "condition": "def f(x):\n    return x\n",
    "dropped_guard": "x = 1\n",
    "awaiting": "def f():\n    return g()\n",
    "yielding": "def f():\n    return\n",
    "super_call": "class A(B):\n    def f(self):\n        super().f()\n",
    "statement_order": "x = 1\ny = 2\n",
    "indentation": "def f(x):\n    return x\n",
    "deletion": "if x:\n    y = 1\n",
    "string": "x = 1\n",
    "filled": "x = 'plain'\n",
    "exception_type": "raise Mine()\n",
    "branch": "x = a\n",
    "target": "f(x)\n",
    "wrapped": "x\n",
    "pattern": "x = 'a+b'\n",
    "raising": "def f(x):\n    pass\n",
    "converted": "def f(x):\n    return x.y\n",
    "unwrapped": "x = f(a, b)\n",
    "undefined_name": "x = y\n",
    "unknown_attribute": "x = y.z\n",
    "unknown_key": "x = y['z']\n",
    "unknown_import": "from x import y\n",
    "moved": "from collections import deque\nx = deque.pop\n",
    "factory": "class A:\n    x: int = 0\n",
    "demanded": "def f():\n    pass\n",
    "lookup": "x = y['z']\n",
    "inserted": "x = 1\ny = x\n",
    "copied": "def f(x):\n    x = 1\n",
    "other_condition": "def f(x):\n    if x:\n        x()\n",
    "similar": "x = load(path, 1)\n",
    "argument_added": "f(*a)\n",
    "signature": "f(x, y=1)\ndef f(x): ...\n",
    "mutable_default": "def f(x=(), y=1): ...\n",
    "placeholder": "x = 'plain'\n",
    "opening": "f(x, 'r')\n",
    "index_order": "y = a[1:][0]\n",
    "element": "x.f()\n",
    "named_value": "x = 1\n",
    "asserted_number": "x = 1\n",
    "unconditional": "while True: pass\n",
    "given_elsewhere": "def f(x):\n    y = x\n    return y\n",
    "given_by_sibling": "def f(x):\n    y = x\ndef g(z):\n    y = z\n",
    "kept_best": "x = 1\nf(max(a, b, c))\n",
    "wraparound": "x = a / b\ny = 'a' + b\n",
    "option": "x = sorted(a, reverse=True, key=f)\n",
    "grouping": "x = a + b\n",
    "step": "def f(x):\n    y = []\n    return y\n",
}


@pytest.mark.parametrize(
    ("family", "edits"), [(family, edits) for family, cases in REPAIRED.items() for edits in cases]
)
def test_template_repairs(family: str, edits: str) -> None:
    before, after = split_edits(edits)
    assert after in rewritten(family, before)


@pytest.mark.parametrize(
    ("family", "edits", "exception"),
    [(family, *case) for family, cases in REPAIRED_WITH_FAILURE.items() for case in cases],
)
def test_template_uses_failure(family: str, edits: str, exception: str) -> None:
    before, after = split_edits(edits)
    assert after in rewritten(family, before, failure_of(exception))
    assert after not in rewritten(family, before, failure_of("AssertionError: assert False"))


@pytest.mark.parametrize(
    ("text", "likely", "unlikely"),
    [
        ("def f(one, other, third):\n    if third is not None:\n        g(other)\n", "other", "one"),
        ("def f(one, other, third):\n    return third if one is not None else 2\n", "one", "other"),
    ],
)
def test_prefers_name_read_under_condition(text: str, likely: str, unlikely: str) -> None:
    source = PythonSource("a.py", text)
    node = next(node for node in ast.walk(source.tree) if isinstance(node, ast.Name) and node.id == "third")
    rewrites = TEMPLATES["variable"](RewriteSite(source, node))
    weights = {rewrite.changes[0].text: rewrite.weight for rewrite in rewrites}
    assert weights[likely] > 1 > weights[unlikely]


def test_prefers_super_call_that_sets_missing_attribute() -> None:
    text = (
        "class A:\n    def __init__(self):\n        self.alias = None\nclass B(A):\n"
        "    def __init__(self, x):\n        self.x = x\n"
    )
    source = PythonSource("a.py", text)
    node = source.functions[1].body[0]
    failures = (Failure(type="AttributeError", message="'B' object has no attribute 'alias'"),)
    with_failure, without_failure = (
        [rewrite.weight for rewrite in TEMPLATES["super_call"](RewriteSite(source, node, reported))]
        for reported in (failures, ())
    )
    assert min(with_failure) > 1 > max(without_failure) > 0


def test_does_not_copy_yielding_conditions() -> None:
    text = (
        "def f(x):\n    while (yield from x):\n        pass\n    if x and (yield):\n"
        "        x()\n    if x.a:\n        x.b()\n"
    )
    assert not any(new.count("yield") > text.count("yield") for new in rewritten("other_condition", text))


def test_ignores_conditions_that_differ_in_punctuation() -> None:
    text = "def f(x, y):\n    if x == '/n':\n        y.a(x/n)\n    elif x == '\\n':\n        pass\n"
    assert not any("\\n)" in new for new in rewritten("copied", text))


def test_offers_only_none_as_default_of_unused_pop() -> None:
    texts = rewritten("option", "def f(cache, key):\n    cache.pop(key)\n")
    assert texts == {"def f(cache, key):\n    cache.pop(key, None)\n"}


def test_prefers_filled_collection_for_visited_check() -> None:
    text = (
        "def f(links, start):\n    seen, waiting = set(), []\n    for one in links:\n"
        "        seen.add(one)\n        waiting.append(one)\n"
    )
    source, failure = PythonSource("a.py", text), Failure(type="TooLong", message="")
    rewrites = [
        rewrite
        for node in ast.walk(source.tree)
        for rewrite in TEMPLATES["base_case"](RewriteSite(source, node, (failure,)))
    ]
    waiting = [guard for guard in rewrites if "waiting.append" in guard.changes[0].text]
    assert max(waiting, key=lambda guard: guard.weight).summary == "skip what is already in `seen`"
    assert any("in `start`" in guard.summary for guard in waiting)


def test_does_not_compare_literals_by_identity() -> None:
    assert not any(" is " in text for text in rewritten("comparison", "x = y == 0\nz = y != 'a'\n"))
    assert "x = y is None\n" in rewritten("comparison", "x = y == None\n")


def test_prefers_floor_division_if_remainder_is_used() -> None:
    def weights(text: str) -> dict[str, float]:
        source = PythonSource("a.py", text)
        sites = (RewriteSite(source, node) for node in ast.walk(source.tree))
        return {
            rewrite.changes[0].text: rewrite.weight
            for site in sites
            for rewrite in TEMPLATES["arithmetic"](site)
        }

    with_remainder = weights("def f(n):\n    if n % 2:\n        return n * 2\n")
    without_remainder = weights("def f(n):\n    if n:\n        return n * 2\n")
    assert with_remainder["//"] > with_remainder["/"]
    assert without_remainder["/"] > without_remainder["//"]


def test_raises_expected_exception() -> None:
    failure = Failure(
        type="KeyError",
        message="'x'",
        text="    with pytest.raises(errors.Missing):\n>       f('x')\nE       KeyError: 'x'",
    )
    before = "from errors import Missing\ndef f(x):\n    raise KeyError(x)\n"
    assert "from errors import Missing\ndef f(x):\n    raise Missing(x)\n" in rewritten(
        "exception_type", before, failure
    )
    assert not any("raise Missing" in text for text in rewritten("exception_type", before))


@pytest.mark.parametrize(("family", "text"), UNCHANGED.items())
def test_template_leaves_other_code_alone(family: str, text: str) -> None:
    assert rewritten(family, text) == set()


def test_every_template_has_positive_and_negative_case() -> None:
    repaired = {*REPAIRED, *REPAIRED_WITH_FAILURE, "converted", "demanded"}
    assert repaired == set(UNCHANGED) == set(TEMPLATES)


@pytest.mark.parametrize(
    ("message", "before", "after"),
    [
        (
            "cannot import name 'total' from 'shop' (shop.py)",
            "__all__ = ['totl']\ndef totl(x):\n    return totl(x)\n",
            "__all__ = ['total']\ndef total(x):\n    return total(x)\n",
        ),
        (
            "'Cart' object has no attribute 'total'",
            "class Cart:\n    def totals(self):\n        return self.totals()\n",
            "class Cart:\n    def total(self):\n        return self.total()\n",
        ),
        (
            "module 'shop' has no attribute 'LIMIT'",
            "LIMITS = 1\n\ndef f():\n    return LIMITS\n",
            "LIMIT = 1\n\ndef f():\n    return LIMIT\n",
        ),
    ],
)
def test_renames_definition_to_name_in_test(message: str, before: str, after: str) -> None:
    in_test, elsewhere = (
        Failure(type="AttributeError", message=message, frames=(Frame(path=path, line=1, function="f"),))
        for path in ("tests/test_shop.py", "shop.py")
    )
    assert rewritten("demanded", before, in_test) == {after}
    assert (
        rewritten("demanded", before, elsewhere)
        == rewritten("demanded", f"{before}{after}", in_test)
        == set()
    )


def test_raises_with_expected_message() -> None:
    failure = Failure(
        type="Failed",
        message="DID NOT RAISE <class 'ValueError'>",
        text=r"with pytest.raises(ValueError, match='too long\.'):",
    )
    assert "def f(x):\n    raise ValueError('too long.')\n" in rewritten(
        "raising", "def f(x):\n    pass\n", failure
    )
    odd = failure.model_copy(update={"text": "with pytest.raises(ValueError, match='too (long|wide)'):"})
    assert not any("too" in text for text in rewritten("raising", "def f(x):\n    pass\n", odd))


def test_raises_expected_message_before_other() -> None:
    message = '"n must be positive" does not match "bad index"'
    failure = Failure(
        type="AssertionError",
        message=message,
        text="> with self.assertRaisesRegex(ValueError, 'n must be positive'):",
    )
    after = "def f(n):\n    if n < 0:\n        raise ValueError('n must be positive')\n    return g(n)\n"
    assert after in rewritten("raising", "def f(n):\n    return g(n)\n", failure)


@pytest.mark.parametrize("expects", ["with pytest.raises(TypeError):", "with self.assertRaises(TypeError):"])
def test_converts_exception_to_expected_one(expects: str) -> None:
    before = "def f(x):\n    y = x.read().decode(\n        'ascii')\n    return y\n"
    failure = Failure(
        type="AttributeError",
        message="'str' object has no attribute 'decode'",
        frames=(Frame(path="test_a.py", line=5, function="test_f"), Frame(path="a.py", line=2, function="f")),
        text=f"test_a.py:5 in test_f\n    4     {expects}\n>   5         f(io.StringIO())\n",
    )
    lines = [
        "try:",
        "    y = x.read().decode(",
        "        'ascii')",
        "except AttributeError as error:",
        "    raise TypeError(str(error)) from error",
    ]
    after = "def f(x):\n    " + "\n    ".join(lines) + "\n    return y\n"
    texts = rewritten("converted", before, failure)
    assert {re.sub(r"\s+", " ", text) for text in texts} == {re.sub(r"\s+", " ", after)}
    for text in texts:
        ast.parse(text)
    assert rewritten("converted", before, failure.model_copy(update={"frames": failure.frames[:1]})) == set()


@pytest.mark.parametrize("family", TEMPLATES)
def test_every_rewrite_parses_and_differs(family: str) -> None:
    text = '''\
import re


class Table(dict):
    """Rows by key."""

    def __init__(self, rows=None, *, width=80):
        self.rows = rows  # as given
        self.width = width

    async def row(self, key, größe="é"):
        for index, one in enumerate(self.rows[1:]):
            if one.key == key and not one.hidden or index > 3:
                return await one.load(größe, size=self.width - 1)
        try:
            return self["x"] if key else -1
        except (KeyError, ValueError):
            raise LookupError(f"no {key}") from None

    def fit(self, text):
        total = 0
        while total < len(text):
            total += 1
            yield text[total:-1]
        text.strip()
'''
    same = ast.dump(PythonSource("a.py", text).tree)
    failures = [Failure(type=kind, message="'NoneType' 'x'") for kind in ("KeyError", "TypeError")]
    assert all(ast.dump(ast.parse(other)) != same for other in rewritten(family, text, *failures))
