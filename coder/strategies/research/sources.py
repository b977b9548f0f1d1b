"""Texts beside the repository, laid into the worktree of a question so that tools read and cite them."""

from collections.abc import Sequence
from pathlib import Path

from coder.core.errors import UserError
from coder.core.values.task import Source
from coder.files.regular_files import read_regular_text


def write_sources(worktree: Path, sources: Sequence[Source]) -> None:
    """Write the sources of a question into its worktree, which is never delivered.

    Raises:
        UserError: the repository has a file where one would lie.
    """
    for top in {source.path.partition("/")[0] for source in sources}:
        try:
            (worktree / top).mkdir()
        except FileExistsError:
            raise UserError(
                f"The repository has {top!r} itself, where texts beside it would lie: ask without "
                "--document, --url and --dependency."
            ) from None
    for source in sources:
        texts = {f"{source.path}/{name}": read_regular_text(file) for name, file in source.files.items()}
        for name, text in (texts or {source.path: source.text}).items():
            path = worktree / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
