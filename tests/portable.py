"""The paths of systems that are not Linux, forced on Linux: no /proc, prctl(2) or madvise(2)."""

import atexit
import shutil
import sys
import tempfile
from pathlib import Path

from coder.sandbox.process import launcher_client
from coder.sandbox.process.launcher_client import SERVE_SCRIPT
from coder.verify.running import launch

NO_PROC_SCRIPT = SERVE_SCRIPT.replace(
    "import serve",
    "import serve\nfrom coder.sandbox.process import launcher\nlauncher.has_proc = lambda: False",
)
"""Start of a launcher whose process table comes from ps(1)."""
PORTABLE_SCRIPT = NO_PROC_SCRIPT.replace("import socket, sys", 'import socket, sys; sys.platform = "posix"')
"""Start of a launcher that takes no path of Linux."""
LINUX_CHECKS = {'"/proc': '"/none', 'sys.platform == "linux"': "False", 'sys.platform != "linux"': "True"}
"""Texts in modules that run in the project's interpreter, whose own platform must stay what it is."""


def force_portable_paths() -> None:
    """Make all processes that start from here on take these paths: the launcher, and runs of tests."""
    target = Path(tempfile.mkdtemp(prefix="coder-portable-")) / "target"
    atexit.register(shutil.rmtree, target.parent, ignore_errors=True)
    shutil.copytree(launch.TARGET, target, ignore=shutil.ignore_patterns("__pycache__"))
    for module in (target / "server").glob("*.py"):
        text = module.read_text(encoding="utf-8")
        for old, new in LINUX_CHECKS.items():
            text = text.replace(old, new)
        module.write_text(text, encoding="utf-8")
    launch.PLUGIN_PATH = tuple(part.replace(str(launch.TARGET), str(target)) for part in launch.PLUGIN_PATH)
    launch.TARGET = target
    launcher_client.SERVE_SCRIPT = PORTABLE_SCRIPT


def adopts_orphans() -> bool:
    """Return whether processes that detach themselves are found again: on Linux, unless paths are forced."""
    return sys.platform == "linux" and launcher_client.SERVE_SCRIPT != PORTABLE_SCRIPT
