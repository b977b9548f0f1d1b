"""Sphinx configuration of the documentation site: `python -m sphinx -W docs build/site`."""

import sys
from pathlib import Path

from sphinx.application import Sphinx

sys.path.insert(0, str(Path(__file__).parent.parent))  # for docs.generators

import typer

from coder import __version__
from coder.cli.app import app
from docs.generators.command_tree import read_command_tree
from docs.generators.reference_pages import render_commands, render_events, render_exit_codes, render_settings

project = "coder"
version = release = __version__
extensions = ["myst_parser"]
exclude_patterns = ["coder.1", "coder.rb", "generators"]
myst_heading_anchors = 3
html_theme = "furo"
html_title = f"coder {__version__}"
html_show_copyright = False
GENERATED = {
    "reference/commands": lambda: render_commands(read_command_tree(typer.main.get_command(app))),
    "reference/events": render_events,
    "reference/exit-codes": render_exit_codes,
    "reference/settings": render_settings,
    "decisions/README": lambda: "```{toctree}\n:hidden:\n:glob:\n\n0*\n```\n",
}
"""Pages whose second part is written here: by the program itself, or for the site alone."""


def append_generated_text(_: Sphinx, page: str, source: list[str]) -> None:
    """Append its second part to a page."""
    if page in GENERATED:
        source[0] += "\n" + GENERATED[page]()


def setup(sphinx: Sphinx) -> None:
    sphinx.connect("source-read", append_generated_text)
