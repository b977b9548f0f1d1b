"""Empties a file of the checkout by its name, without opening it."""

import os
from pathlib import Path

from stage import at

os.truncate(Path(at.project, "main.py"), 0)
