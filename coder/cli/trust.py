"""`coder trust`: allow a repository's code to run, or withdraw that."""

from pathlib import Path
from typing import Annotated

import typer


def trust(
    directory: Annotated[
        Path, typer.Argument(metavar="DIR", help="The repository, or a directory inside it.")
    ] = Path(),
    forget: Annotated[
        bool, typer.Option("--forget", help="Trust it no longer, and forget what was allowed always.")
    ] = False,
) -> None:
    """Trust a repository: its tests need no sandbox with whole walls, and its AGENTS.md is sent to the
    model.
    """
    from coder.repo.git import find_checkout
    from coder.trust import forget_repository as forget_all
    from coder.trust import trust_repository as remember

    root = find_checkout(directory).root
    (forget_all if forget else remember)(root)
    print(f"{root} is {'not trusted, and nothing is allowed there for good' if forget else 'trusted'}.")
