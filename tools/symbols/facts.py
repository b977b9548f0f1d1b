"""What one file tells the index: definitions, imports, identifiers used, base classes."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from coder.tools.symbols.definition import Definition


@dataclass(frozen=True, kw_only=True)
class Import:
    """One imported name or module, as it is written."""

    module: str
    """With its leading dots; `.` for `from . import x`."""
    name: str = ""
    """What is taken from the module: empty for the module itself, `*` for all."""
    alias: str = ""
    """The name it has here, where that is another."""
    line: int

    @property
    def local(self) -> str:
        """The name by which the file knows it."""
        return self.alias or self.name or self.module.partition(".")[0]


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What a file says of itself."""

    definitions: tuple[Definition, ...] = ()
    imports: tuple[Import, ...] = ()
    bases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By a class's qualified name: its base classes, as written."""
    uses: Mapping[str, list[int]] = field(default_factory=dict)
    """By identifier: the lines that hold it as code, ascending; keywords and `self` are left out."""
