"""Swaps a file of its own with one of the checkout."""

import os
from pathlib import Path

from stage import at, call

Path("mine").write_text("owned")
call(316, 276, -100, b"mine", -100, os.fsencode(Path(at.project, "main.py")), 2)
