"""Requirements such as `paketo >= 1.2, < 2`."""

import operator
import re

from paketo.version import Version

OPERATORS = {"==": operator.eq, "!=": operator.ne, "<=": operator.le, ">=": operator.ge, "<": operator.lt, ">": operator.gt}
CLAUSE = re.compile(r"(==|!=|<=|>=|<|>)\s*(.+)")


class Requirement:
    """A name, and clauses that a version must all fulfil."""

    def __init__(self, text):
        name = re.match(r"\s*([A-Za-z0-9_-]+)", text)
        if name is None:
            raise ValueError(f"{text!r} names nothing")
        self.name = name[1].lower().replace("_", "-")
        rest = text[name.end() :].strip()
        self.clauses = [self._clause(part.strip()) for part in rest.split(",") if part.strip()]

    @staticmethod
    def _clause(text):
        found = CLAUSE.fullmatch(text)
        if found is None:
            raise ValueError(f"{text!r} is no clause")
        return OPERATORS[found[1]], Version(found[2])

    def allows(self, version):
        return all(compare(version, bound) for compare, bound in self.clauses)
