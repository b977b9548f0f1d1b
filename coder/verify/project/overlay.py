"""Package overlay: packages, cached by content, that tests find beside the project's environment."""

import json
import os
import platform
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

from coder.core.values import Value


class Overlay(Value):
    """The packages chosen for one repository, and where overlays are stored."""

    interpreter: Path
    root: Path
    chosen_file: Path
    """File that lists the chosen packages."""

    @property
    def packages(self) -> tuple[str, ...]:
        """The chosen packages; empty if none are, or the file cannot be read."""
        try:
            return tuple(map(str, json.loads(self.chosen_file.read_text(encoding="utf-8"))))
        except (OSError, ValueError, TypeError):
            return ()

    @property
    def directory(self) -> Path | None:
        """The directory with the installed packages, None if there is none."""
        place = self.directory_of(self.packages)
        return place if self.packages and place.is_dir() else None

    @property
    def evidence_sentence(self) -> str:
        """A sentence about the packages for the evidence; empty without an overlay."""
        return (
            f"Packages of coder's own, which the project's environment lacks: {', '.join(self.packages)}."
            if self.directory
            else ""
        )

    def directory_of(self, packages: Sequence[str]) -> Path:
        """Return the directory for these packages, named by a hash of interpreter, packages and platform."""
        name = json.dumps([os.path.realpath(self.interpreter), sorted(packages), platform.platform()])
        return self.root / sha256(name.encode()).hexdigest()[:24]

    def choose(self, packages: Sequence[str]) -> None:
        """Store `packages` as the chosen ones."""
        self.chosen_file.parent.mkdir(parents=True, exist_ok=True)
        self.chosen_file.write_text(json.dumps(sorted(packages)), encoding="utf-8")
