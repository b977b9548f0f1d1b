"""`coder completion`: typer's completion script for a shell, and what it asks for."""

from typing import Annotated, Any, Literal

import typer

VARIABLE = "_CODER_COMPLETE"
"""Set by the script, which runs `coder` with it: what to complete is in other variables."""


Shell = Literal["bash", "zsh", "fish"]


def completion(ctx: typer.Context, shell: Annotated[Shell, typer.Argument(help="The shell.")]) -> int:
    """Print a completion script for the shell.

    bash and zsh: eval "$(coder completion bash)" in the start-up file; fish: coder completion fish | source.
    """
    return complete(ctx.find_root().command, f"source_{shell}")


def complete(command: Any, instruction: str) -> int:
    """Print what an instruction of a shell asks for: its script, or what its words can be completed to."""
    from typer.completion import completion_init, shell_complete  # type: ignore[attr-defined]

    completion_init()
    return shell_complete(command, {}, "coder", VARIABLE, instruction)
