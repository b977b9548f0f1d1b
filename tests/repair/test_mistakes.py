"""Mistakes that everybody makes in Python: for each there is a template that mends it."""

import ast

import pytest

from coder.core.verdict import Failure
from coder.repair.templates import TEMPLATES
from tests.repair.places import rewritten

MISTAKES = {
    "late binding": (
        "def f():\n    return [lambda: i for i in range(3)]\n",
        "def f():\n    return [lambda i=i: i for i in range(3)]\n",
        "AssertionError",
        "assert 1 == 2",
    ),
    "elif order": (
        "def f(n):\n    if n % 3 == 0:\n        return 'a'\n    elif n % 15 == 0:\n        return 'c'\n    return n\n",
        "def f(n):\n    if n % 15 == 0:\n        return 'c'\n    elif n % 3 == 0:\n        return 'a'\n    return n\n",
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
        "class A:\n    def __init__(self):\n        self.items = []\n    def add(self, x):\n        self.items.append(x)\n",
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
        "def f():\n    n = 0\n    def g():\n        nonlocal n\n        n += 1\n        return n\n    return g\n",
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
        "def f(x):\n    try:\n        g(x)\n    except Exception:\n        return 1\n    except ValueError:\n        return 2\n",
        "def f(x):\n    try:\n        g(x)\n    except ValueError:\n        return 2\n    except Exception:\n        return 1\n",
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
        "def f(x):\n    for a in x:\n        if a:\n            return True\n        else:\n            return False\n",
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
    "a property called": (
        "class A:\n    @property\n    def x(self):\n        return 1\n    def y(self):\n        return self.x()\n",
        "class A:\n    @property\n    def x(self):\n        return 1\n    def y(self):\n        return self.x\n",
        "TypeError",
        "'int' object is not callable",
    ),
}


@pytest.mark.parametrize(("wrong", "right", "type_", "message"), MISTAKES.values(), ids=MISTAKES.keys())
def test_a_template_mends_it(wrong: str, right: str, type_: str, message: str) -> None:
    failure = Failure(type=type_, message=message, text=message)
    made = {ast.dump(ast.parse(text)) for family in TEMPLATES for text in rewritten(family, wrong, failure) if compiles(text)}
    assert ast.dump(ast.parse(right)) in made


def compiles(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True
