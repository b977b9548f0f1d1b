"""The paths of systems that are not Linux, forced on Linux: no /proc or prctl(2)."""

import sys
from pathlib import Path

from coder.sandbox import process
from coder.sandbox.process import SERVE_SCRIPT

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
sys.path[0] = sys.argv.pop(1)
from tests.portable import force_portable_paths
force_portable_paths()
from coder.__main__ import main
main()
"""
"""Start of coder on these paths."""


def force_portable_paths() -> None:
    """Make all processes that start from here on take these paths."""
    process.SERVE_SCRIPT = PORTABLE_SCRIPT


def coder_command(*arguments: str) -> list[str]:
    """Return a command that starts coder; it takes these paths if this process does."""
    if process.SERVE_SCRIPT != PORTABLE_SCRIPT:
        return [sys.executable, "-m", "coder", *arguments]
    return [sys.executable, "-c", CODER_SCRIPT, str(ROOT), *arguments]


def adopts_orphans() -> bool:
    """Return whether processes that detach themselves are found again: on Linux, unless paths are forced."""
    return sys.platform == "linux" and process.SERVE_SCRIPT != PORTABLE_SCRIPT
