"""Options and arguments that several commands share, and the issue as it is typed."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from coder.core.notes import Plan

RepositoryOption = Annotated[
    Path, typer.Option("--repo", metavar="DIR", help="The repository, or a place in it.", show_default="here")
]
SessionArgument = Annotated[
    str, typer.Argument(metavar="ID", help="A session's id, its beginning or its end, or `last`.")
]


class Approve(StrEnum):
    """Modes of approval, from the strictest to the widest."""

    read_only = "read-only"
    ask = "ask"
    auto_edit = "auto-edit"
    full = "full"


ApproveOption = Annotated[
    Approve | None,
    typer.Option(help="What is done unasked.", show_default="auto-edit: what stays in the sandbox"),
]


class Suite(StrEnum):
    """How much of the suite is run for a verdict."""

    auto = "auto"
    impacted = "impacted"
    whole = "whole"


SuiteOption = Annotated[
    Suite | None,
    typer.Option(
        help="What runs for a verdict; auto: the whole suite where it takes under a minute.",
        show_default="auto",
    ),
]
UnsafeOption = Annotated[
    bool, typer.Option("--unsafe-no-sandbox", help="Run commands and tests with all your rights.")
]
TrustOption = Annotated[
    bool, typer.Option("--trust", help="Trust this repository without asking, this once.")
]


def issue_text(typed: str) -> str:
    """The issue: text as it is, `@file`, or `-` for standard input.

    Raises:
        UserError: it is empty, the file cannot be read, or what was typed is a file's name without the @.
    """
    from coder.core.errors import UserError

    if typed == "-":
        text = sys.stdin.read()
    elif typed.startswith("@"):
        text = _file(Path(typed[1:]))
    elif "\n" not in typed and len(typed) < 255 and Path(typed).is_file():
        raise UserError(f"{typed!r} is a file. To use its content as the issue, write @{typed}.")
    else:
        text = typed
    if not text.strip():
        raise UserError("The issue is empty. Give it as text, as @file, or as - for standard input.")
    # What no terminal should have let through: halves of characters, and NUL, which git refuses.
    return text.encode("utf-8", "replace").decode("utf-8").replace("\0", "").strip()


def plan_in(path: Path) -> "Plan":
    """The plan that a person has written, or edited.

    Raises:
        UserError: the file cannot be read, or holds no plan.
    """
    from coder.core.errors import UserError
    from coder.core.values.plan import read

    try:
        return read(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"The plan {str(path)!r} cannot be read: {error.strerror}.") from None
    except ValueError as error:  # which a file that is no text raises as well
        raise UserError(f"{path} holds no plan: {error}.") from None


def _file(path: Path) -> str:
    from coder.core.errors import UserError

    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise UserError(f"The issue file {str(path)!r} cannot be read: {error.strerror}.") from None
