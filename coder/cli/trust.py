"""`coder trust`: say that a repository's code may run here."""

from pathlib import Path
from typing import Annotated

import typer


def trust(directory: Annotated[Path, typer.Argument(metavar="DIR", help="The repository, or a directory inside it.")] = Path()) -> None:
    """Trust a repository: its tests may run, and its AGENTS.md is sent to the model."""
    from coder.repo.git import find
    from coder.settings import trust as remember

    root = find(directory).root
    remember(root)
    print(f"{root} is trusted.")
