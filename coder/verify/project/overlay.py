"""An environment of coder's own that is laid over the project's: cached by what is in it."""

import json
import os
import platform
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

from coder.core.values.base import Value


class Overlay(Value):
    """Which packages one repository has been given, and where overlays are kept."""

    interpreter: Path
    root: Path
    chosen: Path
    """The file that names them."""

    @property
    def packages(self) -> tuple[str, ...]:
        try:
            return tuple(map(str, json.loads(self.chosen.read_text(encoding="utf-8"))))
        except (OSError, ValueError, TypeError):
            return ()

    @property
    def place(self) -> Path | None:
        """Where they are installed, None where there are none."""
        place = self.place_of(self.packages)
        return place if self.packages and place.is_dir() else None

    @property
    def told(self) -> str:
        """A sentence for the evidence; empty where there is none."""
        return (
            f"Packages of coder's own, which the project's environment lacks: {', '.join(self.packages)}."
            if self.place
            else ""
        )

    def place_of(self, packages: Sequence[str]) -> Path:
        """Named after all that decides what is in it: the interpreter, the packages, the system."""
        name = json.dumps([os.path.realpath(self.interpreter), sorted(packages), platform.platform()])
        return self.root / sha256(name.encode()).hexdigest()[:24]

    def choose(self, packages: Sequence[str]) -> None:
        self.chosen.parent.mkdir(parents=True, exist_ok=True)
        self.chosen.write_text(json.dumps(sorted(packages)), encoding="utf-8")
