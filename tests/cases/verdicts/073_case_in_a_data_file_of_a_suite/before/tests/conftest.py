import inspect
from pathlib import Path

import calc
import pytest

DATA = Path(__file__).parent / "data"


class Suite(pytest.Collector):
    def __init__(self, *, obj, **fields):
        super().__init__(**fields)
        self.obj = obj

    def collect(self):
        for name in self.obj.files:
            yield File.from_parent(self, name=name)


class File(pytest.Collector):
    def collect(self):
        yield from cases_of(self, DATA / self.name)


class Case(pytest.Item):
    def __init__(self, *, text, **fields):
        super().__init__(**fields)
        self.text = text

    def runtest(self):
        call, _, expected = self.text.partition(" = ")
        assert eval(call, {"add": calc.add}) == int(expected)


def cases_of(collector, file):
    for line in file.read_text().splitlines():
        name, _, text = line.partition(": ")
        yield Case.from_parent(collector, name=name, text=text)


def pytest_pycollect_makeitem(collector, name, obj):
    return Suite.from_parent(collector, name=name, obj=obj) if inspect.isclass(obj) and name.endswith("Suite") else None
