"""Writes into the home, the working directory of another program, through /proc."""

from pathlib import Path

from stage import at

Path(f"/proc/{at.victim}/cwd/.bashrc").write_text("owned")
