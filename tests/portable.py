"""The paths of systems that are not Linux, forced on Linux: no /proc, prctl(2) or madvise(2)."""

import atexit
import shutil
import sys
import tempfile
from pathlib import Path

from coder.sandbox import process
from coder.sandbox.process import SERVE_SCRIPT
from coder.verify import launch

ROOT = Path(__file__).parents[1]
NO_PROC_SCRIPT = SERVE_SCRIPT.replace(
    "import serve",
    "import serve\nfrom coder.sandbox import launcher\nlauncher.has_proc = lambda: False",
)
"""Start of a launcher whose process table comes from ps(1)."""
PORTABLE_SCRIPT = NO_PROC_SCRIPT.replace("import socket, sys", 'import socket, sys; sys.platform = "posix"')
"""Start of a launcher that takes no path of Linux."""
CODER_SCRIPT = """
import sys
sys.path[0], target = sys.argv[1:3]
del sys.argv[1:3]
from pathlib import Path
from tests.portable import force_portable_paths
force_portable_paths(Path(target))
from coder.__main__ import main
main()
"""
"""Start of coder on these paths."""
LINUX_CHECKS = {'"/proc': '"/none', 'sys.platform == "linux"': "False", 'sys.platform != "linux"': "True"}
"""Texts in modules that run in the project's interpreter, whose own platform must stay what it is."""


def force_portable_paths(target: Path | None = None) -> None:
    """Make all processes that start from here on take these paths: the launcher, and runs of tests.

    `target` is a copy for these runs that another process has made.
    """
    target = target or _copy_target()
    launch.PLUGIN_PATH = tuple(part.replace(str(launch.TARGET), str(target)) for part in launch.PLUGIN_PATH)
    launch.TARGET = target
    process.SERVE_SCRIPT = PORTABLE_SCRIPT


def _copy_target() -> Path:
    """Return a copy of what runs in the project's interpreter, without its checks for Linux."""
    target = Path(tempfile.mkdtemp(prefix="coder-portable-")) / "target"
    atexit.register(shutil.rmtree, target.parent, ignore_errors=True)
    shutil.copytree(launch.TARGET, target, ignore=shutil.ignore_patterns("__pycache__"))
    for module in (target / "server").glob("*.py"):
        text = module.read_text(encoding="utf-8")
        for old, new in LINUX_CHECKS.items():
            text = text.replace(old, new)
        module.write_text(text, encoding="utf-8")
    return target


def coder_command(*arguments: str) -> list[str]:
    """Return a command that starts coder; it takes these paths if this process does."""
    if process.SERVE_SCRIPT != PORTABLE_SCRIPT:
        return [sys.executable, "-m", "coder", *arguments]
    return [sys.executable, "-c", CODER_SCRIPT, str(ROOT), str(launch.TARGET), *arguments]


def adopts_orphans() -> bool:
    """Return whether processes that detach themselves are found again: on Linux, unless paths are forced."""
    return sys.platform == "linux" and process.SERVE_SCRIPT != PORTABLE_SCRIPT
