"""The one question about trust: a repository's tests are programs, and without walls nobody's are run unasked."""

from pathlib import Path

from coder.core.errors import UserError


def settle(root: Path, *, attended: bool, walled: bool) -> bool:
    """Is the repository trusted, or is now? Where it is not, work goes on only behind walls.

    Args:
        walled: commands run where they reach neither files nor network of the person.

    Raises:
        UserError: it is not trusted, there are no walls, and the person says no or cannot be asked.
    """
    import typer

    from coder.settings import trust, trusted

    if trusted(root):
        return True
    if walled:
        return False
    if not attended:
        raise UserError(
            f"{root} is not trusted, and its tests would run on this machine. Run `coder trust {root}` once, "
            "or add --trust."
        )
    if not typer.confirm(f"The tests of {root} will run on this machine, as you. Trust this repository?"):
        raise UserError(f"{root} is not trusted: nothing was run.")
    trust(root)
    return True
