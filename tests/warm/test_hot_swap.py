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


def test_compiles_only_function_and_its_enclosing_scopes() -> None:
    module = SwappableModule(TEXT)
    change = make_edit("é + extra", "é - extra")
    outer = module.function_of(change.changes)
    assert outer is not None
    lines = module.isolate(outer, change.changes).split("\n")
    assert lines[4:6] == ["if 1:", "    class Shop:"]
    assert lines[10:14] == [
        "        @cached",
        "        def total(self, extra=0):",
        '            é = "ü" + super().total()',
        "            return é - extra",
    ]
    assert [line for line in lines[:4] + lines[6:10] + lines[14:] if line] == []
    described = module.describe(outer)
    assert (described["name"], described["line"], described["classes"], described["future"]) == (
        "total",
        11,
        ["Shop"],
        ("annotations",),
    )
    assert "é + extra" in described["old"]


def test_every_block_compiles() -> None:
    module = SwappableModule(TEXT)
    change = make_edit("return LIMIT", "return 2")
    outer = module.function_of(change.changes)
    assert outer is not None
    compile(module.isolate(outer, change.changes), "a.py", "exec")
    assert module.isolate(outer, change.changes).split("\n")[15:17] == [
        "    def total():",
        "        return 2",
    ]
