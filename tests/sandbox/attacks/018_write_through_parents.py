"""Writes into the checkout with many `..`."""

import os
from pathlib import Path

from stage import at

Path(os.path.relpath(at.project), "main.py").write_text("owned")
