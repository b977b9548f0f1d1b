"""Extraction of one function from a file, at its own lines."""

import textwrap

from coder.core.ports import Edit, TextChange
from coder.warm.trials import SwappableModule

TEXT = textwrap.dedent(
    '''\
    from __future__ import annotations

    LIMIT = 3

    if LIMIT:
        class Shop(Base):
            """Sells."""

            tax = 1

            @cached
            def total(self, extra=0):
                é = "ü" + super().total()
                return é + extra
    else:
        def total():
            return LIMIT
    '''
)


def make_edit(old: str, new: str) -> Edit:
    start = TEXT.index(old)
    return Edit(
        path="a.py",
        changes=(TextChange(start=start, end=start + len(old), text=new),),
        line=1,
        family="",
        summary="",
    )


def test_compiles_only_the_statement_around_the_function() -> None:
    module = SwappableModule(TEXT)
    change = make_edit("é + extra", "é - extra")
    outer = module.function_of(change.changes)
    assert outer is not None
    assert (outer.name, outer.line, module.future) == ("total", 11, ("annotations",))
    wanted = TEXT.replace("é + extra", "é - extra").split("\n")
    assert module.isolate(outer, change.changes).split("\n") == ["", "", "", "", *wanted[4:]]
    assert "é + extra" in module.isolate(outer)
    assert module.function_of(make_edit("tax = 1", "tax = 2").changes) is None
